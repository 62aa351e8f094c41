// The sweep: what is due comes into the set, and the rules do what is to be done with it.
#include "calls.hpp"
#include "statements.hpp"

#include <algorithm>

namespace holdfast::postgres_store {

using store::SweepRequest;
using store::Swept;

namespace {

/// Instances first: whoever answers an activity locks them in this order, too.
void bring_overdue(WorkingSet& set, const SweepRequest& request) {
  std::vector<store::ActivityId> overdue;
  std::vector<InstanceKey> keys;
  std::vector<std::string> sessions;
  set.ask(sql::kLetLapse, Parameters(set.ns(), set.tx().now));
  set.ask(sql::kOverdue, Parameters(set.ns(), static_cast<std::int64_t>(request.max + 1)),
          [&](const Answer& answer) {
            for (int i = 0; i < answer.rows(); ++i) {
              Row row(answer, i);
              const auto key = row.next<InstanceKey>();
              const auto execution = row.next<ExecutionNumber>();
              overdue.push_back({key, execution, row.next<EventId>()});
              if (row.next<BootTime>() <= set.tx().now) keys.push_back(key);
            }
          });
  set.ask(sql::kSessionIds, Parameters(set.ns()), [&](const Answer& answer) {
    for (int i = 0; i < answer.rows(); ++i) sessions.emplace_back(answer.bytes(i, 0));
  });
  set.ask(sql::kLapsedInSessions, Parameters(set.ns(), set.tx().now), [&](const Answer& answer) {
    for (int i = 0; i < answer.rows(); ++i) sessions.emplace_back(answer.bytes(i, 0));
  });
  set.want_all_workers();
  set.bring();
  set.want_instances(keys);
  set.want_sessions(sessions);
  set.want_activities(overdue);
  if (set.asked()) set.bring();
}

/// Drops rows whose time is over, and says when the next one's is.
class Remains {
 public:
  Remains(WorkingSet& set, const SweepRequest& request)
      : set_(set), max_(static_cast<std::int64_t>(request.max)) {}

  void drop(const Statement& drop, const Statement& next, Duration kept, std::uint64_t& count) {
    const BootTime now = set_.tx().now;
    set_.ask(drop, Parameters(set_.ns(), now - kept, max_),
             [&count](const Answer& answer) { count += answer.changed(); });
    due(next, kept);
  }
  void due(const Statement& next, Duration after = {}) {
    set_.ask(next, Parameters(set_.ns()), [this, after](const Answer& answer) {
      if (answer.rows() == 0 || answer.is_null(0, 0)) return;
      next_ = std::min(next_, rules::after(Row(answer, 0).next<BootTime>(), after));
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
  bring_overdue(set, request);
  Swept swept = rules::sweep(set.tx(), request, lapses);
  const BootTime by_rules = set.tx().space.next_sweep;
  set.write_back();
  Remains remains(set, request);
  remains.drop(sql::kDropEarly, sql::kNextEarly, {}, swept.early_dropped);
  remains.drop(sql::kDropRequests, sql::kNextRequest, rules::Request::kKept, swept.remains_removed);
  remains.drop(sql::kDropCancels, sql::kNextCancel, {}, swept.remains_removed);
  remains.due(sql::kNextOverdue);
  remains.drop_history();
  set.ask(sql::kForgetListeners, Parameters());
  set.bring();
  const BootTime next = std::min(by_rules, remains.next());
  set.clear();
  set.tx().space.next_sweep = next;
  swept.next_due = rules::left(next, set.tx().now);
  return swept;
}

}  // namespace holdfast::postgres_store
