// The history of instances as clients see it: in pages, of former executions, and as files.
#include "stores_test.hpp"

#include <holdfast/testing/replay_checker.hpp>

#include <algorithm>
#include <map>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace holdfast::e2e::history_test {
namespace {

using Kind = HistoryEvent::Kind;

class HistoryTest : public OnEachStore {
 protected:
  /// One more handle of the database, which only looks.
  std::shared_ptr<Store> looking() {
    if (GetParam() == Kept::in_a_file) return sqlite(folder / "app.db", {.create = false, .read_only = true});
    if (GetParam() == Kept::on_a_server) return schema->open({.read_only = true});
    return store();
  }
};
HOLDFAST_ON_EACH_STORE(HistoryTest);

std::vector<HistoryEvent> all_events(const Run& run, HistoryOptions options = {}) {
  std::vector<HistoryEvent> events;
  std::optional<HistoryOptions> next = options;
  while (next) {
    const HistoryPage page = run.history(*next);
    events.insert(events.end(), page.events.begin(), page.events.end());
    next = page.next;
  }
  return events;
}

std::vector<Kind> kinds_of(const std::vector<HistoryEvent>& events) {
  std::vector<Kind> kinds;
  for (const HistoryEvent& event : events) kinds.push_back(event.kind);
  return kinds;
}

void expect_consecutive(const std::vector<HistoryEvent>& events) {
  for (std::size_t i = 0; i < events.size(); ++i) ASSERT_EQ(events[i].id, EventId{i + 1});
}

// ---- what it shows ------------------------------------------------------------------------------

TEST_P(HistoryTest, ShowsWhatHappened) {
  const auto rt = runtime({.build = 7}, add_program);
  const Run run = rt->client().start("hello", {.id = "h"}, "Ada");
  EXPECT_EQ(run.wait<std::string>(kSoon), "Hello, Ada!");
  const HistoryPage page = run.history();
  EXPECT_EQ(page.execution, ExecutionNumber{1});
  EXPECT_FALSE(page.next);
  ASSERT_EQ(kinds_of(page.events),
            (std::vector{Kind::turn_started, Kind::started, Kind::activity_scheduled, Kind::turn_started,
                         Kind::completed, Kind::execution_completed}));
  expect_consecutive(page.events);
  EXPECT_EQ(page.events[0].build, "7");
  EXPECT_EQ(page.events[1].name, "hello");
  EXPECT_EQ(page.events[1].version, "1");
  EXPECT_EQ(page.events[1].payload_as<std::string>(), "Ada");
  EXPECT_EQ(page.events[2].name, "greet");
  EXPECT_EQ(page.events[4].source, page.events[2].id);
  EXPECT_EQ(page.events[4].payload_as<std::string>(), "Hello, Ada!");
  EXPECT_GE(page.events[4].time, page.events[2].time);
  EXPECT_GE(page.events[0].time, run.info().created_at - 1s);
  EXPECT_EQ(page.events[5].payload_as<std::string>(), "Hello, Ada!");
  EXPECT_EQ(Client(store()).history("h").events.size(), 6U);
}

TEST_P(HistoryTest, OfAnInstanceThatHasNotBegunIsEmpty) {
  Client client(store());
  const Run run = client.start("hello", {.id = "h"}, "Ada");
  EXPECT_TRUE(run.history().events.empty());
  EXPECT_EQ(run.executions(), (std::vector<ExecutionInfo>{{.execution = {1}}}));
  std::stringstream file;
  write_history(run, file);
  HistoryReader history = read_history(file);
  EXPECT_EQ(history.header(), (HistoryHeader{"h", {1}, "hello", ""}));
  EXPECT_TRUE(history.next_turn().empty());
}

Task<int> goes_round(Context& ctx, int round) {
  co_await ctx.activity<int>("square", round);
  if (round == 4) co_return round;
  const int next = round + 1;
  co_await ctx.continue_as_new(next);
}

TEST_P(HistoryTest, OfFormerExecutionsIsThereUntilItIsPruned) {
  const auto rt = runtime([](Runtime& r) {
    add_program(r);
    r.orchestration("goes_round", {.version = "2"}, goes_round);
  });
  const Run run = rt->client().start("goes_round", {.id = "r"}, 1);
  EXPECT_EQ(run.wait<int>(kSoon), 4);
  const std::vector<ExecutionInfo> executions = run.executions();
  ASSERT_EQ(executions.size(), 4U);
  for (const ExecutionInfo& execution : executions) {
    const std::vector<HistoryEvent> events = all_events(run, {.execution = execution.execution});
    EXPECT_EQ(events.at(1).payload_as<int>(), static_cast<int>(execution.execution.value));
    EXPECT_EQ(events.back().kind,
              execution.execution.value == 4 ? Kind::execution_completed : Kind::continued_as_new);
    EXPECT_EQ(execution.turns, 2U);
    EXPECT_GT(execution.bytes, 0U);
  }
  EXPECT_EQ(read_history(run, ExecutionNumber{2}).header(), (HistoryHeader{"r", {2}, "goes_round", "2"}));

  rt->client().prune_executions("r", 2);
  EXPECT_EQ(run.executions().front().execution, ExecutionNumber{3});
  EXPECT_THROW(static_cast<void>(run.history({.execution = {2}})), ClientError);
  EXPECT_THROW(static_cast<void>(run.history({.execution = {5}})), ClientError);
  rt->client().delete_instance("r");
  try {
    static_cast<void>(run.history());
    FAIL() << "it is gone";
  } catch (const ClientError& e) {
    EXPECT_EQ(e.kind(), ClientError::Kind::not_found);
  }
}

// ---- while it grows -----------------------------------------------------------------------------

Task<int> counts(Context& ctx, int until) {
  const Receiver<int> ticks = ctx.mailbox<int>("ticks");
  int sum = 0;
  for (int i = 0; i < until; ++i) sum += co_await ticks.receive();
  co_return sum;
}

// Whether the code waits for its second message.
bool has_received_one(const Run& run) {
  const std::vector<HistoryEvent> events = run.history().events;
  return !events.empty() && events.back().kind == Kind::message_awaited &&
         std::ranges::count(events, Kind::completed, &HistoryEvent::kind) == 1;
}

TEST_P(HistoryTest, ThatGrowsWhileItIsReadIsOneHistory) {
  constexpr int kTicks = 60;
  const auto rt = runtime([](Runtime& r) { r.orchestration("counts", counts); });
  const Run run = rt->client().start("counts", {.id = "c"}, kTicks);
  std::thread sender([&] {
    for (int i = 0; i < kTicks; ++i) run.send("ticks", 1);
  });
  Client reader(looking());
  const Run seen = reader.run("c");
  // Pages of one turn each, and again from where the last one ended, until the end has come.
  std::vector<HistoryEvent> events;
  HistoryOptions options{.max_bytes = 1};
  while (events.empty() || events.back().kind != Kind::execution_completed) {
    const HistoryPage page = seen.history(options);
    events.insert(events.end(), page.events.begin(), page.events.end());
    options.execution = page.execution;
    if (!events.empty()) options.after = events.back().id;
  }
  sender.join();
  expect_consecutive(events);
  EXPECT_EQ(events.size(), all_events(run).size());
  std::map<EventId, int> received;
  for (const HistoryEvent& event : events) received[event.source] += event.kind == Kind::completed ? 1 : 0;
  for (const HistoryEvent& event : events)
    EXPECT_EQ(received[event.id], event.kind == Kind::message_awaited ? 1 : 0);
}

Task<int> has_large_turns(Context& ctx, int turns) {
  const std::string large(20'000, 'x');
  for (int i = 0; i < turns; ++i) co_await ctx.activity<int>("size", large);
  co_return turns;
}

TEST_P(HistoryTest, ThatIsLargeComesInPages) {
  const auto rt = runtime([](Runtime& r) {
    r.activity("size", [](ActivityContext&, std::string text) { return static_cast<int>(text.size()); });
    r.orchestration("has_large_turns", has_large_turns);
  });
  const Run run = rt->client().start("has_large_turns", {.id = "l"}, 40);
  run.wait(kSoon);
  std::optional<HistoryOptions> next = HistoryOptions{.max_bytes = 50'000};
  std::vector<HistoryEvent> events;
  std::size_t pages = 0;
  for (; next; ++pages) {
    const HistoryPage page = run.history(*next);
    std::size_t bytes = 0;
    for (const HistoryEvent& event : page.events) bytes += event.payload ? event.payload->bytes.size() : 0;
    EXPECT_LE(bytes, 70'000U);
    events.insert(events.end(), page.events.begin(), page.events.end());
    next = page.next;
  }
  EXPECT_GT(pages, 10U);
  expect_consecutive(events);
  EXPECT_EQ(events.back().kind, Kind::execution_completed);
}

// ---- replayed with the code of today ------------------------------------------------------------

Task<int> counts_and_logs(Context& ctx, int until) {
  const Receiver<int> ticks = ctx.mailbox<int>("ticks");
  int sum = 0;
  for (int i = 0; i < until; ++i) {
    sum += co_await ticks.receive();
    co_await ctx.activity<int>("square", sum);
  }
  co_return sum;
}
Task<int> ticks_itself(Context& ctx, int left) {
  for (int i = 0; i < 3; ++i) co_await ctx.activity<int>("square", i);
  if (left == 0) co_return 0;
  const int next = left - 1;
  co_await ctx.continue_as_new(next);
}

TEST_P(HistoryTest, OfWhatRunsIsCheckedWhileItRuns) {
  const auto rt = runtime([](Runtime& r) {
    add_program(r);
    r.orchestration("counts", counts);
    r.orchestration("ticks_itself", ticks_itself);
  });
  std::vector<Run> busy;
  for (int i = 0; i < 4; ++i)
    busy.push_back(rt->client().start("ticks_itself", {.id = "busy-" + std::to_string(i)}, 40));
  const Run waits = rt->client().start("counts", {.id = "waits"}, 3);
  waits.send("ticks", 1);
  EXPECT_TRUE(eventually([&] { return has_received_one(waits); }));

  const Client reader(looking());
  holdfast::testing::ReplayChecker same;
  same.orchestration("counts", counts).orchestration("ticks_itself", ticks_itself);
  holdfast::testing::ReplayChecker changed;
  changed.orchestration("counts", counts_and_logs).orchestration("ticks_itself", ticks_itself);
  bool running = true;
  while (running) {
    running = false;
    for (const Run& run : busy) running = running || !run.info().has_ended();
    const holdfast::testing::ReplayReport fits = same.check_running(reader, {.limit = 2});
    EXPECT_TRUE(fits.ok()) << fits.text();
    const holdfast::testing::ReplayReport parks = changed.check_running(reader);
    EXPECT_EQ(parks.would_park, 1U) << parks.text();
    EXPECT_EQ(parks.findings.at(0).header.instance, "waits");
  }
  EXPECT_EQ(same.check_running(reader).fitting, 1U);
}

// ---- as a file ----------------------------------------------------------------------------------

TEST_P(HistoryTest, IsExportedAndReadAgainAsItIsStored) {
  const auto rt = runtime([](Runtime& r) {
    add_program(r);
    r.orchestration("counts", counts);
  });
  const Run squares = rt->client().start("sum_of_squares", {.id = "s"}, 30);
  const Run waits = rt->client().start("counts", {.id = "c"}, 2);
  waits.send("ticks", 1);
  EXPECT_EQ(squares.wait<int>(kSoon), 9455);
  EXPECT_TRUE(eventually([&] { return has_received_one(waits); }));

  Client reader(looking());
  for (const char* id : {"s", "c"}) {
    const Run run = reader.run(id);
    std::stringstream file;
    write_history(run, file);
    HistoryReader again = read_history(file, id);
    EXPECT_EQ(again.header().instance, id);
    std::vector<HistoryEvent> events;
    for (auto turn = again.next_turn(); !turn.empty(); turn = again.next_turn())
      events.insert(events.end(), turn.begin(), turn.end());
    const std::vector<HistoryEvent> stored = all_events(run);
    ASSERT_EQ(events.size(), stored.size());
    for (std::size_t i = 0; i < events.size(); ++i) EXPECT_EQ(events[i].json(), stored[i].json());
    EXPECT_FALSE(again.next_history());
  }
}

TEST_P(HistoryTest, IsOfOneLifeOfAnId) {
  const auto rt = runtime(add_program);
  Client client = rt->client();
  const Run first = client.start("hello", {.id = "h"}, "Ada");
  first.wait(kSoon);
  const Run second = client.start("hello", {.id = "h", .reuse = Reuse::after_end}, "Bob");
  second.wait(kSoon);
  EXPECT_EQ(second.history().events.at(1).payload_as<std::string>(), "Bob");
  EXPECT_THROW(static_cast<void>(first.history()), ClientError);
  EXPECT_THROW(static_cast<void>(first.executions()), ClientError);
  std::stringstream file;
  EXPECT_THROW(write_history(first, file), ClientError);
  EXPECT_TRUE(file.str().empty());
}

}  // namespace
}  // namespace holdfast::e2e::history_test
