// Context: what an orchestration can do. Every operation is lazy: it is described here, and started when it
// is awaited, started or given to a combinator.
#pragma once

#include <holdfast/activity.hpp>
#include <holdfast/attributes.hpp>
#include <holdfast/clock.hpp>
#include <holdfast/codec.hpp>
#include <holdfast/combinators.hpp>
#include <holdfast/detail/core.hpp>
#include <holdfast/detail/describe.hpp>
#include <holdfast/detail/names.hpp>
#include <holdfast/detail/query_code.hpp>
#include <holdfast/ended_instance.hpp>
#include <holdfast/fan_out.hpp>
#include <holdfast/handlers.hpp>
#include <holdfast/log.hpp>
#include <holdfast/messages.hpp>
#include <holdfast/op.hpp>
#include <holdfast/options.hpp>
#include <holdfast/orchestration.hpp>
#include <holdfast/receiver.hpp>
#include <holdfast/session.hpp>
#include <holdfast/task.hpp>

#include <concepts>
#include <coroutine>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>

namespace holdfast {

namespace detail {

/// Ends the execution, when what is being undone is undone; whoever awaits it is never resumed.
class Continuation {
 public:
  using HoldfastAwaitable = void;
  Continuation(Core& core, std::string_view version, Payload input)
      : core_(core), version_(version), input_(std::move(input)) {}

  struct Awaiter : Waiter {
    explicit Awaiter(Continuation& of) noexcept : next(of) {}
    Continuation& next;
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> frame) {
      if (next.core_.interrupts(frame.promise())) return next.core_.is_over();
      next.core_.refuse_in_saga("continue_as_new");
      resume = [](Waiter& self) {
        Continuation& its = static_cast<Awaiter&>(self).next;
        its.core_.continue_as_new(its.version_, std::move(its.input_));
      };
      next.core_.when_undone(*this);
      return true;
    }
    // Resumed only to be cancelled; saying so spares the code after it, and no compiler asks for a co_return.
    [[noreturn]] void await_resume() const { throw Cancelled(*next.core_.cancel_request()); }
  };
  Awaiter operator co_await() && noexcept { return Awaiter(*this); }

 private:
  Core& core_;
  std::string version_;
  Payload input_;
};

template <class First, class... Rest>
inline constexpr bool starts_with_options = std::is_same_v<std::remove_cvref_t<First>, ActivityOptions> ||
                                            std::is_same_v<std::remove_cvref_t<First>, ChildOptions> ||
                                            std::is_same_v<std::remove_cvref_t<First>, DetachedOptions> ||
                                            std::is_same_v<std::remove_cvref_t<First>, ContinueOptions>;

/// Inputs of a call without options.
template <class... In>
concept PlainInputs = sizeof...(In) == 0 || !starts_with_options<In..., void>;

template <class T>
Task<T> shielded_op(Op<T> op) {
  co_return co_await std::move(op);
}

}  // namespace detail

/// The orchestration's side of the engine. One for each execution, passed by reference to its code, valid as
/// long as that code's frames. Not for other threads.
class Context {
 public:
  explicit Context(detail::Core& core) noexcept : core_(core) {}
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // ---- activities -------------------------------------------------------------------------------

  /// Runs an activity on some worker, at least once, and gives its result.
  template <class R, class... In>
    requires detail::PlainInputs<In...>
  Op<R> activity(std::string_view name, In&&... in) {
    detail::check_inputs<In...>();
    return {core_, detail::describe_activity(name, nullptr, encode_args(in...))};
  }
  template <class R, class... In>
  Op<R> activity(std::string_view name, ActivityOptions options, In&&... in) {
    detail::check_inputs<In...>();
    return {core_, detail::describe_activity(name, &options, encode_args(in...))};
  }
  /// The same by a typed handle; the inputs are checked when this is compiled.
  template <class R, class... P, class... In>
    requires(detail::fits<detail::Types<In...>, detail::Types<P...>>)
  Op<R> activity(const Activity<R(P...)>& handle, In&&... in) {
    detail::check_inputs<In...>();
    return {core_, detail::describe_activity(handle.name, &handle.options,
                                             encode_args(static_cast<const P&>(std::forward<In>(in))...))};
  }
  template <class R, class... P, class... In>
    requires(detail::fits<detail::Types<In...>, detail::Types<P...>>)
  Op<R> activity(const Activity<R(P...)>& handle, ActivityOptions options, In&&... in) {
    detail::check_inputs<In...>();
    options = detail::merged(handle.options, options);
    return {core_, detail::describe_activity(handle.name, &options,
                                             encode_args(static_cast<const P&>(std::forward<In>(in))...))};
  }

