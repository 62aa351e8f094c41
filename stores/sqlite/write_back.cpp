// What the rules have changed goes back to the tables. Rows that were noted are compared with what stands
// there, and what differs is written. Sessions come before activities, whose lanes follow from them.
#include "contract/rows.hpp"
#include "stores/rules/listing.hpp"
#include "working_set.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace holdfast::sqlite_store {

using rules::Activity;
using rules::Instance;
using rules::Session;
using store::ActivityId;

namespace {

/// A short start stands in the row of its instance, until the first commit.
constexpr std::size_t kMaxStartInRow = 256;
/// More segments than this are left to sweeps, which remove them bit by bit.
constexpr std::size_t kMaxSegmentsAtOnce = 2000;

template <class Message>
void bind_message(Statement& statement, int first, const Message& message, std::string_view body) {
  message_columns(message, Blob{body}, ColumnBinder(statement, first));
}

}  // namespace

void WorkingSet::write_back() {
  write_sessions();
  write_activities();
  write_instances();
  write_cancels();
  write_workers();
  write_early();
  write_requests();
  write_logs();
}

// ---- instances -----------------------------------------------------------------------------------

// Those that are gone come first: a new one may have the same id.
void WorkingSet::write_instances() {
  if (!space_.instances.has_notes()) return;
  const auto notes = space_.instances.take_notes();
  for (const auto& note : notes) {
    if (note.row == nullptr) remove_instance(*note.key);
  }
  for (const auto& note : notes) {
    if (note.row != nullptr) write_instance(*note.row);
    used_instances_.push_back(*note.key);
  }
  delete_places();
  if (numbers_) {
    messages_written_ = numbers_->counters.messages;
    delayed_written_ = numbers_->counters.delayed;
  }
  space_.instances.end_notes();
}

void WorkingSet::remove_instance(InstanceKey key) {
  const auto found = known_.find(key.value);
  if (found == known_.end()) return;
  const KnownInstance& about = found->second;
  if (about.ready) left_places_.push_back({about.ready->first, about.ready->second, key});
  write_entries(key, about.row.attributes, {}, {});
  for (Query* const query :
       {&sql().unhold, &sql().delete_messages_of, &sql().delete_timers_of, &sql().delete_delayed_of,
        &sql().delete_values_of, &sql().delete_status_of, &sql().delete_watches_of, &sql().delete_instance}) {
    link_.run(*query, key);
  }
  bool is_long = false;
  if (Cursor row = link_.rows(sql().count_segments, key, kMaxSegmentsAtOnce + 1); row.next())
    is_long = row->uint64(0) > kMaxSegmentsAtOnce;
  if (is_long) {
    link_.run(sql().insert_remains, key);
    tx().sweep_by(tx().now);
  } else {
    link_.run(sql().delete_history_of, key);
  }
  known_.erase(found);
}

void WorkingSet::write_instance(Instance& instance) {
  const InstanceKey key = instance.view.key;
  KnownInstance& about = known_[key.value];
  InstanceRow row = row_of(instance, about);
  if (!about.in_table) {
    insert_instance(instance, about, row);
  } else if (row != about.row) {
    Statement& update = sql().update_instance.use(link_.connection, link_.faults);
    update.bind(1, key);
    update.bind(2, about.start_in_row != MessageId{});
    instance_columns(std::as_const(row), ColumnBinder(update, 3));
    run_bound(update);
  }
  write_entries(key, about.row.attributes, instance.view.attributes, row.attributes);
  write_lock(instance, about);
  write_place(instance, about, row.route);
  write_messages(instance, about);
  write_belongings(instance, about);
  about.row = std::move(row);
}

// What it is found by. The row says what stands in the index, unless it can't be read.
void WorkingSet::write_entries(InstanceKey key, const std::string& before,
                               const std::vector<Attribute>& attributes, const std::string& now) {
  if (before == now) return;
  std::vector<std::string> old;
  if (std::vector<Attribute> read; before.empty() || store::from_bytes(before, read)) {
    old = rules::entries_of(read);
  } else {
    link_.run(sql().delete_entries_of, ns(), key);
  }
  const std::vector<std::string> wanted = rules::entries_of(attributes);
  for (const std::string& entry : old) {
    if (!std::ranges::binary_search(wanted, entry)) link_.run(sql().delete_entry, ns(), Blob{entry}, key);
  }
  for (const std::string& entry : wanted) {
    if (!std::ranges::binary_search(old, entry)) link_.run(sql().insert_entry, ns(), Blob{entry}, key);
  }
}

