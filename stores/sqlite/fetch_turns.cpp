#include "turns.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace holdfast::sqlite_store {
namespace {

struct Candidate {
  LeaseTime at = 0;
  InstanceKey key{};
  std::int64_t lane = 0;
  friend auto operator<=>(const Candidate&, const Candidate&) = default;
};

class TurnFetch {
 public:
  TurnFetch(Transaction& tx, const store::TurnRequest& request) : tx_(tx), request_(request) {}

  store::FetchedTurns run() {
    out_.now = tx_.calendar_now;
    out_.next_due = deliver_due(tx_);
    for (const store::HeldInstance& held : request_.held) add_held(held);
    std::vector<Candidate> candidates = find_candidates();
    out_.left_behind = candidates.size() > request_.max;
    if (out_.left_behind) candidates.resize(request_.max);
    take_out_of_ready(candidates);
    for (const Candidate& candidate : candidates) {
      if (Instance* instance = load_instance(tx_, candidate.key)) hand_out(*instance, request_.token, {});
    }
    out_.next_due = std::min(out_.next_due, left_until(tx_.counters().turn_horizon, tx_.now));
    return std::move(out_);
  }

 private:
  void add_held(const store::HeldInstance& held) {
    Instance* instance = load_instance(tx_, held.key);
    if (instance == nullptr || !instance->held || instance->held->token != held.token) return;
    if (!has_news(tx_, *instance, held.seen)) return;
    take_out(tx_, *instance);
    hand_out(*instance, held.token, held.seen);
    out_.turns.back().held = true;
  }

  std::vector<Candidate> find_candidates() {
    std::vector<Candidate> found;
    const NumberRange range(tx_.ns);
    std::int64_t lane = range.below;
    while (true) {
      {
        Cursor row = tx_.rows(tx_.sql.next_lane, lane, range.above);
        if (!row.next()) break;
        lane = row->int64(0);
      }
      if (!serves(*request_.code, tx_.route(lane))) continue;
      for (Cursor row = tx_.rows(tx_.sql.ready_in_lane, lane, tx_.now, request_.max + 1); row.next();) {
        found.push_back({row->int64(0), row->number<InstanceKey>(1), lane});
      }
      if (Cursor row = tx_.rows(tx_.sql.next_in_lane, lane, tx_.now); row.next()) {
        out_.next_due = std::min(out_.next_due, left_until(row->int64(0), tx_.now));
      }
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  // In each lane those that are taken are the first ones.
  void take_out_of_ready(const std::vector<Candidate>& candidates) {
    std::map<std::int64_t, const Candidate*> last;
    for (const Candidate& candidate : candidates) last[candidate.lane] = &candidate;
    for (const auto& [lane, candidate] : last) {
      tx_.run(tx_.sql.delete_ready_up_to, lane, candidate->at, candidate->key);
    }
  }

  // It stands in `ready` no more.
  void hand_out(Instance& instance, LockToken token, MessageId seen) {
    const TurnStamp stamp = stamp_of(tx_, instance);
    // What comes while it is held already is no other hand-out.
    const bool again = instance.held && instance.held->token == token;
    const std::uint32_t before = delivery_of(tx_, instance);
    const Held held{.worker = request_.worker,
                    .token = token,
                    .until = later(tx_.now, request_.lease),
                    .delivery = again ? std::max(before, 1U) : before + 1,
                    .stamp = stamp};
    const auto stamp_or_null = stamp.empty() ? std::nullopt : std::optional(stamp);
    tx_.run(instance.held ? tx_.sql.hold_again : tx_.sql.hold, instance.key, held.worker, held.token,
            held.until, held.delivery, stamp_or_null);
    instance.held = held;
    LeaseTime& horizon = tx_.counters().turn_horizon;
    horizon = std::min(horizon, held.until);
    if (instance.woken || instance.not_before != 0) {
      instance.woken = false;
      instance.not_before = 0;
      save_instance(tx_, instance);
    }
    const Route& route = tx_.route(instance.route);
    out_.turns.push_back({.key = instance.key,
                          .instance = instance.name,
                          .token = token,
                          .stamp = stamp,
                          .code = route.code,
                          .build = route.build,
                          .execution = instance.execution,
                          .status = instance.status,
                          .delivery = held.delivery,
                          .messages = read_messages(tx_, instance, seen)});
  }

  Transaction& tx_;
  const store::TurnRequest& request_;
  store::FetchedTurns out_{};
};

/// What a fetch has locked that was not answered.
void release_unanswered(Transaction& tx, LockToken token) {
  std::vector<InstanceKey> unanswered;
  for (Cursor row = tx.rows(tx.sql.held_by, token, tx.now); row.next();) {
    unanswered.push_back(row->number<InstanceKey>(0));
  }
  for (const InstanceKey key : unanswered) static_cast<void>(release_turn(tx, {.key = key, .token = token}));
}

}  // namespace

bool serves(const store::Code& code, const Route& route) {
  return code.orchestrations.contains(route.code) &&
         (route.build == 0 || (code.oldest_build <= route.build && route.build <= code.newest_build));
}

StoreResult<store::FetchedTurns> fetch_turns(Transaction& tx, const store::TurnRequest& request) {
  if (auto refused = tx.refuse_worker(request.worker, WorkerCall::takes_work))
    return Unexpected(*std::move(refused));
  if (request.repeated) release_unanswered(tx, request.token);
  return TurnFetch(tx, request).run();
}

}  // namespace holdfast::sqlite_store
