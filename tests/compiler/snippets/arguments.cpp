// What stands between the parentheses of an awaited call.
#include "tests/compiler/harness.hpp"

#include <source_location>
#include <stdexcept>
#include <tuple>

namespace holdfast::battery {
namespace {

Task<std::string> pack(Item item) {
  co_await later(0);
  co_return item.name;
}

// Give a coroutine a temporary aggregate. On g++ 12 name it first: `Item item{...}; co_await pack(item)`.
SNIPPET(aggregate_temporary_by_value, "a lighthouse, painted red") {
  co_return co_await pack(Item{1, "a lighthouse, painted red"});
}

// Give an operation a temporary aggregate. On g++ 12 name it first.
SNIPPET(aggregate_temporary_by_reference, "1 a lighthouse, painted red") {
  co_return co_await call(Item{1, "a lighthouse, painted red"});
}

// The same with the members named, as a statement. On g++ 12 name it first.
SNIPPET(designated_aggregate_as_argument, "1 a lighthouse, painted red") {
  auto answer = co_await call(Item{.count = 1, .name = "a lighthouse, painted red"});
  co_return answer;
}

// What to write instead.
SNIPPET(aggregate_named_first, "1 a lighthouse, painted reda lighthouse, painted red") {
  const Item item{.count = 1, .name = "a lighthouse, painted red"};
  const std::string by_reference = co_await call(item);
  co_return by_reference + co_await pack(item);
}

// Describe the operation in one statement and await it in the next: braces and ?: are safe there.
SNIPPET(operation_described_before_await, "7 Ada Lovelace, London, a rope, a sail") {
  auto operation = call(Order{.id = 7,
                              .customer = in_stock() ? std::string("Ada Lovelace, London") : std::string("-"),
                              .lines = {"a rope", "a sail"}});
  co_return co_await operation;
}

Task<std::tuple<std::string, std::string>> both(Pending<std::string> first, Pending<std::string> second) {
  std::string a = co_await first;
  std::string b = co_await second;
  co_return std::tuple(std::move(a), std::move(b));
}

// Combine two operations, each with a temporary aggregate. On g++ 12 name the aggregates first.
SNIPPET(aggregates_in_combined_operations, "1 a lighthouse, painted red2 a bell") {
  auto [first, second] =
      co_await both(call(Item{1, "a lighthouse, painted red"}), call(Item{2, "a bell buoy, painted green"}));
  co_return first + second.substr(0, 8);
}

Task<std::string> join(std::string a, std::string b) {
  co_await later(0);
  co_return a + b;
}

// Literals become strings on the way; so do empty braces.
SNIPPET(literal_as_string_parameter, "a lighthouse, painted red") {
  auto joined = co_await join("a lighthouse, painted red", {});
  co_return joined;
}

class Parcel {
 public:
  Parcel(int weight, std::string label) : weight_(weight), label_(std::move(label)) {}
  [[nodiscard]] std::string text() const { return label_ + " " + std::to_string(weight_); }

 private:
  int weight_;
  std::string label_;
};

Task<std::string> ship(Parcel parcel) {
  co_await later(0);
  co_return parcel.text();
}

// A temporary of a class with a constructor, in braces or not.
SNIPPET(class_with_constructor_as_argument, "fragile, this side up 3") {
  auto label = co_await ship(Parcel{3, "fragile, this side up"});
  co_return label;
}

std::string concatenate(const std::string& a, const Tracer& b, const std::string& c, std::string d) {
  return a + b.text() + c + std::move(d);
}

// Temporaries and awaits side by side in one call.
SNIPPET(awaits_mixed_with_temporaries, "1, counted and on the heap, 2, and a long rest of it") {
  auto text = concatenate(co_await call(std::string("1")), Tracer(", counted and on the heap, "),
                          co_await call(std::string("2")), std::string(", and a long rest of it"));
  co_return text;
}

Task<std::string> consume(Tracer a, Tracer b) {
  const Tracer mine = std::move(a);
  co_await later(0);
  co_return mine.text() + b.text();
}

// Copies, moves and temporaries into by-value parameters.
SNIPPET(copies_and_moves_into_parameters,
        "a tracer with a long text qa tracer with a long text traced, and on the heap") {
  Tracer named("a tracer with a long text ");
  auto first = co_await consume(named, Tracer("q"));
  co_return first + co_await consume(std::move(named), {});
}

struct Uncopyable {
  Tracer tracer{};
  Uncopyable() = default;
  Uncopyable(const Uncopyable&) { throw std::runtime_error("copy"); }
};

Task<std::string> never_begins(Tracer, Uncopyable) {
  co_await later(0);
  co_return "began";
}

// A parameter can't be copied into the frame: the caller catches it, and nothing is left over.
SNIPPET(parameter_whose_copy_throws, "caught copy") {
  const Uncopyable uncopyable;
  try {
    co_return co_await never_begins({}, uncopyable);
  } catch (const std::runtime_error& error) {
    co_return std::string("caught ") + error.what();
  }
}

Task<std::string> moor(std::string harbour = "the outer harbour, north pier",
                       std::source_location where = std::source_location::current()) {
  co_await later(0);
  co_return harbour + " " + std::to_string(where.line());
}

// Default arguments of types with a constructor.
SNIPPET(string_and_source_location_as_default_arguments, "moored in the line of the call") {
  const auto line_of_call = std::source_location::current().line() + 1;
  const std::string moored = co_await moor();
  co_return moored == "the outer harbour, north pier " + std::to_string(line_of_call)
      ? "moored in the line of the call"
      : moored;
}

}  // namespace
}  // namespace holdfast::battery
