#include "runtime/calls_in_hand.hpp"

#include "base/moments.hpp"

#include <algorithm>
#include <iterator>

namespace holdfast::runtime {

// ---- locks that are asked for -------------------------------------------------------------------

// What was taken away, and never came here, runs nowhere.
void CallsInHand::stop_expecting(LockToken token, CallOrders& orders) {
  expected_.erase(token);
  std::erase_if(cancelled_early_, [&](const Key& key) {
    if (key.second != token) return false;
    orders.acknowledge.push_back({key.first, token, State::acknowledged});
    return true;
  });
}

bool CallsInHand::was_cancelled_early(const Key& key, CallOrders& orders) {
  if (cancelled_early_.erase(key) == 0) return false;
  orders.acknowledge.push_back({key.first, key.second, State::acknowledged});
  return true;
}

// ---- coming and going ---------------------------------------------------------------------------

void CallsInHand::add(const CallPointer& call, BootTime lease_until) {
  calls_.insert_or_assign(
      Key{call->id(), call->token()},
      Entry{.call = call, .delivery = call->locked().delivery, .lease_until = lease_until});
}

// The lease was over before its answer came to the store, or before its code came to its end. One that was
// put back, and whose answer is on its way here, has no more deliveries than it had: it is another call.
std::optional<LockToken> CallsInHand::take_again(const store::LockedActivity& locked, LockToken token,
                                                 BootTime asked, const SessionMemory* memory) {
  auto found = calls_.lower_bound({locked.id, {}});
  const auto is_it = [&] {
    const detail::ActivityCall& call = *found->second.call;
    return !found->second.gone && call.locked().attempt == locked.attempt &&
           found->second.delivery + 1 == locked.delivery &&
           (call.stay() != nullptr ? call.stay()->memory() : nullptr) == memory;
  };
  while (found != calls_.end() && found->first.first == locked.id && !is_it()) ++found;
  if (found == calls_.end() || found->first.first != locked.id) return std::nullopt;
  const LockToken before = found->first.second;
  auto node = calls_.extract(found);
  node.key().second = token;
  Entry& entry = node.mapped();
  entry.call->set_token(token);
  entry.former.push_back(before);
  entry.delivery = locked.delivery;
  entry.lease_until = after(asked, settings_.options.activity_lease);
  entry.lapsed = false;
  entry.overtaken_by.reset();
  calls_.insert(std::move(node));
  return before;
}

CallsInHand::CodeEnd CallsInHand::code_ended(const detail::ActivityCall& call, CallOrders& orders) {
  const auto found = calls_.find({call.id(), call.token()});
  if (found == calls_.end()) return {};
  Entry& entry = found->second;
  CodeEnd end{.known = true, .frees_slot = std::exchange(entry.code_runs, false)};
  if (end.frees_slot) end.stopped = entry.stopping.reason();
  entry.abandoned = false;
  if (entry.gone) {
    acknowledge(found->first, entry, State::acknowledged, orders);
    let_go(found, orders);
  }
  return end;
}

CallPointer CallsInHand::close(const Key& key, CallOrders& orders) {
  const auto found = calls_.find(key);
  if (found == calls_.end()) return nullptr;
  Entry& entry = found->second;
  if (entry.code_runs) {  // and its slot is not free yet
    entry.gone = true;
    return nullptr;
  }
  acknowledge(found->first, entry, entry.abandoned ? State::abandoned : State::acknowledged, orders);
  CallPointer call = entry.call;
  let_go(found, orders);
  return call;
}

CallPointer CallsInHand::drop(const Key& key, CallOrders& orders) {
  const auto found = calls_.find(key);
  if (found == calls_.end()) return nullptr;
  found->second.on_record = true;
  CallPointer call = found->second.call;
  static_cast<void>(close(key, orders));
  return call;
}

void CallsInHand::cancel(const Key& key, CancelReason reason, std::optional<BootTime> taken_at,
                         CallOrders& orders) {
  const auto found = calls_.find(key);
  if (found == calls_.end()) {
    if (expected_.contains(key.second)) cancelled_early_.insert(key);
    return;
  }
  Entry& entry = found->second;
  if (entry.gone) return;
  // The next renewal will know.
  if (reason == CancelReason::lease_lost && may_be_locked_again(entry)) return;
  entry.gone = true;
  entry.on_record = reason != CancelReason::lease_lost;
  static_cast<void>(entry.call->answer());
  if (entry.code_runs) return ask_to_stop(entry, reason, taken_at, orders);
  acknowledge(found->first, entry, State::acknowledged, orders);
  let_go(found, orders);
}

void CallsInHand::stop_all(CancelReason reason, CancelReason in_fail_session, CallOrders& orders) {
  for (auto& [key, entry] : calls_) {
    if (!entry.code_runs || entry.call->answered()) continue;
    const auto& session = entry.call->locked().session;
    const bool fails = session && session->when_lost == store::SessionPolicy::WhenLost::fail;
    ask_to_stop(entry, fails ? in_fail_session : reason, std::nullopt, orders);
  }
}

void CallsInHand::ask_to_stop(Entry& entry, CancelReason reason, std::optional<BootTime> taken_at,
                              CallOrders& orders) {
  const bool first = entry.stopping.ask(reason, settings_.now(), settings_.options.cancel_grace);
  orders.limit_by = std::min(orders.limit_by, entry.stopping.due());
  if (!first) return;  // it was told
  entry.call->give_reason(reason);
  orders.stop.push_back({entry.call, reason, taken_at});
}

CallsInHand::Calls::iterator CallsInHand::let_go(Calls::iterator it, CallOrders& orders) {
  orders.over.push_back(std::move(it->second.call));
  return calls_.erase(it);
}

// Only what the store took away is on record there; of a lost lease it knows nothing.
void CallsInHand::acknowledge(const Key& key, const Entry& entry, State state, CallOrders& orders) {
  if (entry.on_record) orders.acknowledge.push_back({key.first, key.second, state});
}

// ---- time ---------------------------------------------------------------------------------------

void CallsInHand::check(CallOrders& orders) {
  const BootTime now = settings_.now();
  for (auto it = calls_.begin(); it != calls_.end();) {
    check_attempt(it->second, now, orders);
    it = check_grace(it, now, orders);
  }
}

// Has it taken too long, or is its lease over?
void CallsInHand::check_attempt(Entry& entry, BootTime now, CallOrders& orders) {
  if (!entry.code_runs || entry.gone) return;
  if (entry.call->deadline() <= now && entry.call->answer()) {
    orders.timed_out.push_back(entry.call);
    entry.on_record = entry.call->stay() != nullptr;
    ask_to_stop(entry, CancelReason::attempt_timeout, std::nullopt, orders);
  } else if (entry.lease_until <= now && !entry.call->answered() && !std::exchange(entry.lapsed, true)) {
    orders.lapsed.push_back(entry.call);
    ask_to_stop(entry, CancelReason::lease_lost, std::nullopt, orders);
  }
}

// Was it asked to stop, and goes on for longer than it may? Returns the next one.
CallsInHand::Calls::iterator CallsInHand::check_grace(Calls::iterator it, BootTime now, CallOrders& orders) {
  Entry& entry = it->second;
  if (!entry.code_runs) return std::next(it);
  switch (entry.stopping.check(now, entry.call->can_be_ended())) {
    case Stopping::Order::none:
      return std::next(it);
    case Stopping::Order::end:
      orders.end.push_back(entry.call);
      return std::next(it);
    case Stopping::Order::abandon:
      break;
  }
  orders.abandoned.push_back(entry.call);
  entry.code_runs = false;
  entry.abandoned = true;
  if (!entry.gone) return std::next(it);
  acknowledge(it->first, entry, State::abandoned, orders);
  return let_go(it, orders);
}

BootTime CallsInHand::next_limit() const {
  BootTime due = BootTime::max();
  for (const auto& [key, entry] : calls_) {
    if (!entry.code_runs) continue;
    if (!entry.gone && !entry.call->answered()) {
      due = std::min({due, entry.call->deadline(), entry.lapsed ? BootTime::max() : entry.lease_until});
    }
    due = std::min(due, entry.stopping.due());
  }
  return due;
}

std::vector<store::ActivityRenewal> CallsInHand::renewals() {
  std::vector<store::ActivityRenewal> list;
  for (auto& [key, entry] : calls_) {
    if (!entry.gone) list.push_back({key.first, key.second, entry.call->take_unsent_progress()});
  }
  return list;
}

void CallsInHand::renewed(std::span<const store::ActivityRenewal> renewals, BootTime asked,
                          CallOrders& orders) {
  for (const store::ActivityRenewal& renewal : renewals) {
    const auto found = calls_.find({renewal.id, renewal.token});
    if (found == calls_.end()) continue;
    found->second.lease_until = after(asked, settings_.options.activity_lease);
    found->second.lapsed = false;
    orders.limit_by = std::min(orders.limit_by, found->second.lease_until);
  }
}

// ---- questions ----------------------------------------------------------------------------------

CallPointer CallsInHand::find(const Key& key) const {
  const auto found = calls_.find(key);
  return found == calls_.end() ? nullptr : found->second.call;
}

std::optional<LockToken> CallsInHand::newer_lock(const Key& key) const {
  for (auto it = calls_.lower_bound({key.first, {}}); it != calls_.end() && it->first.first == key.first;
       ++it) {
    const Entry& entry = it->second;
    // Another attempt of the same activity may be in hand, too.
    if (!entry.gone && std::ranges::find(entry.former, key.second) != entry.former.end())
      return it->first.second;
  }
  return std::nullopt;
}

bool CallsInHand::may_be_locked_again(const Key& key) {
  const auto found = calls_.find(key);
  return found != calls_.end() && !found->second.gone && may_be_locked_again(found->second);
}

bool CallsInHand::may_be_locked_again(Entry& entry) const {
  if (!entry.overtaken_by) entry.overtaken_by = expected_;
  return std::ranges::any_of(*entry.overtaken_by, [&](LockToken fetch) { return expected_.contains(fetch); });
}

std::optional<BootTime> CallsInHand::suspect_since() const {
  std::optional<BootTime> since;
  for (const auto& [key, entry] : calls_) {
    if (!entry.gone && settings_.is_suspect(entry.call->locked().delivery))
      since = std::max(since.value_or(kLongAgo), entry.call->started());
  }
  return since;
}

std::vector<CallPointer> CallsInHand::running() const {
  std::vector<CallPointer> running;
  for (const auto& [key, entry] : calls_) {
    if (entry.code_runs) running.push_back(entry.call);
  }
  return running;
}

bool CallsInHand::ends_soon(bool store_answers) const {
  return std::ranges::any_of(calls_, [&](const auto& item) {
    const Entry& entry = item.second;
    return entry.code_runs ? entry.call->can_be_ended() : store_answers && entry.call->answered();
  });
}

}  // namespace holdfast::runtime
