#include "runtime/turn_runner.hpp"

#include "base/kept_memory.hpp"
#include "runtime/turn_lines.hpp"

#include <utility>
#include <vector>

namespace holdfast::runtime {

engine::Outcome TurnRunner::run(TurnBatch& batch, CalendarTime now) {
  PreparedTurn& turn = batch.current;
  CachedInstance& instance = *turn.taken.instance;
  // On this stack: when the code does not come back in time, the batch is another's.
  engine::Outcome outcome = std::move(batch.spare_outcome);
  std::vector<engine::Message> messages = std::move(turn.incoming.messages);
  watched(batch, [&] {
    if (turn.incoming.terminate) {
      outcome = instance.frame->terminate(now, *turn.incoming.terminate);
    } else {
      instance.frame->run(now, messages, outcome);
    }
    return true;
  });
  batch.spare_messages = emptied(std::move(messages));
  settings_.counters.ignored_messages.add(outcome.ignored);
  say_outcome(settings_, instance, outcome);
  return outcome;
}

void TurnRunner::send(TurnBatch& batch) {
  const BootTime until = limit();
  watch_.add(batch, until);
  waker_.limit_by(until);
}

std::vector<std::shared_ptr<TurnBatch>> TurnRunner::give_up_overdue() {
  std::vector<std::shared_ptr<TurnBatch>> overdue = watch_.give_up_overdue(settings_.now());
  for (const std::shared_ptr<TurnBatch>& batch : overdue) {
    if (!batch->home) ++stuck_;
    if (batch->current.taken.instance != nullptr) settings_.counters.slow_turns.add();
  }
  return overdue;
}

}  // namespace holdfast::runtime
