// SimFrameExecutor: the executor of a simulated process on which frames of orchestrations live.
#pragma once

#include "engine/frame_executor.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/detail/orchestration.hpp>

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

namespace holdfast::simulator {

/// Runs what was posted in that order, one after the other, each when its moment has come. One thread.
class SimFrameExecutor final : public detail::FrameExecutor {
 public:
  /// `when` says at which moment something that is posted now may begin.
  explicit SimFrameExecutor(std::function<BootTime()> when) : when_(std::move(when)) {}
  /// Its process has gone: nothing is left but frames to destroy.
  ~SimFrameExecutor() override {
    while (!empty()) run_next();
  }

  [[nodiscard]] std::string_view name() const noexcept override { return "elsewhere"; }
  bool post(std::function<void()> work) override {
    const BootTime at = when_();
    work_.push_back({work_.empty() ? at : std::max(at, work_.back().at), std::move(work)});
    return true;
  }

  [[nodiscard]] bool empty() const noexcept { return work_.empty(); }
  /// Whether it is in the middle of something.
  [[nodiscard]] bool is_running() const noexcept { return running_; }
  [[nodiscard]] BootTime next_due() const noexcept {
    return work_.empty() || running_ ? BootTime::max() : work_.front().at;
  }
  /// Runs what is next. Precondition: !empty(), !is_running().
  void run_next() {
    const Posted next = std::move(work_.front());
    work_.pop_front();
    running_ = true;
    next.work();
    running_ = false;
  }
  /// What is late waits no longer than until `now`.
  void hurry(BootTime now) {
    for (Posted& posted : work_) posted.at = std::min(posted.at, now);
  }

 private:
  struct Posted {
    BootTime at{};
    std::function<void()> work{};
  };

  const std::function<BootTime()> when_;
  std::deque<Posted> work_;
  bool running_ = false;
};

/// Code of a scenario whose frames live there. Complains when one is begun in place.
class CodeElsewhere final : public detail::OrchestrationCode {
 public:
  /// `executor` outlives it.
  CodeElsewhere(std::shared_ptr<const OrchestrationCode> code, SimFrameExecutor& executor,
                std::function<void()> complain)
      : code_(std::move(code)), executor_(executor), complain_(std::move(complain)) {}

  Result<detail::RootFrame> begin(Context& ctx, const Payload& input) const override {
    if (!executor_.is_running()) complain_();
    return code_->begin(ctx, input);
  }
  [[nodiscard]] detail::FrameExecutor* executor() const noexcept override { return &executor_; }

 private:
  const std::shared_ptr<const OrchestrationCode> code_;
  SimFrameExecutor& executor_;
  const std::function<void()> complain_;
};

}  // namespace holdfast::simulator