// What is of no meaning stays as it is.
InstanceRow WorkingSet::row_of(const Instance& instance, const KnownInstance& about) {
  const store::InstanceView& view = instance.view;
  InstanceRow row{.route = about.row.route,
                  .execution = view.execution,
                  .status = view.status,
                  .delivery = instance.lock.token.empty() ? instance.delivery : about.row.delivery,
                  .ready_at = instance.lock.live ? about.row.ready_at : instance.ready_since,
                  .stamp = instance.stamp == about.last_segment ? TurnStamp{} : instance.stamp,
                  .waits = instance.waits.empty() ? std::string() : store::to_bytes(instance.waits),
                  .seen = instance.lock.live       ? about.row.seen
                          : instance.waits.empty() ? MessageId{}
                                                   : instance.seen,
                  .woken = instance.woken,
                  .not_before = instance.not_before,
                  .updated_at = view.updated_at,
                  .cancel_requested_at = view.cancel_requested_at,
                  .parked_because = view.parked_because,
                  .output = view.output,
                  .end_watchers = instance.end_watchers.empty() ? "" : store::to_bytes(instance.end_watchers),
                  .attributes = view.attributes.empty() ? "" : store::to_bytes(view.attributes)};
  const bool same_route = about.in_table && [&] {
    const Route* const route = link_.interned.route(about.row.route);
    return route != nullptr && route->build == view.build && route->code == view.code &&
           route->terminating == instance.terminating;
  }();
  if (!same_route) row.route = link_.interned.route_number(instance.route());
  return row;
}

void WorkingSet::insert_instance(const Instance& instance, KnownInstance& about, const InstanceRow& row) {
  const auto start = std::ranges::find_if(instance.messages, [](const auto& entry) {
    const store::Message& message = entry.second;
    return message.kind == store::MessageKind::start && message.execution == ExecutionNumber{1} &&
           std::get<std::string>(message.body).size() <= kMaxStartInRow;
  });
  const bool in_row = start != instance.messages.end() && instance.stamp.empty();
  if (in_row) about.start_in_row = start->first;
  Statement& insert = sql().insert_instance.use(link_.connection, link_.faults);
  insert.bind(1, instance.view.key);
  insert.bind(2, ns());
  if (in_row) {
    insert.bind(3, start->first);
    insert.bind(4, Blob{std::get<std::string>(start->second.body)});
  } else {
    insert.bind(3, nullptr);
    insert.bind(4, nullptr);
  }
  const InstanceKey parent = instance.view.parent;
  const auto parent_or_null = parent == InstanceKey{} ? std::nullopt : std::optional(parent);
  ColumnBinder birth(insert, 5);
  birth_columns(instance, parent_or_null, birth);
  instance_columns(row, ColumnBinder(insert, birth.position()));
  run_bound(insert);
  about.in_table = about.timers_known = about.delayed_known = true;
  about.activities_known = about.sessions_known = true;
  about.all_after = MessageId{};
}

// How often it was handed out counts until the next commit, which need not write it.
void WorkingSet::write_lock(const Instance& instance, KnownInstance& about) {
  const rules::Lock& lock = instance.lock;
  if (lock.token.empty()) {
    if (about.held) link_.run(sql().unhold, instance.view.key);
    about.held.reset();
    return;
  }
  HeldRow row{.worker = lock.worker,
              .token = lock.token,
              .until = lock.until,
              .delivery = instance.delivery,
              .stamp = instance.stamp,
              .lapsed = !lock.live};
  if (about.held && about.held->stamp != instance.stamp && instance.delivery == 0) {
    row.stamp = about.held->stamp;
    row.delivery = about.held->delivery;
  }
  if (about.held == row) return;
  Statement& hold = sql().hold.use(link_.connection, link_.faults);
  hold.bind(1, instance.view.key);
  hold.bind(2, ns());
  held_columns(std::as_const(row), ColumnBinder(hold, 3));
  run_bound(hold);
  about.held = row;
  if (lock.live) {
    BootTime& horizon = numbers().horizons.turns;
    horizon = std::min(horizon, lock.until);
  }
}

