#include "engine/cancels.hpp"

#include <algorithm>
#include <array>

namespace holdfast::engine {

std::string label_of(const detail::Operation& operation) {
  return std::visit(
      []<class T>(const T& o) -> std::string {
        if constexpr (requires { o.mailbox; }) {
          return o.mailbox;
        } else if constexpr (requires { o.id; }) {
          return o.id;
        } else if constexpr (requires { o.name; }) {
          return o.name;
        } else if constexpr (requires { o.settings->id; }) {
          return o.settings->id;
        } else if constexpr (requires { o.key; }) {
          return o.key;
        } else if constexpr (requires { o.instance; }) {
          return o.instance;
        } else {
          return {};
        }
      },
      operation);
}

bool is_cancellable(std::uint8_t kind) noexcept {
  static constexpr std::array kCancellable = {detail::kind_of_operation<detail::ActivityScheduled>,
                                              detail::kind_of_operation<detail::TimerStarted>,
                                              detail::kind_of_operation<detail::EventAwaited>,
                                              detail::kind_of_operation<detail::MessageAwaited>,
                                              detail::kind_of_operation<detail::ChildStarted>,
                                              detail::kind_of_operation<detail::SessionEventAwaited>,
                                              detail::kind_of_operation<detail::EndAwaited>};
  return std::find(kCancellable.begin(), kCancellable.end(), kind) != kCancellable.end();
}

bool outlasts_request(const detail::Operation& operation) noexcept {
  if (const auto* child = std::get_if<detail::ChildStarted>(&operation))
    return child->on_parent_close == ParentClosePolicy::abandon;
  return std::holds_alternative<detail::DetachedStarted>(operation) ||
         std::holds_alternative<detail::SessionOpened>(operation) ||
         std::holds_alternative<detail::SessionClosing>(operation);
}

history::CancelReason reason_of(const End& end) noexcept {
  using history::CancelReason;
  switch (end.index()) {
    case 0:
      return CancelReason::execution_completed;
    case 1:
      return CancelReason::execution_failed;
    case 2:
      return CancelReason::execution_cancelled;
    case 3:
      return CancelReason::execution_terminated;
    default:
      return CancelReason::continued_as_new;
  }
}

}  // namespace holdfast::engine
