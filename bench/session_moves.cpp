#include "bench/session_moves.hpp"

#include <holdfast/holdfast.hpp>
#include <holdfast/sqlite.hpp>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>

namespace holdfast::bench {

namespace {

using namespace std::chrono_literals;

constexpr std::string_view kWorker = "--worker";

// Works in its session without a pause, until it is told to end.
Task<void> converse(Context& ctx, std::string session) {
  const Future<bool> end = ctx.event<bool>("end").start();
  for (;;) {
    auto step = ctx.activity<void>("step", {.session = session}, session).start();
    auto first = co_await race(end, step);
    if (first.index() == 0) co_return;
    if (ctx.should_continue_as_new()) co_await ctx.continue_as_new(session);
  }
}

using Begun = std::function<void(const std::string& session, std::uint64_t generation)>;

std::unique_ptr<Runtime> start_worker(std::shared_ptr<Store> store, const std::string& node,
                                      std::size_t sessions, Duration lease, Begun begun) {
  auto rt = std::make_unique<Runtime>(std::move(store),
                                      RuntimeOptions{.node_id = node,
                                                     .activity_slots = 2 * sessions,
                                                     .activity_lease = lease,
                                                     .instance_lease = lease,
                                                     .session_limit = static_cast<std::uint32_t>(sessions),
                                                     .session_lease = lease,
                                                     .logger = stderr_logger(LogLevel::error)});
  rt->activity("step", [begun = std::move(begun)](ActivityContext& ctx, std::string session) {
    begun(session, ctx.session()->generation.value);
    std::this_thread::sleep_for(5ms);
  });
  rt->orchestration("converse", converse);
  rt->start();
  return rt;
}

CalendarTime wall_now() { return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now()); }

/// When each session began to be worked in by each holder.
class Book {
 public:
  void note(const std::string& session, std::uint64_t generation) {
    const std::lock_guard lock(mutex_);
    begun_[session].try_emplace(generation, wall_now());
  }
  /// By generation, the first first.
  std::map<std::uint64_t, CalendarTime> of(const std::string& session) {
    const std::lock_guard lock(mutex_);
    return begun_[session];
  }
  /// Until all have come so far.
  void wait(std::size_t sessions, std::size_t generations) {
    const auto enough = [&] {
      const std::lock_guard lock(mutex_);
      std::size_t count = 0;
      for (const auto& [session, begins] : begun_) count += begins.size() >= generations ? 1U : 0U;
      return count >= sessions;
    };
    const auto give_up = std::chrono::steady_clock::now() + 60s;
    while (!enough()) {
      if (std::chrono::steady_clock::now() > give_up) throw std::runtime_error("a session does not go on");
      std::this_thread::sleep_for(2ms);
    }
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::map<std::uint64_t, CalendarTime>> begun_;
};

double ms_between(CalendarTime from, CalendarTime to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

std::vector<Run> start_conversations(Client client, std::size_t sessions) {
  std::vector<StartItem> items;
  for (std::size_t i = 0; i < sessions; ++i) {
    const std::string id = "talk-" + std::to_string(i);
    items.push_back(start_item(id, id));
  }
  return client.start_all("converse", items);
}

void end_conversations(const std::vector<Run>& runs) {
  for (const Run& run : runs) run.raise("end", true);
  for (const Run& run : runs) run.wait(60s);
}

}  // namespace

std::vector<double> hand_over_ms(const OpenStore& open, std::size_t sessions, int rounds) {
  Book book;
  const auto begun = [&book](const std::string& session, std::uint64_t g) { book.note(session, g); };
  auto holder = start_worker(open(), "node-0", sessions, 30s, begun);
  const Client client(open());
  const std::vector<Run> runs = start_conversations(client, sessions);
  for (int round = 1; round <= rounds; ++round) {
    book.wait(sessions, static_cast<std::size_t>(round));
    auto next = start_worker(open(), "node-" + std::to_string(round), sessions, 30s, begun);
    holder->drain(10s);
    holder = std::move(next);
  }
  book.wait(sessions, static_cast<std::size_t>(rounds) + 1);
  end_conversations(runs);

  std::vector<double> ms;
  for (const Run& run : runs) {
    const std::map<std::uint64_t, CalendarTime> begins = book.of(run.id());
    for (const SessionLogEntry& entry : client.session_log(run.id())) {
      if (entry.kind != SessionLogEntry::Kind::released || entry.reason != SessionReason::drained) continue;
      const auto next = begins.upper_bound(entry.generation.value);
      if (next != begins.end()) ms.push_back(ms_between(entry.at, next->second));
    }
  }
  return ms;
}

std::vector<double> recovery_ms(const DiskFolder& folder, std::size_t sessions, Duration lease) {
  const std::string file = folder / "recovery.db";
  const Client client((sqlite(file)));
  const pid_t process = fork();
  if (process == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execl("/proc/self/exe", "bench_sessions", std::string(kWorker).c_str(), file.c_str(),
          std::to_string(sessions).c_str(), std::to_string(lease.count()).c_str(), nullptr);
    _exit(127);
  }
  const std::vector<Run> runs = start_conversations(client, sessions);
  const auto held = [&] {
    std::size_t count = 0;
    for (const SessionInfo& session : client.list_sessions({}, sessions)) {
      count += session.state == store::SessionStatus::active ? 1U : 0U;
    }
    return count;
  };
  while (held() < sessions) {
    if (waitpid(process, nullptr, WNOHANG) == process) throw std::runtime_error("the worker has ended");
    std::this_thread::sleep_for(10ms);
  }
  Book book;
  const auto next =
      start_worker(sqlite(file), "next", sessions, lease,
                   [&book](const std::string& session, std::uint64_t g) { book.note(session, g); });
  std::this_thread::sleep_for(lease);  // leases are at all stages
  const CalendarTime killed = wall_now();
  kill(process, SIGKILL);
  waitpid(process, nullptr, 0);
  book.wait(sessions, 1);
  end_conversations(runs);

  std::vector<double> ms;
  for (const Run& run : runs) ms.push_back(ms_between(killed, book.of(run.id()).begin()->second));
  return ms;
}

void be_worker(int argc, char** argv) {
  if (argc != 5 || argv[1] != kWorker) return;
  const auto worker = start_worker(sqlite(argv[2]), "first", std::stoul(argv[3]),
                                   Duration(std::stoll(argv[4])), [](auto&&...) {});
  for (;;) pause();
}

}  // namespace holdfast::bench
