#include "runtime/frame_homes.hpp"

#include <algorithm>

namespace holdfast::runtime {

FrameHomes::FrameHomes(const Registry& registry) {
  for (const auto& [version, code] : registry.orchestration_code()) {
    if (code->executor() != nullptr && !of(*code))
      homes_.push_back(std::make_shared<FrameHome>(*code->executor()));
  }
}

std::shared_ptr<FrameHome> FrameHomes::of(const detail::OrchestrationCode& code) const {
  const detail::FrameExecutor* const executor = code.executor();
  if (executor == nullptr) return nullptr;
  const auto found = std::ranges::find_if(homes_, [&](const auto& home) { return home->is_of(*executor); });
  return found == homes_.end() ? nullptr : *found;
}

// An instance that has not decided on a version gets the newest.
std::optional<store::Code> FrameHomes::narrowed(const store::Code& code, const Registry& registry) const {
  if (std::ranges::all_of(homes_, [](const auto& home) { return home->takes_turns(); })) return std::nullopt;
  store::Code rest = code;
  std::erase_if(rest.orchestrations, [&](const store::CodeVersion& one) {
    const auto found = registry.orchestration(
        one.name, one.version.empty() ? registry.newest_version(one.name) : one.version);
    const std::shared_ptr<FrameHome> home = found ? of(*found) : nullptr;
    return home && !home->takes_turns();
  });
  return rest;
}

std::size_t FrameHomes::frames() const noexcept {
  std::size_t sum = 0;
  for (const auto& home : homes_) sum += home->frames();
  return sum;
}

std::size_t FrameHomes::left_behind() const noexcept {
  std::size_t sum = 0;
  for (const auto& home : homes_) sum += home->left_behind();
  return sum;
}

}  // namespace holdfast::runtime
