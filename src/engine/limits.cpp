// Execution, the part that keeps code within its limits. What is refused leaves no trace in history, and the
// limits are those of the start event: replay refuses the same again.
#include "base/failure_text.hpp"
#include "base/limit_failure.hpp"
#include "engine/execution.hpp"

#include <utility>

namespace holdfast::engine {

using detail::Operation;

namespace {

Failure limit_failure(std::string type, std::string message) {
  return {.category = Category::limit,
          .type = std::move(type),
          .message = std::move(message),
          .retryable = false};
}

std::string bytes_text(std::uint64_t bytes) { return std::to_string(bytes) + " bytes"; }

/// Four fifths, and at least one below: where the warning is.
bool is_near(std::uint64_t now, std::uint64_t limit) { return limit != 0 && now >= limit - limit / 5; }

/// Whether its outcome is waited for, beyond its own event.
bool stays_open(const Operation& operation) {
  if (const auto* start = std::get_if<detail::DetachedStarted>(&operation)) return !start->launched;
  return !std::holds_alternative<detail::SideEffectRecorded>(operation) &&
         !std::holds_alternative<detail::MessageTried>(operation) &&
         !std::holds_alternative<detail::MessageSent>(operation) &&
         !std::holds_alternative<detail::CancelSent>(operation) &&
         !std::holds_alternative<detail::TerminateSent>(operation);
}

}  // namespace

std::optional<Failure> Execution::over_payload_limit(std::string_view what, std::uint64_t bytes) {
  if (!limits_) return std::nullopt;
  const std::uint64_t limit = limits_->payload_bytes;
  if (limit != 0 && bytes > limit) {
    return detail::payload_too_large(what, bytes, limit);
  }
  if (is_near(bytes, limit)) near_limit("the size of " + std::string(what), bytes, limit);
  return std::nullopt;
}

std::optional<Failure> Execution::over_limit(const Operation& operation) {
  if (!limits_) return std::nullopt;
  std::optional<Failure> refused = std::visit(
      [this]<class T>(const T& o) -> std::optional<Failure> {
        if constexpr (requires { o.input; }) {
          const std::uint64_t bytes = o.input.bytes.size();
          if (is_near(bytes, limits_->payload_bytes))
            return over_payload_limit("the input of '" + o.name + "'", bytes);
        } else if constexpr (std::is_same_v<T, detail::MessageSent>) {
          const std::uint64_t bytes = o.value.bytes.size();
          if (is_near(bytes, limits_->payload_bytes))
            return over_payload_limit("'" + o.name + "' for instance '" + o.instance + "'", bytes);
        }
        return std::nullopt;
      },
      operation);
  if (refused) return refused;
  if (!stays_open(operation)) return std::nullopt;
  const std::uint64_t limit = limits_->open_operations;
  const std::uint64_t open = open_.size();
  if (limit != 0 && open >= limit) {
    return limit_failure("too_many_operations",
                         std::to_string(open) +
                             " operations of this execution are open, and no more may be; "
                             "wait for some of them first, or spread them over children");
  }
  if (limit != 0 && is_near(open + 1, limit) && !is_near(open, limit))
    near_limit("the number of open operations", open + 1, limit);
  return std::nullopt;
}

// What code threw, as far as it may go into history.
Failure Execution::failure_thrown(const std::exception_ptr& error) const {
  Failure failure = detail::failure_of(error);
  detail::limit_details(failure, limits_ ? limits_->payload_bytes : 0);
  return failure;
}

void Execution::check_value_limits(std::string_view key, const Payload& value) {
  if (!limits_) return;
  if (auto refused = over_payload_limit("the value '" + std::string(key) + "'", value.bytes.size()))
    throw LimitError(*std::move(refused));
  const Payload* const former = this->value(key);
  const std::uint64_t count = (values_ ? values_->size() : 0) + (former == nullptr ? 1 : 0);
  if (limits_->values != 0 && count > limits_->values) {
    throw LimitError(limit_failure(
        "too_many_values",
        "an instance may have " + std::to_string(limits_->values) + " values; clear some that nobody reads"));
  }
  const std::uint64_t bytes = values_bytes_ + key.size() + value.bytes.size() -
                              (former == nullptr ? 0 : key.size() + former->bytes.size());
  if (limits_->values_bytes != 0 && bytes > limits_->values_bytes) {
    throw LimitError(limit_failure("values_too_large", "all values of an instance may have " +
                                                           bytes_text(limits_->values_bytes) +
                                                           " together, and would have " + bytes_text(bytes)));
  }
  if (is_near(count, limits_->values)) near_limit("the number of values", count, limits_->values);
  if (is_near(bytes, limits_->values_bytes))
    near_limit("the size of all values", bytes, limits_->values_bytes);
}

void Execution::check_attribute_limits(const Attribute& attribute) const {
  std::size_t count = 1;
  std::size_t size = detail::size_of(attribute);
  for (const Attribute& other : attributes_ ? *attributes_ : std::vector<Attribute>()) {
    if (other.name == attribute.name && type_of(other.value) == type_of(attribute.value)) continue;
    ++count;
    size += detail::size_of(other);
  }
  if (auto refused = detail::over_attribute_limit(count, size)) throw LimitError(*std::move(refused));
}

// At the beginning of a turn: what the turns before it have written is the same on replay.
void Execution::end_if_history_is_too_long(std::uint64_t events) {
  if (!limits_ || end_) return;
  const bool too_many = limits_->history_events != 0 && events > limits_->history_events;
  const bool too_large = limits_->history_bytes != 0 && history_bytes_ > limits_->history_bytes;
  if (!too_many && !too_large) return;
  const std::string size = too_many ? std::to_string(events) + " events" : bytes_text(history_bytes_);
  const std::string limit =
      too_many ? std::to_string(limits_->history_events) : bytes_text(limits_->history_bytes);
  end_ = history::ExecutionFailed{
      limit_failure("history_too_long", "the history of this execution has " + size + ", and may have " +
                                            limit + "; ask ctx.should_continue_as_new() once per round")};
  stop();
}

// After a live turn.
void Execution::note_history_size(std::uint64_t segment_bytes) {
  const std::uint64_t bytes = history_bytes_ + segment_bytes;
  if (limits_ && !end_) {
    const std::uint64_t events = next_event_.value - 1;
    const std::uint64_t before = live_->outcome.first_event.value - 1;
    if (is_near(events, limits_->history_events) && !is_near(before, limits_->history_events))
      near_limit("the number of events in history", events, limits_->history_events);
    if (is_near(bytes, limits_->history_bytes) && !is_near(history_bytes_, limits_->history_bytes))
      near_limit("the size of history", bytes, limits_->history_bytes);
  }
  history_bytes_ = bytes;
}

void Execution::near_limit(std::string what, std::uint64_t now, std::uint64_t limit) {
  if (live_ == nullptr) return;
  live_->outcome.near_limits.push_back(std::move(what) + " is " + std::to_string(now) + " of " +
                                       std::to_string(limit));
}

}  // namespace holdfast::engine
