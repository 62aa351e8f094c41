#include "setting_aside.hpp"

#include "instances.hpp"
#include "placing.hpp"

#include <holdfast/detail/enum_names.hpp>

#include <utility>

namespace holdfast::rules {

namespace {

void keep(Transaction& tx, InstanceKey key, std::string what, std::string problem, std::string bytes) {
  tx.space.set_aside.push_back({.number = tx.numbers.next_set_aside(),
                                .key = key,
                                .what = std::move(what),
                                .problem = std::move(problem),
                                .bytes = std::move(bytes),
                                .at = tx.calendar});
}

}  // namespace

void set_aside(Transaction& tx, const Instance& instance, const Message& message) {
  keep(tx, instance.view.key,
       "message " + to_string(message.id) + " (" + std::string(detail::enum_name(message.kind)) + ")",
       "can't be decoded", encode_body(message.body));
}

void set_aside(Transaction& tx, const Activity& activity, const std::string& problem) {
  const ActivityId& id = activity.id;
  keep(tx, id.instance,
       "activity " + to_string(id.instance) + "/" + to_string(id.execution) + "/" + to_string(id.event) +
           " (" + activity.name + ")",
       problem, activity.body);
}

void park_damaged(Transaction& tx, Instance& instance, const std::string& problem) {
  if (has_ended(instance.view.status)) return;
  unplace(tx, instance);
  instance.lock = {};
  instance.seen = {};
  instance.ready_since.reset();
  instance.view.status = InstanceStatus::parked;
  instance.view.parked_because = problem;
  touch(tx, instance);
  place(tx, instance);
}

}  // namespace holdfast::rules
