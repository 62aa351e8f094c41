// Any bytes as the history of an orchestration that uses every construct. The input is a list of segments,
// each as two bytes of length, the lower one first, and its events; header and checksum are put around them,
// so that every mutation reaches the engine. Replay ends well or tells why not; what was replayed goes on,
// and can be replayed again with what was added.
#include "engine/execution.hpp"

#include "codec/bytes.hpp"
#include "codec/crc32c.hpp"
#include "tests/fuzz/execution.hpp"
#include "tests/fuzz/target.hpp"

#include <optional>
#include <string>
#include <vector>

namespace holdfast::engine {
namespace {

/// Takes the next segment from the front of `input`. Its events are cut off at the first one that is not
/// whole.
std::string next_segment(std::string_view& input, EventId first) {
  const auto low = static_cast<unsigned char>(input[0]);
  const auto high = input.size() > 1 ? static_cast<unsigned char>(input[1]) : 0U;
  input.remove_prefix(std::min<std::size_t>(2, input.size()));
  const std::string_view bytes = input.substr(0, low | high << 8U);
  input.remove_prefix(bytes.size());

  history::ByteReader in(bytes);
  std::uint64_t count = 0;
  std::size_t whole = 0;
  for (std::uint8_t kind = 0; in.byte(kind);) {
    std::string_view body;
    if (!in.string(body)) break;
    ++count;
    whole = bytes.size() - in.left();
  }
  std::string segment = "HFH\x01";
  history::ByteWriter out(segment);
  out.varint(first.value);
  out.varint(count);
  segment.append(bytes.substr(0, whole));
  out.fixed32(codec::crc32c(segment));
  return segment;
}

Execution fresh() {
  return Execution({.instance = "i-1", .build = "b1"}, detail::make_orchestration(fuzz::everything));
}

/// Null when all of it replays.
std::optional<Problem> replay(Execution& execution, const std::vector<std::string>& segments) {
  for (const std::string& segment : segments) {
    if (auto outcome = execution.replay(segment); !outcome) return std::move(outcome).error();
  }
  return std::nullopt;
}

void require_replays(const std::vector<std::string>& segments, const Execution& original) {
  Execution again = fresh();
  const std::optional<Problem> problem = replay(again, segments);
  fuzz::require(!problem, problem ? describe(*problem) : "");
  fuzz::require(again.next_event() == original.next_event() && again.ended() == original.ended() &&
                    again.open_operations().size() == original.open_operations().size(),
                "a replay ends where the original did");
}

/// One new turn in which everything that is open has an outcome.
Turn answers(const Execution& execution) {
  Turn turn;
  std::uint64_t id = 0;
  for (const OpenOperation& open : execution.open_operations()) {
    turn.messages.push_back(
        {MessageId{++id}, ExecutionNumber{1}, history::Completed{open.id, encode("out")}});
  }
  turn.messages.push_back({MessageId{++id}, ExecutionNumber{1}, history::CancelRequested{"enough"}});
  return turn;
}

}  // namespace
}  // namespace holdfast::engine

void holdfast::fuzz::run(std::string_view input) {
  using namespace holdfast::engine;
  std::vector<std::string> segments;
  Execution execution = fresh();
  while (!input.empty()) {
    segments.push_back(next_segment(input, execution.next_event()));
    if (const auto outcome = execution.replay(segments.back()); !outcome) {
      Execution again = fresh();
      const std::optional<Problem> problem = replay(again, segments);
      require(problem && *problem == outcome.error(), "the same history has the same problem");
      require(!describe(*problem).empty() && problem->event.value > 0, "a problem names its event");
      return;
    }
  }
  require_replays(segments, execution);
  for (int turn = 0; turn < 3 && !execution.ended(); ++turn) {
    const Outcome outcome = execution.run(answers(execution));
    if (outcome.segment.empty()) break;
    segments.push_back(outcome.segment);
    require_replays(segments, execution);
  }
  const Outcome end = execution.terminate(CalendarTime{}, "enough");
  if (end.segment.empty()) return;
  segments.push_back(end.segment);
  require_replays(segments, execution);
}
