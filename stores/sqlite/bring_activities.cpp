// Activities and sessions on the way into the space. An activity of a session comes with the session, and a
// session with all its activities, so each finds its place beside the others.
#include "contract/rows.hpp"
#include "queue.hpp"
#include "stores/rules/sessions.hpp"
#include "stores/rules/setting_aside.hpp"
#include "working_set.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::sqlite_store {

using rules::Activity;
using rules::Instance;
using rules::Session;
using store::ActivityId;

namespace {

std::string row_of_kinds(std::int64_t number) { return "row " + std::to_string(number) + " of `kinds`"; }

}  // namespace

// ---- how they are written ------------------------------------------------------------------------

ActivityCodes WorkingSet::codes_of(const Activity& activity) {
  const Session* const session = activity.session ? space_.sessions.peek(*activity.session) : nullptr;
  const std::string requirements =
      session == nullptr ? std::string() : store::to_bytes(session->policy.requirements);
  return {.kind = link_.interned.kind_number(activity.queue, activity.name, requirements),
          .own_queue = !activity.own_queue.empty()};
}

std::int64_t WorkingSet::lane_of(const Activity& activity, std::int64_t kind) {
  if (!activity.session) return kind;
  const auto found = known_sessions_.find(*activity.session);
  if (found == known_sessions_.end()) return 0;
  return found->second.codes.open ? kind : -found->second.number;
}

std::optional<BootTime> WorkingSet::deadline_of(const Activity& activity) const {
  const BootTime deadline = activity.deadline();
  return deadline == rules::kNever ? std::nullopt : std::optional(deadline);
}

Image WorkingSet::image_of(const Activity& activity, const ActivityCodes& codes, bool queued) {
  Image image = Image::with_room();
  activity_columns(activity, codes, image);
  if (queued) {
    image("lane", lane_of(activity, codes.kind));
    image("deadline", deadline_of(activity));
  }
  return image;
}

SessionCodes WorkingSet::codes_of(const Session& session) {
  return {.open = !is_held(tx(), session),
          .policy = store::to_bytes(session.policy),
          .reclaim = session.policy.when_lost == store::SessionPolicy::WhenLost::reclaim,
          .on_record = session.policy.on_record,
          .saved_size = session.saved ? std::optional(session.saved->size) : std::nullopt};
}

// ---- activities ----------------------------------------------------------------------------------

void WorkingSet::read_activities(Cursor row, bool queued, std::vector<ReadActivity>& all) {
  while (row.next()) {
    RowReader reader(row);
    ReadActivity read{.known = {.queued = queued, .image = Image::with_room()}};
    Activity& activity = read.activity;
    activity.id.instance = reader.next<InstanceKey>();
    activity.id.execution = reader.next<ExecutionNumber>();
    activity.id.event = reader.next<EventId>();
    ActivityCodes codes;
    activity_columns(activity, codes, reader);
    activity.body = row->blob(reader.column());
    const Kind* const kind = link_.interned.kind(codes.kind);
    if (kind != nullptr) {
      activity.name = kind->name;
      activity.queue = kind->queue;
      if (codes.own_queue) activity.own_queue = kind->queue;
    }
    activity.lock.live = !queued;
    activity_columns(std::as_const(activity), std::as_const(codes), read.known.image);
    if (queued) {
      read.known.image("lane", row->int64(reader.column() + 1));
      read.known.image("deadline", deadline_of(activity));
    }
    if (kind == nullptr && writes()) rules::kind_is_missing(tx(), activity, row_of_kinds(codes.kind));
    all.push_back(std::move(read));
  }
}

void WorkingSet::take_activity(Activity activity) {
  const ActivityId id = activity.id;
  settle_and_place(tx(), space_.activities.bring(id, std::move(activity)));
}

// A session that is not here yet brings all its activities, these among them.
void WorkingSet::take_activities(std::vector<ReadActivity> all) {
  for (ReadActivity& read : all) {
    if (read.activity.session) session(*read.activity.session);
    const ActivityId id = read.activity.id;
    if (space_.activities.contains(id) || space_.activities.is_gone(id)) continue;
    own_rows_.insert_or_assign(id, std::move(read.known));
    take_activity(std::move(read.activity));
  }
}

