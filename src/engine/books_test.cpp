#include "engine/books_test.hpp"

#include "codec/segment.hpp"
#include "engine/matching.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::engine {

using detail::Operation;

namespace {

template <class... T>
bool is_any(const Operation& operation) {
  return (std::holds_alternative<T>(operation) || ...);
}

std::optional<Address> address_of(const Operation& operation) {
  if (const auto* e = std::get_if<detail::EventAwaited>(&operation)) {
    return Address{Address::Kind::event, e->name};
  }
  if (const auto* m = std::get_if<detail::MessageAwaited>(&operation)) {
    return Address{Address::Kind::mailbox, m->mailbox};
  }
  if (const auto* s = std::get_if<detail::SessionEventAwaited>(&operation)) {
    return Address{Address::Kind::session, s->id};
  }
  return std::nullopt;
}

bool has_no_outcome_to_come(const Operation& operation) {
  if (const auto* start = std::get_if<detail::DetachedStarted>(&operation)) return start->launched;
  return is_any<detail::SideEffectRecorded, detail::MessageTried, detail::ValueSet, detail::MessageSent,
                detail::CancelSent, detail::TerminateSent, detail::AttributeSet>(operation);
}

// What must not be left behind without anybody knowing.
bool must_be_closed(const Operation& operation) {
  if (const auto* child = std::get_if<detail::ChildStarted>(&operation)) {
    return child->on_parent_close != ParentClosePolicy::abandon;
  }
  return is_any<detail::ActivityScheduled, detail::TimerStarted, detail::EndAwaited>(operation) ||
         address_of(operation);
}

}  // namespace

void Books::expect(bool holds, const std::string& what) {
  if (!holds) problems_.push_back(what);
}

void Books::note_messages(const std::vector<Message>& messages) {
  given_.clear();
  for (const Message& message : messages) {
    if (std::holds_alternative<Delivery>(message.body)) {
      unread_.push_back(message);
      order_[message.id] = ++arrivals_;
    } else {
      given_.push_back({message, ++arrivals_});
    }
  }
}

std::vector<EventId> Books::open() const {
  std::vector<EventId> ids;
  for (const auto& [id, entry] : operations_) {
    if (!entry.closed && !address_of(entry.operation)) ids.push_back(id);
  }
  return ids;
}

std::vector<Address> Books::awaited() const {
  std::set<Address> addresses;
  for (const auto& [id, entry] : operations_) {
    const std::optional<Address> address = address_of(entry.operation);
    if (!entry.closed && address) addresses.insert(*address);
  }
  return {addresses.begin(), addresses.end()};
}

std::vector<std::string> Books::enter(const Outcome& outcome, const std::vector<OpenOperation>& open) {
  problems_.clear();
  received_.clear();
  turn_patches_.clear();
  actions_ = cancels_ = applied_ = next_given_ = 0;
  stage_ = Stage::before;
  doomed_.clear();
  for (const Cancel& cancel : outcome.cancels) doomed_.insert(cancel.source);
  expect(outcome.first_event == next_event_, "the segment begins with another event than the next one");
  for (const Unreadable& message : outcome.unreadable) set_aside(message);
  const bool had_ended = end_.has_value();
  if (!outcome.segment.empty()) enter_segment(outcome);
  expect(actions_ == outcome.actions.size(), "there are actions that are not in history");
  expect(turn_patches_ == outcome.patches, "history and outcome have different patches");
  expect(cancels_ == outcome.cancels.size(), "there are cancels that are not in history");
  expect(outcome.end == (had_ended ? std::nullopt : end_), "the end is not the one in history");
  check_messages(outcome);
  check_open(open);
  return std::exchange(problems_, {});
}

void Books::enter_segment(const Outcome& outcome) {
  expect(!end_, "something happened after the end");
  const auto events = history::read_segment(outcome.segment);
  if (!events) return expect(false, "the segment can't be read: " + events.error());
  for (const history::Event& event : *events) {
    expect(event.id == next_event_, "event ids are not consecutive at " + to_string(event.id));
    next_event_ = EventId{event.id.value + 1};
    enter_event(event, outcome);
  }
  expect(stage_ != Stage::before && events->size() > 1, "a turn without anything in it");
}

