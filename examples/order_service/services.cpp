#include "services.hpp"

#include "examples/support/command_line.hpp"

#include <holdfast/errors.hpp>

#include <sstream>
#include <thread>

namespace orders {

using holdfast::ActivityContext;
using holdfast::ActivityFailure;
using support::find_entry;
using support::LedgerEntries;
using support::LedgerEntry;

namespace {

constexpr std::int64_t kCardLimitCents = 20'000'00;
constexpr int kCarrierLimitKilograms = 200;

[[noreturn]] void refuse(const std::string& type, const std::string& why) {
  throw ActivityFailure(type, why, /*retryable=*/false);
}

const Good& good(const std::string& sku) {
  const auto found = catalogue().find(sku);
  if (found == catalogue().end()) refuse("unknown_item", "nothing is sold here as '" + sku + "'");
  return found->second;
}

/// How many of a good orders have reserved.
int reserved(const LedgerEntries& entries, const std::string& sku) {
  int count = 0;
  for (const LedgerEntry& entry : entries) {
    const int sign = entry.action == reserve_stock.name ? 1 : entry.action == release_stock.name ? -1 : 0;
    if (sign == 0) continue;
    std::istringstream items(entry.note);
    for (std::string text; items >> text;) {
      const Item item = parse_item(text);
      if (item.sku == sku) count += sign * item.quantity;
    }
  }
  return count;
}

}  // namespace

const std::map<std::string, Good>& catalogue() {
  static const std::map<std::string, Good> goods{
      {"lamp", {.cents = 40'00, .in_stock = 500, .kilograms = 2}},
      {"chair", {.cents = 120'00, .in_stock = 200, .kilograms = 9}},
      {"desk", {.cents = 1'250'00, .in_stock = 50, .kilograms = 60}},
      {"globe", {.cents = 90'00, .in_stock = 1, .kilograms = 4}},         // there is only one
      {"piano", {.cents = 9'000'00, .in_stock = 30, .kilograms = 400}},   // no carrier takes it
      {"diamond", {.cents = 25'000'00, .in_stock = 1, .kilograms = 1}}};  // no card pays for it
  return goods;
}

void Services::register_with(holdfast::Runtime& rt) const {
  rt.activity(reserve_stock,
              [this](ActivityContext& ctx, Order order) { return reserve(ctx, order).amount; });
  rt.activity(charge_card,
              [this](ActivityContext& ctx, Order order, std::int64_t cents) { charge(ctx, order, cents); });
  rt.activity(pack, [this](ActivityContext& ctx, Order order) {
    step(ctx, order, unpack.name, [](const LedgerEntries&) { return LedgerEntry{}; });
  });
  rt.activity(ship, [this](ActivityContext& ctx, Order order) { return ship_parcel(ctx, order).note; });

  rt.activity(release_stock,
              [this](ActivityContext& ctx, Order order) { undo(ctx, order, reserve_stock.name); });
  rt.activity(refund_card, [this](ActivityContext& ctx, Order order) { undo(ctx, order, charge_card.name); });
  rt.activity(unpack, [this](ActivityContext& ctx, Order order) { undo(ctx, order, pack.name); });
  rt.activity(recall, [this](ActivityContext& ctx, Order order) { undo(ctx, order, ship.name); });
}

LedgerEntry Services::reserve(ActivityContext& ctx, const Order& order) const {
  return step(ctx, order, release_stock.name, [&](const LedgerEntries& entries) {
    std::int64_t cents = 0;
    std::map<std::string, int> wanted;  // an order may name a good twice
    for (const Item& item : order.items) {
      wanted[item.sku] += item.quantity;
      cents += good(item.sku).cents * item.quantity;
    }
    for (const auto& [sku, count] : wanted) {
      if (reserved(entries, sku) + count > good(sku).in_stock) {
        refuse("out_of_stock", "there are not " + std::to_string(count) + " of '" + sku + "' left");
      }
    }
    return LedgerEntry{.amount = cents, .note = to_text(order.items)};
  });
}

LedgerEntry Services::charge(ActivityContext& ctx, const Order& order, std::int64_t cents) const {
  return step(ctx, order, refund_card.name, [&](const LedgerEntries&) {
    if (cents > kCardLimitCents) refuse("card_declined", "the card does not cover it");
    return LedgerEntry{.amount = cents};
  });
}

LedgerEntry Services::ship_parcel(ActivityContext& ctx, const Order& order) const {
  return step(ctx, order, recall.name, [&](const LedgerEntries&) {
    for (const Item& item : order.items) {
      if (good(item.sku).kilograms > kCarrierLimitKilograms) {
        refuse("too_heavy", "no carrier takes a " + item.sku);
      }
    }
    return LedgerEntry{.note = "parcel-" + ctx.idempotency_key().substr(0, 8)};
  });
}

LedgerEntry Services::step(ActivityContext& ctx, const Order& order, std::string_view undone_by,
                           const Decide& decide) const {
  return request(ctx, order, [&](const LedgerEntries& entries) {
    if (find_entry(entries, undone_by, order.id) != nullptr) {
      refuse("undone", ctx.name() + " of order '" + order.id + "' has been undone before it was done");
    }
    return decide(entries);
  });
}

void Services::undo(ActivityContext& ctx, const Order& order, std::string_view step) const {
  request(ctx, order, [&](const LedgerEntries& entries) {
    const LedgerEntry* const done = find_entry(entries, step, order.id);
    if (done == nullptr) return LedgerEntry{};  // nothing to take back, and nothing will be done any more
    return LedgerEntry{.amount = done->amount, .note = done->note};
  });
}

LedgerEntry Services::request(ActivityContext& ctx, const Order& order, const Decide& decide) const {
  support::say(order.id + " " + ctx.name() + " begins");
  std::this_thread::sleep_for(latency_ / 2);
  LedgerEntry entry = ledger_.add_once(ctx.idempotency_key(), [&](const LedgerEntries& entries) {
    LedgerEntry made = decide(entries);
    made.action = ctx.name();
    made.subject = order.id;
    return made;
  });
  support::say(order.id + " " + ctx.name() + " done");
  std::this_thread::sleep_for(latency_ / 2);
  return entry;
}

}  // namespace orders
