// Callbacks: how code of the user is called by the thread of a client.
#pragma once

#include <holdfast/log.hpp>

#include <exception>
#include <memory>
#include <string_view>
#include <utility>

namespace holdfast::client {

/// A call is begun too late. Throws std::logic_error.
[[noreturn]] void refuse_as_closed();

/// Lets nothing out that a callback throws: the calls of others go on. Thread-safe.
class Callbacks {
 public:
  /// Empty: stderr.
  explicit Callbacks(std::shared_ptr<Logger> logger) : logger_(std::move(logger)) {}

  /// `callback` is destroyed as well before this returns: what it holds may be the last to know somebody.
  template <class Callback>
  void run(Callback callback) const noexcept {
    const Here here;
    try {
      const Callback own(std::move(callback));
      own();
    } catch (const std::exception& e) {
      say(e.what());
    } catch (...) {
      say("what it threw is no std::exception");
    }
  }

  /// Whether the calling thread runs one.
  static bool is_here() noexcept { return depth() > 0; }

 private:
  struct Here {
    Here() noexcept { ++depth(); }
    ~Here() { --depth(); }
    Here(const Here&) = delete;
    Here& operator=(const Here&) = delete;
  };
  static int& depth() noexcept {
    thread_local int value = 0;
    return value;
  }
  void say(std::string_view what) const noexcept;

  const std::shared_ptr<Logger> logger_;
};

}  // namespace holdfast::client
