// ClientCore: what all copies of a Client and its Runs share.
#pragma once

#include "base/check_options.hpp"
#include "base/moments.hpp"
#include "client/callbacks.hpp"
#include "client/notifier.hpp"

#include <holdfast/client.hpp>
#include <holdfast/detail/names.hpp>
#include <holdfast/random.hpp>
#include <holdfast/store.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::detail {

/// What the contract says of a session, for users.
SessionInfo to_info(store::SessionView session);
/// What the contract says of instances, for users; the ids of their parents are looked up.
StoreResult<std::vector<RunInfo>> to_infos(Store& store, std::span<const store::InstanceView> views);

/// A callback of the user with its answer.
template <class T>
client::Callback callback_with(std::function<void(ClientAnswer<T>)> callback, ClientAnswer<T> answer) {
  return [callback = std::move(callback), kept = std::make_shared<ClientAnswer<T>>(std::move(answer))] {
    callback(std::move(*kept));
  };
}

/// Throws ClientError for what a store refused, or could not answer.
[[noreturn]] void refuse(const StoreError& error);

/// Throws ClientError (not_found) for a life of an id that is no more, and says what became of it.
[[noreturn]] void refuse_as_gone(Store& store, const std::string& id);

/// Thread-safe.
class ClientCore : public std::enable_shared_from_this<ClientCore> {
 public:
  ClientCore(std::shared_ptr<Store> store, ClientOptions options)
      : store_(std::move(store)),
        options_(std::move(options)),
        notifier_(
            store_,
            {.retry_for = options_.retry_for, .max_queued = options_.max_queued, .logger = options_.logger}) {
  }

  [[nodiscard]] Store& store() noexcept { return *store_; }
  [[nodiscard]] const std::shared_ptr<Store>& shared_store() const noexcept { return store_; }
  [[nodiscard]] client::Notifier& notifier() noexcept { return notifier_; }
  [[nodiscard]] Random& random() noexcept {
    return options_.random != nullptr ? *options_.random : system_random();
  }

  /// The value of `ask()`, which is asked again while the store can't answer; throws ClientError otherwise.
  /// What is asked must be safe to repeat: reads, and what carries a request id.
  template <class Ask>
  auto call(Ask ask) -> typename std::invoke_result_t<Ask>::value_type {
    refuse_in_callback();
    const BootTime give_up = after(store_->clock().boot_now(), options_.retry_for);
    for (std::chrono::milliseconds pause{10};; pause = std::min(pause * 2, std::chrono::milliseconds(500))) {
      auto answer = ask();
      if (answer) return std::move(answer).value();
      const bool again = may_pass(answer.error()) && after(store_->clock().boot_now(), pause) < give_up;
      if (!again) refuse(answer.error());
      sleep(pause);
    }
  }

  /// Throws std::logic_error in a callback: the thread that calls those must not wait.
  static void refuse_in_callback();
  /// Messages to one instance that stand or fall together.
  void deliver(const std::vector<store::ClientMessage>& messages);
  ClientCall<void> deliver_async(std::vector<store::ClientMessage> messages);
  /// Who makes handles when an answer comes: this core, or one like it when nobody has this one any more.
  [[nodiscard]] std::function<std::shared_ptr<ClientCore>()> successor();

  /// The instance of an id. Throws ClientError (not_found), and Error (invalid_name) for what can't be an id.
  store::InstanceView find(std::string_view id) {
    const std::string checked = checked_name("an instance", id);
    return call([&] { return store_->find(checked); });
  }
  /// Throws ClientError (invalid) when it is larger than this client may send.
  void check_size(const Whose& what, const Payload& payload) const;
  /// Throws ClientError (invalid) for a page that is to hold nothing: whoever turns pages until a short one
  /// comes would never end.
  static void check_limit(std::size_t limit);
  /// What a list asks the store for; nothing when it is of the children of nobody.
  std::optional<store::InstanceFilter> wanted(const ListFilter& filter);
  /// What the contract says of instances, for users.
  std::vector<RunInfo> to_infos(std::span<const store::InstanceView> views) {
    return call([&] { return detail::to_infos(*store_, views); });
  }
  /// The request of a call that takes effect once, also if it is repeated: by this client, or by the next
  /// attempt of the activity that makes it.
  RequestId new_request(std::string_view what, std::string_view target, std::string_view name);
  /// A request to cancel or terminate an instance: of this life, or of whichever has the id.
  std::vector<store::ClientMessage> cancel_of(const std::string& id, InstanceKey life,
                                              const CancelOptions& options, std::string_view reason);
  std::vector<store::ClientMessage> terminate_of(const std::string& id, InstanceKey life,
                                                 std::string_view reason);
  /// A wish to suspend an instance, or to resume it: of this life, or of whichever has the id.
  store::Suspension suspension_of(const std::string& id, InstanceKey life, bool resume);
  void set_suspended(const store::Suspension& wish);
  ClientCall<void> set_suspended_async(store::Suspension wish);
  /// An event or message for an id, under a request of its own.
  store::ClientMessage delivery(std::string_view id, const Address& address, const MessageOptions& options,
                                const Payload& value);

 private:
  void sleep(std::chrono::milliseconds pause) const {
    if (options_.pause) return options_.pause(pause);
    std::this_thread::sleep_for(pause);
  }
  std::shared_ptr<Store> store_;
  ClientOptions options_;
  client::Notifier notifier_;
};

}  // namespace holdfast::detail
