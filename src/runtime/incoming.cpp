#include "runtime/incoming.hpp"

#include <holdfast/codec.hpp>
#include <holdfast/ended_instance.hpp>
#include <holdfast/session.hpp>

#include <algorithm>
#include <iterator>
#include <type_traits>
#include <utility>

namespace holdfast::runtime {
namespace {

const Payload kNull{kJsonEncoding, "null"};

Category category_of(CancelReason reason) {
  switch (reason) {
    case CancelReason::session_lost:
    case CancelReason::session_closed:
    case CancelReason::session_expired:
    case CancelReason::session_aborted:
      return Category::session;
    case CancelReason::schedule_to_start:
    case CancelReason::requirements_not_met:
    case CancelReason::no_session_capacity:
    case CancelReason::total_deadline:
      return Category::timeout;
    case CancelReason::unreadable:
      return Category::decode;
    default:
      return Category::cancelled;
  }
}

// What became of the worker that held it.
std::string loss_of(const store::ActivityTaken& taken) {
  const std::string owner =
      taken.owner.empty() ? "its worker" : "worker '" + taken.owner + "', which held it,";
  switch (taken.session_reason) {
    case store::SessionReason::owner_lost:
      return owner + " gave no sign of life for longer than its lease";
    case store::SessionReason::owner_restarted:
      return owner + " was started again, and has nothing of it in memory";
    case store::SessionReason::drain_deadline:
      return owner + " was stopped before the session could be saved or closed";
    default:
      return owner + " is gone";
  }
}

std::string_view end_of(store::SessionReason reason) {
  switch (reason) {
    case store::SessionReason::operated:
      return " was closed by a client";
    case store::SessionReason::opener_ended:
      return " was closed: the instance that had opened it has ended";
    default:
      return " was closed";
  }
}

std::string message_of(const store::ActivityTaken& taken) {
  const std::string session = taken.session.empty() ? "its session" : "session '" + taken.session + "'";
  switch (taken.reason) {
    case CancelReason::session_lost:
      return session + " is lost: " + loss_of(taken) + "; open it again to begin anew";
    case CancelReason::session_closed:
      return session + std::string(end_of(taken.session_reason));
    case CancelReason::session_expired:
      return "the time to live of " + session + " is over";
    case CancelReason::session_aborted:
      return session + " was aborted" + (taken.note.empty() ? " by an activity" : ": " + taken.note);
    case CancelReason::schedule_to_start:
      return "no worker took it within its schedule-to-start timeout";
    case CancelReason::requirements_not_met:
      return "no live worker met the requirements of " + session +
             " within its schedule-to-start timeout: start one with these capabilities";
    case CancelReason::no_session_capacity:
      return "no worker had room for " + session +
             " within its schedule-to-start timeout: start more workers, or raise their session_limit";
    case CancelReason::total_deadline:
      return "its total deadline passed before its next attempt could start";
    case CancelReason::unreadable:
      return "its row could not be read and was set aside";
    default:
      return "it was cancelled: " + std::string(to_string(taken.reason));
  }
}

history::Failed to_failed(const CachedInstance& instance, const store::Message& message,
                          const store::ActivityTaken& taken) {
  std::string source = "activity";
  if (instance.frame) {
    for (const engine::OpenOperation& operation : instance.frame->open_operations()) {
      if (operation.id == message.source) source += " " + operation.label;
    }
  }
  Failure failure{.category = category_of(taken.reason),
                  .type = std::string(to_string(taken.reason)),
                  .message = message_of(taken),
                  .source = std::move(source),
                  .event = message.source,
                  .attempt = static_cast<int>(taken.attempt),
                  .retryable = false};
  if (auto cause = bodies::read<Failure>(taken.last_failure)) {
    failure.cause = std::make_shared<const Failure>(*std::move(cause));
  }
  return {message.source, std::move(failure)};
}

// What open_session and close answer to the code: the session's id, or nothing.
history::Completed to_completed(const CachedInstance& instance, const store::Message& message,
                                const store::SessionAnswer& answer) {
  using Kind = store::SessionAnswer::Kind;
  if ((answer.kind == Kind::opened || answer.kind == Kind::existed) && instance.frame) {
    for (const engine::OpenOperation& operation : instance.frame->open_operations()) {
      if (operation.id == message.source) return {message.source, encode(operation.label)};
    }
  }
  return {message.source, kNull};
}

// The engine wants it in an optional: a value that is null is not one that is missing.
std::optional<Payload> to_payload(const store::ValueAnswer& answer) {
  std::optional<Payload> value;
  if (answer.value) {
    value = bodies::read<Payload>(*answer.value);
    if (!value) return std::nullopt;
  }
  return encode(value);
}

/// What ctx.ended() gives; nothing when how the instance ended can't be read.
std::optional<Payload> to_payload(const store::EndAnswer& answer) {
  auto outcome = bodies::read<bodies::Outcome>(answer.output);
  if (!outcome) return std::nullopt;
  EndedInstance ended{.status = answer.status};
  if (answer.status == Status::completed) {
    ended.output = std::move(outcome->value);
  } else {
    ended.failure = std::move(outcome->failure);
  }
  return encode(ended);
}

// Why nobody will ever say how it ended.
Failure no_end(const store::EndAnswer& answer, const std::string& id) {
  const std::string who = "instance '" + id + "'";
  Failure failure{.source = "the end of " + who, .retryable = false};
  switch (answer.kind) {
    case store::EndAnswer::Kind::deleted:
      failure.type = "instance_deleted";
      failure.message = who + " was deleted before it ended";
      break;
    case store::EndAnswer::Kind::too_many:
      failure.category = Category::limit;
      failure.type = "too_many_wait";
      failure.message = std::to_string(store::kMaxEndRequests) + " wait for the end of " + who +
                        " already: let one instance wait, and tell the others by messages";
      break;
    case store::EndAnswer::Kind::itself:
      failure.type = "own_end";
      failure.message = who + " can't wait for its own end";
      break;
    case store::EndAnswer::Kind::not_found:
    case store::EndAnswer::Kind::ended:
      failure.type = "instance_not_found";
      failure.message = "there is no " + who + ": it was never started, or was deleted";
      break;
  }
  return failure;
}

std::string label_of(const CachedInstance& instance, EventId operation) {
  if (!instance.frame) return {};
  for (const engine::OpenOperation& open : instance.frame->open_operations()) {
    if (open.id == operation) return open.label;
  }
  return {};
}

history::ExecutionLimits to_history(const Limits& limits) {
  return {.payload_bytes = limits.payload_bytes,
          .history_events = limits.history_events,
          .history_bytes = limits.history_bytes,
          .open_operations = limits.open_operations,
          .values = limits.values,
          .values_bytes = limits.values_bytes};
}

Payload to_payload(const store::SessionNews& news) {
  return encode(SessionEvent{.kind = static_cast<SessionEvent::Kind>(news.kind),
                             .from = news.from,
                             .to = news.to,
                             .reason = news.reason,
                             .generation = news.generation.value});
}

/// Reads one batch.
class Reader {
 public:
  Reader(const CachedInstance& instance, const FirstTurn& first, Incoming& out)
      : instance_(instance), first_(first), out_(out) {}

