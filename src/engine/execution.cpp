#include "engine/execution.hpp"

#include "base/moments.hpp"
#include "base/versions.hpp"
#include "engine/cancels.hpp"
#include "engine/description.hpp"
#include "engine/keys.hpp"
#include "engine/matching.hpp"

#include <holdfast/detail/undoing.hpp>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace holdfast::engine {

using detail::Description;
using detail::Operation;
using detail::OpState;

namespace {

// Where an operation waits for messages, if it does.
std::optional<Address> address_of(const Operation& operation) {
  if (const auto* event = std::get_if<detail::EventAwaited>(&operation)) {
    return Address{Address::Kind::event, event->name};
  }
  if (const auto* message = std::get_if<detail::MessageAwaited>(&operation)) {
    return Address{Address::Kind::mailbox, message->mailbox};
  }
  if (const auto* session = std::get_if<detail::SessionEventAwaited>(&operation)) {
    return Address{Address::Kind::session, session->id};
  }
  return std::nullopt;
}

constexpr detail::ReadOnly kInEffect{"the function of a side effect",
                                     "which is not called again on replay, so that replay would differ from "
                                     "history; do it before, and pass the "
                                     "value in"};

std::string hex_id(std::uint64_t high, std::uint64_t low) { return to_string(RequestId{high, low}); }

/// What those get who wait for a Future that its owner drops.
Failure dropped_future() {
  return {.type = "future_dropped",
          .message =
              "the Future that was awaited here was dropped by the code that owned it; keep it until "
              "nobody waits for it, or detach() it",
          .retryable = false};
}

}  // namespace

Execution::Execution(Identity identity, std::shared_ptr<const detail::OrchestrationCode> code)
    : identity_(std::move(identity)), code_(std::move(code)), context_(*this), random_(Seed{}) {}

// Destructors of user objects run here, and may ask for anything: after stop() nothing comes of it.
Execution::~Execution() {
  teardown_ = true;
  stop();
  if (root_.frame) root_.frame.destroy();
  while (!detached_tasks_.empty()) {
    OpState* const task = detached_tasks_.back();
    detached_tasks_.pop_back();
    release(task);
  }
  forget_undoings();
  for (const OpState* state : open_.list()) delete state;  // only detached ones are left
  const auto handlers = std::move(handlers_);              // a state may have the guard of one of them
}

EventId Execution::next_event() const noexcept {
  return live_ != nullptr ? live_->writer.next_id() : next_event_;
}

std::vector<OpenOperation> Execution::open_operations() const {
  std::vector<OpenOperation> operations;
  for (const OpState* state : open_.list()) operations.push_back({state->id, state->kind, state->label});
  return operations;
}

// The parent, values and attributes go along.
history::Started Execution::successor(const std::string& version, const Payload& input) const {
  const Seed seed = seed_of_successor(seed_, next_event_, version, input);
  history::Started started{.name = name_,
                           .version = version,
                           .input = input,
                           .seed = seed.low,
                           .history_budget = history_budget_,
                           .seed_high = seed.high};
  if (parent_) started.parent = *parent_;
  if (values_) started.values = {values_->begin(), values_->end()};
  if (attributes_) started.attributes = *attributes_;
  return started;
}

// So does a request to cancel that nobody has answered.
history::Started Execution::next_start() const {
  const auto& end = std::get<history::ContinuedAsNew>(*end_);
  history::Started started = successor(end.version, end.input);
  if (cancel_request()) started.cancel_requested = cancel_request()->message;
  // An attempt that goes on as new is still the same attempt; what it is repeated with is its last input.
  if (retry_) started.retrying = retry_->state;
  return started;
}

const history::Retrying* Execution::retrying() const noexcept {
  return retry_ && !cancel_request() ? &retry_->state : nullptr;
}

history::Started Execution::next_attempt(CalendarTime not_before) const {
  history::Started started = successor(version_, retry_->input);
  history::Retrying next = retry_->state;
  ++next.attempt;
  next.not_before = not_before;
  started.retrying = std::move(next);
  return started;
}

