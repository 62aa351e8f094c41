#include "engine/world_test.hpp"

#include <holdfast/codec.hpp>
#include <holdfast/session.hpp>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

namespace holdfast::engine {

using namespace std::chrono_literals;
using Frames = CheckedExecution::Frames;

namespace {

constexpr std::uint64_t kHistoryBudget = 60;

std::shared_ptr<const detail::OrchestrationCode> interpreter() {
  static const auto code = detail::make_orchestration(&interpret);
  return code;
}

Identity identity_of(std::uint64_t execution) {
  return {.instance = "i-1", .execution = ExecutionNumber{execution}, .build = "b1", .strict = true};
}

// ---- outcomes -----------------------------------------------------------------------------------

Payload value_for(EventId id, const detail::Operation& operation, unsigned variant) {
  const std::string text = "v" + to_string(id);
  if (std::holds_alternative<detail::TimerStarted>(operation)) return encode(std::monostate{});
  if (const auto* open = std::get_if<detail::SessionOpened>(&operation)) return encode(open->settings->id);
  if (const auto* start = std::get_if<detail::DetachedStarted>(&operation)) return encode(start->id);
  if (std::holds_alternative<detail::ValueRead>(operation)) {
    return encode(variant % 2 == 0 ? std::optional<Payload>(encode(text)) : std::nullopt);
  }
  if (std::holds_alternative<detail::EndAwaited>(operation) && variant != 0) {
    if (variant % 2 == 0) return encode(EndedInstance{.status = Status::completed, .output = encode(text)});
    return encode(
        EndedInstance{.status = Status::failed, .failure = Failure{.type = "boom", .message = text}});
  }
  switch (variant) {
    case 0:
      return encode(17);  // not what the code expects
    case 1:
      return {kBytesEncoding, text + "\xff\n"};
    case 2:
      return encode("");
    default:
      return encode(text);
  }
}

std::string source_of(const detail::Operation& operation) {
  if (const auto* activity = std::get_if<detail::ActivityScheduled>(&operation)) {
    return "activity " + activity->name;
  }
  if (const auto* child = std::get_if<detail::ChildStarted>(&operation)) return "orchestration " + child->id;
  return "operation";
}

Failure failure_for(EventId id, const detail::Operation& operation, unsigned variant) {
  Failure failure{.type = "boom", .message = "it failed", .source = source_of(operation), .event = id};
  switch (variant % 6) {
    case 0:
      failure.category = Category::timeout;
      break;
    case 1:
      failure.category = Category::session;
      failure.type = "session_lost";
      break;
    case 2:
      failure.category = Category::cancelled;
      break;
    case 3:  // as if the code itself were cancelled
      failure.category = Category::cancelled;
      failure.source.clear();
      break;
    case 4:
      failure.details = encode(std::vector<int>{1, 2});
      failure.cause = std::make_shared<const Failure>(Failure{.type = "inner", .message = "because"});
      failure.attempt = 3;
      break;
    default:
      break;
  }
  return failure;
}

// ---- the world ----------------------------------------------------------------------------------

class World {
 public:
  explicit World(const Case& what) : case_(what) {}

  Run run() {
    if (case_.old_turns > 0) deploy(Generation::before);
    begin(encode_args(case_.program), "1", {}, case_.born_cancelled ? std::optional("early") : std::nullopt);
    for (const ScriptedTurn& scripted : case_.turns) {
      if (after_end_ > 2) break;
      play(scripted);
    }
    for (unsigned i = 0; i < case_.more && after_end_ == 0 && complete_all(); ++i) {
    }
    run_.executions.push_back(std::move(records_));
    execution_.reset();
    deploy(Generation::patched);
    expect(objects_in_frames() == 0, "objects are left of frames that are gone");
    return std::move(run_);
  }

 private:
  void expect(bool holds, const std::string& what) {
    if (!holds) run_.problems.push_back(what);
  }

  void begin(Payload input, std::string version, std::map<std::string, Payload> values,
             std::optional<std::string> cancel_requested) {
    ++number_;
    execution_ = std::make_unique<CheckedExecution>(identity_of(number_), interpreter(), &latest_trace);
    start_ = history::Started{.name = "program",
                              .version = std::move(version),
                              .input = std::move(input),
                              .seed = case_.seed + number_,
                              .values = std::move(values),
                              .cancel_requested = std::move(cancel_requested),
                              .history_budget = kHistoryBudget};
    trace_size_ = 0;
    started_ = false;
  }

  template <class Body>
  Message message_of(Body body) {
    return {MessageId{++message_ids_}, ExecutionNumber{number_}, std::move(body)};
  }

