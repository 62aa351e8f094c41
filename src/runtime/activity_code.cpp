#include "runtime/executor.hpp"

#include <holdfast/detail/activity_code.hpp>
#include <holdfast/task.hpp>

#include <utility>

namespace holdfast::detail {

void Completion::fail(const std::exception_ptr& error) const { (*this)(Unexpected(failure_of(error))); }

void BlockingActivity::invoke(ActivityTask task, Completion completion) const {
  task.threads.post([this, &ctx = task.ctx, &input = task.input, completion = std::move(completion)] {
    try {
      completion(run(ctx, input));
    } catch (...) {
      completion.fail(std::current_exception());
    }
  });
}

}  // namespace holdfast::detail
