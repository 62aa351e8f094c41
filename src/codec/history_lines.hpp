// Exported histories: JSON Lines with a header, a line for each turn and each event, and an end. Segments
// come back byte by byte. docs/history-format.md describes the format.
#pragma once

#include "codec/history.hpp"

#include <holdfast/ids.hpp>
#include <holdfast/result.hpp>

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::history {

/// What stands before the events: whose history it is.
struct LinesHeader {
  std::string instance{};
  ExecutionNumber execution{};
  std::string orchestration{};
  std::string version{};  ///< empty when no turn has decided on one
  friend bool operator==(const LinesHeader&, const LinesHeader&) = default;
};

/// Makes the lines of one history, one piece after the other: header(), turn() for each segment in order,
/// end(). Each piece ends with a line break.
class LinesWriter {
 public:
  static std::string header(const LinesHeader& header);
  /// The events of a segment as JSON; or its bytes, when events as JSON would not give exactly them again: it
  /// has fields or kinds of a newer version. The error says why it is no segment, or not the next one.
  Result<std::string, std::string> turn(std::string_view segment);
  [[nodiscard]] std::string end() const;

 private:
  std::uint64_t turns_ = 0;
  std::uint64_t events_ = 0;
};

/// What is wrong with a file, and where.
struct LinesError {
  std::uint64_t line = 0;  ///< from 1
  std::string reason{};
  friend bool operator==(const LinesError&, const LinesError&) = default;
};

/// Reads what a LinesWriter wrote, line by line: memory holds one turn. `in` must outlive it. After an error
/// the only thing left to do is to destroy it.
class LinesReader {
 public:
  explicit LinesReader(std::istream& in) : in_(in) {}

  /// The next history of the stream; nothing at its end. The one before must have been read to its end.
  Result<std::optional<LinesHeader>, LinesError> next_history();
  /// The segment of the next turn; nothing behind the last one.
  Result<std::optional<std::string>, LinesError> next_turn();
  /// The number of the line that was read last.
  [[nodiscard]] std::uint64_t line() const noexcept { return number_; }

 private:
  bool read_line(std::size_t limit);
  [[nodiscard]] Unexpected<LinesError> error(std::string reason) const;
  [[nodiscard]] Unexpected<LinesError> cut_off(std::string_view missing) const;
  Result<std::optional<std::string>, LinesError> read_turn();
  Result<std::optional<std::string>, LinesError> read_events(std::uint64_t count, std::string_view checksum);
  Result<std::optional<std::string>, LinesError> read_end();

  std::istream& in_;
  std::string line_;
  std::uint64_t number_ = 0;  // of line_
  std::uint64_t turns_ = 0;
  EventId next_event_{1};
};

}  // namespace holdfast::history
