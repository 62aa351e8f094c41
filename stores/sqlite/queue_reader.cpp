#include "queue_reader.hpp"

#include <algorithm>
#include <limits>

namespace holdfast::sqlite_store {
namespace {

constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t kAtOnce = 32;

}  // namespace

QueueReader::QueueReader(Transaction& tx, WorkerKey worker, const store::Abilities& abilities,
                         std::int64_t below_rank)
    : tx_(tx), below_rank_(below_rank) {
  if (!tx.memo.nothing_queued) {
    Cursor row = tx.rows(tx.sql.any_queued);
    tx.memo.nothing_queued = !row.next();
  }
  if (*tx.memo.nothing_queued) return;
  const NumberRange range(tx.ns);
  for (std::int64_t lane = range.below;;) {
    {
      Cursor row = tx.rows(tx.sql.next_queue_lane, lane, range.above);
      if (!row.next()) break;
      lane = row->int64(0);
    }
    const Kind& kind = tx.kind(lane);
    if (serves(abilities, kind) && covers(abilities, kind.requirements)) add_lane(lane);
  }
  for (const std::int64_t number : find_sessions(worker)) {
    const Session& session = session_of(tx, number);
    if (!is_held_by(tx, session, worker)) continue;
    add_session(number);
    sessions_.push_back(&session);
  }
  std::ranges::sort(sessions_, {}, &Session::id);
}

// Those that the worker owns, or those that have items: whichever are fewer. Both are gone through side by
// side until one list is complete.
std::vector<std::int64_t> QueueReader::find_sessions(WorkerKey worker) {
  std::vector<std::int64_t> owned;
  std::vector<std::int64_t> with_items;
  Cursor session = tx_.rows(tx_.sql.sessions_of_worker, worker);
  for (std::int64_t lane = std::numeric_limits<std::int64_t>::min();;) {
    if (!session.next()) return owned;
    owned.push_back(session->int64(0));
    Cursor row = tx_.rows(tx_.sql.next_queue_lane, lane, 0);
    if (!row.next()) return with_items;
    lane = row->int64(0);
    with_items.push_back(-lane);
  }
}

std::optional<QueueItem> QueueReader::next() {
  Stream* first = nullptr;
  for (Stream& stream : streams_) {
    if (!stream.items.empty() && (first == nullptr || stream.items.front() < first->items.front())) {
      first = &stream;
    }
  }
  if (first == nullptr) return std::nullopt;
  const QueueItem item = first->items.front();
  first->items.pop_front();
  if (first->items.empty() && first->more) refill(*first, item);
  return item;
}

void QueueReader::add_session(std::int64_t number) { add_lane(-number); }

void QueueReader::drop_lane(std::int64_t lane) {
  std::erase_if(streams_, [&](const Stream& stream) { return stream.lane == lane; });
}

void QueueReader::drop_stream(const QueueItem& item) {
  std::erase_if(streams_,
                [&](const Stream& stream) { return stream.lane == item.lane && stream.rank == item.rank; });
}

void QueueReader::drop_all_but_claims() {
  std::erase_if(streams_, [&](const Stream& stream) { return !is_for_claims(stream.lane); });
}

void QueueReader::add_lane(std::int64_t lane) {
  for (std::int64_t rank = std::numeric_limits<std::int64_t>::min();;) {
    {
      Cursor row = tx_.rows(tx_.sql.next_rank, lane, rank);
      if (!row.next() || row->int64(0) >= below_rank_) return;
      rank = row->int64(0);
    }
    add_stream(lane, rank);
  }
}

void QueueReader::add_stream(std::int64_t lane, std::int64_t rank) {
  if (Cursor row = tx_.rows(tx_.sql.next_in_rank, lane, rank, tx_.now); row.next()) {
    next_due_ = std::min(next_due_, row->int64(0));
  }
  refill(streams_.emplace_back(Stream{.lane = lane, .rank = rank}), {.at = -kLast});
}

void QueueReader::refill(Stream& stream, const QueueItem& after) {
  for (Cursor row = tx_.rows(tx_.sql.queued_in_rank, stream.lane, stream.rank, tx_.now, after.at,
                             after.id.instance, after.id.execution, after.id.event, kAtOnce);
       row.next();) {
    stream.items.push_back(
        {.rank = stream.rank,
         .at = row->int64(0),
         .id = {row->number<InstanceKey>(1), row->number<ExecutionNumber>(2), row->number<EventId>(3)},
         .lane = stream.lane});
  }
  stream.more = stream.items.size() == kAtOnce;
}

bool QueueReader::is_for_claims(std::int64_t lane) { return lane > 0 && tx_.kind(lane).in_session; }

}  // namespace holdfast::sqlite_store
