#include "client/calling_activity.hpp"
#include "runtime/executor.hpp"

#include <holdfast/detail/activity_code.hpp>
#include <holdfast/task.hpp>

#include <chrono>
#include <utility>

namespace holdfast::detail {
namespace {

/// Notes how long its scope took.
class Timed {
 public:
  explicit Timed(RecentTimes& times) noexcept : times_(times) {}
  ~Timed() { times_.note(std::chrono::steady_clock::now() - begun_); }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  RecentTimes& times_;
  const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

}  // namespace

void Completion::fail(const std::exception_ptr& error) const { (*this)(Unexpected(failure_of(error))); }

void BlockingActivity::invoke(ActivityTask task, Completion completion) const {
  auto work = [this, task, completion = std::move(completion)] {
    const auto call = [&] {
      const client::CallingActivity caller(task.key);
      const Timed timed(times_);
      return run(task.ctx, task.input);
    };
    try {
      completion(call());
    } catch (...) {
      completion.fail(std::current_exception());
    }
  };
  if (times_.are_brief()) return task.threads.post_brief(std::move(work));
  task.threads.post(std::move(work));
}

}  // namespace holdfast::detail
