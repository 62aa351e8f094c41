// Growth: how much memory and how much room in tables a run took, and whether that stays within bounds.
#pragma once

#include "audit.hpp"
#include "check.hpp"

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::torture {

struct Sizes {
  std::int64_t memory = 0;  ///< of an engine that lives through the run, in bytes
  std::vector<Table> tables{};
};

/// What is in memory of a process, in bytes.
std::int64_t resident_memory(pid_t pid);

/// Tables that still have rows when there is no more work. `acknowledged`: calls of clients, which are
/// remembered for an hour.
Problems above_floor(const std::vector<Table>& tables, std::uint64_t acknowledged, std::size_t running);

/// Sizes at four moments of a run, in this order.
class Growth {
 public:
  void early(Sizes sizes) { early_ = std::move(sizes); }
  void loaded(Sizes sizes) { loaded_ = std::move(sizes); }
  void at_rest(Sizes sizes) { at_rest_ = std::move(sizes); }
  void vacuumed(Sizes sizes) { vacuumed_ = std::move(sizes); }

  [[nodiscard]] Problems problems() const;
  /// A table for people.
  [[nodiscard]] std::string report() const;

 private:
  Sizes early_{};
  Sizes loaded_{};
  Sizes at_rest_{};
  Sizes vacuumed_{};
};

}  // namespace holdfast::torture
