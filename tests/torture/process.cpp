#include "process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>
#include <thread>

namespace holdfast::torture {

Process::Process(const std::vector<std::string>& arguments, const std::string& log) {
  std::vector<char*> argv{const_cast<char*>("torture")};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  sigset_t end;
  sigemptyset(&end);
  sigaddset(&end, SIGTERM);
  sigset_t before;
  sigprocmask(SIG_BLOCK, &end, &before);  // it may come before the new process is ready for it
  pid_ = fork();
  if (pid_ != 0) sigprocmask(SIG_SETMASK, &before, nullptr);
  if (pid_ < 0) throw std::runtime_error("can't start a process");
  if (pid_ > 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int file = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  dup2(file, STDOUT_FILENO);
  dup2(file, STDERR_FILENO);
  execv("/proc/self/exe", argv.data());
  _exit(127);
}

Process::~Process() { crash(); }

void Process::signal(int number) const {
  if (!status_) kill(pid_, number);
}

void Process::crash() {
  signal(SIGKILL);
  while (!ended()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

std::optional<int> Process::ended() {
  int status = 0;
  if (!status_ && waitpid(pid_, &status, WNOHANG) == pid_) {
    status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  return status_;
}

std::optional<int> Process::wait(std::chrono::milliseconds at_most) {
  const auto deadline = std::chrono::steady_clock::now() + at_most;
  while (!ended() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return ended();
}

}  // namespace holdfast::torture
