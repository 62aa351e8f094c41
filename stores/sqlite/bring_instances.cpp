// Instances, and what belongs to them, on the way into the space.
#include "contract/rows.hpp"
#include "stores/rules/setting_aside.hpp"
#include "working_set.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::sqlite_store {

using rules::Instance;
using store::Message;
using store::MessageKind;

// ---- instances -----------------------------------------------------------------------------------

void WorkingSet::instance(InstanceKey key) {
  if (space_.instances.contains(key)) return;
  take_instance(link_.rows(sql().instance, key, ns()));
}

void WorkingSet::instance(std::string_view id) {
  if (space_.keys.contains(id)) return;
  std::optional<InstanceKey> key;
  if (Cursor row = link_.rows(sql().key_by_name, ns(), id); row.next()) key = row->number<InstanceKey>(0);
  if (key) instance(*key);
}

std::string WorkingSet::name_of(InstanceKey key) {
  if (const Instance* const here = space_.instances.peek(key)) return here->view.instance;
  if (key != last_named_.first) {  // activities of one instance often come together
    Cursor row = link_.rows(sql().instance_name, key, ns());
    last_named_ = {key, row.next() ? std::string(row->text(0)) : std::string()};
  }
  return last_named_.second;
}

// The row without what belongs to the instance in other tables.
void WorkingSet::read_instance(Cursor& row, Instance& instance, KnownInstance& about) {
  RowReader reader(row);
  store::InstanceView& view = instance.view;
  about.in_table = true;
  view.key = reader.next<InstanceKey>();
  std::optional<InstanceKey> parent;
  birth_columns(instance, parent, reader);
  view.parent = parent.value_or(InstanceKey{});
  instance_columns(about.row, reader);
  const auto start = reader.next<MessageId>();
  std::string start_body;
  read_value(*row.operator->(), reader.column(), Bytes(start_body));
  reader.skip();
  about.last_segment = reader.next<TurnStamp>();
  HeldRow held;
  held_columns(held, reader);
  if (!held.token.empty()) about.held = held;

  show(about.row, view);
  if (const Route* const route = link_.interned.route(about.row.route))
    instance.terminating = route->terminating;
  instance.stamp = about.row.stamp.empty() ? about.last_segment : about.row.stamp;
  instance.seen = about.row.seen;
  instance.woken = about.row.woken;
  instance.not_before = about.row.not_before;
  instance.delivery = about.row.delivery;
  if (about.held) {
    instance.lock = {.worker = held.worker, .token = held.token, .until = held.until, .live = !held.lapsed};
    instance.delivery = held.stamp == instance.stamp ? held.delivery : 0;
  }
  if (!instance.lock.live) {
    instance.ready_since = about.row.ready_at;
    if (about.row.ready_at) about.ready.emplace(about.row.route, *about.row.ready_at);
  }
  if (start != MessageId{} && instance.stamp.empty()) {
    about.start_in_row = start;
    instance.messages.emplace(start, Message{.id = start,
                                             .kind = MessageKind::start,
                                             .execution = ExecutionNumber{1},
                                             .body = std::move(start_body)});
  }
}

void WorkingSet::take_instance(Cursor row) {
  if (!row.next()) return;
  const auto key = row->number<InstanceKey>(0);
  if (space_.instances.is_gone(key)) return;  // it was removed a moment ago

  Instance instance;
  KnownInstance about;
  read_instance(row, instance, about);
  if (!about.row.waits.empty() && !store::from_bytes(about.row.waits, instance.waits)) {
    instance.waits.clear();
    if (writes()) rules::waits_are_damaged(tx(), instance, about.row.waits);
  }
  if (!about.row.end_watchers.empty() && !store::from_bytes(about.row.end_watchers, instance.end_watchers)) {
    instance.end_watchers.clear();
    if (writes()) rules::end_watchers_are_damaged(tx(), instance, about.row.end_watchers);
  }
  if (!about.row.attributes.empty() && instance.view.attributes.empty() && writes())
    rules::attributes_are_damaged(tx(), instance, about.row.attributes);
  if (writes() && link_.interned.route(about.row.route) == nullptr)
    rules::code_is_missing(tx(), instance, "row " + std::to_string(about.row.route) + " of `routes`");

  known_.insert_or_assign(key.value, std::move(about));
  space_.keys.insert_or_assign(instance.view.instance, key);
  settle_and_place(tx(), space_.instances.bring(key, std::move(instance)));
}

// Whoever waits for an instance looks at it again and again: one statement, and nothing stays in the space.
std::optional<store::InstanceView> WorkingSet::look_at(InstanceKey key) {
  Cursor row = link_.rows(sql().look, key, ns());
  if (!row.next()) return std::nullopt;
  RowReader reader(row);
  Instance instance;
  store::InstanceView& view = instance.view;
  view.key = reader.next<InstanceKey>();
  std::optional<InstanceKey> parent;
  birth_columns(instance, parent, reader);
  view.parent = parent.value_or(InstanceKey{});
  InstanceRow in_table;
  instance_columns(in_table, reader);
  show(in_table, view);
  const int custom_status = reader.column();
  if (!row->is_null(custom_status)) {
    view.custom_status = row->blob(custom_status);
    view.custom_status_version = row->uint64(custom_status + 1);
  }
  return std::move(view);
}

