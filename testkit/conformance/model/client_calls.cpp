// How steps of workers that come and go, and of clients, are done.
#include "testkit/conformance/model/comparison.hpp"

#include <holdfast/detail/enum_names.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace holdfast::testing::model {

namespace {

// All pages, one after the other.
StoreResult<std::vector<store::InstanceView>> list_all(Store& store, store::InstanceFilter filter) {
  std::vector<store::InstanceView> all;
  for (;;) {
    StoreResult<store::InstancePage> page = store.list(filter);
    if (!page) return Unexpected(page.error());
    std::move(page->instances.begin(), page->instances.end(), std::back_inserter(all));
    if (!page->next) return all;
    filter.after = *page->next;
  }
}

/// A request is one wish, as those of clients: to start an instance, to send something to it, or to suspend
/// or resume it.
enum class Kind : std::uint8_t { send, start, set_suspended };
RequestId request_of(Kind kind, Id id, std::uint64_t number) {
  if (number == 0) return {};
  return {100 * static_cast<std::uint64_t>(kind) + static_cast<std::uint64_t>(id), number};
}

constexpr std::array kSids{Sid::s, Sid::t, Sid::u};

}  // namespace

void Comparison::perform(const Join& op) {
  const store::NewWorker info = worker_info(op.node, op.profile);
  const auto key = ask(op.on, "join", [&](Store& store) { return store.join(info); });
  if (key && *key) world_.space(op.on).joined(op.node, {**key, info});
}

void Comparison::perform(const Refresh& op) {
  const WorkerKey worker = world_.space(op.on).worker(op.who).key;
  ask(op.on, "refresh", [&](Store& store) { return store.refresh(worker, op.draining); });
}

void Comparison::perform(const Leave& op) {
  const WorkerKey worker = world_.space(op.on).worker(op.who).key;
  ask(op.on, "leave", [&](Store& store) { return store.leave(worker); });
}

void Comparison::perform(const Start& op) {
  std::vector<store::StartRequest> requests;
  for (const StartSpec& spec : op.instances) {
    requests.push_back({.instance = name(spec.id),
                        .code = spec.code,
                        .body = body_of(step_, requests.size()),
                        .request = request_of(Kind::start, spec.id, spec.request),
                        .fingerprint = {0, spec.fingerprint},
                        .reuse = spec.reuse,
                        .delay = spec.delay,
                        .attributes = attributes_of(spec.attributes)});
  }
  const auto answers = ask(op.on, "start", [&](Store& store) { return store.start(requests); });
  if (!answers) return;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const auto& answer = (*answers)[i];
    if (answer) note_answer(op.on, requests[i].request, answer->key, answer->is_new);
  }
}

void Comparison::perform(const Send& op) {
  std::vector<store::ClientMessage> messages;
  for (const SendSpec& spec : op.messages) {
    store::ClientMessage message{.instance = name(spec.to),
                                 .request = request_of(Kind::send, spec.to, spec.request),
                                 .delay = spec.delay,
                                 .keep_early = spec.keep_early,
                                 .cancels = spec.cancels};
    if (spec.life) message.life = world_.space(op.on).key(spec.to, *spec.life);
    message.message.kind = spec.kind;
    if (spec.kind == store::MessageKind::delivery) message.message.address = address(spec.at);
    message.message.body = body_of(step_, messages.size());
    messages.push_back(std::move(message));
  }
  const auto answers = ask(op.on, "send", [&](Store& store) { return store.send(messages); });
  if (!answers) return;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (const auto& answer = (*answers)[i]) note_answer(op.on, messages[i].request, *answer, false);
  }
}

void Comparison::perform(const SetSuspended& op) {
  std::vector<store::Suspension> wishes;
  for (const SuspensionSpec& spec : op.wishes) {
    store::Suspension wish{.instance = name(spec.id),
                           .resume = spec.resume,
                           .request = request_of(Kind::set_suspended, spec.id, spec.request)};
    if (spec.life) wish.life = world_.space(op.on).key(spec.id, *spec.life);
    wishes.push_back(std::move(wish));
  }
  const auto answers = ask(op.on, "set_suspended", [&](Store& store) { return store.set_suspended(wishes); });
  if (!answers) return;
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    if (const auto& answer = (*answers)[i]) note_answer(op.on, wishes[i].request, *answer, false);
  }
}

