// Exchange: one request and what is replied to it, for whoever answers.
#pragma once

#include "base/mutex.hpp"
#include "server/http/loop.hpp"
#include "server/http/message.hpp"

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

namespace holdfast::server::http {

class Connection;

/// A reply without an end, such as events sent by the server (SSE). Any thread.
class Stream {
 public:
  Stream(std::weak_ptr<Loop> loop, std::weak_ptr<Connection> connection, std::size_t room);

  /// False when there is no room, or nobody reads any more; then nothing was sent. What has not reached the
  /// other side takes room; on_room() tells when all of it has.
  [[nodiscard]] bool send(std::string text);
  /// Called once by the loop, when nothing waits to be written any more. Set it before send(), or after one
  /// that was refused.
  void on_room(std::function<void()> done);
  /// The reply is complete.
  void end();

 private:
  friend class Connection;
  friend class Exchange;
  void written(std::size_t size);
  void cut();

  const std::weak_ptr<Loop> loop_;
  const std::weak_ptr<Connection> connection_;
  const std::size_t room_;
  Mutex mutex_;
  std::size_t waiting_ HOLDFAST_GUARDED_BY(mutex_) = 0;
  bool over_ HOLDFAST_GUARDED_BY(mutex_) = false;
  std::function<void()> on_room_ HOLDFAST_GUARDED_BY(mutex_);
};

/// Any thread. Nothing is replied if it is dropped: then the connection ends when its time is up.
class Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  Exchange(std::weak_ptr<Loop> loop, std::weak_ptr<Connection> connection, Request request);

  [[nodiscard]] const Request& request() const noexcept { return request_; }
  /// For who serves it, before it is handed on.
  [[nodiscard]] Request& request() noexcept { return request_; }

  /// The first one counts; false for all others, and when it was too late.
  bool reply(Reply reply);
  /// A reply whose body follows piece by piece; nothing when another one was given before.
  [[nodiscard]] std::shared_ptr<Stream> stream(Reply head, std::size_t room);
  [[nodiscard]] bool answered() const noexcept { return answered_.load(); }

  /// Stopped when a reply is no longer waited for: the other side has gone, it took too long, or the server
  /// stops. Whoever waits for something to reply should end that now, and still reply.
  [[nodiscard]] std::stop_token stop_token() const noexcept { return stop_.get_token(); }
  /// Whether nobody would get a reply.
  [[nodiscard]] bool gone() const noexcept { return gone_.load(); }

 private:
  friend class Connection;
  void give_up() { stop_.request_stop(); }

  const std::weak_ptr<Loop> loop_;
  const std::weak_ptr<Connection> connection_;
  Request request_;
  std::stop_source stop_;
  std::atomic<bool> answered_{false};
  std::atomic<bool> gone_{false};
};

/// Who answers requests.
class Service {
 public:
  virtual ~Service() = default;
  /// Called by the loop before the body of a request is read. A reply refuses the request.
  virtual std::optional<Reply> admit(Request& request) = 0;
  /// Called by the loop with the whole request. It must not wait.
  virtual void serve(std::shared_ptr<Exchange> exchange) = 0;
  /// What is replied to what is wrong with a request as such.
  virtual Reply refuse(const Request& request, int status, const std::string& why) = 0;
};

}  // namespace holdfast::server::http
