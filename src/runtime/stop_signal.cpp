#include "runtime/stop_signal.hpp"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace holdfast::runtime {
namespace {

// A signal handler knows of nothing else.
constexpr int kNone = -1;
constexpr int kTaken = -2;
std::atomic<int> bell{kNone};
static_assert(std::atomic<int>::is_always_lock_free);

extern "C" void ring(int /*signal*/) {
  const int before = errno;
  const char byte = 0;
  static_cast<void>(::write(bell, &byte, 1) < 0);  // a bell that is full rings already
  errno = before;
}

}  // namespace

StopSignal::StopSignal() {
  int none = kNone;
  if (!bell.compare_exchange_strong(none, kTaken)) {
    throw std::logic_error("holdfast: another Runtime of this process waits for its signals already");
  }
  if (::pipe(pipe_.data()) != 0) {
    bell = kNone;
    throw std::system_error(errno, std::generic_category(), "holdfast: a pipe for signals");
  }
  bell = pipe_[1];
  struct sigaction rings{};
  rings.sa_handler = ring;
  rings.sa_flags = SA_RESTART;
  sigemptyset(&rings.sa_mask);
  sigaction(SIGINT, &rings, &on_interrupt_);
  sigaction(SIGTERM, &rings, &on_terminate_);
}

StopSignal::~StopSignal() {
  sigaction(SIGINT, &on_interrupt_, nullptr);
  sigaction(SIGTERM, &on_terminate_, nullptr);
  bell = kNone;
  ::close(pipe_[0]);
  ::close(pipe_[1]);
}

void StopSignal::wait() const {
  char byte = 0;
  while (::read(pipe_[0], &byte, 1) < 0 && errno == EINTR) {
  }
}

}  // namespace holdfast::runtime
