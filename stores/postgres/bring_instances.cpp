// Instances, and what belongs to them, on the way into the space.
#include "contract/rows.hpp"
#include "rows.hpp"
#include "statements.hpp"
#include "stores/rules/in_sql.hpp"
#include "stores/rules/setting_aside.hpp"
#include "working_set.hpp"

#include <utility>

namespace holdfast::postgres_store {

using rules::Instance;
using store::Message;
using store::MessageKind;

// ---- instances -----------------------------------------------------------------------------------

void WorkingSet::want_instances(std::vector<InstanceKey> keys, std::vector<std::string> names) {
  std::erase_if(keys, [&](InstanceKey key) { return !asked_instances_.insert(key).second; });
  std::erase_if(names, [&](const std::string& name) {
    return space_.keys.contains(name) || !asked_names_.insert(name).second;
  });
  if (knows_everything_ || (keys.empty() && names.empty())) return;
  waited_for_.instances.insert(keys.begin(), keys.end());
  waited_for_.names.insert(names.begin(), names.end());
  const Take take = [this](const Answer& answer) { take_instances(answer); };
  const Take take_locked = [this](const Answer& answer) { take_instances(answer, Versions::come_last); };
  if (names.empty() && writes()) {
    ask(sql::kInstances, Parameters(ns()).add_all(keys), take_locked);
  } else if (writes()) {
    ask(sql::kInstancesByName, Parameters(ns()).add_all(keys).add_all(names), take_locked);
  } else {
    if (!keys.empty()) ask(sql::kReadInstances, Parameters(ns()).add_all(keys), take);
    ask(sql::kReadInstancesByName, Parameters(ns()).add_all(names), take);
  }
}

void WorkingSet::want_free_instances(const std::vector<InstanceKey>& keys) {
  std::vector<InstanceKey> missing;
  for (const InstanceKey key : keys) {
    if (!asked_instances_.contains(key)) missing.push_back(key);
  }
  if (missing.empty()) return;
  ask(sql::kInstancesNow, Parameters(ns()).add_all(missing),
      [this](const Answer& answer) { take_instances(answer, Versions::come_last); });
}

// What is kept of one that nobody has written since is true.
bool WorkingSet::take_kept(InstanceKey key, RowVersion version) {
  const KeptInstance* const kept = link_.kept.find(key);
  if (kept == nullptr) return false;
  if (kept->version != version) {
    link_.kept.forget(key);
    return false;
  }
  place_kept(link_.kept.take(key), true);
  return true;
}

void WorkingSet::take_instances(const Answer& answer, Versions versions) {
  static const int version_at = table::instances().size();
  for (int i = 0; i < answer.rows(); ++i) {
    const auto key = Row(answer, i).next<InstanceKey>();
    asked_instances_.insert(key);
    // A row comes once: who was deleted in this transaction still stands in the table.
    if (known(key).read) continue;
    if (versions == Versions::come_last &&
        take_kept(key, {static_cast<std::uint32_t>(answer.integer(i, version_at))})) {
      continue;
    }
    Instance& instance = space_.instances[key];
    store::InstanceView& view = instance.view;
    InstanceCodes codes;
    ColumnReader row(answer, i);
    birth_columns(instance, row);
    turn_columns(instance, codes, row);
    state_columns(instance, codes, row);
    const Route* const code = route(codes.route);
    if (code != nullptr) {
      view.code = code->code;
      view.build = code->build;
      instance.terminating = code->terminating;
    }
    if (!instance.lock.live) instance.ready_since = codes.due_at;
    // Nothing belongs to it before its first turn but messages.
    Known& about = known(key);
    if (instance.stamp.empty()) {
      about.activities_known = about.timers_known = about.sessions_known = true;
    }
    const bool damaged = !codes.waits.empty() && !store::from_bytes(codes.waits, instance.waits);
    if (damaged) instance.waits.clear();
    const bool lost_watchers =
        !codes.end_watchers.empty() && !store::from_bytes(codes.end_watchers, instance.end_watchers);
    if (lost_watchers) instance.end_watchers.clear();
    const bool lost_attributes =
        !codes.attributes.empty() && !store::from_bytes(codes.attributes, view.attributes);
    if (lost_attributes) view.attributes.clear();
    space_.keys.emplace(view.instance, key);
    about.read = read_row(instance, damaged || lost_watchers || lost_attributes ? codes : codes_of(instance));
    if (damaged && writes()) rules::waits_are_damaged(tx(), instance, std::move(codes.waits));
    if (lost_watchers && writes())
      rules::end_watchers_are_damaged(tx(), instance, std::move(codes.end_watchers));
    if (lost_attributes && writes()) {
      about.attributes_lost = true;
      about.attributes.emplace();
      rules::attributes_are_damaged(tx(), instance, std::move(codes.attributes));
    }
    if (code == nullptr && writes())
      rules::code_is_missing(tx(), instance, "row " + std::to_string(codes.route) + " of `routes`");
    came_instances_.push_back(key);
  }
}

void WorkingSet::instance(InstanceKey key) {
  if (asked_instances_.contains(key) || space_.instances.contains(key)) return;
  want_instances({key});
  if (asked()) bring();
}

void WorkingSet::instance(std::string_view id) {
  if (space_.keys.contains(id) || asked_names_.contains(id)) return;
  want_instances({}, {std::string(id)});
  if (asked()) bring();
}

void WorkingSet::want_names(const std::vector<std::string>& names) {
  std::vector<std::string> missing;
  for (const std::string& name : names) {
    if (reserved_.insert(name).second) missing.push_back(name);
  }
  waited_for_.reserved.insert(missing.begin(), missing.end());
  if (!missing.empty()) ask(sql::kReserve, Parameters(ns()).add_all(missing));
}

// Who did so before has committed by now: what was not there may be.
void WorkingSet::reserve(std::string_view id) {
  if (space_.keys.contains(id) || reserved_.contains(id)) return;
  want_names({std::string(id)});
  if (const auto found = asked_names_.find(id); found != asked_names_.end()) asked_names_.erase(found);
  if (const auto found = asked_early_.find(id); found != asked_early_.end()) asked_early_.erase(found);
  std::erase_if(asked_requests_, [this](RequestId request) { return !read_requests_.contains(request); });
  want_instances({}, {std::string(id)});
  bring();
}

std::string WorkingSet::name_of(InstanceKey key) {
  if (const auto found = space_.instances.find(key); found != space_.instances.end()) {
    return found->second.view.instance;
  }
  want_names_of({key});
  if (asked()) bring();
  return names_[key];
}

void WorkingSet::want_names_of(const std::vector<InstanceKey>& keys) {
  std::vector<InstanceKey> missing;
  for (const InstanceKey key : keys) {
    if (!space_.instances.contains(key) && names_.emplace(key, "").second) missing.push_back(key);
  }
  if (missing.empty()) return;
  ask(sql::kInstanceNames, Parameters(ns()).add_all(missing), [this](const Answer& answer) {
    for (int i = 0; i < answer.rows(); ++i) {
      Row row(answer, i);
      const auto named = row.next<InstanceKey>();
      names_[named] = row.next<std::string>();
    }
  });
}

void WorkingSet::want_parked(InstanceKey after, std::size_t limit) {
  ask(sql::kParked, Parameters(ns(), after, static_cast<std::int64_t>(limit)),
      [this](const Answer& answer) { take_instances(answer); });
}

// ---- what belongs to an instance -----------------------------------------------------------------

bool WorkingSet::is_dropped(const Known& about, MessageKind kind, MessageId id) const {
  if (about.consumed.contains(id)) return true;
  if (about.drops_all_but_starts) return rules::ends_with_instance(kind);
  return about.drops_of_execution && rules::belongs_to_execution(kind);
}

void WorkingSet::take_messages(const Answer& answer) {
  for (int i = 0; i < answer.rows(); ++i) {
    ColumnReader row(answer, i);
    const auto key = row.next<InstanceKey>();
    const auto instance = space_.instances.find(key);
    if (instance == space_.instances.end()) continue;
    Message message;
    message.id = row.next<MessageId>();
    Known& about = known(key);
    if (about.messages.contains(message.id)) continue;
    std::string body;
    message_columns(message, body, row);
    if (is_dropped(about, message.kind, message.id)) continue;
    about.messages.insert(message.id);
    message.body = rules::body_in_row(message.kind, std::move(body));
    instance->second.messages.emplace(message.id, std::move(message));
  }
}

void WorkingSet::want_unread(const std::map<InstanceKey, MessageId>& seen) {
  Rows<InstanceKey, MessageId> rows;
  for (const auto& [key, after] : seen) {
    Known& about = known(key);
    if (about.waiting_after && *about.waiting_after <= after) continue;
    if (about.all_after == MessageId{}) continue;
    about.waiting_after = after;
    rows.add(key, after);
  }
  if (rows.empty()) return;
  ask(sql::kUnread, rows.parameters(), [this, seen](const Answer& answer) {
    take_messages(answer);
    for (const auto& [key, after] : seen) {
      if (!space_.instances.contains(key)) known(key).waiting_after.reset();
    }
  });
}

void WorkingSet::unread(Instance& instance) {
  if (knows_everything_) return;
  Known& about = known(instance.view.key);
  if (!about.read) return;  // it is new: all its messages are here
  if (about.all_after == MessageId{}) return;
  if (about.waiting_after && *about.waiting_after <= instance.seen) return;
  if (about.looked_for && *about.looked_for == instance.waits) return;
  about.looked_for = instance.waits;
  Rows<InstanceKey, Address::Kind, std::string> addresses;
  for (const Address& address : instance.waits) addresses.add(instance.view.key, address.kind, address.name);
  const Take take = [this](const Answer& answer) { take_messages(answer); };
  ask(sql::kWaking, Parameters(instance.view.key), take);
  if (!addresses.empty()) ask(sql::kLastFor, addresses.parameters(), take);
  bring();
}

void WorkingSet::want_messages_after(const std::vector<std::pair<InstanceKey, MessageId>>& wanted) {
  Rows<InstanceKey, MessageId> rows;
  for (const auto& [key, seen] : wanted) {
    Known& about = known(key);
    if (about.all_after && *about.all_after <= seen) continue;
    about.all_after = seen;
    rows.add(key, seen);
  }
  if (rows.empty() || knows_everything_) return;
  // One that did not come, since somebody else has it locked, may come later in this transaction.
  ask(sql::kMessagesAfter, rows.parameters(), [this, wanted](const Answer& answer) {
    take_messages(answer);
    for (const auto& [key, seen] : wanted) {
      if (!space_.instances.contains(key)) known(key).all_after.reset();
    }
  });
}

void WorkingSet::messages_after(Instance& instance, MessageId seen) {
  if (!known(instance.view.key).read) return;
  want_messages_after({{instance.view.key, seen}});
  if (asked()) bring();
}

void WorkingSet::message(Instance& instance, MessageId id) {
  known(instance.view.key).consumed.erase(id);
  if (instance.messages.contains(id) || knows_everything_) return;
  ask_now(sql::kMessage, Parameters(instance.view.key, id),
          [this](const Answer& answer) { take_messages(answer); });
}

void WorkingSet::want_timers(const std::vector<InstanceKey>& keys) {
  std::vector<InstanceKey> missing;
  for (const InstanceKey key : keys) {
    if (!std::exchange(known(key).timers_known, true)) missing.push_back(key);
  }
  if (missing.empty() || knows_everything_) return;
  ask(sql::kTimers, Parameters().add_all(missing), [this](const Answer& answer) { take_timers(answer); });
}

void WorkingSet::take_timers(const Answer& answer) {
  for (int i = 0; i < answer.rows(); ++i) {
    Row row(answer, i);
    const auto key = row.next<InstanceKey>();
    const auto event = row.next<EventId>();
    const auto due = row.next<CalendarTime>();
    const auto instance = space_.instances.find(key);
    if (instance != space_.instances.end()) bring_timer(space_, known(key), instance->second, event, due);
  }
}

void WorkingSet::timers(Instance& instance) {
  if (!known(instance.view.key).read) return;
  want_timers({instance.view.key});
  if (asked()) bring();
}

void WorkingSet::want_delayed(const std::vector<InstanceKey>& keys) {
  if (keys.empty()) return;
  ask(sql::kDelayed, Parameters().add_all(keys), [this](const Answer& answer) { take_delayed(answer); });
}

void WorkingSet::take_delayed(const Answer& answer) {
  for (int i = 0; i < answer.rows(); ++i) {
    ColumnReader row(answer, i);
    rules::DelayedKey place;
    rules::DelayedMessage delayed;
    place.second = row.next<std::uint64_t>();
    delayed_columns(delayed, place.first, row);
    const auto instance = space_.instances.find(delayed.key);
    if (instance == space_.instances.end()) continue;
    bring_delayed(space_, known(instance->first), instance->second, place, std::move(delayed));
  }
}

void WorkingSet::value(Instance& instance, const std::string& key) {
  Known& about = known(instance.view.key);
  if (knows_everything_ || !about.read || about.values.contains(key) || instance.values.contains(key)) return;
  ask_now(sql::kValue, Parameters(instance.view.key, Bytes{key}), [&](const Answer& answer) {
    if (answer.rows() > 0) instance.values.insert_or_assign(key, std::string(answer.bytes(0, 0)));
  });
}

void WorkingSet::commits(Instance& instance, const store::TurnCommit& commit) {
  Known& about = known(instance.view.key);
  about.consumed.insert(commit.consumed.begin(), commit.consumed.end());
  for (const store::ValueChange& change : commit.values)
    about.values.insert_or_assign(change.key, change.value);
  if (commit.custom_status) ++about.shown;
  if (!commit.attributes.empty() && !about.attributes) about.attributes = instance.view.attributes;
  std::set<std::string> started;
  for (const store::NewInstance& start : commit.starts) started.insert(start.instance);
  for (const std::string& name : started) reserve(name);
  want_keys_for(started);
  if (asked()) bring();
}

void WorkingSet::drops(Instance& instance, Dropped dropped) {
  Known& about = known(instance.view.key);
  (dropped == Dropped::all_but_starts ? about.drops_all_but_starts : about.drops_of_execution) = true;
}

void WorkingSet::take_custom_status(const Answer& answer) {
  for (int i = 0; i < answer.rows(); ++i) {
    Row row(answer, i);
    const auto instance = space_.instances.find(row.next<InstanceKey>());
    if (instance == space_.instances.end()) continue;
    instance->second.view.custom_status = row.next<std::string>();
    instance->second.view.custom_status_version = row.next<std::uint64_t>();
  }
}

void WorkingSet::want_early(const std::vector<std::string>& names) {
  std::vector<std::string> missing;
  for (const std::string& name : names) {
    if (asked_early_.insert(name).second) missing.push_back(name);
  }
  if (missing.empty() || knows_everything_) return;
  ask(sql::kEarly, Parameters(ns()).add_all(missing), [this](const Answer& answer) { take_early(answer); });
}

void WorkingSet::take_early(const Answer& answer) {
  for (int i = 0; i < answer.rows(); ++i) {
    std::string instance;
    rules::Early early;
    early_columns(instance, early, ColumnReader(answer, i));
    // Before those that this transaction has added.
    auto& messages = space_.early[instance];
    messages.insert(messages.begin() + static_cast<std::ptrdiff_t>(read_early_[instance]++),
                    std::move(early));
  }
}

void WorkingSet::early(std::string_view id) {
  if (asked_early_.contains(id)) return;
  want_early({std::string(id)});
  if (asked()) bring();
}

}  // namespace holdfast::postgres_store
