#include "bench/harness.hpp"

#include <holdfast/codec.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <thread>

namespace holdfast::bench {

namespace {

using Clock = std::chrono::steady_clock;

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::chrono::nanoseconds time_of(const std::function<void()>& function, std::uint64_t calls) {
  const auto started = Clock::now();
  for (std::uint64_t i = 0; i < calls; ++i) function();
  return Clock::now() - started;
}

// How many calls fill a sample.
std::uint64_t calibrate(const std::function<void()>& function, std::chrono::nanoseconds sample) {
  std::uint64_t calls = 1;
  while (time_of(function, calls) < sample) calls *= 2;
  return calls;
}

struct Machine {
  std::string cpu{};
  unsigned cores = 0;
  std::string compiler{};
  std::string build{};
};

struct Report {
  std::string suite{};
  Machine machine{};
  std::vector<std::string> notes{};
  std::vector<Row> results{};
};

std::string cpu_model() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

Machine this_machine() {
#if defined(__clang__)
  const std::string compiler = "clang " __clang_version__;
#else
  const std::string compiler = "g++ " __VERSION__;
#endif
  return {cpu_model(), std::thread::hardware_concurrency(), compiler, HOLDFAST_BENCH_BUILD};
}

// Three digits that matter, and no more than two after the point.
std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, value < 100 ? "%.2f" : "%.0f", value);
  return text;
}

void print_row(const std::string& name, const std::string& value, const std::string& unit,
               const std::string& ratio) {
  std::printf("%-44s %12s %-6s %s\n", name.c_str(), value.c_str(), unit.c_str(), ratio.c_str());
}

}  // namespace

double Times::median() const { return median_of(rounds); }

std::vector<Times> race(const std::vector<std::function<void()>>& functions, const Effort& effort) {
  std::vector<std::uint64_t> calls;
  for (const auto& function : functions) calls.push_back(calibrate(function, effort.sample));
  std::vector<Times> times(functions.size());
  for (int round = 0; round < effort.rounds; ++round) {
    for (std::size_t i = 0; i < functions.size(); ++i) {
      const auto taken = static_cast<double>(time_of(functions[i], calls[i]).count());
      times[i].rounds.push_back(taken / static_cast<double>(calls[i]));
    }
  }
  return times;
}

double speedup(const Times& ours, const Times& theirs) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(ours.rounds.size(), theirs.rounds.size()); ++i) {
    ratios.push_back(theirs.rounds[i] / ours.rounds[i]);
  }
  return median_of(std::move(ratios));
}

Suite::Suite(std::string name, int argc, char** argv) : name_(std::move(name)) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with('-')) {
      options_.emplace_back(argument);
    } else if (folder_.empty()) {
      folder_ = argument;
    }
  }
}

bool Suite::option(std::string_view name) const {
  return std::find(options_.begin(), options_.end(), name) != options_.end();
}

std::optional<std::string> Suite::value_of(std::string_view name) const {
  for (const std::string& option : options_) {
    if (option.size() > name.size() && option.starts_with(name) && option[name.size()] == '=') {
      return option.substr(name.size() + 1);
    }
  }
  return std::nullopt;
}

std::size_t Suite::number_of(std::string_view name, std::size_t otherwise) const {
  const std::optional<std::string> text = value_of(name);
  return text ? static_cast<std::size_t>(std::stoul(*text)) : otherwise;
}

int Suite::finish() const {
  const Machine machine = this_machine();
  std::printf("\n%s  (%s, %u cores, %s, %s)\n", name_.c_str(), machine.cpu.c_str(), machine.cores,
              machine.compiler.c_str(), machine.build.c_str());
  for (const std::string& note : notes_) std::printf("%s\n", note.c_str());
  for (const Row& row : rows_) {
    if (row.skipped) {
      print_row(row.name, "skipped", "", *row.skipped);
      continue;
    }
    const std::string ratio =
        row.ratio ? short_number(*row.ratio) + "x" + (row.ratio_to ? " against " + *row.ratio_to : "") : "";
    print_row(row.name, short_number(row.value), row.unit, ratio);
  }
  if (folder_.empty()) return 0;
  const std::string path = folder_ + "/" + name_ + ".json";
  std::ofstream file(path);
  file << encode(Report{name_, machine, notes_, rows_}).bytes << '\n';
  if (!file.flush()) {
    std::cerr << "bench: can't write " << path << '\n';
    return 1;
  }
  return 0;
}

}  // namespace holdfast::bench
