// A server as a process of its own, for tests that talk to it.
#pragma once

#include "testkit/support/eventually.hpp"
#include "testkit/support/http_client.hpp"
#include "testkit/support/temporary_folder.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace holdfast::server_tests {

/// What a command wrote and how it ended.
struct Ended {
  int code = 0;
  std::string out{};
  std::string err{};
};

inline std::string file_text(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// `holdfast` with some arguments; its output goes to files of a folder.
class Command {
 public:
  using Variables = std::vector<std::pair<std::string, std::string>>;

  explicit Command(const std::vector<std::string>& arguments, const Variables& variables = {})
      : out_(folder_ / "out"), err_(folder_ / "err") {
    std::vector<std::string> words{HOLDFAST_COMMAND};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<std::string> environment;
    for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
    for (const auto& [name, value] : variables) environment.push_back(name + "=" + value);
    start(pointers(words), pointers(environment));
  }
  ~Command() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  void signal(int number) const { ::kill(pid_, number); }
  /// Waits for its end.
  Ended ended() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), file_text(out_), file_text(err_)};
  }
  [[nodiscard]] bool running() {
    if (pid_ <= 0) return false;
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) == 0) return true;
    pid_ = -1;
    return false;
  }
  [[nodiscard]] std::string err() const { return file_text(err_); }
  [[nodiscard]] pid_t pid() const noexcept { return pid_; }

 private:
  static std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> found;
    for (std::string& text : texts) found.push_back(text.data());
    found.push_back(nullptr);
    return found;
  }
  // The test may have threads: the child does nothing but what is allowed then.
  void start(const std::vector<char*>& words, const std::vector<char*>& environment) {
    const auto open_new = [](const std::string& path) {
      return ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    };
    const int out = open_new(out_);
    const int err = open_new(err_);
    const pid_t parent = getpid();
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(1);
      ::dup2(out, STDOUT_FILENO);
      ::dup2(err, STDERR_FILENO);
      ::execve(words.front(), words.data(), environment.data());
      _exit(127);
    }
    ::close(out);
    ::close(err);
  }

  support::TemporaryFolder folder_;
  std::string out_;
  std::string err_;
  pid_t pid_ = -1;
};

/// `holdfast server`, on any port that is free.
class ServerProcess {
 public:
  explicit ServerProcess(std::vector<std::string> arguments, const Command::Variables& variables = {},
                         const std::string& listen = "127.0.0.1:0")
      : command_(with_listen(std::move(arguments), listen), variables) {
    const std::string opening = "server listening address=" + listen.substr(0, listen.rfind(':') + 1);
    std::size_t at = std::string::npos;
    const bool there = support::eventually([&] {
      at = command_.err().find(opening);
      return at != std::string::npos || !command_.running();
    });
    if (!there || at == std::string::npos)
      throw std::runtime_error("the server did not start: " + command_.err());
    port_ = static_cast<std::uint16_t>(std::stoul(command_.err().substr(at + opening.size())));
  }

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  [[nodiscard]] Command& command() noexcept { return command_; }
  /// One request on a connection of its own.
  [[nodiscard]] support::HttpReply ask(std::string_view method, std::string_view target,
                                       std::string_view body = {},
                                       const support::HttpHeaders& headers = {}) const {
    return support::HttpClient(port_).ask(method, target, body, headers);
  }
  /// Tells it to end, and waits for that.
  Ended stop() {
    command_.signal(SIGTERM);
    return command_.ended();
  }

 private:
  static std::vector<std::string> with_listen(std::vector<std::string> arguments, const std::string& listen) {
    arguments.insert(arguments.begin(), "server");
    arguments.insert(arguments.end(), {"--listen", listen});
    return arguments;
  }

  Command command_;
  std::uint16_t port_ = 0;
};

}  // namespace holdfast::server_tests
