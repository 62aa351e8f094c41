#include "fulfil.hpp"

#include <holdfast/saga.hpp>

#include <optional>
#include <stdexcept>

namespace orders {

using namespace holdfast;
using namespace std::chrono_literals;

namespace {

Task<> wait_for_approval(Context& ctx) {
  ctx.set_status(Stage::awaiting_approval);
  const std::optional<Decision> made = co_await with_timeout(ctx.event(decision), 24h);
  if (!made) throw std::runtime_error("nobody approved it within a day");
  if (!made->approved) throw std::runtime_error("rejected by " + made->by);
}

// Each undo is registered before its step: a step that failed or was cancelled may have been done.
Task<Outcome> steps(Context& ctx, Saga& saga, Order order) {
  ctx.set_status(Stage::reserving);
  saga.undo_with(release_stock, order);
  const std::int64_t cents = co_await ctx.activity(reserve_stock, order);

  if (cents > kApprovalLimitCents) co_await wait_for_approval(ctx);

  // In a shield: whether money has moved is known before a request to cancel is answered.
  ctx.set_status(Stage::charging);
  saga.undo_with(refund_card, order);
  co_await ctx.shield(ctx.activity(charge_card, order, cents));

  // The last moment to cancel: this await is in no shield.
  ctx.set_status(Stage::packing);
  saga.undo_with(unpack, order);
  co_await ctx.activity(pack, order);

  ctx.set_status(Stage::shipping);
  saga.undo_with(recall, order);
  Outcome outcome{.shipped = true, .tracking = {}, .reason = {}};
  outcome.tracking = co_await ctx.shield(ctx.activity(ship, order));
  ctx.set_status(Stage::shipped);
  co_return outcome;
}

// The undoing begins when this ends: those who look should see it.
Task<Outcome> observed_steps(Context& ctx, Saga& saga, Order order) {
  try {
    co_return co_await steps(ctx, saga, order);
  } catch (...) {
    ctx.set_status(Stage::undoing);
    throw;
  }
}

}  // namespace

Task<Outcome> fulfil_order(Context& ctx, Order order) {
  // A request to cancel undoes the steps, too, and then ends the instance as cancelled.
  const Result<Outcome> outcome = co_await run_saga(ctx, observed_steps, order).result();
  if (outcome) co_return *outcome;
  ctx.set_status(Stage::rejected);
  co_return Outcome{.shipped = false, .tracking = {}, .reason = outcome.error().message};
}

}  // namespace orders
