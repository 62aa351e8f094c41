#include "base/check_options.hpp"
#include "base/limit_failure.hpp"
#include "client/bodies.hpp"
#include "runtime/calls.hpp"

#include <holdfast/activity_context.hpp>

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

namespace holdfast {

const std::string& ActivityContext::name() const noexcept { return call_.locked().name; }
const std::string& ActivityContext::instance() const noexcept { return call_.locked().instance; }
ExecutionNumber ActivityContext::execution() const noexcept { return call_.id().execution; }
EventId ActivityContext::activity_id() const noexcept { return call_.id().event; }
int ActivityContext::attempt() const noexcept { return static_cast<int>(call_.locked().attempt); }
int ActivityContext::delivery() const noexcept { return static_cast<int>(call_.locked().delivery); }

std::string ActivityContext::idempotency_key() const { return to_string(call_.key()); }

std::stop_token ActivityContext::stop_token() const { return call_.stop_token(); }
std::optional<CancelReason> ActivityContext::cancel_reason() const noexcept { return call_.reason(); }

void ActivityContext::throw_if_stopping() const {
  if (!call_.was_asked_to_stop()) return;
  const std::optional<CancelReason> reason = cancel_reason();
  throw ActivityFailure(
      std::string(detail::kStoppedType),
      "activity '" + name() + "' was asked to stop" + (reason ? ": " + std::string(to_string(*reason)) : ""));
}

Duration ActivityContext::time_left() const noexcept {
  if (call_.deadline() == BootTime::max()) return never;
  return std::max(call_.deadline() - call_.now(), Duration::zero());
}

std::optional<CalendarTime> ActivityContext::deadline() const noexcept {
  const Duration left = time_left();
  if (left == never) return std::nullopt;
  return call_.calendar_now() + left;
}

const std::string& ActivityContext::queue() const noexcept { return call_.locked().queue; }

const std::string& ActivityContext::connection() const noexcept {
  static const std::string kNone;
  const std::string& own = call_.scheduled().settings->connection;
  if (!own.empty()) return own;
  const auto& session = call_.locked().session;
  return session ? session->connection : kNone;
}

const std::optional<ActivitySession>& ActivityContext::session() const noexcept {
  static const std::optional<ActivitySession> kNone;
  return call_.stay() != nullptr ? call_.stay()->shown() : kNone;
}

void ActivityContext::abort_session(std::string_view reason) {
  const std::string checked = detail::checked_reason("abort_session() of activity '" + name() + "'", reason);
  if (call_.stay() != nullptr) call_.stay()->abort(checked);
}

namespace {

runtime::SessionStay& stay_for(const detail::SessionStateCode& code, detail::ActivityCall& call) {
  const std::string& name = call.locked().name;
  if (!call.registry().has(code)) {
    throw std::logic_error("the state of sessions '" + code.name() +
                           "' is not registered with the runtime that runs activity '" + name + "'");
  }
  if (call.stay() == nullptr) {
    throw ActivityFailure("no_session",
                          "activity '" + name + "' uses the state '" + code.name() +
                              "' of its session, and was scheduled without one",
                          false);
  }
  return *call.stay();
}

}  // namespace

void* ActivityContext::session_state(const detail::SessionStateCode& code) {
  return stay_for(code, call_).state(code, call_.stop_token(), call_.may_wait());
}

void* ActivityContext::session_state(const detail::SessionStateCode& code, std::function<void()> when_free) {
  return stay_for(code, call_).state(code, std::move(when_free));
}

void ActivityContext::set_progress(Payload details) {
  if (call_.too_large(details)) {
    throw LimitError(
        detail::payload_too_large("what a heartbeat tells", details.bytes.size(), call_.payload_limit()));
  }
  call_.set_progress(bodies::to_bytes(details));
}

std::optional<Payload> ActivityContext::progress() const {
  const std::string bytes = call_.progress();
  if (bytes.empty()) return std::nullopt;
  return bodies::read<Payload>(bytes);
}

}  // namespace holdfast