void WorkingSet::show(const InstanceRow& row, store::InstanceView& view) {
  if (const Route* const route = link_.interned.route(row.route)) {
    view.code = route->code;
    view.build = route->build;
  }
  view.execution = row.execution;
  view.status = row.status;
  view.updated_at = row.updated_at;
  view.cancel_requested_at = row.cancel_requested_at;
  view.parked_because = row.parked_because;
  view.output = row.output;
  if (!row.attributes.empty() && !store::from_bytes(row.attributes, view.attributes)) view.attributes.clear();
}

void WorkingSet::bring_custom_status(Instance& instance) {
  Cursor row = link_.rows(sql().custom_status, instance.view.key);
  if (!row.next()) return;
  instance.view.custom_status = row->blob(0);
  instance.view.custom_status_version = row->uint64(1);
}

void WorkingSet::bring_all_of(Instance& instance) {
  const InstanceKey key = instance.view.key;
  bring_custom_status(instance);
  messages_after(instance, {});
  timers(instance);
  delayed(instance);
  activities_of(instance);
  sessions_of(instance);
  for (Cursor row = link_.rows(sql().values_of, key); row.next();) {
    instance.values.emplace(row->text(0), row->blob(1));
  }
  for (Cursor row = link_.rows(sql().history_of, key); row.next();) {
    RowReader reader(row);
    auto& execution = instance.history[reader.next<ExecutionNumber>()];
    execution.emplace(reader.next<EventId>(), row->blob(2));
  }
}

void WorkingSet::history_has_changed(Instance& instance) {
  KnownInstance& about = *known(instance.view.key);
  Cursor row = link_.rows(sql().last_stamp, instance.view.key);
  about.last_segment = row.next() ? row->token<TurnStamp>(0) : TurnStamp{};
}

// ---- messages ------------------------------------------------------------------------------------

void WorkingSet::read_messages(Instance& instance, Cursor row) {
  while (row.next()) {
    RowReader reader(row);
    Message message;
    message.id = reader.next<MessageId>();
    if (instance.messages.contains(message.id)) continue;
    std::string bytes;
    message_columns(message, Bytes(bytes), reader);
    message.body = rules::body_in_row(message.kind, std::move(bytes));
    instance.messages.emplace(message.id, std::move(message));
  }
}

// All that are no deliveries are few. Of deliveries there may be many: the first that it waits for is enough.
void WorkingSet::unread(Instance& instance) {
  const KnownInstance* const about = known(instance.view.key);
  if (about == nullptr || !about->in_table || about->all_after == MessageId{}) return;
  const InstanceKey key = instance.view.key;
  read_messages(instance, link_.rows(sql().messages_after, key, 0, 0));
  if (instance.view.status != store::InstanceStatus::running || instance.waits.empty()) return;
  std::optional<MessageId> awaited;
  for (Cursor row = link_.rows(sql().message_heads, key, instance.seen); row.next() && !awaited;) {
    const Address address{static_cast<Address::Kind>(row->integer(1)), std::string(row->text(2))};
    if (std::ranges::binary_search(instance.waits, address)) awaited = row->number<MessageId>(0);
  }
  if (awaited) message(instance, *awaited);
}

void WorkingSet::messages_after(Instance& instance, MessageId seen) {
  KnownInstance* const about = known(instance.view.key);
  if (about == nullptr || !about->in_table || (about->all_after && *about->all_after <= seen)) return;
  for (const int waits : {0, 1}) {
    read_messages(instance, link_.rows(sql().messages_after, instance.view.key, waits, seen));
  }
  about->all_after = seen;
}

void WorkingSet::message(Instance& instance, MessageId id) {
  const KnownInstance* const about = known(instance.view.key);
  if (about == nullptr || !about->in_table || instance.messages.contains(id)) return;
  for (const int waits : {0, 1}) {
    read_messages(instance, link_.rows(sql().message, instance.view.key, waits, id));
  }
}

void WorkingSet::consume(Instance& instance, MessageId id) {
  if (id.value > messages_written_) return;
  const InstanceKey key = instance.view.key;
  if (const auto found = instance.messages.find(id); found != instance.messages.end()) {
    link_.run(sql().delete_message, key, store::waits_for_code(found->second.kind), id);
  } else if (known(key)->all_after != MessageId{} && link_.change(sql().delete_message, key, 0, id) == 0) {
    link_.run(sql().delete_message, key, 1, id);
  }
}

// From the first commit on the instance has a stamp, and the start in its row counts no more. One that this
// commit doesn't consume becomes a message like any other.
void WorkingSet::settle_start(Instance& instance, const store::TurnCommit& commit) {
  const MessageId id = std::exchange(known(instance.view.key)->start_in_row, {});
  if (id == MessageId{}) return;
  const bool consumed = std::ranges::find(commit.consumed, id) != commit.consumed.end();
  if (consumed && !commit.stamp.empty()) return;
  insert_message(instance.view.key, instance.messages.at(id));
  link_.run(sql().forget_start, instance.view.key);
}

