#include "readiness.hpp"

#include <algorithm>

namespace holdfast::rules {

bool makes_ready(const Instance& instance, const Message& message, MessageId seen) {
  if (has_ended(instance.view.status)) return message.kind == MessageKind::start;
  if (instance.view.status != InstanceStatus::running) return message.kind == MessageKind::control;
  if (!waits_for_code(message.kind)) return true;
  return message.id > seen && std::ranges::binary_search(instance.waits, message.address);
}

namespace {

bool any_makes_ready(const Instance& instance, MessageId seen) {
  return std::ranges::any_of(instance.messages,
                             [&](const auto& entry) { return makes_ready(instance, entry.second, seen); });
}

}  // namespace

bool needs_turn(const Transaction& tx, Instance& instance) {
  if (instance.woken || any_makes_ready(instance, instance.seen)) return true;
  tx.rows.unread(instance);
  return any_makes_ready(instance, instance.seen);
}

bool needs_turn_once_unlocked(const Instance& instance) {
  return instance.woken || any_makes_ready(instance, instance.lock.live ? MessageId{} : instance.seen);
}

bool suits(const Code& code, const CodeVersion& version, std::uint64_t build) {
  return code.orchestrations.contains(version) &&
         (build == 0 || (build >= code.oldest_build && build <= code.newest_build));
}

bool suits(const Code& code, const Instance& instance) {
  return suits(code, instance.view.code, instance.view.build);
}

}  // namespace holdfast::rules
