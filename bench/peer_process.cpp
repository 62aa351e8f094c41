#include "bench/peer_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <system_error>

namespace holdfast::bench {

namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

/// A process group that is killed at the end.
class Group {
 public:
  Group(const std::vector<std::string>& command, const std::filesystem::path& log) {
    std::vector<std::string> words = command;
    std::vector<char*> argv;
    argv.reserve(words.size() + 1);
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    std::array<int, 2> pipe{};
    if (::pipe2(pipe.data(), O_CLOEXEC) != 0) fail("no pipe");
    pid_ = ::fork();
    if (pid_ == 0) become(argv, log.c_str(), pipe[1]);
    ::close(pipe[1]);
    output_ = pipe[0];
    if (pid_ < 0) {
      ::close(output_);
      fail("no process");
    }
    // The child does the same: whoever comes first.
    ::setpgid(pid_, pid_);
  }
  ~Group() {
    ::kill(-pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    ::close(output_);
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  // None when it ends before, or has not printed one in time. Others of the group may keep the pipe open, so
  // its end is not waited for.
  std::optional<std::string> line(Clock::time_point deadline) {
    std::string text;
    for (;;) {
      if (const auto end = text.find('\n'); end != std::string::npos) return text.substr(0, end);
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
      pollfd readable{.fd = output_, .events = POLLIN, .revents = 0};
      const int ready = ::poll(&readable, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
      if (ready < 0 && errno == EINTR) continue;
      if (ready <= 0) return std::nullopt;
      std::array<char, 4096> buffer{};
      const ssize_t got = ::read(output_, buffer.data(), buffer.size());
      if (got <= 0) return std::nullopt;
      text.append(buffer.data(), static_cast<std::size_t>(got));
    }
  }

 private:
  // Only what a process may do between fork() and exec().
  [[noreturn]] static void become(const std::vector<char*>& argv, const char* log, int output) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int errors = ::open(log, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    const int nothing = ::open("/dev/null", O_RDONLY);
    ::dup2(nothing, STDIN_FILENO);
    ::dup2(output, STDOUT_FILENO);
    ::dup2(errors, STDERR_FILENO);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }

  pid_t pid_ = 0;
  int output_ = -1;
};

std::string last_line(const std::filesystem::path& log) {
  std::ifstream file(log);
  std::string last = "it says nothing";
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) last = line;
  }
  return last;
}

}  // namespace

std::string first_line_of(const std::vector<std::string>& command, const std::filesystem::path& log,
                          std::chrono::seconds limit) {
  const auto deadline = Clock::now() + limit;
  Group group(command, log);
  if (std::optional<std::string> line = group.line(deadline)) return *std::move(line);
  const bool late = Clock::now() >= deadline;
  throw std::runtime_error(late ? "no result after " + std::to_string(limit.count()) + " s"
                                : "ended without a result: " + last_line(log));
}

}  // namespace holdfast::bench
