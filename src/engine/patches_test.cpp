// Patches: code that changes while executions run. In a new turn each is taken and recorded; on replay the
// code is told what history says.
#include "engine/driver_test.hpp"

#include <stdexcept>
#include <string>
#include <vector>

namespace holdfast::engine::patches_test {
namespace {

/// Goes on with other code over this history, as a worker does after a deploy.
class After {
 public:
  template <class F>
  After(const Driver& driver, F orchestration)
      : code_(detail::make_orchestration(orchestration)), segments_(driver.segments()) {
    execution_ = replayed();
  }

  Outcome turn(history::Completed completed) {
    std::vector<Message> messages;
    messages.push_back({MessageId{++messages_}, ExecutionNumber{1}, std::move(completed)});
    Outcome outcome = execution_->run({now_ += 1s, std::move(messages)});
    if (!outcome.segment.empty()) segments_.push_back(outcome.segment);
    execution_ = replayed();  // what it did replays, too
    return outcome;
  }
  Outcome completes(EventId source) { return turn({source, encode(std::monostate{})}); }
  [[nodiscard]] EventId only_open() const { return execution_->open_operations().at(0).id; }

 private:
  std::unique_ptr<Execution> replayed() {
    auto execution =
        std::make_unique<Execution>(Identity{.instance = "i-1", .build = "b2", .strict = true}, code_);
    if (const auto problem = CheckedExecution::replay_all(*execution, segments_))
      ADD_FAILURE() << describe(*problem);
    return execution;
  }

