// Operations: what an orchestration asks for. An Op<T> describes one; once it is started, the same struct is
// the scheduling event in history and the action that the runtime carries out. Their binary form is
// positional: new members go to the end.
#pragma once

#include <holdfast/address.hpp>
#include <holdfast/attributes.hpp>
#include <holdfast/clock.hpp>
#include <holdfast/errors.hpp>
#include <holdfast/options.hpp>
#include <holdfast/payload.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace holdfast::detail {

/// A T on the heap, or nothing where it is the default: operations are moved around a lot, and settings are
/// rare.
template <class T>
class Boxed {
 public:
  Boxed() noexcept = default;
  Boxed(T value) : value_(value == T{} ? nullptr : std::make_unique<T>(std::move(value))) {}
  Boxed(const Boxed& other) : value_(other.value_ ? std::make_unique<T>(*other.value_) : nullptr) {}
  Boxed(Boxed&&) noexcept = default;
  Boxed& operator=(Boxed other) noexcept {
    value_ = std::move(other.value_);
    return *this;
  }
  ~Boxed() = default;

  [[nodiscard]] bool is_default() const noexcept { return !value_; }
  [[nodiscard]] const T& operator*() const noexcept {
    static const T kDefault{};
    return value_ ? *value_ : kDefault;
  }
  [[nodiscard]] const T* operator->() const noexcept { return &**this; }
  friend bool operator==(const Boxed& a, const Boxed& b) { return a.value_ == b.value_ || *a == *b; }

 private:
  std::unique_ptr<T> value_;
};

/// RetryPolicy with texts of its own.
struct RetrySettings {
  std::optional<int> max_attempts{};
  std::optional<Backoff> backoff{};
  std::optional<Duration> first_delay{};
  std::optional<double> factor{};
  std::optional<Duration> max_delay{};
  std::optional<double> jitter{};
  std::optional<Duration> total_deadline{};
  std::vector<std::string> non_retryable{};

  friend bool operator==(const RetrySettings&, const RetrySettings&) = default;
};

/// SessionOptions with texts of its own.
struct SessionSettings {
  std::string id{};
  std::string queue{};
  std::string connection{};
  std::vector<std::string> requirements{};
  std::optional<Duration> lease{};
  std::optional<Duration> idle_timeout{};
  std::optional<Duration> ttl{};
  std::optional<int> max_concurrent_activities{};
  std::optional<bool> create_if_missing{};
  std::optional<bool> allow_reacquire_after_failure{};
  bool outlives_opener = false;

  friend bool operator==(const SessionSettings&, const SessionSettings&) = default;
};

/// ActivityOptions with texts of its own, and the session's policy where one was given with the activity.
struct ActivitySettings {
  std::string queue{};
  std::optional<SessionSettings> session{};
  std::optional<Duration> timeout{};
  std::optional<Duration> schedule_to_start{};
  RetrySettings retry{};
  int priority = 0;
  std::string connection{};

  friend bool operator==(const ActivitySettings&, const ActivitySettings&) = default;
};

// ---- operations with an outcome -----------------------------------------------------------------

