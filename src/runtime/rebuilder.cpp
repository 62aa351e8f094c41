#include "runtime/rebuilder.hpp"

#include <holdfast/errors.hpp>

#include <string>
#include <utility>

namespace holdfast::runtime {

bool Rebuilder::rebuild(TurnBatch& batch) {
  PreparedTurn& turn = batch.current;
  const CachedInstance& instance = *turn.taken.instance;
  auto code = find_code(turn);
  if (!code) return false;
  Frame frame = make_frame(identity_of(instance), std::move(code));
  if (!instance.stamp.empty()) {  // else there is no history yet
    const bool read = read_history(instance, [&](const store::Segment& segment) {
      return replay_segment(batch, *frame, segment.bytes);
    });
    if (!read) return false;
  }
  adopt(turn, std::move(frame));
  return true;
}

// The store goes on after the first event of the last segment: it gives whole ones.
bool Rebuilder::read(SentTurn& sent) {
  const CachedInstance& instance = *sent.turn.taken.instance;
  sent.code = find_code(sent.turn);
  if (!sent.code) return false;
  return instance.stamp.empty() || read_history(instance, [&](store::Segment& segment) {
           const EventId first = segment.first_event;
           sent.history.push_back(std::move(segment));
           return EventId{first.value + 1};
         });
}

void Rebuilder::replay(TurnBatch& batch, SentTurn& sent) {
  Frame frame = batch.home->make(identity_of(*batch.current.taken.instance), std::move(sent.code));
  for (const store::Segment& segment : std::exchange(sent.history, {}))
    replay_segment(batch, *frame, segment.bytes);
  adopt(batch.current, std::move(frame));
}

std::shared_ptr<const detail::OrchestrationCode> Rebuilder::find_code(PreparedTurn& turn) const {
  const CachedInstance& instance = *turn.taken.instance;
  turn.first = first_turn(instance);
  auto code = settings_.registry.orchestration(instance.code.name, turn.first.version);
  if (!code) {
    log(*settings_.logger, LogLevel::warn, "no code for this version of the orchestration",
        {{"instance", instance.id}, {"orchestration", instance.code.name}, {"version", turn.first.version}});
  }
  return code;
}

engine::Identity Rebuilder::identity_of(const CachedInstance& instance) const {
  return {.instance = instance.id,
          .execution = instance.execution,
          .build = std::to_string(settings_.options.build),
          .log = &settings_.code_log};
}

EventId Rebuilder::replay_segment(TurnBatch& batch, engine::Execution& frame, std::string_view segment) {
  const auto replayed = runner_.watched(batch, [&] { return frame.replay(segment); });
  if (!replayed) {
    batch.current.recorded_by = replayed.error().build;
    throw Error(engine::to_failure(replayed.error()));
  }
  return frame.next_event();
}

void Rebuilder::adopt(PreparedTurn& turn, Frame&& frame) {
  turn.first.fresh = frame->next_event().value == 1;
  if (!turn.first.fresh) settings_.counters.replays.add();
  turn.taken.instance->frame = std::move(frame);
}

FirstTurn Rebuilder::first_turn(const CachedInstance& instance) const {
  return {.version = settings_.registry.decided_version(instance.code.name, instance.code.version),
          .history_budget = settings_.options.history_budget,
          .limits = settings_.options.limits};
}

}  // namespace holdfast::runtime
