// Rows and time.
#include "testkit/oracle/oracle.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::testing::oracle {

namespace {

template <class Rows, class Wanted>
auto* find_if(Rows& rows, Wanted wanted) {
  const auto found = std::find_if(rows.begin(), rows.end(), wanted);
  return found == rows.end() ? nullptr : &*found;
}

/// Whoever waits looks again at once.
class EagerListener final : public store::Listener {
 public:
  explicit EagerListener(store::WorkMask mask) : mask_(mask) {}
  store::Wake wait(BootTime /*deadline*/) override { return {.work = mask_, .any_instance = true}; }
  void interrupt() override {}
  void watch(InstanceKey /*key*/) override {}
  void unwatch(InstanceKey /*key*/) override {}

 private:
  store::WorkMask mask_;
};

}  // namespace

Oracle::Oracle(std::shared_ptr<Database> database, std::string ns, const Clock& clock)
    : database_(std::move(database)), ns_(std::move(ns)), clock_(clock) {}

std::unique_ptr<store::Listener> Oracle::listen(store::WorkMask mask, WorkerKey /*worker*/) {
  return std::make_unique<EagerListener>(mask);
}

BootTime Oracle::later(Duration by) const {
  return by > BootTime::max() - now() ? BootTime::max() : now() + by;
}

Duration Oracle::left(BootTime until) const {
  if (until == BootTime::max()) return never;
  return std::max(until - now(), Duration{});
}

WorkerRow* Oracle::find_worker(WorkerKey key) const {
  return find_if(rows().workers, [&](const WorkerRow& row) { return row.key == key; });
}

Instance* Oracle::find_instance(InstanceKey key) const {
  return find_if(rows().instances, [&](const Instance& row) { return row.key == key; });
}

Instance* Oracle::find_instance(std::string_view id) const {
  return find_if(rows().instances, [&](const Instance& row) { return row.id == id; });
}

Activity* Oracle::find_activity(const store::ActivityId& id) const {
  return find_if(rows().activities, [&](const Activity& row) { return row.id == id; });
}

Session* Oracle::find_session(std::string_view id) const {
  const auto found = rows().sessions.find(id);
  return found == rows().sessions.end() ? nullptr : &found->second;
}

}  // namespace holdfast::testing::oracle
