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
#include <memory>
#include <string_view>

namespace holdfast::runtime {

/// Reads history from the store, and has the runner replay it: page by page for a frame that lives in place;
/// for others all of it is read in advance, so that nothing on their executor waits for the store. Any
/// thread.
class Rebuilder {
 public:
  Rebuilder(const Settings& settings, StoreTrouble& trouble, TurnRunner& runner)
      : settings_(settings), trouble_(trouble), runner_(runner) {}

  /// Makes the frame of the batch's current turn, in place. False when the store could not be read, or there
  /// is no code for it; throws Error when the code can't go on from its history.
  bool rebuild(TurnBatch& batch);
  /// Reads what replay() needs. False as above.
  bool read(SentTurn& sent);
  /// Makes the frame of the batch's current turn, on its executor, from what was read. Throws as above.
  void replay(TurnBatch& batch, SentTurn& sent);
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
      for (store::Segment& segment : *segments) after = EventId{read(segment).value - 1};
    }
  }

 private:
  static constexpr std::size_t kHistoryBytes = 1U << 20U;

  std::shared_ptr<const detail::OrchestrationCode> find_code(PreparedTurn& turn) const;
  [[nodiscard]] engine::Identity identity_of(const CachedInstance& instance) const;
  EventId replay_segment(TurnBatch& batch, engine::Execution& frame, std::string_view segment);
  void adopt(PreparedTurn& turn, Frame&& frame);

  const Settings& settings_;
  StoreTrouble& trouble_;
  TurnRunner& runner_;
};

}  // namespace holdfast::runtime
