#include "turns.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace holdfast::sqlite_store {
namespace {

using store::LockedTurn;

struct Candidate {
  LeaseTime at = 0;
  InstanceKey key{};
  std::int64_t lane = 0;
  friend auto operator<=>(const Candidate&, const Candidate&) = default;
};

class Fetch {
 public:
  Fetch(Transaction& tx, const store::TurnRequest& request) : tx_(tx), request_(request) {}

  store::FetchedTurns run() {
    out_.now = tx_.calendar_now;
    out_.next_due = deliver_due(tx_);
    for (const store::HeldInstance& held : request_.held) add_held(held);
    std::vector<Candidate> candidates = find_candidates();
    out_.left_behind = candidates.size() > request_.max;
    if (out_.left_behind) candidates.resize(request_.max);
    for (const Candidate& candidate : candidates) take(candidate);
    out_.next_due = std::min(out_.next_due, left_until(tx_.counters().turn_horizon, tx_.now));
    return std::move(out_);
  }

 private:
  void add_held(const store::HeldInstance& held) {
    std::optional<Instance> instance = load_instance(tx_, held.key);
    if (!instance || !instance->held || instance->held->token != held.token) return;
    if (!has_news(*instance, held.seen)) return;
    take_out(tx_, *instance);
    hand_out(*instance, held.token, held.seen);
    out_.turns.back().held = true;
  }

  // Whether a message after `seen` makes it ready.
  bool has_news(const Instance& instance, MessageId seen) {
    for (Cursor row = tx_.rows(tx_.sql.message_heads, instance.key, 0, seen); row.next();) {
      if (wakes(instance.status, static_cast<store::MessageKind>(row->integer(0)))) return true;
    }
    return has_awaited_delivery(tx_, instance, seen);
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

  void take(const Candidate& candidate) {
    tx_.run(tx_.sql.delete_ready, candidate.lane, candidate.at, candidate.key);
    if (std::optional<Instance> instance = load_instance(tx_, candidate.key)) {
      hand_out(*instance, request_.token, {});
    }
  }

  // It stands in `ready` no more.
  void hand_out(Instance& instance, LockToken token, MessageId seen) {
    const TurnStamp stamp = stamp_of(tx_, instance);
    const std::uint32_t delivery = delivery_of(instance, stamp) + 1;
    const LeaseTime until = later(tx_.now, request_.lease);
    const auto stamp_or_null = stamp.empty() ? std::nullopt : std::optional(stamp);
    tx_.run(instance.held ? tx_.sql.hold_again : tx_.sql.hold, instance.key, request_.worker, token, until,
            delivery, stamp_or_null);
    LeaseTime& horizon = tx_.counters().turn_horizon;
    horizon = std::min(horizon, until);
    if (instance.woken || instance.not_before != 0) {
      instance.woken = false;
      instance.not_before = 0;
      save_instance(tx_, instance);
    }
    const Route& route = tx_.route(instance.route);
    out_.turns.push_back({.key = instance.key,
                          .instance = std::move(instance.name),
                          .token = token,
                          .stamp = stamp,
                          .code = route.code,
                          .build = route.build,
                          .execution = instance.execution,
                          .status = instance.status,
                          .delivery = delivery,
                          .messages = read_messages(tx_, instance.key, seen)});
  }

  Transaction& tx_;
  const store::TurnRequest& request_;
  store::FetchedTurns out_{};
};

}  // namespace

bool serves(const store::Code& code, const Route& route) {
  return code.orchestrations.contains(route.code) &&
         (route.build == 0 || (code.oldest_build <= route.build && route.build <= code.newest_build));
}

StoreResult<store::FetchedTurns> fetch_turns(Transaction& tx, const store::TurnRequest& request) {
  if (auto refused = tx.refuse_worker(request.worker, WorkerCall::takes_work))
    return Unexpected(*std::move(refused));
  return Fetch(tx, request).run();
}

}  // namespace holdfast::sqlite_store
