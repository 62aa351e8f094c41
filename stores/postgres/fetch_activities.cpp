// Activities are fetched: candidates come into the set, free ones and those of sessions that the worker holds
// or may claim; the rules choose among them. What is locked here is passed over by the fetches of others, so
// it is no more than this one could take.
#include "calls.hpp"
#include "statements.hpp"

#include <algorithm>

namespace holdfast::postgres_store {

using store::Abilities;
using store::ActivityRequest;
using store::FetchedActivities;

namespace {

/// Others may have locked those that come first: so many more are looked at.
constexpr std::size_t kPassedOver = 32;

/// Appends what a worker can run: its handlers, whether it serves any queue, and the queues.
Parameters& add_abilities(Parameters& parameters, const Abilities& abilities) {
  return parameters.add_all(abilities.handlers).add(abilities.queues.any).add_all(abilities.queues.names);
}

/// What to look for sessions by that a worker may take something of.
Parameters sessions_for(WorkingSet& set, WorkerKey worker, const Abilities& abilities, bool owned_only) {
  Parameters wanted(set.ns(), worker);
  add_abilities(wanted, abilities).add(set.tx().now).add_all(abilities.capabilities);
  wanted.add(owned_only);
  return wanted;
}

void add_texts(const Answer& answer, std::vector<std::string>& all) {
  for (int i = 0; i < answer.rows(); ++i) all.emplace_back(answer.bytes(i, 0));
}

/// Whether it is registered as one that claims no more, and takes nothing but what its sessions have.
bool is_draining(WorkingSet& set, WorkerKey key) {
  const rules::Worker* const worker = rules::find_worker(set.tx(), key);
  return worker == nullptr || worker->draining;
}

class Candidates {
 public:
  Candidates(WorkingSet& set, const ActivityRequest& request)
      : set_(set), request_(request), abilities_(*request.abilities) {}

  void bring() {
    set_.want_worker(request_.worker);
    set_.ask(sql::kLetLapse, Parameters(set_.ns(), set_.tx().now));
    if (!request_.owned_only) lock_free();
    if (abilities_.session_limit > 0) look_for_sessions();
    if (request_.repeated) lock_unanswered();
    set_.bring();
    lock_sessions();
    std::vector<InstanceKey> keys;
    for (const auto& [id, activity] : set_.tx().space.activities) keys.push_back(id.instance);
    set_.want_names_of(keys);
    if (set_.asked()) set_.bring();
  }

  [[nodiscard]] rules::NotInSpace not_in_space() const {
    rules::NotInSpace left{.owned = owned_.size() > request_.max, .claimable_since = rules::kNever};
    for (const Claimable& session : claimable_) {
      if (is_here(session.id)) continue;
      ++left.claimable;
      left.claimable_since = std::min(left.claimable_since, session.oldest);
    }
    return left;
  }

  /// Whether others have locked a session that there was room for.
  [[nodiscard]] bool were_passed_over() const { return sessions_here() < wanted_owned_ + wanted_claims_; }

  /// Whether something was locked, and others have passed it over, that was not taken for lack of room.
  [[nodiscard]] bool has_left(const FetchedActivities& fetched) const {
    if (fetched.activities.size() < request_.max) return false;
    const rules::Space& space = set_.tx().space;
    return std::ranges::any_of(space.waiting, [&](const rules::ReadyActivity& ready) {
      const rules::Activity& activity = *space.activities.peek(ready.id);
      return !activity.session || space.sessions.peek(*activity.session)->worker != request_.worker;
    });
  }

 private:
  struct Claimable {
    std::string id{};
    BootTime oldest{};  ///< since when the oldest activity waits that this worker could run
  };

  void lock_free() {
    Parameters free(set_.ns());
    add_abilities(free, abilities_).add(set_.tx().now).add(static_cast<std::int64_t>(request_.max));
    free.add(static_cast<std::int64_t>(2 * request_.max + kPassedOver));
    set_.ask(sql::kFreeActivities, free, [this](const Answer& answer) {
      set_.take_names(answer);
      set_.take_activities(answer);
    });
  }

  void lock_unanswered() {
    const Parameters unanswered(set_.ns(), request_.token, set_.tx().now);
    set_.ask(sql::kFreeLockedBy, unanswered, [this](const Answer& answer) { set_.take_activities(answer); });
    set_.ask(sql::kSessionsLockedBy, unanswered,
             [this](const Answer& answer) { add_texts(answer, others_); });
  }

  // Without a lock: which of them to lock is known when all are.
  void look_for_sessions() {
    const bool owned_only = request_.owned_only;
    set_.ask(sql::kSessionsFor, sessions_for(set_, request_.worker, abilities_, owned_only),
             [this](const Answer& answer) { take_sessions(answer); });
    set_.want_held_elsewhere(request_.worker);
    set_.ask(sql::kCountLiveWorkers, Parameters(set_.ns()), [this](const Answer& answer) {
      live_workers_ = static_cast<std::size_t>(answer.integer(0, 0));
    });
  }

  void take_sessions(const Answer& answer) {
    for (int i = 0; i < answer.rows(); ++i) {
      Row row(answer, i);
      auto id = row.next<std::string>();
      const bool held = row.next<bool>();
      const auto oldest = row.next<std::optional<BootTime>>();
      const bool has_strange = row.next<bool>();
      if (has_strange) others_.push_back(id);
      if (!oldest) continue;
      if (held) {
        owned_.push_back(std::move(id));
      } else {
        claimable_.push_back({std::move(id), *oldest});
      }
    }
  }

