// FrameHomes: the executors that the orchestrations of a worker name.
#pragma once

#include "runtime/frame_home.hpp"
#include "runtime/registry.hpp"

#include <holdfast/store/workers.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

namespace holdfast::runtime {

/// None for a worker whose code runs in place. Constant but for what its homes say. Any thread.
class FrameHomes {
 public:
  explicit FrameHomes(const Registry& registry);

  [[nodiscard]] bool any() const noexcept { return !homes_.empty(); }
  [[nodiscard]] const std::vector<std::shared_ptr<FrameHome>>& all() const noexcept { return homes_; }
  /// Where frames of this code live; null: in place.
  [[nodiscard]] std::shared_ptr<FrameHome> of(const detail::OrchestrationCode& code) const;

  /// `code` without what lives on executors that take no turns now; nothing when all of them do.
  [[nodiscard]] std::optional<store::Code> narrowed(const store::Code& code, const Registry& registry) const;
  /// Frames that are alive on executors.
  [[nodiscard]] std::size_t frames() const noexcept;
  /// Frames that will never be destroyed: their executors are gone.
  [[nodiscard]] std::size_t left_behind() const noexcept;

 private:
  std::vector<std::shared_ptr<FrameHome>> homes_;
};

}  // namespace holdfast::runtime
