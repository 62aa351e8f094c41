// QueueReader: the items that a worker might take, in the order in which it should.
#pragma once

#include "activities.hpp"
#include "sessions.hpp"
#include "transaction.hpp"

#include <holdfast/store/workers.hpp>

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace holdfast::sqlite_store {

/// A ready item and where it stood when it was read: it may have moved since.
struct QueueItem {
  std::int64_t rank = 0;
  LeaseTime at = 0;
  store::ActivityId id{};
  std::int64_t lane = 0;
  friend auto operator<=>(const QueueItem&, const QueueItem&) = default;
};

/// Reads the lanes that the worker's abilities allow, and those of sessions that it holds; of each no more
/// than it is asked for. Lanes that the worker can't serve cost one step each, however full they are.
class QueueReader {
 public:
  /// Items of a rank of `below_rank` and above are left out: those of that priority and lower.
  QueueReader(Transaction& tx, WorkerKey worker, const store::Abilities& abilities, std::int64_t below_rank);

  /// The next ready item, by priority, then by how long it waits, then by id.
  std::optional<QueueItem> next();

  /// Those of the worker that may have had items at the beginning; sorted by id.
  [[nodiscard]] const std::vector<const Session*>& sessions() const noexcept { return sessions_; }

  /// The worker holds this session from now on.
  void add_session(std::int64_t number);
  /// Nothing more from these.
  void drop_lane(std::int64_t lane);
  /// Nothing more from lanes of other ranks or waiting times than this item's.
  void drop_stream(const QueueItem& item);
  void drop_all_but_claims();

  /// When the first item that isn't ready will be.
  [[nodiscard]] LeaseTime next_due() const noexcept { return next_due_; }

 private:
  struct Stream {
    std::int64_t lane = 0;
    std::int64_t rank = 0;
    std::deque<QueueItem> items{};
    bool more = true;  // behind the last of `items`
  };

  [[nodiscard]] std::vector<std::int64_t> find_sessions(WorkerKey worker);
  void add_lane(std::int64_t lane);
  void add_stream(std::int64_t lane, std::int64_t rank);
  void refill(Stream& stream, const QueueItem& after);
  [[nodiscard]] bool is_for_claims(std::int64_t lane);

  Transaction& tx_;
  std::int64_t below_rank_;
  std::vector<const Session*> sessions_{};
  std::vector<Stream> streams_{};
  LeaseTime next_due_ = kNoTime;
};

}  // namespace holdfast::sqlite_store
