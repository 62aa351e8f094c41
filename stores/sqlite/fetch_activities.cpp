#include "activities.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace holdfast::sqlite_store {
namespace {

struct Candidate {
  std::int64_t rank = 0;
  LeaseTime at = 0;
  store::ActivityId id{};
  friend auto operator<=>(const Candidate&, const Candidate&) = default;
};

/// Calls `visit(lane, rank)` for all that are there in the lanes of free items, in order. No row is passed
/// twice, and none is read that isn't the first of its lane and rank.
template <class Visit>
void visit_ranks(Transaction& tx, Visit visit) {
  const NumberRange range(tx.ns);
  std::int64_t lane = range.below;
  std::int64_t rank = std::numeric_limits<std::int64_t>::max();
  while (true) {
    {
      Cursor row = tx.rows(tx.sql.next_rank, lane, rank, range.above);
      if (!row.next()) return;
      lane = row->int64(0);
      rank = row->int64(1);
    }
    if (!visit(lane, rank)) rank = std::numeric_limits<std::int64_t>::max();
  }
}

class Fetch {
 public:
  Fetch(Transaction& tx, const store::ActivityRequest& request) : tx_(tx), request_(request) {}

  store::FetchedActivities run() {
    let_activities_lapse(tx_);
    std::vector<Candidate> candidates = find_candidates();
    std::sort(candidates.begin(), candidates.end());
    out_.left_behind = candidates.size() > request_.max;
    if (out_.left_behind) candidates.resize(request_.max);
    for (const Candidate& candidate : candidates) {
      std::optional<Activity> activity = find_activity(tx_, candidate.id);
      out_.activities.push_back(
          lock_activity(tx_, *std::move(activity), request_.worker, request_.token, request_.lease));
    }
    out_.next_due = std::min(out_.next_due, left_until(tx_.counters().activity_horizon, tx_.now));
    return std::move(out_);
  }

 private:
  std::vector<Candidate> find_candidates() {
    std::vector<Candidate> found;
    visit_ranks(tx_, [&](std::int64_t lane, std::int64_t rank) {
      if (!serves(*request_.abilities, tx_.kind(lane))) return false;
      for (Cursor row = tx_.rows(tx_.sql.queued_in_rank, lane, rank, tx_.now, request_.max + 1);
           row.next();) {
        found.push_back(
            {rank,
             row->int64(0),
             {row->number<InstanceKey>(1), row->number<ExecutionNumber>(2), row->number<EventId>(3)}});
      }
      if (Cursor row = tx_.rows(tx_.sql.next_in_rank, lane, rank, tx_.now); row.next()) {
        out_.next_due = std::min(out_.next_due, left_until(row->int64(0), tx_.now));
      }
      return true;
    });
    return found;
  }

  Transaction& tx_;
  const store::ActivityRequest& request_;
  store::FetchedActivities out_{};
};

}  // namespace

bool must_yield(Transaction& tx, WorkerKey, const store::Abilities& abilities, int priority) {
  if (!tx.memo.nothing_queued) {
    Cursor row = tx.rows(tx.sql.any_queued);
    tx.memo.nothing_queued = !row.next();
  }
  if (*tx.memo.nothing_queued) return false;
  bool found = false;
  visit_ranks(tx, [&](std::int64_t lane, std::int64_t rank) {
    if (found || rank >= -std::int64_t{priority} || !serves(abilities, tx.kind(lane))) return false;
    Cursor row = tx.rows(tx.sql.queued_in_rank, lane, rank, tx.now, 1);
    found = row.next();
    return true;
  });
  return found;
}

StoreResult<store::FetchedActivities> fetch_activities(Transaction& tx,
                                                       const store::ActivityRequest& request) {
  if (auto refused = tx.refuse_worker(request.worker)) return Unexpected(*std::move(refused));
  return Fetch(tx, request).run();
}

}  // namespace holdfast::sqlite_store
