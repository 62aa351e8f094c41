// RequestParser: bytes in, one request of HTTP/1.1 out.
#pragma once

#include "server/http/limits.hpp"
#include "server/http/message.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace holdfast::server::http {

/// Parses one request, in two steps: it stops behind the head, so that a request can be refused before its
/// body is read. One thread at a time.
class RequestParser {
 public:
  enum class State : std::uint8_t { head, body, done, broken };

  explicit RequestParser(const Limits& limits);
  ~RequestParser();
  RequestParser(const RequestParser&) = delete;
  RequestParser& operator=(const RequestParser&) = delete;

  /// Takes a part of `data`, which begins where the last call stopped; returns its size. The rest is offered
  /// again, with more behind it, until the state changes.
  std::size_t feed(std::string_view data);
  [[nodiscard]] State state() const noexcept { return state_; }

  /// Behind the head: everything but the body.
  [[nodiscard]] Request take_head();
  /// When it is done.
  [[nodiscard]] std::string take_body();
  /// Whether the other side waits for a word before it sends the body.
  [[nodiscard]] bool expects_continue() const noexcept;
  /// Whether it asks for the connection to be kept.
  [[nodiscard]] bool keep_alive() const noexcept;
  [[nodiscard]] bool old_version() const noexcept;  ///< HTTP/1.0
  /// Of the body, as it was announced; 0 when that is not known.
  [[nodiscard]] std::size_t announced_bytes() const noexcept;
  [[nodiscard]] std::size_t body_bytes() const noexcept;

  /// Of one that is broken: what to reply.
  [[nodiscard]] int status() const noexcept { return status_; }
  [[nodiscard]] const std::string& why() const noexcept { return why_; }

 private:
  class Impl;
  void fail(int status, std::string why);

  std::unique_ptr<Impl> impl_;
  Limits limits_;
  State state_ = State::head;
  int status_ = 0;
  std::string why_;
};

}  // namespace holdfast::server::http
