// Histories as files: an instance's history is exported, kept with the tests or sent to a colleague, and
// replayed there (holdfast/testing/replay_checker.hpp).
//
//   std::ofstream file("order-7.jsonl");
//   write_history(client.run("order-7"), file);
//
//   std::ifstream file("order-7.jsonl");
//   HistoryReader history = read_history(file, "order-7.jsonl");
//   for (auto turn = history.next_turn(); !turn.empty(); turn = history.next_turn()) ...
//
// docs/history-format.md describes the format, which is JSON Lines.
#pragma once

#include <holdfast/history.hpp>
#include <holdfast/ids.hpp>

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace holdfast {

class Run;

namespace history {
class Source;
}

/// Whose history it is.
struct HistoryHeader {
  std::string instance{};
  ExecutionNumber execution{};
  std::string orchestration{};
  std::string version{};  ///< empty before the first turn, when none was asked for
  friend bool operator==(const HistoryHeader&, const HistoryHeader&) = default;
};

/// A file is no exported history, or damaged. what() says which line of which file, and why.
class HistoryFileError : public std::runtime_error {
 public:
  HistoryFileError(const std::string& name, std::uint64_t line, const std::string& reason);
  /// From 1.
  [[nodiscard]] std::uint64_t line() const noexcept { return line_; }

 private:
  std::uint64_t line_;
};

/// The history of one execution, turn by turn, from a store or from a file: memory holds one turn of a file,
/// and about 256 KiB of what is in a store. For one thread at a time. What it reads from, a stream or the
/// client of a Run, must be there for as long; of a Run it keeps a copy.
///
/// Calls throw HistoryFileError for what is wrong with a file, ClientError as those of a Run. After that the
/// only thing left to do is to destroy it.
class HistoryReader {
 public:
  explicit HistoryReader(std::unique_ptr<history::Source> source) noexcept;
  HistoryReader(HistoryReader&&) noexcept;
  HistoryReader& operator=(HistoryReader&&) noexcept;
  ~HistoryReader();

  [[nodiscard]] const HistoryHeader& header() const noexcept;
  /// The events of the next turn; none behind the last one.
  std::vector<HistoryEvent> next_turn();
  /// Goes on to the next history of a file, past what is left of this one; false when there is none.
  bool next_history();

  /// For those who replay.
  [[nodiscard]] history::Source& source() noexcept { return *source_; }

 private:
  std::unique_ptr<history::Source> source_;
};

/// From a store: an execution of the instance, the current one unless another is named. A history that grows
/// meanwhile is read to its end. Throws ClientError (not_found) when there is no such execution, or it was
/// pruned.
[[nodiscard]] HistoryReader read_history(const Run& run, ExecutionNumber execution = {});
/// From a file, or from any stream that write_history() has written. `name` is how errors call it.
[[nodiscard]] HistoryReader read_history(std::istream& in, std::string name = {});

/// Writes a history, turn by turn. Several may be written to a stream, one after the other. Throws what
/// reading throws, and std::runtime_error when `out` takes no more; then what was written has no end, and
/// can't be mistaken for a history.
void write_history(HistoryReader history, std::ostream& out);
void write_history(const Run& run, std::ostream& out, ExecutionNumber execution = {});

}  // namespace holdfast
