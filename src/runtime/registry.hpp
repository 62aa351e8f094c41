// Registry: the code that a worker has, by name.
#pragma once

#include <holdfast/detail/activity_code.hpp>
#include <holdfast/detail/orchestration.hpp>
#include <holdfast/session_state.hpp>
#include <holdfast/store/workers.hpp>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace holdfast::runtime {

/// Who wants to hear of sessions that come and go.
struct SessionHooks {
  SessionHook acquired{};
  SessionHook released{};
  std::function<void()> superseded{};
};

/// Filled before the worker starts, read by all threads afterwards.
class Registry {
 public:
  using ActivityPointer = std::shared_ptr<const detail::ActivityCode>;
  using OrchestrationPointer = std::shared_ptr<const detail::OrchestrationCode>;

  /// Throw std::logic_error when the name (and version) is taken, Error when one of them is not allowed.
  /// Versions are kept in their shortest form.
  void add_activity(std::string_view name, ActivityPointer code);
  void add_orchestration(std::string_view name, std::string_view version, OrchestrationPointer code);

  /// What every worker has that runs orchestrations: those of Holdfast itself.
  void add_own_orchestrations();

  void add_session_state(std::shared_ptr<const detail::SessionStateCode> code);
  SessionHooks& hooks() noexcept { return hooks_; }
  [[nodiscard]] const SessionHooks& hooks() const noexcept { return hooks_; }
  /// Whether this very state was registered here.
  [[nodiscard]] bool has(const detail::SessionStateCode& code) const;

  /// Null when there is none.
  [[nodiscard]] ActivityPointer activity(std::string_view name) const;
  [[nodiscard]] OrchestrationPointer orchestration(std::string_view name, std::string_view version) const;
  /// The highest version of an orchestration that is no pre-release; empty when there is none.
  [[nodiscard]] std::string newest_version(std::string_view name) const;
  /// The version that an execution takes which is to run this one: empty for the newest, or a range, or the
  /// one that it has. Empty when there is none.
  [[nodiscard]] std::string decided_version(std::string_view name, std::string_view wanted) const;

  [[nodiscard]] store::NameSet activity_names() const;
  /// All pairs; and for each name that has a version which is no pre-release the empty one: instances that
  /// have not decided on a version yet.
  [[nodiscard]] std::set<store::CodeVersion> orchestrations() const;
  [[nodiscard]] const std::map<store::CodeVersion, OrchestrationPointer>& orchestration_code()
      const noexcept {
    return orchestrations_;
  }

 private:
  template <class Wanted>
  [[nodiscard]] std::string newest_of(std::string_view name, Wanted wanted) const;

  std::map<std::string, ActivityPointer, std::less<>> activities_;
  std::map<store::CodeVersion, OrchestrationPointer> orchestrations_;
  std::map<std::string, std::shared_ptr<const detail::SessionStateCode>, std::less<>> states_;
  SessionHooks hooks_;
};

}  // namespace holdfast::runtime
