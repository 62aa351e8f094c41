// What a snippet of the battery is written with: a miniature of a coroutine library, free of Holdfast's own
// types, so that an outcome speaks about the compiler only. Everything here runs on one thread.
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::battery {

// ---- what is counted ----------------------------------------------------------------------------

/// Counts itself: constructed minus destroyed. Its text is on the heap, so that a second destruction is also
/// a second free.
class Tracer {
 public:
  Tracer(std::string text = "traced, and on the heap") : text_(std::move(text)) { ++live_; }
  Tracer(const Tracer& other) : text_(other.text_) { ++live_; }
  Tracer(Tracer&& other) noexcept : text_(std::move(other.text_)) { ++live_; }
  Tracer& operator=(const Tracer&) = default;
  Tracer& operator=(Tracer&&) = default;
  ~Tracer() { --live_; }

  [[nodiscard]] const std::string& text() const { return text_; }
  static int live() { return live_; }

 private:
  static inline int live_ = 0;
  std::string text_;
};

// ---- who resumes --------------------------------------------------------------------------------

/// Knows which coroutines wait, and resumes them in the order in which they began to. One exists at a time,
/// and it outlives every coroutine that waits.
class Driver {
 public:
  Driver() { current_ = this; }
  ~Driver() { current_ = nullptr; }
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  /// A place in the queue. Leaves it when the frame that it stands in is destroyed.
  class Waiter {
   public:
    Waiter() = default;
    ~Waiter() { std::erase(current_->waiting_, this); }
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;

    void wait(std::coroutine_handle<> coroutine) {
      coroutine_ = coroutine;
      current_->waiting_.push_back(this);
    }

   private:
    friend Driver;
    std::coroutine_handle<> coroutine_;
  };

  /// Resumes the coroutine that waits longest; false when none waits.
  bool resume_next() {
    if (waiting_.empty()) return false;
    const Waiter* next = waiting_.front();
    waiting_.erase(waiting_.begin());
    next->coroutine_.resume();
    return true;
  }

 private:
  static inline Driver* current_ = nullptr;
  std::vector<Waiter*> waiting_;
};

// ---- Task: a lazy coroutine ---------------------------------------------------------------------

template <class T>
class [[nodiscard]] Task {
 public:
  using value_type = T;

  struct promise_type {
    std::coroutine_handle<> continuation = std::noop_coroutine();
    std::optional<T> value;
    std::exception_ptr error;

    struct Finish {
      bool await_ready() const noexcept { return false; }
      auto await_suspend(std::coroutine_handle<promise_type> done) const noexcept {
        return done.promise().continuation;
      }
      void await_resume() const noexcept {}
    };

    Task get_return_object() { return Task(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    Finish final_suspend() const noexcept { return {}; }
    void unhandled_exception() { error = std::current_exception(); }
    template <class U = T>
    void return_value(U&& result) {
      value.emplace(std::forward<U>(result));
    }
  };

  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (handle_) handle_.destroy();
  }

  auto operator co_await() && noexcept { return Awaiter{handle_}; }

  // For the runner, which stands outside of any coroutine.
  void start() { handle_.resume(); }
  [[nodiscard]] bool done() const { return handle_.done(); }
  T take() { return take(handle_.promise()); }

 private:
  struct Awaiter {
    std::coroutine_handle<promise_type> callee;
    bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> caller) const noexcept {
      callee.promise().continuation = caller;
      return callee;
    }
    T await_resume() const { return take(callee.promise()); }
  };

  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}

  static T take(promise_type& promise) {
    if (promise.error) std::rethrow_exception(promise.error);
    return std::move(*promise.value);
  }

  std::coroutine_handle<promise_type> handle_;
};

// ---- Pending: an operation that always suspends -------------------------------------------------

/// Awaiting it suspends until the driver comes round, and then yields its value.
template <class T>
class [[nodiscard]] Pending {
 public:
  using value_type = T;

  explicit Pending(T value) : value_(std::move(value)) {}

  auto operator co_await() noexcept { return Awaiter(*this); }

 private:
  class Awaiter {
   public:
    explicit Awaiter(Pending& pending) : pending_(pending) {}
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> caller) { waiter_.wait(caller); }
    T await_resume() { return std::move(pending_.value_); }

   private:
    Pending& pending_;
    Driver::Waiter waiter_;
  };

  T value_;
};

/// The value, after a wait.
template <class T>
Pending<T> later(T value) {
  return Pending<T>(std::move(value));
}

// ---- what snippets talk about -------------------------------------------------------------------

/// A small aggregate with something to destroy.
struct Item {
  int count = 0;
  std::string name{};
};

/// A large one, with a list and a member that counts itself.
struct Order {
  int id = 0;
  std::string customer{};
  std::vector<std::string> lines{};
  Tracer tracer{};
};

inline std::string text_of(std::string_view text) { return std::string(text); }
inline std::string text_of(int number) { return std::to_string(number); }
inline std::string text_of(const Item& item) { return std::to_string(item.count) + " " + item.name; }
inline std::string text_of(const Order& order) {
  std::string text = std::to_string(order.id) + " " + order.customer;
  for (const std::string& line : order.lines) text += ", " + line;
  return text;
}

/// Stands for an activity: reads its input at once, as an encoder would, and answers with its text after a
/// wait.
template <class Input>
Pending<std::string> call(const Input& input) {
  return Pending<std::string>(text_of(input));
}

/// True, but no compiler knows while it compiles a snippet.
inline bool in_stock() { return true; }

// ---- the battery --------------------------------------------------------------------------------

struct Snippet {
  std::string_view name;
  Task<std::string> (*coroutine)();
  std::string_view result;  // what the coroutine returns where the compiler is right
};

/// All snippets of this binary, in no promised order.
inline std::vector<Snippet>& snippets() {
  static std::vector<Snippet> all;
  return all;
}

struct Registration {
  explicit Registration(Snippet snippet) { snippets().push_back(snippet); }
};

/// SNIPPET(name, "its result") { body of a coroutine that returns a string }
#define SNIPPET(name, result)                                                                    \
  static ::holdfast::battery::Task<std::string> name();                                          \
  static const ::holdfast::battery::Registration registration_of_##name({#name, &name, result}); \
  static ::holdfast::battery::Task<std::string> name()

}  // namespace holdfast::battery
