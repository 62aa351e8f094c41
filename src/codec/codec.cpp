
#include "base/utf8.hpp"

#include <holdfast/codec.hpp>

#include <algorithm>

namespace holdfast::detail {

bool are_utf8(const std::vector<std::string_view>& texts) {
  return std::all_of(texts.begin(), texts.end(), is_utf8);
}

namespace {

// Fields mostly come in the order of the members, so the search starts where the last one ended.
std::size_t find_field(const FieldTable& table, std::string_view key, std::size_t expected) {
  if (expected < table.count && table.names[expected] == key) return expected;
  const std::string_view* const end = table.names + table.count;
  return static_cast<std::size_t>(std::find(table.names, end, key) - table.names);
}

bool fail_missing(JsonReader& in, const FieldTable& table, std::uint64_t missing) {
  std::string names;
  for (std::size_t i = 0; i < table.count; ++i) {
    if ((missing >> i & 1) != 0) names.append(names.empty() ? "" : ", ").append(table.names[i]);
  }
  const bool several = (missing & (missing - 1)) != 0;
  return in.fail((several ? "missing fields: " : "missing field: ") + names);
}

}  // namespace

bool read_fields(JsonReader& in, const FieldTable& table, void* target) {
  if (!in.open('{', "object")) return false;
  std::uint64_t seen = 0;
  std::size_t expected = 0;
  std::string_view key;
  for (bool first = true; in.next_key(key, first); first = false) {
    const std::size_t field = find_field(table, key, expected);
    if (field == table.count) {
      if (!in.skip()) return false;
      continue;
    }
    const std::string_view name = table.names[field];
    if ((seen >> field & 1) != 0) return in.fail("the field " + std::string(name) + " stands here twice");
    if (!table.read[field](in, target)) return in.in_field(name);
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
          .message = std::move(message),
          .retryable = false};
}

Failure wrong_encoding(const Payload& payload, std::string_view wanted) {
  return decode_failure("expected a payload encoded as " + std::string(wanted) + ", found one encoded as " +
                        std::string(payload.encoding.id()));
}

}  // namespace holdfast::detail