// ---- what the code asks for ---------------------------------------------------------------------

OpState* Execution::start(detail::Described described, detail::StartedFor purpose) {
  if (!described) throw std::logic_error("holdfast: this operation was started or moved away before");
  refuse_in_read_only("an operation was started");
  auto state = std::make_unique<OpState>();
  state->core = this;
  state->shielded = shield();
  if (stopped()) return state.release();
  const bool cancelled = cancel_request_ && !shield();
  if (cancelled && (purpose == detail::StartedFor::a_wait || !outlasts_request(described->operation))) {
    fail(*state, *cancel_request_);
    return state.release();
  }
  complete_description(*described);
  if (const std::optional<Failure> refused = over_limit(described->operation)) {
    fail(*state, *refused);
    return state.release();
  }
  EventId id;
  const Operation& operation = record(described->operation, id);
  if (stopped()) return state.release();
  state->id = id;
  state->kind = static_cast<std::uint8_t>(operation.index());
  state->label = label_of(operation);
  state->why_unreadable = described->why_unreadable;
  if (const auto* child = std::get_if<detail::ChildStarted>(&operation))
    state->on_close = child->on_parent_close;
  if (std::holds_alternative<detail::SideEffectRecorded>(operation) ||
      std::holds_alternative<detail::MessageTried>(operation)) {
    complete_at_once(*state, operation);
  } else if (cancelled) {
    fail(*state, *cancel_request_);  // as one that was open when the request came
  } else {
    open_.add(*state);
    if (const std::optional<Address> address = address_of(operation))
      channels_.ensure().add_wait(*address, *state);
  }
  return state.release();
}

// Fills in what is known only at the start: when, which id, what the function gives.
void Execution::complete_description(Description& description) {
  Operation& operation = description.operation;
  if (auto* timer = std::get_if<detail::TimerStarted>(&operation); timer != nullptr && description.delay) {
    timer->due = after(now_, std::max(*description.delay, Duration::zero()));
  } else if (auto* child = std::get_if<detail::ChildStarted>(&operation);
             child != nullptr && child->id.empty()) {
    const std::uint64_t high = random();
    child->id = hex_id(high, random());
  } else if (auto* start = std::get_if<detail::DetachedStarted>(&operation);
             start != nullptr && start->id.empty()) {
    const std::uint64_t high = random();
    start->id = hex_id(high, random());
  } else if (auto* session = std::get_if<detail::SessionOpened>(&operation);
             session != nullptr && session->settings->id.empty()) {
    detail::SessionSettings settings = *session->settings;
    const std::uint64_t high = random();
    settings.id = hex_id(high, random());
    session->settings = std::move(settings);
  } else if (auto* effect = std::get_if<detail::SideEffectRecorded>(&operation);
             effect != nullptr && !replaying()) {
    read_only_ = &kInEffect;
    try {
      Payload value = description.effect();
      if (auto dropped = take_drop_in_read_only(kInEffect.where)) throw *std::move(dropped);
      if (auto refused = over_payload_limit("the value of a side effect", value.bytes.size()))
        throw Error(*std::move(refused));
      effect->value = std::move(value);
    } catch (...) {
      Failure failure = failure_thrown(std::current_exception());
      failure.source = "side effect";
      effect->failure = std::optional<Failure>(std::move(failure));
    }
    read_only_ = nullptr;
    dropped_in_read_only_ = false;
  } else if (auto* tried = std::get_if<detail::MessageTried>(&operation);
             tried != nullptr && !replaying() && channels_) {
    tried->value = next_readable({Address::Kind::mailbox, tried->mailbox}, description.why_unreadable);
  }
}

