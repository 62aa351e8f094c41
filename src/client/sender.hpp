// Sender: starts and messages that nobody waits for in a thread, on their way to the store.
#pragma once

#include "base/mutex.hpp"
#include "client/callbacks.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/options.hpp>
#include <holdfast/store.hpp>

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <variant>
#include <vector>

namespace holdfast::client {

/// What became of messages that stand or fall together. One that was taken may have ended the instance, which
/// then refuses the others: that is what was asked for.
StoreResult<InstanceKey> outcome_of(std::span<StoreResult<InstanceKey>> answers);

/// Calls that wait to be sent, and who hears what became of them.
struct StartToSend {
  using Done = std::function<void(const store::StartRequest&, StoreResult<InstanceKey>)>;
  store::StartRequest request{};
  Done done{};
};
struct MessagesToSend {
  using Done = std::function<void(StoreResult<InstanceKey>)>;
  std::vector<store::ClientMessage> messages{};
  Done done{};
};
struct CallToSend {
  std::variant<StartToSend, MessagesToSend> what{};
  BootTime give_up{};
  std::chrono::milliseconds pause{10};  ///< before it is sent again
  BootTime next{};                      ///< not before
};

/// Queues calls, and sends all that queued up in one call to the store each time: thousands that are begun by
/// one thread share a few transactions. What the store could not answer is sent again after a pause of its
/// own, and holds up no other. Anybody may add; one thread sends.
class Sender {
 public:
  using Started = StartToSend::Done;
  using Sent = MessagesToSend::Done;

  /// `retry_for`: how long a call is repeated. With `max_queued` that wait, others are refused.
  Sender(std::shared_ptr<Store> store, Duration retry_for, std::size_t max_queued)
      : store_(std::move(store)), retry_for_(retry_for), max_queued_(max_queued) {}

  void start(store::StartRequest request, Started done);
  /// Messages to one instance, which stand or fall together: answered when all of them are.
  void send(std::vector<store::ClientMessage> messages, Sent done);

  // ---- for the notifier

  /// When there is something to send.
  [[nodiscard]] BootTime due() const;
  /// Sends what is due, and calls `done` of what was answered. For one instance, what was begun first takes
  /// effect first, unless it has to be repeated.
  void send_due(BootTime now, const Callbacks& callbacks);
  /// Sends all that is there once, for the last time. From now on nothing can be added.
  void finish(const Callbacks& callbacks);

 private:
  void add(std::variant<StartToSend, MessagesToSend> what);
  std::vector<CallToSend> take_due(BootTime now);
  void send(std::vector<CallToSend> group, bool again, const Callbacks& callbacks);
  std::vector<StoreResult<InstanceKey>> ask(std::vector<CallToSend>& group);
  bool repeat(CallToSend& call, const StoreError& error);

  const std::shared_ptr<Store> store_;
  const Duration retry_for_;
  const std::size_t max_queued_;
  mutable Mutex mutex_;
  std::deque<CallToSend> queue_ HOLDFAST_GUARDED_BY(mutex_);
  std::vector<CallToSend> later_ HOLDFAST_GUARDED_BY(mutex_);  // to be repeated
  bool closed_ HOLDFAST_GUARDED_BY(mutex_) = false;
};

}  // namespace holdfast::client
