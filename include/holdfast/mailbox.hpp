// Mailbox<T>: messages of one name, in the order in which they were sent. They wait until the code receives
// them, also across continue-as-new.
#pragma once

#include <holdfast/detail/core.hpp>
#include <holdfast/op.hpp>
#include <holdfast/task.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast {

/// A handle; copies mean the same mailbox. `auto orders = ctx.mailbox<Order>("orders");`
template <class T>
class Mailbox {
 public:
  Mailbox(detail::Core& core, std::string name) : core_(&core), name_(std::move(name)) {}

  /// The next message; waits for one.
  Op<T> receive() const { return {*core_, detail::describe_operation(detail::MessageAwaited{name_})}; }
  /// The next message, if one is there. Awaiting it never suspends.
  Op<std::optional<T>> try_receive() const {
    return {*core_, detail::describe_operation(detail::MessageTried{name_, {}})};
  }
  /// All messages that are there.
  Task<std::vector<T>> drain() const { return drain_all(*this); }

  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 private:
  static Task<std::vector<T>> drain_all(Mailbox mailbox) {
    std::vector<T> messages;
    for (;;) {
      std::optional<T> message = co_await mailbox.try_receive();
      if (!message) break;
      messages.push_back(std::move(*message));
    }
    co_return messages;
  }

  detail::Core* core_;
  std::string name_;
};

}  // namespace holdfast