std::optional<Payload> Execution::next_readable(const Address& mailbox,
                                                detail::WhyUnreadable why_unreadable) {
  while (auto unread = channels_->take_unread(mailbox)) {
    std::optional<Failure> unreadable =
        why_unreadable != nullptr ? why_unreadable(unread->value) : std::nullopt;
    if (!unreadable) {
      live_->outcome.consumed.push_back(unread->id);
      return std::move(unread->value);
    }
    live_->outcome.unreadable.push_back({unread->id, mailbox, *std::move(unreadable)});
  }
  return std::nullopt;
}

// Writes the event, or finds it in history. Returns the operation as it is recorded, until the next one: it
// stands in the outcome, or in `operation`.
const Operation& Execution::record(Operation& operation, EventId& id) {
  if (replaying()) {
    match(operation, id);
    return operation;
  }
  id = std::visit([this](const auto& body) { return live_->writer.add(body); }, operation);
  const OperationKey key = key_of(seed_, id, operation);
  return live_->outcome.actions.emplace_back(id, std::move(operation), key).operation;
}

// Operations whose outcome stands in their own event.
void Execution::complete_at_once(OpState& state, const Operation& operation) {
  if (const auto* effect = std::get_if<detail::SideEffectRecorded>(&operation)) {
    if (*effect->failure) return fail(state, **effect->failure);
    state.value = effect->value;
  } else if (const auto* tried = std::get_if<detail::MessageTried>(&operation)) {
    state.absent = !tried->value;
    if (tried->value) state.value = *tried->value;
  }
  complete(state);
}

void Execution::fail(OpState& state, const Failure& failure) {
  state.failed = true;
  state.failure = std::make_unique<Failure>(failure);
  complete(state);
}

void Execution::release(OpState* state) noexcept {
  if (read_only_ != nullptr && !state->ready() && !stopped()) {
    note_drop_in_read_only();
    return detach(state);
  }
  // Code that drops its own Future is still running: it goes on, and nobody waits for it.
  if (state->task && !state->ready() && runs_inside(*state)) return detach(state);
  const bool open = !state->task && !state->ready() && state->id.value != 0;
  // What is dropped after the end is cancelled by the end.
  if (open && !teardown_ && (stopped() || state->on_close == ParentClosePolicy::abandon)) {
    return detach(state);
  }
  if (state->task && !state->ready()) drop_frame(*state);
  if (open) {
    remove_open(*state);
    using enum history::CancelReason;
    if (!teardown_) cancel(*state, drops_code_ ? execution_cancelled : dropped);
  }
  if (state->borrowers > 0 && !state->ready() && !stopped()) fail(*state, dropped_future());
  leave(state);
}

// Its owner has left it: it goes as soon as nobody looks at it any more.
void Execution::leave(OpState* state) noexcept {
  state->orphaned = true;
  if (state->borrowers == 0) detail::free_state(state);
}

void Execution::detach(OpState* state) noexcept {
  if (read_only_ != nullptr && !state->ready() && !stopped()) note_drop_in_read_only();
  state->detached = true;
  if (state->task) {
    detached_tasks_.push_back(state);
  } else if (state->ready() || state->id.value == 0) {
    leave(state);
  }
}

std::string Execution::send_off(detail::Described described) {
  refuse_in_read_only("something was sent or launched");
  if (stopped()) return {};
  complete_description(*described);
  if (auto refused = over_limit(described->operation)) throw LimitError(*std::move(refused));
  EventId id;
  return label_of(record(described->operation, id));
}

void Execution::continue_as_new(std::string_view version, Payload input) {
  if (stopped()) return;
  std::string next = version.empty() ? version_ : detail::wanted_version(version);
  if (auto not_undone = untold_failure()) {
    end_ = history::ExecutionFailed{*std::move(not_undone)};
  } else if (auto refused = over_payload_limit("the input of continue-as-new", input.bytes.size())) {
    end_ = history::ExecutionFailed{*std::move(refused)};
  } else {
    end_ = history::ContinuedAsNew{std::move(next), std::move(input)};
  }
  stop();
}

void Execution::too_many_interruptions() { give_up(); }

