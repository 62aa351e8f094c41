// The sweep: what is due comes into the space, and the rules do what is to be done with it. Of the rest the
// tables say when the first will be due.
#include "calls.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::sqlite_store {

using store::SweepRequest;
using store::Swept;

namespace {

class Sweep {
 public:
  Sweep(WorkingSet& set, const SweepRequest& request, rules::Lapses& lapses)
      : set_(set), request_(request), lapses_(lapses) {}

  Swept run() {
    set_.write_back();
    trim_session_log();  // first: what this sweep writes stays
    bring_activities();
    bring_sessions();
    bring_early();
    bring_requests();
    bring_cancels();
    Swept swept = rules::sweep(set_.tx(), request_, lapses_);
    drop_history();
    swept.remains_removed += removed_;
    rules::Space& space = set_.space();
    space.next_sweep = std::min(space.next_sweep, next_);
    swept.next_due = left(space.next_sweep, set_.tx().now);
    return swept;
  }

 private:
  template <class... Values>
  Cursor rows(Query& query, const Values&... values) {
    return set_.link().rows(query, values...);
  }
  /// Of each kind as many as are done at once, and one more: then there is more to do.
  [[nodiscard]] std::size_t one_more() const {
    constexpr std::size_t kMost = std::numeric_limits<std::int32_t>::max();
    return std::min(request_.max, kMost) + 1;
  }
  void due_now() { next_ = set_.tx().now; }
  void due_at(BootTime moment) { next_ = std::min(next_, moment); }
  [[nodiscard]] std::int64_t now() { return parameter(set_.tx().now); }

  /// From its beginning, so that what is left of a session's story is its end.
  void trim_session_log() {
    if (request_.session_log_retention == never) return;
    const CalendarTime until = set_.tx().calendar - request_.session_log_retention;
    const std::uint64_t lines =
        set_.link().change(set_.sql().trim_session_log, set_.ns(), parameter(until), one_more() - 1);
    removed_ += lines;
    if (lines == request_.max) due_now();
  }

  void bring_activities() {
    set_.bring_all_workers();
    for (const auto& id : ids_of(rows(set_.sql().overdue, set_.ns(), now(), one_more()))) set_.activity(id);
    due_at(time_of(rows(set_.sql().next_deadline, set_.ns(), now())));
    // Those that run fail once their locks are over.
    for (Cursor row = rows(set_.sql().running_with_deadlines, set_.ns(), parameter(never)); row.next();) {
      RowReader reader(row);
      rules::Activity lapsed;
      lapsed.ready_since = reader.next<BootTime>();
      lapsed.start_within = reader.next<Duration>();
      lapsed.total_until = reader.next<BootTime>();
      lapsed.session_over = reader.next<std::optional<CancelReason>>();
      due_at(std::max(lapsed.ready_since, lapsed.deadline()));
    }
  }

  /// Late ones are seen by each sweep, however many they are. Of the others each may be expired or removed,
  /// or its lease is ended.
  void bring_sessions() {
    const std::size_t most = 3 * one_more();
    const std::string staying = workers_that_stay();
    std::vector<std::string> due;
    std::size_t others = 0;
    for (Cursor row = sessions_by(set_.sql().due_sessions, staying); row.next();) {
      if (!row->truth(1) && ++others > most) {
        due_now();
      } else {
        due.emplace_back(row->text(0));
      }
    }
    if (Cursor row = sessions_by(set_.sql().next_sessions); row.next()) {
      RowReader reader(row);
      for (const Duration kept : rules::kept_in_sweep(request_)) {
        if (const auto since = reader.next<std::optional<BootTime>>()) due_at(after(*since, kept));
      }
    }
    for (const std::string& id : due) set_.visit_session(id);
  }

  /// As JSON.
  std::string workers_that_stay() {
    std::string all;
    for (const WorkerKey key : rules::staying(set_.tx(), request_, lapses_)) {
      all += (all.empty() ? "[" : ", ") + std::to_string(key.value);
    }
    return all.empty() ? "[]" : all + "]";
  }

  template <class... More>
  Cursor sessions_by(Query& query, const More&... more) {
    const Duration state = request_.session_state_retention;
    const Duration record = request_.session_record_retention;
    return rows(query, set_.ns(), now(), kept_until(state), kept_until(record),
                kept_until(std::max(state, record)), std::string_view(more)...);
  }
  [[nodiscard]] std::int64_t kept_until(Duration kept) {
    return parameter(rules::kept_until(set_.tx().now, kept));
  }

  void bring_early() {
    for (const auto& name : texts_of(rows(set_.sql().due_early, set_.ns(), now(), one_more())))
      set_.early(name);
    due_at(time_of(rows(set_.sql().next_early, set_.ns(), now())));
  }

  void bring_requests() {
    const std::int64_t until = kept_until(request_.request_retention);
    for (Cursor row = rows(set_.sql().due_requests, set_.ns(), until, one_more()); row.next();) {
      RowReader reader(row);
      const auto id = reader.next<RequestId>();
      const auto at = reader.next<BootTime>();
      set_.bring_request(id, at, reader.next<InstanceKey>());
    }
    due_at(after(time_of(rows(set_.sql().next_request, set_.ns(), until)), request_.request_retention));
  }

  void bring_cancels() {
    set_.take_cancels(rows(set_.sql().due_cancels, set_.ns(), now(), one_more()));
    due_at(time_of(rows(set_.sql().next_cancel, set_.ns(), now())));
  }

  void drop_history() {
    removed_ += set_.link().change(set_.sql().drop_remaining_history, one_more() - 1);
    set_.link().run(set_.sql().drop_empty_remains);
    if (Cursor row = rows(set_.sql().any_remains); row.next()) due_now();
  }

  WorkingSet& set_;
  const SweepRequest& request_;
  rules::Lapses& lapses_;
  std::uint64_t removed_ = 0;
  BootTime next_ = rules::kNever;
};

}  // namespace

Swept sweep(WorkingSet& set, const SweepRequest& request, rules::Lapses& lapses) {
  return Sweep(set, request, lapses).run();
}

}  // namespace holdfast::sqlite_store
