#include "network_test.hpp"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <stdexcept>

namespace holdfast::faults {

namespace {

void must(const std::string& command) {
  if (std::system(command.c_str()) != 0) throw std::runtime_error(command + " failed");
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (const std::string& text : texts) all.push_back(const_cast<char*>(text.c_str()));
  all.push_back(nullptr);
  return all;
}

/// In the new process: waits for its cable, and becomes the program.
[[noreturn]] void become(bool real, const std::array<int, 2>& ready, const std::array<int, 2>& go,
                         const std::vector<std::string>& command, const std::vector<std::string>& environment,
                         const std::string& log) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  char byte = 0;
  if (real && ::unshare(CLONE_NEWNET) != 0) _exit(126);
  if (::write(ready[1], &byte, 1) != 1 || ::read(go[0], &byte, 1) != 1) _exit(126);
  sigset_t end;
  sigemptyset(&end);
  sigaddset(&end, SIGTERM);
  sigprocmask(SIG_BLOCK, &end, nullptr);
  const int file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::dup2(file, STDOUT_FILENO);
  ::dup2(file, STDERR_FILENO);
  for (const std::string& variable : environment) ::putenv(const_cast<char*>(variable.c_str()));
  ::execv(command.front().c_str(), pointers(command).data());
  _exit(127);
}

}  // namespace

Network::Network() {
  real_ = ::geteuid() == 0 && ::unshare(CLONE_NEWNET) == 0;
  if (!real_) return;
  // An address of its own: else it is that of one of its cables, and changes when that is pulled.
  must("ip link add bridge0 address 02:00:0a:4d:00:01 type bridge");
  must("ip address add " + address() + "/24 dev bridge0");
  must("ip link set bridge0 up");
}

Host::Host(const Network& network, int number, const std::vector<std::string>& command,
           const std::vector<std::string>& environment, const std::string& log)
    : real_(network.is_real()), cable_("host" + std::to_string(number)) {
  std::array<int, 2> ready{};
  std::array<int, 2> go{};
  if (::pipe2(ready.data(), O_CLOEXEC) != 0 || ::pipe2(go.data(), O_CLOEXEC) != 0) {
    throw std::runtime_error("no pipe");
  }
  pid_ = ::fork();
  if (pid_ == 0) become(real_, ready, go, command, environment, log);
  char byte = 0;
  ::close(ready[1]);
  ::close(go[0]);
  const bool there = ::read(ready[0], &byte, 1) == 1;
  ::close(ready[0]);
  if (there && real_) plug_in(number);
  const bool told = ::write(go[1], &byte, 1) == 1;
  ::close(go[1]);
  if (!there || !told) throw std::runtime_error("the host does not begin");
}

void Host::plug_in(int number) const {
  const std::string pid = std::to_string(pid_);
  const std::string inside = "nsenter -t " + pid + " -n ip ";
  must("ip link add " + cable_ + " type veth peer name eth0 netns " + pid);
  must("ip link set " + cable_ + " master bridge0 up");
  must(inside + "address add 10.77.0." + std::to_string(10 + number) + "/24 dev eth0");
  must(inside + "link set eth0 up");
}

Host::~Host() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

// The cable stays in, and leads nowhere: nobody is told.
void Host::cut_off() const {
  if (real_) return must("ip link set " + cable_ + " nomaster");
  ::kill(pid_, SIGSTOP);
}

void Host::join_again() const {
  if (real_) return must("ip link set " + cable_ + " master bridge0");
  ::kill(pid_, SIGCONT);
}

bool Host::end() {
  ::kill(pid_, SIGTERM);
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace holdfast::faults
