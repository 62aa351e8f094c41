// What breaks coroutine engines: deep stacks, wide fan-ins, frames destroyed at any wait, things used twice,
// executions that move between threads.
#include "engine/driver_test.hpp"

#include <holdfast/saga.hpp>

#include <cstdint>
#include <stdexcept>
#include <thread>

namespace holdfast::engine::traps_test {
namespace {

using detail::ActivityScheduled;

/// Counts the objects that are alive. The text is on the heap, so that a second destruction is a double free.
class Tracer {
 public:
  explicit Tracer(std::string text = "a tracer with a text on the heap") : text_(std::move(text)) { ++live; }
  Tracer(const Tracer& other) : text_(other.text_) { ++live; }
  Tracer& operator=(const Tracer&) = delete;
  ~Tracer() { --live; }

  static inline int live = 0;

 private:
  std::string text_;
};

Message start_message(Payload input = encode_args()) {
  return {MessageId{1}, ExecutionNumber{1},
          history::Started{.name = "test", .version = "1", .input = std::move(input), .seed = 42}};
}

template <class F>
Execution execution_of(F orchestration) {
  return Execution({.instance = "i-1", .build = "b1"}, detail::make_orchestration(orchestration));
}

// ---- the stack ----------------------------------------------------------------------------------

// A stack that grows with each of these overflows before the first tenth of them.
constexpr int kManyTasks = 1'000'000;
constexpr int kManyEffects = 250'000;

/// How far the stack reaches; frames of coroutines are elsewhere.
class StackDepth {
 public:
  void note() {
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    highest_ = std::max(highest_, here);
    lowest_ = std::min(lowest_, here);
  }
  [[nodiscard]] std::uintptr_t bytes() const { return highest_ - lowest_; }

