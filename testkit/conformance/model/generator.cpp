#include "testkit/conformance/model/generator.hpp"

#include "testkit/conformance/model/chooser.hpp"
#include "testkit/conformance/model/leads.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace holdfast::testing::model {

namespace {

bool is_locked(const store::InstanceRow& row) { return row.locked_by.has_value(); }
bool is_taken(const store::ActivityId& /*id*/, const store::ActivityRow* row) {
  return row != nullptr && !row->token.empty();
}
bool is_gone(const store::ActivityId& /*id*/, const store::ActivityRow* row) { return row == nullptr; }

class Generator {
 public:
  Generator(const World& world, On on, Random& random, bool sessions)
      : on_(on), choose_(world, on, random, sessions), dice_(choose_.dice), space_(choose_.space) {}

  Operation make() {
    const std::vector<Choice> all = choices();
    std::vector<Lead> leading = leads(choose_, on_);
    std::size_t total = 0;
    for (const Choice& choice : all) total += choice.weight;
    for (const Lead& lead : leading) total += lead.weight;
    std::size_t at = dice_.below(total);
    for (Lead& lead : leading) {
      if (at < lead.weight) return std::move(lead.operation);
      at -= lead.weight;
    }
    for (const Choice& choice : all) {
      if (at < choice.weight) return (this->*choice.make)();
      at -= choice.weight;
    }
    return Advance{};
  }

 private:
  struct Choice {
    std::size_t weight;
    Operation (Generator::*make)();
  };

  // What there is to do makes it more likely that it is done.
  [[nodiscard]] std::vector<Choice> choices() const {
    const auto& state = space_.state();
    const auto some = [](bool there, std::size_t weight) { return there ? weight : 0; };
    const bool locked = !choose_.instances(is_locked).empty();
    const bool ready = std::any_of(state.instances.begin(), state.instances.end(),
                                   [](const auto& row) { return row.ready && !row.locked_by; });
    const bool parked = std::any_of(state.instances.begin(), state.instances.end(), [](const auto& row) {
      return row.view.status == store::InstanceStatus::parked;
    });
    const bool suspended = std::any_of(state.instances.begin(), state.instances.end(), [](const auto& row) {
      return row.view.status == store::InstanceStatus::suspended;
    });
    const bool running = std::any_of(state.activities.begin(), state.activities.end(),
                                     [](const auto& row) { return row.view.running; });
    const bool queued = std::any_of(state.activities.begin(), state.activities.end(),
                                    [](const auto& row) { return !row.view.running; });
    const bool owned = std::any_of(state.sessions.begin(), state.sessions.end(),
                                   [](const auto& session) { return session.worker.value != 0; });
    const bool lapsed = std::any_of(state.sessions.begin(), state.sessions.end(), [](const auto& session) {
      return session.state == store::SessionStatus::lapsed;
    });
    return {{2 + some(state.workers.empty(), 90) + some(state.workers.size() < 2, 15), &Generator::join},
            {3, &Generator::refresh},
            {1, &Generator::leave},
            {4 + some(state.instances.size() < 2, 20), &Generator::start},
            {9, &Generator::send},
            {3 + some(ready, 24), &Generator::fetch_turns},
            {1 + some(locked, 36), &Generator::commit_turns},
            {1 + some(locked, 3), &Generator::release_turns},
            {1 + some(locked, 3), &Generator::renew_turns},
            {1, &Generator::read_history},
            {1 + some(parked, 4), &Generator::wake_parked},
            {2 + some(queued, 18), &Generator::fetch_activities},
            {1 + some(running, 14), &Generator::finish_activities},
            {1 + some(running, 4), &Generator::renew_activities},
            {1 + some(!state.cancels.empty(), 5), &Generator::acknowledge_cancels},
            {some(choose_.sessions, 3), &Generator::acquire_session},
            {some(choose_.sessions, 1) + some(owned, 4), &Generator::renew_sessions},
            {some(choose_.sessions, 1) + some(owned, 4), &Generator::release_sessions},
            {some(choose_.sessions, 1), &Generator::close_session},
            {some(choose_.sessions, 2), &Generator::ask_for_session},
            {some(choose_.sessions, 1), &Generator::discard_session_state},
            {some(choose_.sessions, 1), &Generator::acknowledge_ends},
            {some(choose_.sessions, 1) + some(owned, 1), &Generator::fail_session},
            {2 + some(suspended, 6), &Generator::set_suspended},
            {2, &Generator::delete_instances},
            {1, &Generator::prune},
            {2, &Generator::ask_questions},
            {2 + some(!state.asks.empty(), 4), &Generator::fetch_questions},
            {1 + some(!state.asks.empty(), 4), &Generator::answer_questions},
            {1 + some(!state.asks.empty(), 3), &Generator::take_answers},
            {3, &Generator::look_around},
            {4 + some(lapsed, 10), &Generator::sweep},
            {4, &Generator::doze},
            {10, &Generator::advance},
            {1, &Generator::step_calendar},
            {1, &Generator::reopen}};
  }

