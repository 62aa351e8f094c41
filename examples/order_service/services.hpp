// The systems outside that an order touches: warehouse, payment provider and carrier. One ledger file stands
// for all of them.
#pragma once

#include "examples/support/ledger.hpp"
#include "orders.hpp"

#include <holdfast/activity_context.hpp>
#include <holdfast/runtime.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>

namespace orders {

struct Good {
  std::int64_t cents = 0;
  int in_stock = 0;
  int kilograms = 0;
};
/// What is sold here, by its name.
const std::map<std::string, Good>& catalogue();

/// Steps are refused for good by an ActivityFailure that is not retried. An undo never is: it takes back what
/// its step has done; and when the step has done nothing yet, it keeps it from being done later, by an
/// attempt that somebody lost sight of.
class Services {
 public:
  /// `latency`: how long a request takes, half of it before its effect and half of it after.
  Services(std::filesystem::path ledger, std::chrono::milliseconds latency)
      : ledger_(std::move(ledger)), latency_(latency) {}

  void register_with(holdfast::Runtime& rt) const;

 private:
  using Decide = std::function<support::LedgerEntry(const support::LedgerEntries&)>;

  support::LedgerEntry reserve(holdfast::ActivityContext& ctx, const Order& order) const;
  support::LedgerEntry charge(holdfast::ActivityContext& ctx, const Order& order, std::int64_t cents) const;
  support::LedgerEntry ship_parcel(holdfast::ActivityContext& ctx, const Order& order) const;

  /// A step that `undone_by` can't be done after.
  support::LedgerEntry step(holdfast::ActivityContext& ctx, const Order& order, std::string_view undone_by,
                            const Decide& decide) const;
  void undo(holdfast::ActivityContext& ctx, const Order& order, std::string_view step) const;
  support::LedgerEntry request(holdfast::ActivityContext& ctx, const Order& order,
                               const Decide& decide) const;

  support::Ledger ledger_;
  std::chrono::milliseconds latency_;
};

}  // namespace orders
