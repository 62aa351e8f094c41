// SessionState<T>: what a worker keeps in memory for a session, as one typed object per session.
//
//   struct Conversation { std::vector<std::string> lines; };
//
//   auto talks = rt.session_state<Conversation>("conversation", saved_by_codec<Conversation>());
//   rt.activity("say", [talks](ActivityContext& ctx, std::string line) {
//     Conversation& talk = talks.in(ctx);  // this activity's session's
//     talk.lines.push_back(line);
//     return talk.lines.size();
//   });
//
// The object is made when an activity first asks for it after its worker claimed the session, and destroyed
// once the session has left this worker and the last activity that uses it has ended. The next owner gets
// what was saved.
#pragma once

#include <holdfast/activity_context.hpp>
#include <holdfast/codec.hpp>
#include <holdfast/ids.hpp>
#include <holdfast/payload.hpp>
#include <holdfast/session_info.hpp>

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace holdfast {

/// When the state of a session is saved.
enum class SaveState : std::uint8_t {
  /// When the session is released: idle, displaced, drained, handed over. When a worker dies, changes since
  /// its claim are lost.
  when_handed_over,
  /// Also with each activity that used it, in the transaction that records its completion: the result of an
  /// activity and its changes are recorded together, or neither. After an attempt that fails, the object is
  /// made anew from what was saved last. An attempt that completes after its worker has lost the session does
  /// not count: it runs again at the present owner. Until the store has the result, other activities of the
  /// session wait for the state.
  with_each_activity,
};
std::string_view to_string(SaveState when) noexcept;

/// The input of SessionStateOptions::make.
struct SessionStart {
  std::string id{};
  Generation generation{};
  std::optional<Payload> last_saved{};  ///< by this worker or another, under the name of this state

  /// The saved state as an S; nothing if nothing was saved. Throws DecodeError.
  template <class S>
  [[nodiscard]] std::optional<S> saved() const {
    if (!last_saved) return std::nullopt;
    return decode<S>(*last_saved).value();
  }
};

/// How the state of a session is made and saved. Threads that run activities call these functions, for
/// different sessions at once.
template <class T>
struct SessionStateOptions {
  /// Makes the object (hydrates it). When it throws, so does SessionState::in(), and the next call tries
  /// again. A DecodeError for the saved state is rethrown with the names of state and session
  /// (`state_unreadable`). Empty: T().
  std::function<T(const SessionStart&)> make{};
  /// Returns what another worker needs to make the object again (a checkpoint). Empty: the state is lost when
  /// the session leaves. When it throws while an activity completes, that attempt fails (`state_not_saved`);
  /// when it throws while the session is about to leave, the session stays, and it is called again later.
  std::function<Payload(const T&)> save{};
  SaveState save_when = SaveState::when_handed_over;
};

/// Saves a T by its codec; begins with T() if nothing was saved.
template <class T>
SessionStateOptions<T> saved_by_codec(SaveState when = SaveState::when_handed_over) {
  return {.make = [](const SessionStart& start) { return start.saved<T>().value_or(T()); },
          .save = [](const T& state) { return encode(state); },
          .save_when = when};
}

/// Whether several activities of a session may use a T at once. A type declares it by a member
/// `using ConcurrentState = void;`, or by a specialisation of this. For other types, the first activity that
/// asks for a state of its session has all states of the session to itself until it ends.
template <class T>
inline constexpr bool is_concurrent_state = requires { typename T::ConcurrentState; };

namespace detail {

/// One kind of state without its type. Shared by all threads.
class SessionStateCode {
 public:
  SessionStateCode(std::string name, bool concurrent, bool saved, SaveState when)
      : name_(std::move(name)), concurrent_(concurrent), saved_(saved), when_(when) {}
  virtual ~SessionStateCode() = default;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] bool is_concurrent() const noexcept { return concurrent_; }
  [[nodiscard]] bool is_saved() const noexcept { return saved_; }
  [[nodiscard]] bool saved_with_each_activity() const noexcept {
    return saved_ && when_ == SaveState::with_each_activity;
  }
  /// Both throw what the user's function throws.
  [[nodiscard]] virtual std::shared_ptr<void> make(const SessionStart& start) const = 0;
  [[nodiscard]] virtual Payload save(const void* state) const = 0;

 private:
  std::string name_;
  bool concurrent_;
  bool saved_;
  SaveState when_;
};

template <class T>
class TypedStateCode final : public SessionStateCode {
 public:
  TypedStateCode(std::string name, SessionStateOptions<T> options)
      : SessionStateCode(std::move(name), is_concurrent_state<T>, static_cast<bool>(options.save),
                         options.save_when),
        options_(std::move(options)) {}

  [[nodiscard]] std::shared_ptr<void> make(const SessionStart& start) const override {
    // T may be one that can't be moved.
    if (options_.make) return std::shared_ptr<T>(new T(options_.make(start)));
    if constexpr (std::is_default_constructible_v<T>) {
      return std::make_shared<T>();
    } else {
      return nullptr;  // refused when it is registered
    }
  }
  [[nodiscard]] Payload save(const void* state) const override {
    return options_.save(*static_cast<const T*>(state));
  }

 private:
  SessionStateOptions<T> options_;
};

/// Throws std::invalid_argument for options that don't go together.
void check_session_state(const SessionStateCode& code, bool can_be_made);

template <class T>
std::shared_ptr<const SessionStateCode> make_session_state(std::string_view name,
                                                           SessionStateOptions<T> options) {
  static_assert(std::is_object_v<T> && !std::is_const_v<T>,
                "holdfast: the state of a session is an object of a type of its own");
  const bool can_be_made = options.make || std::is_default_constructible_v<T>;
  auto code = std::make_shared<TypedStateCode<T>>(std::string(name), std::move(options));
  check_session_state(*code, can_be_made);
  return code;
}

}  // namespace detail

