// Failures at every place where a call can fail: all of it has happened or nothing, and repeating it is safe.
#include "testkit/conformance/story.hpp"

#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <typeindex>

HOLDFAST_CONFORMANCE_FILE(failures);

namespace holdfast::testing::conformance {
namespace {

/// A call that can be made again as it was, and tells what it was answered.
using Call = std::function<std::string()>;

struct Case {
  /// Makes the world in which the call is tried; the same one each time.
  std::function<Call(World&)> prepare{};
  /// What the call answers when it has happened before and only its answer was lost.
  std::string again{};
  /// Whether it does something also then.
  bool has_effect_again = false;
  /// Whether it may be several transactions, each of which stands alone.
  bool in_slices = false;
};

/// Numbers by their order. A store may leave a gap where a transaction has failed: what counts is which
/// number is the same as which, and which is greater.
class InOrder {
 public:
  explicit InOrder(StoreState state) : state_(std::move(state)) {
    visit([this](auto& number) { kinds_[kind_of(number)].insert(value_of(number)); });
    visit([this](auto& number) {
      const std::set<std::uint64_t>& all = kinds_[kind_of(number)];
      const auto rank = std::distance(all.begin(), all.find(value_of(number)));
      if (value_of(number) != 0) value_of(number) = static_cast<std::uint64_t>(rank) + 1;
    });
  }
  [[nodiscard]] const StoreState& state() const { return state_; }

 private:
  struct LogNumber {
    std::uint64_t& value;
  };
  struct AsideNumber {
    std::uint64_t& value;
  };

  template <class Tag>
  static std::type_index kind_of(const Number<Tag>&) {
    return typeid(Tag*);
  }
  static std::type_index kind_of(const LogNumber&) { return typeid(LogNumber); }
  static std::type_index kind_of(const AsideNumber&) { return typeid(AsideNumber); }
  template <class T>
  static std::uint64_t& value_of(T& number) {
    return number.value;
  }

  template <class Visitor>
  void visit(const Visitor& number) {
    for (InstanceRow& row : state_.instances) {
      number(row.view.key);
      number(row.view.parent);
      if (row.locked_by) number(*row.locked_by);
      for (Message& message : row.messages) {
        number(message.id);
        if (auto* const news = std::get_if<SessionNews>(&message.body)) number(news->generation);
      }
    }
    for (ActivityRow& row : state_.activities) {
      number(row.view.id.instance);
      number(row.generation);
    }
    for (SessionView& session : state_.sessions) {
      number(session.worker);
      number(session.generation);
      number(session.held_since);
    }
    for (SessionLogEntry& entry : state_.session_log) {
      LogNumber log_number{entry.number};
      number(log_number);
      number(entry.generation);
    }
    for (WorkerView& worker : state_.workers) number(worker.key);
    for (CancelRecord& record : state_.cancels) number(record.id.instance);
    for (SetAsideRow& row : state_.set_aside) {
      AsideNumber aside_number{row.number};
      number(aside_number);
      number(row.key);
    }
  }

