// What becomes of a call about many instances, such as Client::delete_all().
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace holdfast {

/// An instance that could not be dealt with, and why.
struct BulkRefusal {
  std::string id{};
  std::string why{};
};

struct BulkResult {
  std::uint64_t done = 0;
  std::uint64_t refused = 0;
  static constexpr std::size_t kMaxRefusals = 100;
  std::vector<BulkRefusal> refusals{};  ///< the first of them
};

}  // namespace holdfast
