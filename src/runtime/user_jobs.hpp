// UserJobs: code of the user that a worker runs besides activities: hooks, saves, destructors of states.
#pragma once

#include "runtime/executor.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <utility>

namespace holdfast::runtime {

/// It runs in threads of activities, and knows how much of it is not done. Any thread.
class UserJobs {
 public:
  explicit UserJobs(Executor& executor) : executor_(executor) {}

  /// What must live as long as such code runs.
  void keep_alive(std::weak_ptr<const void> owner) { owner_ = std::move(owner); }

  void run(std::function<void()> job) {
    ++*count_;
    executor_.post_apart([job = std::move(job), count = count_, owner = owner_.lock()] {
      job();
      --*count;
    });
  }
  /// Lets go of what it is given, in such a thread. It may outlive this, and refers to the executor only.
  [[nodiscard]] std::function<void(std::shared_ptr<void>)> disposer() {
    return [&executor = executor_, count = count_](std::shared_ptr<void> states) {
      ++*count;
      executor.post_apart([states = std::move(states), count]() mutable {
        states.reset();
        --*count;
      });
    };
  }
  /// While it lives something is about to be begun: not all is done.
  class AboutTo {
   public:
    explicit AboutTo(UserJobs& jobs) : count_(*jobs.count_) { ++count_; }
    ~AboutTo() { --count_; }
    AboutTo(const AboutTo&) = delete;
    AboutTo& operator=(const AboutTo&) = delete;

   private:
    std::atomic<int>& count_;
  };
  /// Whether all that was begun is done.
  [[nodiscard]] bool are_done() const noexcept { return *count_ == 0; }

 private:
  Executor& executor_;
  std::weak_ptr<const void> owner_;
  std::shared_ptr<std::atomic<int>> count_ = std::make_shared<std::atomic<int>>(0);
};

}  // namespace holdfast::runtime
