// JsonWriter and JsonReader: what a Codec<T> uses. Values are written to text and read from it without a
// document in between.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace holdfast {

/// How deep objects and arrays may nest, when written and when read.
inline constexpr int kMaxJsonDepth = 500;

/// Writes one JSON value. It adds commas and colons itself, and the text is valid JSON for any bytes that it
/// is given. One thread at a time. Throws LimitError when values nest deeper than kMaxJsonDepth.
class JsonWriter {
 public:
  JsonWriter() noexcept { start_over(); }
  JsonWriter(const JsonWriter&) = delete;
  JsonWriter& operator=(const JsonWriter&) = delete;

  void null() { literal("null"); }
  void boolean(bool value) { literal(value ? "true" : "false"); }
  void integer(std::int64_t value);
  void integer(std::uint64_t value);
  /// The shortest text that reads back as the same value. JSON numbers have no NaN and no infinities: these
  /// become the strings "NaN", "Infinity" and "-Infinity".
  void number(double value);
  void number(float value);
  void number(long double value);
  /// Valid UTF-8 as a JSON string, other bytes as `{"$b64": "..."}`.
  void string(std::string_view text);
  /// Always as `{"$b64": "..."}`.
  void bytes(std::string_view bytes);

  void begin_object() { open('{'); }
  /// The name of the next value. Throws Error when it isn't valid UTF-8: JSON can't hold other keys.
  void key(std::string_view name);
  void end_object() { close('}'); }
  void begin_array() { open('['); }
  void end_array() { close(']'); }

  /// One JSON value, already as text. Throws Error when it isn't exactly that.
  void raw(std::string_view json);

  /// The text so far, valid until the next call.
  [[nodiscard]] std::string_view text() const noexcept {
    return {begin(), static_cast<std::size_t>(at_ - begin())};
  }
  /// The whole text, in a string of that size.
  [[nodiscard]] std::string take();

  /// For generated code: `,"name":` of a field whose position in its object is known. The first field of an
  /// object replaces the comma by the opening brace.
  void open_fields(std::string_view comma_key_colon) {
    separate();
    enter();
    append(comma_key_colon);
    at_[-static_cast<std::ptrdiff_t>(comma_key_colon.size())] = '{';
  }
  void next_field(std::string_view comma_key_colon) { append(comma_key_colon); }
  void close_fields() { close('}'); }

 private:
  [[nodiscard]] const char* begin() const noexcept { return text_.empty() ? local_.data() : text_.data(); }
  void room(std::size_t size) {
    if (static_cast<std::size_t>(end_ - at_) < size) [[unlikely]]
      grow(size);
  }
  void put(char c) {
    room(1);
    *at_++ = c;
  }
  void append(std::string_view text) {
    if (text.empty()) return;
    room(text.size());
    std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
  }
  // A value needs a comma unless it is the first, or follows an opening bracket or a colon.
  void separate() {
    if (at_ == begin()) return;
    const char last = at_[-1];
    if (last != '[' && last != '{' && last != ':') put(',');
  }
  void literal(std::string_view text) {
    separate();
    append(text);
  }
  void open(char bracket) {
    separate();
    enter();
    put(bracket);
  }
  void close(char bracket) {
    --depth_;
    put(bracket);
  }
  void enter() {
    if (++depth_ > kMaxJsonDepth) [[unlikely]]
      fail_depth();
  }
  [[noreturn]] static void fail_depth();
  void grow(std::size_t size);
  void quoted(std::string_view utf8);
  template <class T>
  void floating(T value);
  template <class T>
  void integral(T value);

  void start_over() noexcept {
    at_ = local_.data();
    end_ = local_.data() + local_.size();
  }

  char* at_ = nullptr;
  char* end_ = nullptr;
  int depth_ = 0;
  std::string text_;  // empty until the text outgrows local_
  std::array<char, 480> local_;
};

namespace detail {
/// As much of `text` as an error message shows: 40 bytes of valid UTF-8 without control characters.
std::string quote(std::string_view text);
}  // namespace detail

/// What kind of value comes next.
enum class JsonKind : std::uint8_t { null, boolean, number, string, array, object, end, invalid };
std::string_view to_string(JsonKind kind) noexcept;

