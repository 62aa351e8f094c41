#include "base/utf8.hpp"
#include "codec/base64.hpp"
#include "codec/plain_text.hpp"

#include <holdfast/errors.hpp>
#include <holdfast/json.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

namespace holdfast {

namespace {

// Longest text of a number: a 64-bit long double needs some 45 characters.
constexpr std::size_t kMaxNumberSize = 64;

std::string_view short_escape(char c) {
  switch (c) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      return {};
  }
}

[[noreturn]] void throw_encode_error(std::string type, std::string message) {
  throw Error(Failure{.type = std::move(type), .message = std::move(message), .retryable = false});
}

}  // namespace

void JsonWriter::grow(std::size_t size) {
  const std::size_t used = text().size();
  const std::size_t capacity = std::max(2 * static_cast<std::size_t>(end_ - begin()), used + size);
  if (text_.empty()) text_.assign(local_.data(), used);
  text_.resize(capacity);
  at_ = text_.data() + used;
  end_ = text_.data() + capacity;
}

std::string JsonWriter::take() {
  if (text_.empty()) return std::string(text());
  text_.resize(text().size());
  start_over();
  return std::exchange(text_, {});
}

void JsonWriter::fail_depth() {
  throw LimitError(Failure{.category = Category::limit,
                           .type = "json_depth",
                           .message = "a value nests deeper than " + std::to_string(kMaxJsonDepth) +
                                      " levels and can't be encoded; does it refer to itself?",
                           .retryable = false});
}

template <class T>
void JsonWriter::integral(T value) {
  separate();
  room(kMaxNumberSize);
  at_ = std::to_chars(at_, end_, value).ptr;
}
void JsonWriter::integer(std::int64_t value) { integral(value); }
void JsonWriter::integer(std::uint64_t value) { integral(value); }

template <class T>
void JsonWriter::floating(T value) {
  if (std::isnan(value)) return literal("\"NaN\"");
  if (std::isinf(value)) return literal(value > 0 ? "\"Infinity\"" : "\"-Infinity\"");
  separate();
  room(kMaxNumberSize);
  at_ = std::to_chars(at_, end_, value).ptr;
}
void JsonWriter::number(double value) { floating(value); }
void JsonWriter::number(float value) { floating(value); }
void JsonWriter::number(long double value) { floating(value); }

void JsonWriter::string(std::string_view text) {
  if (!detail::is_utf8(text)) return bytes(text);
  separate();
  quoted(text);
}

void JsonWriter::bytes(std::string_view bytes) {
  begin_object();
  append("\"$b64\":\"");
  append(codec::to_base64(bytes));
  put('"');
  end_object();
}

void JsonWriter::key(std::string_view name) {
  if (!detail::is_utf8(name))
    throw_encode_error("invalid_key", "the key of a JSON object is not valid UTF-8");
  separate();
  quoted(name);
  put(':');
}

void JsonWriter::quoted(std::string_view utf8) {
  put('"');
  const char* run = utf8.data();
  const char* const end = run + utf8.size();
  for (;;) {
    const char* const special = codec::plain_run(run, end).end;
    append({run, static_cast<std::size_t>(special - run)});
    if (special == end) break;
    if (const std::string_view escape = short_escape(*special); !escape.empty()) {
      append(escape);
    } else {
      static constexpr std::string_view kDigits = "0123456789abcdef";
      append("\\u00");
      put(kDigits[static_cast<unsigned char>(*special) >> 4]);
      put(kDigits[static_cast<unsigned char>(*special) & 15]);
    }
    run = special + 1;
  }
  put('"');
}

void JsonWriter::raw(std::string_view json) {
  JsonReader reader(json);
  reader.depth_ = depth_;
  if (!reader.skip() || !reader.finish()) {
    if (reader.depth_ > kMaxJsonDepth) fail_depth();
    throw_encode_error("invalid_json", "this is not one JSON value: " + reader.error());
  }
  literal(json);
}

}  // namespace holdfast
