// Activities that are Asio coroutines: thousands may wait at once, and none of them holds a thread.
//
//   rt.activity("fetch", [](ActivityContext& ctx, std::string url) -> asio::awaitable<std::string> {
//     Connection connection = co_await connect(url);
//     co_return co_await connection.read();
//   });
//
// They all run in one thread that they share, so their code must not block. To run one on an executor of your
// own: rt.activity("fetch", asio_activity(io_context, fetch)).
//
// Client calls can be awaited in any Asio coroutine: see async() and async_wait() below.
//
// A request to stop is seen by `co_await ctx.cancelled()` and by ctx.stop_token(). Code that has not ended
// when the grace is over gets terminal cancellation through its cancellation slot: what it waits for ends
// with asio::error::operation_aborted, and so does each later co_await. Code that goes on even then is
// abandoned.
//
// Inside a coroutine, ctx and inputs are valid until its end. Each attempt has a strand of its own, so its
// code runs in one thread at a time on any executor.
#pragma once

#include <holdfast/activity_context.hpp>
#include <holdfast/client_call.hpp>
#include <holdfast/codec.hpp>
#include <holdfast/detail/activity_code.hpp>
#include <holdfast/errors.hpp>
#include <holdfast/result.hpp>
#include <holdfast/run.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/associated_cancellation_slot.hpp>
#include <asio/associated_executor.hpp>
#include <asio/async_result.hpp>
#include <asio/awaitable.hpp>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/error.hpp>
#include <asio/execution_context.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/strand.hpp>
#include <asio/system_error.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <concepts>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <system_error>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>

#if !defined(ASIO_HAS_CO_AWAIT)
#error \
    "holdfast/asio.hpp: this Asio sees no coroutines; link holdfast::asio or compile with -DASIO_HAS_CO_AWAIT"
#endif

namespace holdfast {

namespace detail {

/// The thread of all coroutine activities of this process that were given no executor. It lives as long as
/// some worker has such an activity.
class AsioThread {
 public:
  static std::shared_ptr<AsioThread> shared() {
    static std::mutex mutex;
    static std::weak_ptr<AsioThread> current;
    const std::lock_guard lock(mutex);
    std::shared_ptr<AsioThread> thread = current.lock();
    if (!thread) current = thread = std::make_shared<AsioThread>();
    return thread;
  }

  AsioThread()
      : context_(std::make_shared<asio::io_context>(1)),
        work_(context_->get_executor()),
        thread_([context = context_] { context->run(); }) {}
  /// The last owner may be abandoned code that ends in this very thread.
  ~AsioThread() {
    work_.reset();
    context_->stop();
    if (thread_.get_id() == std::this_thread::get_id()) {
      thread_.detach();
    } else {
      thread_.join();
    }
  }
  AsioThread(const AsioThread&) = delete;
  AsioThread& operator=(const AsioThread&) = delete;

  [[nodiscard]] asio::any_io_executor executor() const { return context_->get_executor(); }

 private:
  const std::shared_ptr<asio::io_context> context_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::thread thread_;
};

/// One attempt that runs as a coroutine. All but begin() is called in its strand. It outlives its frames.
class CoroutineAttempt : public std::enable_shared_from_this<CoroutineAttempt> {
 public:
  CoroutineAttempt(const ActivityTask& task, Completion completion, const asio::any_io_executor& executor)
      : task_(task), completion_(std::move(completion)), strand_(asio::make_strand(executor)) {}
  /// If it was not completed, its coroutine was destroyed while it waited, with the context that it ran in.
  ~CoroutineAttempt() {
    if (!completion_) return;
    (*completion_)(
        Unexpected(Failure{.type = "coroutine_destroyed",
                           .message = "the context of the coroutine was destroyed before its end"}));
  }
  CoroutineAttempt(const CoroutineAttempt&) = delete;
  CoroutineAttempt& operator=(const CoroutineAttempt&) = delete;

  [[nodiscard]] ActivityContext& ctx() const noexcept { return task_.ctx; }
  [[nodiscard]] const Payload& input() const noexcept { return task_.input; }
  void set_result(Result<Payload> result) { result_ = std::move(result); }

  void begin(asio::awaitable<void> code) {
    end_.emplace(task_.end, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) asio::post(self->strand_, [self] { self->cancel(); });
    });
    asio::co_spawn(
        strand_, std::move(code),
        asio::bind_cancellation_slot(
            signal_.slot(), [self = shared_from_this()](std::exception_ptr error) { self->ended(error); }));
  }

 private:
  void cancel() {
    if (completion_) signal_.emit(asio::cancellation_type::terminal);
  }

  void ended(const std::exception_ptr& error) {
    // The outermost frame is still there, and refers to the signal.
    asio::post(strand_, [self = shared_from_this()] {});
    const Completion completion = *std::exchange(completion_, std::nullopt);
    if (error) {
      completion.fail(error);
    } else {
      completion(std::move(result_));
    }
  }

