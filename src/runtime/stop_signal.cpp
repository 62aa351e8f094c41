#include "runtime/stop_signal.hpp"

#include <semaphore.h>

#include <atomic>
#include <cerrno>
#include <stdexcept>

namespace holdfast::runtime {
namespace {

std::atomic<bool> signals_taken{false};
// Never destroyed, for a handler may still run in another thread; and of this process alone, so that what a
// child of it is sent rings for the child.
sem_t stop_bell;

extern "C" void ring(int /*signal*/) {
  const int before = errno;
  sem_post(&stop_bell);  // one of the few calls that a handler may make
  errno = before;
}

}  // namespace

StopSignal::StopSignal() {
  if (signals_taken.exchange(true)) {
    throw std::logic_error("holdfast: another Runtime of this process waits for its signals already");
  }
  sem_init(&stop_bell, 0, 0);
  struct sigaction rings{};
  rings.sa_handler = ring;
  rings.sa_flags = SA_RESTART;
  sigemptyset(&rings.sa_mask);
  sigaction(SIGINT, &rings, &on_interrupt_);
  sigaction(SIGTERM, &rings, &on_terminate_);
  // Whoever started this process may have blocked them for all of its threads.
  sigset_t both{};
  sigemptyset(&both);
  sigaddset(&both, SIGINT);
  sigaddset(&both, SIGTERM);
  pthread_sigmask(SIG_UNBLOCK, &both, &blocked_);
}

StopSignal::~StopSignal() {
  pthread_sigmask(SIG_SETMASK, &blocked_, nullptr);
  sigaction(SIGINT, &on_interrupt_, nullptr);
  sigaction(SIGTERM, &on_terminate_, nullptr);
  signals_taken = false;
}

void StopSignal::wait() {
  while (sem_wait(&stop_bell) != 0 && errno == EINTR) {
  }
}

}  // namespace holdfast::runtime
