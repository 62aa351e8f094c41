// The loop that carries all connections in one thread, and what it deals in: streams of bytes, ports, alarms.
#pragma once

#include <holdfast/options.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::server::http {

using LoopTime = std::chrono::steady_clock::time_point;

/// Runs what it is given in the thread that calls run(), one thing after the other. Nothing that it runs may
/// wait. What is thrown there ends run().
class Loop {
 public:
  Loop();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  /// Returns after stop().
  void run();
  /// Any thread.
  void stop();
  /// Any thread. Never runs it inside this call; what was posted before a stop may never run.
  void post(std::function<void()> work);
  /// Calls back in the loop when one of the signals comes, once; then they do again what they did before.
  void on_signals(const std::vector<int>& signals, std::function<void(int)> done);

  class Impl;
  [[nodiscard]] Impl& impl() noexcept { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

/// Calls back at a time. Used in the loop's thread; nothing is called once it is gone.
class Alarm {
 public:
  explicit Alarm(Loop& loop);
  ~Alarm();
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

  /// Instead of the time that was set before.
  void set(LoopTime time, std::function<void()> done);
  void cancel();

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

/// A connection, plain or by TLS. Used in the loop's thread. Callbacks are called by the loop, never inside a
/// call, and not after close(). The bytes that a callback is given are there until it returns.
class Wire {
 public:
  using OnRead = std::function<void(std::string_view bytes)>;  ///< empty: the other side has gone
  using OnWritten = std::function<void(std::size_t size)>;     ///< 0: it is broken

  virtual ~Wire() = default;
  /// One at a time. While it waits, a plain connection holds no buffer.
  virtual void read(OnRead done) = 0;
  /// One at a time: a part of `data`, which stays where it is until then.
  virtual void write(std::string_view data, OnWritten done) = 0;
  /// Says that nothing more is written; reading goes on.
  virtual void end_writing() = 0;
  virtual void close() = 0;
  /// The address of the other side, without its port.
  [[nodiscard]] virtual const std::string& from() const noexcept = 0;
  [[nodiscard]] virtual bool secure() const noexcept = 0;
};

/// A certificate and its key, for TLS 1.2 and 1.3.
class Tls {
 public:
  /// Files in PEM: the certificate with those that signed it behind it, and the private key. Throws
  /// std::runtime_error, which names the file and what is wrong.
  Tls(const std::string& certificate, const std::string& key);
  ~Tls();
  Tls(const Tls&) = delete;
  Tls& operator=(const Tls&) = delete;

  class Impl;
  [[nodiscard]] Impl& impl() const noexcept { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

/// An address with a port: "127.0.0.1:7420", "[::1]:7420", "localhost:0"; port 0 is any that is free.
struct Endpoint {
  std::string host{};
  std::uint16_t port = 0;
};
/// Throws std::invalid_argument, which says how to write one.
[[nodiscard]] Endpoint parse_endpoint(std::string_view text);
[[nodiscard]] std::string to_string(const Endpoint& endpoint);
/// Whether only programs of this machine reach it. A host name counts if all its addresses do.
[[nodiscard]] bool is_loopback(const std::string& host);

/// Listens on a port. Used in the loop's thread.
class Port {
 public:
  using OnWire = std::function<void(std::shared_ptr<Wire>)>;
  using OnTrouble = std::function<void(const std::string& why)>;

  /// Throws std::runtime_error, which names the address and what is wrong. With `tls`, which outlives it, all
  /// connections speak TLS. `on_trouble` is told why connections can't be accepted for a moment.
  Port(Loop& loop, const Endpoint& endpoint, Tls* tls, OnWire on_wire, OnTrouble on_trouble);
  ~Port();
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  /// The one that it has got, if it was 0.
  [[nodiscard]] std::uint16_t number() const noexcept;
  /// Accepts no more.
  void close();

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace holdfast::server::http