void WorkingSet::write_place(const Instance& instance, KnownInstance& about, std::int64_t route) {
  std::optional<std::pair<std::int64_t, BootTime>> place;
  if (!instance.lock.live && instance.ready_since) place.emplace(route, *instance.ready_since);
  if (place == about.ready) return;
  const InstanceKey key = instance.view.key;
  if (about.ready) left_places_.push_back({about.ready->first, about.ready->second, key});
  if (place) link_.run(sql().insert_ready, place->first, parameter(place->second), key);
  about.ready = place;
}

// What a fetch has taken stands at the beginning of its lane, and goes with one statement.
void WorkingSet::delete_places() {
  constexpr std::size_t kWorthCounting = 4;
  std::vector<ReadyPlace> places = std::exchange(left_places_, {});
  std::ranges::sort(places);
  for (auto begin = places.begin(); begin != places.end();) {
    const auto end =
        std::find_if(begin, places.end(), [&](const ReadyPlace& place) { return place.lane != begin->lane; });
    const ReadyPlace& last = *(end - 1);
    const auto count = static_cast<std::size_t>(end - begin);
    bool are_first = false;
    if (count >= kWorthCounting) {
      Cursor row = link_.rows(sql().count_ready_up_to, last.lane, parameter(last.at), last.key, count + 1);
      are_first = row.next() && row->uint64(0) == count;
    }
    if (are_first) link_.run(sql().delete_ready_up_to, last.lane, parameter(last.at), last.key);
    for (; begin != end; ++begin) {
      if (!are_first) link_.run(sql().delete_ready, begin->lane, parameter(begin->at), begin->key);
    }
  }
}

// ---- what belongs to instances -------------------------------------------------------------------

void WorkingSet::insert_message(InstanceKey key, const store::Message& message) {
  const auto* const bytes = std::get_if<std::string>(&message.body);
  const std::string encoded = bytes != nullptr ? std::string() : store::encode_body(message.body);
  Statement& insert = sql().insert_message.use(link_.connection, link_.faults);
  insert.bind(1, key);
  insert.bind(2, store::waits_for_code(message.kind));
  insert.bind(3, message.id);
  bind_message(insert, 4, message, bytes != nullptr ? *bytes : encoded);
  run_bound(insert);
}

// Those that went were told of: see commits() and drops().
void WorkingSet::write_messages(const Instance& instance, const KnownInstance& about) {
  for (auto next = instance.messages.upper_bound(MessageId{messages_written_});
       next != instance.messages.end(); ++next) {
    if (next->first != about.start_in_row) insert_message(instance.view.key, next->second);
  }
}

void WorkingSet::write_belongings(const Instance& instance, KnownInstance& about) {
  const InstanceKey key = instance.view.key;
  if (about.timers != instance.timers) {
    const auto remove = [&](EventId event) { link_.run(sql().delete_timer, key, event); };
    const auto set = [&](EventId event, CalendarTime due) {
      link_.run(sql().insert_timer, key, event, ns(), parameter(due));
    };
    rules::write_timers(about, &instance, remove, set);
    about.timers = instance.timers;
  }
  if (about.delayed != instance.delayed) {
    for (const rules::DelayedKey& place : about.delayed) {
      if (!instance.delayed.contains(place)) link_.run(sql().delete_delayed, place.second);
    }
    for (const rules::DelayedKey& place : instance.delayed) {
      if (place.second <= delayed_written_) continue;
      const store::NewMessage& message = space_.delayed.at(place).message;
      Statement& insert = sql().insert_delayed.use(link_.connection, link_.faults);
      insert.bind(1, place.second);
      insert.bind(2, key);
      insert.bind(3, ns());
      insert.bind(4, parameter(place.first));
      bind_message(insert, 5, message, message.body);
      run_bound(insert);
    }
    about.delayed = instance.delayed;
  }
  if (about.watched != instance.watched) {
    const auto remove = [&](const std::string& session) { link_.run(sql().unwatch, ns(), session, key); };
    const auto add = [&](const std::string& session) { link_.run(sql().watch, ns(), session, key); };
    rules::write_watches(about, &instance, remove, add);
    about.watched = instance.watched;
  }
}

// ---- activities ----------------------------------------------------------------------------------