  void read(store::Message&& message) {
    if (!std::visit([&](auto& body) { return take(message, body); }, message.body)) {
      out_.set_aside.push_back(message.id);
    }
  }

  /// Whether it is the start of the execution that this turn begins, and not of somebody who wants the id.
  [[nodiscard]] bool begins(const store::Message& message) const {
    return first_.fresh && message.kind == store::MessageKind::start &&
           message.execution == instance_.execution;
  }

 private:
  // Each returns false when the message can't be read.
  bool take(const store::Message& message, const std::string& bytes) {
    switch (message.kind) {
      case store::MessageKind::start:
        return take_start(message, bytes);
      case store::MessageKind::outcome:
        return take_outcome(message, bytes);
      case store::MessageKind::control:
      case store::MessageKind::cancel:
        return take_control(message, bytes);
      case store::MessageKind::delivery:
        return take_delivery(message, bytes);
      case store::MessageKind::timer:
        return add(message, history::Completed{message.source, kNull});
      default:
        return false;
    }
  }
  bool take(const store::Message& message, const store::ActivityTaken& taken) {
    return add(message, to_failed(instance_, message, taken));
  }
  bool take(const store::Message& message, const store::ValueAnswer& answer) {
    std::optional<Payload> value = to_payload(answer);
    return value && add(message, history::Completed{message.source, *std::move(value)});
  }
  bool take(const store::Message& message, const store::SessionAnswer& answer) {
    return add(message, to_completed(instance_, message, answer));
  }
  bool take(const store::Message& message, const store::EndAnswer& answer) {
    if (answer.kind != store::EndAnswer::Kind::ended) {
      return add(message,
                 history::Failed{message.source, no_end(answer, label_of(instance_, message.source))});
    }
    std::optional<Payload> ended = to_payload(answer);
    return ended && add(message, history::Completed{message.source, *std::move(ended)});
  }
  bool take(const store::Message& message, const store::SessionNews& news) {
    return add(message, engine::Delivery{message.address, to_payload(news)});
  }

