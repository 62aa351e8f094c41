// Code that no longer does what history shows: found at its first difference, wherever that is, and told in
// words that help.
#include "engine/driver_test.hpp"

#include <ostream>
#include <stdexcept>

namespace holdfast::engine::nondeterminism_test {
namespace {

using Code = Task<> (*)(Context&);

/// Drives code for some turns; in each, everything that was started in the one before has its outcome.
Driver history_of(Code code, int turns) {
  Driver driver(code);
  Outcome outcome = driver.start();
  for (int turn = 1; turn < turns; ++turn) {
    std::vector<Message> messages;
    for (const Action& action : outcome.actions) {
      if (std::holds_alternative<detail::SessionOpened>(action.operation)) {
        messages.push_back(driver.completes(action.id, "s"));
      } else {
        messages.push_back(driver.completes(action.id, 0));
      }
    }
    for (const Address& address : outcome.waits) {
      Message message = driver.raises("", 0);
      std::get<Delivery>(message.body).address = address;
      messages.push_back(std::move(message));
    }
    outcome = driver.turn(std::move(messages));
  }
  return driver;
}

struct Change {
  const char* name;
  Code before;
  int turns;
  Code now;
  std::uint64_t event;  // the first that differs
  const char* history_says;
  const char* code_did;
  const char* hint;  // its first sentence
};

void PrintTo(const Change& change, std::ostream* out) { *out << change.name; }

class EveryChange : public testing::TestWithParam<Change> {};

TEST_P(EveryChange, IsFoundWhereItBegins) {
  const Change& change = GetParam();
  Driver driver = history_of(change.before, change.turns);
  const auto same = driver.replay_with(change.before);
  ASSERT_TRUE(same) << describe(same.error());
  for (const bool strict : {false, true}) {
    const auto outcome = driver.replay_with(change.now, strict);
    ASSERT_FALSE(outcome);
    const Problem& problem = outcome.error();
    EXPECT_EQ(problem.kind, Problem::Kind::nondeterminism);
    EXPECT_EQ(problem.event.value, change.event);
    EXPECT_EQ(problem.history_says, change.history_says);
    EXPECT_EQ(problem.code_did, change.code_did);
    EXPECT_EQ(problem.hint.substr(0, problem.hint.find(". ") + 1), change.hint);
  }
}

constexpr const char* kElse = "The code does something else here.";
constexpr const char* kMore = "The code does more than it did then.";
constexpr const char* kLess = "The code no longer does this here.";
constexpr const char* kEarly = "The code ends early.";
constexpr const char* kOtherEnd = "The code ends in another way.";
constexpr const char* kDrawn =
    "The ids are random numbers of this execution, so the code drew more or fewer of them before.";

// ---- another operation --------------------------------------------------------------------------

const Change kOtherOperations[] = {
    {"another_kind", [](Context& c) -> Task<> { co_await c.activity<void>("a"); }, 1,
     [](Context& c) -> Task<> { co_await c.sleep(1s); }, 3, "activity 'a'", "started a timer", kElse},
    {"another_name", [](Context& c) -> Task<> { co_await c.activity<void>("a"); }, 1,
     [](Context& c) -> Task<> { co_await c.activity<void>("b"); }, 3, "activity 'a'", "started activity 'b'",
     kElse},
    {"another_session", [](Context& c) -> Task<> { co_await c.activity<void>("a", {.session = "s"}); }, 1,
     [](Context& c) -> Task<> { co_await c.activity<void>("a", {.session = "t"}); }, 3,
     "activity 'a' on session 's'", "started activity 'a' on session 't'", kElse},
    {"no_session", [](Context& c) -> Task<> { co_await c.activity<void>("a", {.session = "s"}); }, 1,
     [](Context& c) -> Task<> { co_await c.activity<void>("a"); }, 3, "activity 'a' on session 's'",
     "started activity 'a'", kElse},
    {"a_session_where_none_was", [](Context& c) -> Task<> { co_await c.activity<void>("a"); }, 1,
     [](Context& c) -> Task<> { co_await c.activity<void>("a", {.session = "s"}); }, 3, "activity 'a'",
     "started activity 'a' on session 's'", kElse},
    {"another_queue", [](Context& c) -> Task<> { co_await c.activity<void>("a", {.queue = "cpu"}); }, 1,
     [](Context& c) -> Task<> { co_await c.activity<void>("a", {.queue = "gpu"}); }, 3,
     "activity 'a' in queue 'cpu'", "started activity 'a' in queue 'gpu'", kElse},
    {"another_child_id", [](Context& c) -> Task<> { co_await c.child<void>("ship", {.id = "1"}); }, 1,
     [](Context& c) -> Task<> { co_await c.child<void>("ship", {.id = "2"}); }, 3,
     "the child 'ship' with id '1'", "started the child 'ship' with id '2'", kElse},
    {"another_child", [](Context& c) -> Task<> { co_await c.child<void>("ship", {.id = "1"}); }, 1,
     [](Context& c) -> Task<> { co_await c.child<void>("send", {.id = "1"}); }, 3,
     "the child 'ship' with id '1'", "started the child 'send' with id '1'", kElse},
    {"another_detached_start", [](Context& c) -> Task<> { co_await c.start_detached("log", {.id = "1"}); }, 1,
     [](Context& c) -> Task<> { co_await c.start_detached("log", {.id = "2"}); }, 3,
     "the detached start of 'log' with id '1'", "started the detached start of 'log' with id '2'", kElse},
    {"another_event", [](Context& c) -> Task<> { co_await c.event<int>("paid"); }, 1,
     [](Context& c) -> Task<> { co_await c.event<int>("sent"); }, 3, "a wait for the event 'paid'",
     "started a wait for the event 'sent'", kElse},
    {"another_mailbox", [](Context& c) -> Task<> { co_await c.mailbox<int>("in").receive(); }, 1,
     [](Context& c) -> Task<> { co_await c.mailbox<int>("out").receive(); }, 3,
     "a wait for a message in mailbox 'in'", "started a wait for a message in mailbox 'out'", kElse},
    {"a_look_where_a_wait_was", [](Context& c) -> Task<> { co_await c.mailbox<int>("in").receive(); }, 1,
     [](Context& c) -> Task<> { co_await c.mailbox<int>("in").try_receive(); }, 3,
     "a wait for a message in mailbox 'in'", "started a try_receive() from mailbox 'in'", kElse},
    {"another_session_opened", [](Context& c) -> Task<> { co_await c.open_session({.id = "s"}); }, 1,
     [](Context& c) -> Task<> { co_await c.open_session({.id = "t"}); }, 3, "opening the session 's'",
     "started opening the session 't'", kElse},
    {"another_session_closed", [](Context& c) -> Task<> { co_await c.session("s").close(); }, 1,
     [](Context& c) -> Task<> { co_await c.session("t").close(); }, 3, "closing the session 's'",
     "started closing the session 't'", kElse},
    {"news_of_another_session", [](Context& c) -> Task<> { co_await c.session("s").next_event(); }, 1,
     [](Context& c) -> Task<> { co_await c.session("t").next_event(); }, 3,
     "a wait for an event of session 's'", "started a wait for an event of session 't'", kElse},
    {"another_value_read", [](Context& c) -> Task<> { co_await c.value_of<int>("i", "k"); }, 1,
     [](Context& c) -> Task<> { co_await c.value_of<int>("j", "k"); }, 3,
     "reading the value 'k' of instance 'i'", "started reading the value 'k' of instance 'j'", kElse},
    {"another_value_set",
     [](Context& c) -> Task<> {
       c.set_value("k", 1);
       co_await c.sleep(1s);
     },
     1,
     [](Context& c) -> Task<> {
       c.set_value("l", 1);
       co_await c.sleep(1s);
     },
     3, "setting the value 'k'", "started setting the value 'l'", kElse},
    {"cleared_where_it_was_set",
     [](Context& c) -> Task<> {
       c.set_value("k", 1);
       co_await c.sleep(1s);
     },
     1,
     [](Context& c) -> Task<> {
       c.clear_value("k");
       co_await c.sleep(1s);
     },
     3, "setting the value 'k'", "started clearing the value 'k'", kElse},
    {"a_message_to_another_mailbox",
     [](Context& c) -> Task<> {
       c.send("i", "in", 1);
       co_await c.sleep(1s);
     },
     1,
     [](Context& c) -> Task<> {
       c.send("i", "out", 1);
       co_await c.sleep(1s);
     },
     3, "a message for mailbox 'in' to instance 'i'", "started a message for mailbox 'out' to instance 'i'",
     kElse},
    {"an_event_for_another_instance",
     [](Context& c) -> Task<> {
       c.raise("i", "go", 1);
       co_await c.sleep(1s);
     },
     1,
     [](Context& c) -> Task<> {
       c.raise("j", "go", 1);
       co_await c.sleep(1s);
     },
     3, "the event 'go' to instance 'i'", "started the event 'go' to instance 'j'", kElse},
    {"a_request_to_cancel_another",
     [](Context& c) -> Task<> {
       c.cancel("i", "enough");
       co_await c.sleep(1s);
     },
     1,
     [](Context& c) -> Task<> {
       c.cancel("j", "enough");
       co_await c.sleep(1s);
     },
     3, "a request to cancel instance 'i'", "started a request to cancel instance 'j'", kElse},
    {"awaited_where_it_was_launched",
     [](Context& c) -> Task<> {
       c.launch("log", {.id = "1"});
       co_await c.sleep(1s);
     },
     1, [](Context& c) -> Task<> { co_await c.start_detached("log", {.id = "1"}); }, 3,
     "the launch of 'log' with id '1'", "started the detached start of 'log' with id '1'", kElse},
    {"an_activity_where_a_side_effect_was",
     [](Context& c) -> Task<> { co_await c.side_effect([] { return 1; }); }, 1,
     [](Context& c) -> Task<> { co_await c.activity<int>("a"); }, 3, "a side effect", "started activity 'a'",
     kElse},
    {"more_random_numbers_before_a_child", [](Context& c) -> Task<> { co_await c.child<void>("ship"); }, 1,
     [](Context& c) -> Task<> {
       static_cast<void>(c.random());
       co_await c.child<void>("ship");
     },
     3, "the child 'ship' with id '15780b2e0c2ec7166104d9866d113a7e'",
     "started the child 'ship' with id '6104d9866d113a7eae17533239e499a1'", kDrawn},
};
INSTANTIATE_TEST_SUITE_P(OtherOperation, EveryChange, testing::ValuesIn(kOtherOperations),
                         [](const auto& test) { return std::string(test.param.name); });

// ---- at every position --------------------------------------------------------------------------

// Four turns: a; b and c; d; the end.
Task<> steps(Context& c) {
  co_await c.activity<void>("a");
  co_await when_all(c.activity<void>("b"), c.activity<void>("c"));
  co_await c.activity<void>("d");
}

const Change kPositions[] = {
    {"more_before_the_first", steps, 4,
     [](Context& c) -> Task<> {
       co_await c.activity<void>("new");
       co_await steps(c);
     },
     3, "activity 'a'", "started activity 'new'", kElse},
    {"in_another_order", steps, 4,
     [](Context& c) -> Task<> {
       co_await c.activity<void>("a");
       co_await when_all(c.activity<void>("c"), c.activity<void>("b"));
       co_await c.activity<void>("d");
     },
     6, "activity 'b'", "started activity 'c'", kElse},
    {"another_one_in_the_middle_of_a_turn", steps, 4,
     [](Context& c) -> Task<> {
       co_await c.activity<void>("a");
       co_await when_all(c.activity<void>("b"), c.activity<void>("new"));
       co_await c.activity<void>("d");
     },
     7, "activity 'c'", "started activity 'new'", kElse},
    {"more_at_the_end_of_a_turn", steps, 4,
     [](Context& c) -> Task<> {
       co_await c.activity<void>("a");
       co_await when_all(c.activity<void>("b"), c.activity<void>("c"), c.activity<void>("new"));
       co_await c.activity<void>("d");
     },
     8, "nothing more in this turn", "started activity 'new'", kMore},
    {"more_between_two_completions", steps, 4,
     [](Context& c) -> Task<> {
       const auto b = [](Context& ctx) -> Task<> {
         co_await ctx.activity<void>("b");
         co_await ctx.activity<void>("new");
       };
       co_await c.activity<void>("a");
       co_await when_all(b(c), c.activity<void>("c"));
       co_await c.activity<void>("d");
     },
     10, "the completion of event 7", "started activity 'new'", kMore},
    {"less_in_the_middle_of_a_turn", steps, 4,
     [](Context& c) -> Task<> {
       co_await c.activity<void>("a");
       co_await c.activity<void>("c");
       co_await c.activity<void>("d");
     },
     6, "activity 'b'", "started activity 'c'", kElse},
    {"less_at_the_end_of_a_turn", steps, 4,
     [](Context& c) -> Task<> {
       co_await c.activity<void>("a");
       co_await c.activity<void>("b");
       co_await c.activity<void>("d");
     },
     7, "activity 'c'", "waits for activity 'b' (event 6)", kLess},
    {"waits_for_more_than_it_did", steps, 4,
     [](Context& c) -> Task<> {
       auto d = c.event<void>("new");
       co_await c.activity<void>("a");
       co_await when_all(c.activity<void>("b"), c.activity<void>("c"));
       co_await std::move(d);
     },
     11, "activity 'd'", "started a wait for the event 'new'", kElse},
    {"ends_before_its_first_operation", steps, 4, [](Context&) -> Task<> { co_return; }, 3, "activity 'a'",
     "ended with a result", kEarly},
    {"ends_in_the_middle", steps, 4, [](Context& c) -> Task<> { co_await c.activity<void>("a"); }, 6,
     "activity 'b'", "ended with a result", kEarly},
    {"fails_in_the_middle", steps, 4,
     [](Context& c) -> Task<> {
       co_await c.activity<void>("a");
       throw std::runtime_error("no stock");
     },
     6, "activity 'b'", "ended with the failure 'no stock'", kEarly},
    {"ends_before_a_completion", steps, 4,
     [](Context& c) -> Task<> {
       co_await c.activity<void>("a");
       co_await race(c.activity<void>("b"), c.activity<void>("c"));
     },
     10, "the completion of event 7", "ended with a result", kEarly},
    {"ends_where_history_goes_on_waiting",
     [](Context& c) -> Task<> {
       co_await c.activity<void>("a");
       co_await c.event<void>("go");
     },
     2, [](Context& c) -> Task<> { co_await c.activity<void>("a"); }, 6, "a wait for the event 'go'",
     "ended with a result", kEarly},
    {"goes_on_after_the_end", steps, 4,
     [](Context& c) -> Task<> {
       co_await steps(c);
       co_await c.activity<void>("new");
     },
     14, "the end of the execution with a result", "started activity 'new'", kMore},
    {"waits_in_another_place",
     [](Context& c) -> Task<> {
       auto a = c.activity<void>("a").start();
       auto b = c.activity<void>("b").start();
       co_await a;
     },
     2,
     [](Context& c) -> Task<> {
       auto a = c.activity<void>("a").start();
       auto b = c.activity<void>("b").start();
       auto e = c.event<void>("e").start();
       co_await when_all(a, b);
     },
     5, "nothing more in this turn", "started a wait for the event 'e'", kMore},
};
INSTANTIATE_TEST_SUITE_P(Position, EveryChange, testing::ValuesIn(kPositions),
                         [](const auto& test) { return std::string(test.param.name); });

// ---- ends ---------------------------------------------------------------------------

const Change kEnds[] = {
    {"a_failure_where_a_result_was", steps, 4,
     [](Context& c) -> Task<> {
       co_await steps(c);
       throw std::runtime_error("no stock");
     },
     14, "the end of the execution with a result", "ended with the failure 'no stock'", kOtherEnd},
    {"a_result_where_a_failure_was",
     [](Context& c) -> Task<> {
       co_await c.activity<void>("a");
       throw std::runtime_error("no stock");
     },
     2, [](Context& c) -> Task<> { co_await c.activity<void>("a"); }, 6,
     "the end of the execution with the failure 'no stock'", "ended with a result", kOtherEnd},
    {"continue_as_new_where_a_result_was", [](Context& c) -> Task<> { co_await c.activity<void>("a"); }, 2,
     [](Context& c) -> Task<> {
       co_await c.activity<void>("a");
       co_await c.continue_as_new();
     },
     6, "the end of the execution with a result", "continued as new", kOtherEnd},
    {"a_result_where_continue_as_new_was",
     [](Context& c) -> Task<> {
       co_await c.activity<void>("a");
       co_await c.continue_as_new();
     },
     2, [](Context& c) -> Task<> { co_await c.activity<void>("a"); }, 6, "continue-as-new",
     "ended with a result", kOtherEnd},
};
INSTANTIATE_TEST_SUITE_P(End, EveryChange, testing::ValuesIn(kEnds),
                         [](const auto& test) { return std::string(test.param.name); });

// ---- cancels ------------------------------------------------------------------------------------

// What is alive when the timer is over, and what is dropped then.
template <class F>
Task<> drops_at(Context& c, F drop) {
  auto a = std::optional(c.activity<void>("a").start());
  auto b = std::optional(c.activity<void>("b").start());
  auto value = std::optional(c.value_of<int>("i", "k").start());
  co_await c.sleep(1s);
  drop(a, b, value);
  co_await c.sleep(1s);
  co_await c.event<void>("go");
}
Task<> drops_nothing(Context& c) {
  co_await drops_at(c, [](auto&, auto&, auto&) {});
}
Task<> drops_a(Context& c) {
  co_await drops_at(c, [](auto& a, auto&, auto&) { a.reset(); });
}
Task<> drops_b(Context& c) {
  co_await drops_at(c, [](auto&, auto& b, auto&) { b.reset(); });
}
Task<> drops_both(Context& c) {
  co_await drops_at(c, [](auto& a, auto& b, auto&) { a.reset(), b.reset(); });
}
Task<> drops_the_value(Context& c) {
  co_await drops_at(c, [](auto&, auto&, auto& value) { value.reset(); });
}

Driver two_turns_of(Code code) {
  Driver driver(code);
  driver.start();
  driver.step(driver.completes(EventId{6}));
  return driver;
}

void expect_problem(Driver driver, Code now, std::uint64_t event, const std::string& history_says,
                    const std::string& code_did, const std::string& hint) {
  const auto outcome = driver.replay_with(now);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().kind, Problem::Kind::nondeterminism);
  EXPECT_EQ(outcome.error().event.value, event);
  EXPECT_EQ(outcome.error().history_says, history_says);
  EXPECT_EQ(outcome.error().code_did, code_did);
  EXPECT_EQ(outcome.error().hint.substr(0, outcome.error().hint.find(". ") + 1), hint);
}

TEST(Cancels, MoreThanThenAreFound) {
  const char* const hint = "The code drops something earlier than it did then.";
  expect_problem(two_turns_of(drops_nothing), drops_a, 10, "nothing more in this turn",
                 "cancelled activity 'a' (event 3)", hint);
  expect_problem(two_turns_of(drops_a), drops_both, 11, "nothing more in this turn",
                 "cancelled activity 'b' (event 4)", hint);
}

TEST(Cancels, FewerThanThenAreFound) {
  const char* const hint = "The code drops something else, or at another time, than it did then.";
  expect_problem(two_turns_of(drops_a), drops_nothing, 10, "the cancellation of event 3",
                 "cancelled nothing in this turn", hint);
  expect_problem(two_turns_of(drops_both), drops_a, 11, "the cancellation of event 4",
                 "cancelled nothing more", hint);
}

TEST(Cancels, OfSomethingElseAreFound) {
  expect_problem(two_turns_of(drops_a), drops_b, 10, "the cancellation of event 3",
                 "cancelled activity 'b' (event 4)",
                 "The code drops something else, or at another time, than it did then.");
}

// No cancel is recorded for a value that is read, so the difference shows when its outcome comes.
TEST(Cancels, OfWhatIsNeverCancelledAreFoundAtTheirOutcome) {
  Driver driver = two_turns_of(drops_nothing);
  driver.step(driver.completes(EventId{5}, std::optional<Payload>()));
  expect_problem(std::move(driver), drops_the_value, 11, "the completion of event 5",
                 "does not wait for the outcome of that event, or had it before",
                 "The code gave it up earlier than it did then.");
}

TEST(End, ThatNoLongerComesIsFound) {
  const Code before = [](Context& c) -> Task<> {
    auto a = c.event<void>("a").start();
    co_await c.activity<void>("b");
  };
  const Code now = [](Context& c) -> Task<> {
    auto a = c.event<void>("a").start();
    co_await c.activity<void>("b");
    co_await a;
  };
  Driver driver(before);
  driver.start();
  driver.step(driver.completes(EventId{4}));
  expect_problem(std::move(driver), now, 7, "the end of the execution with a result",
                 "waits for an event named 'a' (event 3)", "The code no longer ends here.");
}

TEST(End, ThatComesWhereHistoryWaitsIsFound) {
  const Code before = [](Context& c) -> Task<> {
    auto a = c.event<void>("a").start();
    co_await c.activity<void>("b");
    co_await a;
  };
  const Code now = [](Context& c) -> Task<> {
    auto a = c.event<void>("a").start();
    co_await c.activity<void>("b");
  };
  Driver driver(before);
  driver.start();
  driver.step(driver.completes(EventId{4}));
  expect_problem(std::move(driver), now, 7, "nothing more in this turn", "ended with a result",
                 "The code ends early.");
}

// ---- what may change ----------------------------------------------------------------------------

struct Order {
  std::string id{};
};
struct OrderWithNote {
  std::string id{};
  std::string note{};
};

Task<> charges(Context& c) {
  const Order order{"o-1"};
  co_await c.activity<void>("charge", order);
  co_await c.child<void>("ship", {.id = "s"}, order);
  co_await c.activity<void>("print", {.queue = "q"}, order);
}
Task<> charges_with_note(Context& c) {
  const OrderWithNote order{"o-1", "fragile"};
  co_await c.activity<void>("charge", order);
  co_await c.child<void>("ship", {.id = "s"}, order);
  co_await c.activity<void>("print", {.queue = "q"}, order);
}

TEST(Inputs, MayHaveANewFieldExceptInStrictMode) {
  Driver driver = history_of(charges, 4);
  const auto lenient = driver.replay_with(charges_with_note);
  EXPECT_TRUE(lenient) << describe(lenient.error());
  const auto strict = driver.replay_with(charges_with_note, true);
  ASSERT_FALSE(strict);
  EXPECT_EQ(strict.error().event.value, 3U);
  EXPECT_EQ(strict.error().history_says, "activity 'charge' with the input {\"id\":\"o-1\"}");
  EXPECT_EQ(strict.error().code_did, "started it with the input {\"id\":\"o-1\",\"note\":\"fragile\"}");
}

TEST(Inputs, ThatAreLongAreShownWhereTheyDiffer) {
  const Code before = [](Context& c) -> Task<> {
    const std::string text = std::string(200, 'x') + " then " + std::string(200, 'y');
    co_await c.activity<void>("a", text);
  };
  const Code now = [](Context& c) -> Task<> {
    const std::string text = std::string(200, 'x') + " now " + std::string(200, 'y');
    co_await c.activity<void>("a", text);
  };
  const auto strict = history_of(before, 1).replay_with(now, true);
  ASSERT_FALSE(strict);
  EXPECT_EQ(strict.error().history_says, "activity 'a' with the input ..." + std::string(19, 'x') + " then " +
                                             std::string(55, 'y') + "...");
}

TEST(Options, MayChange) {
  const Code before = [](Context& c) -> Task<> {
    co_await c.activity<void>("a");
    co_await c.sleep(1s);
    co_await c.side_effect([] { return 1; });
    c.set_value("k", 1);
    co_await c.child<void>("ship", {.id = "s"});
    co_await c.open_session({.id = "s", .ttl = 1h});
  };
  const Code now = [](Context& c) -> Task<> {
    co_await c.activity<void>("a", {.timeout = 5s, .retry = {.max_attempts = 9}, .priority = 3});
    co_await c.sleep(24h);
    co_await c.side_effect([] { return 2; });
    c.set_value("k", 2);
    c.set_status("new");
    co_await c.child<void>("ship",
                           {.id = "s", .version = "2", .on_parent_close = ParentClosePolicy::abandon});
    co_await c.open_session({.id = "s", .requirements = {"gpu"}, .ttl = 2h});
  };
  for (int turns = 1; turns < 6; ++turns) {
    const auto outcome = history_of(before, turns).replay_with(now);
    EXPECT_TRUE(outcome) << describe(outcome.error());
  }
}

int external = 0;

TEST(Results, AreComparedInStrictMode) {
  const auto returns = [](Context& ctx) -> Task<std::string> {
    co_await ctx.sleep(1s);
    co_return "number " + std::to_string(external);
  };
  external = 1;
  Driver driver(returns);
  driver.start();
  driver.step(driver.completes(EventId{3}));
  external = 2;
  EXPECT_TRUE(driver.replay_with(returns));
  const auto strict = driver.replay_with(returns, true);
  ASSERT_FALSE(strict);
  EXPECT_EQ(strict.error().history_says, "the end of the execution with a result: \"number 1\"");
  EXPECT_EQ(strict.error().code_did, "ended with a result: \"number 2\"");
}

TEST(Values, AreComparedInStrictMode) {
  const auto keeps = [](Context& ctx) -> Task<int> {
    ctx.set_value("count", external);
    ctx.clear_value("old");
    co_return 1;
  };
  external = 1;
  Driver driver(keeps);
  driver.start();
  EXPECT_TRUE(driver.replay_with(keeps, true));
  external = 2;
  EXPECT_TRUE(driver.replay_with(keeps));
  const auto strict = driver.replay_with(keeps, true);
  ASSERT_FALSE(strict);
  EXPECT_EQ(strict.error().history_says, "setting the value 'count' with the input 1");
  EXPECT_EQ(strict.error().code_did, "started it with the input 2");
}

// ---- the report ---------------------------------------------------------------------------------

TEST(Report, SaysWhatHappenedWhereAndWhatToDo) {
  const auto outcome = history_of(steps, 4).replay_with([](Context& c) -> Task<> {
    co_await c.activity<void>("a");
    co_await c.activity<void>("b");
  });
  ASSERT_FALSE(outcome);
  EXPECT_EQ(
      describe(outcome.error()),
      "the code no longer matches its history at event 7: history has activity 'c', but the code waits for "
      "activity 'b' (event 6). The code no longer does this here. Either the code was changed, or it "
      "depends on something that history does not have: a clock, random numbers, global state, the order "
      "of a hash map. Undo the change, guard it with ctx.patched(), or register the new code as another "
      "version: "
      "running instances keep the version that they began with.");
  const Failure failure = to_failure(outcome.error());
  EXPECT_EQ(failure.category, Category::nondeterminism);
  EXPECT_EQ(failure.type, "nondeterminism");
  EXPECT_EQ(failure.event, EventId{7});
  EXPECT_FALSE(failure.retryable);
}

TEST(Report, CountsWhatElseTheCodeWaitsFor) {
  const auto outcome = history_of(steps, 4).replay_with([](Context& c) -> Task<> {
    auto x = c.activity<void>("a").start();
    co_await c.activity<void>("b");
  });
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code_did, "started activity 'b'");
  const Code before = [](Context& c) -> Task<> {
    auto a = c.activity<void>("a").start();
    auto b = c.sleep(1s).start();
    co_await c.activity<void>("c");
  };
  const auto waits = history_of(before, 1).replay_with([](Context& c) -> Task<> {
    auto a = c.activity<void>("a").start();
    co_await c.sleep(1s);
  });
  ASSERT_FALSE(waits);
  EXPECT_EQ(waits.error().code_did, "waits for activity 'a' (event 3) and 1 more");
}

}  // namespace
}  // namespace holdfast::engine::nondeterminism_test