  void play(const ScriptedTurn& scripted) {
    now_ += 1s;
    if (turns_++ == case_.old_turns && case_.old_turns > 0) {
      deploy(Generation::patched);
      execution_->begin_anew();
    }
    if (scripted.terminate && started_) {
      enter(execution_->terminate(now_, "no longer needed"), scripted.then);
      return;
    }
    std::vector<Message> messages;
    std::size_t left = started_ ? scripted.steps.size() + 1 : number_ == 1 ? case_.early : 0;
    for (const Step& step : scripted.steps) {
      if (left-- == 0) start(messages);
      add(messages, step);
    }
    if (!started_) start(messages);
    enter(execution_->run(now_, messages), scripted.then);
  }

  void start(std::vector<Message>& messages) {
    messages.push_back(message_of(start_));
    started_ = true;
  }

  // All that is open completes, and what is waited for arrives. False when the code waits for nothing.
  bool complete_all() {
    ScriptedTurn all;
    const Books& books = execution_->books();
    for (unsigned i = 0; i < books.open().size(); ++i) all.steps.push_back({Step::What::complete, i, 7});
    for (unsigned i = 0; i < books.awaited().size(); ++i) all.steps.push_back({Step::What::deliver, i, 0});
    if (started_ && all.steps.empty()) return false;
    play(all);
    return true;
  }

  // ---- from steps to messages -------------------------------------------------------------------

  void add(std::vector<Message>& messages, const Step& step) {
    using What = Step::What;
    switch (step.what) {
      case What::raise:
        return messages.push_back(delivery({Address::Kind::event, "e" + std::to_string(step.pick % 3)}));
      case What::send:
        return messages.push_back(delivery({Address::Kind::mailbox, "m" + std::to_string(step.pick % 3)}));
      case What::news:
        return messages.push_back(delivery({Address::Kind::session, "w" + std::to_string(step.pick % 3)}));
      case What::deliver:
        if (const auto awaited = execution_->books().awaited(); !awaited.empty()) {
          messages.push_back(delivery(awaited[step.pick % awaited.size()]));
        }
        return;
      case What::cancel:
        return messages.push_back(message_of(history::CancelRequested{"enough"}));
      case What::unknown:
        return messages.push_back(
            message_of(history::Completed{EventId{1000 + step.pick % 100}, encode("who?")}));
      case What::start_again:
        return messages.push_back(message_of(start_));
      default:
        return add_outcome(messages, step);
    }
  }

  Message delivery(Address address) {
    const std::string text = "d" + std::to_string(message_ids_ + 1);
    Payload value = encode(text);
    if (address.kind == Address::Kind::session) {
      value = encode(SessionEvent{.kind = SessionEvent::Kind::moved, .to = text, .generation = 3});
    }
    return message_of(Delivery{std::move(address), std::move(value)});
  }

  void add_outcome(std::vector<Message>& messages, const Step& step) {
    const bool late = step.what == Step::What::late;
    std::vector<EventId> ids = late ? all_operations() : execution_->books().open();
    if (ids.empty()) return;
    const EventId id = ids[step.pick % ids.size()];
    const detail::Operation& operation = execution_->books().operations().at(id).operation;
    const bool can_fail = !std::holds_alternative<detail::TimerStarted>(operation);
    const bool fails = can_fail && (step.what == Step::What::fail || (late && step.variant % 2 == 0));
    Message message = fails ? message_of(history::Failed{id, failure_for(id, operation, step.variant)})
                            : message_of(history::Completed{id, value_for(id, operation, step.variant)});
    if (step.what == Step::What::wrong_execution) message.execution = ExecutionNumber{number_ + 7};
    messages.push_back(std::move(message));
  }

  // Those that can have an outcome from outside.
  [[nodiscard]] std::vector<EventId> all_operations() const {
    std::vector<EventId> ids;
    for (const auto& [id, entry] : execution_->books().operations()) {
      const bool waits_for_message = std::holds_alternative<detail::EventAwaited>(entry.operation) ||
                                     std::holds_alternative<detail::MessageAwaited>(entry.operation) ||
                                     std::holds_alternative<detail::SessionEventAwaited>(entry.operation);
      if (!waits_for_message) ids.push_back(id);
    }
    return ids;
  }

  // ---- after a turn -----------------------------------------------------------------------------

