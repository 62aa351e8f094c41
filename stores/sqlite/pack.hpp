// Packs: activities that one commit has handed off share one row while they share their lock. What is plain
// and ends together, as most do, costs one row instead of one for each.
#pragma once

#include "stores/rules/rows.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::sqlite_store {

/// A row of `packs`: plain activities of one instance in their first delivery, locked by the same token, in
/// the same session or in none. Small, because it is written anew when one of them goes its own way. An
/// instance has at most one.
class Pack {
 public:
  ExecutionNumber execution{};
  WorkerKey worker{};
  LockToken token{};
  BootTime until{};
  std::optional<std::string> session{};
  Generation generation{};

  struct Item {
    EventId event{};
    std::int64_t kind = 0;
    std::string_view body{};
  };

  /// Whether it could stand in a pack at all.
  [[nodiscard]] static bool is_plain(const rules::Activity& activity);
  /// One for activities like this. `memory`: of bytes that are not needed any more.
  explicit Pack(const rules::Activity& activity, std::string&& memory = {});
  Pack() = default;
  /// Whether the activity is what this pack says of all its activities.
  [[nodiscard]] bool describes(const rules::Activity& activity) const;
  [[nodiscard]] bool has_room_for(const rules::Activity& activity) const;
  void add(const rules::Activity& activity, std::int64_t kind);
  [[nodiscard]] bool contains(const store::ActivityId& id) const;

  [[nodiscard]] std::span<const EventId> events() const { return {events_.data(), count_}; }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  /// For the next pack: once this one stands in its row, they are of no use here.
  [[nodiscard]] std::string take_bytes() { return std::exchange(bytes_, {}); }

  /// The items of a row, of which views stay in `bytes`. None when they can't be decoded.
  static std::optional<std::vector<Item>> decode(std::string_view bytes);
  /// The activity that such an item of this pack is; its name and queue are its kind's.
  [[nodiscard]] rules::Activity activity(InstanceKey key, const Item& item) const;
  /// It stands in the row already.
  void note(EventId event) { events_[count_++] = event; }

 private:
  static constexpr std::size_t kMaxPacked = 16;

  std::array<EventId, kMaxPacked> events_{};
  std::size_t count_ = 0;
  std::string bytes_{};
};

}  // namespace holdfast::sqlite_store
