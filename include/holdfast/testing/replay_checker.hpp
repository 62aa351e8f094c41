// ReplayChecker: would running instances go on under this build? It replays recorded histories with the code
// of today, in a test or as a step of a deployment; nothing is run, and nothing is written.
//
//   ReplayChecker checker;
//   checker.orchestration("sell", sell).orchestration("ship", {.version = "2"}, ship);
//   const ReplayReport report = checker.check_running(Client(sqlite("app.db", {.read_only = true})));
//   EXPECT_TRUE(report.ok()) << report.text();
#pragma once

#include <holdfast/client.hpp>
#include <holdfast/detail/orchestration.hpp>
#include <holdfast/history_file.hpp>
#include <holdfast/ids.hpp>
#include <holdfast/orchestration.hpp>
#include <holdfast/runtime.hpp>
#include <holdfast/testing/replay.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::testing {

/// A history that the code of today does not fit, or that could not be checked.
struct ReplayFinding {
  enum class Kind : std::uint8_t {
    would_park,  ///< the code does something else than the history shows
    no_code,     ///< this orchestration is not registered here, or not in this version
    unreadable,  ///< the file or the history is damaged, or was written by a newer version of Holdfast
  };
  Kind kind = Kind::would_park;
  std::string file{};                      ///< empty for an instance of a store
  HistoryHeader header{};                  ///< of a file that can't be read: empty
  std::optional<Divergence> divergence{};  ///< of would_park: where, and how
  std::string what{};                      ///< all of it in one text
};
std::string_view to_string(ReplayFinding::Kind kind) noexcept;

/// The outcome of a check.
struct ReplayReport {
  std::uint64_t fitting = 0;  ///< histories that replay with the code of today
  std::uint64_t would_park = 0;
  std::uint64_t no_code = 0;
  std::uint64_t unreadable = 0;
  std::uint64_t gone = 0;  ///< instances that were deleted while the store was checked
  /// The first of those that don't fit: up to ReplayCheckerOptions::max_findings.
  std::vector<ReplayFinding> findings{};

  /// Whether all histories fit. Also when there were none: see `fitting`.
  [[nodiscard]] bool ok() const noexcept { return would_park == 0 && no_code == 0 && unreadable == 0; }
  /// For people: a line with the numbers, and a paragraph for each finding.
  [[nodiscard]] std::string text() const;
  /// Adds what another check has found.
  ReplayReport& operator+=(const ReplayReport& other);
};

struct ReplayCheckerOptions {
  /// Findings beyond these are counted only.
  std::size_t max_findings = 100;
  /// True: orchestrations and versions that are not registered here are not a finding, and not counted. For a
  /// program that has a part of the code.
  bool ignore_other_code = false;
  /// Called with each history before it is replayed; code that does not come back is found by that. May be
  /// empty.
  std::function<void(const HistoryHeader& header)> on_history{};
};

/// The code of today. Registration looks as in a Runtime, so a function template can fill both. For one
/// thread at a time. Memory holds about 256 KiB of a history, and the frames of one instance.
///
/// Code runs as in the replay of a worker: with what its history has, without side effects, and not a step
/// further. Inputs are not compared. Code that loops for ever is not ended.
class ReplayChecker {
 public:
  explicit ReplayChecker(ReplayCheckerOptions options = {});
  ReplayChecker(ReplayChecker&&) noexcept;
  ReplayChecker& operator=(ReplayChecker&&) noexcept;
  ~ReplayChecker();

  /// Throw std::logic_error for a name and version that are registered twice, Error for a name that is not
  /// allowed.
  template <class F>
  ReplayChecker& orchestration(std::string_view name, F function) {
    return add_orchestration(name, {}, detail::make_orchestration(function));
  }
  template <class F>
  ReplayChecker& orchestration(std::string_view name, OrchestrationOptions options, F function) {
    return add_orchestration(name, options, detail::make_orchestration(function));
  }
  template <class R, class... P, class F>
  ReplayChecker& orchestration(const Orchestration<R(P...)>& name, F function) {
    return orchestration(name, OrchestrationOptions(), function);
  }
  template <class R, class... P, class F>
  ReplayChecker& orchestration(const Orchestration<R(P...)>& name, OrchestrationOptions options, F function) {
    static_assert(detail::has_signature<F, R, P...>,
                  "holdfast: this function doesn't fit the signature of the orchestration's typed name");
    return add_orchestration(name.name, options, detail::make_orchestration(function));
  }

  /// One history. One that can't be read, or is gone, is counted as such; ClientError (unavailable) is
  /// thrown.
  [[nodiscard]] ReplayReport check(HistoryReader history) const;
  /// All exported histories of a folder and of the folders in it: files that end with ".jsonl", by name.
  /// Throws std::runtime_error when there is no such folder, or no such file in it: a check that checks
  /// nothing is a mistake.
  [[nodiscard]] ReplayReport check_folder(const std::filesystem::path& folder) const;
  /// The instances of a store that have not ended, running or parked; or those that `filter` chooses. A store
  /// that is opened read_only is enough; workers may go on meanwhile. Throws ClientError when the store can't
  /// be reached.
  [[nodiscard]] ReplayReport check_running(const Client& client, ListFilter filter = {}) const;

 private:
  ReplayChecker& add_orchestration(std::string_view name, OrchestrationOptions options,
                                   std::shared_ptr<const detail::OrchestrationCode> code);

  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast::testing
