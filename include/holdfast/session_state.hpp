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
// The object is made when an activity first asks for it after its worker began to hold the session, and
// destroyed once the session has left this worker and the last activity in it has ended. Whoever holds the
// session next gets what was saved.
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
  /// When the session leaves its worker in peace: idle, displaced, drained, handed over. A worker that dies
  /// takes along what changed since then.
  when_handed_over,
  /// Also with the completion of each activity that used it, in the same transaction: what an activity
  /// changed and its result are recorded together, or not at all. An attempt that fails changes nothing: the
  /// object is made anew from what was saved last. One that completes after its worker has lost the session
  /// does not count either: it runs again where the session is then. Until the store has the result, other
  /// activities of the session wait for the state.
  with_each_activity,
};

/// What the state of a session is made from.
struct SessionStart {
  std::string id{};
  Generation generation{};
  std::optional<Payload> last_saved{};  ///< by this worker or another; under the name of this state

  /// The same as an S, if there is any; throws DecodeError.
  template <class S>
  [[nodiscard]] std::optional<S> saved() const {
    if (!last_saved) return std::nullopt;
    return decode<S>(*last_saved).value();
  }
};

/// How the state of a session is made and saved. These functions are called by threads that run activities,
/// of different sessions at once.
template <class T>
struct SessionStateOptions {
  /// Makes it; when it throws, so does SessionState::in(), and the next one tries again. A DecodeError for
  /// what was saved becomes one that names the state and the session (`state_unreadable`). Empty: T().
  std::function<T(const SessionStart&)> make{};
  /// What another worker needs to make it again. Empty: it is lost when the session leaves. When it throws,
  /// the attempt fails that it was called for (`state_not_saved`), or the session stays, and it is called
  /// again later.
  std::function<Payload(const T&)> save{};
  SaveState save_when = SaveState::when_handed_over;
};

/// Saves a T by its codec, and begins with T() where nothing was saved.
template <class T>
SessionStateOptions<T> saved_by_codec(SaveState when = SaveState::when_handed_over) {
  return {.make = [](const SessionStart& start) { return start.saved<T>().value_or(T()); },
          .save = [](const T& state) { return encode(state); },
          .save_when = when};
}

/// Whether several activities of a session may use a T at once. A type says so by a member
/// `using ConcurrentState = void;`, or by a specialisation of this. For others, the first activity that asks
/// for any state of its session has the session's states to itself until it ends.
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

/// A handle for the state of sessions, made by Runtime::session_state(). Copies mean the same; activities
/// capture one.
template <class T>
class SessionState {
 public:
  explicit SessionState(std::shared_ptr<const detail::SessionStateCode> code) : code_(std::move(code)) {}

  /// The object of the session that this activity belongs to, made if it is not there yet. It may be used
  /// until the activity ends. Unless T is concurrent, this waits until no other activity of the session has
  /// it; when the activity is asked to stop in the meantime, it throws ActivityFailure ("stopped"). A
  /// coroutine can't wait here: it throws ActivityFailure ("state_busy") instead, which is retried;
  /// when_free() spares it that. Throws ActivityFailure ("no_session", not retried) when the activity has no
  /// session.
  [[nodiscard]] T& in(ActivityContext& ctx) const { return *static_cast<T*>(ctx.session_state(*code_)); }

  /// The same for coroutines, which hold no thread while they wait:
  ///   Talk& talk = co_await talks.when_free(ctx);
  /// Who waits longest has no right to be the next. Needs holdfast/asio.hpp.
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

/// A session came to this worker, or left it.
struct SessionNotice {
  std::string id{};
  Generation generation{};
  SessionReason reason = SessionReason::none;  ///< why it came, or why it left
  std::string previous_owner{};                ///< of one that came: the node that had it before, if any
};

/// What wants to know. Called one after the other, in the order in which it happened, by a thread that runs
/// activities; what it throws is logged.
using SessionHook = std::function<void(const SessionNotice&)>;

}  // namespace holdfast
