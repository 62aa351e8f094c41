#include "client/history_source.hpp"
#include "engine/execution.hpp"
#include "runtime/registry.hpp"
#include "testkit/replay/divergence.hpp"

#include <holdfast/detail/enum_names.hpp>
#include <holdfast/testing/replay_checker.hpp>

#include <algorithm>
#include <fstream>
#include <stdexcept>
#include <utility>

namespace holdfast::testing {

std::string_view to_string(ReplayFinding::Kind kind) noexcept { return detail::enum_name(kind); }

// ---- the report ---------------------------------------------------------------------------------

namespace {

std::string in_words(const HistoryHeader& header) {
  std::string text = header.orchestration;
  if (!header.version.empty()) text += " version " + header.version;
  text += ", instance '" + header.instance + "'";
  if (header.execution.value > 1) text += ", execution " + to_string(header.execution);
  return text;
}

std::string in_words(const ReplayFinding& finding) {
  std::string text;
  switch (finding.kind) {
    case ReplayFinding::Kind::would_park:
      text = "would park";
      if (finding.divergence) text += " at event " + to_string(finding.divergence->event);
      break;
    case ReplayFinding::Kind::no_code:
      text = "no code";
      break;
    case ReplayFinding::Kind::unreadable:
      text = "can't be read";
      break;
  }
  if (!finding.header.instance.empty()) text += ": " + in_words(finding.header);
  if (!finding.file.empty()) text += (finding.header.instance.empty() ? ": " : ", in ") + finding.file;
  // What to do about it is the same for all.
  const std::string what = finding.divergence ? "history has " + finding.divergence->history_says +
                                                    ", but the code " + finding.divergence->code_did
                                              : finding.what;
  return text + "\n  " + what + "\n";
}

std::string counted(std::uint64_t count, std::string_view what) {
  return count == 0 ? "" : ", " + std::to_string(count) + " " + std::string(what);
}

}  // namespace

std::string ReplayReport::text() const {
  const std::uint64_t all = fitting + would_park + no_code + unreadable;
  std::string text = std::to_string(all) + (all == 1 ? " history: " : " histories: ") +
                     std::to_string(fitting) + (fitting == 1 ? " fits" : " fit") +
                     counted(would_park, "would park") + counted(no_code, "without code here") +
                     counted(unreadable, "can't be read") + counted(gone, "gone meanwhile") + "\n";
  for (const ReplayFinding& finding : findings) text += "\n" + in_words(finding);
  const std::uint64_t untold = all - fitting - findings.size();
  if (untold > 0) text += "\nand " + std::to_string(untold) + " more\n";
  return text;
}

ReplayReport& ReplayReport::operator+=(const ReplayReport& other) {
  fitting += other.fitting;
  would_park += other.would_park;
  no_code += other.no_code;
  unreadable += other.unreadable;
  gone += other.gone;
  findings.insert(findings.end(), other.findings.begin(), other.findings.end());
  return *this;
}

// ---- the check ----------------------------------------------------------------------------------

class ReplayChecker::Impl {
 public:
  explicit Impl(ReplayCheckerOptions options) : options_(std::move(options)) {
    registry.add_own_orchestrations();
  }

  runtime::Registry registry;

  /// Replays a history; `file`: where it comes from, if from a file. False when it could not be read to its
  /// end.
  bool check(HistoryReader& history, const std::string& file, ReplayReport& report) const;
  /// Replays all histories of a file.
  void check_file(const std::filesystem::path& path, ReplayReport& report) const;
  void check_instance(const Client& client, const RunInfo& info, ReplayReport& report) const;

 private:
  void replay(HistoryReader& history, const std::string& file, ReplayReport& report) const;
  [[nodiscard]] std::optional<ReplayFinding> replay(HistoryReader& history) const;
  template <class Read>
  bool read(const std::string& file, const HistoryHeader& header, ReplayReport& report, Read reads) const;
  void add(ReplayFinding finding, ReplayReport& report) const;

