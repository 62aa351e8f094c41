// Model comparison: random programs of store calls are run against two stores, and every answer and the whole
// state after each call are compared. The memory store is the model. What differs is shrunk to a short
// program, printed with the first difference.
//
//   TEST(MyStore, DoesWhatTheModelDoes) {
//     const StoreSubject mine{"mystore", [](const Clock& clock) {
//       auto folder = std::make_shared<TemporaryFolder>();
//       return [folder, &clock](const std::string& ns) { return open_my_store(folder->path(), ns, clock); };
//     }};
//     const auto difference = compare_with_model(mine, from_environment({.programs = 100}));
//     EXPECT_FALSE(difference) << to_string(*difference);
//   }
//
// The environment turns a short test into a long search, or repeats what one found:
//
//   HOLDFAST_MODEL_PROGRAMS=100000   how many programs
//   HOLDFAST_MODEL_SECONDS=600       stop after this time, however many programs were asked for
//   HOLDFAST_MODEL_STEPS=200         how long each of them is
//   HOLDFAST_MODEL_WITHOUT=sessions,sweep   what a store doesn't know yet; see ModelOptions::without
//   HOLDFAST_MODEL_SEED=17           the seed of the first; the next one has 18, ...
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/store.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace holdfast::testing {

/// Opens one more handle on a database, for a namespace. The database lives as long as this function or one
/// of the handles that it opened. A handle is opened anew after the former one was destroyed, too.
using OpenHandle = std::function<std::shared_ptr<Store>(const std::string& ns)>;

/// A kind of store that takes part in a comparison.
struct StoreSubject {
  std::string name{};  ///< for people: "sqlite"
  /// Makes a new, empty database. All its stores tell the time by `clock`, which outlives them.
  std::function<OpenHandle(const Clock& clock)> database{};
};

/// The model: the memory store.
StoreSubject memory_subject();

struct ModelOptions {
  std::uint64_t seed = 1;     ///< of the first program; each one more is of the next seed
  std::size_t programs = 50;  ///< how many
  std::size_t steps = 80;     ///< calls of each program
  /// For a store that is not finished: names of calls that programs leave out. "sessions" stands for all that
  /// has to do with them, "look_around" for all calls that only read, and without "state" only the answers
  /// are compared.
  std::set<std::string> without{};
  std::chrono::seconds at_most = std::chrono::hours(1);  ///< no program begins later than this
  std::size_t shrink_runs = 3000;  ///< how many simpler programs are tried once a difference was found
  /// What a person types to run this comparison again, without the environment: it is printed.
  std::string command = "the same test";
};

/// `options`, with what the environment says instead where it says something; see above.
ModelOptions from_environment(ModelOptions options);

/// Where two stores differ.
struct ModelDifference {
  std::uint64_t seed = 0;
  std::size_t steps_before = 0;  ///< before it was shrunk
  std::size_t steps = 0;
  std::string program{};  ///< as text: run_program() takes it
  std::string answers{};  ///< the program again, with what the model answered to each step
  std::string found{};    ///< what differs after its last step
  std::string repeat{};   ///< a command that finds it again
};
/// All of it, for people.
std::string to_string(const ModelDifference& difference);

/// Runs random programs until one of them finds a difference, or all have run. Throws nothing that a store
/// throws: an exception is a difference.
std::optional<ModelDifference> compare_with_model(const StoreSubject& subject, const ModelOptions& options);

/// Runs one program, in the text form that a difference was printed in. What differs, as it is, is returned;
/// empty when nothing does. Throws std::invalid_argument when the text is no program.
std::string run_program(const StoreSubject& subject, std::string_view program);

}  // namespace holdfast::testing