  StoreState state_;
  std::map<std::type_index, std::set<std::uint64_t>> kinds_{};
};

std::string look_at(const World& world) { return text(InOrder(world.state()).state()); }

/// What happens when nothing goes wrong.
struct Undisturbed {
  std::string before{};
  std::string said{};
  std::string after{};
  std::map<std::string, std::uint64_t> points{};
};

Undisturbed without_failures(const StoreUnderTest& under_test, const Case& tried) {
  World world(under_test);
  const Call call = tried.prepare(world);
  Undisturbed undisturbed{.before = look_at(world)};
  world.faults().clear();
  undisturbed.said = call();
  undisturbed.points = world.faults().passed();
  undisturbed.after = look_at(world);
  return undisturbed;
}

/// Whether a lost answer at this point leaves the call done. A store that asks at one point only commits
/// there.
bool commits(const std::string& point, const Undisturbed& undisturbed) {
  return point.ends_with("commit") || undisturbed.points.size() == 1;
}

void expect_answer(const std::string& said, const std::string& expected) { EXPECT_EQ(said, expected); }

/// What the call answers, once nobody is in its way: a server on a busy machine may hold a lock for longer
/// than calls of workers wait. Nothing happened then, and no fault was met.
std::string answer_of(const Call& call) {
  std::string said = call();
  for (int i = 0; i < 100 && said.find("busy") != std::string::npos; ++i) said = call();
  return said;
}

void fail_at(const StoreUnderTest& under_test, const Case& tried, const Undisturbed& undisturbed,
             const std::string& point, std::uint64_t passage, Fault fault) {
  World world(under_test);
  const Call call = tried.prepare(world);
  world.faults().clear();
  world.faults().inject(point, passage, fault);
  const std::string said = answer_of(call);
  EXPECT_EQ(world.faults().pending(), 0U) << "the call took another way this time";
  world.faults().clear();
  EXPECT_NE(said.find("unavailable"), std::string::npos) << "it answered " << said;

  const std::string now = look_at(world);
  const bool happened = now == undisturbed.after && now != undisturbed.before;
  if (!tried.in_slices) {
    const bool should = fault == Fault::lose_answer && commits(point, undisturbed);
    EXPECT_EQ(now, should ? undisturbed.after : undisturbed.before);
  }
  expect_answer(answer_of(call), happened ? tried.again : undisturbed.said);
  if (!(happened && tried.has_effect_again)) {
    EXPECT_EQ(look_at(world), undisturbed.after);
  }
}

/// Tries the call once for each place and way to fail. Stores without such places have nothing to show here.
void fail_everywhere(const World& world, const Case& tried) {
  const Undisturbed undisturbed = without_failures(world.under_test(), tried);
  if (undisturbed.points.empty()) GTEST_SKIP() << "the store asks its fault plan nothing";
  for (const auto& [point, passages] : undisturbed.points) {
    for (std::uint64_t passage = 1; passage <= passages; ++passage) {
      for (const Fault fault : {Fault::fail_before, Fault::lose_answer}) {
        SCOPED_TRACE(point + ", passage " + std::to_string(passage) +
                     (fault == Fault::fail_before ? ", failing before" : ", losing the answer"));
        fail_at(world.under_test(), tried, undisturbed, point, passage, fault);
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
}

std::string joined(const Texts& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : ", ") + text;
  return all;
}

/// What the store says of a fetch: the names, or the error.
std::string said(const StoreResult<FetchedTurns>& fetched) {
  if (!fetched) return answer(fetched);
  Texts names;
  for (const LockedTurn& turn : fetched->turns) names.push_back(turn.instance);
  return joined(names);
}
std::string said(const StoreResult<FetchedActivities>& fetched) {
  if (!fetched) return answer(fetched);
  Texts names;
  for (const LockedActivity& activity : fetched->activities) names.push_back(activity.name);
  return joined(names);
}
std::string said(const StoreResult<std::uint64_t>& count) {
  return count ? std::to_string(*count) : answer(count);
}
std::string said(const StoreResult<InstanceKey>& key) { return key ? to_string(*key) : answer(key); }
std::string said(const StoreResult<StartAnswer>& started) {
  if (!started) return answer(started);
  return started->is_new ? "new" : "there";
}

// ---- workers ------------------------------------------------------------------------------------

STORE_TEST(Failures, OfAJoin) {
  fail_everywhere(*this, {.prepare = [](World& world) -> Call {
                            world.join("a");
                            return [&world] { return answer(world.store().join(worker_info("a"))); };
                          },
                          .again = "ok",
                          .has_effect_again = true});
}

STORE_TEST(Failures, OfARefresh) {
  fail_everywhere(*this, {.prepare = [](World& world) -> Call {
                            const Worker a = world.join("a");
                            world.pass(5s);
                            return [&world, a] { return answer(world.store().refresh(a.key, true)); };
                          },
                          .again = "ok"});
}

// ---- turns --------------------------------------------------------------------------------------

STORE_TEST(Failures, OfAFetchOfTurns) {
  fail_everywhere(*this,
                  {.prepare = [](World& world) -> Call {
                     const Worker a = world.join("a");
                     a.commit(a.begin("order-1").sets_timer(EventId{5}, world.clock().calendar_now() + 1s));
                     world.pass(1s);
                     world.start("order-2");
                     return [&world, a, token = world.token<LockToken>()] {
                       return said(world.store().fetch_turns(
                           {.worker = a.key, .code = &a.info.code, .token = token, .lease = 5s, .max = 10}));
                     };
                   },
                   .again = ""});
}

/// A turn that does something of every kind, and what it needs for that.
Turn& does_everything(const World& world, Turn& turn) {
  return turn.schedules({.event = EventId{40}, .name = "charge"})
      .schedules({.event = EventId{41}, .name = "ship", .hand_off = true})
      .cancels(EventId{31})
      .sets_timer(EventId{42}, world.clock().calendar_now() + 1h)
      .cancels_timer(EventId{32})
      .sends("other", delivery(event("greeting"), "hello"))
      .starts_child("child-1")
      .sets_value("colour", "blue")
      .removes_value("size")
      .reads_value(EventId{43}, "other", "size")
      .opens_session("gpu", {.on_record = true}, EventId{44})
      .closes_session("cpu", EventId{45})
      .watches_session("gpu")
      .shows("half done")
      .waits_for({event("decision"), mailbox("orders")});
}

/// An instance that has one of everything, and its next turn.
Turn with_everything(World& world, const Worker& worker) {
  worker.commit(worker.begin("other"));
  Turn turn = worker.begin("order-1");
  turn.schedules({.event = EventId{30}, .name = "charge", .hand_off = true})
      .schedules({.event = EventId{31}, .name = "ship", .hand_off = true})
      .sets_timer(EventId{32}, world.clock().calendar_now() + 1h)
      .sets_value("size", "large")
      .opens_session("cpu", {.on_record = true})
      .keeps_lock();
  const std::vector<Work> works = worker.commit_and_run(turn);
  world.post("order-1", "orders", "unread");
  world.tell("order-1", "hello");
  Turn next = worker.news_of(turn).value();
  next.completes(works.at(0)).sets_aside(1);
  return does_everything(world, next);
}

STORE_TEST(Failures, OfACommit) {
  fail_everywhere(*this, {.prepare = [](World& world) -> Call {
                            const Worker a = world.join("a");
                            const Turn turn = with_everything(world, a).keeps_lock();
                            return [a, turn] { return answer(a.try_commit(turn)); };
                          },
                          .again = "lost"});
}

STORE_TEST(Failures, OfACommitThatEndsTheInstance) {
  fail_everywhere(*this, {.prepare = [](World& world) -> Call {
                            const Worker a = world.join("a");
                            const Turn turn = with_everything(world, a).ends();
                            return [a, turn] { return answer(a.try_commit(turn)); };
                          },
                          .again = "lost"});
}

STORE_TEST(Failures, OfACommitThatContinuesAsNew) {
  fail_everywhere(*this, {.prepare = [](World& world) -> Call {
                            const Worker a = world.join("a");
                            const Turn turn = with_everything(world, a).continues_as_new("again");
                            return [a, turn] { return answer(a.try_commit(turn)); };
                          },
                          .again = "lost"});
}

STORE_TEST(Failures, OfABatchOfCommits) {
  fail_everywhere(*this, {.prepare = [](World& world) -> Call {
                            const Worker a = world.join("a");
                            for (const char* id : {"order-1", "order-2", "order-3"}) world.start(id);
                            Turns fetched = a.fetch_turns();
                            std::vector<TurnCommit> commits;
                            for (Turn& turn : fetched.turns)
                              commits.push_back(turn.schedules("charge").commit);
                            commits.at(1).expected = world.token<TurnStamp>();
                            return [a, commits] { return joined(answers(a.try_commit(commits))); };
                          },
                          .again = "lost, lost, lost"});
}

STORE_TEST(Failures, OfARelease) {
  fail_everywhere(*this,
                  {.prepare = [](World& world) -> Call {
                     const Worker a = world.join("a");
                     const Turn turn = a.begin("order-1");
                     return [a, turn] {
                       return answer(a.release({.key = turn.key(), .token = turn->token, .park = "why"}));
                     };
                   },
                   .again = "lost"});
}

STORE_TEST(Failures, OfARenewalOfTurns) {
  fail_everywhere(*this, {.prepare = [](World& world) -> Call {
                            const Worker a = world.join("a");
                            const Turn turn = a.begin("order-1");
                            world.pass(3s);
                            return [a, turn] { return answer(a.renew(turn)); };
                          },
                          .again = "ok"});
}

STORE_TEST(Failures, OfWakingParkedInstances) {
  fail_everywhere(*this, {.prepare = [](World& world) -> Call {
                            const Worker a = world.join("a");
                            const Turn turn = a.begin("order-1");
                            must(a.release({.key = turn.key(), .token = turn->token, .park = "why"}));
                            return [&world, a] { return said(world.store().wake_parked(a.info.code)); };
                          },
                          .again = "0"});
}

// ---- activities ---------------------------------------------------------------------------------

NewActivity of_session(const char* id) { return {.name = "charge", .session = SessionUse{.id = id}}; }

STORE_TEST(Failures, OfAFetchOfActivities) {
  fail_everywhere(
      *this,
      {.prepare = [](World& world) -> Call {
         const Worker a = world.join("a");
         a.commit(a.begin("order-1").schedules("ship").schedules(of_session("gpu")));
         return [&world, a, token = world.token<LockToken>()] {
           return said(world.store().fetch_activities(
               {.worker = a.key, .abilities = &a.info.abilities, .token = token, .lease = 30s, .max = 10}));
         };
       },
       .again = ""});
}

STORE_TEST(Failures, OfARepeatedFetchOfTurns) {
  fail_everywhere(*this, {.prepare = [](World& world) -> Call {
                            const Worker a = world.join("a");
                            world.start("order-1");
                            const Turn lost = a.fetch_turn();
                            world.start("order-2");
                            return [&world, a, token = lost->token] {
                              return said(world.store().fetch_turns({.worker = a.key,
                                                                     .code = &a.info.code,
                                                                     .token = token,
                                                                     .repeated = true,
                                                                     .lease = 5s,
                                                                     .max = 10}));
                            };
                          },
                          .again = "order-1, order-2"});
}

STORE_TEST(Failures, OfARepeatedFetchOfActivities) {
  fail_everywhere(*this, {.prepare = [](World& world) -> Call {
                            const Worker a = world.join("a");
                            a.commit(a.begin("order-1").schedules("ship").schedules(of_session("gpu")));
                            const Works lost = a.fetch_activities();
                            a.commit(a.begin("order-2").schedules("charge"));
                            return [&world, a, token = lost.works.at(0).token] {
                              return said(world.store().fetch_activities({.worker = a.key,
                                                                          .abilities = &a.info.abilities,
                                                                          .token = token,
                                                                          .repeated = true,
                                                                          .lease = 30s,
                                                                          .max = 10}));
                            };
                          },
                          .again = "ship, charge, charge"});
}

/// Answering an activity of a session in a way; `again` is what it says when that had happened.
void fail_answers(const World& world, const std::function<StoreResult<void>(const Worker&, const Work&)>& way,
                  const std::string& again) {
  fail_everywhere(world,
                  {.prepare = [&way](World& fresh) -> Call {
                     const Worker a = fresh.join("a");
                     a.commit(a.begin("order-1").schedules(of_session("gpu")).schedules(of_session("gpu")));
                     const Works works = a.fetch_activities(1);
                     return [&way, a, work = works.works.at(0)] { return answer(way(a, work)); };
                   },
                   .again = again});
}

STORE_TEST(Failures, OfAnOutcome) {
  fail_answers(
      *this, [](const Worker& worker, const Work& work) { return worker.finish(work); }, "gone(dropped)");
}
STORE_TEST(Failures, OfARetry) {
  fail_answers(*this, [](const Worker& worker, const Work& work) { return worker.retry(work, 1s); }, "lost");
}
STORE_TEST(Failures, OfPuttingBack) {
  fail_answers(
      *this, [](const Worker& worker, const Work& work) { return worker.put_back(work, 1s); }, "lost");
}
STORE_TEST(Failures, OfSettingAside) {
  fail_answers(
      *this, [](const Worker& worker, const Work& work) { return worker.set_aside(work, "unreadable"); },
      "gone(dropped)");
}
STORE_TEST(Failures, OfAnOutcomeThatSavesTheSession) {
  fail_answers(
      *this,
      [](const Worker& worker, const Work& work) {
        return worker.answer_with({.id = work.id(),
                                   .token = work.token,
                                   .result = Finished{"result"},
                                   .save = SessionSave{"state"}});
      },
      "gone(dropped)");
}
STORE_TEST(Failures, OfAnOutcomeThatAbortsTheSession) {
  fail_answers(
      *this,
      [](const Worker& worker, const Work& work) {
        return worker.answer_with(
            {.id = work.id(), .token = work.token, .result = Finished{"result"}, .abort_session = "on fire"});
      },
      "gone(dropped)");
}
STORE_TEST(Failures, OfAHeartbeat) {
  fail_answers(
      *this, [](const Worker& worker, const Work& work) { return worker.heartbeat(work, "half"); }, "ok");
}

STORE_TEST(Failures, OfAcknowledgingACancel) {
  fail_everywhere(*this, {.prepare = [](World& world) -> Call {
                            const Worker a = world.join("a");
                            Turn turn = a.begin("order-1");
                            turn.schedules({.event = EventId{5}, .name = "charge", .hand_off = true});
                            a.commit(turn.keeps_lock());
                            a.commit(turn.cancels(EventId{5}));
                            const CancelRecord record = a.cancel_records().at(0);
                            return [a, record] { return answer(a.acknowledge(record)); };
                          },
                          .again = "ok"});
}

// ---- sessions -----------------------------------------------------------------------------------

STORE_TEST(Failures, OfAcquiringASession) {
  fail_everywhere(*this, {.prepare = [](World& world) -> Call {
                            const Worker a = world.join("a");
                            return [&world, a]() -> std::string {
                              const auto acquired =
                                  world.store().acquire_session(a.key, a.info.abilities, "gpu", {});
                              if (!acquired) return answer(acquired);
                              return acquired->kind == Acquired::Kind::created ? "created" : "reused";
                            };
                          },
                          .again = "reused"});
}

STORE_TEST(Failures, OfRenewingASession) {
  fail_everywhere(*this, {.prepare = [](World& world) -> Call {
                            const Worker a = world.join("a");
                            const SessionHold hold{"gpu", a.acquire("gpu").session.generation};
                            world.pass(5s);
                            return [a, hold] { return answer(a.renew(hold)); };
                          },
                          .again = "ok"});
}

STORE_TEST(Failures, OfReleasingASession) {
  fail_everywhere(*this, {.prepare = [](World& world) -> Call {
                            const Worker a = world.join("a");
                            const SessionHold hold{"gpu", a.acquire("gpu").session.generation};
                            return [a, hold] {
                              return answer(a.release(hold, SessionReason::drained, "state"));
                            };
                          },
                          .again = "lost"});
}

STORE_TEST(Failures, OfClosingASession) {
  fail_everywhere(*this, {.prepare = [](World& world) -> Call {
                            const Worker a = world.join("a");
                            a.commit(a.begin("order-1").schedules(of_session("gpu")));
                            return [&world]() -> std::string {
                              const auto closed = world.store().close_session("gpu", SessionReason::operated);
                              if (!closed) return answer(closed);
                              return *closed ? "closed" : "had ended";
                            };
                          },
                          .again = "had ended"});
}

// ---- clients ------------------------------------------------------------------------------------

STORE_TEST(Failures, OfAStart) {
  fail_everywhere(*this, {.prepare = [](World& world) -> Call {
                            world.raise("order-1", "decision", "early");
                            return [&world, request = world.start_of("order-1")] {
                              return said(world.try_start(request));
                            };
                          },
                          .again = "there"});
}

STORE_TEST(Failures, OfAStartOfANewLife) {
  fail_everywhere(*this, {.prepare = [](World& world) -> Call {
                            const Worker a = world.join("a");
                            a.commit(a.begin("order-1").sets_value("colour", "blue").ends());
                            StartRequest request = world.start_of("order-1");
                            request.reuse = Reuse::after_end;
                            return [&world, request] { return said(world.try_start(request)); };
                          },
                          .again = "there"});
}

STORE_TEST(Failures, OfASend) {
  fail_everywhere(*this, {.prepare = [](World& world) -> Call {
                            world.start("order-1");
                            ClientMessage message = world.message_to("order-1", control("cancel"));
                            message.cancels = true;
                            return [&world, message] { return said(world.try_send(message)); };
                          },
                          .again = "1"});
}

STORE_TEST(Failures, OfSuspendingAndResuming) {
  for (const bool resume : {false, true}) {
    fail_everywhere(*this,
                    {.prepare = [resume](World& world) -> Call {
                       const Worker a = world.join("a");
                       Turn turn = a.begin("order-1");
                       a.commit(turn.schedules("charge").keeps_lock());
                       if (resume) world.suspend("order-1");
                       const Suspension wish{
                           .instance = "order-1", .resume = resume, .request = world.token<RequestId>()};
                       return [&world, wish] { return said(only(world.store().set_suspended(one(wish)))); };
                     },
                     .again = "1"});
  }
}

STORE_TEST(Failures, OfAnEndThatOthersWaitFor) {
  fail_everywhere(*this, {.prepare = [](World& world) -> Call {
                            const Worker a = world.join("a");
                            Turn turn = a.begin("order-1");
                            a.commit(turn.keeps_lock());
                            a.commit(a.begin("asker").asks_for_end(EventId{7}, "order-1"));
                            turn.ends();
                            return [&world, turn] {
                              return answer(only(world.store().commit_turns({}, one(turn.commit))));
                            };
                          },
                          .again = "lost"});
}

STORE_TEST(Failures, OfAnEarlySend) {
  fail_everywhere(*this, {.prepare = [](World& world) -> Call {
                            const ClientMessage message =
                                world.message_to("order-1", delivery(event("decision"), "early"));
                            return [&world, message] { return said(world.try_send(message)); };
                          },
                          .again = "0"});
}

STORE_TEST(Failures, OfADeletion) {
  fail_everywhere(*this, {.prepare = [](World& world) -> Call {
                            const Worker a = world.join("a");
                            Turn turn = with_everything(world, a);
                            a.commit(turn);
                            return
                                [&world] { return answer(world.store().delete_instance("order-1", true)); };
                          },
                          .again = "not_found"});
}

STORE_TEST(Failures, OfPruning) {
  fail_everywhere(*this, {.prepare = [](World& world) -> Call {
                            const Worker a = world.join("a");
                            Turn turn = a.begin("order-1");
                            a.commit(turn.continues_as_new("again").keeps_lock());
                            a.commit(turn);
                            return [&world] { return said(world.store().prune_executions("order-1", 1)); };
                          },
                          .again = "0"});
}

STORE_TEST(Failures, OfPruningOneExecution) {
  fail_everywhere(*this, {.prepare = [](World& world) -> Call {
                            const Worker a = world.join("a");
                            Turn turn = a.begin("order-1");
                            a.commit(turn.continues_as_new("again"));
                            return [&world] {
                              const auto pruned =
                                  world.store().prune_execution("order-1", ExecutionNumber{1});
                              return pruned ? std::string(*pruned ? "pruned" : "0") : answer(pruned);
                            };
                          },
                          .again = "0"});
}

// ---- keeping order ------------------------------------------------------------------------------

STORE_TEST(Failures, OfASweep) {
  fail_everywhere(*this, {.prepare = [](World& world) -> Call {
                            const Worker a = world.join("a");
                            a.commit(a.begin("order-1").schedules({.name = "fly", .start_within = 1s}));
                            world.pass(1s);
                            return [&world] {
                              const auto swept = world.store().sweep({});
                              return swept ? std::to_string(swept->activities_timed_out) : answer(swept);
                            };
                          },
                          .again = "0",
                          .in_slices = true});
}

}  // namespace
}  // namespace holdfast::testing::conformance
