#include "server/http/loop.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <stdexcept>
#include <utility>

namespace holdfast::server::http {

namespace asio = boost::asio;
using boost::system::error_code;
using tcp = asio::ip::tcp;

// ---- the loop ------------------------------------------------------------------------------------

class Loop::Impl {
 public:
  asio::io_context context{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{context.get_executor()};
  asio::signal_set signals{context};
  // What arrives is read into this, one connection after the other.
  std::array<char, std::size_t{64} << 10U> arrived{};
};

Loop::Loop() : impl_(std::make_unique<Impl>()) {}
Loop::~Loop() = default;
void Loop::run() { impl_->context.run(); }
void Loop::stop() { impl_->context.stop(); }
void Loop::post(std::function<void()> work) { asio::post(impl_->context, std::move(work)); }

void Loop::on_signals(const std::vector<int>& signals, std::function<void(int)> done) {
  for (const int signal : signals) impl_->signals.add(signal);
  impl_->signals.async_wait([this, done = std::move(done)](error_code error, int signal) {
    if (error) return;
    impl_->signals.clear();
    done(signal);
  });
}

// ---- alarms --------------------------------------------------------------------------------------

class Alarm::Impl {
 public:
  explicit Impl(Loop& loop) : timer(loop.impl().context) {}
  asio::steady_timer timer;
  std::uint64_t round = 0;  // a callback of an earlier one may be on its way already
};

Alarm::Alarm(Loop& loop) : impl_(std::make_shared<Impl>(loop)) {}
Alarm::~Alarm() { cancel(); }

void Alarm::set(LoopTime time, std::function<void()> done) {
  const std::uint64_t round = ++impl_->round;
  impl_->timer.expires_at(time);
  impl_->timer.async_wait([impl = impl_, round, done = std::move(done)](error_code error) {
    if (!error && impl->round == round) done();
  });
}

void Alarm::cancel() {
  ++impl_->round;
  impl_->timer.cancel();
}

// ---- connections ---------------------------------------------------------------------------------

namespace {

// A peer that has vanished without a word is noticed within about two minutes.
void watch_peer(tcp::socket& socket) {
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  const auto set = [&](int name, int value) {
    ::setsockopt(socket.native_handle(), IPPROTO_TCP, name, &value, sizeof value);
  };
  set(TCP_KEEPIDLE, 60);
  set(TCP_KEEPINTVL, 15);
  set(TCP_KEEPCNT, 4);
  set(TCP_USER_TIMEOUT, 120'000);
}

std::string address_of(const tcp::socket& socket) {
  error_code error;
  const tcp::endpoint peer = socket.remote_endpoint(error);
  return error ? std::string() : peer.address().to_string();
}

class PlainWire final : public Wire, public std::enable_shared_from_this<PlainWire> {
 public:
  PlainWire(Loop& loop, tcp::socket socket)
      : loop_(loop), socket_(std::move(socket)), from_(address_of(socket_)) {
    error_code ignored;
    socket_.non_blocking(true, ignored);
  }

  void read(OnRead done) override {
    socket_.async_wait(tcp::socket::wait_read,
                       [self = shared_from_this(), done = std::move(done)](error_code error) mutable {
                         if (!self->open_) return;
                         self->take(error, std::move(done));
                       });
  }
  void write(std::string_view data, OnWritten done) override {
    socket_.async_write_some(
        asio::const_buffer(data.data(), data.size()),
        [self = shared_from_this(), done = std::move(done)](error_code error, std::size_t size) {
          if (self->open_) done(error ? 0 : size);
        });
  }
  void end_writing() override {
    error_code ignored;
    socket_.shutdown(tcp::socket::shutdown_send, ignored);
  }
  void close() override {
    open_ = false;
    error_code ignored;
    socket_.close(ignored);
  }
  [[nodiscard]] const std::string& from() const noexcept override { return from_; }
  [[nodiscard]] bool secure() const noexcept override { return false; }

 private:
  void take(error_code error, OnRead done) {
    auto& buffer = loop_.impl().arrived;
    std::size_t size = 0;
    if (!error) size = socket_.read_some(asio::buffer(buffer), error);
    if (error == asio::error::would_block || error == asio::error::try_again) return read(std::move(done));
    done(error ? std::string_view() : std::string_view(buffer.data(), size));
  }

  Loop& loop_;
  tcp::socket socket_;
  std::string from_;
  bool open_ = true;
};

class TlsWire final : public Wire, public std::enable_shared_from_this<TlsWire> {
 public:
  TlsWire(Loop& loop, tcp::socket socket, asio::ssl::context& context)
      : stream_(std::move(socket), context), last_moment_(loop.impl().context) {
    from_ = address_of(stream_.next_layer());
  }

  // The handshake comes with the first read, so that its time counts as that of the first request.
  void read(OnRead done) override {
    if (shaken_) return read_some(std::move(done));
    stream_.async_handshake(asio::ssl::stream_base::server,
                            [self = shared_from_this(), done = std::move(done)](error_code error) mutable {
                              if (!self->open_) return;
                              if (error) return done({});
                              self->shaken_ = true;
                              self->read_some(std::move(done));
                            });
  }
  void write(std::string_view data, OnWritten done) override {
    stream_.async_write_some(
        asio::const_buffer(data.data(), data.size()),
        [self = shared_from_this(), done = std::move(done)](error_code error, std::size_t size) {
          if (self->open_) done(error ? 0 : size);
        });
  }
  // The other side is told by close(): a shutdown of TLS would read as well, and a read may be under way.
  void end_writing() override {}
  void close() override {
    if (!open_) return;
    open_ = false;
    error_code ignored;
    if (!shaken_) {
      stream_.next_layer().close(ignored);
      return;
    }
    // The other side is told that nothing was cut off, and has a moment to take it.
    stream_.next_layer().cancel(ignored);
    last_moment_.expires_after(std::chrono::seconds(1));
    last_moment_.async_wait([self = shared_from_this()](error_code) { self->cut(); });
    stream_.async_shutdown([self = shared_from_this()](error_code) { self->cut(); });
  }
  [[nodiscard]] const std::string& from() const noexcept override { return from_; }
  [[nodiscard]] bool secure() const noexcept override { return true; }

 private:
  void read_some(OnRead done) {
    stream_.async_read_some(asio::buffer(arrived_), [self = shared_from_this(), done = std::move(done)](
                                                        error_code error, std::size_t size) {
      if (!self->open_) return;
      done(error ? std::string_view() : std::string_view(self->arrived_.data(), size));
    });
  }
  void cut() {
    last_moment_.cancel();
    error_code ignored;
    stream_.next_layer().close(ignored);
  }

  asio::ssl::stream<tcp::socket> stream_;
  asio::steady_timer last_moment_;
  std::string from_;
  std::array<char, std::size_t{4} << 10U> arrived_{};
  bool shaken_ = false;
  bool open_ = true;
};

}  // namespace

// ---- TLS -----------------------------------------------------------------------------------------

class Tls::Impl {
 public:
  asio::ssl::context context{asio::ssl::context::tls_server};
};

Tls::Tls(const std::string& certificate, const std::string& key) : impl_(std::make_unique<Impl>()) {
  auto& context = impl_->context;
  SSL_CTX_set_min_proto_version(context.native_handle(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.native_handle(),
                      SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  const auto check = [](error_code error, const std::string& what, const std::string& file) {
    if (error) throw std::runtime_error("the " + what + " '" + file + "' can't be used: " + error.message());
  };
  error_code error;
  context.use_certificate_chain_file(certificate, error);
  check(error, "certificate", certificate);
  context.use_private_key_file(key, asio::ssl::context::pem, error);  // which compares the two
  check(error, "private key", key);
}

Tls::~Tls() = default;

// ---- ports ---------------------------------------------------------------------------------------

Endpoint parse_endpoint(std::string_view text) {
  const auto refuse = [&] {
    throw std::invalid_argument(
        "'" + std::string(text) +
        "' is no address to listen on: write host:port, such as 127.0.0.1:7420 or [::1]:7420");
  };
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) refuse();
  std::string_view host = text.substr(0, colon);
  const std::string_view digits = text.substr(colon + 1);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.empty() || host.find(':') != std::string_view::npos) {
    refuse();
  }
  Endpoint endpoint{.host = std::string(host)};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), endpoint.port);
  if (error != std::errc() || end != digits.data() + digits.size()) refuse();
  return endpoint;
}

std::string to_string(const Endpoint& endpoint) {
  const bool six = endpoint.host.find(':') != std::string::npos;
  return (six ? "[" + endpoint.host + "]" : endpoint.host) + ":" + std::to_string(endpoint.port);
}

namespace {

std::vector<tcp::endpoint> resolve(const Endpoint& endpoint) {
  asio::io_context context;
  tcp::resolver resolver(context);
  error_code error;
  std::vector<tcp::endpoint> found;
  for (const auto& entry :
       resolver.resolve(endpoint.host, std::to_string(endpoint.port), tcp::resolver::passive, error)) {
    found.push_back(entry.endpoint());
  }
  return found;
}

}  // namespace

bool is_loopback(const std::string& host) {
  const std::vector<tcp::endpoint> all = resolve({.host = host});
  return !all.empty() &&
         std::ranges::all_of(all, [](const tcp::endpoint& one) { return one.address().is_loopback(); });
}

class Port::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(Loop& loop, Tls* tls, OnWire on_wire, OnTrouble on_trouble)
      : loop_(loop),
        tls_(tls),
        on_wire_(std::move(on_wire)),
        on_trouble_(std::move(on_trouble)),
        acceptor_(loop.impl().context),
        pause_(loop.impl().context) {}

