// StopSignal: SIGINT and SIGTERM as something that a thread waits for.
#pragma once

#include <csignal>

namespace holdfast::runtime {

/// While it lives the two signals ring a bell, whichever thread they meet; the thread that made it, which
/// also destroys it, lets them come. Then they do again what they did before. One at a time in a process: the
/// constructor throws std::logic_error when there is another.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  /// Returns once one of them has come, while one of these lives.
  static void wait();

 private:
  struct sigaction on_interrupt_{};
  struct sigaction on_terminate_{};
  sigset_t blocked_{};  // in this thread, before
};

}  // namespace holdfast::runtime
