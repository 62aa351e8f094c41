#include "stop_signal.hpp"

namespace support {

StopSignal::StopSignal() {
  signal(SIGPIPE, SIG_IGN);  // a worker outlives whoever reads its output
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGINT);
  sigaddset(&signals_, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
}

void StopSignal::wait() {
  int number = 0;
  sigwait(&signals_, &number);
  pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
}

}  // namespace support