  const ActivityTask task_;
  std::optional<Completion> completion_;  // until it was used
  const asio::strand<asio::any_io_executor> strand_;
  asio::cancellation_signal signal_;
  Result<Payload> result_{Payload{kJsonEncoding, "null"}};
  std::optional<std::stop_callback<std::function<void()>>> end_;
};

template <class F, class T, class... P>
class CoroutineActivity final : public ActivityCode {
 public:
  CoroutineActivity(F function, asio::any_io_executor executor, std::shared_ptr<AsioThread> thread)
      : function_(std::move(function)), thread_(std::move(thread)), executor_(std::move(executor)) {}

  void invoke(ActivityTask task, Completion completion) const override {
    const auto attempt = std::make_shared<CoroutineAttempt>(task, std::move(completion), executor_);
    attempt->begin(run(attempt));
  }
  [[nodiscard]] bool is_coroutine() const noexcept override { return true; }

 private:
  asio::awaitable<void> run(std::shared_ptr<CoroutineAttempt> attempt) const {
    auto arguments = decode_args<std::remove_cvref_t<P>...>(attempt->input());
    if (!arguments) {
      attempt->set_result(Unexpected(std::move(arguments).error()));
      co_return;
    }
    asio::awaitable<T> code = std::apply(
        [&](auto&... p) { return std::invoke(function_, attempt->ctx(), static_cast<P>(std::move(p))...); },
        *arguments);
    if constexpr (std::is_void_v<T>) {
      co_await std::move(code);
    } else {
      const T value = co_await std::move(code);
      attempt->set_result(encode(value));
    }
  }

  const F function_;
  const std::shared_ptr<AsioThread> thread_;  // where it has no other executor
  const asio::any_io_executor executor_;
};

template <class T>
struct ActivityForm<asio::awaitable<T>> {
  using Value = T;
  template <class F, class... P>
  static std::shared_ptr<const ActivityCode> wrap(F function) {
    auto thread = AsioThread::shared();
    auto executor = thread->executor();
    return std::make_shared<CoroutineActivity<F, T, P...>>(std::move(function), std::move(executor),
                                                           std::move(thread));
  }
  template <class F, class... P>
  static std::shared_ptr<const ActivityCode> wrap(F function, asio::any_io_executor executor) {
    return std::make_shared<CoroutineActivity<F, T, P...>>(std::move(function), std::move(executor), nullptr);
  }
};

template <>
struct CancelledAwait<InCoroutine> {
  // The timer never fires; the stop moves it. That happens in the executor of the coroutine, where nothing
  // else touches the timer at the same time.
  static asio::awaitable<void> of(std::stop_token token) {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    const auto timer = std::make_shared<asio::steady_timer>(executor, asio::steady_timer::time_point::max());
    const std::stop_callback on_stop(token, [timer] {
      asio::post(timer->get_executor(),
                 [timer] { timer->expires_at(asio::steady_timer::time_point::min()); });
    });
    asio::error_code error;
    while (!token.stop_requested()) {
      co_await timer->async_wait(asio::redirect_error(asio::use_awaitable, error));
      if (error && !token.stop_requested()) throw asio::system_error(error, "ctx.cancelled()");
    }
  }
};

template <>
struct StateAwait<InCoroutine> {
  // As above: whoever leaves the state, and the stop, move a timer that never fires.
  template <class T>
  static asio::awaitable<std::reference_wrapper<T>> of(std::stop_token token,
                                                       std::function<void*(std::function<void()>)> ask) {
    using Time = asio::steady_timer::time_point;
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    const auto timer = std::make_shared<asio::steady_timer>(executor);
    const std::function<void()> wake = [timer] {
      asio::post(timer->get_executor(), [timer] { timer->expires_at(Time::min()); });
    };
    const std::stop_callback on_stop(token, wake);
    for (;;) {
      timer->expires_at(Time::max());
      if (void* const state = ask(wake)) co_return std::ref(*static_cast<T*>(state));
      if (token.stop_requested()) {
        throw ActivityFailure("stopped",
                              "the activity was asked to stop while it waited for its session's state");
      }
      asio::error_code error;
      co_await timer->async_wait(asio::redirect_error(asio::use_awaitable, error));
      if (error && timer->expiry() == Time::max()) throw asio::system_error(error, "when_free()");
    }
  }
};

/// What a call completes a token with: an exception, or none and the value.
template <class T>
struct CallSignature {
  using Type = void(std::exception_ptr, T);
};
template <>
struct CallSignature<void> {
  using Type = void(std::exception_ptr);
};

