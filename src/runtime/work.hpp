// Work: something to run once, in a thread that is not known yet.
#pragma once

#include <holdfast/detail/blocks.hpp>

#include <concepts>
#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace holdfast::runtime {

/// Like std::function<void()>, but moved and never copied, with room for an activity that is about to begin:
/// none of them has to be allocated for its way through a queue. What it holds is destroyed with it, whether
/// it ran or not.
class Work {
 public:
  Work() noexcept = default;
  template <class F>
    requires(!std::same_as<std::remove_cvref_t<F>, Work> && std::invocable<std::remove_cvref_t<F>&>)
  Work(F&& function) {  // NOLINT(bugprone-forwarding-reference-overload)
    using Function = std::remove_cvref_t<F>;
    if constexpr (kFits<Function>) {
      ::new (room()) Function(std::forward<F>(function));
      kind_ = &kKindOf<Function>;
    } else {
      using Elsewhere = std::unique_ptr<InBlock<Function>>;
      ::new (room()) Elsewhere(new InBlock<Function>{{}, std::forward<F>(function)});
      kind_ = &kKindOf<Elsewhere>;
    }
  }
  Work(Work&& other) noexcept { take(other); }
  Work& operator=(Work&& other) noexcept {
    if (this == &other) return *this;
    reset();
    take(other);
    return *this;
  }
  ~Work() { reset(); }

  explicit operator bool() const noexcept { return kind_ != nullptr; }
  /// Precondition: there is something.
  void operator()() { kind_->run(room()); }
  /// Destroys what is in it.
  void reset() noexcept {
    if (const Kind* const kind = std::exchange(kind_, nullptr)) kind->destroy(room());
  }

 private:
  static constexpr std::size_t kRoom = 96;

  /// What is done with what is in the room.
  struct Kind {
    void (*run)(void* held);
    void (*move)(void* from, void* to) noexcept;  ///< and destroys it there
    void (*destroy)(void* held) noexcept;
  };
  /// What does not fit.
  template <class Function>
  struct InBlock : detail::InBlocks {
    Function function;
    void operator()() { function(); }
  };

  template <class Function>
  static constexpr bool kFits = sizeof(Function) <= kRoom && alignof(Function) <= alignof(std::max_align_t) &&
                                std::is_nothrow_move_constructible_v<Function>;
  template <class Held>
  static Held& held(void* room) noexcept {
    return *static_cast<Held*>(room);
  }
  template <class Held>
  static void run(void* room) {
    if constexpr (std::invocable<Held&>) {
      held<Held>(room)();
    } else {
      (*held<Held>(room))();
    }
  }
  template <class Held>
  static void move(void* from, void* to) noexcept {
    ::new (to) Held(std::move(held<Held>(from)));
    destroy<Held>(from);
  }
  template <class Held>
  static void destroy(void* room) noexcept {
    held<Held>(room).~Held();
  }
  template <class Held>
  static constexpr Kind kKindOf{&run<Held>, &move<Held>, &destroy<Held>};

  [[nodiscard]] void* room() noexcept { return static_cast<void*>(room_); }
  void take(Work& other) noexcept {
    kind_ = std::exchange(other.kind_, nullptr);
    if (kind_ != nullptr) kind_->move(other.room(), room());
  }

  const Kind* kind_ = nullptr;
  alignas(std::max_align_t) std::byte room_[kRoom];  // NOLINT: bytes of an object, or of none
};

}  // namespace holdfast::runtime