  std::shared_ptr<const detail::OrchestrationCode> code_;
  std::vector<std::string> segments_;
  std::unique_ptr<Execution> execution_;
  std::uint64_t messages_ = 1000;
  CalendarTime now_{std::chrono::sys_days(std::chrono::year(2031) / 1 / 1)};
};

std::vector<std::string> recorded_patches(const Driver& driver) {
  std::vector<std::string> ids;
  for (const history::Event& event : driver.events()) {
    if (const auto* patch = std::get_if<history::Patched>(&event.body)) ids.push_back(patch->id);
  }
  return ids;
}

std::vector<std::string> activities(const Outcome& outcome) {
  std::vector<std::string> names;
  for (const Action& action : outcome.actions) {
    if (const auto* activity = std::get_if<detail::ActivityScheduled>(&action.operation))
      names.push_back(activity->name);
  }
  return names;
}

using Names = std::vector<std::string>;

// ---- a change -----------------------------------------------------------------------------------

Task<std::string> old_order(Context& ctx) {
  co_await ctx.activity<void>("reserve");
  co_await ctx.activity<void>("charge");
  co_return "done";
}
Task<std::string> new_order(Context& ctx) {
  co_await ctx.activity<void>("reserve");
  if (ctx.patched("check")) co_await ctx.activity<void>("check");
  co_await ctx.activity<void>("charge");
  co_return "done";
}
Task<std::string> checked_order(Context& ctx) {
  co_await ctx.activity<void>("reserve");
  ctx.deprecate_patch("check");
  co_await ctx.activity<void>("check");
  co_await ctx.activity<void>("charge");
  co_return "done";
}
Task<std::string> unpatched_order(Context& ctx) {
  co_await ctx.activity<void>("reserve");
  co_await ctx.activity<void>("check");
  co_await ctx.activity<void>("charge");
  co_return "done";
}

TEST(Patches, AreTakenInANewTurnAndRecorded) {
  Driver driver(new_order);
  driver.start();
  const Outcome outcome = driver.step(driver.completes(EventId{3}));
  EXPECT_EQ(activities(outcome), Names{"check"});
  EXPECT_EQ(outcome.patches, Names{"check"});
  const auto events = driver.events();
  EXPECT_EQ(events.at(5).body,
            history::Body(history::Patched{"check"}));  // after the completion, before what it led to
  EXPECT_TRUE(std::holds_alternative<history::ActivityScheduled>(events.at(6).body));
  EXPECT_EQ(driver.step(driver.completes(EventId{7})).patches, Names{});
}

TEST(Patches, AreNotTakenByExecutionsThatCameByBefore) {
  Driver driver(old_order);
  driver.start();
  driver.step(driver.completes(EventId{3}));
  After after(driver, new_order);
  const Outcome outcome = after.completes(after.only_open());
  EXPECT_EQ(result_of<std::string>(outcome), "done");
  EXPECT_EQ(outcome.patches, Names{});
}

TEST(Patches, AreTakenByExecutionsThatHaveNotComeByYet) {
  Driver driver(old_order);
  driver.start();
  After after(driver, new_order);
  EXPECT_EQ(activities(after.completes(after.only_open())), Names{"check"});
}

TEST(Patches, AreDeprecatedWhenNoOldExecutionRuns) {
  Driver patched(new_order);
  patched.start();
  patched.step(patched.completes(EventId{3}));
  After after(patched, checked_order);
  EXPECT_EQ(activities(after.completes(after.only_open())), Names{"charge"});
}

TEST(Patches, ThatAreDeprecatedAreRecordedForThoseWhoAsk) {
  Driver driver(checked_order);
  driver.start();
  driver.step(driver.completes(EventId{3}));
  EXPECT_EQ(recorded_patches(driver), Names{"check"});
  After after(driver, new_order);
  EXPECT_EQ(activities(after.completes(after.only_open())), Names{"charge"});
}

TEST(Patches, MayGoWhenNoHistoryHasThem) {
  Driver driver(unpatched_order);
  driver.start();
  driver.step(driver.completes(EventId{3}));
  EXPECT_TRUE(driver.replay_with(checked_order, true));  // the one before, too
  EXPECT_FALSE(driver.replay_with(new_order));
}

// ---- where and when -----------------------------------------------------------------------------

TEST(Patches, KeepTheirAnswerInALoop) {
  const auto before = [](Context& ctx) -> Task<int> {
    for (int i = 0; i < 3; ++i) co_await ctx.activity<void>("work");
    co_return 0;
  };
  const auto now = [](Context& ctx) -> Task<int> {
    int patched = 0;
    for (int i = 0; i < 3; ++i) {
      if (ctx.patched("count")) ++patched;
      co_await ctx.activity<void>("work");
    }
    co_return patched;
  };
  Driver from_the_start(now);
  from_the_start.start();
  for (const std::uint64_t id : {4U, 7U}) from_the_start.step(from_the_start.completes(EventId{id}));
  EXPECT_EQ(result_of<int>(from_the_start.step(from_the_start.completes(EventId{10}))), 3);
  EXPECT_EQ(recorded_patches(from_the_start), Names{"count"});

  Driver begun(before);
  begun.start();
  After after(begun, now);
  after.completes(after.only_open());
  after.completes(after.only_open());
  EXPECT_EQ(result_of<int>(after.completes(after.only_open())), 0);
}

TEST(Patches, AreAskedForByTasksThatRace) {
  const auto code = [](Context& ctx) -> Task<std::string> {
    const auto part = [](Context& c, std::string name) -> Task<std::string> {
      co_await c.activity<void>(name);
      const bool both = c.patched("both");
      const bool own = c.patched(name);
      co_await c.activity<void>(name + (both && own ? "-new" : "-old"));
      co_return name;
    };
    const auto first = co_await race(part(ctx, "a"), part(ctx, "b"));
    co_return first.index() == 0 ? std::get<0>(first) : std::get<1>(first);
  };
  Driver driver(code);
  driver.start();
  driver.forget_frames();
  // In one turn, and the second task's completion first.
  const Outcome both = driver.step(driver.completes(EventId{4}), driver.completes(EventId{3}));
  EXPECT_EQ(activities(both), (Names{"b-new", "a-new"}));
  EXPECT_EQ(both.patches, (Names{"both", "b", "a"}));
  driver.forget_frames();
  EXPECT_EQ(result_of<std::string>(driver.step(driver.completes(EventId{12}))), "a");
}

TEST(Patches, OfTwoChangesEachFindItsOwn) {
  const auto older = [](Context& ctx) -> Task<std::string> {
    std::string way = ctx.patched("old") ? "old " : "";
    co_await ctx.activity<void>("work");
    co_return way;
  };
  const auto newer = [](Context& ctx) -> Task<std::string> {
    std::string way = ctx.patched("new") ? "new " : "";  // placed before the older one
    if (ctx.patched("old")) way += "old ";
    co_await ctx.activity<void>("work");
    co_return way;
  };
  Driver driver(older);
  driver.start();
  After after(driver, newer);
  EXPECT_EQ(result_of<std::string>(after.completes(after.only_open())), "old ");
  Driver fresh(newer);
  fresh.start();
  EXPECT_EQ(recorded_patches(fresh), (Names{"new", "old"}));
}

TEST(Patches, AskedForAfterTheLastActionOfARecordedTurnAreNotTaken) {
  const auto before = [](Context& ctx) -> Task<int> {
    const Future<void> work = ctx.activity<void>("work").start();
    co_await work;
    co_return 0;
  };
  const auto now = [](Context& ctx) -> Task<int> {
    const Future<void> work = ctx.activity<void>("work").start();
    const bool patched = ctx.patched("late");
    co_await work;
    if (ctx.patched("late") != patched) co_return -1;
    co_return patched ? 1 : 0;
  };
  Driver driver(before);
  driver.start();
  After after(driver, now);
  EXPECT_EQ(result_of<int>(after.completes(after.only_open())), 0);
}

TEST(Patches, AskedForWhereTheExecutionEndedAreNotTaken) {
  const auto before = [](Context& ctx) -> Task<int> {
    const Future<void> dropped = ctx.sleep(1h).start();
    co_await ctx.activity<void>("work");
    co_return 7;
  };
  const auto now = [](Context& ctx) -> Task<int> {
    const Future<void> dropped = ctx.sleep(1h).start();
    co_await ctx.activity<void>("work");
    if (ctx.patched("more")) co_await ctx.activity<void>("more");
    co_return 7;
  };
  Driver driver(before);
  driver.start();
  EXPECT_EQ(result_of<int>(driver.step(driver.completes(EventId{4}))), 7);
  EXPECT_TRUE(driver.replay_with(now, true));
}

TEST(Patches, BelongToOneExecution) {
  const auto code = [](Context& ctx) -> Task<> {
    if (!ctx.patched("x")) throw std::logic_error("not taken");
    co_await ctx.continue_as_new();
  };
  Driver driver(code);
  const Outcome outcome = driver.start();
  ASSERT_NE(end_of<history::ContinuedAsNew>(outcome), nullptr);
  Driver next(code);  // with a history of its own
  next.start();
  EXPECT_EQ(recorded_patches(next), Names{"x"});
}

TEST(Patches, AreAskedForAnewByTheNextAttempt) {
  const auto code = [](Context& ctx) -> Task<bool> { co_return ctx.patched("x"); };
  Driver driver(code);
  driver.retrying = {.policy = {.max_attempts = 3}, .attempt = 2};
  EXPECT_TRUE(result_of<bool>(driver.start()));
  EXPECT_EQ(recorded_patches(driver), Names{"x"});
}

// ---- where nothing is recorded ------------------------------------------------------------------

TEST(Patches, AreRefusedInASideEffect) {
  const auto code = [](Context& ctx) -> Task<std::string> {
    Context* const its = &ctx;
    auto effect = [its]() -> bool { return its->patched("x"); };
    Op<bool> op = ctx.side_effect(effect);
    const Result<bool> asked = co_await std::move(op).result();
    auto other = [its]() -> void { its->deprecate_patch("x"); };
    auto op2 = ctx.side_effect(other);
    const auto deprecated = co_await std::move(op2).result();
    co_return asked.error().message + "\n" + deprecated.error().message;
  };
  Driver driver(code);
  EXPECT_EQ(result_of<std::string>(driver.start()),
            "holdfast: ctx.patched() was called inside the function of a side effect, which is not called "
            "again on replay, so that replay would differ from history; do it before, and pass the value in\n"
            "holdfast: ctx.deprecate_patch() was called inside the function of a side effect, which is not "
            "called again on replay, so that replay would differ from history; do it before, and pass the "
            "value in");
  EXPECT_EQ(recorded_patches(driver), Names{});
}

/// Asks when it is destroyed.
struct Asks {
  explicit Asks(Context& c) : ctx(c) {}
  Asks(const Asks&) = delete;
  Asks& operator=(const Asks&) = delete;
  ~Asks() {
    ctx.deprecate_patch("deprecated");
    if (ctx.patched("dropped")) ctx.launch("cleanup", {.id = "cleanup"});
  }
  Context& ctx;
};

Task<> holds_asks(Context& ctx) {
  const Asks asks(ctx);
  co_await ctx.activity<void>("work");
}

TEST(Patches, AskedForByWhatIsDroppedInATurnAreTaken) {
  Driver driver([](Context& ctx) -> Task<> {
    co_await race(holds_asks(ctx), ctx.activity<void>("quick"));
    co_await ctx.activity<void>("more");
  });
  driver.start();
  const Outcome outcome = driver.step(driver.completes(EventId{4}));
  EXPECT_EQ(outcome.patches, (Names{"deprecated", "dropped"}));
  EXPECT_EQ(started<detail::DetachedStarted>(outcome).size(), 1u);
}

TEST(Patches, AskedForWhileFramesAreDestroyedAreNotTaken) {
  Driver driver(holds_asks);
  EXPECT_EQ(driver.start().patches, Names{});
  driver.forget_frames();
  EXPECT_EQ(recorded_patches(driver), Names{});
}

TEST(Patches, AskedForAfterADifferenceWasFoundAreNotTaken) {
  const auto before = [](Context& ctx) -> Task<> { co_await ctx.activity<void>("a"); };
  const auto now = [](Context& ctx) -> Task<> {
    ctx.set_value("k", 1);  // the difference; what follows still runs up to the next await
    if (ctx.patched("x")) throw std::logic_error("taken");
    ctx.deprecate_patch("y");
    co_await ctx.activity<void>("a");
  };
  Driver driver(before);
  driver.start();
  const auto outcome = driver.replay_with(now);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code_did, "started setting the value 'k'");
}

TEST(Patches, HaveNamesLikeAllElse) {
  Driver driver([](Context& ctx) -> Task<std::string> {
    std::string said;
    try {
      ctx.deprecate_patch("");
    } catch (const Error& e) {
      said = e.failure().message;
    }
    co_return said;
  });
  EXPECT_EQ(result_of<std::string>(driver.start()),
            "the name of a patch is empty; names have 1 to 255 bytes of UTF-8 without control characters");
}

TEST(Patches, OfAnExecutionAreLimited) {
  const auto code = [](Context& ctx) -> Task<std::string> {
    for (int i = 0; i < 1000; ++i) ctx.deprecate_patch("p" + std::to_string(i));
    std::string said;
    try {
      static_cast<void>(ctx.patched("one more"));
    } catch (const LimitError& e) {
      said = e.failure().type + ": " + e.failure().message;
    }
    co_await ctx.activity<void>("work");
    co_return ctx.patched("p999") ? said : "asked again";
  };
  Driver driver(code);
  driver.start();
  EXPECT_EQ(result_of<std::string>(driver.step(driver.completes(EventId{1003}))),
            "too_many_patches: an execution may take 1000 patches, and asks for 'one more' as well; name a "
            "patch after the change of the code, not after data");
}

// ---- reports ------------------------------------------------------------------------------------

Driver with_patch() {
  Driver driver(new_order);
  driver.start();
  driver.step(driver.completes(EventId{3}));
  return driver;
}

TEST(PatchReport, NamesThePatchThatTheCodeNoLongerAsksFor) {
  const std::string hint =
      "The code no longer asks for this patch: call deprecate_patch(\"check\") where it called "
      "patched(\"check\"), for as long as a running instance has the patch in its history.";
  Driver driver = with_patch();
  const auto outcome = driver.replay_with(unpatched_order);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().kind, Problem::Kind::nondeterminism);
  EXPECT_EQ(outcome.error().event, EventId{6});
  EXPECT_EQ(outcome.error().history_says, "the patch 'check'");
  EXPECT_EQ(outcome.error().code_did, "started activity 'check'");
  EXPECT_EQ(outcome.error().hint, hint);

