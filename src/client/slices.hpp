// Slices: a call about many instances, in parts that are each short in the store.
#pragma once

#include "client/core.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/store.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <vector>

namespace holdfast::client {

/// As many at a time as take about kWanted, as the last ones did: no transaction holds others up for long.
class Slices {
 public:
  static constexpr Duration kWanted = std::chrono::milliseconds(20);
  static constexpr std::size_t kLargest = 200;

  explicit Slices(detail::ClientCore& core) : core_(core) {}

  using Answers = std::vector<StoreResult<void>>;
  /// Asks for so many items from a place on: an answer for each.
  using Ask = std::function<Answers(std::size_t first, std::size_t count)>;
  /// Whether the refusal of an item, which was in doubt before, says that it was done then.
  using WasDone = std::function<bool(const StoreError& refusal)>;

  /// An answer for each of `count` items. What the store can't answer is asked again, as in
  /// ClientCore::call().
  Answers ask(std::size_t count, const Ask& ask, const WasDone& was_done);

 private:
  void note(std::size_t count, Duration took);

  detail::ClientCore& core_;
  std::size_t size_ = 10;
};

}  // namespace holdfast::client
