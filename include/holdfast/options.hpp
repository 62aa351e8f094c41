// The options of operations. All of them are trivially destructible aggregates of views: write them inline,
// right after the name; what they point to is copied before the call returns.
//
//   co_await ctx.activity<Reply>("llm", {.session = id, .timeout = 5min, .retry = {.max_attempts = 4}},
//   prompt);
#pragma once

#include <holdfast/attributes.hpp>

#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace holdfast {

/// The resolution of all durations that Holdfast takes.
using Duration = std::chrono::microseconds;

/// "No limit", where a default would apply otherwise: `.idle_timeout = holdfast::never`.
inline constexpr Duration never = Duration::max();

/// A list of up to eight names: `{"gpu:l4", "nvme"}`, or from a std::vector<std::string>. It refers to the
/// texts, so write it inline. It is no initializer_list, since g++ 12 rejects those beside co_await.
class Names {
 public:
  static constexpr std::size_t kMaxSize = 8;

  constexpr Names() noexcept = default;
  template <class... Text>
    requires(sizeof...(Text) > 0 && sizeof...(Text) <= kMaxSize &&
             (std::convertible_to<const Text&, std::string_view> && ...))
  constexpr Names(const Text&... texts) noexcept
      : texts_{std::string_view(texts)...}, size_(sizeof...(Text)) {}
  Names(const std::vector<std::string>& texts) : size_(texts.size()) {
    if (texts.size() > kMaxSize) throw std::invalid_argument("a list of names in options holds at most 8");
    for (std::size_t i = 0; i < size_; ++i) texts_[i] = texts[i];
  }

  [[nodiscard]] constexpr const std::string_view* begin() const noexcept { return texts_.data(); }
  [[nodiscard]] constexpr const std::string_view* end() const noexcept { return texts_.data() + size_; }
  [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }
  [[nodiscard]] constexpr bool empty() const noexcept { return size_ == 0; }

 private:
  std::array<std::string_view, kMaxSize> texts_{};
  std::size_t size_ = 0;
};

/// How the delay between attempts grows.
enum class Backoff : std::uint8_t { fixed, linear, exponential };
std::string_view to_string(Backoff backoff) noexcept;

/// When a failed attempt is followed by another. Unset members take those of RuntimeOptions::retry, whose
/// defaults are noted here.
struct RetryPolicy {
  std::optional<int> max_attempts{};         ///< 3; 1 = no retry
  std::optional<Backoff> backoff{};          ///< exponential
  std::optional<Duration> first_delay{};     ///< 100 ms
  std::optional<double> factor{};            ///< 2, for exponential back-off
  std::optional<Duration> max_delay{};       ///< 30 s
  std::optional<double> jitter{};            ///< 0.2; the random part of a delay, 0 to 1
  std::optional<Duration> total_deadline{};  ///< no attempt starts later than this after scheduling
  Names non_retryable{};                     ///< types of failures that end the retries at once
};

namespace detail {
/// The first member of options that stand beside inputs. Nothing converts to it, so the members are given by
/// name, and braces that were meant as an input are not taken for options.
class ByName {
 public:
  constexpr explicit ByName() noexcept {}
};
}  // namespace detail

/// Options of an activity. In a call by a typed handle, unset members take those of the handle.
struct ActivityOptions {
  [[no_unique_address]] detail::ByName by_name = detail::ByName();
  std::optional<std::string_view> session{};  ///< the id of its session; not set: none
  std::string_view queue{};                   ///< empty = the session's queue, or the default one
  /// A text for its code, such as the name of a device or an account: ctx.connection(). Empty: the session's.
  std::string_view connection{};
  std::optional<Duration> timeout{};            ///< of one attempt; a timeout is retried like any failure
  std::optional<Duration> schedule_to_start{};  ///< how long each wait for a worker may take
  RetryPolicy retry{};
  std::optional<int> priority{};  ///< higher goes first; 0 when it is not set
};

/// What happens to a child when the execution that started it ends.
enum class ParentClosePolicy : std::uint8_t { cancel, abandon, terminate };
std::string_view to_string(ParentClosePolicy policy) noexcept;

/// As a version of an orchestration: the newest that the worker of the first turn has. Pre-releases such as
/// "2-rc.1" are taken only by their names.
inline constexpr std::string_view newest_version = "newest";
// Where an orchestration is started, a version may also be a range: the newest in it that the worker of the
// first turn has. "^2.1" is 2.1 and later versions of 2; "~2.1" is 2.1 and later versions of 2.1; ">=2.1 <3"
// is what both comparisons allow. Pre-releases are taken where a comparison names one of the same three
// numbers.

/// Options of a child orchestration.
struct ChildOptions {
  [[no_unique_address]] detail::ByName by_name = detail::ByName();
  std::string_view id{};       ///< empty = 128 bits from the execution's seed
  std::string_view version{};  ///< empty = newest_version; or a range
  ParentClosePolicy on_parent_close = ParentClosePolicy::cancel;
  /// A child that failed is retried as its next execution, under the same id; only if max_attempts is set.
  RetryPolicy retry{};
  AttributeList attributes{};  ///< by which it is found: {{"customer", name}, {"cents", 1200}}
};

/// Options of a detached orchestration. Empty members are as in ChildOptions.
struct DetachedOptions {
  [[no_unique_address]] detail::ByName by_name = detail::ByName();
  std::string_view id{};
  std::string_view version{};
  AttributeList attributes{};
};

/// How long an event or message is kept for an id that doesn't exist yet, unless its options say otherwise.
inline constexpr Duration kKeepEarly = std::chrono::hours(24);

/// Options of an event or message that an orchestration sends.
struct SendOptions {
  [[no_unique_address]] detail::ByName by_name = detail::ByName();
  Duration keep_for = kKeepEarly;  ///< for an id that doesn't exist yet; 0: not at all
};

/// Options of continue-as-new.
struct ContinueOptions {
  [[no_unique_address]] detail::ByName by_name = detail::ByName();
  std::string_view version{};  ///< empty = the version that runs now; or newest_version, or a range
};

/// The shortest lease of a session. A lease is renewed every third of it: with a shorter one, a worker that
/// is a few milliseconds late would lose the session.
inline constexpr Duration kLeastSessionLease = std::chrono::milliseconds(100);

/// The policy of a session. Unset members take the default of the way in which the session is created;
/// docs/sessions-reference.md has all of them in one table.
struct SessionOptions {
  std::string_view id{};
  std::string_view queue{};                        ///< of its activities that name none
  std::string_view connection{};                   ///< a text for its activities: ctx.connection()
  Names requirements{};                            ///< all must be among the worker's capabilities
  std::optional<Duration> lease{};                 ///< kLeastSessionLease or more
  std::optional<Duration> idle_timeout{};          ///< released after this long without an activity
  std::optional<Duration> ttl{};                   ///< time to live, from its beginning; never extended
  std::optional<int> max_concurrent_activities{};  ///< 0 = no limit
  std::optional<bool> create_if_missing{};         ///< false: its activities wait until a worker acquires it
  std::optional<bool> allow_reacquire_after_failure{};  ///< whether another worker may follow a lost one
  /// Not closed when the instance that opened it ends; needs a TTL or an idle timeout.
  bool outlives_opener = false;
};

static_assert(std::is_trivially_destructible_v<ActivityOptions> &&
              std::is_trivially_destructible_v<SessionOptions> &&
              std::is_trivially_destructible_v<ChildOptions>);

}  // namespace holdfast