void Comparison::perform(const Delete& op) {
  std::vector<store::Deletion> deletions;
  for (const DeletionSpec& spec : op.instances) {
    store::Deletion deletion{.instance = name(spec.id), .force = spec.force};
    if (spec.life) deletion.life = world_.space(op.on).key(spec.id, *spec.life);
    deletions.push_back(std::move(deletion));
  }
  ask(op.on, "delete_instances", [&](Store& store) { return store.delete_instances(deletions); });
}

void Comparison::perform(const Prune& op) {
  if (op.one != 0) {
    ask(op.on, "prune_execution",
        [&](Store& store) { return store.prune_execution(name(op.id), ExecutionNumber{op.one}); });
    return;
  }
  ask(op.on, "prune_executions", [&](Store& store) { return store.prune_executions(name(op.id), op.keep); });
}

namespace {

store::AskId question_id(std::uint64_t number) { return {77, number}; }

}  // namespace

void Comparison::perform(const AskQuestions& op) {
  std::vector<store::Ask> asks;
  for (const QuestionSpec& spec : op.questions) {
    asks.push_back({.id = question_id(spec.number),
                    .key = InstanceKey{spec.number},
                    .name = "question",
                    .arguments = body_of(step_, asks.size()),
                    .within = spec.within,
                    .code = spec.code,
                    .build = spec.build});
  }
  ask(op.on, "ask", [&](Store& store) { return store.ask(asks); });
}

void Comparison::perform(const FetchQuestions& op) {
  const Worker worker = world_.space(op.on).worker(op.who);
  const store::AskRequest request{
      .worker = worker.key, .code = &worker.info.code, .lease = op.lease, .max = op.max};
  ask(op.on, "fetch_asks", [&](Store& store) { return store.fetch_asks(request); });
}

void Comparison::perform(const AnswerQuestions& op) {
  std::vector<store::AskAnswer> answers;
  for (const std::uint64_t number : op.numbers)
    answers.push_back({.id = question_id(number), .body = body_of(step_, answers.size())});
  ask(op.on, "answer", [&](Store& store) { return store.answer(answers); });
}

void Comparison::perform(const TakeAnswers& op) {
  std::vector<store::AskId> ids;
  for (const std::uint64_t number : op.numbers) ids.push_back(question_id(number));
  ask(op.on, "take_answers", [&](Store& store) { return store.take_answers(ids); });
}

void Comparison::perform(const LookAround& op) {
  look_at_instances(op.on);
  look_at_lists(op.on);
  look_at_workers(op.on);
  look_at_sessions(op.on);
  answer_.clear();  // too much to read
}

void Comparison::look_at_instances(On on) {
  const Space& space = world_.space(on);
  std::vector<InstanceKey> keys;
  for (const Id id : kIds) {
    const std::string instance = name(id);
    ask(on, "find " + instance, [&](Store& store) { return store.find(instance); });
    ask(on, "describe " + instance, [&](Store& store) { return store.describe(instance); });
    ask(on, "value k of " + instance, [&](Store& store) { return store.value(instance, "k"); });
    for (const Life life : {Life::now, Life::before}) {
      const InstanceKey key = space.key(id, life);
      ask(on, "executions of key " + words(key), [&](Store& store) { return store.executions(key); });
      keys.push_back(key);
    }
  }
  ask(on, "look", [&](Store& store) { return store.look(keys); });
}

