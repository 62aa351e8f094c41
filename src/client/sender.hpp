// Sender: starts, messages and suspensions that nobody waits for in a thread, on their way to the store.
#pragma once

#include "base/mutex.hpp"
#include "client/callbacks.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/options.hpp>
#include <holdfast/store.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace holdfast::client {

/// What became of messages that stand or fall together. One that was taken may have ended the instance, which
/// then refuses the others: that is what was asked for.
StoreResult<InstanceKey> outcome_of(std::span<StoreResult<InstanceKey>> answers);

/// Calls that wait to be sent, and the callback that follows from their answer. That may ask the store.
struct StartToSend {
  using Done = std::function<Callback(const store::StartRequest&, StoreResult<InstanceKey>)>;
  store::StartRequest request{};
  Done done{};
};
struct MessagesToSend {
  using Done = std::function<Callback(StoreResult<InstanceKey>)>;
  std::vector<store::ClientMessage> messages{};  ///< to one instance
  Done done{};
};
struct SuspensionToSend {
  using Done = MessagesToSend::Done;
  store::Suspension wish{};
  Done done{};
};
using WhatToSend = std::variant<StartToSend, MessagesToSend, SuspensionToSend>;
struct CallToSend {
  WhatToSend what{};
  BootTime give_up{};
  std::chrono::milliseconds pause{10};  ///< before it is sent again
  BootTime next = BootTime::min();      ///< not before

  [[nodiscard]] const std::string& instance() const;
};

/// Queues calls, and sends all that queued up in one call to the store each time: thousands that are begun by
/// one thread share a few transactions. What the store could not answer is sent again after a pause of its
/// own. It holds up only what was begun later for the same instance: that takes effect later. Anybody may
/// add; one thread sends.
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
  void set_suspended(store::Suspension wish, Sent done);

  // ---- for the notifier

  /// When there is something to send.
  [[nodiscard]] BootTime due() const;
  /// Sends what is due.
  void send_due(BootTime now, Callbacks& callbacks);
  /// Sends all that is there once, for the last time. When the store does not answer, the rest is not sent,
  /// and told so. From now on nothing can be added.
  void finish(Callbacks& callbacks);

 private:
  using Calls = std::map<std::uint64_t, CallToSend>;  // by number, in the order in which they were begun

  void add(WhatToSend what);
  Calls take_due(BootTime now);
  /// False when the store did not answer.
  bool send(Calls group, bool again, Callbacks& callbacks);
  std::vector<StoreResult<InstanceKey>> ask(Calls& group);
  bool repeat(std::uint64_t number, CallToSend& call, const StoreError& error);
  static void answer(CallToSend call, StoreResult<InstanceKey> answer, Callbacks& callbacks);

  const std::shared_ptr<Store> store_;
  const Duration retry_for_;
  const std::size_t max_queued_;
  mutable Mutex mutex_;
  std::uint64_t last_ HOLDFAST_GUARDED_BY(mutex_) = 0;
  Calls queue_ HOLDFAST_GUARDED_BY(mutex_);                      // not sent yet, or to be repeated
  bool any_new_ HOLDFAST_GUARDED_BY(mutex_) = false;             // since the last look
  BootTime next_ HOLDFAST_GUARDED_BY(mutex_) = BootTime::max();  // the first of the others
  bool closed_ HOLDFAST_GUARDED_BY(mutex_) = false;
};

}  // namespace holdfast::client