void Books::enter_event(const history::Event& event, const Outcome& outcome) {
  const std::string at = " at event " + to_string(event.id);
  const auto enter_body = [&]<class T>(const T& body) {
    if constexpr (std::is_same_v<T, history::TurnStarted>) {
      expect(stage_ == Stage::before, "a second turn begins inside of a segment" + at);
      expect(body.build == identity_.build, "the build is missing" + at);
      stage_ = Stage::open;
    } else if constexpr (std::is_same_v<T, history::OperationCancelled>) {
      stage_ = Stage::cancels;
      enter_cancel(event.id, body, outcome);
    } else if constexpr (std::is_constructible_v<End, T>) {
      expect(stage_ == Stage::open, "the end stands at a wrong place" + at);
      stage_ = Stage::ended;
      end_ = body;
    } else if constexpr (std::is_constructible_v<Operation, T>) {
      expect(stage_ == Stage::open, "an operation stands at a wrong place" + at);
      expect(actions_ < outcome.actions.size() && outcome.actions[actions_].id == event.id &&
                 outcome.actions[actions_].operation == Operation(body),
             "history and outcome have different actions" + at);
      ++actions_;
      enter_operation(event.id, body);
    } else if constexpr (std::is_same_v<T, history::Patched>) {
      expect(stage_ == Stage::open && started_, "a patch stands at a wrong place" + at);
      expect(patches_.insert(body.id).second, "a patch is recorded twice" + at);
      turn_patches_.push_back(body.id);
    } else {
      expect(stage_ == Stage::open, "something is revealed at a wrong place" + at);
      enter_reveal(event);
    }
  };
  std::visit(enter_body, event.body);
}

void Books::enter_cancel(EventId event, const history::OperationCancelled& body, const Outcome& outcome) {
  const std::string at = " at event " + to_string(event);
  if (cancels_ >= outcome.cancels.size()) return expect(false, "the outcome lacks a cancel" + at);
  const Cancel& cancel = outcome.cancels[cancels_];
  expect(cancel.source == body.source && cancel.reason == body.reason,
         "history and outcome have different cancels" + at);
  expect(cancels_ == 0 || outcome.cancels[cancels_ - 1].source < body.source, "cancels are not sorted" + at);
  ++cancels_;
  close(event, body.source, "cancels");
  const auto found = operations_.find(body.source);
  if (found == operations_.end()) return;
  expect(cancel.kind == found->second.operation.index(), "a cancel has the kind of another operation" + at);
  expect(must_be_closed(found->second.operation), "something is cancelled that has to live on" + at);
}

void Books::enter_reveal(const history::Event& event) {
  const std::string at = " at event " + to_string(event.id);
  if (const auto* started = std::get_if<history::Started>(&event.body)) {
    expect(!started_, "it starts a second time" + at);
    apply(event.id, *started);
    started_ = true;
    values_ = started->values;
    cancel_request_ = started->cancel_requested;
  } else if (const auto* request = std::get_if<history::CancelRequested>(&event.body)) {
    expect(!cancel_request_, "a second request to cancel is in history" + at);
    apply(event.id, *request);
    cancel_request_ = request->reason;
  } else if (const auto* failed = std::get_if<history::Failed>(&event.body)) {
    apply(event.id, *failed);
    close(event.id, failed->source, "fails");
  } else if (const auto* completed = std::get_if<history::Completed>(&event.body)) {
    const auto found = operations_.find(completed->source);
    const auto address = found == operations_.end() ? std::nullopt : address_of(found->second.operation);
    if (address) {
      const EventId* const first = first_wait(*address);
      expect(first != nullptr && *first == completed->source, "another wait was the first in line" + at);
      receive(event.id, *address, completed->value);
    } else {
      apply(event.id, *completed);
    }
    close(event.id, completed->source, "completes");
  }
  expect(started_, "something is revealed before the start" + at);
}

// What is revealed was sent to this execution, and keeps the order of the messages.
template <class Body>
void Books::apply(EventId event, const Body& body) {
  const std::string at = " at event " + to_string(event);
  for (; next_given_ < given_.size(); ++next_given_) {
    const auto& [message, order] = given_[next_given_];
    const Body* const sent = std::get_if<Body>(&message.body);
    if (sent == nullptr || !(*sent == body)) continue;
    if constexpr (requires { body.source; }) {
      if (message.execution != identity_.execution) continue;
    }
    expect_nothing_to_deliver(order, at);
    ++applied_;
    ++next_given_;
    return;
  }
  expect(false, "something is revealed that nobody sent, or earlier than what was sent before it" + at);
}

void Books::enter_operation(EventId id, const Operation& operation) {
  operations_[id] = Entry{operation, has_no_outcome_to_come(operation)};
  if (const auto* set = std::get_if<detail::ValueSet>(&operation)) {
    if (set->value) {
      values_.insert_or_assign(set->key, *set->value);
    } else {
      values_.erase(set->key);
    }
  } else if (const auto* tried = std::get_if<detail::MessageTried>(&operation)) {
    if (!tried->value) return;
    const Address mailbox{Address::Kind::mailbox, tried->mailbox};
    expect(first_wait(mailbox) == nullptr, "a look into a mailbox took what another waits for");
    receive(id, mailbox, *tried->value);
  }
}