  template <class R, class... In>
  Op<R> activity(std::string_view name, detail::BareBraces, In&&... in) const;
  template <class R, class... P, class... In>
  Op<R> activity(const Activity<R(P...)>& handle, detail::BareBraces, In&&... in) const;

  // ---- time -------------------------------------------------------------------------------------

  /// The time of this turn: the same on every replay.
  [[nodiscard]] CalendarTime now() const noexcept { return core_.now(); }
  /// Waits for a time that survives restarts.
  Op<void> sleep(Duration duration) { return {core_, detail::describe_sleep(duration)}; }
  Op<void> sleep_until(CalendarTime time) { return {core_, detail::describe_timer(time)}; }

  // ---- events and messages from outside ---------------------------------------------------------

  /// Waits for an event that somebody raises by this name; one that was raised earlier counts. One that can't
  /// be read as a T is set aside, and the log says so; a Payload takes all.
  template <class T>
  Op<T> event(std::string_view name) {
    return {core_, detail::readable_as<T>(detail::describe_event(name))};
  }
  template <class T>
  Op<T> event(const Event<T>& name) {
    return event<T>(name.name);
  }
  template <class T>
  Receiver<T> mailbox(std::string_view name) {
    return {core_, detail::checked_name("a mailbox", name)};
  }
  template <class T>
  Receiver<T> mailbox(const Mailbox<T>& name) {
    return mailbox<T>(name.name);
  }

  // ---- events and messages to other instances -----------------------------------------------------
  //
  // They go out with the commit of this turn, once, also when the turn ends this instance; nothing is waited
  // for. For an id that doesn't exist yet they are kept, for 24 hours unless the options say otherwise. When
  // the instance has ended they are dropped, and the worker's log says so: nothing fails.

  /// Raises an event for whoever lives under `id`.
  template <class T>
  void raise(std::string_view id, std::string_view event, const T& value) {
    core_.send_off(detail::describe_sent_event(id, event, {}, encode(value)));
  }
  template <class T>
  void raise(std::string_view id, std::string_view event, SendOptions options, const T& value) {
    core_.send_off(detail::describe_sent_event(id, event, options, encode(value)));
  }
  void raise(std::string_view id, std::string_view event) {
    core_.send_off(detail::describe_sent_event(id, event, {}, {kJsonEncoding, "null"}));
  }
  template <class T>
  void raise(std::string_view id, const Event<T>& event, const std::type_identity_t<T>& value) {
    raise(id, event.name, value);
  }
  template <class T>
  void raise(std::string_view id, const Event<T>& event, SendOptions options,
             const std::type_identity_t<T>& value) {
    raise(id, event.name, options, value);
  }
  void raise(std::string_view id, const Event<void>& event) { raise(id, event.name); }
  void raise(std::string_view id, std::string_view event, SendOptions options) {
    core_.send_off(detail::describe_sent_event(id, event, options, {kJsonEncoding, "null"}));
  }
  void raise(std::string_view id, const Event<void>& event, SendOptions options) {
    raise(id, event.name, options);
  }
  /// Puts a message into a mailbox of whoever lives under `id`. Messages of one turn arrive in this order.
  template <class T>
  void send(std::string_view id, std::string_view mailbox, const T& value) {
    core_.send_off(detail::describe_sent_message(id, mailbox, {}, encode(value)));
  }
  template <class T>
  void send(std::string_view id, std::string_view mailbox, SendOptions options, const T& value) {
    core_.send_off(detail::describe_sent_message(id, mailbox, options, encode(value)));
  }
  template <class T>
  void send(std::string_view id, const Mailbox<T>& mailbox, const std::type_identity_t<T>& value) {
    send(id, mailbox.name, value);
  }
  template <class T>
  void send(std::string_view id, const Mailbox<T>& mailbox, SendOptions options,
            const std::type_identity_t<T>& value) {
    send(id, mailbox.name, options, value);
  }
  /// Asks another instance to stop. Never kept: an id that doesn't exist is like one that has ended.
  void cancel(std::string_view id, std::string_view reason) {
    core_.send_off(detail::describe_sent_cancel(id, reason));
  }
  /// Ends another instance without running its code. Never kept either.
  void terminate(std::string_view id, std::string_view reason) {
    core_.send_off(detail::describe_sent_terminate(id, reason));
  }
  /// How the instance ends that has this id now: whoever started it, and at once if it has ended. A following
  /// execution is no end; a later life of the id is another instance. Fails with the type
  /// `instance_not_found` when nobody has the id, and `instance_deleted` when it was deleted before its end.
  Op<EndedInstance> ended(std::string_view id) { return {core_, detail::describe_end(id)}; }

