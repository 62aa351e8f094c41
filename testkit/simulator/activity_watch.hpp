// ActivityWatch: sees the code of activities run, and says when its process had something to tell it and did
// not, or runs it twice for nothing.
#pragma once

#include "testkit/simulator/process.hpp"
#include "testkit/simulator/witness.hpp"

#include <holdfast/activity_context.hpp>
#include <holdfast/clock.hpp>
#include <holdfast/detail/activity_code.hpp>
#include <holdfast/ids.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>

namespace holdfast::simulator {

/// Code runs at one moment of virtual time, that of its end: what it should know by then, it knows. One
/// thread.
class ActivityWatch {
 public:
  using Code = std::shared_ptr<const detail::ActivityCode>;
  /// The process, or null when it is gone.
  using Finder = std::function<const Process*()>;

  ActivityWatch(const Clock& clock, Witness& witness, std::function<void(std::string)> broken)
      : clock_(clock), witness_(witness), broken_(std::move(broken)) {}

  /// The same code as one process runs it. The watch outlives it.
  Code watched(Code code, Finder process);

 private:
  class WatchedCode;
  using Attempt = std::tuple<std::string, ExecutionNumber, EventId, int>;
  struct Ran {
    std::uint64_t process = 0;
    int delivery = 0;
  };

  void comes_to_its_end(const Process& process, const ActivityContext& ctx, BootTime deadline);
  void check_told(const Process& process, const ActivityContext& ctx, BootTime limit, std::string_view which);

  const Clock& clock_;
  Witness& witness_;
  std::function<void(std::string)> broken_;
  std::map<Attempt, Ran> ran_;  // those that were not asked to stop
};

}  // namespace holdfast::simulator
