// StoredTurns: walks over the history of one execution in a store.
#pragma once

#include "client/core.hpp"

#include <holdfast/ids.hpp>
#include <holdfast/store/turns.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::client {

/// History only grows at its end, so the turns that come make up one history, whatever happens between two
/// calls; unless it is pruned or deleted, which is noticed. One thread at a time. Calls throw ClientError:
/// not_found when the instance or the history of the execution is gone, damaged when it can't be read.
class StoredTurns {
 public:
  /// The instance `key`, under the id that it is called by in messages. `after`: the last event that is not
  /// wanted.
  StoredTurns(std::shared_ptr<detail::ClientCore> core, std::string id, InstanceKey key,
              ExecutionNumber execution, EventId after = {});

  /// The next turns, about `max_bytes` and at least one; none when there are no more, now.
  std::vector<store::Segment> next(std::size_t max_bytes);
  /// Whether there is more now.
  [[nodiscard]] bool has_more() const;
  /// The last event of the turns so far.
  [[nodiscard]] EventId last_event() const noexcept { return after_; }
  /// Throws ClientError (damaged) for a turn that begins with event `first`.
  [[noreturn]] void refuse_damaged(EventId first, const std::string& problem) const;

 private:
  [[nodiscard]] std::vector<store::Segment> read(EventId after, std::size_t max_bytes) const;
  void take(const store::Segment& segment);
  void check_that_it_is_there() const;

  std::shared_ptr<detail::ClientCore> core_;
  std::string id_;
  InstanceKey key_;
  ExecutionNumber execution_;
  EventId after_;
  bool follows_;  // the next turn begins with the event after `after_`, which may else be inside of a turn
};

}  // namespace holdfast::client
