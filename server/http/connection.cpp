#include "server/http/connection.hpp"

#include "server/http/target.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <optional>
#include <utility>

namespace holdfast::server::http {

namespace {

// "Sun, 06 Nov 1994 08:49:37 GMT", whatever the locale.
std::string date_text() {
  static constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                            "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  const auto two = [](int n) { return std::string(n < 10 ? "0" : "") + std::to_string(n); };
  return std::string(kDays[utc.tm_wday]) + ", " + two(utc.tm_mday) + " " + kMonths[utc.tm_mon] + " " +
         std::to_string(utc.tm_year + 1900) + " " + two(utc.tm_hour) + ":" + two(utc.tm_min) + ":" +
         two(utc.tm_sec) + " GMT";
}

// A header can't hold line breaks: what came from outside must not become a header of its own.
std::string one_line(std::string value) {
  std::ranges::replace_if(value, [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  return value;
}

Duration with_size(Duration time, std::size_t bytes) {
  return time + std::chrono::seconds(bytes / (std::size_t{64} << 10U));
}

std::string chunk_head(std::size_t size) {
  std::string digits;
  for (; size > 0; size /= 16) digits.insert(digits.begin(), "0123456789abcdef"[size % 16]);
  return digits + "\r\n";
}

}  // namespace

Connection::Connection(std::shared_ptr<Wire> wire, Hub& hub) : wire_(std::move(wire)), hub_(hub) {}

void Connection::start() {
  due_in(hub_.limits.header_time);
  read();
}

void Connection::due_in(Duration time) { hub_.set_deadline(*this, std::chrono::steady_clock::now() + time); }

// ---- reading -------------------------------------------------------------------------------------

void Connection::read() {
  if (reads_ || peer_gone_ || state_ == State::closed) return;
  // What is sent before its turn comes waits where it is, but for a little.
  if (state_ != State::reading && state_ != State::lingering && in_.size() >= hub_.limits.header_bytes)
    return;
  reads_ = true;
  wire_->read([self = shared_from_this()](std::string_view bytes) {
    self->reads_ = false;
    self->took(bytes);
  });
}

void Connection::took(std::string_view bytes) {
  if (bytes.empty()) return other_side_gone();
  if (state_ == State::lingering) return read();
  const bool was_idle = in_.empty() && !parser_;
  in_ += bytes;
  if (state_ == State::reading) {
    if (was_idle) due_in(hub_.limits.header_time);
    parse();
  }
  read();
}

void Connection::other_side_gone() {
  peer_gone_ = true;
  keep_ = false;
  switch (state_) {
    case State::answering:
      // It may have closed only its half, and still wait for the reply.
      if (exchange_) exchange_->give_up();
      return;
    case State::writing:
      return;
    default:
      if (parser_ || state_ == State::streaming) hub_.counters.cut_off.add();
      close();
  }
}

void Connection::parse() {
  while (state_ == State::reading && !in_.empty()) {
    if (!parser_) parser_ = std::make_unique<RequestParser>(hub_.limits);
    const RequestParser::State before = parser_->state();
    const std::size_t used = parser_->feed(in_);
    in_.erase(0, used);
    const RequestParser::State now = parser_->state();
    if (now == RequestParser::State::broken) {
      hub_.counters.malformed.add();
      return refuse(parser_->status(), parser_->why());
    }
    if (before == RequestParser::State::head && now != before) {
      admit();
    } else if (now == RequestParser::State::body) {
      hold(parser_->body_bytes());
    }
    if (state_ != State::reading) return;
    if (parser_->state() == RequestParser::State::done) return dispatch();
    if (used == 0 && now == before) return;
  }
  if (in_.empty()) in_.shrink_to_fit();
}

// Behind the head of a request.
void Connection::admit() {
  const bool has_body = parser_->state() == RequestParser::State::body;
  const bool waits = has_body && in_.empty() && parser_->expects_continue();
  keep_ = parser_->keep_alive() && !hub_.stopping && !peer_gone_;
  body_pending_ = has_body;
  const std::size_t announced = parser_->announced_bytes();
  request_ = parser_->take_head();
  request_.id = hub_.make_id();
  request_.from = wire_->from();
  request_.secure = wire_->secure();
  head_only_ = request_.method == "HEAD";
  old_version_ = parser_->old_version();
  if (!read_target(request_))
    return refuse(400,
                  "the target of the request is malformed: it begins with a slash, and % is followed by two "
                  "hexadecimal digits");
  if (request_.headers.count("Host") > 1) return refuse(400, "the request has more than one Host header");
  if (hub_.held_bytes + announced > hub_.limits.held_bytes) {
    return refuse(503, "the server holds too many large requests at the moment");
  }
  if (std::optional<Reply> refused = hub_.service.admit(request_)) {
    write_reply(*std::move(refused), false);
    return;
  }
  if (waits) push("HTTP/1.1 100 Continue\r\n\r\n", 0);
  if (has_body) due_in(with_size(hub_.limits.body_time, announced));
}

// How much of the body is in memory.
void Connection::hold(std::size_t bytes) {
  hub_.held_bytes += bytes - held_;
  held_ = bytes;
  if (bytes > 0 && hub_.held_bytes > hub_.limits.held_bytes) {
    refuse(503, "the server holds too many large requests at the moment");
  }
}

void Connection::dispatch() {
  body_pending_ = false;
  request_.body = parser_->take_body();
  hold(request_.body.size());
  if (state_ != State::reading) return;
  parser_.reset();
  state_ = State::answering;
  due_in(hub_.limits.answer_time);
  exchange_ = std::make_shared<Exchange>(hub_.loop, weak_from_this(), std::exchange(request_, {}));
  hub_.service.serve(exchange_);
}

// What is wrong with it is wrong with all that follows, too.
void Connection::refuse(int status, const std::string& why) {
  keep_ = false;
  if (request_.id.empty()) request_.id = hub_.make_id();
  write_reply(hub_.service.refuse(request_, status, why), false);
}

// ---- replying ------------------------------------------------------------------------------------

void Connection::answer(const Exchange& exchange, Reply reply) {
  if (exchange_.get() != &exchange || state_ != State::answering) return;
  write_reply(std::move(reply), false);
}

void Connection::begin_stream(const Exchange& exchange, Reply head, std::shared_ptr<Stream> stream) {
  if (exchange_.get() != &exchange || state_ != State::answering || peer_gone_ || hub_.stopping) {
    stream->cut();
    if (exchange_.get() == &exchange && state_ == State::answering) close();
    return;
  }
  if (head_only_) {
    stream->cut();
    return write_reply(std::move(head), false);
  }
  keep_ = false;
  if (old_version_) {
    stream->cut();
    return refuse(505, "this reply comes in pieces, which needs HTTP/1.1");
  }
  stream_ = std::move(stream);
  write_reply(std::move(head), true);
}

void Connection::write_reply(Reply reply, bool streams) {
  if (reply.close || body_pending_ || hub_.stopping) keep_ = false;
  parser_.reset();
  hold(0);
  const bool has_body = reply.status >= 200 && reply.status != 204 && reply.status != 304;
  std::string head = "HTTP/1.1 " + std::to_string(reply.status) + " " +
                     std::string(reason_phrase(reply.status)) + "\r\nDate: " + date_text() + "\r\n";
  if (streams) {
    head += "Transfer-Encoding: chunked\r\n";
  } else if (has_body) {
    head += "Content-Length: " + std::to_string(reply.body.size()) + "\r\n";
  }
  if (has_body && (streams || !reply.body.empty()))
    head += "Content-Type: " + one_line(reply.content_type) + "\r\n";
  for (const Headers::Field& field : reply.headers.fields()) {
    head += one_line(field.name) + ": " + one_line(field.value) + "\r\n";
  }
  head += keep_ ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n";
  state_ = streams ? State::streaming : State::writing;
  const bool with_body = has_body && !streams && !head_only_;
  due_in(with_size(hub_.limits.write_time, with_body ? reply.body.size() : 0));
  constexpr std::size_t kSmall = std::size_t{16} << 10U;  // is copied, and goes with the head
  if (with_body && reply.body.size() <= kSmall) head += std::exchange(reply.body, {});
  push(std::move(head), 0);
  if (with_body && !reply.body.empty()) push(std::move(reply.body), 0);
}

void Connection::push(std::string text, std::size_t counts) {
  out_.push_back({std::move(text), counts});
  write();
}

void Connection::write() {
  if (writes_ || out_.empty() || state_ == State::closed) return;
  writes_ = true;
  wire_->write(std::string_view(out_.front().text).substr(out_begin_),
               [self = shared_from_this()](std::size_t size) {
                 self->writes_ = false;
                 self->wrote(size);
               });
}

void Connection::wrote(std::size_t size) {
  if (size == 0) {
    hub_.counters.cut_off.add();
    return close();
  }
  out_begin_ += size;
  if (out_begin_ == out_.front().text.size()) {
    const std::size_t counts = out_.front().counts;
    out_.pop_front();
    out_begin_ = 0;
    if (counts > 0 && stream_) {
      const auto stream = stream_;
      stream->written(counts);
    }
  }
  if (!out_.empty()) return write();
  all_written();
}

void Connection::all_written() {
  if (state_ == State::writing || (state_ == State::streaming && stream_ends_)) return end_of_reply();
  if (state_ == State::streaming) hub_.set_deadline(*this, LoopTime::max());  // it may be quiet for long
}

void Connection::end_of_reply() {
  exchange_.reset();
  stream_.reset();
  stream_ends_ = false;
  if (!keep_) return linger();
  next_request();
}

void Connection::next_request() {
  state_ = State::reading;
  request_ = {};
  head_only_ = body_pending_ = false;
  due_in(in_.empty() ? hub_.limits.idle_time : hub_.limits.header_time);
  parse();
  read();
}

// A connection that is closed while something still arrives is reset, and the reply may be lost with it.
void Connection::linger() {
  if (peer_gone_) return close();
  state_ = State::lingering;
  in_ = std::string();
  wire_->end_writing();
  due_in(hub_.limits.linger_time);
  read();
}

// ---- streams -------------------------------------------------------------------------------------

void Connection::send_chunk(const std::string& text) {
  if (state_ != State::streaming || stream_ends_) return;
  if (out_.empty()) due_in(hub_.limits.write_time);
  const std::size_t counts = text.size();
  push(chunk_head(counts) + text + "\r\n", counts);
}

void Connection::end_stream() {
  if (state_ != State::streaming || stream_ends_) return;
  stream_ends_ = true;
  due_in(hub_.limits.write_time);
  push("0\r\n\r\n", 0);
}

// ---- ends ----------------------------------------------------------------------------------------

void Connection::overdue() {
  switch (state_) {
    case State::reading:
      if (!parser_ && in_.empty()) return close();  // idle
      hub_.counters.too_slow.add();
      return refuse(408, "the request took too long to arrive");
    case State::answering: {
      const auto exchange = exchange_;
      exchange->give_up();
      if (exchange->answered_.exchange(true)) return due_in(hub_.limits.linger_time);  // it is on its way
      keep_ = false;
      return write_reply(hub_.service.refuse(exchange->request(), 503, "the answer took too long"), false);
    }
    case State::writing:
    case State::streaming:
      hub_.counters.too_slow.add();
      return close();
    default:
      return close();
  }
}

void Connection::stop() {
  keep_ = false;
  if (state_ == State::reading && !parser_ && in_.empty()) return close();
  if (state_ == State::lingering || state_ == State::streaming) return close();
  if (state_ == State::answering && exchange_) exchange_->give_up();
}

void Connection::close() {
  if (state_ == State::closed) return;
  const auto self = shared_from_this();
  state_ = State::closed;
  hold(0);
  if (exchange_) {
    exchange_->gone_ = true;
    exchange_->give_up();
    exchange_.reset();
  }
  if (stream_) stream_->cut();
  stream_.reset();
  wire_->close();  // what was being written stays until the wire lets go of it
  hub_.remove(*this);
}

}  // namespace holdfast::server::http