/// A handle for the states of sessions, made by Runtime::session_state(). Copies refer to the same states;
/// activities capture one.
template <class T>
class SessionState {
 public:
  explicit SessionState(std::shared_ptr<const detail::SessionStateCode> code) : code_(std::move(code)) {}

  /// The object of the session that this activity belongs to, made if it is not there yet. It may be used
  /// until the activity ends. Unless T is concurrent, this waits until no other activity of the session uses
  /// it. Throws ActivityFailure: "stopped" when the activity is cancelled while it waits; "state_busy", which
  /// is retried, in a coroutine, which can't wait here and should use when_free(); "no_session", which is not
  /// retried, when the activity has no session.
  [[nodiscard]] T& in(ActivityContext& ctx) const { return *static_cast<T*>(ctx.session_state(*code_)); }

  /// The same for coroutines, which hold no thread while they wait:
  ///   Talk& talk = co_await talks.when_free(ctx);
  /// Waiting is not fair: the coroutine that waits longest need not be the next. Needs holdfast/asio.hpp.
  template <class Where = detail::InCoroutine>
  [[nodiscard]] auto when_free(ActivityContext& ctx) const {
    return detail::StateAwait<Where>::template of<T>(ctx.stop_token(),
                                                     [&ctx, code = code_](std::function<void()> when_free) {
                                                       return ctx.session_state(*code, std::move(when_free));
                                                     });
  }

 private:
  std::shared_ptr<const detail::SessionStateCode> code_;
};

/// A session was claimed by this worker, or has left it.
struct SessionNotice {
  std::string id{};
  Generation generation{};
  SessionReason reason = SessionReason::none;  ///< why it was claimed, or why it left
  std::string previous_owner{};                ///< of a claim: the node that held it before, if any
};

/// Called for one change after the other, in their order, by a thread that runs activities; what it throws is
/// logged.
using SessionHook = std::function<void(const SessionNotice&)>;

}  // namespace holdfast
