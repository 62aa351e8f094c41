// FrameHome: what a worker has on one executor: the frames that live there, and how they come to their end.
#pragma once

#include "base/mutex.hpp"
#include "engine/frame_executor.hpp"
#include "runtime/frame.hpp"

#include <holdfast/detail/orchestration.hpp>

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

namespace holdfast::runtime {

/// Frames are made and destroyed by what runs on the executor only. Those that nobody needs any more are
/// gathered: one job destroys all that are there when it begins. A frame whose executor is gone, or drops the
/// job, is never destroyed: in any other thread its destructors would do harm.
///
/// Shared by its frames and by what is posted; it needs nothing of its worker. Any thread; no mutex is held
/// while code of frames or of the executor runs.
class FrameHome final : public std::enable_shared_from_this<FrameHome> {
 public:
  explicit FrameHome(detail::FrameExecutor& executor) : executor_(executor) {}
  ~FrameHome();
  FrameHome(const FrameHome&) = delete;
  FrameHome& operator=(const FrameHome&) = delete;

  [[nodiscard]] std::string_view name() const noexcept { return executor_.name(); }
  [[nodiscard]] bool is_of(const detail::FrameExecutor& executor) const noexcept {
    return &executor == &executor_;
  }

  /// A new frame. Only on the executor.
  [[nodiscard]] Frame make(engine::Identity identity, std::shared_ptr<const detail::OrchestrationCode> code);
  /// False when the executor is gone.
  bool post(std::function<void()> work);
  /// Has them destroyed on the executor.
  void bury(std::vector<engine::Execution*> frames);

  /// Something runs on the executor. Frames that are let go of meanwhile are destroyed at its end, where they
  /// keep nobody waiting.
  class Visit {
   public:
    explicit Visit(FrameHome& home);
    ~Visit() { home_.bury_all(); }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

   private:
    FrameHome& home_;
  };

  /// Frames that are alive, those that wait for their end included.
  [[nodiscard]] std::size_t frames() const noexcept { return frames_; }
  /// Frames that will never be destroyed.
  [[nodiscard]] std::size_t left_behind() const noexcept { return left_behind_; }

  /// Whether it takes turns: it has neither refused anything, nor kept what it was given for too long.
  [[nodiscard]] bool takes_turns() const noexcept { return !gone_ && !away_; }
  [[nodiscard]] bool is_gone() const noexcept { return gone_; }
  void set_away(bool away) noexcept { away_ = away; }

 private:
  void bury_all();
  void leave_behind(std::vector<engine::Execution*>&& frames);

  detail::FrameExecutor& executor_;
  std::atomic<std::size_t> frames_{0};
  std::atomic<std::size_t> left_behind_{0};
  std::atomic<bool> gone_{false};
  std::atomic<bool> away_{false};
  Mutex mutex_;
  std::vector<engine::Execution*> doomed_ HOLDFAST_GUARDED_BY(mutex_);  // owned
  int burials_ HOLDFAST_GUARDED_BY(mutex_) = 0;  // that are on their way, and will look at `doomed_`
};

}  // namespace holdfast::runtime