// Few: each costs ways to the server and back.
void Comparison::look_at_attributes(On on) {
  using Is = AttributeCondition::Is;
  const auto value = [](AttributeType type) { return attribute_value(type, 1); };
  const std::array filters{
      store::InstanceFilter{.attributes = {{"k", Is::equal, value(AttributeType::text)}}, .limit = 1},
      store::InstanceFilter{.statuses = {store::InstanceStatus::running},
                            .attributes = {{"k", Is::has, std::string("b")}}},
      store::InstanceFilter{.attributes = {{"k", Is::at_least, value(AttributeType::integer)}},
                            .order = {"k", AttributeType::integer, step_ % 2 == 0},
                            .limit = 1},
      store::InstanceFilter{.prefix = "",
                            .attributes = {{"l", Is::below, value(AttributeType::real)},
                                           {"k", Is::starts_with, std::string("a")}},
                            .order = {"l", AttributeType::real, step_ % 2 != 0},
                            .limit = 2}};
  const std::size_t i = step_ % filters.size();
  ask(on, "list with attributes " + std::to_string(i),
      [&](Store& store) { return list_all(store, filters[i]); });
  ask(on, "count " + std::to_string(i), [&](Store& store) { return store.count(filters[i]); });
  ask(on, "count_by_status", [](Store& store) { return store.count_by_status(); });
}

void Comparison::look_at_lists(On on) {
  using store::InstanceStatus;
  const CalendarTime start = ManualClock::kCalendarStart;
  const InstanceKey parent = world_.space(on).key(Id::a, Life::now);
  const std::array filters{
      store::InstanceFilter{.limit = 2},
      store::InstanceFilter{.statuses = {InstanceStatus::running}, .limit = 1},
      store::InstanceFilter{.statuses = {InstanceStatus::failed, InstanceStatus::parked}},
      store::InstanceFilter{.orchestration = "flow"},
      store::InstanceFilter{.version = "1", .limit = 3},
      store::InstanceFilter{.prefix = "b"},
      store::InstanceFilter{.parent = parent},
      store::InstanceFilter{.parent = InstanceKey{}, .created_from = start + 5s},
      store::InstanceFilter{.created_before = start + 5s}};
  for (std::size_t i = 0; i < filters.size(); ++i) {
    ask(on, "list with filter " + std::to_string(i),
        [&](Store& store) { return list_all(store, filters[i]); });
  }
  look_at_attributes(on);
  ask(on, "set_aside", [](Store& store) { return store.set_aside(0, 100); });
  ask(on, "set_aside after 1", [](Store& store) { return store.set_aside(1, 1); });
  ask(on, "queue_depths", [](Store& store) { return store.queue_depths(); });
}

void Comparison::look_at_workers(On on) {
  ask(on, "workers", [](Store& store) { return store.workers(); });
  for (const Who who : {Who::ada, Who::bob, Who::cyd, Who::former_ada, Who::stranger}) {
    const WorkerKey worker = world_.space(on).worker(who).key;
    ask(on, "cancel_records of " + name(who), [&](Store& store) { return store.cancel_records(worker); });
    ask(on, "wanted_sessions of " + name(who), [&](Store& store) { return store.wanted_sessions(worker); });
  }
}

void Comparison::look_at_sessions(On on) {
  for (const Sid id : kSids) {
    ask(on, "session " + name(id),
        [&](Store& store) { return store.session(name(id), store::Saved::bytes); });
    ask(on, "session_log of " + name(id), [&](Store& store) { return store.session_log(name(id), 0, 100); });
  }
  ask(on, "sessions", [](Store& store) { return store.sessions({.limit = 100}); });
  ask(on, "sessions after s", [](Store& store) { return store.sessions({.after = "s", .limit = 1}); });
  using State = store::SessionStatus;
  ask(on, "sessions that are free or closed",
      [](Store& store) { return store.sessions({.states = {State::unclaimed, State::closed}}); });
  ask(on, "sessions of a lapsed owner",
      [](Store& store) { return store.sessions({.states = {State::lapsed}, .owner = "ada"}); });
  ask(on, "sessions of the default queue", [](Store& store) { return store.sessions({.queue = ""}); });
  ask(on, "count_sessions", [](Store& store) { return store.count_sessions(); });
  ask(on, "session_log after 2", [](Store& store) { return store.session_log("", 2, 3); });
}

}  // namespace holdfast::testing::model
