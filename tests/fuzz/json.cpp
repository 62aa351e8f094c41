// Any bytes as JSON, judged by two readers: ours and nlohmann's must agree on what is JSON and what it means.
#include "tests/fuzz/target.hpp"

#include <holdfast/codec.hpp>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>

namespace holdfast {
namespace {

// Where the two differ on purpose: we limit the depth, take no byte order mark, and NUL is not the end of the
// text for us; nlohmann refuses numbers that a double can't hold even where nobody asks for their value.
bool may_differ(std::string_view text, const Result<Json>& ours) {
  if (ours) return text.find_first_of("eE") != std::string_view::npos || text.size() > 300;
  return ours.error().message.ends_with("levels") || text.starts_with("\xEF\xBB\xBF") ||
         text.find('\0') != std::string_view::npos;
}

template <class T>
void require_same(const Payload& payload, const nlohmann::json& theirs) {
  const Result<T> ours = decode<T>(payload);
  if (ours) fuzz::require(*ours == theirs.get<T>(), "both readers find the same value");
}

}  // namespace
}  // namespace holdfast

void holdfast::fuzz::run(std::string_view input) {
  const Payload payload{kJsonEncoding, std::string(input)};
  const Result<Json> ours = decode<Json>(payload);
  const bool accepted = nlohmann::json::accept(input);
  require(ours.has_value() == accepted || may_differ(input, ours), "both readers agree on what is JSON");
  if (!ours || !accepted) return;
  const auto theirs = nlohmann::json::parse(input);
  if (theirs.is_string()) {
    require(decode<std::string>(payload).has_value(), "a string is read as one");
    require_same<std::string>(payload, theirs);
  }
  if (theirs.is_number()) require_same<double>(payload, theirs);
  if (theirs.is_number_integer()) require_same<std::int64_t>(payload, theirs);
}