void WorkingSet::write_activities() {
  if (!space_.activities.has_notes()) return;
  const auto notes = space_.activities.take_notes();
  for (auto begin = notes.begin(); begin != notes.end();) {
    const InstanceKey key = begin->key->instance;
    const auto end =
        std::find_if(begin, notes.end(), [&](const ActivityNote& note) { return note.key->instance != key; });
    write_activities_of(key, std::span(begin, end));
    begin = end;
  }
  for (const ActivityNote& note : notes) used_activities_.push_back(*note.key);
  space_.activities.end_notes();
}

// Those that the last pack of the instance has and that are as it says need not be written. When it has none
// left, new ones that are alike make the next.
void WorkingSet::write_activities_of(InstanceKey key, std::span<const ActivityNote> notes) {
  if (may_have_unknown_pack(key)) {
    // One that is new must not take its place.
    const bool any_new = std::ranges::any_of(notes, [&](const ActivityNote& note) {
      return note.row != nullptr && !own_rows_.contains(*note.key) && Pack::is_plain(*note.row);
    });
    if (any_new) read_packs(link_.rows(sql().pack, key, ns()));
  }
  const auto found = packs_.find(key);
  const Pack* const pack = found == packs_.end() ? nullptr : &found->second;
  std::vector<EventId>& left = left_pack_;
  std::vector<const Activity*>& plain = plain_;
  left.clear();
  plain.clear();
  for (const auto& [id, activity, is_made] : notes) {
    const bool packed = pack != nullptr && pack->contains(*id);
    if (packed && activity != nullptr && !is_made && pack->describes(*activity)) continue;
    if (packed) left.push_back(id->event);
    if (activity == nullptr) {
      delete_activity(*id);
      continue;
    }
    const auto own = own_rows_.find(*id);
    if (!packed && own == own_rows_.end() && Pack::is_plain(*activity)) {
      plain.push_back(activity);
      continue;
    }
    // One that takes the place of another has nothing of its row.
    if (is_made && own != own_rows_.end()) own->second.image = Image{};
    write_activity(*id, *activity);
  }
  if (pack != nullptr && left.size() < pack->events().size()) {
    if (!left.empty()) {
      Pack rest;
      for (const EventId event : pack->events()) {
        if (std::ranges::find(left, event) != left.end()) continue;
        const Activity& stays = *space_.activities.peek(ActivityId{key, pack->execution, event});
        if (rest.events().empty()) rest = Pack(stays);
        rest.add(stays, codes_of(stays).kind);
      }
      write_pack(key, std::move(rest));
    }
    for (const Activity* const activity : plain) write_activity(activity->id, *activity);
    return;
  }
  std::optional<Pack> next;
  for (const Activity* const activity : plain) {
    if (!next) next.emplace(*activity, std::move(spare_bytes_));
    if (next->describes(*activity) && next->has_room_for(*activity)) {
      next->add(*activity, codes_of(*activity).kind);
    } else {
      write_activity(activity->id, *activity);
    }
  }
  if (next && !next->events().empty()) {
    write_pack(key, *std::move(next));
  } else if (pack != nullptr) {
    link_.run(sql().delete_pack, key);
    packs_.erase(key);
  }
}

bool WorkingSet::may_have_unknown_pack(InstanceKey key) {
  if (packs_.contains(key)) return false;
  const KnownInstance* const about = known(key);
  return about != nullptr && about->in_table && !about->activities_known;
}

void WorkingSet::write_pack(InstanceKey key, Pack pack) {
  link_.run(sql().write_pack, key, ns(), pack.execution, pack.worker, pack.token, parameter(pack.until),
            pack.session, pack.generation, Blob{pack.bytes()});
  BootTime& horizon = numbers().horizons.activities;
  horizon = std::min(horizon, pack.until);
  spare_bytes_ = pack.take_bytes();
  packs_.insert_or_assign(key, std::move(pack));
}

void WorkingSet::delete_activity(const ActivityId& id) {
  const auto own = own_rows_.find(id);
  if (own == own_rows_.end()) return;
  link_.run(own->second.queued ? sql().delete_queued : sql().delete_running, id.instance, id.execution,
            id.event);
  if (own->second.queued && top_priority_ > 0) top_priority_.reset();  // it may have been the one
  own_rows_.erase(own);
}

