// A worker in a process, and a host, of its own.
//
//   faults_worker <uri> <node> <lines> <lease> <session lease> <idle timeout> <session limit> <slots>
//
// Times in milliseconds. It adds a line to the file <lines> for each line that is said: session, generation,
// node and the time of its calendar; and one, of generation 0, when it begins. HOLDFAST_TEST_CLOCK_OFFSET:
// seconds by which its calendar is off; HOLDFAST_TEST_UPTIME: seconds since its host booted. It ends in peace
// at a SIGTERM, which is blocked when it begins.
#include "conversation.hpp"

#include <holdfast/holdfast.hpp>
#include <holdfast/postgres.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

namespace {

time_t seconds_in(const char* variable) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? 0 : std::atol(text);
}

/// Seconds that are added to what the machine says.
time_t clock_offset(clockid_t clock) {
  if (clock == CLOCK_REALTIME) {
    static const time_t offset = seconds_in("HOLDFAST_TEST_CLOCK_OFFSET");
    return offset;
  }
  if (clock != CLOCK_BOOTTIME) return 0;
  // Whatever the machine's uptime is, this host begins at the same one.
  static const time_t offset = [] {
    timespec now{};
    ::syscall(SYS_clock_gettime, CLOCK_BOOTTIME, &now);
    return seconds_in("HOLDFAST_TEST_UPTIME") - now.tv_sec;
  }();
  return offset;
}

}  // namespace

// This program's clocks are those of its host: all of it, the standard library included, asks here. What
// waits for a while asks the one that is left alone.
extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const long result = ::syscall(SYS_clock_gettime, clock, time);
  if (result == 0) time->tv_sec += clock_offset(clock);
  return static_cast<int>(result);
}

namespace holdfast::faults {
namespace {

using namespace std::chrono_literals;

class LineFile {
 public:
  explicit LineFile(const std::string& path) : file_(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC)) {}
  void add(const std::string& session, const Said& said) const {
    const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
    const std::string text =
        session + " " + std::to_string(said.generation) + " " + said.node + " " + std::to_string(now) + "\n";
    if (::write(file_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) std::abort();
  }

 private:
  int file_;
};

/// Again and again, as whoever starts workers does: the cable of a new host takes a moment to work.
std::shared_ptr<Store> open(const std::string& uri, Logger& logger) {
  for (int tries = 1;; ++tries) {
    try {
      return postgres(uri, {.timeout = 1s, .logger = &logger});
    } catch (const StoreOpenError& e) {
      if (e.kind() != StoreOpenError::Kind::unavailable || tries == 30) throw;
      log(logger, LogLevel::info, "the store can't be opened yet", {{"error", e.what()}});
    }
  }
}

int run(const std::vector<std::string>& arguments) {
  const std::string& node = arguments.at(1);
  const LineFile lines(arguments.at(2));
  const auto time = [&](std::size_t i) { return std::chrono::milliseconds(std::stol(arguments.at(i))); };
  const auto logger = stderr_logger();
  Runtime runtime(open(arguments.at(0), *logger),
                  {.node_id = node,
                   .activity_slots = std::stoul(arguments.at(7)),
                   .activity_lease = time(3),
                   .instance_lease = time(3),
                   .cancel_grace = 1s,
                   .worker_stale_after = 4s,
                   .poison_after = 1'000'000,
                   .session_limit = static_cast<std::uint32_t>(std::stoul(arguments.at(6))),
                   .session_lease = time(4),
                   .session_idle_timeout = time(5),
                   .logger = logger});
  runtime.activity("say", [&](ActivityContext& ctx, int) {
    const Said said{node, ctx.session()->generation.value};
    lines.add(ctx.session()->id, said);
    return said;
  });
  runtime.orchestration("converse", converse);
  runtime.start();
  lines.add("-", {.node = node});
  sigset_t end;
  sigemptyset(&end);
  sigaddset(&end, SIGTERM);
  int signal = 0;
  sigwait(&end, &signal);
  runtime.stop();
  return 0;
}

}  // namespace
}  // namespace holdfast::faults

int main(int argc, char** argv) {
  try {
    return holdfast::faults::run({argv + 1, argv + argc});
  } catch (const std::exception& e) {
    std::cerr << "faults_worker: " << e.what() << "\n";
    return 1;
  }
}