struct ActivityScheduled {
  std::string name{};
  Boxed<ActivitySettings> settings{};
  Payload input{};
  friend bool operator==(const ActivityScheduled&, const ActivityScheduled&) = default;
};
struct TimerStarted {
  CalendarTime due{};
  friend bool operator==(const TimerStarted&, const TimerStarted&) = default;
};
struct EventAwaited {
  std::string name{};
  friend bool operator==(const EventAwaited&, const EventAwaited&) = default;
};
struct MessageAwaited {
  std::string mailbox{};
  friend bool operator==(const MessageAwaited&, const MessageAwaited&) = default;
};
struct ChildStarted {
  std::string id{};
  std::string name{};
  std::string version{};
  ParentClosePolicy on_parent_close = ParentClosePolicy::cancel;
  Payload input{};
  Boxed<RetrySettings> retry{};
  std::vector<Attribute> attributes{};
  friend bool operator==(const ChildStarted&, const ChildStarted&) = default;
};
struct DetachedStarted {
  std::string id{};
  std::string name{};
  std::string version{};
  Payload input{};
  bool launched = false;  ///< it has no outcome: nobody waits to hear whether it began
  std::vector<Attribute> attributes{};
  friend bool operator==(const DetachedStarted&, const DetachedStarted&) = default;
};
struct SessionOpened {
  Boxed<SessionSettings> settings{};
  friend bool operator==(const SessionOpened&, const SessionOpened&) = default;
};
struct SessionClosing {
  std::string id{};
  friend bool operator==(const SessionClosing&, const SessionClosing&) = default;
};
/// The next lifecycle event of a session.
struct SessionEventAwaited {
  std::string id{};
  friend bool operator==(const SessionEventAwaited&, const SessionEventAwaited&) = default;
};
/// A value of another instance.
struct ValueRead {
  std::string instance{};
  std::string key{};
  friend bool operator==(const ValueRead&, const ValueRead&) = default;
};

// ---- operations whose outcome is in their own event ---------------------------------------------

/// `failure` when the function threw.
struct SideEffectRecorded {
  Payload value{};
  Boxed<std::optional<Failure>> failure{};
  friend bool operator==(const SideEffectRecorded&, const SideEffectRecorded&) = default;
};
/// `value` when a message was there.
struct MessageTried {
  std::string mailbox{};
  std::optional<Payload> value{};
  friend bool operator==(const MessageTried&, const MessageTried&) = default;
};
/// A value of this instance was set, or removed when there is none.
struct ValueSet {
  std::string key{};
  std::optional<Payload> value{};
  friend bool operator==(const ValueSet&, const ValueSet&) = default;
};

// ---- operations without an outcome: they take effect with the commit of their turn --------------

/// An event or a message for another instance.
struct MessageSent {
  std::string instance{};
  Address::Kind channel = Address::Kind::event;
  std::string name{};
  Payload value{};
  Duration keep_for = kKeepEarly;
  friend bool operator==(const MessageSent&, const MessageSent&) = default;
};
/// A request to cancel another instance.
struct CancelSent {
  std::string instance{};
  std::string reason{};
  friend bool operator==(const CancelSent&, const CancelSent&) = default;
};

/// A request to terminate another instance.
struct TerminateSent {
  std::string instance{};
  std::string reason{};
  friend bool operator==(const TerminateSent&, const TerminateSent&) = default;
};

// ---- and another one with an outcome ------------------------------------------------------------

/// How another instance ends.
struct EndAwaited {
  std::string instance{};
  friend bool operator==(const EndAwaited&, const EndAwaited&) = default;
};

// ---- and another one whose outcome is in its own event ------------------------------------------

/// A search attribute of this instance was set, or removed when there is no value.
struct AttributeSet {
  std::string name{};
  AttributeType type = AttributeType::text;
  std::optional<AttributeValue> value{};  ///< of that type
  friend bool operator==(const AttributeSet&, const AttributeSet&) = default;
};

/// What code can ask for.
using Operation =
    std::variant<ActivityScheduled, TimerStarted, EventAwaited, MessageAwaited, ChildStarted, DetachedStarted,
                 SessionOpened, SessionClosing, SessionEventAwaited, ValueRead, SideEffectRecorded,
                 MessageTried, ValueSet, MessageSent, CancelSent, TerminateSent, EndAwaited, AttributeSet>;

template <class T, class... Alternatives>
constexpr std::uint8_t position_in(const std::variant<Alternatives...>*) {
  std::uint8_t position = 0;
  static_cast<void>(((std::is_same_v<T, Alternatives> || (++position, false)) || ...));
  return position;
}
/// The index of T in Operation.
template <class T>
inline constexpr std::uint8_t kind_of_operation = position_in<T>(static_cast<const Operation*>(nullptr));

}  // namespace holdfast::detail
