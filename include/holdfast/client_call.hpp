// ClientCall: a call of a client that nobody has to wait for in a thread.
//
//   client.start_async("sell", {.id = "order-7"}, order).then([](ClientAnswer<Run> run) { ... });
//   std::future<Run> run = client.start_async("sell", {.id = "order-7"}, order).future();
//   const Run run = co_await async(client.start_async(sell, order), asio::use_awaitable);  //
//   holdfast/asio.hpp
#pragma once

#include <holdfast/result.hpp>

#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <type_traits>
#include <utility>

namespace holdfast {

/// What a call gave: its value, or the exception that the blocking call would have thrown. `value()` throws
/// it.
template <class T>
using ClientAnswer = Result<T, std::exception_ptr>;

/// Runs what it is given, soon and once, in a thread of its choice.
using PostTo = std::function<void(std::function<void()>)>;

/// A call that was described, with all that it needs, and does nothing until then() or future() begins it,
/// once.
///
/// Callbacks are called once each, one after the other, by a thread that the client has for that, without any
/// lock of ours. They must not wait there: a blocking call of a client throws std::logic_error. What a
/// callback throws is logged. What they refer to has to be there until Client::close() returns.
template <class T>
class [[nodiscard]] ClientCall {
 public:
  using Callback = std::function<void(ClientAnswer<T>)>;
  using Begin = std::function<void(Callback, std::stop_token)>;

  explicit ClientCall(Begin begin) : begin_(std::move(begin)) {}

  /// When `stop` is requested, a wait ends with std::system_error (std::errc::operation_canceled); a start or
  /// a message is sent all the same.
  void then(Callback callback, std::stop_token stop = std::stop_token()) && {
    take()(std::move(callback), std::move(stop));
  }
  /// The callback is called by what `executor` runs.
  void then(PostTo executor, Callback callback, std::stop_token stop = std::stop_token()) && {
    auto posted = [executor = std::move(executor), callback = std::move(callback)](ClientAnswer<T> answer) {
      executor([callback, kept = std::make_shared<ClientAnswer<T>>(std::move(answer))] {
        callback(std::move(*kept));
      });
    };
    take()(std::move(posted), std::move(stop));
  }
  [[nodiscard]] std::future<T> future() && {
    const auto promise = std::make_shared<std::promise<T>>();
    std::move(*this).then([promise](ClientAnswer<T> answer) {
      if (!answer) {
        promise->set_exception(std::move(answer).error());
      } else if constexpr (std::is_void_v<T>) {
        promise->set_value();
      } else {
        promise->set_value(*std::move(answer));
      }
    });
    return promise->get_future();
  }

 private:
  Begin take() {
    if (!begin_) throw std::logic_error("holdfast: this call of a client was begun already");
    return std::exchange(begin_, nullptr);
  }

  Begin begin_;
};

namespace detail {

/// What `get()` returns or throws.
template <class Get>
auto answer_of(Get get) -> ClientAnswer<std::invoke_result_t<Get>> {
  try {
    if constexpr (std::is_void_v<std::invoke_result_t<Get>>) {
      get();
      return {};
    } else {
      return get();
    }
  } catch (...) {
    return Unexpected(std::current_exception());
  }
}

/// A call that gives what `convert` makes of the value of another.
template <class T, class Convert>
auto map_call(ClientCall<T> call, Convert convert) {
  using U = std::invoke_result_t<Convert, T>;
  return ClientCall<U>([call = std::move(call), convert = std::move(convert)](
                           typename ClientCall<U>::Callback done, std::stop_token stop) mutable {
    auto converted = [convert, done = std::move(done)](ClientAnswer<T> answer) {
      done(answer_of([&] { return convert(std::move(answer).value()); }));
    };
    std::move(call).then(std::move(converted), std::move(stop));
  });
}

}  // namespace detail

}  // namespace holdfast