  // ---- other orchestrations ---------------------------------------------------------------------

  /// Runs another orchestration and gives its result. Dropping it cancels it, unless its policy is to abandon
  /// it.
  template <class R, class... In>
    requires detail::PlainInputs<In...>
  Op<R> child(std::string_view name, In&&... in) {
    detail::check_inputs<In...>();
    const ChildOptions options;
    return {core_, detail::describe_child(name, options, encode_args(in...))};
  }
  template <class R, class... In>
  Op<R> child(std::string_view name, ChildOptions options, In&&... in) {
    detail::check_inputs<In...>();
    return {core_, detail::describe_child(name, options, encode_args(in...))};
  }
  /// The same by a typed name; the inputs are checked when this is compiled.
  template <class R, class... P, class... In>
    requires(detail::fits<detail::Types<In...>, detail::Types<P...>>)
  Op<R> child(const Orchestration<R(P...)>& name, In&&... in) {
    return child(name, ChildOptions(), std::forward<In>(in)...);
  }
  template <class R, class... P, class... In>
    requires(detail::fits<detail::Types<In...>, detail::Types<P...>>)
  Op<R> child(const Orchestration<R(P...)>& name, ChildOptions options, In&&... in) {
    detail::check_inputs<In...>();
    return {core_, detail::describe_child(name.name, options,
                                          encode_args(static_cast<const P&>(std::forward<In>(in))...))};
  }
  template <class R, class... In>
  Op<R> child(std::string_view name, detail::BareBraces, In&&... in) const;
  template <class R, class... P, class... In>
  Op<R> child(const Orchestration<R(P...)>& name, detail::BareBraces, In&&... in) const;
  /// Starts an orchestration that lives on by itself. The value is its id, once it is known to have started.
  template <class... In>
    requires detail::PlainInputs<In...>
  Op<std::string> start_detached(std::string_view name, In&&... in) {
    detail::check_inputs<In...>();
    const DetachedOptions options;
    return {core_, detail::describe_detached(name, options, encode_args(in...))};
  }
  template <class... In>
  Op<std::string> start_detached(std::string_view name, DetachedOptions options, In&&... in) {
    detail::check_inputs<In...>();
    return {core_, detail::describe_detached(name, options, encode_args(in...))};
  }