void Books::close(EventId event, EventId source, const char* how) {
  const auto found = operations_.find(source);
  const bool open = found != operations_.end() && !found->second.closed && source < event;
  expect(open, "event " + to_string(event) + " " + how + " " + to_string(source) + ", which is not open");
  if (open) found->second.closed = true;
}

// Messages of one address are received in the order in which they came.
void Books::receive(EventId event, const Address& address, const Payload& value) {
  const auto next = std::ranges::find_if(
      unread_, [&](const Message& m) { return std::get<Delivery>(m.body).address == address; });
  const std::string what = "event " + to_string(event) + " receives from " + address.name;
  if (next == unread_.end()) return expect(false, what + " when there is no message");
  expect(std::get<Delivery>(next->body).value == value, what + " another message than the next one");
  received_.push_back(next->id);
  unread_.erase(next);
}

// Before all else that the turn does: the order in which it happened is not in history.
void Books::set_aside(const Unreadable& message) {
  const auto found = std::ranges::find(unread_, message.id, &Message::id);
  if (found == unread_.end()) return expect(false, "something is set aside that is not there");
  expect(std::get<Delivery>(found->body).address == message.address,
         "a message is set aside from another address than it was sent to");
  unread_.erase(found);
}

// The operation that has waited here for longest. Those that are cancelled in this turn are left out: history
// does not say when.
const EventId* Books::first_wait(const Address& address) const {
  for (const auto& [id, entry] : operations_) {
    if (!entry.closed && !doomed_.contains(id) && address_of(entry.operation) == address) return &id;
  }
  return nullptr;
}

void Books::expect_nothing_to_deliver(std::uint64_t before, const std::string& when) {
  for (const Message& message : unread_) {
    const Address& address = std::get<Delivery>(message.body).address;
    expect(order_.at(message.id) >= before || first_wait(address) == nullptr,
           "a message to " + address.name + " is left lying before a wait for it" + when);
  }
}

void Books::check_messages(const Outcome& outcome) {
  // A request to cancel is left to the next execution: that which goes on as new, or the next attempt.
  const bool may_go_on = outcome.end && (std::holds_alternative<history::ContinuedAsNew>(*outcome.end) ||
                                         std::holds_alternative<history::ExecutionFailed>(*outcome.end));
  const auto left_over = [&](const Message& message) {
    return may_go_on && std::holds_alternative<history::CancelRequested>(message.body) &&
           std::ranges::find(outcome.consumed, message.id) == outcome.consumed.end();
  };
  std::vector<MessageId> expected = received_;
  std::uint64_t taken = 0;
  for (const Given& given : given_) {
    if (left_over(given.message)) continue;
    expected.push_back(given.message.id);
    ++taken;
  }
  std::vector<MessageId> consumed = outcome.consumed;
  std::ranges::sort(expected);
  std::ranges::sort(consumed);
  expect(consumed == expected, "the consumed messages are not those that were received or applied");
  expect(outcome.ignored + applied_ == taken, "messages that were ignored are counted wrongly");
  if (end_) return;
  expect(outcome.waits == awaited(), "it waits for other messages than its operations do");
  expect_nothing_to_deliver(arrivals_ + 1, " at the end of a turn");
}

void Books::check_open(const std::vector<OpenOperation>& open) {
  if (end_) {
    for (const auto& [id, entry] : operations_) {
      expect(entry.closed || !must_be_closed(entry.operation),
             in_words(entry.operation) + " (event " + to_string(id) + ") is left behind by the end");
    }
    return;
  }
  std::set<EventId> alive;
  for (const OpenOperation& operation : open) {
    alive.insert(operation.id);
    const auto found = operations_.find(operation.id);
    expect(found != operations_.end() && !found->second.closed,
           "operation " + to_string(operation.id) + " is open, and has an outcome");
  }
  for (const auto& [id, entry] : operations_) {
    expect(entry.closed || !must_be_closed(entry.operation) || alive.contains(id),
           in_words(entry.operation) + " (event " + to_string(id) + ") ended without an event");
  }
  for (const auto& [message, order] : given_) {
    const auto source_of = []<class T>(const T& body) {
      if constexpr (requires { body.source; }) return body.source;
      return EventId{};
    };
    expect(message.execution != identity_.execution || !alive.contains(std::visit(source_of, message.body)),
           "the outcome in message " + to_string(message.id) + " was lost");
  }
}

}  // namespace holdfast::engine
