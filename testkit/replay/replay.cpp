#include "client/history_source.hpp"
#include "codec/segment.hpp"
#include "engine/execution.hpp"
#include "testkit/replay/divergence.hpp"
#include "testkit/replay/history_text.hpp"
#include "testkit/replay/operations.hpp"

#include <holdfast/testing/replay.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>
#include <variant>

namespace holdfast::testing {

using engine::Execution;
using engine::Message;
using engine::Outcome;
using engine::Problem;

/// The instance as a store would keep it, and the execution that a runtime would have in memory.
class ReplayHarness::Impl {
 public:
  explicit Impl(ReplayOptions options) : options_(std::move(options)) {
    if (!options_.logger) return;
    log_ = [this](const engine::CodeLine& line) {
      Logger& logger = *options_.logger;
      if (logger.enabled(line.level)) logger.write({line.level, now_, line.message, line.fields});
    };
  }

  void start(std::shared_ptr<const detail::OrchestrationCode> code, Payload input);
  void load(HistoryReader& history);
  void resume(std::shared_ptr<const detail::OrchestrationCode> code);
  void turn(Message message);
  void deliver(Address address, Payload value);
  void request_cancel(std::string reason);
  void terminate(std::string reason);
  void begin_execution(std::string version, Payload input);
  void forget();
  [[nodiscard]] Payload ask(std::string_view name, const Payload& arguments);

  [[nodiscard]] Result<void, Problem> replay(Execution& execution) const;
  [[nodiscard]] std::unique_ptr<Execution> fresh(std::shared_ptr<const detail::OrchestrationCode> code,
                                                 bool strict) const;
  [[nodiscard]] std::vector<StartedOperation> open() const;
  [[nodiscard]] const StartedOperation& open(EventId id) const;
  [[nodiscard]] std::string list_open() const;
  [[nodiscard]] State state() const noexcept;
  template <class Body>
  Message message(Body body) {
    return {MessageId{++messages_}, execution_number_, std::move(body)};
  }

  CalendarTime now_ = ManualClock::kCalendarStart;
  ExecutionNumber execution_number_{0};
  std::vector<std::string> segments_;  // of this execution
  std::vector<StartedOperation> cancelled_;
  std::vector<SetAsideMessage> set_aside_;  // sent, and of no type that the code waits for
  std::vector<SentMessage> sent_;
  std::vector<StartedOperation> launched_;
  std::map<std::string, Payload, std::less<>> values_;
  std::vector<Attribute> attributes_;  // sorted by name and type
  std::optional<Payload> status_;
  std::optional<engine::End> end_;

 private:
  void absorb(Outcome outcome);
  void note(const engine::Action& action);
  void note(const history::Event& event);
  void check_replay() const;

