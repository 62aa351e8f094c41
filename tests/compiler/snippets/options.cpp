// A struct of options beside the inputs of an awaited call.
#include "tests/compiler/harness.hpp"

#include <chrono>
#include <optional>

namespace holdfast::battery {
namespace {

using namespace std::chrono_literals;

struct StringOptions {
  std::string queue = "the default queue of this worker";
  int attempts = 3;
  std::optional<std::string> key = std::nullopt;
};

Pending<std::string> send(const std::string& input, StringOptions options = {}) {
  return call(input + " to " + options.queue);
}

Pending<std::string> send_by_reference(const std::string& input, const StringOptions& options = {}) {
  return call(input + " to " + options.queue);
}

// Leave out options that hold a string. On g++ 12 pass a named variable.
SNIPPET(options_with_string_left_out, "mail to the default queue of this worker") {
  auto answer = co_await send("mail");
  co_return answer;
}

// The same where they are taken by reference. On g++ 12 pass a named variable.
SNIPPET(options_with_string_left_out_by_reference, "mail to the default queue of this worker") {
  auto answer = co_await send_by_reference("mail");
  co_return answer;
}

// Options with a string inline. On g++ 12 name them first.
SNIPPET(options_with_string_inline, "mail to a queue of its own, by name") {
  auto answer = co_await send("mail", {.queue = "a queue of its own, by name"});
  co_return answer;
}

// What to write instead, where options hold strings.
SNIPPET(options_with_string_named_first, "mail to a queue of its own, by name") {
  const StringOptions options{.queue = "a queue of its own, by name"};
  auto answer = co_await send("mail", options);
  co_return answer;
}

struct TrivialOptions {
  int attempts = 3;
  std::chrono::seconds timeout{5};
  std::string_view queue{};
};

Pending<std::string> post(const std::string& input, TrivialOptions options = {}) {
  return call(input + " to " + std::string(options.queue));
}

// Trivially destructible options, inline or left out: how Holdfast's own are made.
SNIPPET(trivially_destructible_options_inline, "mail to a queue of its own, by namemore to ") {
  auto answer = co_await post("mail", {.timeout = 4s, .queue = "a queue of its own, by name"});
  co_return answer + co_await post("more");
}

// The same in a variable. It holds views: what they look at must live as long as it does.
SNIPPET(trivially_destructible_options_named_first, "mail to a queue of its own, by name") {
  const TrivialOptions options{.attempts = 4, .queue = "a queue of its own, by name"};
  auto answer = co_await post("mail", options);
  co_return answer;
}

class BuiltOptions {
 public:
  BuiltOptions() {}
  BuiltOptions& queue(std::string name) {
    queue_ = std::move(name);
    return *this;
  }
  [[nodiscard]] const std::string& queue() const { return queue_; }

 private:
  std::string queue_;
};

Pending<std::string> deliver(const std::string& input, const BuiltOptions& options = BuiltOptions()) {
  return call(input + " to " + options.queue());
}

// Options of a class with a constructor and chained setters.
SNIPPET(options_built_by_chained_setters, "mail to a queue of its own, by namemore to ") {
  auto answer = co_await deliver("mail", BuiltOptions().queue("a queue of its own, by name"));
  co_return answer + co_await deliver("more");
}

}  // namespace
}  // namespace holdfast::battery