  void enter(const Outcome& outcome, Frames then) {
    TurnRecord record = record_of(outcome);
    if (const Trace* const trace = execution_->trace()) {
      record.trace = trace->text.substr(trace_size_);
      trace_size_ = trace->text.size();
      check_code(outcome, *trace);
      check_sagas(outcome, *trace);
    }
    records_.push_back(std::move(record));
    for (std::string& problem : execution_->problems) run_.problems.push_back(std::move(problem));
    execution_->problems.clear();
    execution_->go_on_with(then);
    const auto& end = execution_->books().end();
    if (!end) return;
    if (const auto* next = std::get_if<history::ContinuedAsNew>(&*end)) return continue_with(*next);
    ++after_end_;
  }

  void continue_with(const history::ContinuedAsNew& next) {
    const std::unique_ptr<CheckedExecution> former = std::move(execution_);
    run_.executions.push_back(std::exchange(records_, {}));
    begin(next.input, next.version, former->books().values(), former->books().cancel_request());
    execution_->inherit(former->books().unread());
  }

  // When code has come to its end, the sagas that did not come to theirs were undone, each of them once.
  void check_sagas(const Outcome& outcome, const Trace& trace) {
    const auto& end = execution_->books().end();
    if (end && std::holds_alternative<history::ExecutionTerminated>(*end)) return;
    for (const Cancel& cancel : outcome.cancels) {
      expect(cancel.label != kUndo, "the undoing of a saga was cancelled");
    }
    if (!end) return;
    std::map<std::string, int> undone;
    for (const auto& [id, entry] : execution_->books().operations()) {
      const auto* const activity = std::get_if<detail::ActivityScheduled>(&entry.operation);
      if (activity == nullptr || activity->name != kUndo) continue;
      expect(++undone[activity->input.bytes] == 1, "a saga was undone twice");
    }
    for (std::size_t i = 0; i < trace.sagas.size(); ++i) {
      expect(trace.sagas[i] || undone.contains(encode(i).bytes), "a saga was dropped and not undone");
    }
  }

  // What is promised about a request to cancel.
  void check_code(const Outcome& outcome, const Trace& trace) {
    expect(trace.broken.empty(), trace.broken);
    const Books& books = execution_->books();
    if (!books.cancel_request()) return;
    if (std::exchange(was_cancelled_, true)) {
      for (const Action& action : outcome.actions) {
        expect(!is_unshielded(action.operation),
               "code outside of a shield started something after a request to cancel");
      }
    }
    if (books.end()) return;
    expect(trace.open_waits == 0, "code outside of a shield still waits after a request to cancel");
    for (const OpenOperation& open : execution_->warm().open_operations()) {
      expect(trace.shared || !is_unshielded(books.operations().at(open.id).operation),
             "what was started outside of a shield is still open after a request to cancel");
    }
  }

  static bool is_unshielded(const detail::Operation& operation) {
    const auto name_of = []<class T>(const T& o) -> std::string {
      if constexpr (requires { o.name; } && !std::is_same_v<T, detail::EventAwaited>) return o.name;
      return "";
    };
    return std::visit(name_of, operation).starts_with(kUnshieldedPrefix);
  }

  const Case& case_;
  Run run_;
  std::unique_ptr<CheckedExecution> execution_;
  std::uint64_t number_ = 0;
  history::Started start_;
  bool started_ = false;
  bool was_cancelled_ = case_.born_cancelled;
  int after_end_ = 0;
  unsigned turns_ = 0;
  CalendarTime now_{std::chrono::sys_days(std::chrono::year(2030) / 1 / 1)};
  std::uint64_t message_ids_ = 0;
  std::size_t trace_size_ = 0;
  std::vector<TurnRecord> records_;
};

}  // namespace

std::string to_text(const Case& what) { return encode(what).bytes; }
Case case_of(const std::string& text) { return decode<Case>(Payload{kJsonEncoding, text}).value(); }

Run run(const Case& what) { return World(what).run(); }

std::vector<std::string> segments_of(const std::vector<TurnRecord>& execution) {
  std::vector<std::string> segments;
  for (const TurnRecord& turn : execution) {
    const std::optional<std::string> bytes = from_hex(turn.segment);
    if (!bytes) throw std::invalid_argument("a segment is not written in hexadecimal digits");
    if (!bytes->empty()) segments.push_back(*bytes);
  }
  return segments;
}

std::optional<Problem> first_difference(const std::vector<TurnRecord>& execution, std::uint64_t number) {
  Execution replayed(identity_of(number), interpreter());
  return CheckedExecution::replay_all(replayed, segments_of(execution));
}

std::string replay(const std::vector<TurnRecord>& execution, std::uint64_t number) {
  const auto problem = first_difference(execution, number);
  return problem ? describe(*problem) : "";
}

}  // namespace holdfast::engine