  /// As many as the rules may let it claim.
  std::size_t claims() {
    if (claimable_.empty() || is_draining(set_, request_.worker)) return 0;
    const std::uint32_t held = set_.held_elsewhere(request_.worker).count;
    const std::size_t room = abilities_.session_limit - std::min(held, abilities_.session_limit);
    const std::size_t among = std::max<std::size_t>(live_workers_, 1);
    return std::min({(claimable_.size() + among - 1) / among, room, request_.max});
  }

  void lock_sessions() {
    wanted_claims_ = claims();
    if (wanted_claims_ > 0) {
      // Claims of one worker go one after the other, below its limit.
      set_.want_locked_worker(request_.worker);
      std::vector<std::string> ids;
      for (std::size_t i = 0; i < std::min(claimable_.size(), wanted_claims_ + kPassedOver); ++i) {
        ids.push_back(claimable_[i].id);
      }
      set_.want_claimable_sessions(ids, wanted_claims_, request_.worker, store::Saved::bytes);
    }
    wanted_owned_ = std::min(owned_.size(), request_.max);
    const auto first = owned_.begin();
    set_.want_free_sessions({first, first + static_cast<std::ptrdiff_t>(wanted_owned_)});
    set_.want_free_sessions(others_);
    if (!set_.asked()) return;
    set_.want_all_workers();
    set_.bring();
  }

  [[nodiscard]] bool is_here(const std::string& id) const { return set_.tx().space.sessions.contains(id); }
  [[nodiscard]] std::size_t sessions_here() const {
    const auto here = [this](const std::string& id) { return is_here(id); };
    const auto owned_end = owned_.begin() + static_cast<std::ptrdiff_t>(wanted_owned_);
    return static_cast<std::size_t>(std::count_if(owned_.begin(), owned_end, here) +
                                    std::ranges::count_if(claimable_, here, &Claimable::id));
  }

  WorkingSet& set_;
  const ActivityRequest& request_;
  const Abilities& abilities_;
  // In the order of their first activities.
  std::vector<std::string> owned_{};
  std::vector<Claimable> claimable_{};
  /// Those of the worker with activities that it can't run, and those that an unanswered call has activities
  /// of.
  std::vector<std::string> others_{};
  std::size_t live_workers_ = 0;
  std::size_t wanted_owned_ = 0;
  std::size_t wanted_claims_ = 0;
};

/// Finds out whether something is left of what is in no session.
void ask_for_free(WorkingSet& set, const ActivityRequest& request, bool& left) {
  Parameters free(set.ns());
  add_abilities(free, *request.abilities).add(set.tx().now);
  set.ask(sql::kAnyFree, free, [&left](const Answer& answer) { left = Row(answer, 0).next<bool>(); });
}

void bring_next_due(WorkingSet& set, const ActivityRequest& request, Duration& next_due) {
  const BootTime now = set.tx().now;
  const auto earlier = [&next_due, now](const Answer& answer) {
    if (answer.rows() == 0 || answer.is_null(0, 0)) return;
    next_due = std::min(next_due, left(Row(answer, 0).next<BootTime>(), now));
  };
  Parameters free(set.ns());
  add_abilities(free, *request.abilities).add(now);
  set.ask(sql::kNextFree, free, earlier);
  free.add_all(request.abilities->capabilities).add(request.worker).add(request.owned_only);
  set.ask(sql::kNextInSessions, free, earlier);
  set.ask(sql::kNextRoom, Parameters(set.ns(), now), earlier);
  set.ask(sql::kNextLapse, Parameters(set.ns(), now), earlier);
  set.bring();
}

}  // namespace

void bring_next_in_line(WorkingSet& set, WorkerKey key) {
  const rules::Worker* const worker = rules::find_worker(set.tx(), key);
  if (worker == nullptr) return;
  std::vector<std::string> waiting;
  const BootTime since = set.tx().now - store::kWaitsForRoom;
  const auto take = [&](const Answer& answer) {
    for (int i = 0; i < answer.rows() && waiting.size() < kPassedOver; ++i) {
      Row row(answer, i);
      auto id = row.next<std::string>();
      const bool held = row.next<bool>();
      const auto oldest = row.next<std::optional<BootTime>>();
      if (!held && oldest && *oldest <= since) waiting.push_back(std::move(id));
    }
  };
  set.ask(sql::kSessionsFor, sessions_for(set, key, worker->info.abilities, false), take);
  set.bring();
  if (waiting.empty()) return;
  set.want_claimable_sessions(waiting, 1, key, store::Saved::size);
  set.bring();
}

StoreResult<FetchedActivities> fetch_activities(WorkingSet& set, const ActivityRequest& request,
                                                LookAgain& look_again) {
  Candidates candidates(set, request);
  candidates.bring();
  StoreResult<FetchedActivities> fetched =
      rules::fetch_activities(set.tx(), request, candidates.not_in_space());
  if (!fetched) return fetched;
  if (candidates.has_left(*fetched)) set.tx().news.work |= store::kActivities;
  set.write_back();
  bool free_left = false;
  if (!request.owned_only && !is_draining(set, request.worker)) ask_for_free(set, request, free_left);
  bring_next_due(set, request, fetched->next_due);
  // What is left there is left for lack of room, or because others have locked it. These may give it back.
  const bool has_room = fetched->activities.size() < request.max;
  if (free_left && !has_room) fetched->left_behind = true;
  const bool in_the_way = has_room && (free_left || candidates.were_passed_over());
  fetched->next_due = std::min(fetched->next_due, look_again.after(in_the_way));
  set.clear();
  return fetched;
}

}  // namespace holdfast::postgres_store