std::uint64_t Execution::random() {
  refuse_in_read_only("a random number was drawn");
  return random_.next();
}

void Execution::set_status(Payload status) {
  refuse_in_read_only("the status was set");
  if (auto refused = over_payload_limit("the status", status.bytes.size()))
    throw LimitError(*std::move(refused));
  if (stopped()) return;
  status_ = status;
  if (live_ != nullptr) live_->outcome.status = std::move(status);
}

void Execution::set_value(std::string_view key, std::optional<Payload> value) {
  refuse_in_read_only("a value was set");
  if (stopped()) return;
  Operation operation = detail::ValueSet{detail::checked_name("a value", key), std::move(value)};
  if (const auto& wanted = std::get<detail::ValueSet>(operation); wanted.value)
    check_value_limits(key, *wanted.value);
  EventId id;
  const auto* const set = std::get_if<detail::ValueSet>(&record(operation, id));
  if (stopped()) return;
  if (const Payload* former = this->value(set->key)) values_bytes_ -= set->key.size() + former->bytes.size();
  if (set->value) {
    values_bytes_ += set->key.size() + set->value->bytes.size();
    values_.ensure().insert_or_assign(set->key, *set->value);
  } else if (values_) {
    values_->erase(set->key);
  }
}

const Payload* Execution::value(std::string_view key) const {
  if (!values_) return nullptr;
  const auto found = values_->find(key);
  return found == values_->end() ? nullptr : &found->second;
}

void Execution::set_attribute(Attribute attribute) {
  refuse_in_read_only("an attribute was set");
  if (stopped()) return;
  check_attribute_limits(attribute);
  const AttributeType type = type_of(attribute.value);
  Operation operation = detail::AttributeSet{std::move(attribute.name), type, std::move(attribute.value)};
  EventId id;
  const auto* const set = std::get_if<detail::AttributeSet>(&record(operation, id));
  if (!stopped()) detail::change_attribute(attributes_.ensure(), set->name, set->type, set->value);
}

void Execution::clear_attribute(std::string_view name, AttributeType type) {
  refuse_in_read_only("an attribute was cleared");
  if (stopped()) return;
  Operation operation = detail::AttributeSet{detail::checked_name("an attribute", name), type, std::nullopt};
  EventId id;
  const auto* const set = std::get_if<detail::AttributeSet>(&record(operation, id));
  if (!stopped() && attributes_) detail::change_attribute(*attributes_, set->name, set->type, std::nullopt);
}

const AttributeValue* Execution::attribute(std::string_view name, AttributeType type) const {
  return attributes_ ? detail::find_attribute(*attributes_, name, type) : nullptr;
}

// Outside of a turn the frames are destroyed, and after its end nobody hears of what they do.
void Execution::log(LogLevel level, std::string_view message, std::span<const LogField> fields) const {
  if (identity_.log == nullptr || live_ == nullptr || stopped()) return;
  (*identity_.log)({level, message, fields, identity_.instance, name_, identity_.execution});
}

// ---- revealing what happened --------------------------------------------------------------------

void Execution::take_start(history::Started& started) {
  name_ = std::move(started.name);
  version_ = std::move(started.version);
  if (started.parent) parent_ = *std::move(started.parent);
  history_budget_ = started.history_budget;
  seed_ = Seed{.high = started.seed_high, .low = started.seed};
  random_ = SeededRandom(seed_);
  for (auto& [key, value] : started.values) {
    values_bytes_ += key.size() + value.bytes.size();
    values_.ensure().emplace(key, std::move(value));
  }
  if (!started.attributes.empty()) attributes_ = std::move(started.attributes);
  if (!started.limits.is_default()) limits_ = *started.limits;
  begun_ = true;
}

void Execution::begin(history::Started&& started) {
  take_start(started);
  if (started.cancel_requested) reveal_cancel_request(*started.cancel_requested);
  if (!started.retrying.is_default()) {
    retry_ = Retry{.state = *started.retrying, .input = started.input};
    if (retry_->state.first_start == CalendarTime{}) retry_->state.first_start = now_;
    if (retry_->state.not_before > now_ && !cancel_request()) return wait_for_next_attempt();
  }
  begin_code(started.input);
}

