// Connection: HTTP/1.1 on one wire.
#pragma once

#include "server/http/hub.hpp"
#include "server/http/parser.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

namespace holdfast::server::http {

/// Requests are answered one after the other, in the order in which they came; what is sent meanwhile waits
/// in a small buffer. While a request is being answered a read is under way, so that the end of the
/// connection is noticed. Everything but the constructor runs in the loop's thread.
class Connection final : public std::enable_shared_from_this<Connection> {
 public:
  Connection(std::shared_ptr<Wire> wire, Hub& hub);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void start();
  /// Its deadline has passed.
  void overdue();
  /// The server stops: it ends now, or with the reply that is under way, for which there is no more waiting.
  void stop();
  void close();

  // For exchanges and streams:
  void answer(const Exchange& exchange, Reply reply);
  void begin_stream(const Exchange& exchange, Reply head, std::shared_ptr<Stream> stream);
  void send_chunk(const std::string& text);
  void end_stream();

  [[nodiscard]] const std::string& from() const noexcept { return wire_->from(); }

 private:
  enum class State : std::uint8_t { reading, answering, writing, streaming, lingering, closed };

  void read();
  void took(std::string_view bytes);
  void other_side_gone();
  void parse();
  void admit();
  void dispatch();
  void refuse(int status, const std::string& why);
  void hold(std::size_t bytes);
  void next_request();
  void write_reply(Reply reply, bool streams);
  void push(std::string text, std::size_t counts);
  void write();
  void wrote(std::size_t size);
  void all_written();
  void end_of_reply();
  void linger();
  void due_in(Duration time);

  struct Outgoing {
    std::string text{};
    std::size_t counts = 0;  // as room in the stream
  };

  const std::shared_ptr<Wire> wire_;
  Hub& hub_;
  State state_ = State::reading;
  bool reads_ = false;         // a read is under way
  bool writes_ = false;        // a write is under way
  bool peer_gone_ = false;     // it sends no more
  bool keep_ = true;           // the connection goes on after this reply
  bool head_only_ = false;     // the request was HEAD
  bool old_version_ = false;   // the request was HTTP/1.0
  bool body_pending_ = false;  // the body of the request was not read
  bool stream_ends_ = false;
  std::size_t held_ = 0;
  std::string in_;
  std::unique_ptr<RequestParser> parser_;
  Request request_;
  std::shared_ptr<Exchange> exchange_;
  std::shared_ptr<Stream> stream_;
  std::deque<Outgoing> out_;
  std::size_t out_begin_ = 0;  // of the first one: that much is written
};

}  // namespace holdfast::server::http