  ReplayCheckerOptions options_;
};

void ReplayChecker::Impl::add(ReplayFinding finding, ReplayReport& report) const {
  switch (finding.kind) {
    case ReplayFinding::Kind::would_park:
      ++report.would_park;
      break;
    case ReplayFinding::Kind::no_code:
      ++report.no_code;
      break;
    case ReplayFinding::Kind::unreadable:
      ++report.unreadable;
      break;
  }
  if (report.findings.size() < options_.max_findings) report.findings.push_back(std::move(finding));
}

// Does what reads a history, and notes when that can't be read.
template <class Read>
bool ReplayChecker::Impl::read(const std::string& file, const HistoryHeader& header, ReplayReport& report,
                               Read reads) const {
  try {
    reads();
    return true;
  } catch (const HistoryFileError& e) {
    add({.kind = ReplayFinding::Kind::unreadable, .file = file, .header = header, .what = e.what()}, report);
  } catch (const ClientError& e) {
    if (e.kind() == ClientError::Kind::not_found) {
      ++report.gone;
    } else if (e.kind() == ClientError::Kind::damaged) {
      add({.kind = ReplayFinding::Kind::unreadable,
           .file = file,
           .header = header,
           .what = e.failure().message},
          report);
    } else {
      throw;
    }
  }
  return false;
}

bool ReplayChecker::Impl::check(HistoryReader& history, const std::string& file, ReplayReport& report) const {
  const HistoryHeader header = history.header();
  return read(file, header, report, [&] { replay(history, file, report); });
}

void ReplayChecker::Impl::replay(HistoryReader& history, const std::string& file,
                                 ReplayReport& report) const {
  std::optional<ReplayFinding> finding = replay(history);
  if (finding && options_.ignore_other_code && finding->kind == ReplayFinding::Kind::no_code) return;
  // What is left of a file may be damaged: then that is the finding.
  while (!file.empty() && history.source().next_segment()) {
  }
  if (!finding) {
    ++report.fitting;
    return;
  }
  finding->file = file;
  finding->header = history.header();
  add(*std::move(finding), report);
}

// What is found, or nothing when the code fits.
std::optional<ReplayFinding> ReplayChecker::Impl::replay(HistoryReader& history) const {
  const HistoryHeader& header = history.header();
  // One that has had no turn takes the newest version.
  const std::string newest = registry.newest_version(header.orchestration);
  const auto code =
      registry.orchestration(header.orchestration, header.version.empty() ? newest : header.version);
  if (!code) {
    return ReplayFinding{.kind = ReplayFinding::Kind::no_code,
                         .what = newest.empty() ? "no orchestration of this name is registered here"
                                                : "only other versions of it are registered here"};
  }
  if (options_.on_history) options_.on_history(header);
  engine::Execution execution({.instance = header.instance, .execution = header.execution}, code);
  while (const std::optional<std::string> segment = history.source().next_segment()) {
    const auto replayed = execution.replay(*segment);
    if (replayed) continue;
    const engine::Problem& problem = replayed.error();
    ReplayFinding finding{.kind = ReplayFinding::Kind::unreadable, .what = engine::describe(problem)};
    if (problem.kind == engine::Problem::Kind::nondeterminism) {
      finding.kind = ReplayFinding::Kind::would_park;
      finding.divergence = to_divergence(problem);
    }
    return finding;
  }
  return std::nullopt;
}

void ReplayChecker::Impl::check_file(const std::filesystem::path& path, ReplayReport& report) const {
  const std::string name = path.string();
  std::ifstream in(path, std::ios::binary);
  if (!in)
    return add({.kind = ReplayFinding::Kind::unreadable, .file = name, .what = "it can't be opened"}, report);
  read(name, {}, report, [&] {
    HistoryReader history = read_history(in);
    while (check(history, name, report) && history.next_history()) {
    }
  });
}

void ReplayChecker::Impl::check_instance(const Client& client, const RunInfo& info,
                                         ReplayReport& report) const {
  const HistoryHeader header{.instance = info.id,
                             .execution = info.execution,
                             .orchestration = info.orchestration,
                             .version = info.version};
  read({}, header, report, [&] {
    HistoryReader history = read_history(client.run(info.id));
    check(history, {}, report);
  });
}

// ---- the public face ----------------------------------------------------------------------------

ReplayChecker::ReplayChecker(ReplayCheckerOptions options)
    : impl_(std::make_unique<Impl>(std::move(options))) {}
ReplayChecker::ReplayChecker(ReplayChecker&&) noexcept = default;
ReplayChecker& ReplayChecker::operator=(ReplayChecker&&) noexcept = default;
ReplayChecker::~ReplayChecker() = default;

ReplayChecker& ReplayChecker::add_orchestration(std::string_view name, OrchestrationOptions options,
                                                std::shared_ptr<const detail::OrchestrationCode> code) {
  impl_->registry.add_orchestration(name, options.version, std::move(code));
  return *this;
}

ReplayReport ReplayChecker::check(HistoryReader history) const {
  ReplayReport report;
  impl_->check(history, {}, report);
  return report;
}

ReplayReport ReplayChecker::check_folder(const std::filesystem::path& folder) const {
  if (!std::filesystem::is_directory(folder))
    throw std::runtime_error("there is no folder " + folder.string() + " with exported histories");
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && entry.path().extension() == ".jsonl") files.push_back(entry.path());
  }
  if (files.empty())
    throw std::runtime_error("there is no exported history (*.jsonl) in the folder " + folder.string());
  std::ranges::sort(files);
  ReplayReport report;
  for (const std::filesystem::path& file : files) impl_->check_file(file, report);
  return report;
}

ReplayReport ReplayChecker::check_running(const Client& client, ListFilter filter) const {
  if (filter.statuses.empty()) filter.statuses = {Status::running, Status::suspended, Status::parked};
  ReplayReport report;
  for (;;) {
    const RunPage page = client.list(filter);
    for (const RunInfo& info : page.runs) impl_->check_instance(client, info, report);
    if (!page.next) return report;
    filter.after = *page.next;
  }
}

}  // namespace holdfast::testing