// The code of an attempt begins when a timer of the engine's own has fired, or has been cancelled.
void Execution::wait_for_next_attempt() {
  OpState* const gate = start(detail::describe_operation(detail::TimerStarted{retry_->state.not_before}),
                              detail::StartedFor::a_wait);
  if (stopped()) return release(gate);
  gate->detached = true;
  retry_->gate = gate;
}

void Execution::begin_code(const Payload& input) {
  // Moving the inputs into the frame may throw, too.
  Result<detail::RootFrame> root = [&]() -> Result<detail::RootFrame> {
    try {
      return code_->begin(context_, input);
    } catch (...) {
      return Unexpected(failure_thrown(std::current_exception()));
    }
  }();
  if (!root) {
    end_ = history::ExecutionFailed{std::move(root).error()};
    return stop();
  }
  root_ = *root;
  root_.promise->core = this;
  root_.promise->root = true;
  set_shield(false);
  {
    const detail::Resumed resumed(*this, *root_.promise);
    root_.frame.resume();
  }
  run_code();
}

// Detached tasks that ended: what their parameters hold is destroyed with their frames, and may do something.
// So it happens here, where history has a place for it, and not at the end of the turn.
bool Execution::free_finished_tasks() {
  std::vector<OpState*> finished;
  std::erase_if(detached_tasks_, [&](OpState* task) {
    if (task->ready()) finished.push_back(task);
    return task->ready();
  });
  for (OpState* task : finished) {
    set_shield(task->task_promise->shielded);
    leave(task);
  }
  return !finished.empty();
}

// When the code has returned and a saga is open, it is in a detached task. The end drops those, while there
// is still time to undo it.
bool Execution::drop_left_tasks() {
  if (!root_.frame || !root_.frame.done() || detached_tasks_.empty()) return false;
  const detail::Dropping dropping(*this);
  for (OpState* task : std::exchange(detached_tasks_, {})) release(task);
  return true;
}

// Code that was given up is dropped as a whole, once nothing of it is running.
bool Execution::drop_code() {
  if (!given_up() || !root_.frame) return false;
  drops_code_ = true;
  {
    const detail::Dropping dropping(*this);
    std::exchange(root_.frame, nullptr).destroy();
    for (OpState* task : std::exchange(detached_tasks_, {})) release(task);
  }
  drops_code_ = false;
  return true;
}

// Resumes what is ready until the code waits, and notes its end.
void Execution::run_code() {
  do {
    run_ready();
  } while (!stopped() && (drop_code() || free_finished_tasks() || drop_left_tasks() || end_undoing()));
  const bool returned = root_.frame && root_.frame.done();
  if (end_ || !(returned || given_up()) || undoing()) return;
  stop();
  end_ = given_up() ? end_of_given_up() : end_of_code();
}

End Execution::end_of_given_up() const {
  const std::optional<Failure> not_undone = untold_failure();
  if (!not_undone) return history::ExecutionCancelled{*cancel_request_};
  return history::ExecutionCancelled{detail::with_last_cause(*cancel_request_, *not_undone)};
}

End Execution::end_of_code() {
  const std::optional<Failure> not_undone = untold_failure();
  const auto thrown = [&] {
    Failure failure = failure_thrown(std::current_exception());
    return not_undone ? detail::with_last_cause(std::move(failure), *not_undone) : failure;
  };
  try {
    if (root_.promise->error) std::rethrow_exception(root_.promise->error);
    if (not_undone) return history::ExecutionFailed{*not_undone};
    Payload output = root_.output(*root_.promise);
    if (auto refused = over_payload_limit("the result", output.bytes.size()))
      throw LimitError(*std::move(refused));
    return history::ExecutionCompleted{std::move(output)};
  } catch (const Cancelled&) {
    return history::ExecutionCancelled{thrown()};
  } catch (...) {
    return history::ExecutionFailed{thrown()};
  }
}

