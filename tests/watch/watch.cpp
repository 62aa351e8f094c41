// watch <seconds> <command>...: runs the command, and ends it when it hangs, with the stacks of all its
// threads and processes in the output. The time is that of one test: it begins anew with each test of
// GoogleTest that the command begins. A test that needs more says so (needs_time.hpp).
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr int kHung = 124;

void say(const std::string& line) {
  std::fputs(line.c_str(), stdout);
  std::fflush(stdout);
}

// ---- processes --------------------------------------------------------------------------------------------

/// The parents of all processes.
std::map<pid_t, pid_t> parents() {
  std::map<pid_t, pid_t> all;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream file(entry.path() / "stat");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const std::size_t end_of_name = text.rfind(')');
    if (end_of_name == std::string::npos) continue;  // it has just ended
    std::istringstream rest(text.substr(end_of_name + 1));
    char state = 0;
    pid_t parent = 0;
    rest >> state >> parent;
    if (state != 'Z') all[std::stoi(name)] = parent;
  }
  return all;
}

/// What this process has started, and what that has started: whatever lost its parent is given to us.
std::vector<pid_t> descendants() {
  const std::map<pid_t, pid_t> all = parents();
  std::vector<pid_t> found{::getpid()};
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (const auto& [pid, parent] : all) {
      if (parent == found[i]) found.push_back(pid);
    }
  }
  found.erase(found.begin());
  return found;
}

std::string command_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/cmdline");
  std::string text{std::istreambuf_iterator<char>(file), {}};
  std::ranges::replace(text, '\0', ' ');
  return text;
}

void print_stacks(const std::vector<pid_t>& pids) {
  for (const pid_t pid : pids) {
    say("---- stacks of process " + std::to_string(pid) + ": " + command_of(pid) + "\n");
    const std::string command = "timeout 20 eu-stack --pid=" + std::to_string(pid) + " 2>&1";
    if (std::system(command.c_str()) != 0) say("(eu-stack could not say all)\n");
  }
}

// Some may begin others meanwhile.
void kill_all() {
  for (std::vector<pid_t> left = descendants(); !left.empty(); left = descendants()) {
    for (const pid_t pid : left) ::kill(pid, SIGKILL);
    while (::waitpid(-1, nullptr, 0) > 0) {
    }
  }
}

// ---- output -----------------------------------------------------------------------------------------------

/// The time that the command has, as its output tells.
class Deadline {
 public:
  explicit Deadline(seconds limit) : limit_(limit) { begin(""); }

  void read(std::string_view output) {
    for (const char c : output) {
      if (c == '\n') {
        read_line();
        line_.clear();
      } else if (line_.size() < kLongestLine) {
        line_ += c;
      }
    }
  }
  [[nodiscard]] milliseconds left() const {
    return std::max(std::chrono::ceil<milliseconds>(until_ - steady_clock::now()), milliseconds(0));
  }
  /// What runs, and how long it may.
  [[nodiscard]] std::string what() const {
    return (test_.empty() ? "the command" : test_) + " has not ended within " + std::to_string(own_.count()) +
           " s";
  }

 private:
  static constexpr std::size_t kLongestLine = 1000;

  void read_line() {
    const std::string_view line = line_;
    if (line.starts_with("[ RUN      ] ")) begin(line.substr(13));
    if (line.starts_with("[ NEEDS    ] ")) need(seconds(std::atoi(line_.c_str() + 13)));
  }
  void begin(std::string_view test) {
    test_ = test;
    own_ = limit_;
    began_ = steady_clock::now();
    until_ = began_ + own_;
  }
  void need(seconds time) {
    own_ = std::max(own_, time);
    until_ = began_ + own_;
  }

  const seconds limit_;
  std::string line_{};
  std::string test_{};
  seconds own_{};
  steady_clock::time_point began_{};
  steady_clock::time_point until_{};
};

// ---- the command ------------------------------------------------------------------------------------------

/// Returns the end of the pipe that its output comes from.
int start(char** command, pid_t& pid) {
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) return -1;
  pid = ::fork();
  if (pid == 0) {
    ::dup2(pipe[1], STDOUT_FILENO);
    ::dup2(pipe[1], STDERR_FILENO);
    ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);  // where only parents may look into a process
    ::execvp(command[0], command);
    std::perror(command[0]);
    std::_Exit(127);
  }
  ::close(pipe[1]);
  return pipe[0];
}

/// Hands its output on until it has ended. False when it hangs.
bool follow(int output, pid_t pid, Deadline& deadline, int& status) {
  std::array<char, 65536> buffer{};
  bool open = true;
  for (;;) {
    if (::waitpid(pid, &status, WNOHANG) == pid) break;
    if (deadline.left() == milliseconds(0)) return false;
    pollfd wait{.fd = open ? output : -1, .events = POLLIN, .revents = 0};
    // The command may end while a process that it left behind keeps its output open.
    ::poll(&wait, 1, static_cast<int>(std::min(deadline.left(), milliseconds(100)).count()));
    if (wait.revents == 0) continue;
    const ssize_t got = ::read(output, buffer.data(), buffer.size());
    open = got > 0;
    if (!open) continue;
    const std::string text(buffer.data(), static_cast<std::size_t>(got));
    say(text);
    deadline.read(text);
  }
  ::fcntl(output, F_SETFL, O_NONBLOCK);
  for (ssize_t got = 0; (got = ::read(output, buffer.data(), buffer.size())) > 0;) {
    say(std::string(buffer.data(), static_cast<std::size_t>(got)));
  }
  return true;
}

int result_of(int status) {
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  say("the command was ended by signal " + std::to_string(WTERMSIG(status)) + "\n");
  return 128 + WTERMSIG(status);
}

}  // namespace

int main(int count, char** arguments) {
  const int limit = count > 2 ? std::atoi(arguments[1]) : 0;
  if (limit <= 0) {
    std::fputs("watch <seconds> <command>...\n", stderr);
    return 2;
  }
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  pid_t pid = -1;
  const int output = start(arguments + 2, pid);
  if (output < 0 || pid < 0) {
    std::perror("watch");
    return 2;
  }
  Deadline deadline{seconds(limit)};
  int status = 0;
  if (follow(output, pid, deadline, status)) return result_of(status);
  say("\nHUNG: " + deadline.what() + "\n");
  print_stacks(descendants());
  kill_all();
  say("HUNG: " + deadline.what() + "; the stacks are above\n");
  return kHung;
}
