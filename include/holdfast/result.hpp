// Result<T, E>: a value, or the reason why there is none, like std::expected. For errors that are expected;
// those that should never happen are thrown.
#pragma once

#include <holdfast/errors.hpp>

#include <concepts>
#include <exception>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <variant>

namespace holdfast {

/// The error half of a Result, so that `return Unexpected(reason);` can't be mistaken for a value.
template <class E>
struct Unexpected {
  E error;
  explicit Unexpected(E e) : error(std::move(e)) {}
};

/// Thrown by `value()` of a Result without a value whose error can't be thrown itself.
class BadResultAccess : public std::logic_error {
 public:
  BadResultAccess() : std::logic_error("value() of a holdfast::Result that holds an error") {}
};

/// Holds a T or an E. T may be void. `*` and `->` without a value, and error() with one, are undefined
/// behaviour. value() throws when there is none: the exception of the failure if E is Failure, the exception
/// itself if E is std::exception_ptr, otherwise BadResultAccess.
template <class T, class E = Failure>
class [[nodiscard]] Result {
  using Stored = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

 public:
  using value_type = T;
  using error_type = E;

  Result()
    requires std::is_void_v<T>
      : state_(std::in_place_index<0>) {}

  template <class U = Stored>
    requires(!std::is_void_v<T> && std::constructible_from<Stored, U &&> &&
             !std::same_as<std::remove_cvref_t<U>, Result>)
  Result(U&& value)
      : state_(std::in_place_index<0>, std::forward<U>(value)) {
  }  // NOLINT(bugprone-forwarding-reference-overload)

  template <class F>
    requires std::constructible_from<E, F&&>
  Result(Unexpected<F> unexpected) : state_(std::in_place_index<1>, std::move(unexpected.error)) {}

  [[nodiscard]] bool has_value() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }

  std::add_lvalue_reference_t<Stored> operator*() & noexcept { return *std::get_if<0>(&state_); }
  std::add_lvalue_reference_t<const Stored> operator*() const& noexcept { return *std::get_if<0>(&state_); }
  Stored&& operator*() && noexcept { return std::move(*std::get_if<0>(&state_)); }
  Stored* operator->() noexcept { return std::get_if<0>(&state_); }
  const Stored* operator->() const noexcept { return std::get_if<0>(&state_); }

  [[nodiscard]] E& error() & noexcept { return *std::get_if<1>(&state_); }
  [[nodiscard]] const E& error() const& noexcept { return *std::get_if<1>(&state_); }
  [[nodiscard]] E&& error() && noexcept { return std::move(*std::get_if<1>(&state_)); }

  T value() && {
    if (!has_value()) throw_error(std::move(*this).error());
    if constexpr (!std::is_void_v<T>) return *std::move(*this);
  }
  T value() const& {
    if (!has_value()) throw_error(error());
    if constexpr (!std::is_void_v<T>) return **this;
  }

  template <class U>
  Stored value_or(U&& otherwise) && {
    return has_value() ? *std::move(*this) : static_cast<Stored>(std::forward<U>(otherwise));
  }

  friend bool operator==(const Result&, const Result&) = default;

 private:
  [[noreturn]] static void throw_error(E error) {
    if constexpr (std::same_as<E, Failure>) {
      throw_failure(std::move(error));
    } else if constexpr (std::same_as<E, std::exception_ptr>) {
      std::rethrow_exception(std::move(error));
    } else {
      throw BadResultAccess();
    }
  }

  std::variant<Stored, E> state_;
};

}  // namespace holdfast
