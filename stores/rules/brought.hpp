// What stores with a database have in common when they bring rows into a space and write back what has
// changed: what belongs to instances.
#pragma once

#include "space.hpp"

#include <map>
#include <set>
#include <string>
#include <utility>

namespace holdfast::rules {

/// What belongs to an instance in the space as it stands in the tables, as far as it was read.
struct Belongings {
  std::map<EventId, CalendarTime> timers{};
  std::set<DelayedKey> delayed{};
  std::set<std::string> watched{};  ///< sessions
};

// ---- what is read finds its place ----------------------------------------------------------------

// It may be there already: what comes again changes nothing.

inline void bring_timer(Space& space, Belongings& in_tables, Instance& instance, EventId event,
                        CalendarTime due) {
  if (!in_tables.timers.emplace(event, due).second) return;
  instance.timers.emplace(event, due);
  space.timers.emplace(due, std::pair(instance.view.key, event));
}

inline void bring_delayed(Space& space, Belongings& in_tables, Instance& instance, DelayedKey place,
                          DelayedMessage message) {
  if (!in_tables.delayed.insert(place).second) return;
  instance.delayed.insert(place);
  space.delayed.emplace(place, std::move(message));
}

inline void bring_watch(Space& space, Belongings& in_tables, Instance& instance, const std::string& session) {
  in_tables.watched.insert(session);
  instance.watched.insert(session);
  space.watchers[session].insert(instance.view.key);
}

// ---- what has changed ----------------------------------------------------------------------------

// `now`: null when the instance is gone.

/// Calls `remove(event)` and `set(event, due)`.
template <class Remove, class Set>
void write_timers(const Belongings& in_tables, const Instance* now, Remove remove, Set set) {
  for (const auto& [event, due] : in_tables.timers) {
    if (now == nullptr || !now->timers.contains(event)) remove(event);
  }
  if (now == nullptr) return;
  for (const auto& [event, due] : now->timers) {
    const auto there = in_tables.timers.find(event);
    if (there == in_tables.timers.end() || there->second != due) set(event, due);
  }
}

/// Calls `remove(session)` and `add(session)`.
template <class Remove, class Add>
void write_watches(const Belongings& in_tables, const Instance* now, Remove remove, Add add) {
  for (const std::string& session : in_tables.watched) {
    if (now == nullptr || !now->watched.contains(session)) remove(session);
  }
  if (now == nullptr) return;
  for (const std::string& session : now->watched) {
    if (!in_tables.watched.contains(session)) add(session);
  }
}

}  // namespace holdfast::rules
