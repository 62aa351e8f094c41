#include "wakes.hpp"

#include "contract/rows.hpp"

#include <holdfast/random.hpp>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <set>
#include <utility>
#include <vector>

namespace holdfast::postgres_store {

namespace {

/// News on the way to another process.
struct Payload {
  std::string sender{};
  std::uint64_t ns = 0;
  std::uint64_t work = 0;
  bool any_worker = false;
  bool any_instance = false;
  std::vector<std::uint64_t> cancelled{};
  std::vector<std::uint64_t> instances{};
};

/// Between two tries to connect, when nobody says that the server is back.
constexpr std::chrono::milliseconds kFirstReconnectPause(100);
constexpr std::chrono::milliseconds kLongestReconnectPause(1'000);

/// The server takes a notification that is shorter than 8,000 bytes.
constexpr std::size_t kLongestNotification = 7'999;

std::string channel_of(std::string_view schema) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : schema) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return "holdfast_" + detail::to_hex(0, hash).substr(16);
}

std::string hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    text += kDigits[static_cast<unsigned char>(c) >> 4U];
    text += kDigits[static_cast<unsigned char>(c) & 15U];
  }
  return text;
}

std::string unhex(std::string_view text) {
  const auto digit = [](char c) { return static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10); };
  std::string bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes += static_cast<char>(static_cast<unsigned char>((digit(text[i]) << 4U) | digit(text[i + 1])));
  }
  return bytes;
}

}  // namespace

/// A listener of the bus; under a clock that tests move, it first looks for what has come.
class Wakes::Ear final : public store::Listener {
 public:
  Ear(Wakes& wakes, std::unique_ptr<store::Listener> inner) : wakes_(wakes), inner_(std::move(inner)) {}
  store::Wake wait(BootTime deadline) override {
    wakes_.look();
    return inner_->wait(deadline);
  }
  void interrupt() override { inner_->interrupt(); }
  void watch(InstanceKey key) override { inner_->watch(key); }
  void unwatch(InstanceKey key) override { inner_->unwatch(key); }

 private:
  Wakes& wakes_;
  std::unique_ptr<store::Listener> inner_;
};

Wakes::Wakes(ConnectionSetup setup, std::int32_t ns, const Clock& clock, Logger* logger)
    : setup_(std::move(setup)),
      ns_(ns),
      clock_(clock),
      logger_(logger),
      id_(random_token<NodeToken>(system_random())),
      channel_(channel_of(setup_.schema)),
      bus_(clock),
      nudge_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Wakes::~Wakes() {
  if (thread_.joinable()) {
    stopping_ = true;
    server_answers();
    thread_.join();
  }
  if (nudge_ >= 0) ::close(nudge_);
  try {
    if (connection_) connection_->run("DELETE FROM listeners WHERE id = '" + to_string(id_) + "'");
  } catch (const SqlError&) {
    // The next sweep of anybody finds that its backend is gone.
  }
}

std::unique_ptr<store::Listener> Wakes::listen(store::WorkMask mask, WorkerKey worker) {
  const MutexLock lock(mutex_);
  auto inner = bus_.listen(mask, worker);
  try {
    if (!connection_) connect();
  } catch (const SqlError&) {
    // The thread tries again, and tells everybody to look when it is registered.
  }
  if (&clock_ != &real_clock()) return std::make_unique<Ear>(*this, std::move(inner));
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  return inner;
}

void Wakes::server_answers() {
  const std::uint64_t one = 1;
  static_cast<void>(!::write(nudge_, &one, sizeof one));
}

void Wakes::connect() {
  auto connection = std::make_unique<Connection>(setup_);
  connection->run("LISTEN " + channel_);
  connection->run("INSERT INTO listeners (id, ns, backend) VALUES ('" + to_string(id_) + "', " +
                  std::to_string(ns_) + ", " + std::to_string(connection->backend()) +
                  ") ON CONFLICT (id) DO UPDATE SET backend = EXCLUDED.backend");
  connection_ = std::move(connection);
}

