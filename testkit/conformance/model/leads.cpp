#include "testkit/conformance/model/leads.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::testing::model {

namespace {

using store::SessionReason;
using store::SessionStatus;
using store::SessionView;
using WhenLost = store::SessionPolicy::WhenLost;

bool fails(const SessionView& session) { return session.policy.when_lost == WhenLost::fail; }
bool is_owned(const SessionView& session) {
  return session.state == SessionStatus::active || session.state == SessionStatus::lapsed;
}

class Finder {
 public:
  Finder(Chooser& choose, On on) : choose_(choose), on_(on) {}

  std::vector<Lead> find() {
    if (choose_.sessions) {
      restarts();
      ends();
      late_renewals();
    }
    second_lives();
    return std::move(leads_);
  }

 private:
  /// One for all sessions of that kind, if there are any. `make` gets one of them.
  template <class Wanted, class Make>
  void add_for(std::size_t weight, Wanted wanted, Make make) {
    const std::vector<Sid> found = choose_.sessions_that(wanted);
    if (!found.empty()) leads_.push_back({weight, make(choose_.dice.pick(found))});
  }

  [[nodiscard]] Who owner_of(Sid id) { return choose_.worker(choose_.space.session(id)->worker); }
  [[nodiscard]] Node node_of(Sid id) const {
    const std::string& owner = choose_.space.session(id)->owner;
    return owner == name(Node::ada) ? Node::ada : owner == name(Node::bob) ? Node::bob : Node::cyd;
  }

  /// An owner's node is started again: the session is kept for it, then for anybody.
  void restarts() {
    add_for(
        3, [](const SessionView& session) { return is_owned(session) && !fails(session); },
        [this](Sid id) { return Join{.on = on_, .node = node_of(id)}; });
    const auto is_left = [](const SessionView& session) {
      return session.state == SessionStatus::unclaimed &&
             (session.kept_for > Duration{} || session.reason == SessionReason::owner_restarted);
    };
    add_for(8, is_left, [this](Sid id) {
      return AcquireSession{.on = on_, .who = choose_.worker(), .id = id, .policy = {.on_record = true}};
    });
  }

  /// An owner leaves what nobody else may have; and what ran when a session was closed runs beside the next
  /// one of that id, until that ends.
  void ends() {
    const auto is_private = [](const SessionView& session) {
      return is_owned(session) && fails(session) && session.policy.on_record && session.queued == 0 &&
             session.in_flight == 0;
    };
    add_for(3, is_private, [this](Sid id) { return Leave{.on = on_, .who = owner_of(id)}; });
    add_for(
        6,
        [&](const SessionView& session) {
          return is_private(session) && session.state == SessionStatus::lapsed && session.orphaned;
        },
        [this](Sid) { return Sweep{.on = on_, .who = choose_.worker(), .session_record_retention = 5s}; });
    add_for(
        3, [](const SessionView& session) { return is_owned(session) && session.in_flight > 0; },
        [this](Sid id) { return CloseSession{.on = on_, .id = id}; });
    add_for(
        12,
        [](const SessionView& session) {
          return session.state == SessionStatus::closed && session.in_flight > 0;
        },
        [this](Sid id) { return opening(id); });
    add_for(
        12,
        [](const SessionView& session) {
          return session.state == SessionStatus::unclaimed && session.in_flight > 0;
        },
        [this](Sid id) { return AcquireSession{.on = on_, .who = choose_.worker(), .id = id}; });
    add_for(
        12,
        [this](const SessionView& session) {
          return is_owned(session) && fails(session) && has_older(session);
        },
        [this](Sid id) { return FailSession{.on = on_, .who = owner_of(id), .id = id}; });
  }

  /// Begins it anew, if some instance has a turn.
  Operation opening(Sid id) {
    CommitTurns op{.on = on_};
    TurnSpec turn{.id = choose_.instance([](const auto& row) { return row.locked_by.has_value(); })};
    if (const store::InstanceRow* const row = choose_.space.row(turn.id))
      op.who = choose_.worker(row->locked_by);
    turn.open_sessions.push_back(
        {.id = id, .policy = {.when_lost = WhenLost::fail, .on_record = true}, .silent = true});
    turn.keep_lock = true;
    op.turns.push_back(std::move(turn));
    return op;
  }

  /// Something of it runs since before its owner began to hold it.
  [[nodiscard]] bool has_older(const SessionView& session) const {
    const auto& all = choose_.space.state().activities;
    return std::any_of(all.begin(), all.end(), [&](const store::ActivityRow& row) {
      return row.view.session == session.id && row.view.running && row.generation < session.held_since;
    });
  }

  /// A lock is over in a session with a limit: another item may have its place.
  void late_renewals() {
    const auto is_late = [this](const store::ActivityId& /*id*/, const store::ActivityRow* row) {
      if (row == nullptr || row->token.empty() || row->view.running) return false;
      const auto& all = choose_.space.state().sessions;
      return std::any_of(all.begin(), all.end(), [&](const SessionView& session) {
        return session.id == row->view.session && session.policy.max_concurrent > 0 && session.in_flight > 0;
      });
    };
    const std::vector<Made> late = choose_.activities(is_late);
    if (late.empty()) return;
    RenewActivities op{.on = on_, .who = choose_.worker()};
    op.activities.push_back({.activity = choose_.dice.pick(late)});
    leads_.push_back({12, std::move(op)});
  }

  /// Of an id whose instance has completed.
  void second_lives() {
    const std::vector<Id> completed = choose_.instances(
        [](const store::InstanceRow& row) { return row.view.status == store::InstanceStatus::completed; });
    if (completed.empty()) return;
    Start op{.on = on_};
    op.instances.push_back({.id = choose_.dice.pick(completed),
                            .reuse = choose_.dice.pick({Reuse::after_failure, Reuse::after_end})});
    leads_.push_back({4, std::move(op)});
  }

  Chooser& choose_;
  On on_;
  std::vector<Lead> leads_{};
};

}  // namespace

std::vector<Lead> leads(Chooser& choose, On on) { return Finder(choose, on).find(); }

}  // namespace holdfast::testing::model