// What the turn says without being asked is written at once.
void WorkingSet::commits(Instance& instance, const store::TurnCommit& commit) {
  const InstanceKey key = instance.view.key;
  if (const KnownInstance* const about = known(key); about != nullptr && about->in_table) {
    const MessageId start = about->start_in_row;
    settle_start(instance, commit);
    for (const MessageId id : commit.set_aside) message(instance, id);
    for (const MessageId id : commit.consumed) {
      if (id != start) consume(instance, id);
    }
    for (const MessageId id : commit.set_aside) consume(instance, id);
  }
  for (const store::ValueChange& change : commit.values) {
    if (change.value) {
      link_.run(sql().set_value, key, change.key, Blob{*change.value});
    } else {
      link_.run(sql().remove_value, key, change.key);
    }
  }
  if (commit.custom_status) link_.run(sql().set_custom_status, key, Blob{*commit.custom_status});
}

// The stamp of a commit stands in its segment: most commits don't write the instance's row.
void WorkingSet::record(Instance& instance, const store::TurnCommit& commit) {
  const InstanceKey key = instance.view.key;
  link_.run(sql().insert_segment, key, instance.view.execution, commit.first_event, commit.stamp,
            Blob{commit.segment});
  known_[key.value].last_segment = commit.stamp;
}

bool WorkingSet::has_rows_of(const Instance& instance, const KnownInstance& about,
                             const std::function<bool(MessageKind)>& kinds) const {
  if (about.all_after != MessageId{}) return true;  // nobody knows
  return std::ranges::any_of(instance.messages, [&](const auto& entry) {
    return entry.first.value <= messages_written_ && kinds(entry.second.kind);
  });
}

void WorkingSet::drops(Instance& instance, Dropped dropped) {
  const KnownInstance* const about = known(instance.view.key);
  if (about == nullptr || !about->in_table) return;
  if (dropped == Dropped::all_but_starts) {
    delayed(instance);
    if (has_rows_of(instance, *about, rules::ends_with_instance))
      link_.run(sql().drop_unread, instance.view.key);
  } else if (has_rows_of(instance, *about, rules::belongs_to_execution)) {
    link_.run(sql().drop_answers, instance.view.key);
  }
}

// ---- what else belongs to an instance ------------------------------------------------------------

void WorkingSet::timers(Instance& instance) {
  KnownInstance* const about = known(instance.view.key);
  if (about == nullptr || !about->in_table || std::exchange(about->timers_known, true)) return;
  for (Cursor row = link_.rows(sql().timers_of, instance.view.key); row.next();) {
    RowReader reader(row);
    const auto event = reader.next<EventId>();
    const auto due = reader.next<CalendarTime>();
    bring_timer(space_, *about, instance, event, due);
  }
}

void WorkingSet::delayed(Instance& instance) {
  KnownInstance* const about = known(instance.view.key);
  if (about == nullptr || !about->in_table || std::exchange(about->delayed_known, true)) return;
  for (Cursor row = link_.rows(sql().delayed_of, instance.view.key); row.next();) {
    RowReader reader(row);
    const auto number = reader.next<std::uint64_t>();
    const rules::DelayedKey place{reader.next<BootTime>(), number};
    rules::DelayedMessage message{.key = instance.view.key};
    message_columns(message.message, Bytes(message.message.body), reader);
    bring_delayed(space_, *about, instance, place, std::move(message));
  }
}

void WorkingSet::value(Instance& instance, const std::string& key) {
  const KnownInstance* const about = known(instance.view.key);
  if (about == nullptr || !about->in_table || instance.values.contains(key)) return;
  Cursor row = link_.rows(sql().value, instance.view.key, key);
  if (row.next()) instance.values.emplace(key, row->blob(0));
}

void WorkingSet::sessions_of(Instance& instance) {
  KnownInstance* const about = known(instance.view.key);
  if (about == nullptr || !about->in_table || std::exchange(about->sessions_known, true)) return;
  const InstanceKey key = instance.view.key;
  for (const std::string& id : texts_of(link_.rows(sql().sessions_opened_by, key))) {
    session(id);
    instance.opened.insert(id);
  }
  for (Cursor row = link_.rows(sql().watched_by, key); row.next();) {
    bring_watch(space_, *about, instance, std::string(row->text(0)));
  }
}

void WorkingSet::watchers(const std::string& session) {
  if (!asked_watchers_.insert(session).second) return;
  for (const InstanceKey key : keys_of(link_.rows(sql().watchers, ns(), session))) {
    instance(key);
    Instance* const watcher = space_.instances.fill(key);
    // One that has forgotten it in this transaction is not asked again.
    if (watcher == nullptr) continue;
    if (known(key)->watched.contains(session) && !watcher->watched.contains(session)) continue;
    bring_watch(space_, *known(key), *watcher, session);
  }
}

}  // namespace holdfast::sqlite_store
