// ClientCore: what all copies of a Client and its Runs share.
#pragma once

#include "base/moments.hpp"
#include "client/watcher.hpp"

#include <holdfast/client.hpp>
#include <holdfast/detail/names.hpp>
#include <holdfast/random.hpp>
#include <holdfast/store.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <span>
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

/// Thread-safe.
class ClientCore {
 public:
  ClientCore(std::shared_ptr<Store> store, ClientOptions options)
      : store_(std::move(store)), options_(std::move(options)), watcher_(store_) {}

  [[nodiscard]] Store& store() noexcept { return *store_; }
  [[nodiscard]] client::Watcher& watcher() noexcept { return watcher_; }
  [[nodiscard]] Random& random() noexcept {
    return options_.random != nullptr ? *options_.random : system_random();
  }

  /// The value of `ask()`, which is asked again while the store can't answer; throws ClientError otherwise.
  /// What is asked must be safe to repeat: reads, and what carries a request id.
  template <class Ask>
  auto call(Ask ask) -> typename std::invoke_result_t<Ask>::value_type {
    const BootTime give_up = after(store_->clock().boot_now(), options_.retry_for);
    for (std::chrono::milliseconds pause{10};; pause = std::min(pause * 2, std::chrono::milliseconds(500))) {
      auto answer = ask();
      if (answer) return std::move(answer).value();
      const bool again = may_pass(answer.error()) && after(store_->clock().boot_now(), pause) < give_up;
      if (!again) refuse(answer.error());
      sleep(pause);
    }
  }

  /// The instance of an id. Throws ClientError (not_found), and Error (invalid_name) for what can't be an id.
  store::InstanceView find(std::string_view id) {
    const std::string checked = checked_name("an instance", id);
    return call([&] { return store_->find(checked); });
  }
  /// Throws ClientError (invalid) when it is larger than this client may send.
  void check_size(const std::string& what, const Payload& payload) const;
  /// Throws ClientError (invalid) for a page that is to hold nothing: whoever turns pages until a short one
  /// comes would never end.
  static void check_limit(std::size_t limit);
  /// What the contract says of instances, for users.
  std::vector<RunInfo> to_infos(std::span<const store::InstanceView> views) {
    return call([&] { return detail::to_infos(*store_, views); });
  }
  /// The request of a call that takes effect once, also if it is repeated: by this client, or by the next
  /// attempt of the activity that makes it.
  RequestId new_request(std::string_view what, std::string_view target, std::string_view name);
  /// An event or message for an id, under a request of its own.
  store::ClientMessage delivery(std::string_view id, const Address& address, const MessageOptions& options,
                                const Payload& value);

 private:
  void sleep(std::chrono::milliseconds pause) const {
    if (options_.pause) return options_.pause(pause);
    std::this_thread::sleep_for(pause);
  }
  [[noreturn]] static void refuse(const StoreError& error);

  std::shared_ptr<Store> store_;
  ClientOptions options_;
  client::Watcher watcher_;
};

}  // namespace holdfast::detail
