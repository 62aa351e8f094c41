#include "runtime/turns.hpp"

#include "runtime/take_out.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <memory>
#include <utility>

namespace holdfast::runtime {

Progress TurnStep::step(RunId run) {
  const bool settled = away_.step();
  const TurnFetch::Fetched fetched = fetch_.fetch();
  std::vector<InstanceCache::Taken> taken = cache_.take_ready(TurnFetch::kBatch);
  away_.take(taken);
  const bool sent = away_.step();
  if (taken.empty()) {
    if (settled || sent) return {fetch_.is_wanted() || cache_.has_ready(), fetch_.due()};
    // Nothing to fetch, or another thread does: it looks again when there is more.
    if (!standing_.accepts() || fetched == TurnFetch::Fetched::elsewhere) return {};
    return {fetched == TurnFetch::Fetched::some, fetch_.due()};
  }
  if (cache_.has_ready()) waker_.poke(Step::turns);  // another thread may go on with the rest

  return run_and_commit(run, std::move(taken));
}

// What may kill this process goes last and by itself: nothing else of this step is lost with it.
Progress TurnStep::run_and_commit(RunId run, std::vector<InstanceCache::Taken>&& taken) try {
  const auto is_suspect = [&](const auto& one) { return settings_.is_suspect(one.instance->delivery); };
  std::vector<InstanceCache::Taken> suspects = take_out(taken, is_suspect);
  std::ranges::move(suspects, std::back_inserter(taken));
  std::shared_ptr<TurnBatch> batch = new_batch(run, std::move(taken));
  while (batch->next < batch->waiting.size()) {
    const BootTime begun = settings_.now();
    run_some(*batch);
    committer_.commit(*batch);
    settings_.counters.turn_seconds.observe(std::chrono::duration<double>(settings_.now() - begun).count());
  }
  keep_memory_of(std::move(batch));
  return {fetch_.is_wanted() || cache_.has_ready(), fetch_.due()};
} catch (const GivenUp&) {
  log(*settings_.logger, LogLevel::info, "a turn that was given up has come back; what it did is dropped");
  runner_.came_back();
  return {.came_back = true};
}

// One that was given up is another's, and never comes back here.
std::shared_ptr<TurnBatch> TurnStep::new_batch(RunId run, std::vector<InstanceCache::Taken>&& taken) {
  std::shared_ptr<TurnBatch> spare;
  {
    const MutexLock lock(spares_mutex_);
    if (!spares_.empty()) {
      spare = std::move(spares_.back());
      spares_.pop_back();
    }
  }
  if (!spare) return std::make_shared<TurnBatch>(run, std::move(taken));
  spare->begin(run, std::move(taken));
  return spare;
}

void TurnStep::keep_memory_of(std::shared_ptr<TurnBatch>&& batch) {
  constexpr std::size_t kMost = 4;  // few threads run turns at the same time
  batch->waiting.clear();
  batch->current = {};
  const MutexLock lock(spares_mutex_);
  if (spares_.size() < kMost) spares_.push_back(std::move(batch));
}

// Runs the code of all up to the next suspect, or of that one alone. Those that can't be run are released or
// parked, and have no commit.
void TurnStep::run_some(TurnBatch& batch) {
  const auto suspect_is_next = [&] {
    return settings_.is_suspect(batch.waiting[batch.next].instance->delivery);
  };
  do {
    batch.current = {.taken = std::move(batch.waiting[batch.next++])};
    if (!builder_.build(batch, batch.next_commit())) continue;
    batch.prepared.push_back(std::move(batch.current));
  } while (batch.next < batch.waiting.size() && !suspect_is_next());
}

std::vector<RunId> TurnStep::give_up_overdue() {
  std::vector<RunId> stuck;
  for (const std::shared_ptr<TurnBatch>& batch : runner_.give_up_overdue()) {
    if (batch->home) {
      away_.give_up(*batch);
    } else {
      settling_.give_up(*batch, runner_.stuck());
      stuck.push_back(batch->run);
    }
  }
  return stuck;
}

}  // namespace holdfast::runtime
