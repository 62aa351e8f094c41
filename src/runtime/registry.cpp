#include "runtime/registry.hpp"

#include <holdfast/detail/names.hpp>

#include <charconv>
#include <stdexcept>
#include <utility>

namespace holdfast::runtime {
namespace {

// The part up to the next dot, which is taken off.
std::string_view next_part(std::string_view& version) {
  const std::size_t dot = version.find('.');
  const std::string_view part = version.substr(0, dot);
  version.remove_prefix(dot == std::string_view::npos ? version.size() : dot + 1);
  return part;
}

int compare_parts(std::string_view a, std::string_view b) {
  unsigned long long x = 0;
  unsigned long long y = 0;
  const auto [end_a, error_a] = std::from_chars(a.data(), a.data() + a.size(), x);
  const auto [end_b, error_b] = std::from_chars(b.data(), b.data() + b.size(), y);
  const bool numbers = error_a == std::errc{} && error_b == std::errc{} && end_a == a.data() + a.size() &&
                       end_b == b.data() + b.size();
  if (numbers) return x < y ? -1 : static_cast<int>(x > y);
  return a.compare(b);
}

}  // namespace

bool older_version(std::string_view a, std::string_view b) {
  while (!a.empty() || !b.empty()) {
    if (a.empty() || b.empty()) return a.empty();
    const std::string_view part_a = next_part(a);
    if (const int order = compare_parts(part_a, next_part(b)); order != 0) return order < 0;
  }
  return false;
}

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
  store::CodeVersion key{detail::checked_name("an orchestration", name),
                         detail::checked_name("a version", version)};
  refuse_null("orchestration", name, code != nullptr);
  if (!orchestrations_.try_emplace(std::move(key), std::move(code)).second) {
    throw std::logic_error("orchestration '" + std::string(name) + "' version " + std::string(version) +
                           " is registered twice");
  }
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
  std::string newest;
  for (auto it = orchestrations_.lower_bound({std::string(name), ""});
       it != orchestrations_.end() && it->first.name == name; ++it) {
    if (newest.empty() || older_version(newest, it->first.version)) newest = it->first.version;
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
    versions.insert({key.name, ""});
  }
  return versions;
}

}  // namespace holdfast::runtime