  Operation join() {
    Join op{.on = on_};
    op.node = dice_.weighted<Node>({{4, Node::ada}, {3, Node::bob}, {2, Node::cyd}});
    op.profile = dice_.weighted<Profile>(
        {{5, Profile::wide}, {3, Profile::plain}, {3, Profile::gpu}, {1, Profile::client}});
    return op;
  }
  Operation refresh() { return Refresh{.on = on_, .who = choose_.worker(), .draining = dice_.chance(20)}; }
  Operation leave() { return Leave{.on = on_, .who = choose_.worker()}; }

  Operation fetch_turns() {
    FetchTurns op{.on = on_, .who = choose_.worker()};
    op.holding = dice_.weighted<Holding>({{5, Holding::none}, {8, Holding::own}, {1, Holding::stale}});
    op.max = dice_.pick<std::size_t>({0, 1, 1, 2, 2, 10, 10, 10, 10});
    op.lease = dice_.pick<Duration>({2s, 5s, 5s, 20s});
    if (dice_.chance(10)) op.repeats = fetch_of_turns();
    return op;
  }
  /// A step that locked what is locked still; 0 when there is none.
  std::uint32_t fetch_of_turns() {
    std::vector<std::uint32_t> steps{0};
    for (const store::InstanceRow& row : space_.state().instances) {
      if (row.locked_by) steps.push_back(step_of(space_.token(row.view.key, Which::last)));
    }
    return dice_.pick(steps);
  }
  /// The same; hand-offs are no fetches.
  std::uint32_t fetch_of_activities() {
    std::vector<std::uint32_t> steps{0};
    for (const store::ActivityRow& row : space_.state().activities) {
      const std::uint32_t step = step_of(row.token);
      if (step != 0 && first_event_of(step) > row.view.id.event) steps.push_back(step);
    }
    return dice_.pick(steps);
  }

  Operation commit_turns() {
    CommitTurns op{.on = on_};
    std::optional<WorkerKey> holder;
    std::set<Id> used;
    for (std::size_t n = dice_.chance(20) ? 2 : 1; n > 0; --n) {
      const Id id = choose_.instance(is_locked);
      if (!used.insert(id).second) continue;
      if (const store::InstanceRow* const row = space_.row(id)) holder = row->locked_by;
      op.turns.push_back(make_turn(choose_, id));
    }
    op.who = choose_.worker(holder);
    op.lease = dice_.pick<Duration>({4s, 10s});
    return op;
  }

  Operation release_turns() {
    ReleaseTurns op{.on = on_};
    op.turns.push_back({.id = choose_.instance(is_locked),
                        .life = choose_.life(),
                        .token = choose_.which(),
                        .delay = dice_.chance(40) ? choose_.short_time() : Duration{},
                        .seen = dice_.chance(80) ? Seen::given : Seen::none,
                        .counts = dice_.chance(40),
                        .park = dice_.chance(25)});
    return op;
  }

  Operation renew_turns() {
    RenewTurns op{.on = on_};
    std::optional<WorkerKey> holder;
    for (std::size_t n = 1 + dice_.below(2); n > 0; --n) {
      const Id id = choose_.instance(is_locked);
      if (const store::InstanceRow* const row = space_.row(id)) holder = row->locked_by;
      op.turns.push_back({.id = id, .life = choose_.life(), .token = choose_.which()});
    }
    op.who = choose_.worker(holder);
    op.lease = dice_.pick<Duration>({1s, 5s, 20s});
    return op;
  }

  Operation read_history() {
    ReadHistory op{.on = on_, .id = choose_.any_instance(), .life = choose_.life()};
    op.execution = 1 + dice_.below(3);
    if (dice_.chance(50)) op.after_step = static_cast<std::uint32_t>(dice_.below(60));
    op.max_bytes = dice_.pick<std::size_t>({0, 1, 50, 1'000'000});
    return op;
  }

  Operation wake_parked() {
    return WakeParked{.on = on_, .profile = dice_.pick({Profile::wide, Profile::plain, Profile::gpu})};
  }

  Operation fetch_activities() {
    FetchActivities op{.on = on_, .who = choose_.worker()};
    op.max = dice_.pick<std::size_t>({0, 1, 1, 1, 2, 2, 10, 10, 10});
    op.lease = dice_.pick<Duration>({3s, 10s, 10s, 40s});
    op.owned_only = dice_.chance(6);
    if (dice_.chance(10)) op.repeats = fetch_of_activities();
    return op;
  }

