// What all benchmark suites share: measuring functions against each other, the table, the JSON file.
//
//   int main(int argc, char** argv) {
//     bench::Suite suite("codec", argc, argv);
//     const auto times = bench::race({[&] { bench::keep(encode(order)); }, [&] { bench::keep(dump(order));
//     }}); suite.add({.name = "order_encode", .value = times[0].median(), .unit = "ns",
//                .ratio = bench::speedup(times[0], times[1]), .ratio_to = "nlohmann::json"});
//     return suite.finish();
//   }
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::bench {

/// Makes the compiler believe that somebody looks at `value`.
template <class T>
void keep(const T& value) {
  asm volatile("" : : "r"(&value) : "memory");
}

/// Nanoseconds per call of one function, one number per round.
struct Times {
  std::vector<double> rounds{};
  [[nodiscard]] double median() const;
};

struct Effort {
  int rounds = 101;
  std::chrono::nanoseconds sample =
      std::chrono::milliseconds(2);  // per function and round; short, so that neighbours are comparable
};

/// Measures the functions in turns, round by round, so that whatever else the machine does meets all of them.
/// Each is called as often as fills a sample, at least once.
std::vector<Times> race(const std::vector<std::function<void()>>& functions, const Effort& effort = {});

/// How many times faster `ours` is than `theirs`: the median over the rounds, in each of which both ran.
double speedup(const Times& ours, const Times& theirs);

/// One line of the table, one object in the file.
struct Row {
  std::string name{};
  double value = 0;
  std::string unit{};
  std::optional<double> ratio{};
  std::optional<std::string> ratio_to{};
  std::optional<std::string> skipped{};  ///< why there is no value
};

/// The results of one program.
class Suite {
 public:
  /// The first argument that is no option, when given, is the folder for `<name>.json`. Options start with a
  /// dash and are the suite's own.
  Suite(std::string name, int argc, char** argv);

  /// Whether it was given: `option("--quick")`.
  [[nodiscard]] bool option(std::string_view name) const;
  /// What stands behind it: "p5" of `--only=p5` for `value_of("--only")`.
  [[nodiscard]] std::optional<std::string> value_of(std::string_view name) const;
  [[nodiscard]] std::size_t number_of(std::string_view name, std::size_t otherwise) const;
  /// Where files go; empty when none is to be written.
  [[nodiscard]] const std::string& folder() const noexcept { return folder_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

  void add(Row row) { rows_.push_back(std::move(row)); }
  /// Something that a reader of the figures has to know.
  void note(std::string text) { notes_.push_back(std::move(text)); }

  /// Prints the table and writes the file. What main() returns.
  [[nodiscard]] int finish() const;

 private:
  std::string name_;
  std::string folder_;
  std::vector<std::string> options_;
  std::vector<std::string> notes_;
  std::vector<Row> rows_;
};

}  // namespace holdfast::bench