void WorkingSet::write_activity(const ActivityId& id, const Activity& activity) {
  const bool queued = !activity.lock.live;
  const ActivityCodes codes = codes_of(activity);
  Image image = image_of(activity, codes, queued);
  const auto own = own_rows_.find(id);
  if (own != own_rows_.end()) {
    if (own->second.queued == queued && own->second.image == image) return;
    if (own->second.queued != queued) delete_activity(id);
  }
  Query& query = queued ? sql().write_queued : sql().write_running;
  Statement& write = query.use(link_.connection, link_.faults);
  write.bind(1, id.instance);
  write.bind(2, id.execution);
  write.bind(3, id.event);
  write.bind(4, Blob{activity.body});
  if (queued) {
    write.bind(5, lane_of(activity, codes.kind));
    write.bind(6, parameter(deadline_of(activity)));
  }
  activity_columns(activity, codes, ColumnBinder(write, 7));
  run_bound(write);
  own_rows_.insert_or_assign(id, KnownActivity{.queued = queued, .image = std::move(image)});
  if (queued) {
    anything_queued_ = true;
    if (top_priority_) top_priority_ = std::max(*top_priority_, activity.priority);
  } else {
    BootTime& horizon = numbers().horizons.activities;
    horizon = std::min(horizon, activity.lock.until);
  }
}

// ---- sessions ------------------------------------------------------------------------------------

void WorkingSet::write_sessions() {
  if (!space_.sessions.has_notes()) return;
  for (const auto& note : space_.sessions.take_notes()) {
    const std::string& id = *note.key;
    used_sessions_.push_back(id);
    if (note.row != nullptr) {
      write_session(id, *note.row);
    } else if (const auto about = known_sessions_.find(id); about != known_sessions_.end()) {
      link_.run(sql().delete_session, about->second.number);
      if (about->second.codes.saved_size) link_.run(sql().unsave, about->second.number);
      known_sessions_.erase(about);
    }
  }
  space_.sessions.end_notes();
}

void WorkingSet::write_session(const std::string& id, const Session& session) {
  const auto [found, is_new] = known_sessions_.try_emplace(id);
  KnownSession& about = found->second;
  SessionCodes codes = codes_of(session);
  Image image;
  session_columns(session, std::as_const(codes), image);
  if (is_new) {
    Statement& insert = sql().insert_session.use(link_.connection, link_.faults);
    const Statement::Reset reset(insert);
    insert.bind(1, ns());
    insert.bind(2, std::string_view(id));
    session_columns(session, std::as_const(codes), ColumnBinder(insert, 3));
    if (insert.step()) about.number = insert.int64(0);
    while (insert.step()) {
    }
  } else if (image != about.image) {
    Statement& update = sql().update_session.use(link_.connection, link_.faults);
    update.bind(1, about.number);
    session_columns(session, std::as_const(codes), ColumnBinder(update, 2));
    run_bound(update);
  }
  write_saved(session, about);
  // Where its activities stand follows from whether it is open, and from what it requires.
  if (is_new || codes.open != about.codes.open || codes.policy != about.codes.policy) {
    for (const ActivityId& activity : session.queued) static_cast<void>(space_.activities.at(activity));
  }
  if (!codes.open) {
    BootTime& horizon = numbers().horizons.sessions;
    horizon = std::min(horizon, session.lease_until);
  }
  about.codes = std::move(codes);
  about.image = std::move(image);
}

void WorkingSet::write_saved(const Session& session, KnownSession& about) {
  if (!session.saved) {
    if (about.codes.saved_size) link_.run(sql().unsave, about.number);
  } else if (session.saved->bytes && session.saved->bytes != about.saved) {
    link_.run(sql().save, about.number, Blob{*session.saved->bytes});
  }
  about.saved = session.saved ? session.saved->bytes : std::nullopt;
}

// ---- the rest ------------------------------------------------------------------------------------