  ReplayOptions options_;
  bool strict_ = true;  // inputs are compared: not with those of a history from elsewhere
  engine::CodeLog log_;
  std::shared_ptr<const detail::OrchestrationCode> code_;
  std::unique_ptr<Execution> execution_;
  std::map<EventId, StartedOperation> started_;  // in this execution
  std::vector<Message> unread_;                  // sent, and not yet received by the code
  bool hand_out_unread_ = false;                 // the execution in memory has not seen them
  std::optional<std::string> cancel_requested_;
  std::uint64_t messages_ = 0;
};

void ReplayHarness::Impl::start(std::shared_ptr<const detail::OrchestrationCode> code, Payload input) {
  if (code_) throw std::logic_error("the instance was started before; use another ReplayHarness");
  if (execution_number_.value != 0) throw std::logic_error("a history was loaded; resume() goes on from it");
  code_ = std::move(code);
  begin_execution(options_.version, std::move(input));
}

void ReplayHarness::Impl::load(HistoryReader& history) {
  if (execution_number_.value != 0)
    throw std::logic_error("the instance was started or loaded before; use another ReplayHarness");
  const HistoryHeader& header = history.header();
  options_.instance = header.instance;
  options_.orchestration = header.orchestration;
  options_.version = header.version;
  execution_number_ = header.execution;
  strict_ = false;
  while (std::optional<std::string> segment = history.source().next_segment()) {
    const auto events = history::read_segment(*segment);
    if (!events) history.source().refuse(events.error());
    for (const history::Event& event : *events) note(event);
    segments_.push_back(*std::move(segment));
  }
}

// What happened, as far as others would see it.
void ReplayHarness::Impl::note(const history::Event& event) {
  const auto see = [&]<class T>(const T& body) {
    if constexpr (std::is_constructible_v<detail::Operation, T>) {
      note(engine::Action{.id = event.id, .operation = body});
    } else if constexpr (std::is_constructible_v<engine::End, T>) {
      end_ = body;
    } else if constexpr (std::is_same_v<T, history::TurnStarted>) {
      now_ = body.time;
    } else if constexpr (std::is_same_v<T, history::Started>) {
      values_ = {body.values.begin(), body.values.end()};
      attributes_ = body.attributes;
      cancel_requested_ = body.cancel_requested;
    } else if constexpr (std::is_same_v<T, history::CancelRequested>) {
      if (!cancel_requested_) cancel_requested_ = body.reason;
    } else if constexpr (std::is_same_v<T, history::OperationCancelled>) {
      if (const auto found = started_.find(body.source); found != started_.end())
        cancelled_.push_back(found->second);
    }
  };
  std::visit(see, event.body);
}

void ReplayHarness::Impl::resume(std::shared_ptr<const detail::OrchestrationCode> code) {
  if (code_ || execution_number_.value == 0)
    throw std::logic_error("resume() goes on from a history that was loaded: call load() before it, once");
  if (segments_.empty()) {
    throw std::logic_error(
        "the history of instance '" + options_.instance +
        "' has no turn yet, so there is nothing to go on from; start() begins an instance");
  }
  auto execution = fresh(code, strict_);
  if (auto outcome = replay(*execution); !outcome) throw Error(engine::to_failure(outcome.error()));
  code_ = std::move(code);
  execution_ = std::move(execution);
  hand_out_unread_ = true;
}

void ReplayHarness::Impl::begin_execution(std::string version, Payload input) {
  ++execution_number_.value;
  segments_.clear();
  started_.clear();
  end_.reset();
  execution_ = fresh(code_, strict_);
  hand_out_unread_ = true;
  turn(message(history::Started{.name = options_.orchestration,
                                .version = version.empty() ? options_.version : std::move(version),
                                .input = std::move(input),
                                .seed = options_.seed + execution_number_.value - 1,
                                .values = {values_.begin(), values_.end()},
                                .cancel_requested = cancel_requested_,
                                .history_budget = options_.history_budget,
                                .attributes = attributes_}));
}

void ReplayHarness::Impl::turn(Message message) {
  std::vector<Message> batch;
  if (std::exchange(hand_out_unread_, false)) batch = unread_;
  if (std::holds_alternative<engine::Delivery>(message.body)) unread_.push_back(message);
  batch.push_back(std::move(message));
  absorb(execution_->run({now_, std::move(batch)}));
}

// What a commit does.
void ReplayHarness::Impl::absorb(Outcome outcome) {
  const std::set<MessageId> consumed(outcome.consumed.begin(), outcome.consumed.end());
  std::erase_if(unread_, [&](const Message& m) { return consumed.contains(m.id); });
  for (const engine::Unreadable& message : outcome.unreadable) {
    std::erase_if(unread_, [&](const Message& m) { return m.id == message.id; });
    set_aside_.push_back({message.address, message.failure});
  }
  if (outcome.segment.empty()) return;
  segments_.push_back(std::move(outcome.segment));
  for (const engine::Action& action : outcome.actions) note(action);
  for (const engine::Cancel& cancel : outcome.cancels) cancelled_.push_back(started_.at(cancel.source));
  if (outcome.status) status_ = std::move(outcome.status);
  end_ = std::move(outcome.end);
  if (options_.replay_every_turn) check_replay();
}

void ReplayHarness::Impl::note(const engine::Action& action) {
  if (auto operation = to_started(action)) {
    const auto* const start = std::get_if<detail::DetachedStarted>(&action.operation);
    if (start != nullptr && start->launched) launched_.push_back(*operation);
    started_.emplace(action.id, *std::move(operation));
  }
  if (auto sent = to_sent(action)) sent_.push_back(*std::move(sent));
  if (const auto* set = std::get_if<detail::ValueSet>(&action.operation)) {
    if (set->value) {
      values_.insert_or_assign(set->key, *set->value);
    } else {
      values_.erase(set->key);
    }
  }
  if (const auto* set = std::get_if<detail::AttributeSet>(&action.operation))
    holdfast::detail::change_attribute(attributes_, set->name, set->type, set->value);
}

void ReplayHarness::Impl::deliver(Address address, Payload value) {
  Message delivery = message(engine::Delivery{std::move(address), std::move(value)});
  switch (state()) {
    case State::running:
      return turn(std::move(delivery));
    case State::not_started:
    case State::continued_as_new:
      return unread_.push_back(std::move(delivery));
    default:
      throw std::logic_error("nobody receives messages any more: the instance has ended");
  }
}

void ReplayHarness::Impl::request_cancel(std::string reason) {
  if (state() != State::running) throw std::logic_error("only a running instance can be cancelled");
  if (!cancel_requested_) cancel_requested_ = reason;
  turn(message(history::CancelRequested{std::move(reason)}));
}

void ReplayHarness::Impl::terminate(std::string reason) {
  if (state() != State::running) throw std::logic_error("only a running instance can be terminated");
  absorb(execution_->terminate(now_, std::move(reason)));
}

void ReplayHarness::Impl::forget() {
  if (!code_) throw std::logic_error("there is nothing to forget before the start");
  execution_ = fresh(code_, strict_);
  hand_out_unread_ = true;
  if (auto outcome = replay(*execution_); !outcome) throw Error(engine::to_failure(outcome.error()));
}

namespace {

std::string in_words(const Result<Payload>& answer) {
  return answer ? answer->bytes : "the failure '" + describe(answer.error()) + "'";
}

[[noreturn]] void refuse_as_different(std::string_view name, const Result<Payload>& one,
                                      const Result<Payload>& other, std::string_view where) {
  throw Error(Failure{.category = Category::nondeterminism,
                      .type = "query_differs",
                      .message = "the query '" + std::string(name) + "' gives " + in_words(one) +
                                 " at first, and " + in_words(other) + " " + std::string(where) +
                                 "; a handler may only read, and only what follows from history",
                      .source = "query " + std::string(name),
                      .retryable = false});
}

}  // namespace

Payload ReplayHarness::Impl::ask(std::string_view name, const Payload& arguments) {
  if (!execution_) throw std::logic_error("there is nobody to ask before the start");
  engine::Asked first = execution_->ask(name, arguments);
  const auto cold = fresh(code_, strict_);
  if (auto outcome = replay(*cold); !outcome) throw Error(engine::to_failure(outcome.error()));
  const engine::Asked replayed = cold->ask(name, arguments);
  if (replayed.answer != first.answer)
    refuse_as_different(name, first.answer, replayed.answer, "when its code was replayed");
  if (first.spoiled) {
    forget();
  } else if (const engine::Asked again = execution_->ask(name, arguments); again.answer != first.answer) {
    refuse_as_different(name, first.answer, again.answer, "when it was asked again");
  }
  if (!first.answer) throw QueryError(std::move(first.answer).error());
  return *std::move(first.answer);
}

void ReplayHarness::Impl::check_replay() const {
  const auto execution = fresh(code_, strict_);
  if (auto outcome = replay(*execution); !outcome) throw Error(engine::to_failure(outcome.error()));
}

std::unique_ptr<Execution> ReplayHarness::Impl::fresh(std::shared_ptr<const detail::OrchestrationCode> code,
                                                      bool strict) const {
  engine::Identity identity{
      .instance = options_.instance, .execution = execution_number_, .build = "test", .strict = strict};
  if (log_) identity.log = &log_;
  return std::make_unique<Execution>(std::move(identity), std::move(code));
}

Result<void, Problem> ReplayHarness::Impl::replay(Execution& execution) const {
  for (const std::string& segment : segments_) {
    if (auto outcome = execution.replay(segment); !outcome) return outcome;
  }
  return {};
}

std::vector<StartedOperation> ReplayHarness::Impl::open() const {
  std::vector<StartedOperation> list;
  if (state() != State::running) return list;
  for (const engine::OpenOperation& operation : execution_->open_operations()) {
    list.push_back(started_.at(operation.id));
  }
  return list;
}

const StartedOperation& ReplayHarness::Impl::open(EventId id) const {
  for (const StartedOperation& operation : open()) {
    if (operation.id == id) return started_.at(id);
  }
  throw std::logic_error("event " + to_string(id) + " is not an open operation; " + list_open());
}

std::string ReplayHarness::Impl::list_open() const {
  std::string text;
  for (const StartedOperation& operation : open()) text += (text.empty() ? "" : ", ") + in_words(operation);
  return text.empty() ? "nothing is open" : "open: " + text;
}

ReplayHarness::State ReplayHarness::Impl::state() const noexcept {
  if (!execution_) return State::not_started;
  if (!end_) return State::running;
  static_assert(std::variant_size_v<engine::End> == 5);
  return static_cast<State>(static_cast<std::size_t>(State::completed) + end_->index());
}

// ---- the public face ----------------------------------------------------------------------------

ReplayHarness::ReplayHarness() : ReplayHarness(ReplayOptions{}) {}
ReplayHarness::ReplayHarness(ReplayOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
ReplayHarness::ReplayHarness(ReplayHarness&&) noexcept = default;
ReplayHarness& ReplayHarness::operator=(ReplayHarness&&) noexcept = default;
ReplayHarness::~ReplayHarness() = default;

void ReplayHarness::load(HistoryReader history) { impl_->load(history); }
void ReplayHarness::resume_code(std::shared_ptr<const detail::OrchestrationCode> code) {
  impl_->resume(std::move(code));
}

void ReplayHarness::start_code(std::shared_ptr<const detail::OrchestrationCode> code, Payload input) {
  impl_->start(std::move(code), std::move(input));
}

std::vector<StartedOperation> ReplayHarness::open() const { return impl_->open(); }

StartedOperation ReplayHarness::open(std::string_view name) const {
  for (StartedOperation& operation : impl_->open()) {
    if (operation.name == name) return std::move(operation);
  }
  throw std::logic_error("nothing called '" + std::string(name) + "' is open; " + impl_->list_open());
}

bool ReplayHarness::is_open(std::string_view name) const {
  const std::vector<StartedOperation> operations = impl_->open();
  return std::any_of(operations.begin(), operations.end(),
                     [&](const StartedOperation& operation) { return operation.name == name; });
}

const std::vector<StartedOperation>& ReplayHarness::cancelled() const noexcept { return impl_->cancelled_; }
const std::vector<SentMessage>& ReplayHarness::sent() const noexcept { return impl_->sent_; }
const std::vector<StartedOperation>& ReplayHarness::launched() const noexcept { return impl_->launched_; }

void ReplayHarness::complete_with(EventId id, std::optional<Payload> value) {
  const StartedOperation& operation = impl_->open(id);
  Payload answer = value ? *value : Payload{kJsonEncoding, "null"};
  switch (operation.kind) {
    case OperationKind::timer:
      throw std::logic_error("a timer fires by fire_timer() or advance()");
    case OperationKind::event:
    case OperationKind::mailbox:
    case OperationKind::session_event:
      throw std::logic_error(in_words(operation) + " waits for raise(), send() or session_event()");
    case OperationKind::detached:
      if (!value) answer = encode(operation.instance);
      break;
    case OperationKind::session_open:
      if (!value) answer = encode(operation.name);
      break;
    case OperationKind::value_of:
      answer = encode(value);  // the store says whether there is one
      break;
    default:
      break;
  }
  impl_->turn(impl_->message(history::Completed{id, std::move(answer)}));
}

void ReplayHarness::fail_with(EventId id, Failure failure) {
  const StartedOperation& operation = impl_->open(id);
  if (failure.source.empty()) failure.source = failure_source(operation);
  failure.event = id;
  impl_->turn(impl_->message(history::Failed{id, std::move(failure)}));
}

Payload ReplayHarness::ask(std::string_view name, const Payload& arguments) {
  return impl_->ask(name, arguments);
}

void ReplayHarness::fire_timer() {
  std::optional<StartedOperation> next;
  for (StartedOperation& operation : impl_->open()) {
    if (operation.kind == OperationKind::timer && (!next || operation.due < next->due)) {
      next = std::move(operation);
    }
  }
  if (!next || next->due == CalendarTime::max()) {
    throw std::logic_error("no timer will ever be due; " + impl_->list_open());
  }
  impl_->now_ = std::max(impl_->now_, next->due);
  impl_->turn(impl_->message(history::Completed{next->id, Payload{kJsonEncoding, "null"}}));
}

void ReplayHarness::advance(Duration by) {
  const CalendarTime until = impl_->now_ + by;
  const auto one_is_due = [&] {
    const std::vector<StartedOperation> operations = impl_->open();
    return std::any_of(operations.begin(), operations.end(), [&](const StartedOperation& operation) {
      return operation.kind == OperationKind::timer && operation.due <= until;
    });
  };
  while (one_is_due()) fire_timer();
  impl_->now_ = until;
}

CalendarTime ReplayHarness::now() const noexcept { return impl_->now_; }

void ReplayHarness::raise_with(std::string_view event, Payload value) {
  impl_->deliver({Address::Kind::event, std::string(event)}, std::move(value));
}
void ReplayHarness::send_with(std::string_view mailbox, Payload value) {
  impl_->deliver({Address::Kind::mailbox, std::string(mailbox)}, std::move(value));
}
void ReplayHarness::session_event(std::string_view session, const SessionEvent& event) {
  impl_->deliver({Address::Kind::session, std::string(session)}, encode(event));
}

void ReplayHarness::cancel(std::string reason) { impl_->request_cancel(std::move(reason)); }
void ReplayHarness::terminate(std::string reason) { impl_->terminate(std::move(reason)); }

void ReplayHarness::next_execution() {
  if (state() != State::continued_as_new) throw std::logic_error("the code has not continued as new");
  auto next = std::get<history::ContinuedAsNew>(*impl_->end_);
  impl_->begin_execution(std::move(next.version), std::move(next.input));
}

void ReplayHarness::forget() { impl_->forget(); }

std::optional<Divergence> ReplayHarness::replay_code(
    const std::shared_ptr<const detail::OrchestrationCode>& code) const {
  const auto execution = impl_->fresh(code, false);
  const Result<void, Problem> outcome = impl_->replay(*execution);
  if (outcome) return std::nullopt;
  return to_divergence(outcome.error());
}

std::vector<HistoryLine> ReplayHarness::history() const {
  std::vector<HistoryLine> lines;
  for (const std::string& segment : impl_->segments_) {
    const auto events = history::read_segment(segment);
    if (!events) throw std::logic_error(events.error());
    for (const history::Event& event : *events) lines.push_back(to_line(event));
  }
  return lines;
}

std::string ReplayHarness::history_text() const { return to_text(history()); }

ReplayHarness::State ReplayHarness::state() const noexcept { return impl_->state(); }
ExecutionNumber ReplayHarness::execution() const noexcept { return impl_->execution_number_; }

Result<Payload> ReplayHarness::output_payload() const {
  if (!impl_->end_) throw std::logic_error("there is no result yet; " + impl_->list_open());
  const auto result = []<class T>(const T& end) -> Result<Payload> {
    if constexpr (std::is_same_v<T, history::ExecutionCompleted>) {
      return end.output;
    } else if constexpr (std::is_same_v<T, history::ExecutionTerminated>) {
      return Unexpected(Failure{.category = Category::terminated, .message = end.reason, .retryable = false});
    } else if constexpr (std::is_same_v<T, history::ContinuedAsNew>) {
      throw std::logic_error("there is no result yet: the code continued as new; call next_execution()");
    } else {
      return Unexpected(end.failure);
    }
  };
  return std::visit(result, *impl_->end_);
}

const std::vector<SetAsideMessage>& ReplayHarness::set_aside() const noexcept { return impl_->set_aside_; }

const Payload* ReplayHarness::status_payload() const noexcept {
  return impl_->status_ ? &*impl_->status_ : nullptr;
}

const Payload* ReplayHarness::value_payload(std::string_view key) const {
  const auto found = impl_->values_.find(key);
  return found == impl_->values_.end() ? nullptr : &found->second;
}

const std::vector<Attribute>& ReplayHarness::attributes() const noexcept { return impl_->attributes_; }

}  // namespace holdfast::testing
