#include "runtime/rebuilder.hpp"

#include <holdfast/errors.hpp>

#include <memory>
#include <string>
#include <utility>

namespace holdfast::runtime {

bool Rebuilder::rebuild(TurnBatch& batch, FirstTurn& first) {
  CachedInstance& instance = *batch.current.taken.instance;
  first = first_turn(instance);
  auto code = settings_.registry.orchestration(instance.code.name, first.version);
  if (!code) {
    log(*settings_.logger, LogLevel::warn, "no code for this version of the orchestration",
        {{"instance", instance.id}, {"orchestration", instance.code.name}, {"version", first.version}});
    return false;
  }
  engine::Identity identity{.instance = instance.id,
                            .execution = instance.execution,
                            .build = std::to_string(settings_.options.build),
                            .log = &settings_.code_log};
  auto frame = std::make_unique<engine::Execution>(std::move(identity), std::move(code));
  if (!instance.stamp.empty()) {  // else there is no history yet
    const bool read = read_history(instance, [&](std::string_view segment) {
      const auto replayed = runner_.watched(batch, [&] { return frame->replay(segment); });
      if (!replayed) throw Error(engine::to_failure(replayed.error()));
      return frame->next_event();
    });
    if (!read) return false;
  }
  first.fresh = frame->next_event().value == 1;
  if (!first.fresh) settings_.counters.replays.add();
  instance.frame = std::move(frame);
  return true;
}

FirstTurn Rebuilder::first_turn(const CachedInstance& instance) const {
  return {.version = instance.code.version.empty() ? settings_.registry.newest_version(instance.code.name)
                                                   : instance.code.version,
          .history_budget = settings_.options.history_budget,
          .limits = settings_.options.limits};
}

}  // namespace holdfast::runtime
