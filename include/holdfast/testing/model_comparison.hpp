// Model comparison: runs random programs of store calls on a store and on a model of the store contract, and
// compares every answer and the whole state after each call. A difference is shrunk to a short program and
// printed with it.
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
//   HOLDFAST_MODEL_SECONDS=600       no program begins later than this
//   HOLDFAST_MODEL_STEPS=200         how long each of them is
//   HOLDFAST_MODEL_WITHOUT=sessions,sweep   what the store doesn't have yet; see ModelOptions::without
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

/// Opens one more handle on a database, for a namespace; also after all earlier handles were destroyed. The
/// database lives as long as this function object or one of the handles.
using OpenHandle = std::function<std::shared_ptr<Store>(const std::string& ns)>;

/// A kind of store that takes part in a comparison.
struct StoreSubject {
  std::string name{};  ///< for people: "sqlite"
  /// Makes a new, empty database. All its stores read the time from `clock`, which outlives them.
  std::function<OpenHandle(const Clock& clock)> database{};
};

/// The model: the contract in plain code, which shares nothing with any store.
StoreSubject oracle_subject();
StoreSubject memory_subject();

struct ModelOptions {
  std::uint64_t seed = 1;     ///< of the first program; the second has the next seed, and so on
  std::size_t programs = 50;  ///< how many
  std::size_t steps = 80;     ///< calls of each program
  /// For an unfinished store: names of calls that programs leave out. "sessions" stands for all calls that
  /// concern them, "look_around" for all calls that only read; with "state" only the answers are compared.
  std::set<std::string> without{};
  std::chrono::seconds at_most = std::chrono::hours(1);  ///< no program begins later than this
  std::size_t shrink_runs = 3000;  ///< how many shorter programs are tried to shrink a difference
  /// The command that runs this test again, printed with a difference; without environment variables.
  std::string command = "the same test";
};

/// `options`, overridden by the environment variables above.
ModelOptions from_environment(ModelOptions options);

/// Where two stores differ.
struct ModelDifference {
  std::uint64_t seed = 0;
  std::size_t steps_before = 0;  ///< before it was shrunk
  std::size_t steps = 0;
  std::string program{};  ///< as text, for run_program()
  std::string answers{};  ///< the program again, with what the model answered to each step
  std::string found{};    ///< what differs after its last step
  std::string repeat{};   ///< a command that finds it again
};
/// All members as text.
std::string to_string(const ModelDifference& difference);

/// Runs random programs until one of them finds a difference, or all have run. An exception that a store
/// throws is a difference.
std::optional<ModelDifference> compare_with_model(const StoreSubject& subject, const ModelOptions& options);

/// Runs one program in the text form in which a difference is printed, without shrinking it. Returns the
/// difference, or an empty text. Throws std::invalid_argument when `program` can't be parsed.
std::string run_program(const StoreSubject& subject, std::string_view program);

}  // namespace holdfast::testing
