
#include "base/failure_text.hpp"
#include "base/utf8.hpp"

#include <holdfast/codec.hpp>
#include <holdfast/json.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace holdfast::detail {

bool are_utf8(const std::vector<std::string_view>& texts) {
  return std::all_of(texts.begin(), texts.end(), is_utf8);
}

namespace {

// How many arguments stand there, if the payload is what encode_args makes of none or of several.
std::optional<std::size_t> count_arguments(const Payload& payload) {
  if (payload.encoding != kJsonEncoding) return std::nullopt;
  JsonReader in(payload.bytes);
  if (in.peek() == JsonKind::null) return 0;
  if (in.peek() != JsonKind::array) return std::nullopt;
  std::size_t count = 0;
  const bool read = in.array([&](std::size_t) { return ++count, in.skip(); });
  return read ? std::optional(count) : std::nullopt;
}

std::string inputs(std::size_t count) {
  return count == 0 ? "none" : count == 1 ? "1 input" : std::to_string(count) + " inputs";
}

}  // namespace

Failure wrong_arguments(Failure failure, const Payload& payload, std::size_t count) {
  const std::size_t given = count_arguments(payload).value_or(1);
  if (given == count) return failure;
  failure.message = "it takes " + inputs(count) + ", and was given " + inputs(given) +
                    (count == 1 && given > 1 ? ", or one that is a list" : "") + ": " + failure.message;
  return failure;
}

namespace {

// `,"name":` -> `name`
std::string_view name_of(const FieldTable& table, std::size_t field) {
  return table.keys[field].substr(2, table.keys[field].size() - 4);
}

// Fields mostly come in the order of the members, so the search starts where the last one ended.
std::size_t find_field(const FieldTable& table, std::string_view key, std::size_t expected) {
  for (std::size_t field = expected; field < table.count; ++field) {
    if (name_of(table, field) == key) return field;
  }
  for (std::size_t field = 0; field < expected; ++field) {
    if (name_of(table, field) == key) return field;
  }
  return table.count;
}

// Finds the next key of the object and the field that it names; table.count when none has that name. False at
// the end of the object, and on failure. Text that this library wrote has its fields in the order of the
// members and no blanks: there the whole key is known before it is read.
bool next_field(JsonReader& in, const FieldTable& table, bool first, std::size_t expected,
                std::size_t& field) {
  if (expected < table.count && in.take(table.keys[expected].substr(first ? 1 : 0))) {
    field = expected;
    return true;
  }
  std::string_view key;
  if (!in.next_key(key, first)) return false;
  field = find_field(table, key, expected);
  return true;
}

bool fail_missing(JsonReader& in, const FieldTable& table, std::uint64_t missing) {
  std::string names;
  for (std::size_t i = 0; i < table.count; ++i) {
    if ((missing >> i & 1) != 0) names.append(names.empty() ? "" : ", ").append(name_of(table, i));
  }
  const bool several = (missing & (missing - 1)) != 0;
  return in.fail((several ? "missing fields: " : "missing field: ") + names);
}

}  // namespace

bool read_fields(JsonReader& in, const FieldTable& table, void* target) {
  if (!in.open('{', "object")) return false;
  std::uint64_t seen = 0;
  std::size_t field = 0;
  std::size_t expected = 0;
  for (bool first = true; next_field(in, table, first, expected, field); first = false) {
    if (field == table.count) {
      if (!in.skip()) return false;
      continue;
    }
    if ((seen >> field & 1) != 0)
      return in.fail("the field " + std::string(name_of(table, field)) + " stands here twice");
    if (!table.read[field](in, target)) return in.in_field(name_of(table, field));
    seen |= std::uint64_t{1} << field;
    expected = field + 1;
  }
  if (!in.ok()) return false;
  const std::uint64_t missing = table.required & ~seen;
  return missing == 0 || fail_missing(in, table, missing);
}

Failure decode_failure(std::string message) {
  return {.category = Category::decode,
          .type = "decode_error",
          .message = failure_text(message),
          .retryable = false};
}
Failure decode_failure(const std::exception& error) { return decode_failure(failure_text(error)); }

Failure wrong_encoding(const Payload& payload, std::string_view wanted) {
  return decode_failure("expected a payload encoded as " + std::string(wanted) + ", found one encoded as " +
                        std::string(payload.encoding.id()));
}

}  // namespace holdfast::detail
