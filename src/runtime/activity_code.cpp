#include "client/calling_activity.hpp"
#include "runtime/executor.hpp"

#include <holdfast/detail/activity_code.hpp>
#include <holdfast/task.hpp>

#include <utility>

namespace holdfast::detail {

void Completion::fail(const std::exception_ptr& error) const { (*this)(Unexpected(failure_of(error))); }

void BlockingActivity::invoke(ActivityTask task, Completion completion) const {
  task.threads.post([this, task, completion = std::move(completion)] {
    const auto call = [&] {
      const client::CallingActivity caller(task.key);
      return run(task.ctx, task.input);
    };
    try {
      completion(call());
    } catch (...) {
      completion.fail(std::current_exception());
    }
  });
}

}  // namespace holdfast::detail
