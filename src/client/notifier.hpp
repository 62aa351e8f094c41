// Notifier: the threads of a client, which do what no thread of the program waits for.
#pragma once

#include "base/mutex.hpp"
#include "client/asker.hpp"
#include "client/callbacks.hpp"
#include "client/sender.hpp"
#include "client/watcher.hpp"

#include <holdfast/log.hpp>
#include <holdfast/store.hpp>

#include <cstddef>
#include <memory>
#include <stop_token>
#include <string>

namespace holdfast::client {

struct NotifierOptions {
  Duration retry_for{};
  std::size_t max_queued = 0;
  std::shared_ptr<Logger> logger{};
};

/// One thread asks the store: it sends what was begun, and looks at instances that somebody waits for.
/// Another one calls back, and ends waits whose time is up: it asks the store nothing, so that a call that
/// hangs holds up neither. Both begin with the first call that needs them. Thread-safe.
class Notifier {
 public:
  Notifier(std::shared_ptr<Store> store, NotifierOptions options);
  /// close(); in a callback it does not wait, and the threads end by themselves.
  ~Notifier();
  /// Sends what was begun, abandons waits, and returns when all callbacks have been called. Nothing is begun
  /// any more.
  void close();
  Notifier(const Notifier&) = delete;
  Notifier& operator=(const Notifier&) = delete;

  /// See Watcher.
  Seen wait(InstanceKey key, Duration timeout, const Watcher::Enough& enough);
  /// It ends early when `stop` is requested.
  void wait_async(InstanceKey key, Duration timeout, Watcher::Enough enough, Watcher::Done done,
                  const std::stop_token& stop);
  /// See Sender.
  void start(store::StartRequest request, Sender::Started done);
  void send(std::vector<store::ClientMessage> messages, Sender::Sent done);
  void set_suspended(store::Suspension wish, Sender::Sent done);
  /// See Asker. It ends early when `stop` is requested.
  void ask(store::Ask ask, std::string instance, Asker::Done done, const std::stop_token& stop);

 private:
  class State;
  const std::shared_ptr<State> state_;  // shared with the threads, which may outlive this
};

}  // namespace holdfast::client