// All activities of a pack come together, and stay together.
void WorkingSet::read_packs(Cursor row) {
  std::vector<std::pair<InstanceKey, std::vector<Activity>>> all;
  std::vector<std::pair<InstanceKey, std::string>> damaged;
  while (row.next()) {
    RowReader reader(row);
    const auto key = reader.next<InstanceKey>();
    if (packs_.contains(key)) continue;
    Pack pack;
    pack.execution = reader.next<ExecutionNumber>();
    pack.worker = reader.next<WorkerKey>();
    pack.token = reader.next<LockToken>();
    pack.until = reader.next<BootTime>();
    pack.session = reader.next<std::optional<std::string>>();
    pack.generation = reader.next<Generation>();
    const std::string_view bytes = row->blob(reader.column());
    const auto items = Pack::decode(bytes);
    if (!items) {
      damaged.emplace_back(key, bytes);
      continue;
    }
    std::vector<Activity>& activities = all.emplace_back(key, std::vector<Activity>()).second;
    for (const Pack::Item& item : *items) {
      const std::int64_t number = NumberRange(ns()).below + item.kind;
      Activity& activity = activities.emplace_back(pack.activity(key, item));
      if (const Kind* const kind = link_.interned.kind(number)) {
        activity.name = kind->name;
        activity.queue = kind->queue;
      } else if (writes()) {
        rules::kind_is_missing(tx(), activity, row_of_kinds(number));
      }
      pack.note(item.event);
    }
    packs_.insert_or_assign(key, std::move(pack));
  }
  if (writes()) {
    for (auto& [key, bytes] : damaged) give_up_pack(key, std::move(bytes));
  }
  for (auto& [key, activities] : all) {
    for (Activity& activity : activities) {
      if (activity.session) session(*activity.session);
      if (!space_.activities.contains(activity.id)) take_activity(std::move(activity));
    }
  }
}

void WorkingSet::give_up_pack(InstanceKey key, std::string bytes) {
  link_.run(sql().delete_pack, key);
  if (Instance* const of = find_instance(tx(), key))
    rules::activities_are_damaged(tx(), *of, std::move(bytes));
}

void WorkingSet::activity(const ActivityId& id) {
  if (space_.activities.contains(id) || space_.activities.is_gone(id)) return;
  if (space_.instances.contains(id.instance)) {
    const KnownInstance* const about = known(id.instance);
    if (about == nullptr || !about->in_table || about->activities_known) return;
  }
  std::vector<ReadActivity> read;
  read_activities(link_.rows(sql().running, id.instance, id.execution, id.event, ns()), false, read);
  if (read.empty())
    read_activities(link_.rows(sql().queued, id.instance, id.execution, id.event, ns()), true, read);
  if (read.empty()) {
    read_packs(link_.rows(sql().pack, id.instance, ns()));
  } else {
    take_activities(std::move(read));
  }
}

void WorkingSet::queued_activity(const ActivityId& id) {
  if (space_.activities.contains(id) || space_.activities.is_gone(id)) return;
  std::vector<ReadActivity> read;
  read_activities(link_.rows(sql().queued, id.instance, id.execution, id.event, ns()), true, read);
  take_activities(std::move(read));
}

void WorkingSet::activities_of(Instance& instance) {
  const InstanceKey key = instance.view.key;
  KnownInstance* const about = known(key);
  if (about == nullptr || !about->in_table || std::exchange(about->activities_known, true)) return;
  std::vector<ReadActivity> read;
  read_activities(link_.rows(sql().running_of, key, ns()), false, read);
  read_activities(link_.rows(sql().queued_of, key, ns()), true, read);
  take_activities(std::move(read));
  read_packs(link_.rows(sql().pack, key, ns()));
}

// Most often nobody uses priorities: then the queue need not be looked at, however full it is.
void WorkingSet::waiting_above(int priority, WorkerKey worker, const store::Abilities& abilities) {
  if (priority >= 0 && priority >= top_priority()) return;
  bring_candidates(*this, {.worker = worker, .abilities = abilities, .above = priority});
}

bool WorkingSet::is_anything_queued() {
  if (!anything_queued_) {
    Cursor row = link_.rows(sql().any_queued);
    anything_queued_ = row.next();
  }
  return *anything_queued_;
}

int WorkingSet::top_priority() {
  if (!top_priority_) {
    Cursor row = link_.rows(sql().top_priority);
    top_priority_ = row.next() ? row->integer(0) : 0;
  }
  return *top_priority_;
}

// ---- cancels -------------------------------------------------------------------------------------

void WorkingSet::take_cancels(Cursor row) {
  while (row.next()) {
    RowReader reader(row);
    rules::Cancel cancel;
    cancel.record.id.instance = reader.next<InstanceKey>();
    cancel.record.id.execution = reader.next<ExecutionNumber>();
    cancel.record.id.event = reader.next<EventId>();
    cancel.record.token = reader.next<LockToken>();
    rules::cancel_columns(cancel, reader);
    const std::pair place(cancel.record.id, cancel.record.token);
    if (space_.cancels.contains(place) || space_.cancels.is_gone(place)) continue;
    if (cancel.session) space_.stopping[*cancel.session].insert(place);
    cancels_in_table_.insert_or_assign(place, cancel.record.state);
    space_.cancels.bring(place, std::move(cancel));
  }
}

void WorkingSet::cancel(const ActivityId& id, LockToken token) {
  if (space_.cancels.contains(std::pair(id, token))) return;
  take_cancels(link_.rows(sql().cancel, id.instance, id.execution, id.event, token, ns()));
}

void WorkingSet::stopping(const std::string& session) {
  if (!asked_stopping_.insert(session).second) return;
  take_cancels(link_.rows(sql().stopping, ns(), session, parameter(tx().now)));
}

