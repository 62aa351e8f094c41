#include "readiness.hpp"

#include "base/version_ranges.hpp"

#include <algorithm>

namespace holdfast::rules {

bool makes_ready(const Instance& instance, const Message& message, MessageId seen) {
  if (has_ended(instance.view.status)) return message.kind == MessageKind::start;
  if (instance.view.status == InstanceStatus::suspended) return message.kind == MessageKind::control;
  if (instance.view.status == InstanceStatus::parked) return asks_to_stop(message.kind);
  if (!waits_for_code(message.kind)) return true;
  return message.id > seen && std::ranges::binary_search(instance.waits, message.address);
}

namespace {

/// For a turn that it takes when it is resumed, if it is suspended.
bool is_woken(const Instance& instance) {
  return instance.woken && instance.view.status != InstanceStatus::suspended;
}

bool any_makes_ready(const Instance& instance, MessageId seen) {
  return std::ranges::any_of(instance.messages,
                             [&](const auto& entry) { return makes_ready(instance, entry.second, seen); });
}

}  // namespace

bool needs_turn(const Transaction& tx, Instance& instance) {
  if (is_woken(instance) || any_makes_ready(instance, instance.seen)) return true;
  tx.rows.unread(instance);
  return any_makes_ready(instance, instance.seen);
}

bool needs_turn_once_unlocked(const Instance& instance) {
  return is_woken(instance) || any_makes_ready(instance, instance.lock.live ? MessageId{} : instance.seen);
}

bool has_unread_control(const Transaction& tx, Instance& instance) {
  tx.rows.unread(instance);
  return std::ranges::any_of(instance.messages,
                             [](const auto& entry) { return entry.second.kind == MessageKind::control; });
}

namespace {

bool has_build(const Code& code, std::uint64_t build) {
  return build == 0 || (build >= code.oldest_build && build <= code.newest_build);
}

bool has_version(const Code& code, const CodeVersion& wanted) {
  if (!detail::is_range(wanted.version)) return code.orchestrations.contains(wanted);
  const auto first = code.orchestrations.lower_bound({wanted.name, ""});
  return std::any_of(first, code.orchestrations.end(), [&](const CodeVersion& own) {
    return own.name == wanted.name && !own.version.empty() && detail::in_range(own.version, wanted.version);
  });
}

}  // namespace

bool suits(const Code& code, const Route& route) {
  return route.terminating || (has_version(code, route.code) && has_build(code, route.build));
}

bool SuitingCode::operator()(const Instance& instance) { return instance.terminating || is_for(instance); }

bool SuitingCode::is_for(const Instance& instance) {
  const CodeVersion& wanted = instance.view.code;
  if (!detail::is_range(wanted.version))
    return has_version(code_, wanted) && has_build(code_, instance.view.build);
  const auto [known, is_new] = ranges_.try_emplace(wanted, false);
  if (is_new) known->second = has_version(code_, wanted);
  return known->second && has_build(code_, instance.view.build);
}

}  // namespace holdfast::rules