  template <class R, class... P, class... In>
    requires(detail::fits<detail::Types<In...>, detail::Types<P...>>)
  Op<std::string> start_detached(const Orchestration<R(P...)>& name, In&&... in) {
    return start_detached(name, DetachedOptions(), std::forward<In>(in)...);
  }
  template <class R, class... P, class... In>
    requires(detail::fits<detail::Types<In...>, detail::Types<P...>>)
  Op<std::string> start_detached(const Orchestration<R(P...)>& name, DetachedOptions options, In&&... in) {
    detail::check_inputs<In...>();
    return {core_, detail::describe_detached(name.name, options,
                                             encode_args(static_cast<const P&>(std::forward<In>(in))...))};
  }

  template <class... In>
  Op<std::string> start_detached(std::string_view name, detail::BareBraces, In&&... in) const;
  template <class R, class... P, class... In>
  Op<std::string> start_detached(const Orchestration<R(P...)>& name, detail::BareBraces, In&&... in) const;
  /// The same without waiting: it starts with the commit of this turn, also when the turn ends this instance.
  /// Gives its id. When that is taken, the other instance is left alone, and the worker's log says so.
  template <class... In>
    requires detail::PlainInputs<In...>
  std::string launch(std::string_view name, In&&... in) {
    detail::check_inputs<In...>();
    const DetachedOptions options;
    return core_.send_off(detail::describe_launch(name, options, encode_args(in...)));
  }
  template <class... In>
  std::string launch(std::string_view name, DetachedOptions options, In&&... in) {
    detail::check_inputs<In...>();
    return core_.send_off(detail::describe_launch(name, options, encode_args(in...)));
  }
  template <class R, class... P, class... In>
    requires(detail::fits<detail::Types<In...>, detail::Types<P...>>)
  std::string launch(const Orchestration<R(P...)>& name, In&&... in) {
    return launch(name, DetachedOptions(), std::forward<In>(in)...);
  }
  template <class R, class... P, class... In>
    requires(detail::fits<detail::Types<In...>, detail::Types<P...>>)
  std::string launch(const Orchestration<R(P...)>& name, DetachedOptions options, In&&... in) {
    detail::check_inputs<In...>();
    return core_.send_off(detail::describe_launch(
        name.name, options, encode_args(static_cast<const P&>(std::forward<In>(in))...)));
  }
  template <class... In>
  std::string launch(std::string_view name, detail::BareBraces, In&&... in) const;

  // ---- sessions ---------------------------------------------------------------------------------

  /// Opens a session; without an id it gets one from the execution's seed.
  Op<Session> open_session(SessionOptions options) {
    return {core_, detail::describe_session_opening(options)};
  }
  /// A handle for a session that exists, or that an activity will create.
  Session session(std::string_view id) { return {core_, id}; }
  /// The next event in the life of a session that this orchestration need not have opened:
  /// `co_await ctx.session_events("gpu")`. It hears of those from the first wait on.
  Op<SessionEvent> session_events(std::string_view id) { return session(id).next_event(); }
  /// A session that is created, with these options, by its first activity. Nothing is recorded here. What is
  /// not set: a lease of 2 minutes, 30 minutes to live, one activity at a time.
  Session worker_session(std::string_view id, SessionOptions options) {
    return {core_, detail::worker_session_settings(id, options)};
  }

  // ---- what happens inside the turn -------------------------------------------------------------

  /// Calls `f` once and records what it gives: on replay the record is used. For small, fast functions.
  template <class Function, class F = std::decay_t<Function>>
  Op<std::invoke_result_t<F&>> side_effect(Function&& function) {
    static_assert(detail::SafeFunction<Function>,
                  "holdfast: GCC 12 destroys a temporary lambda with captures twice in an expression with "
                  "co_await; give it a name first, and pass that");
    auto effect = [f = F(std::forward<Function>(function))]() mutable {
      if constexpr (std::is_void_v<std::invoke_result_t<F&>>) {
        f();
        return encode(std::monostate{});
      } else {
        return encode(f());
      }
    };
    return {core_, detail::describe_effect(std::move(effect))};
  }
  /// 64 random bits, from the execution's seed: the same on every replay.
  [[nodiscard]] std::uint64_t random() { return core_.random(); }
  /// A random UUID (version 4), from the execution's seed.
  [[nodiscard]] std::string uuid();

