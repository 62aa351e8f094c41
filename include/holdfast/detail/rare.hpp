// Rare<T>: like std::optional<T>, for large values that are rarely set. It has the size of a pointer.
#pragma once

#include <memory>
#include <utility>

namespace holdfast::detail {

template <class T>
class Rare {
 public:
  Rare() noexcept = default;
  Rare& operator=(T value) {
    value_ = std::make_unique<T>(std::move(value));
    return *this;
  }

  /// The value; makes a T() if there is none.
  T& ensure() {
    if (!value_) value_ = std::make_unique<T>();
    return *value_;
  }

  [[nodiscard]] bool has_value() const noexcept { return value_ != nullptr; }
  explicit operator bool() const noexcept { return has_value(); }
  /// Precondition of all of these: has_value().
  [[nodiscard]] T& operator*() noexcept { return *value_; }
  [[nodiscard]] const T& operator*() const noexcept { return *value_; }
  [[nodiscard]] T* operator->() noexcept { return value_.get(); }
  [[nodiscard]] const T* operator->() const noexcept { return value_.get(); }

 private:
  std::unique_ptr<T> value_;
};

}  // namespace holdfast::detail
