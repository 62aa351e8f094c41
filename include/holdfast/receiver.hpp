// Receiver<T>: receives the messages of a mailbox. They are kept until the code receives them, also across
// continue-as-new.
#pragma once

#include <holdfast/detail/core.hpp>
#include <holdfast/detail/describe.hpp>
#include <holdfast/op.hpp>
#include <holdfast/task.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast {

/// A handle; copies refer to the same mailbox. A message that can't be read as a T is never received: it is
/// set aside, and the log says so. `Receiver<Order> orders = ctx.mailbox<Order>("orders");`
template <class T>
class Receiver {
 public:
  Receiver(detail::Core& core, std::string name) : core_(&core), name_(std::move(name)) {}

  /// The next message; waits for one.
  Op<T> receive() const { return {*core_, detail::readable_as<T>(detail::describe_message(name_))}; }
  /// The next message, if one is there. Awaiting it never suspends.
  Op<std::optional<T>> try_receive() const {
    return {*core_, detail::readable_as<T>(detail::describe_message_look(name_))};
  }
  /// All messages that are there now, perhaps none. Awaiting it never suspends.
  Task<std::vector<T>> drain() const { return drain_all(*this); }

  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 private:
  static Task<std::vector<T>> drain_all(Receiver mailbox) {
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