void Execution::reveal(OpState& state) {
  remove_open(state);
  complete(state);
  const bool is_gate = retry_ && retry_->gate == &state;
  if (state.detached) leave(&state);
  if (is_gate) {
    retry_->gate = nullptr;
    return begin_code(retry_->input);
  }
  run_code();
}

bool Execution::reveal_completed(history::Completed&& completed) {
  OpState* const state = open_.find(completed.source);
  if (state == nullptr) return false;
  state->value = std::move(completed.value);
  reveal(*state);
  return true;
}

bool Execution::reveal_failed(history::Failed&& failed) {
  OpState* const state = open_.find(failed.source);
  if (state == nullptr) return false;
  state->failed = true;
  state->failure = std::make_unique<Failure>(std::move(failed.failure));
  reveal(*state);
  return true;
}

void Execution::reveal_cancel_request(const std::string& reason) {
  if (cancel_request_) return;
  cancel_request_ = Failure{
      .category = Category::cancelled, .type = "cancel_requested", .message = reason, .retryable = false};
  const auto is_shielded = [](const OpState& state) {
    if (state.waiters.empty()) return state.shielded;
    return state.waiters.any([](const detail::Waiter& waiter) { return waiter.shielded; });
  };
  for (OpState* state : open_.list()) {
    if (is_shielded(*state)) {
      interrupt_waiters(*state);
      continue;
    }
    remove_open(*state);
    if (state->on_close != ParentClosePolicy::abandon)
      cancel(*state, history::CancelReason::cancel_requested);
    fail(*state, *cancel_request_);
    if (state->detached) leave(state);
  }
  if (retry_ && std::exchange(retry_->gate, nullptr) != nullptr) return begin_code(retry_->input);
  run_code();
}

// After this the turn has no more cancels.
void Execution::close_turn() {
  if (std::exchange(turn_closed_, true)) return;
  if (end_) {
    for (const OpState* state : open_.list()) {
      if (state->on_close != ParentClosePolicy::abandon) cancel(*state, reason_of(*end_));
    }
  }
  std::sort(cancels_.begin(), cancels_.end(),
            [](const Cancel& a, const Cancel& b) { return a.source < b.source; });
}

void Execution::remove_open(OpState& state) noexcept {
  open_.remove(state.id);
  if (channels_) channels_->remove_wait(state);
}

// What was asked of others takes effect, also when nobody waits for the answer any more.
void Execution::cancel(const OpState& state, history::CancelReason reason) {
  if (!is_cancellable(state.kind)) return;
  cancels_.push_back({state.id, reason, state.kind, state.label, state.on_close});
}

// ---- a new turn ---------------------------------------------------------------------------------

Outcome Execution::run(Turn turn) {
  Outcome outcome;
  run(turn.time, turn.messages, outcome);
  return outcome;
}

void Execution::run(CalendarTime time, std::span<Message> messages, Outcome& outcome) {
  outcome.start_over();
  outcome.first_event = next_event_;
  Live live{outcome, history::SegmentWriter(next_event_), std::max(now_, time)};
  live_ = &live;
  cancels_.clear();
  turn_closed_ = false;
  interruptions_ = 0;

  // Deliveries can be received as soon as the turn begins; what is revealed keeps the order of the messages.
  outcome.consumed.reserve(messages.size());
  const std::uint64_t first = arrivals_;
  arrivals_ += messages.size();
  for (std::uint64_t i = 0; i < messages.size(); ++i) {
    Message& message = messages[i];
    if (auto* delivery = std::get_if<Delivery>(&message.body)) {
      channels_.ensure().add_message(delivery->address, {first + i, message.id, std::move(delivery->value)});
    }
  }
  for (std::uint64_t i = 0; i < messages.size(); ++i) {
    if (std::holds_alternative<Delivery>(messages[i].body)) continue;
    deliver(first + i);
    apply(std::move(messages[i]));
  }
  deliver(std::numeric_limits<std::uint64_t>::max());
  finish_turn(outcome);
}

