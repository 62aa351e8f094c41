// World: a store with everything around it that a test plays: the clock, workers, clients.
//
// Verbs come in two forms. `start("order-1")` must succeed: an error ends the test, naming the line.
// `try_start(...)` gives the store's answer as it is: `EXPECT_EQ(answer(try_start(request)), "conflict")`.
#pragma once

#include "testkit/conformance/text.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/fault.hpp>
#include <holdfast/random.hpp>
#include <holdfast/store.hpp>
#include <holdfast/testing/conformance.hpp>

#include <concepts>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::testing::conformance {

class Worker;

/// The line of the test that called.
using Where = std::source_location;

/// Ends the test.
[[noreturn]] void give_up(const std::string& why, const Where& where);

template <class T>
T must(StoreResult<T> result, const Where& where = Where::current()) {
  if (!result) give_up("the store answered " + answer(result.error()) + ": " + result.error().message, where);
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

/// The answer to a call with one item.
template <class T>
StoreResult<T> only(std::vector<StoreResult<T>> results, const Where& where = Where::current()) {
  if (results.size() != 1) give_up(std::to_string(results.size()) + " answers to one item", where);
  return std::move(results.front());
}

template <class T>
std::span<const T> one(const T& item) {
  return {&item, 1};
}

inline Address event(std::string name) { return {Address::Kind::event, std::move(name)}; }
inline Address mailbox(std::string name) { return {Address::Kind::mailbox, std::move(name)}; }
inline Address session_news(std::string id) { return {Address::Kind::session, std::move(id)}; }

store::NewMessage delivery(Address address, std::string body);
store::NewMessage control(std::string body);
store::NewMessage request_to_cancel(std::string body);
store::NewMessage outcome(ExecutionNumber execution, EventId source, std::string body);

/// A worker that can run everything that tests name unless they say otherwise: orchestrations order and
/// child in version 1 and undecided, activities charge, ship and render, on the default queue.
store::NewWorker worker_info(std::string node);

/// The store starts empty, in the namespace "default", at ManualClock's time. All tokens follow from one
/// seed: two worlds in which the same happens have the same state.
class World {
 public:
  explicit World(const StoreUnderTest& under_test);
  /// Another namespace of the same database, with the same clock.
  World(const World& other, const std::string& ns);
  World& operator=(const World&) = delete;
  virtual ~World();

  [[nodiscard]] Store& store() const { return *store_; }
  /// A further store on the same data, as of another process.
  [[nodiscard]] std::shared_ptr<Store> another_handle() const;
  [[nodiscard]] const StoreUnderTest& under_test() const;
  /// How many rows.
  std::uint64_t damage(const Damage& damage) const;
  [[nodiscard]] FaultScript& faults() const;

  // ---- time and chance

  [[nodiscard]] ManualClock& clock() const;
  void pass(Duration time) const { clock().advance(time); }
  /// Any thread may draw.
  template <class TokenType>
  TokenType token() const {
    const NodeToken drawn = draw();
    return {drawn.high, drawn.low};
  }
  /// Events of an execution are numbered as they are asked for. Any thread may ask.
  [[nodiscard]] EventId next_event(InstanceKey key, ExecutionNumber execution) const;

  // ---- workers

  Worker join(const std::string& node, Where where = Where::current());
  Worker join(const store::NewWorker& info, Where where = Where::current());

  // ---- clients

  /// Starts orchestration order, version 1, with the input "<instance> input".
  [[nodiscard]] store::StartRequest start_of(const std::string& instance) const;
  StoreResult<store::StartAnswer> try_start(const store::StartRequest& request) const;
  store::StartAnswer start(const store::StartRequest& request, Where where = Where::current()) const;
  InstanceKey start(const std::string& instance, Where where = Where::current()) const;

  [[nodiscard]] store::ClientMessage message_to(std::string instance, store::NewMessage message) const;
  StoreResult<InstanceKey> try_send(const store::ClientMessage& message) const;
  InstanceKey send(const store::ClientMessage& message, Where where = Where::current()) const;
  InstanceKey raise(const std::string& instance, const std::string& event_name, const std::string& body,
                    Where where = Where::current()) const;
  InstanceKey post(const std::string& instance, const std::string& mailbox_name, const std::string& body,
                   Where where = Where::current()) const;
  InstanceKey tell(const std::string& instance, const std::string& control_body,
                   Where where = Where::current()) const;

  StoreResult<InstanceKey> try_suspend(const std::string& instance) const;
  StoreResult<InstanceKey> try_resume(const std::string& instance) const;
  InstanceKey suspend(const std::string& instance, Where where = Where::current()) const;
  InstanceKey resume(const std::string& instance, Where where = Where::current()) const;

  store::InstanceView find(const std::string& instance, Where where = Where::current()) const;
  store::InstanceDetail describe(const std::string& instance, Where where = Where::current()) const;
  Texts list(const store::InstanceFilter& filter = {}, Where where = Where::current()) const;

  /// Unless the request says otherwise, workers never go stale: tests don't have to refresh theirs.
  store::Swept sweep(const store::SweepRequest& request = {.worker_stale_after = std::chrono::years(10)},
                     Where where = Where::current()) const;

  // ---- looking inside

  store::StoreState state(Where where = Where::current()) const;
  store::InstanceRow row(const std::string& instance, Where where = Where::current()) const;
  std::vector<store::ActivityRow> activities(Where where = Where::current()) const;
  store::SessionView session(const std::string& id, Where where = Where::current()) const;

  /// Whatever `act` does, the state afterwards is the one before.
  void changes_nothing(const std::invocable auto& act, Where where = Where::current()) const {
    const std::string before = text(state(where));
    act();
    expect_state(before, where);
  }
  void expect_state(const std::string& expected, Where where = Where::current()) const;

 private:
  struct Shared;
  [[nodiscard]] NodeToken draw() const;

  std::shared_ptr<Shared> shared_;
  std::string ns_;
  std::shared_ptr<Store> store_;
};

}  // namespace holdfast::testing::conformance