  Operation finish_activities() {
    FinishActivities op{.on = on_};
    for (std::size_t n = 1 + dice_.below(3); n > 0; --n) {
      FinishSpec spec{.activity = dice_.chance(90) ? choose_.activity(is_taken) : choose_.activity(is_gone),
                      .token = choose_.which()};
      spec.ending = dice_.weighted<Ending>(
          {{6, Ending::finished}, {4, Ending::retry}, {3, Ending::put_back}, {1, Ending::set_aside}});
      if (dice_.chance(50)) spec.delay = choose_.short_time();
      spec.save = dice_.chance(20);
      spec.required = spec.save && dice_.chance(40);
      spec.abort = dice_.chance(5);
      spec.still_runs = dice_.chance(6);
      op.activities.push_back(spec);
    }
    return op;
  }

  Operation renew_activities() {
    RenewActivities op{.on = on_, .who = choose_.worker()};
    for (std::size_t n = 1 + dice_.below(3); n > 0; --n) {
      op.activities.push_back(
          {.activity = dice_.chance(85) ? choose_.activity(is_taken) : choose_.activity(is_gone),
           .token = choose_.which(),
           .progress = dice_.chance(30)});
    }
    op.lease = dice_.pick<Duration>({2s, 10s, 40s});
    return op;
  }

  Operation acknowledge_cancels() {
    using State = store::CancelRecord::State;
    AcknowledgeCancels op{.on = on_};
    op.cancels.push_back({.activity = choose_.activity(is_gone),
                          .token = choose_.which(),
                          .state = dice_.pick({State::acknowledged, State::abandoned})});
    return op;
  }

  Operation acquire_session() {
    AcquireSession op{
        .on = on_, .who = choose_.worker(), .id = choose_.session(), .policy = choose_.policy()};
    op.policy.on_record = true;
    return op;
  }

  Who owner_of(Sid id) {
    const store::SessionView* const view = space_.session(id);
    if (view == nullptr || view->worker.value == 0) return choose_.worker();
    return choose_.worker(view->worker);
  }

  Operation renew_sessions() {
    RenewSessions op{.on = on_};
    for (std::size_t n = 1 + dice_.below(2); n > 0; --n) {
      op.sessions.push_back({.id = choose_.owned_session(),
                             .generation = choose_.which(),
                             .quiet_for = dice_.pick<Duration>({0s, 1s, 5s})});
    }
    op.who = owner_of(op.sessions.back().id);
    return op;
  }

  Operation release_sessions() {
    using store::SessionReason;
    ReleaseSessions op{.on = on_};
    op.sessions.push_back(
        {.id = choose_.owned_session(),
         .generation = choose_.which(),
         .reason = dice_.pick({SessionReason::idle, SessionReason::displaced, SessionReason::drained,
                               SessionReason::handed_over, SessionReason::operated}),
         .save = dice_.chance(50)});
    op.who = owner_of(op.sessions.back().id);
    return op;
  }

  Operation close_session() { return CloseSession{.on = on_, .id = choose_.session()}; }
  Operation ask_for_session() {
    AskForSession op{.on = on_, .id = choose_.owned_session(), .force = dice_.chance(25)};
    if (dice_.chance(60)) {
      op.to = dice_.weighted<Node>({{4, Node::ada}, {3, Node::bob}, {2, Node::cyd}});
      op.keep_for = choose_.short_time();
    }
    return op;
  }
  Operation discard_session_state() { return DiscardSessionState{.on = on_, .id = choose_.session()}; }
  Operation acknowledge_ends() {
    const Sid id = choose_.owned_session();
    return AcknowledgeEnds{.on = on_, .who = owner_of(id), .id = id, .generation = choose_.which()};
  }
  Operation fail_session() {
    const Sid id = choose_.owned_session();
    return FailSession{.on = on_, .who = owner_of(id), .id = id, .generation = choose_.which()};
  }

  Operation start() {
    Start op{.on = on_};
    for (std::size_t n = 1 + dice_.below(2); n > 0; --n) {
      StartSpec spec{.id = choose_.any_instance()};
      spec.code = {dice_.pick({"flow", "flow", "loop"}), dice_.pick({"", "", "1", "2", "^1", ">=2"})};
      spec.request = dice_.chance(50) ? 0 : dice_.below(6);
      spec.fingerprint = 1 + dice_.below(2);
      spec.reuse = dice_.pick({Reuse::never, Reuse::after_failure, Reuse::after_end});
      if (dice_.chance(15)) spec.delay = choose_.short_time();
      while (dice_.chance(40)) spec.attributes.push_back(choose_.attribute());
      op.instances.push_back(std::move(spec));
    }
    return op;
  }

