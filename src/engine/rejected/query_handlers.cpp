// expect: holdfast: a query handler is no coroutine
// expect: holdfast: a query handler over a state looks like Answer(const S& state, Arguments...)
// expect: holdfast: a query handler changes nothing, so it can't be a mutable lambda
// expect: holdfast: a query handler over a state answers after the end of the code too
// expect: holdfast: a query handler returns its answer, and not void
// expect: holdfast: a query handler takes its arguments by value or by const reference
#include <holdfast/context.hpp>

using namespace holdfast;

struct Progress {
  int done = 0;
};

Task<int> answer(Context& ctx) { co_return co_await ctx.activity<int>("answer"); }

Task<> coroutine_as_handler(Context& ctx) {
  const auto guard = ctx.on_query("x", [&ctx] { return answer(ctx); });  // rejected here
  co_await ctx.activity<void>("work");
}
Task<> operation_as_answer(Context& ctx) {
  const auto guard = ctx.on_query("x", [&ctx] { return ctx.activity<int>("a"); });  // rejected here
  co_await ctx.activity<void>("work");
}
Task<> handler_that_changes_the_state(Context& ctx) {
  ctx.on_query(ctx.state<Progress>(), "x", [](Progress& now) { return ++now.done; });  // rejected here
  co_await ctx.activity<void>("work");
}
Task<> handler_that_changes_itself(Context& ctx) {
  const auto guard = ctx.on_query("x", [n = 0]() mutable { return ++n; });  // rejected here
  co_await ctx.activity<void>("work");
}
Task<> handler_with_captures(Context& ctx) {
  int n = 1;
  ctx.on_query(ctx.state<Progress>(), "x", [&n](const Progress&) { return n; });  // rejected here
  co_await ctx.activity<void>("work");
}
Task<> handler_without_an_answer(Context& ctx) {
  const auto guard = ctx.on_query("x", [] {});  // rejected here
  co_await ctx.activity<void>("work");
}
Task<> handler_that_takes_references(Context& ctx) {
  const auto guard = ctx.on_query("x", [](int& in) { return ++in; });  // rejected here
  co_await ctx.activity<void>("work");
}
