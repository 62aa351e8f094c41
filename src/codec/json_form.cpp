#include "codec/json_form.hpp"

#include "codec/base64.hpp"

#include <limits>
#include <stdexcept>

namespace holdfast::history {

namespace {

constexpr detail::TimeUnit kMicroseconds{1, 1'000'000};
constexpr std::string_view kNever = "never";

// How deep a payload may stand in a history: in the causes of a failure of an event of an array.
constexpr std::size_t kMaxNesting = kMaxCauses + 8;

std::string list(std::span<const std::string_view> names) {
  std::string text;
  for (const std::string_view name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

// ---- payloads -----------------------------------------------------------------------------------

// An object with these two fields and no other is a payload in base64.
constexpr std::string_view kEncodingKey = "encoding";
constexpr std::string_view kBytesKey = "$b64";

bool is_base64_form(std::string_view json) {
  if (!json.starts_with('{')) return false;
  JsonReader in(json);
  bool has_encoding = false;
  bool has_bytes = false;
  bool has_others = false;
  return in.object([&](std::string_view key) {
    (key == kEncodingKey ? has_encoding : key == kBytesKey ? has_bytes : has_others) = true;
    return in.skip();
  }) && has_encoding &&
         has_bytes && !has_others;
}

bool read_base64_form(JsonReader& in, Payload& payload) {
  return in.object([&](std::string_view key) {
    const bool is_encoding = key == kEncodingKey;
    std::string text;
    if (!in.string(text)) return false;
    if (!is_encoding) return codec::from_base64(text, payload.bytes) || in.fail("expected base64 text");
    try {
      payload.encoding = Encoding(text);
      return true;
    } catch (const std::invalid_argument& e) {
      return in.fail(e.what());
    }
  });
}

// Whether reading the text gives the same bytes again, wherever in a history it stands.
bool comes_back(std::string_view json) {
  if (json.find('\n') != std::string_view::npos || is_base64_form(json)) return false;
  JsonReader in(json);
  std::string_view value;
  if (!in.raw(value) || !in.finish() || value != json) return false;
  const std::string nested =
      std::string(kMaxNesting, '[') + std::string(json) + std::string(kMaxNesting, ']');
  return JsonReader(nested).skip();
}

// ---- seconds ------------------------------------------------------------------------------------

std::string seconds_text(Duration duration) {
  const std::int64_t count = duration.count();
  const auto bits = static_cast<std::uint64_t>(count);
  const std::uint64_t magnitude = count < 0 ? ~bits + 1 : bits;
  std::string text = (count < 0 ? "-" : "") + std::to_string(magnitude / 1'000'000);
  if (const std::uint64_t rest = magnitude % 1'000'000; rest != 0) {
    text += '.' + std::to_string(1'000'000 + rest).substr(1);
    text.resize(text.find_last_not_of('0') + 1);
  }
  return text;
}

bool parse_seconds(std::string_view text, Duration& duration) {
  const bool negative = text.starts_with('-');
  const std::string iso = (negative ? "-PT" : "PT") + std::string(text.substr(negative ? 1 : 0)) + "S";
  detail::WideInt count = 0;
  std::string why;
  if (!detail::parse_duration(iso, kMicroseconds, count, why)) return false;
  if (count < Duration::min().count() || count > Duration::max().count()) return false;
  duration = Duration(static_cast<Duration::rep>(count));
  return true;
}

int chain_length(const Failure* failure) {
  int length = 0;
  for (; failure != nullptr; failure = failure->cause.get()) ++length;
  return length;
}

}  // namespace

bool read_json_fields(JsonReader& in, const JsonFields& fields, std::span<const std::string_view> apart,
                      void* target) {
  std::uint64_t seen = 0;
  return in.object([&](std::string_view key) {
    if (std::find(apart.begin(), apart.end(), key) != apart.end()) return in.skip();
    const auto found = std::find(fields.names.begin(), fields.names.end(), key);
    const auto index = static_cast<std::size_t>(found - fields.names.begin());
    if (found == fields.names.end()) {
      return in.fail("there is no such field; there are " + list(apart) + (apart.empty() ? "" : ", ") +
                     list(fields.names));
    }
    if ((seen >> index & 1) != 0) return in.fail("the field stands here twice");
    seen |= std::uint64_t{1} << index;
    return fields.read[index](in, target);
  });
}

void SecondsForm::write(JsonWriter& out, const std::optional<Duration>& value) {
  if (!value) return out.null();
  if (*value == never) return out.string(kNever);
  out.raw(seconds_text(*value));
}

bool SecondsForm::read(JsonReader& in, std::optional<Duration>& value) {
  if (in.peek() == JsonKind::null) return in.null();
  std::string_view text;
  if (!in.raw(text)) return false;
  if (text == "\"never\"") {
    value = never;
    return true;
  }
  return parse_seconds(text, value.emplace()) ||
         in.fail("expected a number of seconds, to the microsecond and without an exponent, or \"never\"");
}

void JsonForm<Duration>::write(JsonWriter& out, Duration value) {
  if (value == never) return out.string(kNever);
  Codec<Duration>::write(out, value);
}

bool JsonForm<Duration>::read(JsonReader& in, Duration& value) {
  if (in.peek() != JsonKind::string) return in.fail_expected("a duration such as \"PT1.5S\", or \"never\"");
  std::string text;
  if (!in.string(text)) return false;
  if (text == kNever) {
    value = never;
    return true;
  }
  detail::WideInt count = 0;
  std::string why;
  Duration::rep narrow = 0;
  if (!detail::parse_duration(text, kMicroseconds, count, why)) return in.fail(std::move(why));
  if (!detail::narrow(in, text, count, narrow)) return false;
  value = Duration(narrow);
  return true;
}

void JsonForm<Payload>::write(JsonWriter& out, const Payload& payload) {
  if (payload.encoding == kJsonEncoding && comes_back(payload.bytes)) return out.raw(payload.bytes);
  out.begin_object();
  out.key(kEncodingKey);
  out.string(payload.encoding.id());
  out.key(kBytesKey);
  out.string(codec::to_base64(payload.bytes));
  out.end_object();
}

bool JsonForm<Payload>::read(JsonReader& in, Payload& payload) {
  std::string_view json;
  if (!in.raw(json)) return false;
  if (is_base64_form(json)) {
    JsonReader inner(json);
    return read_base64_form(inner, payload) || in.fail(inner.error());
  }
  payload = {.encoding = kJsonEncoding, .bytes = std::string(json)};
  return true;
}

void JsonForm<AttributeValue>::write(JsonWriter& out, const AttributeValue& value) {
  out.begin_object();
  out.key(to_string(type_of(value)));
  std::visit([&]<class T>(const T& own) { Codec<T>::write(out, own); }, value);
  out.end_object();
}

bool JsonForm<AttributeValue>::read(JsonReader& in, AttributeValue& value) {
  int count = 0;
  return in.object([&](std::string_view key) {
    ++count;
    if (key == "text") return Codec<std::string>::read(in, value.emplace<std::string>());
    if (key == "keywords") return Codec<Keywords>::read(in, value.emplace<Keywords>());
    if (key == "integer") return Codec<std::int64_t>::read(in, value.emplace<std::int64_t>());
    if (key == "real") return Codec<double>::read(in, value.emplace<double>());
    if (key == "boolean") return Codec<bool>::read(in, value.emplace<bool>());
    if (key == "time") return Codec<CalendarTime>::read(in, value.emplace<CalendarTime>());
    return in.fail(
        "there is no such type of attribute; there are text, keywords, integer, real, boolean, time");
  }) && (count == 1 ||
         in.fail_expected("an object with one member: the type of the attribute, and its value"));
}

// One object in the other, without going deeper on the stack.
void JsonForm<std::shared_ptr<const Failure>>::write(JsonWriter& out,
                                                     const std::shared_ptr<const Failure>& cause) {
  int open = 0;
  for (const Failure* failure = cause.get(); failure != nullptr && open < kMaxCauses;
       failure = failure->cause.get()) {
    Failure alone = *failure;
    alone.cause = nullptr;
    if (open > 0) out.key("cause");
    out.begin_object();
    write_json_fields<Failure, false>(out, alone);
    ++open;
  }
  if (open == 0) out.null();
  for (; open > 0; --open) out.end_object();
}

bool JsonForm<std::shared_ptr<const Failure>>::read(JsonReader& in, std::shared_ptr<const Failure>& cause) {
  if (in.peek() == JsonKind::null) return in.null();
  const auto failure = std::make_shared<Failure>();
  if (!JsonForm<Failure>::read(in, *failure)) return false;
  cause = failure;
  return chain_length(failure.get()) <= kMaxCauses || in.fail("has too many causes");
}

}  // namespace holdfast::history
