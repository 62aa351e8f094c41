// Real processes for tests: forked from the test, all gone at its end.
#pragma once

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <functional>
#include <vector>

namespace holdfast::support {

/// The test has no other threads when it starts one, and has no database open that the child uses as well.
class Processes {
 public:
  Processes() = default;
  ~Processes() {
    for (const pid_t pid : running_) kill(pid, SIGKILL);
    all_succeed();
  }
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  /// Runs `work` in a process of its own, which fails when it throws or when an expectation fails.
  pid_t start(const std::function<void()>& work) {
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid == 0) run(work, parent);
    running_.push_back(pid);
    return pid;
  }

  /// Waits for all that still run.
  bool all_succeed() {
    bool all = true;
    while (!running_.empty()) all = succeeds(running_.back()) && all;
    return all;
  }

  bool succeeds(pid_t pid) { return exit_code(pid) == 0; }
  /// -1 when a signal ended it.
  int exit_code(pid_t pid) {
    int status = 0;
    waitpid(pid, &status, 0);
    std::erase(running_, pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  /// As a crash would end it.
  void crash(pid_t pid) {
    kill(pid, SIGKILL);
    succeeds(pid);
  }

 private:
  [[noreturn]] static void run(const std::function<void()>& work, pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    try {
      work();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "process %d: %s\n", getpid(), error.what());
      _exit(1);
    }
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  }

  std::vector<pid_t> running_;
};

}  // namespace holdfast::support
