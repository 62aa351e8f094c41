// StopSignal: SIGINT and SIGTERM as something that main() waits for.
#pragma once

#include <signal.h>

namespace support {

/// Make it before the first thread: threads inherit that the signals are blocked, so that only wait() sees
/// them.
class StopSignal {
 public:
  StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  /// Returns when the process is asked to stop. A second request ends it at once, as without this class.
  void wait();

 private:
  sigset_t signals_{};
};

}  // namespace support
