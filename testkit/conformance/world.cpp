#include "testkit/conformance/world.hpp"

#include "base/mutex.hpp"
#include "testkit/conformance/worker.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace holdfast::testing::conformance {

using namespace holdfast::store;

void give_up(const std::string& why, const Where& where) {
  throw std::runtime_error(std::string(where.file_name()) + ":" + std::to_string(where.line()) + ": " + why);
}

NewMessage delivery(Address address, std::string body) {
  return {.kind = MessageKind::delivery, .address = std::move(address), .body = std::move(body)};
}
NewMessage control(std::string body) { return {.kind = MessageKind::control, .body = std::move(body)}; }
NewMessage outcome(ExecutionNumber execution, EventId source, std::string body) {
  return {.kind = MessageKind::outcome, .execution = execution, .source = source, .body = std::move(body)};
}
NewMessage request_to_cancel(std::string body) {
  return {.kind = MessageKind::cancel, .body = std::move(body)};
}

store::NewWorker worker_info(std::string node) {
  store::NewWorker info{.node = std::move(node), .build = 1, .host = "host", .pid = 7, .slots = 4};
  info.abilities.handlers = {"charge", "ship", "render"};
  info.code.orchestrations = {{"order", ""}, {"order", "1"}, {"child", ""}, {"child", "1"}};
  return info;
}

struct World::Shared {
  explicit Shared(const StoreUnderTest& store) : under_test(store), database(store.make()) {}

  const StoreUnderTest& under_test;
  ManualClock clock{};
  FaultScript faults{};
  Mutex mutex;
  SeededRandom random HOLDFAST_GUARDED_BY(mutex){1};
  std::map<std::pair<InstanceKey, ExecutionNumber>, std::uint64_t> events HOLDFAST_GUARDED_BY(mutex){};
  std::unique_ptr<StoreDatabase> database;
};

World::World(const StoreUnderTest& under_test)
    : shared_(std::make_shared<Shared>(under_test)), ns_("default"), store_(another_handle()) {}
World::World(const World& other, const std::string& ns)
    : shared_(other.shared_), ns_(ns), store_(another_handle()) {}
World::~World() = default;

std::shared_ptr<Store> World::another_handle() const {
  return shared_->database->open({.ns = ns_, .clock = &shared_->clock, .faults = &shared_->faults});
}
std::uint64_t World::damage(const Damage& damage) const { return shared_->database->damage(damage); }
const StoreUnderTest& World::under_test() const { return shared_->under_test; }
FaultScript& World::faults() const { return shared_->faults; }
ManualClock& World::clock() const { return shared_->clock; }
NodeToken World::draw() const {
  const MutexLock lock(shared_->mutex);
  return random_token<NodeToken>(shared_->random);
}
EventId World::next_event(InstanceKey key, ExecutionNumber execution) const {
  const MutexLock lock(shared_->mutex);
  return {++shared_->events[{key, execution}]};
}

// ---- workers ------------------------------------------------------------------------------------

Worker World::join(const std::string& node, Where where) { return join(worker_info(node), where); }
Worker World::join(const store::NewWorker& info, Where where) {
  return {*this, info, must(store().join(info), where)};
}

// ---- clients ------------------------------------------------------------------------------------

StartRequest World::start_of(const std::string& instance) const {
  return {.instance = instance,
          .code = {"order", "1"},
          .body = instance + " input",
          .request = token<RequestId>(),
          .fingerprint = token<Fingerprint>()};
}
StoreResult<StartAnswer> World::try_start(const StartRequest& request) const {
  return only(store().start(one(request)));
}
StartAnswer World::start(const StartRequest& request, Where where) const {
  return must(try_start(request), where);
}
InstanceKey World::start(const std::string& instance, Where where) const {
  return start(start_of(instance), where).key;
}

ClientMessage World::message_to(std::string instance, NewMessage message) const {
  return {.instance = std::move(instance), .message = std::move(message), .request = token<RequestId>()};
}
StoreResult<InstanceKey> World::try_send(const ClientMessage& message) const {
  return only(store().send(one(message)));
}
InstanceKey World::send(const ClientMessage& message, Where where) const {
  return must(try_send(message), where);
}
InstanceKey World::raise(const std::string& instance, const std::string& event_name, const std::string& body,
                         Where where) const {
  return send(message_to(instance, delivery(event(event_name), body)), where);
}
InstanceKey World::post(const std::string& instance, const std::string& mailbox_name, const std::string& body,
                        Where where) const {
  return send(message_to(instance, delivery(mailbox(mailbox_name), body)), where);
}
InstanceKey World::tell(const std::string& instance, const std::string& control_body, Where where) const {
  return send(message_to(instance, control(control_body)), where);
}

StoreResult<InstanceKey> World::try_suspend(const std::string& instance) const {
  return only(store().set_suspended(one(Suspension{.instance = instance, .request = token<RequestId>()})));
}
StoreResult<InstanceKey> World::try_resume(const std::string& instance) const {
  return only(store().set_suspended(
      one(Suspension{.instance = instance, .resume = true, .request = token<RequestId>()})));
}
InstanceKey World::suspend(const std::string& instance, Where where) const {
  return must(try_suspend(instance), where);
}
InstanceKey World::resume(const std::string& instance, Where where) const {
  return must(try_resume(instance), where);
}

InstanceView World::find(const std::string& instance, Where where) const {
  return must(store().find(instance), where);
}
InstanceDetail World::describe(const std::string& instance, Where where) const {
  return must(store().describe(instance), where);
}
Texts World::list(const InstanceFilter& filter, Where where) const {
  Texts names;
  const InstancePage page = must(store().list(filter), where);
  for (const InstanceView& view : page.instances) names.push_back(view.instance);
  return names;
}

Swept World::sweep(const SweepRequest& request, Where where) const {
  return must(store().sweep(request), where);
}

// ---- looking inside -----------------------------------------------------------------------------

StoreState World::state(Where where) const { return must(store().state(), where); }

InstanceRow World::row(const std::string& instance, Where where) const {
  StoreState all = state(where);
  const auto found =
      std::ranges::find(all.instances, instance, [](const InstanceRow& r) { return r.view.instance; });
  if (found != all.instances.end()) return std::move(*found);
  give_up("there is no instance " + instance, where);
}
std::vector<ActivityRow> World::activities(Where where) const { return state(where).activities; }

SessionView World::session(const std::string& id, Where where) const {
  return must(store().session(id, store::Saved::bytes), where);
}

void World::expect_state(const std::string& expected, Where where) const {
  const ::testing::ScopedTrace trace(where.file_name(), static_cast<int>(where.line()), "the state");
  EXPECT_EQ(text(state(where)), expected);
}

}  // namespace holdfast::testing::conformance