void WorkingSet::write_cancels() {
  for (const auto& note : space_.cancels.take_notes()) {
    const auto& place = *note.key;
    const auto& [id, token] = place;
    const rules::Cancel* const cancel = note.row;
    if (cancel == nullptr) {
      link_.run(sql().delete_cancel, id.instance, id.execution, id.event, token);
      cancels_in_table_.erase(place);
      continue;
    }
    const auto [about, is_new] = cancels_in_table_.try_emplace(place, cancel->record.state);
    if (!is_new && std::exchange(about->second, cancel->record.state) == cancel->record.state) continue;
    Statement& write = sql().write_cancel.use(link_.connection, link_.faults);
    write.bind(1, id.instance);
    write.bind(2, id.execution);
    write.bind(3, id.event);
    write.bind(4, token);
    write.bind(5, ns());
    rules::cancel_columns(*cancel, ColumnBinder(write, 6));
    run_bound(write);
  }
  space_.cancels.end_notes();
}

void WorkingSet::write_workers() {
  for (const auto& note : space_.workers.take_notes()) {
    const WorkerKey key = *note.key;
    const auto about = known_workers_.find(key);
    const rules::Worker* const worker = note.row;
    if (worker == nullptr) {
      link_.run(sql().delete_worker, key);
      known_workers_.erase(key);
      continue;
    }
    Image image;
    rules::worker_columns(*worker, image);
    if (about == known_workers_.end()) {
      const std::string info = store::to_bytes(worker->info);
      Statement& insert = sql().insert_worker.use(link_.connection, link_.faults);
      insert.bind(1, key);
      insert.bind(2, ns());
      insert.bind(3, std::string_view(worker->info.node));
      insert.bind(4, Blob{info});
      rules::worker_columns(*worker, ColumnBinder(insert, 5));
      run_bound(insert);
    } else if (about->second != image) {
      Statement& update = sql().update_worker.use(link_.connection, link_.faults);
      update.bind(1, key);
      rules::worker_columns(*worker, ColumnBinder(update, 2));
      run_bound(update);
    }
    known_workers_.insert_or_assign(key, std::move(image));
  }
  space_.workers.end_notes();
}

void WorkingSet::write_early() {
  for (const auto& note : space_.early.take_notes()) {
    const std::string instance = *note.key;  // its row may leave
    std::vector<rules::Early>* const now = note.row;
    const bool was_read = early_in_table_.contains(instance);
    std::size_t& in_table = early_in_table_[instance];
    // One of those that were read has gone: the rest is written anew.
    const auto is_stored = [](const rules::Early& early) { return early.is_stored; };
    const auto stored = now == nullptr ? 0 : static_cast<std::size_t>(std::ranges::count_if(*now, is_stored));
    const bool anew = stored < in_table;
    if (anew) link_.run(sql().drop_early, ns(), instance);
    if (now != nullptr) {
      for (rules::Early& early : *now) {
        if (early.is_stored && !anew) continue;
        Statement& insert = sql().insert_early.use(link_.connection, link_.faults);
        insert.bind(1, ns());
        insert.bind(2, std::string_view(instance));
        insert.bind(3, parameter(early.until));
        insert.bind(4, parameter(early.visible));
        bind_message(insert, 5, early.message, early.message.body);
        run_bound(insert);
        early.is_stored = true;
        anything_early_ = true;
      }
    }
    in_table = now == nullptr ? 0 : now->size();
    if (!was_read) {
      // Others may stand before them.
      early_in_table_.erase(instance);
      space_.early.let_go(instance);
    }
  }
  space_.early.end_notes();
}

void WorkingSet::write_requests() {
  for (const auto& note : space_.requests.take_notes()) {
    const rules::Request* const request = note.row;
    if (request == nullptr) {
      link_.run(sql().forget_request, ns(), *note.key);
    } else {
      link_.run(sql().remember_request, ns(), *note.key, parameter(request->at), request->answer);
      anything_requested_ = true;
    }
  }
  space_.requests.end_notes();
}

void WorkingSet::write_logs() {
  for (const store::SessionLogEntry& entry : std::exchange(space_.session_log, {})) {
    Statement& insert = sql().insert_log.use(link_.connection, link_.faults);
    insert.bind(1, ns());
    numbered_log_columns(entry, ColumnBinder(insert, 2));
    run_bound(insert);
  }
  for (const store::SetAsideRow& row : std::exchange(space_.set_aside, {})) {
    Statement& insert = sql().insert_set_aside.use(link_.connection, link_.faults);
    insert.bind(1, ns());
    numbered_set_aside_columns(row, ColumnBinder(insert, 2));
    run_bound(insert);
  }
}

}  // namespace holdfast::sqlite_store
