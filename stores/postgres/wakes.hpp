// Wakes: news of commits, to those who wait in this process and in others. Between processes by LISTEN and
// NOTIFY, over one connection of its own.
#pragma once

#include "base/mutex.hpp"
#include "connection.hpp"
#include "contract/wake_bus.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/log.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

namespace holdfast::postgres_store {

/// Any thread. Whoever listens is registered in the table `listeners` before listen() returns, if the server
/// can be reached: who commits later finds it there, after the commit.
class Wakes {
 public:
  Wakes(ConnectionSetup setup, std::int32_t ns, const Clock& clock, Logger* logger);
  ~Wakes();
  Wakes(const Wakes&) = delete;
  Wakes& operator=(const Wakes&) = delete;

  /// While the server can't be reached, nothing is heard but what this process does itself.
  std::unique_ptr<store::Listener> listen(store::WorkMask mask, WorkerKey worker);
  void publish(const store::News& news) { bus_.publish(news); }
  /// Another connection has just been made: if the one that listens is broken, it is made again at once.
  void server_answers();

  /// For those in other processes: what to pass to sql::kNotify.
  [[nodiscard]] const std::string& channel() const noexcept { return channel_; }
  [[nodiscard]] std::string encode(const store::News& news) const;
  /// Under which it is registered.
  [[nodiscard]] NodeToken id() const noexcept { return id_; }

 private:
  class Ear;

  void connect() HOLDFAST_REQUIRES(mutex_);
  int socket_now();
  /// Under a clock that tests move, nobody waits: what has come is heard when somebody asks.
  void look();
  void receive(std::string_view payload);
  /// What has come, over a connection that is made if there is none. Returns why not, if so.
  std::optional<std::string> hear();
  void run();

  const ConnectionSetup setup_;
  const std::int32_t ns_;
  const Clock& clock_;
  Logger* const logger_;
  const NodeToken id_;
  const std::string channel_;
  store::WakeBus bus_;

  Mutex mutex_{};
  std::unique_ptr<Connection> connection_ HOLDFAST_GUARDED_BY(mutex_){};
  const int nudge_;  // an eventfd: the thread looks what there is to do
  std::atomic<bool> stopping_{false};
  std::thread thread_{};
};

}  // namespace holdfast::postgres_store