// Lists that are too long for a notification are left out: then all who might be meant look for themselves.
std::string Wakes::encode(const store::News& news) const {
  Payload payload{.sender = to_string(id_),
                  .ns = static_cast<std::uint64_t>(ns_),
                  .work = news.work.bits,
                  .any_worker = news.any_worker,
                  .any_instance = news.any_instance};
  const std::set<WorkerKey> cancelled(news.cancelled.begin(), news.cancelled.end());
  for (const WorkerKey worker : cancelled) payload.cancelled.push_back(worker.value);
  for (const InstanceKey key : news.instances) payload.instances.push_back(key.value);
  std::string text = hex(store::to_bytes(payload));
  if (text.size() <= kLongestNotification) return text;
  if (!std::exchange(payload.instances, {}).empty()) payload.any_instance = true;
  text = hex(store::to_bytes(payload));
  if (text.size() <= kLongestNotification) return text;
  payload.cancelled.clear();
  payload.any_worker = true;
  return hex(store::to_bytes(payload));
}

void Wakes::receive(std::string_view text) {
  Payload payload;
  if (!store::from_bytes(unhex(text), payload)) return;
  if (payload.ns != static_cast<std::uint64_t>(ns_) || payload.sender == to_string(id_)) return;
  store::News news{.work = {static_cast<std::uint8_t>(payload.work)},
                   .any_worker = payload.any_worker,
                   .any_instance = payload.any_instance};
  for (const std::uint64_t worker : payload.cancelled) news.cancelled.push_back({worker});
  for (const std::uint64_t key : payload.instances) news.instances.push_back({key});
  bus_.publish(news);
}

// A notification is on its way to this connection's backend when the other's commit returned; it comes before
// the answer to the second question at the latest.
void Wakes::look() {
  const MutexLock lock(mutex_);
  try {
    if (!connection_) connect();
    connection_->run("SELECT 1");
    connection_->run("SELECT 1");
    for (const std::string& payload : connection_->notifications()) receive(payload);
  } catch (const SqlError&) {
    connection_.reset();
  }
}

int Wakes::socket_now() {
  const MutexLock lock(mutex_);
  return connection_ != nullptr && connection_->is_usable() ? connection_->socket() : -1;
}

// Waits on the socket. When the connection breaks, it is made again, and everybody looks for what was missed.
void Wakes::run() {
  auto pause = kFirstReconnectPause;
  for (;;) {
    const int socket = socket_now();
    const bool connected = socket >= 0;
    std::array<pollfd, 2> waits{
        {{.fd = nudge_, .events = POLLIN, .revents = 0}, {.fd = socket, .events = POLLIN, .revents = 0}}};
    const int timeout = connected ? -1 : static_cast<int>(pause.count());
    ::poll(waits.data(), waits.size(), timeout);
    if (stopping_) return;
    std::uint64_t nudges = 0;
    static_cast<void>(!::read(nudge_, &nudges, sizeof nudges));
    const std::optional<std::string> problem = hear();
    pause = problem ? std::min(pause * 2, kLongestReconnectPause) : kFirstReconnectPause;
    if (problem && connected && logger_ != nullptr) {
      log(*logger_, LogLevel::warn, "the connection that listens broke: work is looked for once a second",
          {{"error", *problem}});
    }
  }
}

std::optional<std::string> Wakes::hear() {
  const MutexLock lock(mutex_);
  try {
    if (!connection_) {
      connect();
      bus_.publish({.work = store::kAllWork, .any_worker = true, .any_instance = true});
    }
    for (const std::string& payload : connection_->notifications()) receive(payload);
    return std::nullopt;
  } catch (const SqlError& error) {
    connection_.reset();
    return error.what();
  }
}

}  // namespace holdfast::postgres_store
