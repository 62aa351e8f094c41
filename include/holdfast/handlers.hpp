// Handlers: what an orchestration answers to questions from outside.
//
//   struct Progress { int done = 0; int left = 0; };
//
//   Task<> import(Context& ctx, std::vector<std::string> files) {
//     auto& progress = ctx.state<Progress>();
//     ctx.on_query(progress, "progress", [](const Progress& now) { return now; });
//     const auto names = ctx.on_query("names", [&files] { return files; });
//     ...
//   }
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace holdfast {

namespace detail {
class Core;
void remove_handler(Core& core, std::uint64_t number) noexcept;
}  // namespace detail

/// Keeps a handler in place. Its destructor takes the handler away, so that it may refer to variables that
/// were declared before the guard; from then on who asks is told that the handler is gone. Not for longer
/// than the code: a variable of the orchestration, or of a task of it.
class [[nodiscard("the handler goes with its guard: keep it in a variable")]] HandlerGuard {
 public:
  /// Guards come from a Context.
  HandlerGuard(detail::Core& core, std::uint64_t number) noexcept : core_(&core), number_(number) {}
  HandlerGuard(HandlerGuard&& other) noexcept
      : core_(other.core_), number_(std::exchange(other.number_, 0)) {}
  HandlerGuard& operator=(HandlerGuard&& other) noexcept {
    std::swap(core_, other.core_);
    std::swap(number_, other.number_);
    return *this;
  }
  ~HandlerGuard() {
    if (number_ != 0) detail::remove_handler(*core_, number_);
  }

 private:
  detail::Core* core_;
  std::uint64_t number_;
};

/// One of the answers of the query "holdfast.waits": an operation that has no outcome yet.
struct QueryWait {
  std::uint64_t event = 0;  ///< its scheduling event
  std::string what{};       ///< "activity 'charge'"
  friend bool operator==(const QueryWait&, const QueryWait&) = default;
};

/// Where a coroutine waits, as far as the compiler says.
struct QueryFrame {
  std::string function{};
  std::string file{};
  std::uint32_t line = 0;
  friend bool operator==(const QueryFrame&, const QueryFrame&) = default;
};

/// One of the answers of the query "holdfast.stack": coroutines that await each other, the innermost first,
/// and what that one waits for.
struct QueryStack {
  QueryWait wait{};
  std::vector<QueryFrame> frames{};
  friend bool operator==(const QueryStack&, const QueryStack&) = default;
};

}  // namespace holdfast