Outcome Execution::terminate(CalendarTime time, std::string reason) {
  Outcome outcome;
  outcome.first_event = next_event_;
  Live live{outcome, history::SegmentWriter(next_event_), std::max(now_, time)};
  live_ = &live;
  cancels_.clear();
  turn_closed_ = false;
  if (!end_) {
    open_turn();
    end_ = history::ExecutionTerminated{std::move(reason)};
    stop();
  }
  finish_turn(outcome);
  return outcome;
}

// A turn in which nothing happens leaves no trace in history.
void Execution::open_turn() {
  if (!live_->writer.empty()) return;
  now_ = live_->time;
  live_->writer.add(history::TurnStarted{now_, identity_.build});
  end_if_history_is_too_long(next_event_.value - 1);
}

void Execution::apply(Message&& message) {
  Outcome& outcome = live_->outcome;
  // A request to cancel that comes after the end of this execution is for the next one.
  if (std::holds_alternative<history::CancelRequested>(message.body) && may_go_on()) return;
  outcome.consumed.push_back(message.id);
  const auto reveal_new = [&]<class T>(T& body) {
    if constexpr (std::is_same_v<T, history::Started>) {
      if (begun_ || end_) return false;
      open_turn();
      live_->writer.add(body);
      begin(std::move(body));
    } else if constexpr (std::is_same_v<T, history::CancelRequested>) {
      if (end_ || cancel_request_ || !begun_) return false;
      open_turn();
      if (end_) return true;
      live_->writer.add(body);
      reveal_cancel_request(body.reason);
    } else if constexpr (std::is_same_v<T, history::Completed> || std::is_same_v<T, history::Failed>) {
      if (end_ || message.execution != identity_.execution || open_.find(body.source) == nullptr)
        return false;
      open_turn();
      if (end_) return true;
      live_->writer.add(body);
      if constexpr (std::is_same_v<T, history::Completed>) {
        reveal_completed(std::move(body));
      } else {
        reveal_failed(std::move(body));
      }
    }
    return true;
  };
  if (!std::visit(reveal_new, message.body)) ++outcome.ignored;
}

// Whether another execution may follow on the end of this one: as new, or as the next attempt.
bool Execution::may_go_on() const noexcept {
  if (!end_) return false;
  return std::holds_alternative<history::ContinuedAsNew>(*end_) ||
         (std::holds_alternative<history::ExecutionFailed>(*end_) && retrying() != nullptr);
}

void Execution::deliver(std::uint64_t before) {
  while (!end_ && channels_) {
    std::optional<Channels::Match> match = channels_->take_match(before);
    if (!match) break;
    if (match->state == nullptr) {
      live_->outcome.unreadable.push_back(
          {match->message.id, std::move(match->address), std::move(match->unreadable)});
      continue;
    }
    live_->outcome.consumed.push_back(match->message.id);
    open_turn();
    if (end_) break;
    history::Completed completed{match->state->id, std::move(match->message.value)};
    live_->writer.add(completed);
    reveal_completed(std::move(completed));
  }
}

void Execution::finish_turn(Outcome& outcome) {
  close_turn();
  if (!live_->writer.empty()) {
    if (end_) std::visit([this](const auto& end) { live_->writer.add(end); }, *end_);
    for (const Cancel& cancel : cancels_)
      live_->writer.add(history::OperationCancelled{cancel.source, cancel.reason});
    next_event_ = live_->writer.next_id();
    outcome.segment = live_->writer.finish();
    note_history_size(outcome.segment.size());
    outcome.cancels = std::move(cancels_);
    if (end_) outcome.end = *end_;
  }
  if (!end_ && channels_) outcome.waits = channels_->waits();
  live_ = nullptr;
}

}  // namespace holdfast::engine
