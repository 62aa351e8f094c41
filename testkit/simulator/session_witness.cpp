#include "testkit/simulator/session_witness.hpp"

#include <algorithm>
#include <optional>

namespace holdfast::simulator {

void SessionWitness::joined(const store::NewWorker& info, WorkerKey key) {
  nodes_[key] = info.node;
  WorkerKey& newest = newest_[info.node];
  if (key <= newest) broken_("node '" + info.node + "' got an incarnation that is not newer than its last");
  newest = key;
  returns_[key] = after(clock_.boot_now(), info.take_back_within);
  signs_of_life_[key] = {.last_try = clock_.boot_now()};
}

void SessionWitness::refreshing(WorkerKey worker) {
  SignsOfLife& signs = signs_of_life_[worker];
  // They are due every quarter.
  if (clock_.boot_now() - signs.last_try > stale_after_ / 3) signs.had_pause = true;
  signs.last_try = clock_.boot_now();
}

void SessionWitness::refreshed(WorkerKey worker, const StoreResult<void>& answer) {
  SignsOfLife& signs = signs_of_life_[worker];
  const bool is_gone = !answer && answer.error().kind == StoreError::Kind::not_found;
  const bool waited = clock_.boot_now() - signs.last_try > stale_after_ / 3;
  const bool replaced = newest_[node_of(worker)] != worker;  // what it says is no sign of life any more
  if (is_gone && stale_after_ != never && !signs.had_pause && !waited && !replaced)
    broken_("worker " + to_string(worker) + " was taken for gone, and was never silent for long");
  if (answer) signs = {.last_try = clock_.boot_now()};
}

// A worker gets work of sessions that it holds, or claims with it.
void SessionWitness::granted(WorkerKey worker, const store::SessionGrant& grant) {
  if (grant.claimed) return claim(worker, grant.hold, grant.lease);
  Holder& holder = holders_[grant.hold.id];
  if (holder.worker != worker || holder.generation != grant.hold.generation)
    broken_("work of session '" + grant.hold.id + "' went to worker " + to_string(worker) + ", but worker " +
            to_string(holder.worker) + " holds it");
  holder.until = std::max(holder.until, after(clock_.boot_now(), grant.lease));
}

void SessionWitness::acquired(WorkerKey worker, const store::Acquired& answer) {
  const store::SessionHold hold{answer.session.id, answer.session.generation};
  if (answer.kind == store::Acquired::Kind::created || answer.kind == store::Acquired::Kind::reacquired)
    claim(worker, hold, answer.session.lease_left);
}

void SessionWitness::claim(WorkerKey worker, const store::SessionHold& hold, Duration lease) {
  const BootTime now = clock_.boot_now();
  const std::string who = "session '" + hold.id + "'";
  if (hold.generation <= newest_generation_)
    broken_(who + " was claimed in generation " + to_string(hold.generation) +
            ", which is not newer than the last one, " + to_string(newest_generation_));
  newest_generation_ = std::max(newest_generation_, hold.generation);
  if (newest_[node_of(worker)] != worker)
    broken_(who + " was claimed by worker " + to_string(worker) + ", whose node has a newer incarnation");
  if (const auto [owner, is_new] = owners_.emplace(hold.generation, worker); !is_new)
    broken_("generation " + to_string(hold.generation) + " of " + who + " has two owners");
  Holder& holder = holders_[hold.id];
  const bool taken_back = node_of(holder.worker) == node_of(worker);
  if (holder.until > now && holder.worker != worker && !taken_back && is_registered_(holder.worker) &&
      !has_left(hold.id, holder.generation))
    broken_(who + " was claimed by worker " + to_string(worker) + " while worker " +
            to_string(holder.worker) + " holds it");
  if (!taken_back && is_kept_for_its_node(hold.id, holder))
    broken_(who + " was claimed by worker " + to_string(worker) + " while it is kept for node '" +
            node_of(holder.worker) + "', which was started again");
  holder = {worker, hold.generation, after(now, lease)};
}

// From its first start after that on, and never longer than the lease that its former self had, unless that
// was ended with it.
bool SessionWitness::is_kept_for_its_node(std::string_view id, const Holder& holder) {
  if (holder.is_asked_for) return false;
  const auto returned = std::find_if(nodes_.upper_bound(holder.worker), nodes_.end(), [&](const auto& entry) {
    return entry.second == node_of(holder.worker);
  });
  if (returned == nodes_.end() || !is_registered_(holder.worker)) return false;
  if (std::min(returns_[returned->first], holder.until) <= clock_.boot_now()) return false;
  // The last that became of it in its generation: its record may have gone since.
  std::optional<store::SessionReason> last;
  for (const store::SessionLogEntry& entry : read_log_(id)) {
    if (entry.generation == holder.generation) last = entry.reason;
  }
  return last == store::SessionReason::owner_restarted;
}

bool SessionWitness::has_left(std::string_view id, Generation generation) const {
  using Kind = store::SessionLogEntry::Kind;
  return std::ranges::any_of(read_log_(id), [&](const store::SessionLogEntry& entry) {
    return entry.generation >= generation && entry.kind != Kind::claimed && entry.kind != Kind::reclaimed;
  });
}

void SessionWitness::renewed(WorkerKey worker, const store::SessionRenewal& renewal,
                             const StoreResult<void>& answer) {
  if (!answer) return;
  Holder& holder = holders_[renewal.hold.id];
  if (holder.worker != worker || holder.generation != renewal.hold.generation)
    broken_("session '" + renewal.hold.id + "' was renewed by a worker that does not hold it");
  holder.was_renewed = true;
}

bool SessionWitness::was_renewed(const std::string& id, Generation generation) const {
  const auto found = holders_.find(id);
  return found != holders_.end() && found->second.generation == generation && found->second.was_renewed;
}

void SessionWitness::released(WorkerKey worker, const store::SessionRelease& release,
                              const StoreResult<void>& answer) {
  if (!answer) return;
  Holder& holder = holders_[release.hold.id];
  if (holder.worker != worker || holder.generation != release.hold.generation)
    broken_("session '" + release.hold.id + "' was released by a worker that does not hold it");
  holder.until = kLongAgo;
  if (release.reason == store::SessionReason::displaced && !makes_room(worker, release.hold.id))
    broken_("session '" + release.hold.id + "' was displaced by worker " + to_string(worker) +
            ", and no session waits for its place");
  if (release.reason != store::SessionReason::idle) return;
  holder.released_as_idle = clock_.boot_now();
  if (holder.released_as_idle < holder.not_idle_until) complain_of_broken_promise(release.hold.id, worker);
}

// Just after it has let a session go: whether the store keeps one that waits for it, which it may have held
// itself until its lease was over. One that an operator asks for leaves for that.
bool SessionWitness::makes_room(WorkerKey worker, std::string_view displaced) {
  return std::ranges::any_of(read_sessions_(), [&](const store::SessionView& session) {
    if (session.id == displaced) return session.reason == store::SessionReason::operated;
    const bool kept = session.kept_for > Duration::zero() && session.wanted.value_or("") == node_of(worker);
    const bool taken_back = session.kept_for > Duration::zero() && !session.wanted;
    const bool its_own = session.state == store::SessionStatus::lapsed && session.worker == worker;
    return session.queued > 0 && (kept || taken_back || its_own);
  });
}

// What happened between the question and its answer counts too.
void SessionWitness::promised(WorkerKey worker, std::string_view id, BootTime asked, Duration idle_timeout) {
  Holder& holder = holders_[std::string(id)];
  if (holder.worker != worker) return;
  holder.not_idle_until = asked + idle_timeout;
  if (holder.released_as_idle >= asked) complain_of_broken_promise(id, worker);
}

void SessionWitness::complain_of_broken_promise(std::string_view id, WorkerKey worker) {
  broken_("session '" + std::string(id) + "' was released as idle, and worker " + to_string(worker) +
          " had asked for it and was told that it holds it");
}

// The record of a session that has not ended goes only when its owner is gone: it may have it in memory.
void SessionWitness::judge_sweeps(const store::StoreState& state) {
  using Kind = store::SessionLogEntry::Kind;
  const auto has_ended = [&](const store::SessionLogEntry& swept) {
    return std::ranges::any_of(state.session_log, [&](const store::SessionLogEntry& entry) {
      const bool is_end = entry.kind == Kind::closed || entry.kind == Kind::expired ||
                          entry.kind == Kind::lost || entry.kind == Kind::aborted;
      return is_end && entry.session == swept.session && entry.generation == swept.generation;
    });
  };
  for (const store::SessionLogEntry& entry : state.session_log) {
    if (entry.number <= last_log_entry_) continue;
    last_log_entry_ = entry.number;
    if (entry.kind != Kind::swept || entry.previous_owner.empty() || has_ended(entry)) continue;
    const WorkerKey owner = owners_[entry.generation];
    if (std::ranges::find(state.workers, owner, &store::WorkerView::key) != state.workers.end())
      broken_("the record of session '" + entry.session + "' was swept away, and worker " + to_string(owner) +
              ", which had it, is registered");
  }
}

void SessionWitness::inspect(const store::StoreState& state) {
  judge_sweeps(state);
  std::map<WorkerKey, std::uint32_t> held;
  // What ran when its session ended, and whose lock is over since, goes with the next sweep.
  std::map<std::string, std::uint64_t> lapsed;
  for (const store::ActivityRow& activity : state.activities) {
    if (!activity.view.running && !activity.token.empty()) ++lapsed[activity.view.session];
  }
  for (const store::SessionView& session : state.sessions) {
    const std::string who = "session '" + session.id + "'";
    if (session.state == store::SessionStatus::active) {
      Holder& holder = holders_[session.id];
      if (holder.worker != session.worker || holder.generation != session.generation)
        broken_(who + " is held by worker " + to_string(session.worker) + " in generation " +
                to_string(session.generation) + ", which it was never given");
      holder.until = after(clock_.boot_now(), session.lease_left);
      // One that nobody else may have is renewed late, also when its place was taken meanwhile.
      if (session.policy.when_lost == store::SessionPolicy::WhenLost::reclaim) ++held[session.worker];
    }
    const bool over = session.state == store::SessionStatus::closed ||
                      session.state == store::SessionStatus::expired ||
                      session.state == store::SessionStatus::failed;
    if (over && session.queued > lapsed[session.id])
      broken_(who + " has ended, and work waits in it for ever");
    if (session.policy.max_concurrent > 0 && session.in_flight > session.policy.max_concurrent)
      broken_(who + " runs " + std::to_string(session.in_flight) + " activities at once");
  }
  for (const store::WorkerView& worker : state.workers) {
    if (held[worker.key] > worker.info.abilities.session_limit)
      broken_("worker " + to_string(worker.key) + " holds " + std::to_string(held[worker.key]) +
              " sessions, and may hold " + std::to_string(worker.info.abilities.session_limit));
  }
}

}  // namespace holdfast::simulator
