// LockedOut: instances whose turns could not be committed, since somebody else has locked what they need.
#pragma once

#include "base/mutex.hpp"
#include "runtime/store_trouble.hpp"

#include <holdfast/ids.hpp>

#include <map>

namespace holdfast::runtime {

/// Says how long each of them pauses: its turn is run anew each time, and one that waits for long should not
/// take more and more of its worker. Any thread.
class LockedOut {
 public:
  /// Until the next try: longer each time, from kLockedPause to a second.
  Duration pause(InstanceKey key, BootTime now);
  /// Its turn has been committed.
  void committed(InstanceKey key);

 private:
  struct Entry {
    BackOff back_off{};
    BootTime last{};
  };
  Mutex mutex_;
  std::map<InstanceKey, Entry> entries_ HOLDFAST_GUARDED_BY(mutex_);
};

}  // namespace holdfast::runtime
