#include "base/check_options.hpp"

#include <holdfast/detail/enum_names.hpp>
#include <holdfast/detail/names.hpp>

#include <cmath>
#include <optional>
#include <sstream>
#include <stdexcept>

namespace holdfast::detail {
namespace {

std::string text_of(Duration duration) {
  const auto count = duration.count();
  return count % 1000 == 0 ? std::to_string(count / 1000) + " ms" : std::to_string(count) + " us";
}
std::string text_of(int number) { return std::to_string(number); }
std::string text_of(double number) {
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text << number;
  return std::isnan(number) ? "not a number" : text.str();
}

/// Looks at the options of one thing.
class Check {
 public:
  explicit Check(const Whose& whose) : whose_(whose) {}

  void require(bool fine, std::string_view what) const {
    if (!fine) throw std::invalid_argument("holdfast: " + whose_.text() + ": " + std::string(what));
  }
  /// What is not set is fine.
  template <class T, class Holds>
  void require(std::string_view name, const std::optional<T>& value, Holds holds,
               std::string_view rule) const {
    if (value && !holds(*value))
      require(false, std::string(name) + " is " + text_of(*value) + ", and must be " + std::string(rule));
  }
  /// An enumerator, and not a number that was cast to one: it goes into history.
  template <class E>
  void known(std::string_view name, E value) const {
    if (!enum_name(value).empty()) return;
    require(false, std::string(name) + " is " + std::to_string(static_cast<int>(value)) +
                       ", which is none of the values of its type");
  }
  void above_zero(std::string_view name, const std::optional<Duration>& value) const {
    require(name, value, [](Duration d) { return d > Duration::zero(); }, "above zero");
  }
  void not_negative(std::string_view name, const std::optional<Duration>& value) const {
    require(name, value, [](Duration d) { return d >= Duration::zero(); }, "zero or more");
  }

 private:
  const Whose& whose_;
};

}  // namespace

void check_options(const Whose& whose, const RetryPolicy& policy) {
  const Check check(whose);
  check.require(
      "retry.max_attempts", policy.max_attempts, [](int n) { return n >= 1; }, "1, for no retry, or more");
  if (policy.backoff) check.known("retry.backoff", *policy.backoff);
  check.not_negative("retry.first_delay", policy.first_delay);
  check.require(
      "retry.factor", policy.factor, [](double f) { return std::isfinite(f) && f >= 1; },
      "a number from 1 on");
  check.not_negative("retry.max_delay", policy.max_delay);
  check.require(
      "retry.jitter", policy.jitter, [](double j) { return j >= 0 && j <= 1; }, "a number from 0 to 1");
  check.above_zero("retry.total_deadline", policy.total_deadline);
}

void check_options(const Whose& whose, const ActivityOptions& options) {
  const Check check(whose);
  check.require(
      !options.session || !options.session->empty(),
      "session is empty, and must be the id of a session; leave it out for an activity that has none");
  check.above_zero("timeout", options.timeout);
  check.above_zero("schedule_to_start", options.schedule_to_start);
  check.require(
      "priority", options.priority, [](int p) { return -1'000'000 <= p && p <= 1'000'000; },
      "between -1000000 and 1000000");
  check_options(whose, options.retry);
}

void check_options(const Whose& whose, const ChildOptions& options) {
  Check(whose).known("on_parent_close", options.on_parent_close);
  check_options(whose, options.retry);
}

void check_options(const Whose& whose, const SessionOptions& options) {
  const Check check(whose);
  constexpr Duration kLeast{1};
  check.require(
      options.lease != never,
      "its lease can't be `never`: when a worker dies, others take over its work at the end of its leases");
  check.require(
      "lease", options.lease, [](Duration d) { return d >= kLeastSessionLease; },
      text_of(kLeastSessionLease) +
          " or more: it is renewed every third of it, and a worker that is late for "
          "that loses the session");
  check.require(options.idle_timeout.value_or(kLeast) > Duration::zero(),
                "its idle timeout must be above zero");
  check.require(options.ttl.value_or(kLeast) > Duration::zero(), "its time to live must be above zero");
  check.require(options.max_concurrent_activities.value_or(1) >= 0,
                "max_concurrent_activities must be 0, for no limit, or more");
  const bool ends = options.ttl.value_or(never) != never || options.idle_timeout.value_or(never) != never;
  check.require(
      !options.outlives_opener || ends,
      "one that outlives its opener needs a time to live or an idle timeout, or it would stay for ever");
}

void check_delay(const Whose& whose, std::string_view what, Duration delay) {
  Check(whose).not_negative(what, delay);
}

std::string checked_reason(const Whose& whose, std::string_view reason) {
  Check(whose).require(reason.size() <= kMaxReasonBytes,
                       "the reason has " + std::to_string(reason.size()) + " bytes, and may have " +
                           std::to_string(kMaxReasonBytes) + "; put what is longer into an event or a value");
  return std::string(reason);
}

}  // namespace holdfast::detail