 private:
  std::uintptr_t highest_ = 0;
  std::uintptr_t lowest_ = UINTPTR_MAX;
};
constexpr std::uintptr_t kFewCalls = 64 * 1024;

StackDepth stack;

Task<int> ready_at_once(int n) {
  stack.note();
  co_return n % 2;
}
Task<int> awaits_ready_tasks(Context&) {
  int sum = 0;
  for (int i = 0; i < kManyTasks; ++i) sum += co_await ready_at_once(i);
  co_return sum;
}

TEST(Stack, AMillionReadyTasksTakeNoRoomOnIt) {
  stack = {};
  Execution execution = execution_of(awaits_ready_tasks);
  const Outcome end = execution.run({CalendarTime{}, {start_message()}});
  EXPECT_EQ(result_of<int>(end), kManyTasks / 2);
  EXPECT_LT(stack.bytes(), kFewCalls);
}

Task<int> awaits_side_effects(Context& ctx) {
  int sum = 0;
  for (int i = 0; i < kManyEffects; ++i) {
    stack.note();
    sum += co_await ctx.side_effect([] { return 1; });
  }
  co_return sum;
}

TEST(Stack, ManySideEffectsTakeNoRoomOnIt) {
  stack = {};
  std::string segment;
  {
    Execution execution = execution_of(awaits_side_effects);
    Outcome end = execution.run({CalendarTime{}, {start_message()}});
    EXPECT_EQ(result_of<int>(end), kManyEffects);
    segment = std::move(end.segment);
  }
  Execution again = execution_of(awaits_side_effects);
  EXPECT_TRUE(again.replay(segment));
  EXPECT_TRUE(again.ended());
  EXPECT_LT(stack.bytes(), kFewCalls);
}

// A task that waits, and whoever waits for it, go on from the queue.
Task<int> waits_for_tasks(Context& ctx, int rounds) {
  const auto passes_on = [](Future<int>& f) -> Task<int> {
    stack.note();
    co_return co_await f;
  };
  int sum = 0;
  auto one = ctx.activity<int>("one").start();
  sum += co_await passes_on(one);
  for (int i = 1; i < rounds; ++i) sum += co_await passes_on(one);
  co_return sum;
}

TEST(Stack, AwaitsThatWereResumedFromTheQueueTakeNoRoomOnIt) {
  stack = {};
  Driver driver(waits_for_tasks, 100'000);
  driver.start();
  EXPECT_EQ(result_of<int>(driver.step(driver.completes(EventId{3}, 1))), 100'000);
  EXPECT_LT(stack.bytes(), kFewCalls);
}

Task<int> recurses(Context& ctx, int depth) {
  if (depth == 0) co_return co_await ctx.activity<int>("bottom");
  const Tracer tracer;
  const int below = co_await recurses(ctx, depth - 1);
  if (depth % 100 == 0) co_await ctx.sleep(1s);
  co_return below + 1;
}

TEST(Stack, AThousandNestedTasksSuspendAndResume) {
  Tracer::live = 0;
  {
    Driver driver(recurses, 1000);
    driver.start();
    driver.step(driver.completes(EventId{3}, 0));
    while (!driver.last.end) driver.step(driver.completes(driver.last.actions.at(0).id));
    EXPECT_EQ(result_of<int>(driver.last), 1000);
    Driver left_alone(recurses, 1000);
    left_alone.start();
    Driver cancelled_driver(recurses, 1000);
    cancelled_driver.start();
    EXPECT_NE(end_of<history::ExecutionCancelled>(cancelled_driver.step(cancelled_driver.cancels("enough"))),
              nullptr);
  }
  EXPECT_EQ(Tracer::live, 0);
}

// ---- wide ---------------------------------------------------------------------------------------

constexpr int kWide = 1000;

Task<int> one_step(Context& ctx, int n) {
  const Tracer tracer;
  const int value = co_await ctx.activity<int>("part", n);
  co_return value;
}

Task<int> fans_out(Context& ctx, std::string how) {
  std::vector<Task<int>> tasks;
  for (int i = 0; i < kWide; ++i) tasks.push_back(one_step(ctx, i));
  std::vector<Op<int>> ops;
  for (int i = 0; i < kWide; ++i) ops.push_back(ctx.activity<int>("part", i));
  int sum = 0;
  if (how == "all tasks") {
    for (const int value : co_await when_all(std::move(tasks))) sum += value;
  }
  if (how == "all operations") {
    for (const int value : co_await when_all(std::move(ops))) sum += value;
  }
  if (how == "settled tasks") {
    const auto outcomes = co_await when_all_settled(std::move(tasks));
    for (const Result<int>& outcome : outcomes) sum += outcome ? *outcome : 0;
  }
  if (how == "race of tasks") {
    const auto winner = co_await race(std::move(tasks));
    sum = static_cast<int>(winner.index) * winner.value;
  }
  if (how == "race of operations") {
    const auto winner = co_await race(std::move(ops));
    sum = static_cast<int>(winner.index) * winner.value;
  }
  co_return sum;
}

TEST(FanIn, OfAThousandCompletesInOneTurn) {
  for (const char* how : {"all tasks", "all operations", "settled tasks"}) {
    SCOPED_TRACE(how);
    Driver driver(fans_out, how);
    const Outcome first = driver.start();
    ASSERT_EQ(first.actions.size(), std::size_t{kWide});
    std::vector<Message> messages;
    for (const Action& action : first.actions) messages.push_back(driver.completes(action.id, 1));
    std::swap(messages.front(), messages.back());
    EXPECT_EQ(result_of<int>(driver.turn(std::move(messages))), kWide);
  }
}

TEST(FanIn, OfAThousandCompletesWarmOneByOne) {
  Execution execution = execution_of(fans_out);
  const Outcome first = execution.run({CalendarTime{}, {start_message(encode_args("all tasks"))}});
  Outcome last;
  for (const Action& action : first.actions) {
    last = execution.run(
        {CalendarTime{},
         {Message{MessageId{9}, ExecutionNumber{1}, history::Completed{action.id, encode(1)}}}});
  }
  EXPECT_EQ(result_of<int>(last), kWide);
}

TEST(FanIn, ARaceOfAThousandCancelsAllOthers) {
  for (const char* how : {"race of tasks", "race of operations"}) {
    SCOPED_TRACE(how);
    Driver driver(fans_out, how);
    const Outcome first = driver.start();
    const Outcome end = driver.step(driver.completes(first.actions.at(700).id, 3));
    EXPECT_EQ(result_of<int>(end), 2100);
    EXPECT_EQ(end.cancels.size(), std::size_t{kWide - 1});
  }
}

// ---- frames that are destroyed ------------------------------------------------------------------

Task<> never_reached(Context& ctx, Tracer) { co_await ctx.sleep(1h); }

Task<std::string> helper(Context& ctx, Tracer, std::string name) {
  const Tracer local;
  auto text = co_await ctx.activity<std::string>(name);
  co_return text;
}

Task<> undoes(Context& ctx, Saga& saga) {
  saga.undo_with("undo1", "x");
  saga.undo_with("undo2", {.queue = "q"}, "y");
  co_await ctx.activity<void>("fails");
}

// Every construct, one after the other; each wait is the end of a turn.
Task<std::string> everything(Context& ctx, std::string in) {
  const Tracer first;
  std::string log = in;
  log += co_await ctx.activity<std::string>("plain");
  log += co_await ctx.activity<std::string>("options", {.session = "s", .queue = "q"}, log);
  co_await ctx.sleep(1s);
  log += co_await ctx.event<std::string>("e");
  log += co_await ctx.mailbox<std::string>("m").receive();
  const auto drained = co_await ctx.mailbox<std::string>("m").drain();
  for (const std::string& text : drained) log += text;
  const Tracer second;
  log += co_await ctx.child<std::string>("child", {.id = "c-1"}, 7);
  log += co_await ctx.start_detached("other", {.id = "o-1"});
  auto session = co_await ctx.open_session({.id = "s-1", .requirements = {"gpu"}});
  log += co_await session.activity<std::string>("render", 1);
  co_await session.close();
  log += (co_await session.next_event()).to;
  ctx.set_value("k", log);
  ctx.set_status(log);
  const Tracer captured;
  const auto effect = [captured] { return std::string("effect"); };
  log += co_await ctx.side_effect(effect);
  log += (co_await ctx.value_of<std::string>("i-2", "k")).value_or("none");
  const Tracer argument;
  log += co_await helper(ctx, argument, "nested");
  auto future = ctx.activity<std::string>("future").start();
  auto task = ctx.start(helper(ctx, argument, "task"));
  ctx.start(helper(ctx, argument, "detached task")).detach();
  ctx.activity<std::string>("detached").start().detach();
  const auto all = co_await when_all(future, helper(ctx, argument, "in all"), ctx.sleep(1s));
  log += std::get<1>(all);
  const auto settled = co_await when_all_settled(task, ctx.activity<void>("settled"));
  log += std::get<0>(settled) ? "settled" : "failed";
  const auto winner =
      co_await race(helper(ctx, argument, "wins"), never_reached(ctx, argument), ctx.event<void>("never"));
  log += std::to_string(winner.index());
  const auto timed = co_await with_timeout(helper(ctx, argument, "in time"), 1h);
  log += timed ? "in time" : "late";
  log += co_await ctx.shield(helper(ctx, argument, "shielded"));
  const Result<void> undone = co_await run_saga(ctx, undoes).result();
  log += undone ? "done" : "undone";
  co_await ctx.continue_as_new(log);
}

// What the world answers to everything().
Outcome answer(Driver& driver, const Outcome& outcome) {
  std::vector<Message> messages;
  for (const Address& address : outcome.waits) {
    if (address.name == "never") continue;
    Message message = driver.raises("", "msg");
    if (address.kind == Address::Kind::session)
      message = driver.raises("", SessionEvent{.kind = SessionEvent::Kind::moved, .to = "n2"});
    std::get<Delivery>(message.body).address = address;
    messages.push_back(std::move(message));
    if (address.kind == Address::Kind::mailbox) messages.push_back(driver.sends("m", "second"));
  }
  for (const Action& action : outcome.actions) {
    const auto* const activity = std::get_if<ActivityScheduled>(&action.operation);
    if (activity != nullptr && activity->name == "fails") {
      messages.push_back(driver.fails(action.id));
    } else if (std::holds_alternative<detail::ValueRead>(action.operation)) {
      messages.push_back(driver.completes(action.id, std::optional<Payload>(encode("v"))));
    } else if (!std::holds_alternative<detail::SideEffectRecorded>(action.operation) &&
               !std::holds_alternative<detail::MessageTried>(action.operation) &&
               !std::holds_alternative<detail::ValueSet>(action.operation)) {
      messages.push_back(driver.completes(action.id, "out"));
    }
  }
  return driver.turn(std::move(messages));
}

TEST(TearDown, AnExecutionDestroyedAfterAnyTurnLeavesNothingBehind) {
  Tracer::live = 0;
  int turns = 0;
  for (bool ended = false; !ended; ++turns) {
    SCOPED_TRACE(turns);
    ASSERT_LT(turns, 50);
    {
      Driver driver(everything, "in");
      Outcome outcome = driver.start();
      for (int turn = 0; turn < turns && !outcome.end; ++turn) outcome = answer(driver, outcome);
      EXPECT_TRUE(Tracer::live > 0 || outcome.end);
      ended = end_of<history::ContinuedAsNew>(outcome) != nullptr;
    }
    EXPECT_EQ(Tracer::live, 0);
  }
  EXPECT_GT(turns, 15);
}

TEST(TearDown, AnExecutionCancelledAfterAnyTurnLeavesNothingBehind) {
  Tracer::live = 0;
  bool ended = false;
  for (int turns = 0; !ended; ++turns) {
    SCOPED_TRACE(turns);
    {
      Driver driver(everything, "in");
      Outcome outcome = driver.start();
      for (int turn = 0; turn < turns && !outcome.end; ++turn) outcome = answer(driver, outcome);
      ended = outcome.end.has_value();
      if (!ended) driver.step(driver.cancels("enough"));
    }
    EXPECT_EQ(Tracer::live, 0);
  }
}

TEST(TearDown, AnExecutionTerminatedAfterAnyTurnLeavesNothingBehind) {
  Tracer::live = 0;
  bool ended = false;
  for (int turns = 0; !ended; ++turns) {
    SCOPED_TRACE(turns);
    {
      Driver driver(everything, "in");
      Outcome outcome = driver.start();
      for (int turn = 0; turn < turns && !outcome.end; ++turn) outcome = answer(driver, outcome);
      ended = outcome.end.has_value();
      if (!ended) {
        driver.segments().push_back(driver.warm().terminate(CalendarTime{}, "enough").segment);
        EXPECT_TRUE(driver.replay_with(everything));
      }
    }
    EXPECT_EQ(Tracer::live, 0);
  }
}

Task<> holds_futures(Context& ctx) {
  auto a = ctx.activity<int>("a").start();
  auto b = ctx.child<int>("b", {.id = "b"}).start();
  co_await race(ctx.event<int>("c"), ctx.sleep(1s));
}

TEST(TearDown, CancelsNothing) {
  Driver driver(holds_futures);
  driver.start();
  for (int i = 0; i < 3; ++i) {
    driver.forget_frames();
    EXPECT_EQ(driver.warm().open_operations().size(), 4U);
    const Outcome nothing = driver.step();
    EXPECT_TRUE(nothing.cancels.empty());
    EXPECT_TRUE(nothing.segment.empty());
  }
}

// Uses the context at the end of its scope, as guards do.
struct Guard {
  Context& ctx;
  explicit Guard(Context& c) : ctx(c) {}
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  ~Guard() {
    ctx.set_status("left");
    ctx.set_value("left", true);
    ctx.activity<void>("log").start().detach();
    ctx.start(helper(ctx, Tracer(), "log too")).detach();
  }
};

Task<std::string> guarded(Context& ctx) {
  const Guard guard(ctx);
  auto text = co_await ctx.activity<std::string>("work");
  co_return text;
}

TEST(TearDown, DestructorsThatUseTheContextDoNothingThen) {
  Tracer::live = 0;
  {
    Driver driver(guarded);
    EXPECT_FALSE(driver.start().status);
    const Outcome end = driver.step(driver.completes(EventId{3}, "done"));
    EXPECT_EQ(end.actions.size(), 3U);  // the end of a scope is no tear-down
    EXPECT_EQ(end.status, encode("left"));
    EXPECT_EQ(cancelled(end).size(), 2U);
  }
  EXPECT_EQ(Tracer::live, 0);
}

// ---- frames in the ready queue ------------------------------------------------------------------

Task<int> passes_on(Future<int>& future, int depth) {
  const Tracer tracer;
  if (depth == 0) co_return co_await future;
  const int value = co_await passes_on(future, depth - 1);
  co_return value + 1;
}

Task<int> races_what_is_ready(Context& ctx, int depth) {
  auto future = ctx.activity<int>("work").start();
  const auto winner = co_await race(passes_on(future, depth), future, passes_on(future, depth + 1));
  co_await ctx.activity<void>("after");
  co_return static_cast<int>(winner.index());
}

TEST(ReadyQueue, PartsOfARaceMayBeDestroyedWhileTheyAreInIt) {
  Tracer::live = 0;
  for (int depth = 0; depth < 8; ++depth) {
    SCOPED_TRACE(depth);
    Driver driver(races_what_is_ready, depth);
    driver.start();
    const Outcome second = driver.step(driver.completes(EventId{3}, 5));
    // The future has its outcome first, whatever else follows from it.
    EXPECT_EQ(result_of<int>(driver.step(driver.completes(second.actions.at(0).id))), 1);
  }
  EXPECT_EQ(Tracer::live, 0);
}

Task<int> drops_what_is_ready(Context& ctx) {
  auto work = ctx.activity<int>("work").start();
  std::vector<Future<int>> waiting;
  const auto drops_others = [](Future<int>& f, std::vector<Future<int>>& others) -> Task<int> {
    const int value = co_await f;
    others.clear();
    co_return value;
  };
  auto first = ctx.start(drops_others(work, waiting));
  for (int i = 0; i < 5; ++i) waiting.push_back(ctx.start(passes_on(work, i)));
  co_return co_await first;
}

TEST(ReadyQueue, ATaskMayDropOthersThatAreReadyToo) {
  Tracer::live = 0;
  Driver driver(drops_what_is_ready);
  driver.start();
  EXPECT_EQ(result_of<int>(driver.step(driver.completes(EventId{3}, 5))), 5);
  EXPECT_EQ(Tracer::live, 0);
}

// ---- things that are used twice -----------------------------------------------------------------

template <class F>
std::string misuse(F f) {
  try {
    f();
  } catch (const std::logic_error& e) {
    return e.what();
  }
  return "no error";
}

template <class A>
Task<std::string> misuse_by_await(A awaitable) {
  try {
    static_cast<void>(co_await std::move(awaitable));
  } catch (const std::logic_error& e) {
    co_return e.what();
  }
  co_return "no error";
}

// Awaits through a reference, so that the original is what is used.
template <class A>
Task<std::string> await_misused(A& awaitable) {
  try {
    static_cast<void>(co_await std::move(awaitable));
  } catch (const std::logic_error& e) {
    co_return e.what();
  }
  co_return "no error";
}

Task<int> seven() { co_return 7; }

using Texts = std::vector<std::string>;

Task<Texts> misuses_operations(Context& ctx) {
  Texts texts;
  auto twice = ctx.activity<int>("a");
  auto started = std::move(twice).start();
  texts.push_back(misuse([&] { std::move(twice).start().detach(); }));
  texts.push_back(co_await await_misused(twice));
  auto origin = ctx.activity<int>("b");
  auto target = std::move(origin);
  texts.push_back(co_await await_misused(origin));
  auto effect = ctx.side_effect([] { return 1; });
  auto effect_target = std::move(effect);
  texts.push_back(co_await await_misused(effect));
  auto timer = ctx.sleep(1s);
  auto timer_target = std::move(timer);
  texts.push_back(co_await await_misused(timer));
  texts.push_back(co_await misuse_by_await(when_all(std::move(origin), std::move(target))));
  auto result = ctx.activity<int>("c");
  auto result_target = std::move(result);
  try {
    static_cast<void>(co_await std::move(result).result());
  } catch (const std::logic_error& e) {
    texts.push_back(e.what());
  }
  co_return texts;
}

TEST(Misuse, AnOperationIsStartedOnce) {
  Driver driver(misuses_operations);
  const Outcome end = driver.start();
  EXPECT_EQ(result_of<Texts>(end), Texts(7, "holdfast: this operation was started or moved away before"));
  EXPECT_EQ(end.actions.size(), 1U);
}

Task<Texts> misuses_tasks(Context& ctx) {
  Texts texts;
  auto twice = seven();
  co_await std::move(twice);
  texts.push_back(co_await await_misused(twice));
  texts.push_back(misuse([&] { ctx.start(std::move(twice)).detach(); }));
  auto again = seven();
  co_await std::move(again);
  texts.push_back(co_await misuse_by_await(when_all(std::move(again), ctx.sleep(1s))));
  auto origin = seven();
  auto target = std::move(origin);
  texts.push_back(co_await await_misused(origin));
  texts.push_back(misuse([&] { ctx.start(std::move(origin)).detach(); }));
  texts.push_back(misuse([&] { static_cast<void>(ctx.shield(std::move(origin))); }));
  texts.push_back(co_await misuse_by_await(race(std::move(origin), ctx.sleep(1s))));
  texts.push_back(co_await misuse_by_await(with_timeout(std::move(origin), 1s)));
  try {
    static_cast<void>(co_await std::move(origin).result());
  } catch (const std::logic_error& e) {
    texts.push_back(e.what());
  }
  texts.push_back(std::to_string(co_await std::move(target)));
  co_return texts;
}

TEST(Misuse, ATaskIsAwaitedOrStartedOnce) {
  Driver driver(misuses_tasks);
  const std::string once = "holdfast: a Task can be awaited or started only once";
  const std::string moved = "holdfast: this Task was moved away";
  EXPECT_EQ(result_of<Texts>(driver.start()),
            (Texts{once, once, once, moved, moved, moved, moved, moved, moved, "7"}));
}

Task<Texts> misuses_futures(Context& ctx) {
  Texts texts;
  auto origin = ctx.activity<int>("a").start();
  {
    const auto dropped = std::move(origin);
  }
  try {
    co_await origin;
  } catch (const std::logic_error& e) {
    texts.push_back(e.what());
  }
  texts.push_back(misuse([&] { static_cast<void>(origin.ready()); }));
  texts.push_back(misuse([&] { static_cast<void>(origin.result()); }));
  texts.push_back(misuse([&] { std::move(origin).detach(); }));
  texts.push_back(misuse([&] { static_cast<void>(race(origin, ctx.sleep(1s))); }));
  texts.push_back(co_await misuse_by_await(when_all(std::move(origin), ctx.sleep(1s))));
  auto gone = ctx.activity<int>("b").start();
  std::move(gone).detach();
  texts.push_back(misuse([&] { static_cast<void>(gone.ready()); }));
  origin = ctx.activity<int>("c").start();  // may be given a new one
  texts.push_back(origin.ready() ? "ready" : "not ready");
  co_await ctx.sleep(1s);
  co_return texts;
}

TEST(Misuse, AFutureThatWasMovedAwayIsEmpty) {
  Driver driver(misuses_futures);
  const Outcome first = driver.start();
  EXPECT_EQ(cancelled(first), std::vector<std::uint64_t>{3});
  Texts expected(7, "holdfast: this Future was moved away or detached");
  expected.push_back("not ready");
  EXPECT_EQ(result_of<Texts>(driver.step(driver.completes(first.actions.back().id))), expected);
}

Task<int> outlives_its_variable(Context& ctx) {
  auto work = ctx.activity<int>("work").start();
  auto part = ctx.start(passes_on(work, 0));
  const auto moved = std::move(work);  // the state stays where it is: who borrowed it goes on
  co_return co_await part;
}

TEST(Misuse, AFutureMayBeMovedWhileItIsBorrowed) {
  Driver driver(outlives_its_variable);
  driver.start();
  EXPECT_EQ(result_of<int>(driver.step(driver.completes(EventId{3}, 4))), 4);
}

Task<int> gives_back(int n) { co_return n; }

// No coroutine by itself: it throws before there is a frame.
Task<int> checks_before_it_begins(Context&, int n) {
  if (n == 13) throw n;
  if (n == 14) throw std::runtime_error("not 14");
  return gives_back(n);
}

TEST(Beginning, FailsTheExecutionWithWhateverIsThrownBeforeThereIsAFrame) {
  EXPECT_EQ(result_of<int>(Driver(checks_before_it_begins, 1).start()), 1);
  for (const auto& [n, type] : {std::pair(13, "unknown"), std::pair(14, "std::runtime_error")}) {
    const Outcome outcome = Driver(checks_before_it_begins, n).start();
    const auto* const failed = end_of<history::ExecutionFailed>(outcome);
    ASSERT_NE(failed, nullptr);
    EXPECT_EQ(failed->failure.type, type);
  }
}

// ---- interrupts are no exceptions ---------------------------------------------------------------

int caught = 0;

Task<> continues_in_try(Context& ctx, int n) {
  try {
    co_await ctx.continue_as_new(n + 1);
  } catch (...) {
    ++caught;
  }
}

TEST(Interrupts, ContinueAsNewCannotBeCaught) {
  caught = 0;
  {
    Driver driver(continues_in_try, 1);
    EXPECT_NE(end_of<history::ContinuedAsNew>(driver.start()), nullptr);
  }
  EXPECT_EQ(caught, 0);
}

template <class F>
Task<> tries(F step) {
  try {
    co_await step();
  } catch (...) {
    ++caught;
  }
}

Task<> schedules_a(Context& ctx) { co_await ctx.activity<void>("a"); }

TEST(Interrupts, NondeterminismCannotBeCaught) {
  caught = 0;
  Driver driver(schedules_a);
  driver.start();
  const auto awaits = [](Context& ctx) -> Task<> {
    const auto step = [&] { return ctx.activity<void>("b"); };
    co_await tries(step);
  };
  const auto starts = [](Context& ctx) -> Task<> {
    try {
      auto future = ctx.activity<void>("b").start();
      co_await future;
    } catch (...) {
      ++caught;
    }
  };
  const auto joins = [](Context& ctx) -> Task<> {
    const auto step = [&] { return when_all(ctx.activity<void>("b"), ctx.sleep(1s)); };
    co_await tries(step);
  };
  const auto sets = [](Context& ctx) -> Task<> {
    try {
      ctx.set_value("k", 1);
      co_await ctx.activity<void>("a");
    } catch (...) {
      ++caught;
    }
  };
  const auto continues = [](Context& ctx) -> Task<> {
    try {
      co_await ctx.continue_as_new();
    } catch (...) {
      ++caught;
    }
  };
  EXPECT_FALSE(driver.replay_with(awaits));
  EXPECT_FALSE(driver.replay_with(starts));
  EXPECT_FALSE(driver.replay_with(joins));
  EXPECT_FALSE(driver.replay_with(sets));
  EXPECT_FALSE(driver.replay_with(continues));
  EXPECT_EQ(caught, 0);
}

TEST(Interrupts, TerminationCannotBeCaught) {
  caught = 0;
  {
    Driver driver([](Context& ctx) -> Task<> {
      const auto step = [&] { return ctx.activity<void>("a"); };
      co_await tries(step);
    });
    driver.start();
    EXPECT_TRUE(driver.warm().terminate(CalendarTime{}, "enough").end);
  }
  EXPECT_EQ(caught, 0);
}

// ---- threads ------------------------------------------------------------------------------------

template <class F>
void on_another_thread(F f) {
  std::thread(f).join();
}

TEST(Threads, AnExecutionMayMoveFromTurnToTurn) {
  Tracer::live = 0;
  std::unique_ptr<Driver> driver;
  on_another_thread([&] { driver = std::make_unique<Driver>(everything, "in"); });
  Outcome outcome;
  on_another_thread([&] { outcome = driver->start(); });
  while (!outcome.end) on_another_thread([&] { outcome = answer(*driver, outcome); });
  EXPECT_NE(end_of<history::ContinuedAsNew>(outcome), nullptr);
  on_another_thread([&] { driver.reset(); });
  EXPECT_EQ(Tracer::live, 0);
}

Task<> works_on_failures(Context& ctx) {
  std::exception_ptr kept;
  try {
    co_await ctx.activity<void>("fails");
  } catch (const Error&) {
    kept = std::current_exception();
  }
  co_await ctx.sleep(1h);
  std::rethrow_exception(kept);
}

TEST(Threads, ExceptionsMoveWithIt) {
  Driver driver(works_on_failures);
  on_another_thread([&] { driver.start(); });
  on_another_thread([&] { driver.step(driver.fails(EventId{3})); });
  Outcome end;
  on_another_thread([&] { end = driver.step(driver.cancels("enough")); });
  EXPECT_NE(end_of<history::ExecutionCancelled>(end), nullptr);
}

}  // namespace
}  // namespace holdfast::engine::traps_test
