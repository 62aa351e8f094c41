#include "queue.hpp"

#include "stores/rules/admission.hpp"
#include "stores/rules/sessions.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <vector>

namespace holdfast::sqlite_store {
namespace {

using rules::Admission;
using store::ActivityId;

constexpr std::size_t kAtOnce = 32;

class Lanes {
 public:
  Lanes(WorkingSet& set, const Wanted& wanted) : set_(set), wanted_(wanted) {}

  BootTime bring() {
    for (const std::string& id : sessions()) set_.session(id);
    if (wanted_.owned_only) return next_;
    const NumberRange range(set_.ns());
    std::int64_t lane = range.below;
    while (const auto next = next_lane(lane, range.above)) {
      lane = *next;
      if (serves(lane)) bring_lane(lane);
    }
    return next_;
  }

 private:
  std::optional<std::int64_t> next_lane(std::int64_t after, std::int64_t before) {
    Cursor row = set_.link().rows(set_.sql().next_queue_lane, after, before);
    return row.next() ? std::optional(row->int64(0)) : std::nullopt;
  }

  /// What nobody knows comes to whoever looks: then it is set aside.
  bool serves(std::int64_t lane) {
    const Kind* const kind = set_.link().interned.kind(lane);
    if (kind == nullptr) return true;
    const store::Abilities& abilities = wanted_.abilities;
    return abilities.queues.serve(kind->queue) && abilities.handlers.contains(kind->name) &&
           std::ranges::all_of(kind->requirements, [&](const std::string& requirement) {
             return abilities.capabilities.contains(requirement);
           });
  }

  // Those that the worker owns, or those that have activities: whichever are fewer. Both are gone through
  // side by side until one list is complete.
  std::vector<std::string> sessions() {
    std::vector<std::string> owned;
    std::vector<std::int64_t> with_activities;
    Cursor session = set_.link().rows(set_.sql().sessions_owned, wanted_.worker, set_.ns());
    for (std::int64_t lane = std::numeric_limits<std::int64_t>::min();;) {
      if (!session.next()) return owned;
      owned.emplace_back(session->text(0));
      const auto next = next_lane(lane, 0);
      if (!next) return names_of(with_activities);
      lane = *next;
      with_activities.push_back(-lane);
    }
  }

  std::vector<std::string> names_of(const std::vector<std::int64_t>& numbers) {
    std::vector<std::string> names;
    for (const std::int64_t number : numbers) {
      Cursor row = set_.link().rows(set_.sql().session_id, number, set_.ns());
      if (row.next()) names.emplace_back(row->text(0));
    }
    return names;
  }

  void bring_lane(std::int64_t lane) {
    for (std::int64_t priority = std::numeric_limits<std::int64_t>::max();;) {
      {
        Cursor row = set_.link().rows(set_.sql().next_priority, lane, priority);
        if (!row.next()) return;
        priority = row->int64(0);
      }
      if (wanted_.above && priority <= *wanted_.above) return;
      bring_stream(lane, priority);
    }
  }

  struct Position {
    std::int64_t since = std::numeric_limits<std::int64_t>::min();
    ActivityId id{};
  };

  std::vector<Position> read(std::int64_t lane, std::int64_t priority, const Position& after) {
    std::vector<Position> found;
    for (Cursor row =
             set_.link().rows(set_.sql().queued_in_lane, lane, priority, parameter(set_.tx().now),
                              after.since, after.id.instance, after.id.execution, after.id.event, kAtOnce);
         row.next();) {
      found.push_back(
          {row->int64(0),
           {row->number<InstanceKey>(1), row->number<ExecutionNumber>(2), row->number<EventId>(3)}});
    }
    return found;
  }

  void bring_stream(std::int64_t lane, std::int64_t priority) {
    const std::int64_t now = parameter(set_.tx().now);
    next_ = std::min(next_, time_of(set_.link().rows(set_.sql().next_ready, lane, priority, now)));
    const Kind* const kind = set_.link().interned.kind(lane);
    const bool for_claims = kind != nullptr && kind->in_session;
    std::size_t admitted = 0;
    std::set<std::string> claimable;
    for (Position last;;) {
      const std::vector<Position> found = read(lane, priority, last);
      for (const Position& position : found) {
        set_.queued_activity(position.id);
        const rules::Activity* const activity = set_.space().activities.peek(position.id);
        if (activity == nullptr) continue;
        const Admission admission = admit(set_.tx(), wanted_.worker, wanted_.abilities, *activity);
        if (admission != Admission::no) ++admitted;
        if (admission == Admission::by_claim) claimable.insert(*activity->session);
        if (admitted > wanted_.max && (!for_claims || claimable.size() > claims())) return;
      }
      if (found.size() < kAtOnce) return;
      last = found.back();
    }
  }

  /// How many sessions make it certain that its share is all that it could claim.
  std::size_t claims() {
    if (claims_) return *claims_;
    const rules::Transaction& tx = set_.tx();
    const std::uint32_t held = sessions_held(tx, wanted_.worker);
    const std::uint32_t limit = wanted_.abilities.session_limit;
    const std::size_t room = std::min<std::size_t>(limit - std::min(held, limit), wanted_.max);
    const auto workers = static_cast<std::size_t>(
        std::ranges::count_if(tx.space.workers, [](const auto& entry) { return is_live(entry.second); }));
    claims_ = std::max<std::size_t>(workers, 1) * room;
    return *claims_;
  }

  WorkingSet& set_;
  const Wanted& wanted_;
  BootTime next_ = rules::kNever;
  std::optional<std::size_t> claims_{};
};

}  // namespace

BootTime bring_candidates(WorkingSet& set, const Wanted& wanted) {
  if (!set.is_anything_queued()) return rules::kNever;
  set.bring_all_workers();
  return Lanes(set, wanted).bring();
}

}  // namespace holdfast::sqlite_store
