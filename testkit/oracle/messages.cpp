// Messages, and what makes an instance ready.
#include "testkit/oracle/oracle.hpp"

#include <holdfast/detail/enum_names.hpp>

#include <algorithm>
#include <utility>
#include <variant>

namespace holdfast::testing::oracle {

using store::Message;
using store::MessageKind;

// A running instance is ready while it has a message other than a delivery or news, or one of these for an
// address that it waits for, and that its frame was not given. A suspended one becomes ready by control
// messages only, a parked one by these and requests to cancel, and one that has ended by start messages only.
bool Oracle::makes_ready(const Instance& instance, const Message& message, MessageId seen) {
  if (has_ended(instance.status)) return message.kind == MessageKind::start;
  if (instance.status == Status::suspended) return message.kind == MessageKind::control;
  if (instance.status == Status::parked) return asks_to_stop(message.kind);
  if (!waits_for_code(message.kind)) return true;
  return message.id > seen &&
         std::find(instance.waits.begin(), instance.waits.end(), message.address) != instance.waits.end();
}

bool Oracle::needs_turn(const Instance& instance, MessageId seen) {
  return (instance.woken && instance.status != Status::suspended) ||
         std::any_of(instance.messages.begin(), instance.messages.end(),
                     [&](const Message& message) { return makes_ready(instance, message, seen); });
}

// Since the first message that makes it ready came; but not before it was left, its lock lapsed or its delay
// was over.
std::optional<BootTime> Oracle::ready_since(const Instance& instance) const {
  if (instance.locked_by && !lock_is_over(instance)) return std::nullopt;
  // Once its lock has lapsed, nobody has its frame any more.
  const MessageId seen = instance.locked_by ? MessageId{} : instance.seen;
  const BootTime free =
      instance.locked_by ? std::max(instance.lease_until, instance.free_since) : instance.free_since;
  if (instance.not_before > now() || !needs_turn(instance, seen)) return std::nullopt;
  BootTime came = instance.woken && instance.status != Status::suspended ? free : BootTime::max();
  for (const Message& message : instance.messages) {
    if (makes_ready(instance, message, seen)) came = std::min(came, instance.came.at(message.id));
  }
  return std::max({came, free, instance.not_before});
}

bool Oracle::is_locked_by(const Instance& instance, LockToken token) {
  return instance.locked_by && instance.token == token;
}

bool Oracle::lock_is_over(const Instance& instance) const {
  return instance.locked_by && instance.lease_until <= now();
}

bool Oracle::deliver(Instance& instance, Message message) const {
  // One that has ended takes start messages only; all others are dropped when they arrive.
  if (has_ended(instance.status) && message.kind != MessageKind::start) return false;
  message.id = MessageId{++database_->last_message};
  // Whoever asks it to stop ends the delay of a release.
  if (asks_to_stop(message.kind) && makes_ready(instance, message, {}))
    instance.not_before = std::min(instance.not_before, now());
  instance.came[message.id] = now();
  instance.messages.push_back(std::move(message));
  return true;
}

void Oracle::deliver_later(Instance& instance, BootTime due, Message message) const {
  instance.delayed.push_back({due, ++database_->last_delayed, std::move(message)});
}

// Timers that are due become messages first, then delayed messages, each earliest first.
void Oracle::make_due_messages_visible() const {
  for (;;) {
    Instance* first = nullptr;
    store::NewTimer timer{};
    for (Instance& instance : rows().instances) {
      for (const store::NewTimer& one : instance.timers) {
        const bool is_first = first == nullptr || one.due < timer.due ||
                              (one.due == timer.due && first == &instance && one.event < timer.event);
        if (one.due > today() || !is_first) continue;
        first = &instance;
        timer = one;
      }
    }
    if (first == nullptr) break;
    std::erase(first->timers, timer);
    deliver(*first,
            {.kind = MessageKind::timer, .execution = first->execution, .source = timer.event, .body = {}});
  }
  for (;;) {
    Instance* first = nullptr;
    std::size_t position = 0;
    for (Instance& instance : rows().instances) {
      for (std::size_t i = 0; i < instance.delayed.size(); ++i) {
        const Delayed& one = instance.delayed[i];
        const bool is_first =
            first == nullptr || std::pair(one.due, one.order) <
                                    std::pair(first->delayed[position].due, first->delayed[position].order);
        if (one.due > now() || !is_first) continue;
        first = &instance;
        position = i;
      }
    }
    if (first == nullptr) break;
    Message message = std::move(first->delayed[position].message);
    first->delayed.erase(first->delayed.begin() + static_cast<std::ptrdiff_t>(position));
    deliver(*first, std::move(message));
  }
}

void Oracle::set_message_aside(const Instance& instance, const Message& message) const {
  set_row_aside(instance.key,
                "message " + to_string(message.id) + " (" +
                    std::string(holdfast::detail::enum_name(message.kind)) + ")",
                "can't be decoded", encode_body(message.body));
}

void Oracle::set_row_aside(InstanceKey key, std::string what, std::string problem, std::string bytes) const {
  rows().set_aside.push_back({.number = ++database_->last_set_aside,
                              .key = key,
                              .what = std::move(what),
                              .problem = std::move(problem),
                              .bytes = std::move(bytes),
                              .at = today()});
}

}  // namespace holdfast::testing::oracle
