#include "client/stored_turns.hpp"

#include "codec/segment.hpp"

#include <holdfast/errors.hpp>
#include <holdfast/store.hpp>

#include <utility>

namespace holdfast::client {

StoredTurns::StoredTurns(std::shared_ptr<detail::ClientCore> core, std::string id, InstanceKey key,
                         ExecutionNumber execution, EventId after)
    : core_(std::move(core)),
      id_(std::move(id)),
      key_(key),
      execution_(execution),
      after_(after),
      follows_(after.value == 0) {}

std::vector<store::Segment> StoredTurns::next(std::size_t max_bytes) {
  std::vector<store::Segment> segments = read(after_, max_bytes);
  // No more, or no longer there: the end of a history and a pruned one look the same.
  if (segments.empty()) check_that_it_is_there();
  for (const store::Segment& segment : segments) take(segment);
  return segments;
}

void StoredTurns::take(const store::Segment& segment) {
  const EventId expected{after_.value + 1};
  const auto cursor = history::SegmentCursor::open(segment.bytes);
  if (!cursor) refuse_damaged(segment.first_event, cursor.error());
  if (cursor->first_event() != segment.first_event || cursor->event_count() == 0)
    refuse_damaged(segment.first_event, "the events of this turn have other numbers");
  if (follows_ && segment.first_event > expected) {
    refuse_damaged(expected, "the events from " + to_string(expected) + " to " +
                                 std::to_string(segment.first_event.value - 1) + " are missing");
  }
  follows_ = true;
  after_ = EventId{segment.first_event.value + cursor->event_count() - 1};
}

bool StoredTurns::has_more() const {
  if (!read(after_, 1).empty()) return true;
  check_that_it_is_there();
  return false;
}

std::vector<store::Segment> StoredTurns::read(EventId after, std::size_t max_bytes) const {
  return core_->call([&]() -> StoreResult<std::vector<store::Segment>> {
    auto segments = core_->store().read_history(key_, execution_, after, max_bytes);
    if (!segments && segments.error().kind == StoreError::Kind::not_found)
      detail::refuse_as_gone(core_->store(), id_);
    return segments;
  });
}

void StoredTurns::check_that_it_is_there() const {
  if (!read(EventId{}, 1).empty()) return;
  const auto views = core_->call([&] { return core_->store().look({&key_, 1}); });
  if (!views.front()) detail::refuse_as_gone(core_->store(), id_);
  const ExecutionNumber current = views.front()->execution;
  if (execution_ == current) return;  // its first turn is still to come
  const std::string what = "execution " + to_string(execution_) + " of instance '" + id_ + "'";
  if (execution_ > current || execution_.value == 0) {
    throw ClientError(ClientError::Kind::not_found,
                      what + " does not exist: the current one is execution " + to_string(current));
  }
  throw ClientError(ClientError::Kind::not_found,
                    "the history of " + what + " was pruned; Run::executions() lists those that are there");
}

void StoredTurns::refuse_damaged(EventId first, const std::string& problem) const {
  throw ClientError(ClientError::Kind::damaged, "the history of instance '" + id_ + "', execution " +
                                                    to_string(execution_) + ", can't be read from event " +
                                                    to_string(first) + " on: " + problem);
}

}  // namespace holdfast::client
