#include "base/utf8.hpp"
#include "codec/base64.hpp"
#include "codec/plain_text.hpp"

#include <holdfast/json.hpp>

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

namespace holdfast {

namespace {

std::string malformed(const std::string& what) { return "malformed JSON: " + what; }

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

// What a letter means after a backslash; NUL when nothing.
constexpr char meaning_of(char letter) {
  switch (letter) {
    case '"':
    case '\\':
    case '/':
      return letter;
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return '\0';
  }
}

void append_utf8(std::string& out, std::uint32_t code_point) {
  const auto put = [&out](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xC0 | code_point >> 6);
    put(0x80 | (code_point & 0x3F));
  } else if (code_point < 0x10000) {
    put(0xE0 | code_point >> 12);
    put(0x80 | (code_point >> 6 & 0x3F));
    put(0x80 | (code_point & 0x3F));
  } else {
    put(0xF0 | code_point >> 18);
    put(0x80 | (code_point >> 12 & 0x3F));
    put(0x80 | (code_point >> 6 & 0x3F));
    put(0x80 | (code_point & 0x3F));
  }
}

}  // namespace

std::string detail::quote(std::string_view text) {
  static constexpr std::size_t kMaxQuoted = 40;
  const bool whole = text.size() <= kMaxQuoted;
  std::string quoted;
  for (const char c : text.substr(0, kMaxQuoted))
    quoted.push_back(static_cast<unsigned char>(c) < 0x20 ? ' ' : c);
  // A cut through a character would leave half of it.
  while (!quoted.empty() && !is_utf8(quoted)) quoted.pop_back();
  return quoted + (whole ? "" : "...");
}

JsonKind JsonReader::peek() noexcept {
  skip_blanks();
  if (at_ == end_) return JsonKind::end;
  switch (*at_) {
    case 'n':
      return JsonKind::null;
    case 't':
    case 'f':
      return JsonKind::boolean;
    case '"':
      return JsonKind::string;
    case '[':
      return JsonKind::array;
    case '{':
      return JsonKind::object;
    default:
      return is_digit(*at_) || *at_ == '-' ? JsonKind::number : JsonKind::invalid;
  }
}

// ---- failures -----------------------------------------------------------------------------------

bool JsonReader::fail(std::string message) {
  if (error_.empty()) error_ = std::move(message);
  return false;
}

bool JsonReader::fail_expected(std::string_view expected) {
  if (!ok()) return false;
  // What is no JSON at all is no value of another type either.
  JsonReader rest({begin_, static_cast<std::size_t>(end_ - begin_)});
  rest.at_ = at_;
  rest.depth_ = depth_;
  if (!rest.skip()) return fail(rest.error());
  return fail("expected " + std::string(expected) + ", found " + found());
}

bool JsonReader::syntax_error(std::string_view expected) {
  if (!ok()) return false;
  const std::string what = found();  // behind the blanks
  return fail(malformed("expected " + std::string(expected) + " at byte " + std::to_string(at_ - begin_) +
                        ", found " + what));
}

std::string JsonReader::found() {
  const char* const start = (skip_blanks(), at_);
  const auto word_end = [&] {
    return std::find_if(start, end_, [](char c) {
      return std::string_view(" \t\r\n,:[]{}\"").find(c) != std::string_view::npos;
    });
  };
  switch (peek()) {
    case JsonKind::end:
      return "the end of the text";
    case JsonKind::array:
      return "an array";
    case JsonKind::object:
      return "an object";
    case JsonKind::string: {
      const std::string_view rest(start + 1, static_cast<std::size_t>(end_ - start - 1));
      return "string \"" + detail::quote(rest.substr(0, rest.find('"'))) + '"';
    }
    case JsonKind::number:
      return "number " + detail::quote({start, static_cast<std::size_t>(word_end() - start)});
    case JsonKind::null:
    case JsonKind::boolean:
      return detail::quote({start, static_cast<std::size_t>(word_end() - start)});
    case JsonKind::invalid:
      break;
  }
  return "'" + detail::quote({start, 1}) + "'";
}

bool JsonReader::inside(std::string segment) {
  if (!path_.empty() && path_.front() != '[') segment.push_back('.');
  path_.insert(0, segment);
  return false;
}
bool JsonReader::in_element(std::size_t index) { return inside("[" + std::to_string(index) + "]"); }
bool JsonReader::in_field(std::string_view name) { return inside(detail::quote(name)); }

std::string JsonReader::error() const { return path_.empty() ? error_ : path_ + ": " + error_; }

// ---- structure ----------------------------------------------------------------------------------