  void open(const Endpoint& endpoint) {
    const std::vector<tcp::endpoint> all = resolve(endpoint);
    if (all.empty()) throw std::runtime_error("there is no host '" + endpoint.host + "' to listen on");
    error_code error;
    const auto check = [&] {
      if (error) throw std::runtime_error("can't listen on " + to_string(endpoint) + ": " + error.message());
    };
    acceptor_.open(all.front().protocol(), error);
    check();
    acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    check();
    acceptor_.bind(all.front(), error);
    check();
    acceptor_.listen(asio::socket_base::max_listen_connections, error);
    check();
    number_ = acceptor_.local_endpoint().port();
  }

  void accept() {
    acceptor_.async_accept([self = shared_from_this()](error_code error, tcp::socket socket) {
      if (!self->acceptor_.is_open()) return;
      if (error) return self->wait(error);
      self->take(std::move(socket));
      self->accept();
    });
  }
  void close() {
    error_code ignored;
    acceptor_.close(ignored);
    pause_.cancel();
  }
  [[nodiscard]] std::uint16_t number() const noexcept { return number_; }

 private:
  void take(tcp::socket socket) {
    watch_peer(socket);
    if (tls_ != nullptr) {
      on_wire_(std::make_shared<TlsWire>(loop_, std::move(socket), tls_->impl().context));
    } else {
      on_wire_(std::make_shared<PlainWire>(loop_, std::move(socket)));
    }
  }
  // No more open files, for one: trying again at once would turn in a circle.
  void wait(error_code error) {
    if (error != asio::error::connection_aborted) on_trouble_(error.message());
    pause_.expires_after(std::chrono::milliseconds(100));
    pause_.async_wait([self = shared_from_this()](error_code) {
      if (self->acceptor_.is_open()) self->accept();
    });
  }

  Loop& loop_;
  Tls* tls_;
  OnWire on_wire_;
  OnTrouble on_trouble_;
  tcp::acceptor acceptor_;
  asio::steady_timer pause_;
  std::uint16_t number_ = 0;
};

Port::Port(Loop& loop, const Endpoint& endpoint, Tls* tls, OnWire on_wire, OnTrouble on_trouble)
    : impl_(std::make_shared<Impl>(loop, tls, std::move(on_wire), std::move(on_trouble))) {
  impl_->open(endpoint);
  impl_->accept();
}
Port::~Port() { impl_->close(); }
std::uint16_t Port::number() const noexcept { return impl_->number(); }
void Port::close() { impl_->close(); }

}  // namespace holdfast::server::http
