#include "server/http/exchange.hpp"

#include "server/http/connection.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::server::http {

Stream::Stream(std::weak_ptr<Loop> loop, std::weak_ptr<Connection> connection, std::size_t room)
    : loop_(std::move(loop)), connection_(std::move(connection)), room_(room) {}

bool Stream::send(std::string text) {
  const auto loop = loop_.lock();
  if (!loop || text.empty()) return false;
  {
    const MutexLock lock(mutex_);
    // A text that is larger than all the room goes alone.
    if (over_ || (waiting_ > 0 && waiting_ + text.size() > room_)) return false;
    waiting_ += text.size();
  }
  loop->post([connection = connection_, text = std::move(text)] {
    if (const auto alive = connection.lock()) alive->send_chunk(text);
  });
  return true;
}

void Stream::on_room(std::function<void()> done) {
  {
    const MutexLock lock(mutex_);
    if (waiting_ > 0 && !over_) {
      on_room_ = std::move(done);
      return;
    }
  }
  if (const auto loop = loop_.lock()) loop->post(std::move(done));
}

void Stream::end() {
  {
    const MutexLock lock(mutex_);
    if (std::exchange(over_, true)) return;
  }
  if (const auto loop = loop_.lock()) {
    loop->post([connection = connection_] {
      if (const auto alive = connection.lock()) alive->end_stream();
    });
  }
}

void Stream::written(std::size_t size) {
  std::function<void()> done;
  {
    const MutexLock lock(mutex_);
    waiting_ -= std::min(size, waiting_);
    if (waiting_ == 0) done = std::exchange(on_room_, nullptr);
  }
  if (done) done();
}

void Stream::cut() {
  std::function<void()> dropped;
  const MutexLock lock(mutex_);
  over_ = true;
  dropped = std::exchange(on_room_, nullptr);
}

Exchange::Exchange(std::weak_ptr<Loop> loop, std::weak_ptr<Connection> connection, Request request)
    : loop_(std::move(loop)), connection_(std::move(connection)), request_(std::move(request)) {}

bool Exchange::reply(Reply reply) {
  if (answered_.exchange(true)) return false;
  const auto loop = loop_.lock();
  if (!loop) return false;
  loop->post([self = shared_from_this(), reply = std::move(reply)]() mutable {
    if (const auto connection = self->connection_.lock()) connection->answer(*self, std::move(reply));
  });
  return true;
}

std::shared_ptr<Stream> Exchange::stream(Reply head, std::size_t room) {
  if (answered_.exchange(true)) return nullptr;
  const auto loop = loop_.lock();
  if (!loop) return nullptr;
  auto stream = std::make_shared<Stream>(loop_, connection_, room);
  loop->post([self = shared_from_this(), stream, head = std::move(head)]() mutable {
    if (const auto connection = self->connection_.lock()) {
      connection->begin_stream(*self, std::move(head), std::move(stream));
    } else {
      stream->cut();
    }
  });
  return stream;
}

}  // namespace holdfast::server::http