  bool take_start(const store::Message& message, const std::string& bytes) {
    std::optional<bodies::Start> start = bodies::read<bodies::Start>(bytes);
    if (!start) return false;
    if (!begins(message)) {
      out_.refused_starts.push_back(*std::move(start));
      out_.used_up.push_back(message.id);
      return true;
    }
    start->started.version = first_.version;
    start->started.history_budget = first_.history_budget;
    start->started.limits = to_history(first_.limits);
    out_.start = start;
    return add(message, std::move(start->started));
  }

  bool take_outcome(const store::Message& message, const std::string& bytes) {
    std::optional<bodies::Outcome> outcome = bodies::read<bodies::Outcome>(bytes);
    if (!outcome) return false;
    if (outcome->failure) return add(message, history::Failed{message.source, *std::move(outcome->failure)});
    return add(message, history::Completed{message.source, std::move(outcome->value)});
  }

  bool take_control(const store::Message& message, const std::string& bytes) {
    std::optional<bodies::Control> control = bodies::read<bodies::Control>(bytes);
    if (!control) return false;
    if (control->parent && !is_child_of(*control->parent)) {
      out_.used_up.push_back(message.id);
      return true;
    }
    if (control->kind == bodies::Control::Kind::cancel) {
      return add(message, history::CancelRequested{std::move(control->reason)});
    }
    if (!out_.terminate) out_.terminate = std::move(control->reason);
    out_.used_up.push_back(message.id);
    return true;
  }

  // In the first turn the start message says it, which was read before all others.
  [[nodiscard]] bool is_child_of(const history::Parent& parent) const {
    if (first_.fresh) return out_.start && out_.start->started.parent == parent;
    const history::Parent* const own = instance_.frame ? instance_.frame->parent() : first_.parent;
    return own != nullptr && *own == parent;
  }

  bool take_delivery(const store::Message& message, const std::string& bytes) {
    std::optional<Payload> value = bodies::read<Payload>(bytes);
    return value && add(message, engine::Delivery{message.address, *std::move(value)});
  }

  template <class Body>
  bool add(const store::Message& message, Body body) {
    const ExecutionNumber execution = message.execution.value == 0 ? instance_.execution : message.execution;
    out_.messages.push_back({message.id, execution, std::move(body)});
    return true;
  }

  const CachedInstance& instance_;
  const FirstTurn& first_;
  Incoming& out_;
};

}  // namespace

Incoming read_messages(const CachedInstance& instance, const FirstTurn& first,
                       std::vector<store::Message>&& messages, std::vector<engine::Message>&& spare) {
  Incoming incoming{.messages = std::move(spare)};
  Reader reader(instance, first, incoming);
  // What begins the execution goes first: requests may have come before it.
  const auto own = std::ranges::find_if(messages, [&](const auto& m) { return reader.begins(m); });
  if (own != messages.end()) std::rotate(messages.begin(), own, std::next(own));
  for (store::Message& message : messages) reader.read(std::move(message));
  return incoming;
}

void add_local(Incoming& incoming, const CachedInstance& instance, const std::vector<LocalDone>& done) {
  incoming.messages.reserve(incoming.messages.size() + done.size());
  for (const LocalDone& one : done) {
    engine::Message message{.execution = instance.execution};
    if (one.outcome.failure) {
      message.body = history::Failed{one.id.event, *one.outcome.failure};
    } else {
      message.body = history::Completed{one.id.event, one.outcome.value};
    }
    incoming.messages.push_back(std::move(message));
  }
}

bool asks_to_terminate(std::span<const store::Message> messages) {
  return std::ranges::any_of(messages, [](const store::Message& message) {
    const auto* bytes = std::get_if<std::string>(&message.body);
    if (!store::asks_to_stop(message.kind) || bytes == nullptr) return false;
    const auto control = bodies::read<bodies::Control>(*bytes);
    return control && control->kind == bodies::Control::Kind::terminate;
  });
}

}  // namespace holdfast::runtime
