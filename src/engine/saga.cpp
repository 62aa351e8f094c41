#include <holdfast/saga.hpp>

#include <memory>
#include <utility>

namespace holdfast::detail {

namespace {

Failure with_last_cause(Failure failure, Failure last) {
  if (failure.cause) last = with_last_cause(*failure.cause, std::move(last));
  failure.cause = std::make_shared<const Failure>(std::move(last));
  return failure;
}

}  // namespace

void rethrow_after_undoing(const std::exception_ptr& error, const Result<void>& undone) {
  if (undone) std::rethrow_exception(error);
  throw_failure(
      with_last_cause(failure_of(error), {.type = "not_undone",
                                          .message = "a step of the saga could not be undone",
                                          .cause = std::make_shared<const Failure>(undone.error())}));
}

}  // namespace holdfast::detail
