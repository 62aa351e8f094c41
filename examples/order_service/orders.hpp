// What the command line and the worker of the order service agree on.
#pragma once

#include <holdfast/activity.hpp>
#include <holdfast/messages.hpp>
#include <holdfast/orchestration.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace orders {

struct Item {
  std::string sku;
  int quantity = 1;
};
struct Order {
  std::string id;
  std::vector<Item> items;
};

/// What a person says about an order that needs approval.
struct Decision {
  bool approved = false;
  std::string by;
};

/// How far an order is: the custom status of its instance.
enum class Stage : std::uint8_t {
  reserving,
  awaiting_approval,
  charging,
  packing,
  shipping,
  shipped,
  undoing,
  rejected,
};

std::string_view to_string(Stage stage) noexcept;

/// How an order ended, unless it was cancelled.
struct Outcome {
  bool shipped = false;
  std::string tracking;  ///< of one that was shipped
  std::string reason;    ///< why another one was not
};

inline constexpr std::int64_t kApprovalLimitCents = 1'000'00;

inline constexpr holdfast::Orchestration<Outcome(Order)> fulfil{"fulfil"};
inline constexpr holdfast::Event<Decision> decision{"decision"};

// Each step, and what undoes it. A step gives up after some attempts; an undo is tried for a day, since
// nobody else would do it.
inline constexpr holdfast::ActivityOptions kStep{.timeout = std::chrono::seconds(30)};
inline constexpr holdfast::ActivityOptions kUndo{
    .timeout = std::chrono::seconds(30),
    .retry = {.max_attempts = 1'000'000, .total_deadline = std::chrono::hours(24)}};

inline constexpr holdfast::Activity<std::int64_t(Order)> reserve_stock{"reserve_stock", kStep};  // cents
inline constexpr holdfast::Activity<void(Order)> release_stock{"release_stock", kUndo};
inline constexpr holdfast::Activity<void(Order, std::int64_t)> charge_card{"charge_card", kStep};
inline constexpr holdfast::Activity<void(Order)> refund_card{"refund_card", kUndo};
inline constexpr holdfast::Activity<void(Order)> pack{"pack", kStep};
inline constexpr holdfast::Activity<void(Order)> unpack{"unpack", kUndo};
inline constexpr holdfast::Activity<std::string(Order)> ship{"ship", kStep};  // the tracking number
inline constexpr holdfast::Activity<void(Order)> recall{"recall", kUndo};

/// Goods as they are written on the command line and in the ledger: "lamp" or "lamp=2". Throws
/// std::invalid_argument.
Item parse_item(std::string_view text);
std::string to_text(const std::vector<Item>& items);

}  // namespace orders
