// Orchestrations whose frames live on an executor, for tests: who ran what, and where.
#pragma once

#include "engine/frame_executor.hpp"

#include <holdfast/context.hpp>
#include <holdfast/detail/orchestration.hpp>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

namespace holdfast::runtime {

/// Runs what was posted in a thread of its own, unless it is held up.
class ThreadExecutor final : public detail::FrameExecutor {
 public:
  ThreadExecutor() : thread_([this] { run(); }) {}
  ~ThreadExecutor() override {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
      held_up_ = false;
    }
    changed_.notify_all();
    thread_.join();
  }

  [[nodiscard]] std::string_view name() const noexcept override { return "other"; }
  bool post(std::function<void()> work) override {
    const std::lock_guard lock(mutex_);
    if (gone_) return false;
    ++posted_;
    work_.push_back(std::move(work));
    changed_.notify_all();
    return true;
  }

  [[nodiscard]] std::thread::id thread() const { return thread_.get_id(); }
  [[nodiscard]] std::size_t posted() {
    const std::lock_guard lock(mutex_);
    return posted_;
  }
  /// It begins nothing until it goes on.
  void hold_up() {
    const std::lock_guard lock(mutex_);
    held_up_ = true;
  }
  void go_on() {
    const std::lock_guard lock(mutex_);
    held_up_ = false;
    changed_.notify_all();
  }
  /// It takes nothing more.
  void go() {
    const std::lock_guard lock(mutex_);
    gone_ = true;
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return ends_ || (!held_up_ && !work_.empty()); });
      if (work_.empty()) return;
      std::function<void()> next = std::move(work_.front());
      work_.pop_front();
      lock.unlock();
      next();
      next = nullptr;
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;
  std::size_t posted_ = 0;
  bool held_up_ = false;
  bool gone_ = false;
  bool ends_ = false;
  std::thread thread_;
};

/// Code of a test, whose frames live there.
class CodeOn final : public detail::OrchestrationCode {
 public:
  CodeOn(detail::FrameExecutor& executor, std::shared_ptr<const OrchestrationCode> code,
         std::function<void()> begun)
      : executor_(executor), code_(std::move(code)), begun_(std::move(begun)) {}

  Result<detail::RootFrame> begin(Context& ctx, const Payload& input) const override {
    begun_();
    return code_->begin(ctx, input);
  }
  [[nodiscard]] detail::FrameExecutor* executor() const noexcept override { return &executor_; }

 private:
  detail::FrameExecutor& executor_;
  const std::shared_ptr<const OrchestrationCode> code_;
  const std::function<void()> begun_;
};

/// What frames did, and how much of it in another thread than that of their executor.
struct FrameWitness {
  std::atomic<std::thread::id> home{};
  std::atomic<int> begun{0};
  std::atomic<int> ran{0};
  std::atomic<int> destroyed{0};
  std::atomic<int> elsewhere{0};

  void note(std::atomic<int>& count) {
    ++count;
    if (std::this_thread::get_id() != home.load()) ++elsewhere;
  }
};

/// A part of a frame.
class FrameWitnessed {
 public:
  explicit FrameWitnessed(FrameWitness& witness) : witness_(witness) {}
  ~FrameWitnessed() { witness_.note(witness_.destroyed); }
  FrameWitnessed(const FrameWitnessed&) = delete;
  FrameWitnessed& operator=(const FrameWitnessed&) = delete;

 private:
  FrameWitness& witness_;
};

}  // namespace holdfast::runtime