  /// What clients see as the instance's status text.
  template <class T>
  void set_status(const T& status) {
    core_.set_status(encode(status));
  }

  /// The instance's own values: durable, readable by clients and other instances, kept across
  /// continue-as-new.
  template <class T>
  void set_value(std::string_view key, const T& value) {
    core_.set_value(key, encode(value));
  }
  void clear_value(std::string_view key) { core_.set_value(key, std::nullopt); }
  template <class T>
  [[nodiscard]] std::optional<T> value(std::string_view key) const {
    const Payload* payload = core_.value(key);
    if (payload == nullptr) return std::nullopt;
    return decode<T>(*payload).value();
  }
  /// Search attributes: what the instance is found by in lists and counts. Durable, recorded in history, and
  /// kept across continue-as-new. A name and a type together are one attribute: texts (`std::string`), lists
  /// of texts (`{"rush", "gift"}` or std::vector<std::string>), numbers, bool, CalendarTime. Throws
  /// LimitError for too many of them and for what is too long; Error (invalid_name, invalid_attribute).
  template <class T>
  void set_attribute(std::string_view name, const T& value) {
    core_.set_attribute(detail::checked_attribute({name, value}, "this instance"));
  }
  void set_attribute(std::string_view name, const Names& keywords) {
    core_.set_attribute(detail::checked_attribute({name, keywords}, "this instance"));
  }
  /// The attribute that has this type; nothing when there is none.
  template <class T>
  [[nodiscard]] std::optional<T> attribute(std::string_view name) const {
    return detail::attribute_as<T>(core_.attribute(name, detail::attribute_type<T>()));
  }
  template <class T>
  void clear_attribute(std::string_view name) {
    core_.clear_attribute(name, detail::attribute_type<T>());
  }

  /// A value of another instance, as it is when the store looks; nothing when there is no such value.
  template <class T>
  Op<std::optional<T>> value_of(std::string_view instance, std::string_view key) {
    return {core_, detail::describe_value_read(instance, key)};
  }

  // ---- questions from outside -----------------------------------------------------------------------

  /// The execution's own S, made when it is asked for first, and kept until the execution is forgotten:
  /// longer than the code, so that handlers over it answer after the end too. Replay makes it anew, as it
  /// was.
  template <class S>
  [[nodiscard]] S& state() {
    static_assert(std::is_object_v<S> && std::is_default_constructible_v<S>,
                  "holdfast: a state is an object that can be made without arguments");
    constexpr auto make = []() -> detail::OwnedState {
      return {new S(), [](void* object) noexcept { delete static_cast<S*>(object); }};
    };
    return *static_cast<S*>(core_.state(typeid(S), make));
  }
  /// Answers run.query(name, ...) with what `handler` returns, for as long as the guard lives:
  ///
  ///     const auto total = ctx.on_query("total", [&] { return sum; });
  ///
  /// The handler may only read: what would be recorded, drawn or dropped throws ReadOnlyError there. It runs
  /// between turns, on a copy of this code that was replayed for that, and leaves no trace.
  template <class F>
  HandlerGuard on_query(std::string_view name, F handler) {
    return {core_, core_.add_query(name, detail::make_query(std::move(handler)))};
  }
  /// The same over a state of the execution, from ctx.state<S>(): Answer(const S& state, Arguments...). It
  /// needs no guard, and answers after the end too.
  template <class S, class F>
  void on_query(S& state, std::string_view name, F handler) {
    core_.add_query(name, detail::make_state_query<S>(std::move(handler)), &state);
  }

  // ---- changing code while instances run ------------------------------------------------------------