  Operation send() {
    using store::MessageKind;
    Send op{.on = on_};
    for (std::size_t n = 1 + dice_.below(3); n > 0; --n) {
      SendSpec spec{.to = choose_.any_instance()};
      if (dice_.chance(10)) spec.life = dice_.pick({Life::now, Life::before});
      spec.kind = dice_.weighted<MessageKind>(
          {{65, MessageKind::delivery}, {20, MessageKind::control}, {15, MessageKind::cancel}});
      spec.at = dice_.pick({At::event_x, At::event_y, At::mailbox_x});
      spec.request = dice_.chance(60) ? 0 : dice_.below(6);
      if (dice_.chance(20)) spec.delay = choose_.short_time();
      if (dice_.chance(30)) spec.keep_early = dice_.pick<Duration>({0s, 4s, 30s});
      spec.cancels = asks_to_stop(spec.kind) && dice_.chance(50);
      op.messages.push_back(spec);
    }
    return op;
  }

  Operation set_suspended() {
    SetSuspended op{.on = on_};
    for (std::size_t n = 1 + dice_.below(2); n > 0; --n) {
      SuspensionSpec spec{.id = choose_.any_instance(), .resume = dice_.chance(55)};
      if (dice_.chance(15)) spec.life = dice_.pick({Life::now, Life::before});
      spec.request = dice_.chance(60) ? 0 : dice_.below(6);
      op.wishes.push_back(spec);
    }
    return op;
  }
  Operation delete_instances() {
    Delete op{.on = on_};
    for (std::size_t n = 1 + dice_.below(2); n > 0; --n) {
      DeletionSpec spec{.id = choose_.any_instance(), .force = dice_.chance(50)};
      if (dice_.chance(20)) spec.life = dice_.pick({Life::now, Life::before});
      op.instances.push_back(spec);
    }
    return op;
  }
  Operation prune() {
    Prune op{.on = on_, .id = choose_.any_instance(), .keep = dice_.below(3)};
    if (dice_.chance(50)) op.one = 1 + dice_.below(4);
    return op;
  }
  Operation ask_questions() {
    AskQuestions op{.on = on_};
    for (std::size_t n = 1 + dice_.below(3); n > 0; --n) {
      op.questions.push_back(
          {.number = 1 + dice_.below(6),
           .code = {dice_.pick({"flow", "flow", "loop"}), dice_.pick({"", "1", "2", "^1"})},
           .build = dice_.pick<std::uint64_t>({0, 0, 1, 2, 3}),
           .within = dice_.pick<Duration>({0s, 2s, 10s, 40s, never})});
    }
    return op;
  }
  Operation fetch_questions() {
    return FetchQuestions{.on = on_,
                          .who = choose_.worker(),
                          .lease = dice_.pick<Duration>({0s, 1s, 3s}),
                          .max = dice_.below(4)};
  }
  std::vector<std::uint64_t> question_numbers() {
    std::vector<std::uint64_t> numbers;
    for (std::size_t n = 1 + dice_.below(3); n > 0; --n) numbers.push_back(1 + dice_.below(6));
    return numbers;
  }
  Operation answer_questions() { return AnswerQuestions{.on = on_, .numbers = question_numbers()}; }
  Operation take_answers() { return TakeAnswers{.on = on_, .numbers = question_numbers()}; }
  Operation look_around() { return LookAround{.on = on_}; }

  Operation doze() {
    return Doze{.on = on_,
                .who = choose_.worker(),
                .waiting = dice_.pick({Waiting::turns, Waiting::activities, Waiting::sweep}),
                .lease = dice_.pick<Duration>({2s, 5s, 40s})};
  }
  Operation sweep() {
    Sweep op{.on = on_, .who = choose_.worker()};
    if (dice_.chance(10)) op.worker_stale_after = 5s;
    if (dice_.chance(30)) op.session_state_retention = 10s;
    if (dice_.chance(30)) op.session_record_retention = 10s;
    if (dice_.chance(30)) op.request_retention = 10s;
    if (dice_.chance(10)) op.session_log_retention = 10s;
    return op;
  }
  Operation advance() {
    return Advance{dice_.weighted<Duration>(
        {{30, 1s}, {20, 2s}, {15, 3s}, {12, 6s}, {10, 11s}, {6, 31s}, {3, 65s}, {2, 61min}, {1, 25h}})};
  }
  Operation step_calendar() {
    return StepCalendar{dice_.pick<Duration>({Duration(-1h), Duration(-5s), 5s, 1h})};
  }
  Operation reopen() { return Reopen{.on = on_}; }

  On on_;
  Chooser choose_;
  Dice& dice_;
  const Space& space_;
};

}  // namespace

Step next_step(const World& world, Random& random, std::uint32_t number, bool sessions) {
  const On on = Dice(random).weighted<On>({{50, On::left}, {35, On::right}, {15, On::other}});
  return {number, Generator(world, on, random, sessions).make()};
}

}  // namespace holdfast::testing::model
