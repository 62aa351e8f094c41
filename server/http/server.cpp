#include "server/http/server.hpp"

#include "server/http/connection.hpp"

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace holdfast::server::http {

Counters::Counters(Metrics& metrics)
    : connections(metrics.gauge("holdfast_server_connections", "Connections that are open.")),
      accepted(metrics.counter("holdfast_server_connections_total", "Connections that were accepted.")),
      turned_away(metrics.counter("holdfast_server_connections_refused_total",
                                  "Connections that were closed at once, since there were too many.")),
      malformed(metrics.counter("holdfast_server_requests_malformed_total",
                                "Requests that were no HTTP, or too large.")),
      too_slow(metrics.counter("holdfast_server_connections_too_slow_total",
                               "Connections that were ended because the other side was too slow.")),
      cut_off(metrics.counter("holdfast_server_connections_cut_total",
                              "Connections that the other side ended in the middle of something.")) {}

class Server::Impl {
 public:
  Impl(std::shared_ptr<Loop> loop, Service& service, ServerOptions options)
      : loop_(std::move(loop)),
        options_(std::move(options)),
        hub_(loop_, options_.limits, service, *options_.metrics),
        alarm_(*loop_),
        last_alarm_(*loop_) {
    Random* const random = options_.random != nullptr ? options_.random : &system_random();
    hub_.make_id = [random] { return to_string(random_token<RequestId>(*random)); };
    hub_.set_deadline = [this](Connection& connection, LoopTime time) { set_deadline(connection, time); };
    hub_.remove = [this](Connection& connection) { remove(connection); };
    port_.emplace(
        *loop_, options_.listen, options_.tls,
        [this](std::shared_ptr<Wire> wire) { accept(std::move(wire)); },
        [this](const std::string& why) {
          log(*options_.logger, LogLevel::error, "connections can't be accepted", {{"error", why}});
        });
  }

  [[nodiscard]] std::uint16_t port() const noexcept { return port_->number(); }

  void stop(Duration grace, std::function<void()> done) {
    hub_.stopping = true;
    done_ = std::move(done);
    port_->close();
    for (const auto& connection : all()) connection->stop();
    if (connections_.empty()) return finish();
    last_alarm_.set(std::chrono::steady_clock::now() + grace, [this] {
      for (const auto& connection : all()) connection->close();
    });
  }

 private:
  void accept(std::shared_ptr<Wire> wire) {
    std::size_t& of_address = per_address_[wire->from()];
    if (hub_.stopping || connections_.size() >= options_.limits.connections ||
        of_address >= options_.limits.connections_per_address) {
      if (of_address == 0) per_address_.erase(wire->from());
      hub_.counters.turned_away.add();
      return wire->close();
    }
    ++of_address;
    hub_.counters.accepted.add();
    hub_.counters.connections.add(1);
    const auto connection = std::make_shared<Connection>(std::move(wire), hub_);
    connections_.emplace(connection.get(), connection);
    connection->start();
  }

  void remove(Connection& connection) {
    const auto place = connections_.find(&connection);
    if (place == connections_.end()) return;
    const auto counted = per_address_.find(connection.from());
    if (counted != per_address_.end() && --counted->second == 0) per_address_.erase(counted);
    deadlines_.drop(&connection);
    connections_.erase(place);
    hub_.counters.connections.add(-1);
    if (hub_.stopping && connections_.empty()) finish();
  }

  // Called once: what has called stop() is told later, not from inside a connection.
  void finish() {
    last_alarm_.cancel();
    if (done_) loop_->post(std::exchange(done_, nullptr));
  }

  [[nodiscard]] std::vector<std::shared_ptr<Connection>> all() const {
    std::vector<std::shared_ptr<Connection>> found;
    found.reserve(connections_.size());
    for (const auto& [key, connection] : connections_) found.push_back(connection);
    return found;
  }

  // ---- deadlines: one alarm for all

  void set_deadline(Connection& connection, LoopTime time) {
    if (time == LoopTime::max()) {
      deadlines_.drop(&connection);
    } else {
      deadlines_.set(&connection, time);
    }
    const std::optional<LoopTime> next = deadlines_.next();
    // An alarm that rings too early only looks; so it is set anew only for what is earlier.
    if (next && (!rings_at_ || *next < *rings_at_)) ring_at(*next);
  }
  void ring_at(LoopTime time) {
    rings_at_ = time;
    alarm_.set(time, [this] { look(); });
  }
  void look() {
    rings_at_.reset();
    const LoopTime now = std::chrono::steady_clock::now();
    while (const std::optional<Connection*> due = deadlines_.take_due(now)) {
      const auto connection = (*due)->shared_from_this();
      connection->overdue();
    }
    const std::optional<LoopTime> next = deadlines_.next();
    if (next && (!rings_at_ || *next < *rings_at_)) ring_at(*next);
  }

  const std::shared_ptr<Loop> loop_;
  const ServerOptions options_;
  Hub hub_;
  Alarm alarm_;
  Alarm last_alarm_;
  std::optional<Port> port_;
  std::unordered_map<Connection*, std::shared_ptr<Connection>> connections_;
  std::map<std::string, std::size_t> per_address_;
  Deadlines<Connection*, LoopTime> deadlines_;
  std::optional<LoopTime> rings_at_;
  std::function<void()> done_;
};

Server::Server(std::shared_ptr<Loop> loop, Service& service, ServerOptions options)
    : impl_(std::make_unique<Impl>(std::move(loop), service, std::move(options))) {}
Server::~Server() = default;
std::uint16_t Server::port() const noexcept { return impl_->port(); }
void Server::stop(Duration grace, std::function<void()> done) { impl_->stop(grace, std::move(done)); }

}  // namespace holdfast::server::http
