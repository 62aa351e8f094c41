#include "runtime/registry.hpp"

#include "base/version_ranges.hpp"
#include "base/versions.hpp"
#include "schedules/keeper.hpp"

#include <holdfast/detail/names.hpp>

#include <stdexcept>
#include <utility>

namespace holdfast::runtime {
namespace {

void refuse_null(std::string_view kind, std::string_view name, bool there) {
  if (there) return;
  throw std::invalid_argument("holdfast: the function of " + std::string(kind) + " '" + std::string(name) +
                              "' is a null pointer");
}

}  // namespace

void Registry::add_activity(std::string_view name, ActivityPointer code) {
  std::string checked = detail::checked_name("an activity", name);
  refuse_null("activity", name, code != nullptr);
  if (!activities_.try_emplace(std::move(checked), std::move(code)).second) {
    throw std::logic_error("activity '" + std::string(name) + "' is registered twice");
  }
}

void Registry::add_orchestration(std::string_view name, std::string_view version, OrchestrationPointer code) {
  store::CodeVersion key{detail::checked_name("an orchestration", name), detail::checked_version(version)};
  refuse_null("orchestration", name, code != nullptr);
  if (key.version.empty()) {
    throw std::invalid_argument("holdfast: orchestration '" + key.name +
                                "' is registered with an empty version; leave it out for version 1");
  }
  const std::string same = key.version == version ? "" : ", which is the same as " + key.version + ",";
  if (!orchestrations_.try_emplace(std::move(key), std::move(code)).second) {
    throw std::logic_error("orchestration '" + std::string(name) + "' version " + std::string(version) +
                           same + " is registered twice");
  }
}

void Registry::add_own_orchestrations() {
  add_orchestration(schedules::kOrchestration, "1", detail::make_orchestration(schedules::keep_schedule));
}

void Registry::add_session_state(std::shared_ptr<const detail::SessionStateCode> code) {
  const std::string name = detail::checked_name("the state of sessions", code->name());
  if (!states_.try_emplace(name, std::move(code)).second) {
    throw std::logic_error("the state of sessions '" + name + "' is registered twice");
  }
}

bool Registry::has(const detail::SessionStateCode& code) const {
  const auto found = states_.find(code.name());
  return found != states_.end() && found->second.get() == &code;
}

Registry::ActivityPointer Registry::activity(std::string_view name) const {
  const auto found = activities_.find(name);
  return found == activities_.end() ? nullptr : found->second;
}

Registry::OrchestrationPointer Registry::orchestration(std::string_view name,
                                                       std::string_view version) const {
  const auto found = orchestrations_.find({std::string(name), std::string(version)});
  return found == orchestrations_.end() ? nullptr : found->second;
}

std::string Registry::newest_version(std::string_view name) const {
  return newest_of(name, [](const std::string& version) { return !detail::is_prerelease(version); });
}

std::string Registry::decided_version(std::string_view name, std::string_view wanted) const {
  if (wanted.empty()) return newest_version(name);
  if (!detail::is_range(wanted)) return std::string(wanted);
  return newest_of(name, [&](const std::string& version) { return detail::in_range(version, wanted); });
}

template <class Wanted>
std::string Registry::newest_of(std::string_view name, Wanted wanted) const {
  std::string newest;
  for (auto it = orchestrations_.lower_bound({std::string(name), ""});
       it != orchestrations_.end() && it->first.name == name; ++it) {
    const std::string& version = it->first.version;
    if (wanted(version) && (newest.empty() || detail::older_version(newest, version))) newest = version;
  }
  return newest;
}

store::NameSet Registry::activity_names() const {
  store::NameSet names;
  for (const auto& [name, code] : activities_) names.insert(name);
  return names;
}

std::set<store::CodeVersion> Registry::orchestrations() const {
  std::set<store::CodeVersion> versions;
  for (const auto& [key, code] : orchestrations_) {
    versions.insert(key);
    if (!detail::is_prerelease(key.version)) versions.insert({key.name, ""});
  }
  return versions;
}

}  // namespace holdfast::runtime
