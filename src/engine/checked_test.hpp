// One execution, run in several ways at once: what must hold for every orchestration is checked at each turn.
#pragma once

#include "engine/books_test.hpp"
#include "engine/execution.hpp"
#include "engine/program_test.hpp"

#include <functional>
#include <list>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace holdfast::engine {

/// Going on with the frames in memory, replaying history and going on from there, and replaying all of it in
/// strict mode give the same outcome and leave the same state; and the books balance. What does not hold is
/// collected in `problems`.
class CheckedExecution {
 public:
  /// Gives the trace of the execution that began last, for orchestrations that keep one.
  using Probe = std::function<std::shared_ptr<const Trace>()>;

  CheckedExecution(Identity identity, std::shared_ptr<const detail::OrchestrationCode> code,
                   Probe probe = {});

  /// Messages that a former execution did not receive.
  void inherit(const std::list<Message>& unread);
  Outcome run(CalendarTime time, const std::vector<Message>& messages);
  Outcome terminate(CalendarTime time, const std::string& reason);

  /// With which frames the next turn goes on: those that ran all turns so far, those that replayed all but
  /// the last, or those that only replayed. The others are destroyed.
  enum class Frames : std::uint8_t { kept, replayed_and_run, replayed };
  void go_on_with(Frames frames);
  /// All frames are destroyed, and made again from history: by code that may have changed.
  void begin_anew() { warm_ = replayed(false); }

  [[nodiscard]] Execution& warm() { return *warm_.execution; }
  [[nodiscard]] const Books& books() const noexcept { return books_; }
  [[nodiscard]] const Trace* trace() const noexcept { return warm_.trace.get(); }
  /// The first problem of a replay in strict mode, if there is one.
  static std::optional<Problem> replay_all(Execution& execution, const std::vector<std::string>& segments);

  std::vector<std::string> segments;
  std::vector<std::string> problems;

 private:
  struct Lane {
    std::unique_ptr<Execution> execution{};
    std::set<MessageId> holds{};  // messages that were given to it
    std::shared_ptr<const Trace> trace{};
  };
  [[nodiscard]] Lane fresh(bool strict) const;
  Lane replayed(bool strict);
  Outcome run_in(Lane& lane, CalendarTime time, const std::vector<Message>& messages);
  void conclude(const Outcome& warm, const Outcome& cold);
  void compare(const Lane& lane, const std::string& name);
  void find_trace(Lane& lane) const;

  Identity identity_;
  std::shared_ptr<const detail::OrchestrationCode> code_;
  Probe probe_;
  Books books_;
  Lane warm_;
  Lane cold_;    // replayed all but the last turn
  Lane replay_;  // replayed all
};

}  // namespace holdfast::engine
