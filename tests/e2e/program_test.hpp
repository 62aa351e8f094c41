// What the runtimes of these tests run, and where.
#pragma once

#include "testkit/support/lines.hpp"
#include "testkit/support/temporary_folder.hpp"

#include <holdfast/holdfast.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::e2e {

using support::Lines;
using support::TemporaryFolder;
using namespace std::chrono_literals;

constexpr Duration kSoon = 60s;  // a deadline for what happens at once, on a machine that is busy

inline Task<std::string> hello(Context& ctx, std::string who) {
  co_return co_await ctx.activity<std::string>("greet", who);
}

inline Task<int> sum_of_squares(Context& ctx, int n) {
  std::vector<Op<int>> parts;
  for (int i = 1; i <= n; ++i) parts.push_back(ctx.activity<int>("square", i));
  int sum = 0;
  for (const int part : co_await when_all(std::move(parts))) sum += part;
  co_return sum;
}

/// One activity `wait`, which tests give a body.
inline Task<int> waiting(Context& ctx) { co_return co_await ctx.activity<int>("wait"); }

/// Ends when it is told to.
inline Task<int> told(Context& ctx) { co_return co_await ctx.event<int>("end"); }

inline void add_program(Runtime& rt) {
  rt.activity("greet", [](ActivityContext&, std::string who) { return "Hello, " + who + "!"; });
  rt.activity("square", [](ActivityContext&, int n) { return n * n; });
  rt.orchestration("hello", hello);
  rt.orchestration("sum_of_squares", sum_of_squares);
  rt.orchestration("waiting", waiting);
  rt.orchestration("told", told);
}

inline std::vector<StartItem> many(int count, int input) {
  std::vector<StartItem> items;
  for (int i = 0; i < count; ++i) items.push_back(start_item("i" + std::to_string(i), input));
  return items;
}

inline RuntimeOptions quiet() { return {.activity_slots = 4, .logger = null_logger()}; }

/// Leases that are kept on a busy machine, too.
inline RuntimeOptions steady(std::shared_ptr<Logger> logger) {
  return {.activity_slots = 4, .cancel_grace = 1s, .logger = std::move(logger)};
}

/// Short leases, so that what is in doubt is soon free again.
inline RuntimeOptions quick(std::shared_ptr<Logger> logger) {
  return {.activity_slots = 4,
          .activity_lease = 300ms,
          .instance_lease = 300ms,
          .cancel_grace = 1s,
          .logger = std::move(logger)};
}

}  // namespace holdfast::e2e
