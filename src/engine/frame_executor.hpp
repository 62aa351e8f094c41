// FrameExecutor: where the frames of an orchestration live, when that is not the thread that runs its turns.
#pragma once

#include <functional>
#include <string_view>

namespace holdfast::detail {

/// Frames of code that names one (OrchestrationCode::executor) are begun, run, replayed, asked and destroyed
/// by what is posted here, and nowhere else: an interpreter of another language has threads of its own.
///
/// It outlives every runtime in which that code is registered, and the code itself. Whatever it is given
/// needs nothing of the runtime by the time the runtime has stopped, so it may come to it later, or drop it:
/// then frames that were to be destroyed stay in memory. Not all of it has to run in one thread, but a frame
/// is only safe in another if its language says so.
class FrameExecutor {
 public:
  FrameExecutor() = default;
  virtual ~FrameExecutor() = default;
  FrameExecutor(const FrameExecutor&) = delete;
  FrameExecutor& operator=(const FrameExecutor&) = delete;

  /// For people: "python".
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  /// Runs `work` once, soon, and not inside of this call. Any thread; it must not wait for what was posted
  /// before. False when it takes nothing from now on: then its frames are never destroyed.
  virtual bool post(std::function<void()> work) = 0;
};

}  // namespace holdfast::detail
