// expect: holdfast: an orchestration can only await operations of its Context
// expect: holdfast: an operation or Task is used up by awaiting it; write co_await std::move(it)
#include <holdfast/context.hpp>

using namespace holdfast;

Task<> foreign(Context&) {
  co_await std::suspend_always{};  // rejected here
}
Task<> number(Context&) {
  co_await 5;  // rejected here
}
Task<> named_operation(Context& ctx) {
  auto pack = ctx.activity<int>("pack");
  co_await pack;  // rejected here
}
Task<> named_task(Context& ctx) {
  auto task = foreign(ctx);
  co_await task;  // rejected here
}