bool JsonReader::open(char bracket, std::string_view what) {
  skip_blanks();
  if (!ok()) return false;
  if (at_ == end_ || *at_ != bracket) return fail_expected(what);
  if (++depth_ > kMaxJsonDepth)
    return fail("nested deeper than " + std::to_string(kMaxJsonDepth) + " levels");
  ++at_;
  return true;
}

bool JsonReader::close() noexcept {
  ++at_;
  --depth_;
  return false;
}

// True when another item of an array or object follows, false at its end or on failure.
bool JsonReader::next_in(char closing, bool first) {
  skip_blanks();
  if (!ok()) return false;
  if (at_ != end_ && *at_ == closing) return close();
  if (first) return true;
  if (at_ == end_ || *at_ != ',') return syntax_error(closing == ']' ? "',' or ']'" : "',' or '}'");
  ++at_;
  return true;
}

bool JsonReader::next_element(bool first) { return next_in(']', first); }

bool JsonReader::next_key(std::string_view& key, bool first) {
  if (!next_in('}', first)) return false;
  skip_blanks();
  if (at_ == end_ || *at_ != '"') return syntax_error("a key in quotes");
  if (!text(key)) return false;
  skip_blanks();
  if (at_ == end_ || *at_ != ':') return syntax_error("':'");
  ++at_;
  return true;
}

bool JsonReader::finish() {
  skip_blanks();
  return ok() && (at_ == end_ || syntax_error("the end of the text"));
}

// Recursion is bounded by kMaxJsonDepth.
bool JsonReader::skip() {
  switch (peek()) {
    case JsonKind::null:
      return word("null") || syntax_error("a value");
    case JsonKind::boolean:
      return word("true") || word("false") || syntax_error("a value");
    case JsonKind::number:
      return skip_number();
    case JsonKind::string: {
      std::string_view ignored;
      return text(ignored);
    }
    case JsonKind::array:
      return array([this](std::size_t) { return skip(); });
    case JsonKind::object:
      return object([this](std::string_view) { return skip(); });
    case JsonKind::end:
    case JsonKind::invalid:
      break;
  }
  return syntax_error("a value");
}

bool JsonReader::raw(std::string_view& out) {
  skip_blanks();
  const char* const start = at_;
  if (!skip()) return false;
  out = {start, static_cast<std::size_t>(at_ - start)};
  return true;
}

// ---- words and numbers --------------------------------------------------------------------------

bool JsonReader::word(std::string_view word) { return ok() && take(word); }

bool JsonReader::null() {
  skip_blanks();
  return word("null") || fail_expected("null");
}

bool JsonReader::boolean(bool& out) {
  skip_blanks();
  out = word("true");
  return out || word("false") || fail_expected("true or false");
}

// The end of the number at at_, or null when what stands there is no JSON number.
const char* JsonReader::number_end() const noexcept {
  const char* p = at_;
  const auto digits = [&] {
    const char* const start = p;
    while (p != end_ && is_digit(*p)) ++p;
    return p != start;
  };
  if (p != end_ && *p == '-') ++p;
  if (p != end_ && *p == '0') {
    ++p;
  } else if (!digits()) {
    return nullptr;
  }
  if (p != end_ && *p == '.') {
    ++p;
    if (!digits()) return nullptr;
  }
  if (p != end_ && (*p == 'e' || *p == 'E')) {
    ++p;
    if (p != end_ && (*p == '+' || *p == '-')) ++p;
    if (!digits()) return nullptr;
  }
  return p;
}

bool JsonReader::skip_number() {
  const char* const end = number_end();
  if (!ok() || end == nullptr) return syntax_error("a number");
  at_ = end;
  return true;
}

template <class T>
bool JsonReader::whole(T& out, T low, T high) {
  if (peek() != JsonKind::number || !ok()) return fail_expected("integer");
  const char* const end = number_end();
  if (end == nullptr) return syntax_error("a number");
  const auto [stop, error] = std::from_chars(at_, end, out);
  if (error != std::errc{} || stop != end || out < low || out > high) {
    const bool fraction = std::string_view(at_, static_cast<std::size_t>(end - at_)).find_first_of(".eE") !=
                          std::string_view::npos;
    return fail_expected(fraction ? "integer"
                                  : "integer from " + std::to_string(low) + " to " + std::to_string(high));
  }
  at_ = end;
  return true;
}
bool JsonReader::integer(std::int64_t& out, std::int64_t low, std::int64_t high) {
  return whole(out, low, high);
}
bool JsonReader::integer(std::uint64_t& out, std::uint64_t high) {
  return whole(out, std::uint64_t{0}, high);
}