/// A call of a client on its way, and whom it completes.
template <class T, class Handler>
class AsioCall : public std::enable_shared_from_this<AsioCall<T, Handler>> {
 public:
  explicit AsioCall(Handler handler)
      : handler_(std::move(handler)), work_(asio::make_work_guard(asio::get_associated_executor(handler_))) {}

  void begin(ClientCall<T> call) {
    auto slot = asio::get_associated_cancellation_slot(handler_);
    if (slot.is_connected()) slot.assign([stop = stop_](asio::cancellation_type) { stop.request_stop(); });
    const auto self = this->shared_from_this();
    try {
      std::move(call).then([self](ClientAnswer<T> answer) { self->post(std::move(answer)); },
                           stop_.get_token());
    } catch (...) {  // it can't be begun: whoever initiates must not throw
      post(Unexpected(std::current_exception()));
    }
  }

 private:
  void post(ClientAnswer<T> answer) {
    // Its context may go as soon as it has nothing to do: not before this thread has left it.
    const auto here = work_;
    answer_.emplace(std::move(answer));
    asio::post(here.get_executor(), [self = this->shared_from_this()] { self->complete(); });
  }

  void complete() {
    Handler handler(std::move(handler_));
    ClientAnswer<T> answer = *std::move(answer_);
    asio::get_associated_cancellation_slot(handler).clear();
    work_.reset();
    std::exception_ptr error = answer ? nullptr : answer.error();
    if (error && stop_.stop_requested()) error = in_words_of_asio(error);
    if constexpr (std::is_void_v<T>) {
      std::move(handler)(error);
    } else {
      std::move(handler)(error, error ? T() : *std::move(answer));
    }
  }

  // A wait that was given up.
  static std::exception_ptr in_words_of_asio(const std::exception_ptr& error) {
    try {
      std::rethrow_exception(error);
    } catch (const std::system_error& e) {
      if (e.code() != std::errc::operation_canceled) return error;
      return std::make_exception_ptr(asio::system_error(asio::error::operation_aborted));
    } catch (...) {
      return error;
    }
  }

  Handler handler_;
  asio::executor_work_guard<asio::associated_executor_t<Handler>> work_;
  const std::stop_source stop_{};
  std::optional<ClientAnswer<T>> answer_{};
};

}  // namespace detail

/// Begins a call of a client, and completes `token` with what it gives:
///
///   const Run run = co_await async(client.start_async("sell", order), asio::use_awaitable);
///   const std::string receipt = co_await async_wait<std::string>(run, asio::use_awaitable);
///
/// The handler runs on its associated executor. A value is default-constructed beside an exception. Asio's
/// cancellation ends a wait with asio::error::operation_aborted; a start or a message is sent all the same.
/// The handler's context outlives the call.
template <class T, class CompletionToken>
auto async(ClientCall<T> call, CompletionToken&& token) {
  return asio::async_initiate<CompletionToken, typename detail::CallSignature<T>::Type>(
      [](auto handler, ClientCall<T> begun) {
        using Handler = decltype(handler);
        std::make_shared<detail::AsioCall<T, Handler>>(std::move(handler))->begin(std::move(begun));
      },
      token, std::move(call));
}
/// Run::wait() for a coroutine.
template <class T = void, class CompletionToken>
auto async_wait(const Run& run, CompletionToken&& token) {
  return async(run.wait_async<T>(), std::forward<CompletionToken>(token));
}
template <class R, class CompletionToken>
auto async_wait(const TypedRun<R>& run, CompletionToken&& token) {
  return async(run.wait_async(), std::forward<CompletionToken>(token));
}

/// A coroutine with the executor that it runs on. Made by asio_activity().
template <class F>
class AsioActivity {
 public:
  AsioActivity(asio::any_io_executor executor, F function)
      : executor_(std::move(executor)), function_(std::move(function)) {}

  /// What is registered.
  std::shared_ptr<const detail::ActivityCode> activity_code() && {
    return detail::make_activity(std::move(function_), std::move(executor_));
  }
  /// The coroutine itself.
  template <class... In>
    requires std::invocable<const F&, ActivityContext&, In...>
  auto operator()(ActivityContext& ctx, In&&... in) const {
    return std::invoke(function_, ctx, std::forward<In>(in)...);
  }

 private:
  asio::any_io_executor executor_;
  F function_;
};

/// For Runtime::activity(): the coroutine runs on this executor, or on that of this context. You run the
/// context for as long as the runtime works, in as many threads as you like, and it outlives the runtime.
template <class F>
AsioActivity<F> asio_activity(asio::any_io_executor executor, F function) {
  return AsioActivity<F>(std::move(executor), std::move(function));
}
template <std::derived_from<asio::execution_context> Context, class F>
AsioActivity<F> asio_activity(Context& context, F function) {
  return AsioActivity<F>(context.get_executor(), std::move(function));
}

}  // namespace holdfast
