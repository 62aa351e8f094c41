#include "testkit/conformance/model/comparison.hpp"
#include "testkit/conformance/model/generator.hpp"
#include "testkit/conformance/model/program_text.hpp"
#include "testkit/conformance/model/shrinking.hpp"
#include "testkit/oracle/oracle.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/memory.hpp>
#include <holdfast/random.hpp>
#include <holdfast/testing/model_comparison.hpp>

#include <charconv>
#include <cstdlib>
#include <stdexcept>
#include <utility>

namespace holdfast::testing {

namespace {

using model::Comparison;
using model::Difference;
using model::Differences;

using model::Program;

bool compares_states(const ModelOptions& options) { return !options.without.contains("state"); }

// The program that a seed makes, up to the step that shows a difference, or nothing when none does.
std::optional<Program> find_failing(const StoreSubject& subject, std::uint64_t seed,
                                    const ModelOptions& options) {
  Comparison comparison(oracle_subject(), subject, compares_states(options));
  const bool sessions = !options.without.contains("sessions");
  SeededRandom random(seed);
  Program program;
  while (program.size() < options.steps) {
    const auto number = static_cast<std::uint32_t>(program.size() + 1);
    model::Step step = model::next_step(comparison.world(), random, number, sessions);
    if (options.without.contains(name_of(step))) continue;
    program.push_back(std::move(step));
    if (!comparison.run(program.back()).empty()) return program;
  }
  return std::nullopt;
}

std::optional<std::size_t> steps_until_difference(const StoreSubject& subject, const ModelOptions& options,
                                                  const Program& program) {
  Comparison comparison(oracle_subject(), subject, compares_states(options));
  for (std::size_t i = 0; i < program.size(); ++i) {
    if (!comparison.run(program[i]).empty()) return i + 1;
  }
  return std::nullopt;
}

std::string shorten(std::string text, std::size_t size) {
  if (text.size() > size) text.replace(size, std::string::npos, "...");
  return text;
}

std::string text_of(const Differences& found, const std::string& subject) {
  constexpr std::size_t kShown = 12;
  std::string text;
  for (std::size_t i = 0; i < std::min(found.size(), kShown); ++i) {
    const Difference& one = found[i];
    text.append(one.where).append("\n");
    if (one.model.empty() && one.subject.empty()) continue;  // both are wrong
    text.append("    model: ").append(shorten(one.model, 600));
    text.append("\n    ").append(subject).append(": ").append(shorten(one.subject, 600)).append("\n");
  }
  if (found.size() > kShown) text += "and " + std::to_string(found.size() - kShown) + " more\n";
  return text;
}

// Runs it once more, and keeps what is said.
void explain(const StoreSubject& subject, const ModelOptions& options, const Program& program,
             ModelDifference& difference) {
  Comparison comparison(oracle_subject(), subject, compares_states(options));
  comparison.keep_answers();
  for (const model::Step& step : program) {
    const Differences found = comparison.run(step);
    difference.answers.append("  ").append(to_text(step)).append("\n");
    if (!comparison.answer().empty()) {
      difference.answers.append("        -> ").append(shorten(comparison.answer(), 300)).append("\n");
    }
    if (found.empty()) continue;
    difference.found = text_of(found, subject.name);
    return;
  }
}

std::string repeat(std::uint64_t seed, const ModelOptions& options) {
  std::string text = "HOLDFAST_MODEL_SEED=" + std::to_string(seed) + " HOLDFAST_MODEL_PROGRAMS=1" +
                     " HOLDFAST_MODEL_STEPS=" + std::to_string(options.steps);
  if (!options.without.empty()) {
    std::string names;
    for (const std::string& name : options.without) names.append(names.empty() ? "" : ",").append(name);
    text += " HOLDFAST_MODEL_WITHOUT=" + names;
  }
  return text + " " + options.command;
}

ModelDifference shrink_and_explain(const StoreSubject& subject, const ModelOptions& options,
                                   std::uint64_t seed, Program program) {
  ModelDifference difference{.seed = seed, .steps_before = program.size()};
  const auto fails = [&](const Program& candidate) {
    return steps_until_difference(subject, options, candidate);
  };
  program = model::shrink(std::move(program), fails, options.shrink_runs);
  difference.steps = program.size();
  difference.program = to_text(program);
  explain(subject, options, program, difference);
  difference.repeat = repeat(seed, options);
  return difference;
}

std::set<std::string> split(std::string_view names) {
  std::set<std::string> all;
  while (!names.empty()) {
    const std::size_t end = std::min(names.find(','), names.size());
    if (end > 0) all.emplace(names.substr(0, end));
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return all;
}

// Leaves `value` as it is when the variable isn't set.
template <class T>
void read_variable(const char* variable, T& value) {
  const char* const text = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe)
  if (text == nullptr) return;
  const std::string_view digits(text);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    throw std::invalid_argument(std::string(variable) + " is no number: " + text);
  }
}

}  // namespace

StoreSubject oracle_subject() {
  return {"oracle", [](const Clock& clock) -> OpenHandle {
            return [&clock, database = std::make_shared<oracle::Database>()](const std::string& ns) {
              return std::make_shared<oracle::Oracle>(database, ns, clock);
            };
          }};
}

StoreSubject memory_subject() {
  return {"memory", [](const Clock& clock) -> OpenHandle {
            return [&clock, database = memory_database()](const std::string& ns) {
              return memory({.ns = ns, .database = database, .clock = &clock});
            };
          }};
}

ModelOptions from_environment(ModelOptions options) {
  read_variable("HOLDFAST_MODEL_SEED", options.seed);
  read_variable("HOLDFAST_MODEL_PROGRAMS", options.programs);
  read_variable("HOLDFAST_MODEL_STEPS", options.steps);
  if (const char* const names = std::getenv("HOLDFAST_MODEL_WITHOUT")) {  // NOLINT(concurrency-mt-unsafe)
    options.without = split(names);
  }
  std::int64_t seconds = options.at_most.count();
  read_variable("HOLDFAST_MODEL_SECONDS", seconds);
  options.at_most = std::chrono::seconds(seconds);
  return options;
}

std::optional<ModelDifference> compare_with_model(const StoreSubject& subject, const ModelOptions& options) {
  const BootTime end = real_clock().boot_now() + options.at_most;
  for (std::size_t i = 0; i < options.programs && real_clock().boot_now() < end; ++i) {
    const std::uint64_t seed = options.seed + i;
    std::optional<Program> failing = find_failing(subject, seed, options);
    if (failing) return shrink_and_explain(subject, options, seed, *std::move(failing));
  }
  return std::nullopt;
}

std::string run_program(const StoreSubject& subject, std::string_view program) {
  Comparison comparison(oracle_subject(), subject, true);
  for (const model::Step& step : model::program_of(program)) {
    const Differences found = comparison.run(step);
    if (!found.empty()) return "after step " + to_text(step) + "\n" + text_of(found, subject.name);
  }
  return {};
}

std::string to_string(const ModelDifference& difference) {
  return "The store differs from the model after the last step of this program (seed " +
         std::to_string(difference.seed) + ", shrunk from " + std::to_string(difference.steps_before) +
         " to " + std::to_string(difference.steps) + " steps; below each step what the model answered):\n\n" +
         difference.answers + "\n" + difference.found + "\nThe program alone:\n\n" + difference.program +
         "\nTo find it again: " + difference.repeat + "\n";
}

}  // namespace holdfast::testing
