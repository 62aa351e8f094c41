// The sweep: what is due, and what will be due next, comes into the space, and the rules do what is to be
// done with it.
#include "calls.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace holdfast::sqlite_store {

using store::SweepRequest;
using store::Swept;

namespace {

class Sweep {
 public:
  Sweep(WorkingSet& set, const SweepRequest& request) : set_(set), request_(request) {}

  Swept run(rules::Lapses& lapses) {
    set_.write_back();
    trim_session_log();  // first: what this sweep writes stays
    bring_activities();
    bring_sessions();
    bring_early();
    bring_requests();
    set_.take_cancels(rows(set_.sql().first_cancels, set_.ns(), one_more()));
    Swept swept = rules::sweep(set_.tx(), request_, lapses);
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
  /// Of each kind as many as are done at once, and the one that is due next.
  [[nodiscard]] std::size_t one_more() const {
    constexpr std::size_t kMost = std::numeric_limits<std::int32_t>::max();
    return std::min(request_.max, kMost) + 1;
  }
  void due_now() { next_ = set_.tx().now; }

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
    for (const auto& id : ids_of(rows(set_.sql().first_deadlines, set_.ns(), one_more()))) set_.activity(id);
    // Those that run fail once their locks are over.
    for (const auto& id : ids_of(rows(set_.sql().running_with_deadlines, set_.ns(), parameter(never))))
      set_.activity(id);
  }

  void bring_sessions() {
    for (const auto& id : texts_of(rows(set_.sql().session_ids, set_.ns(), std::string_view())))
      set_.session(id);
  }

  void bring_early() {
    for (const auto& name : texts_of(rows(set_.sql().first_early, set_.ns(), one_more()))) set_.early(name);
  }

  void bring_requests() {
    for (Cursor row = rows(set_.sql().first_requests, set_.ns(), one_more()); row.next();) {
      RowReader reader(row);
      const auto id = reader.next<RequestId>();
      const auto at = reader.next<BootTime>();
      set_.bring_request(id, at, reader.next<InstanceKey>());
    }
  }

  void drop_history() {
    removed_ += set_.link().change(set_.sql().drop_remaining_history, one_more() - 1);
    set_.link().run(set_.sql().drop_empty_remains);
    if (Cursor row = rows(set_.sql().any_remains); row.next()) due_now();
  }

  WorkingSet& set_;
  const SweepRequest& request_;
  std::uint64_t removed_ = 0;
  BootTime next_ = rules::kNever;
};

}  // namespace

Swept sweep(WorkingSet& set, const SweepRequest& request, rules::Lapses& lapses) {
  return Sweep(set, request).run(lapses);
}

}  // namespace holdfast::sqlite_store
