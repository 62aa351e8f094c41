// The sweep: what is due comes into the set, and the rules do what is to be done with it.
#include "calls.hpp"
#include "statements.hpp"

#include <algorithm>

namespace holdfast::postgres_store {

using store::SweepRequest;
using store::Swept;

namespace {

/// Of the sessions only those that something may be done with.
class Due {
 public:
  Due(WorkingSet& set, const SweepRequest& request, rules::Lapses& lapses)
      : set_(set), request_(request), lapses_(lapses) {}

  void bring() {
    trim_log();  // first: what this sweep writes stays
    set_.want_all_workers();
    set_.bring();
    staying_ = rules::staying(set_.tx(), request_, lapses_);
    lock_late_workers();
    set_.ask(sql::kLetLapse, Parameters(set_.ns(), set_.tx().now));
    set_.ask(sql::kOverdue, Parameters(set_.ns(), static_cast<std::int64_t>(request_.max + 1)),
             [&](const Answer& answer) { take_overdue(answer); });
    ask_sessions();
    set_.ask(sql::kLapsedInSessions, Parameters(set_.ns(), set_.tx().now),
             [&](const Answer& answer) { take_ids(answer); });
    set_.bring();
    set_.want_sessions(sessions_);
    set_.want_instances(instances_);
    set_.want_activities(activities_);
    if (set_.asked()) set_.bring();
  }
  /// Lines of the session log.
  [[nodiscard]] std::uint64_t trimmed() const { return trimmed_; }
  /// When something may have to be done with a session that was not brought.
  [[nodiscard]] BootTime next() const { return next_; }

 private:
  void trim_log() {
    if (request_.session_log_retention == never) return;
    const CalendarTime until = set_.tx().calendar - request_.session_log_retention;
    const auto max = static_cast<std::int64_t>(request_.max);
    set_.ask(sql::kTrimLog, Parameters(set_.ns(), until, max), [this](const Answer& answer) {
      trimmed_ = answer.changed();
      if (trimmed_ == request_.max) next_ = set_.tx().now;
    });
  }

  /// Those that may be removed.
  void lock_late_workers() {
    std::vector<WorkerKey> late;
    for (const auto& [key, worker] : set_.tx().space.workers) {
      if (rules::stale_at(worker, request_) <= set_.tx().now) late.push_back(key);
    }
    for (const WorkerKey key : late) set_.want_locked_worker(key);
  }

  void take_ids(const Answer& answer) {
    for (int i = 0; i < answer.rows(); ++i) sessions_.emplace_back(answer.bytes(i, 0));
  }
  void take_overdue(const Answer& answer) {
    for (int i = 0; i < answer.rows(); ++i) {
      Row row(answer, i);
      const auto key = row.next<InstanceKey>();
      const auto execution = row.next<ExecutionNumber>();
      activities_.push_back({key, execution, row.next<EventId>()});
      if (row.next<BootTime>() <= set_.tx().now) instances_.push_back(key);
      if (const auto session = row.next<std::optional<std::string>>()) sessions_.push_back(*session);
    }
  }

  void ask_sessions() {
    const BootTime now = set_.tx().now;
    const Duration state = request_.session_state_retention;
    const Duration record = request_.session_record_retention;
    const Parameters times(set_.ns(), now, rules::kept_until(now, state), rules::kept_until(now, record),
                           rules::kept_until(now, std::max(state, record)));
    // Each may be expired, lost or removed.
    const std::int64_t most = static_cast<std::int64_t>(3 * request_.max + 1);
    Parameters limited = times;
    set_.ask(sql::kDueSessions, limited.add(most).add_all(staying_), [this, most, now](const Answer& answer) {
      take_ids(answer);
      if (answer.rows() == most) next_ = now;
    });
    set_.ask(sql::kNextSession, times, [this](const Answer& answer) {
      Row row(answer, 0);
      for (const Duration kept : rules::kept_in_sweep(request_)) {
        const auto from = row.next<std::optional<BootTime>>();
        if (from) next_ = std::min(next_, after(*from, kept));
      }
    });
  }

  WorkingSet& set_;
  const SweepRequest& request_;
  rules::Lapses& lapses_;
  std::vector<WorkerKey> staying_{};
  std::vector<store::ActivityId> activities_{};
  std::vector<InstanceKey> instances_{};
  std::vector<std::string> sessions_{};
  std::uint64_t trimmed_ = 0;
  BootTime next_ = rules::kNever;
};

/// Drops rows whose time is over, and says when the next one's is.
class Remains {
 public:
  Remains(WorkingSet& set, const SweepRequest& request)
      : set_(set), max_(static_cast<std::int64_t>(request.max)) {}

  void drop(const Statement& drop, const Statement& next, Duration kept, std::uint64_t& count) {
    const BootTime now = set_.tx().now;
    set_.ask(drop, Parameters(set_.ns(), rules::kept_until(now, kept), max_),
             [&count](const Answer& answer) { count += answer.changed(); });
    due(next, kept);
  }
  void due(const Statement& next, Duration after = {}) {
    set_.ask(next, Parameters(set_.ns()), [this, after](const Answer& answer) {
      if (answer.rows() == 0 || answer.is_null(0, 0)) return;
      next_ = std::min(next_, holdfast::after(Row(answer, 0).next<BootTime>(), after));
    });
  }
  void drop_history() {
    set_.ask(sql::kDropRemains, Parameters(max_));
    set_.ask(sql::kDropEmptyRemains, Parameters());
    set_.ask(sql::kAnyRemains, Parameters(), [this](const Answer& answer) {
      if (answer.rows() > 0) next_ = set_.tx().now;
    });
  }
  [[nodiscard]] BootTime next() const { return next_; }

 private:
  WorkingSet& set_;
  std::int64_t max_;
  BootTime next_ = rules::kNever;
};

}  // namespace

Swept sweep(WorkingSet& set, const SweepRequest& request, rules::Lapses& lapses) {
  Due due(set, request, lapses);
  due.bring();
  Swept swept = rules::sweep(set.tx(), request, lapses);
  swept.remains_removed += due.trimmed();
  const BootTime by_rules = std::min(set.tx().space.next_sweep, due.next());
  set.write_back();
  Remains remains(set, request);
  remains.drop(sql::kDropEarly, sql::kNextEarly, {}, swept.early_dropped);
  remains.drop(sql::kDropRequests, sql::kNextRequest, request.request_retention, swept.remains_removed);
  remains.drop(sql::kDropCancels, sql::kNextCancel, {}, swept.remains_removed);
  remains.due(sql::kNextOverdue);
  remains.drop_history();
  set.ask(sql::kSeeConnections, Parameters());
  set.ask(sql::kForgetListeners, Parameters());
  set.ask(sql::kFoldStatusCounts, Parameters(set.ns()));
  set.bring();
  const BootTime next = std::min(by_rules, remains.next());
  set.clear();
  set.tx().space.next_sweep = next;
  swept.next_due = left(next, set.tx().now);
  return swept;
}

}  // namespace holdfast::postgres_store