  const auto waits = driver.replay_with([](Context& ctx) -> Task<> {
    const Future<void> other = ctx.activity<void>("reserve").start();
    co_await ctx.event<int>("never");
  });
  ASSERT_FALSE(waits);
  EXPECT_EQ(waits.error().event, EventId{4});  // another difference comes first

  const auto ends =
      driver.replay_with([](Context& ctx) -> Task<> { co_await ctx.activity<void>("reserve"); });
  ASSERT_FALSE(ends);
  EXPECT_EQ(ends.error().code_did, "ended with a result");
  EXPECT_EQ(ends.error().hint, hint);
}

TEST(PatchReport, NamesThePatchThatNobodyAsksForWhileTheCodeWaits) {
  Driver driver([](Context& ctx) -> Task<> {
    const Future<void> work = ctx.activity<void>("work").start();
    ctx.deprecate_patch("x");
    co_await work;
  });
  driver.start();
  const auto outcome =
      driver.replay_with([](Context& ctx) -> Task<> { co_await ctx.activity<void>("work"); });
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().event, EventId{4});
  EXPECT_EQ(outcome.error().code_did, "waits for activity 'work' (event 3)");
  EXPECT_TRUE(outcome.error().hint.starts_with("The code no longer asks for this patch: "));
}

TEST(PatchReport, TellsAPatchThatWasMovedFromOneThatIsGone) {
  Driver driver = with_patch();
  const auto outcome = driver.replay_with([](Context& ctx) -> Task<> {
    const bool patched = ctx.patched("check");  // before what history has in between
    co_await ctx.activity<void>("reserve");
    if (patched) co_await ctx.activity<void>("check");
    co_await ctx.activity<void>("charge");
  });
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().event, EventId{6});
  EXPECT_EQ(outcome.error().hint,
            "The code asks for this patch at another place than it did then: call patched(\"check\") where "
            "it was first called.");
}

TEST(PatchReport, NamesAPatchThatWasDeprecatedTooEarly) {
  Driver driver(old_order);
  driver.start();
  driver.step(driver.completes(EventId{3}));
  const auto outcome = driver.replay_with(checked_order);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code_did, "started activity 'check'");
  EXPECT_TRUE(outcome.error().hint.starts_with(
      "The code does something else here. This execution did not take the patch 'check', which the code has "
      "deprecated: call patched(\"check\") and keep the way without it, for as long as such an instance "
      "runs. "
      "Either the code was changed"))
      << outcome.error().hint;
}

TEST(PatchReport, FindsDamage) {
  Driver driver = with_patch();
  history::SegmentWriter writer(EventId{4});
  writer.add(history::TurnStarted{});
  writer.add(history::Completed{EventId{3}, encode(std::monostate{})});
  writer.add(history::Patched{});  // a patch has a name
  driver.segments().at(1) = writer.finish();
  const auto outcome = driver.replay_with(new_order);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().history_says, "the patch ''");
}

}  // namespace
}  // namespace holdfast::engine::patches_test