template <class T>
bool JsonReader::floating(T& out) {
  if (peek() == JsonKind::string) {
    if (word("\"NaN\"")) return out = std::numeric_limits<T>::quiet_NaN(), true;
    if (word("\"Infinity\"")) return out = std::numeric_limits<T>::infinity(), true;
    if (word("\"-Infinity\"")) return out = -std::numeric_limits<T>::infinity(), true;
  }
  if (peek() != JsonKind::number || !ok()) return fail_expected("number");
  const char* const end = number_end();
  if (end == nullptr) return syntax_error("a number");
  if (std::from_chars(at_, end, out).ec != std::errc{}) return fail_expected("number that fits its type");
  at_ = end;
  return true;
}
bool JsonReader::number(double& out) { return floating(out); }
bool JsonReader::number(float& out) { return floating(out); }
bool JsonReader::number(long double& out) { return floating(out); }

// ---- strings ------------------------------------------------------------------------------------

bool JsonReader::string(std::string& out) {
  const JsonKind kind = peek();
  if (kind == JsonKind::object) return bytes(out);
  if (kind != JsonKind::string) return fail_expected("string");
  std::string_view read;
  if (!text(read)) return false;
  out.assign(read);
  return true;
}

bool JsonReader::bytes(std::string& out) {
  if (peek() != JsonKind::object) return fail_expected("bytes as {\"$b64\": \"...\"}");
  bool seen = false;
  const bool read = object([&](std::string_view key) {
    if (key != "$b64" || std::exchange(seen, true))
      return fail("expected bytes as {\"$b64\": \"...\"}, found another object");
    if (peek() != JsonKind::string) return fail_expected("base64 text");
    std::string_view base64;
    return text(base64) && (codec::from_base64(base64, out) ||
                            fail("expected base64 text, found \"" + detail::quote(base64) + '"'));
  });
  return read && (seen || fail("expected bytes as {\"$b64\": \"...\"}, found an empty object"));
}

// A string in quotes. `out` points into the input, or into scratch_ when there were escapes.
bool JsonReader::text(std::string_view& out) {
  if (!ok()) return false;
  const char* const start = ++at_;
  const codec::PlainRun run = codec::plain_run(start, end_);
  at_ = run.end;
  if (at_ == end_ || *at_ != '"') return text_with_escapes(start, run.ascii, out);
  out = {start, static_cast<std::size_t>(at_ - start)};
  ++at_;
  return run.ascii || detail::is_utf8(out) || fail_utf8();
}

bool JsonReader::text_with_escapes(const char* start, bool ascii, std::string_view& out) {
  scratch_.assign(start, at_);
  while (at_ != end_) {
    if (*at_ == '"') {
      ++at_;
      out = scratch_;
      return ascii || detail::is_utf8(out) || fail_utf8();
    }
    if (*at_ == '\\') {
      ++at_;
      if (!escape()) return false;
      continue;
    }
    if (!codec::is_plain(*at_))
      return fail(malformed("a string has a control character at byte " + std::to_string(at_ - begin_) +
                            " that is not escaped"));
    const codec::PlainRun run = codec::plain_run(at_, end_);
    scratch_.append(at_, run.end);
    ascii = ascii && run.ascii;
    at_ = run.end;
  }
  return fail_cut_off();
}

bool JsonReader::fail_utf8() {
  return fail(
      malformed("the string that ends at byte " + std::to_string(at_ - begin_) + " is not valid UTF-8"));
}
bool JsonReader::fail_cut_off() {
  return fail(
      malformed("a string is cut off by the end of the text at byte " + std::to_string(end_ - begin_)));
}

bool JsonReader::escape() {
  if (at_ == end_) return fail_cut_off();
  const char letter = *at_++;
  if (const char meaning = meaning_of(letter); meaning != '\0') {
    scratch_.push_back(meaning);
    return true;
  }
  std::uint32_t unit = 0;
  if (letter != 'u' || !code_point(unit))
    return fail(malformed("a string has an invalid escape before byte " + std::to_string(at_ - begin_)));
  append_utf8(scratch_, unit);
  return true;
}

// What follows `\u`: four digits, or the two halves of a surrogate pair.
bool JsonReader::code_point(std::uint32_t& out) {
  const auto four_digits = [this](std::uint32_t& value) {
    if (end_ - at_ < 4 || std::from_chars(at_, at_ + 4, value, 16).ptr != at_ + 4) return false;
    at_ += 4;
    return true;
  };
  if (!four_digits(out)) return false;
  if (out < 0xD800 || out > 0xDFFF) return true;
  std::uint32_t low = 0;
  if (out > 0xDBFF || !word("\\u") || !four_digits(low) || low < 0xDC00 || low > 0xDFFF) return false;
  out = 0x10000 + ((out - 0xD800) << 10) + (low - 0xDC00);
  return true;
}

}  // namespace holdfast
