// Rebuilder: makes the frame of an instance anew, from its history.
#pragma once

#include "runtime/cache.hpp"
#include "runtime/incoming.hpp"
#include "runtime/settings.hpp"
#include "runtime/store_trouble.hpp"
#include "runtime/turn_batch.hpp"
#include "runtime/turn_runner.hpp"

#include <holdfast/ids.hpp>

#include <cstddef>
#include <string_view>

namespace holdfast::runtime {

/// Reads history from the store, and has the runner replay it. Any thread.
class Rebuilder {
 public:
  Rebuilder(const Settings& settings, StoreTrouble& trouble, TurnRunner& runner)
      : settings_(settings), trouble_(trouble), runner_(runner) {}

  /// Makes the frame of the batch's current turn. False when the store could not be read, or there is no code
  /// for it; throws Error when the code can't go on from its history.
  bool rebuild(TurnBatch& batch, FirstTurn& first);
  /// What a first turn of the instance here would begin with.
  [[nodiscard]] FirstTurn first_turn(const CachedInstance& instance) const;

  /// Gives all of history to `read`, which answers with the next event. False when the store could not be
  /// read.
  template <class Read>
  bool read_history(const CachedInstance& instance, Read read) {
    EventId after{};
    for (;;) {
      auto segments = settings_.store->read_history(instance.key, instance.execution, after, kHistoryBytes);
      if (!segments) {
        trouble_.failed("read history", segments.error());
        return false;
      }
      if (segments->empty()) return true;
      for (const store::Segment& segment : *segments) after = EventId{read(segment.bytes).value - 1};
    }
  }

 private:
  static constexpr std::size_t kHistoryBytes = 1U << 20U;

  const Settings& settings_;
  StoreTrouble& trouble_;
  TurnRunner& runner_;
};

}  // namespace holdfast::runtime