  /// Whether the code goes the new way at a change that you call `id`:
  ///
  ///     if (ctx.patched("check-stock")) co_await ctx.activity<void>("check_stock", order);
  ///
  /// True in a new turn, which history then says; on replay it is true where history says so, and false for
  /// executions that came by here with the code before the change. The first answer for an id holds for the
  /// execution, in loops too; continue-as-new, and the next attempt of a child, ask anew. Throws
  /// std::logic_error in the function of a side effect, and LimitError for more than 1,000 patches of one
  /// execution. While frames are destroyed nothing is recorded: an id that was not asked for is false there.
  [[nodiscard]] bool patched(std::string_view id) { return core_.patched(id); }
  /// Takes the place of `patched(id)` when no execution from before the change runs any more, and the code
  /// has lost its old way. Histories that have the patch replay; workers whose code still asks for it agree
  /// with what is recorded here.
  void deprecate_patch(std::string_view id) { core_.deprecate_patch(id); }

  // ---- structure --------------------------------------------------------------------------------

  /// Runs a task beside this one.
  template <class T>
  Future<T> start(Task<T> task) {
    return Future<T>(detail::start_task(core_, std::move(task)));
  }
  /// Runs something that a request to cancel does not reach. The request takes effect when it has ended.
  template <class T>
  Task<T> shield(Task<T> task) {
    if (!task.frame()) detail::throw_moved_away();
    task.frame().promise().shielded = true;
    return task;
  }
  template <class T>
  Task<T> shield(Op<T> op) {
    return shield(detail::shielded_op(std::move(op)));
  }

  /// Ends this execution and starts the next one of the same instance with this input. Never resumes. Throws
  /// std::logic_error inside of a saga, which could not be undone any more.
  template <class... In>
    requires detail::PlainInputs<In...>
  detail::Continuation continue_as_new(In&&... in) {
    detail::check_inputs<In...>();
    return {core_, {}, encode_args(in...)};
  }
  template <class... In>
  detail::Continuation continue_as_new(ContinueOptions options, In&&... in) {
    detail::check_inputs<In...>();
    return {core_, options.version, encode_args(in...)};
  }
  template <class... In>
  detail::Continuation continue_as_new(detail::BareBraces, In&&... in) const;
  /// True when the history of this execution is long enough to continue as new.
  [[nodiscard]] bool should_continue_as_new() const noexcept {
    return core_.history_size() >= core_.history_budget();
  }
  [[nodiscard]] std::uint64_t history_size() const noexcept { return core_.history_size(); }

  // ---- who and what -----------------------------------------------------------------------------

  [[nodiscard]] const std::string& instance_id() const noexcept { return core_.instance(); }
  [[nodiscard]] ExecutionNumber execution() const noexcept { return core_.execution(); }
  [[nodiscard]] const std::string& orchestration() const noexcept { return core_.orchestration(); }
  [[nodiscard]] const std::string& version() const noexcept { return core_.version(); }
  /// From 1; one more each time that a child which failed begins anew: ChildOptions::retry.
  [[nodiscard]] int attempt() const noexcept { return static_cast<int>(core_.attempt()); }
  /// Whether somebody asked this instance to stop.
  [[nodiscard]] bool cancel_requested() const noexcept { return core_.cancel_request().has_value(); }
  /// Writes a line to the runtime's log, with the instance, its orchestration and its execution:
  ///
  ///     ctx.log(LogLevel::warn, "stock is low", {{"item", item}, {"left", left}});
  ///
  /// Silent on replay. A turn that could not be committed runs again, and so do its lines.
  void log(LogLevel level, std::string_view message, std::initializer_list<LogField> fields = {}) const {
    core_.log(level, message, {fields.begin(), fields.size()});
  }
  /// The same at level info.
  void log(std::string_view message, std::initializer_list<LogField> fields = {}) const {
    log(LogLevel::info, message, fields);
  }
  /// Whether this code runs again what it did before. Code that decides by it is not deterministic.
  [[nodiscard]] bool replaying() const noexcept { return core_.replaying(); }

 private:
  friend class Saga;
  detail::Core& core_;
};

}  // namespace holdfast