// ---- sessions ------------------------------------------------------------------------------------

void WorkingSet::session(std::string_view id) {
  if (space_.sessions.contains(id) || absent_sessions_.contains(id)) return;
  const std::string name(id);
  if (space_.sessions.is_gone(name)) return;  // it was removed a moment ago
  bool found = false;
  if (Cursor row = link_.rows(sql().session, ns(), id); row.next()) {
    found = true;
    RowReader reader(row);
    Session session;
    KnownSession about;
    session.id = name;
    about.number = reader.next<std::int64_t>();
    session_columns(session, about.codes, reader);
    if (about.codes.saved_size) session.saved = rules::SavedState{.size = *about.codes.saved_size};
    session_columns(std::as_const(session), std::as_const(about.codes), about.image);
    if (!store::from_bytes(about.codes.policy, session.policy)) {
      session.policy = {};
      if (writes()) rules::policy_is_damaged(tx(), session, about.codes.policy);
    }
    if (session.worker != WorkerKey{}) {
      if (!session.ended) space_.owned[session.worker].insert(name);
      if (session.ended && session.wanted) space_.untold[session.worker].insert(name);
    }
    known_sessions_.insert_or_assign(name, std::move(about));
    space_.sessions.bring(name, std::move(session));
    ++sessions_brought_;
  }
  if (!found) absent_sessions_.insert(name);
  std::vector<ReadActivity> read;
  read_activities(link_.rows(sql().running_in, id, ns()), false, read);
  read_activities(link_.rows(sql().queued_in, id, ns()), true, read);
  take_activities(std::move(read));
  read_packs(link_.rows(sql().packs_in, id, ns()));
}

void WorkingSet::visit_session(const std::string& id) {
  if (space_.sessions.contains(id)) return;
  visited_sessions_.insert(id);
  session(id);
}

rules::HeldElsewhere WorkingSet::held_elsewhere(WorkerKey worker) {
  // Those in the space may change. Once more of them are there, fewer are elsewhere.
  const auto [known, is_new] = held_elsewhere_.try_emplace(worker);
  if (!is_new && known->second.first == sessions_brought_) return known->second.second;
  known->second.first = sessions_brought_;
  rules::HeldElsewhere& held = known->second.second;
  held = {};
  for (Cursor row = link_.rows(sql().sessions_owned, worker, ns()); row.next();) {
    BootTime until;
    read_value(*row.operator->(), 1, until);
    if (until <= tx().now || space_.sessions.contains(row->text(0)) || space_.sessions.is_gone(row->text(0)))
      continue;
    ++held.count;
    held.first_end = std::min(held.first_end, until);
  }
  return held;
}

void WorkingSet::saved(const std::string& session) {
  Session& row = *space_.sessions.fill(session);
  if (!row.saved || row.saved->bytes) return;
  KnownSession& about = known_sessions_.find(session)->second;
  Cursor found = link_.rows(sql().saved, about.number);
  about.saved = found.next() ? std::string(found->blob(0)) : std::string();
  row.saved->bytes = about.saved;
}

// ---- what time alone has done --------------------------------------------------------------------

void WorkingSet::settle() {
  rules::settle(tx());
  let_turns_lapse();
  let_activities_lapse();
  let_sessions_lapse();
}

// Rows settle when they come into the space.
void WorkingSet::let_turns_lapse() {
  if (tx().now < horizons().turns) return;
  BootTime horizon = rules::kNever;
  std::vector<InstanceKey> over;
  for (Cursor row = link_.rows(sql().held_locks, ns()); row.next();) {
    RowReader reader(row);
    const auto key = reader.next<InstanceKey>();
    if (const auto until = reader.next<BootTime>(); until > tx().now) {
      horizon = std::min(horizon, until);
    } else {
      over.push_back(key);
    }
  }
  for (const InstanceKey key : over) instance(key);
  numbers().horizons.turns = horizon;
}

void WorkingSet::let_activities_lapse() {
  const std::int64_t now = parameter(tx().now);
  if (tx().now < horizons().activities) return;
  for (const ActivityId& id : ids_of(link_.rows(sql().running_until, now, ns()))) activity(id);
  for (const InstanceKey key : keys_of(link_.rows(sql().packs_until, now, ns())))
    read_packs(link_.rows(sql().pack, key, ns()));
  numbers().horizons.activities = time_of(link_.rows(sql().first_end_of_lock, now, ns()));
}

// Whether a session is open follows from its lease: that is seen when it is written.
void WorkingSet::let_sessions_lapse() {
  const std::int64_t now = parameter(tx().now);
  if (tx().now < horizons().sessions) return;
  for (const std::string& id : texts_of(link_.rows(sql().lapsed_leases, ns(), now)))
    static_cast<void>(find_session(tx(), id));
  numbers().horizons.sessions = time_of(link_.rows(sql().next_lapse, ns(), now));
}

}  // namespace holdfast::sqlite_store
