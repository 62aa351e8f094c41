// Lambdas, templates and virtual functions that are coroutines, or are given to one.
#include "tests/compiler/harness.hpp"

#include <functional>
#include <type_traits>

namespace holdfast::battery {
namespace {

// A step written where it is needed. On g++ 12 give the lambda a name and call it in the next statement.
SNIPPET(lambda_with_captures_invoked_in_place, "a lighthouse, painted redtraced, and on the heap") {
  const std::string name = "a lighthouse, painted red";
  const Tracer tracer;
  co_return co_await [name, tracer]() -> Task<std::string> {
    auto answer = co_await call(name);
    co_return answer + tracer.text();
  }();
}

// What to write instead. (On every compiler the lambda has to outlive the coroutine: it holds the captures.)
SNIPPET(lambda_named_first, "a lighthouse, painted redtraced, and on the heap") {
  const std::string name = "a lighthouse, painted red";
  const Tracer tracer;
  auto step = [name, tracer]() -> Task<std::string> {
    auto answer = co_await call(name);
    co_return answer + tracer.text();
  };
  co_return co_await step();
}

// Captures without a destructor.
SNIPPET(lambda_with_trivial_captures_invoked_in_place, "3") {
  const int count = in_stock() ? 3 : 0;
  co_return co_await [count]() -> Task<std::string> { co_return co_await call(count); }();
}

template <class Function>
Task<std::string> apply(Function function) {
  auto text = function();
  co_await later(0);
  co_return text;
}

// Hand a function with captures to a coroutine. On g++ 12 name the lambda first.
SNIPPET(lambda_with_captures_as_argument, "a lighthouse, painted red") {
  const std::string name = "a lighthouse, painted red";
  auto text = co_await apply([name] { return name; });
  co_return text;
}

// What to write instead.
SNIPPET(lambda_with_captures_named_before_call, "a lighthouse, painted red") {
  const std::string name = "a lighthouse, painted red";
  auto get_name = [name] { return name; };
  auto text = co_await apply(get_name);
  co_return text;
}

Task<std::string> run_step(std::function<Task<std::string>()> step) {
  auto text = co_await step();
  co_await later(0);
  co_return text;
}

// The same by std::function. On g++ 12 name the lambda first.
SNIPPET(lambda_with_captures_as_std_function, "traced, and on the heap1") {
  const Tracer tracer;
  co_return co_await run_step([tracer]() -> Task<std::string> {
    const Tracer mine = tracer;
    co_return mine.text() + co_await call(1);
  });
}

Task<std::string> get(std::function<std::string()> function) {
  auto text = function();
  co_await later(0);
  co_return text;
}

// Captures by reference have no destructor.
SNIPPET(lambda_with_reference_capture_as_std_function, "a lighthouse, painted red") {
  const std::string name = "a lighthouse, painted red";
  auto text = co_await get([&name] { return name; });
  co_return text;
}

// One lambda for several types of input.
SNIPPET(generic_lambda_coroutine, "4 a lighthouse, painted red") {
  auto ask = []<class T>(T input) -> Task<std::string> {
    if constexpr (std::is_same_v<T, int>) {
      co_return co_await call(std::to_string(input) + " ");
    } else {
      co_return co_await call(input);
    }
  };
  co_return co_await ask(4) + co_await ask(std::string("a lighthouse, painted red"));
}

class Carrier {
 public:
  virtual ~Carrier() = default;
  virtual Task<std::string> carry(std::string goods) = 0;
};

class Ship : public Carrier {
 public:
  Task<std::string> carry(std::string goods) override {
    co_await later(0);
    co_return goods + tracer_.text();
  }

 private:
  Tracer tracer_;
};

// A coroutine behind an interface.
SNIPPET(virtual_member_coroutine, "cargo, traced, and on the heap") {
  Ship ship;
  Carrier& carrier = ship;
  co_return co_await carrier.carry("cargo, ");
}

template <class T, auto Times>
Task<T> repeated(T value) {
  T sum{};
  for (int i = 0; i < Times; ++i) sum += co_await later(value);
  co_return sum;
}

// A coroutine for any type and count.
SNIPPET(coroutine_template, "knot knot 6") {
  co_return co_await repeated<std::string, 2>("knot ") + std::to_string(co_await repeated<int, 3>(2));
}

template <class... Operations>
Task<std::string> joined(Operations... operations) {
  std::string text;
  ((text += co_await operations), ...);
  co_return text;
}

// Await a whole pack of operations.
SNIPPET(fold_over_awaits, "a lighthouse, painted red, a bell buoy") {
  co_return co_await joined(call(std::string("a lighthouse, painted red")),
                            call(std::string(", a bell buoy")));
}

}  // namespace
}  // namespace holdfast::battery