/// Reads one JSON value, strictly. Every call reads one value, or returns false and notes why: the first
/// failure counts, later calls return false. One thread at a time; `text` must outlive the reader.
class JsonReader {
 public:
  explicit JsonReader(std::string_view text) noexcept
      : begin_(text.data()), at_(text.data()), end_(text.data() + text.size()) {}
  JsonReader(const JsonReader&) = delete;
  JsonReader& operator=(const JsonReader&) = delete;

  /// The kind of the next value, judged by its first character.
  [[nodiscard]] JsonKind peek() noexcept;

  bool null();
  bool boolean(bool& out);
  /// Fails for a number that isn't whole, or isn't between `low` and `high`.
  bool integer(std::int64_t& out, std::int64_t low, std::int64_t high);
  bool integer(std::uint64_t& out, std::uint64_t high);
  /// Reads what number() of a JsonWriter writes.
  bool number(double& out);
  bool number(float& out);
  bool number(long double& out);
  /// A JSON string, or bytes as `{"$b64": "..."}`.
  bool string(std::string& out);
  /// Bytes as `{"$b64": "..."}`.
  bool bytes(std::string& out);

  /// Calls `each(index)` before every element; it must read that element.
  template <class Each>
  bool array(Each&& each) {
    if (!open('[', "array")) return false;
    for (std::size_t index = 0; next_element(index == 0); ++index) {
      if (!each(index)) return in_element(index);
    }
    return ok();
  }

  /// Calls `each(key)` before every value; it must read that value. `key` is valid until then.
  template <class Each>
  bool object(Each&& each) {
    if (!open('{', "object")) return false;
    std::string_view key;
    for (bool first = true; next_key(key, first); first = false) {
      std::string kept;  // reading the value overwrites a key that had escapes
      if (key.data() == scratch_.data()) key = kept.assign(key);
      if (!each(key)) return in_field(key);
    }
    return ok();
  }

  /// Skips one value. It must be valid JSON all the same.
  bool skip();
  /// The text of the next value.
  bool raw(std::string_view& out);
  /// True when nothing but blanks is left.
  bool finish();

  /// Notes "expected <expected>, found <what stands here>" and returns false; "malformed JSON: ..., at byte
  /// <n>" where no JSON value stands.
  bool fail_expected(std::string_view expected);
  /// Notes `message` and returns false.
  bool fail(std::string message);
  /// Notes that the failure was inside this element or field of the value that is being read; returns false.
  bool in_element(std::size_t index);
  bool in_field(std::string_view name);

  [[nodiscard]] bool ok() const noexcept { return error_.empty(); }
  /// The noted failure with its path: `items[3].qty: expected integer, found string "x"`.
  [[nodiscard]] std::string error() const;

  // The steps below make up array() and object(), for generated code.

  /// Reads `bracket`; `what` is named when something else stands here.
  bool open(char bracket, std::string_view what);
  /// True when an element follows; false at the closing bracket, and on failure.
  bool next_element(bool first);
  /// True when a field follows, whose key and colon are read; false at the closing brace, and on failure.
  bool next_key(std::string_view& key, bool first);
  /// Reads `text` where exactly that stands, without a blank before it; else false, and nothing is read.
  bool take(std::string_view text) noexcept {
    if (static_cast<std::size_t>(end_ - at_) < text.size()) return false;
    if (std::memcmp(at_, text.data(), text.size()) != 0) return false;
    at_ += text.size();
    return true;
  }

 private:
  void skip_blanks() noexcept {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r')) ++at_;
  }
  friend class JsonWriter;  // raw() counts the levels around its text, too

  bool word(std::string_view word);
  bool next_in(char closing, bool first);
  bool close() noexcept;
  bool text(std::string_view& out);
  bool text_with_escapes(const char* start, bool ascii, std::string_view& out);
  bool fail_utf8();
  bool escape();
  bool fail_cut_off();
  bool code_point(std::uint32_t& out);
  bool skip_number();
  [[nodiscard]] const char* number_end() const noexcept;
  template <class T>
  bool whole(T& out, T low, T high);
  template <class T>
  bool floating(T& out);
  [[nodiscard]] std::string found();
  bool syntax_error(std::string_view expected);
  bool inside(std::string segment);

  const char* begin_;
  const char* at_;
  const char* end_;
  int depth_ = 0;
  std::string scratch_;  // a string or key that had escapes
  std::string error_;
  std::string path_;
};

}  // namespace holdfast
