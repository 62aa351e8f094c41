// The order process of demo.cpp: a saga with two steps side by side, a person's decision and a payment.
#pragma once

#include <holdfast/saga.hpp>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>

namespace shop {

using namespace holdfast;
using namespace std::chrono_literals;

// [snippet process]
struct Order {
  std::string id;
  std::string item;
  int amount = 0;
};

// Each undo is registered before its step: a step that failed or was cancelled may have been done.
inline Task<std::string> sell_steps(Context& ctx, Saga& saga, Order order) {
  // Two steps side by side. Both have ended before one that failed is undone.
  saga.undo_with("release_stock", order);
  const auto checks = co_await when_all_settled(ctx.activity<void>("reserve_stock", order),
                                                ctx.activity<void>("score_risk", order));
  std::get<0>(checks).value();
  std::get<1>(checks).value();

  // A person decides, within a day.
  const std::optional<bool> approved = co_await with_timeout(ctx.event<bool>("approval"), 24h);
  if (!approved.value_or(false)) throw std::runtime_error("nobody approved it");

  // A request to cancel waits until the charge has ended.
  saga.undo_with("refund_card", order);
  co_await ctx.shield(ctx.activity<void>("charge_card", order));

  co_await ctx.sleep(500ms);  // time to change one's mind
  co_await ctx.shield(ctx.activity<void>("ship", order));
  co_return "shipped";
}

inline Task<std::string> sell(Context& ctx, Order order) {
  // Whatever ends the steps, a request to cancel included, undoes them: the last one first.
  const Result<std::string> sold = co_await run_saga(ctx, sell_steps, order).result();
  co_return sold ? *sold : "undone: " + sold.error().message;
}
// [/snippet]

}  // namespace shop
