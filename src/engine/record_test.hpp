// The outcome of a turn as data that can be written to a file, compared and read by a person.
#pragma once

#include "engine/turn.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::engine {

struct TurnRecord {
  std::string segment{};  ///< in hexadecimal digits
  std::vector<std::string> actions{};
  std::vector<std::string> cancels{};
  std::vector<std::uint64_t> consumed{};
  std::uint64_t ignored = 0;
  std::vector<std::string> waits{};
  std::string status{};
  std::string end{};
  std::string trace{};  ///< what the code saw in this turn
  friend bool operator==(const TurnRecord&, const TurnRecord&) = default;
};

TurnRecord record_of(const Outcome& outcome);
std::string to_text(const TurnRecord& record);

std::string to_hex(std::string_view bytes);
/// Nothing when it is not an even number of hexadecimal digits.
std::optional<std::string> from_hex(std::string_view digits);

}  // namespace holdfast::engine
