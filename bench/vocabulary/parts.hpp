// The parts of the suite `vocabulary`, and what they share.
#pragma once

#include "bench/harness.hpp"

#include <holdfast/store.hpp>

#include <functional>
#include <memory>
#include <string>

namespace holdfast::bench {

struct Vocabulary {
  Suite& suite;
  std::string store{};                                   ///< what figures begin with: "sqlite"
  std::function<std::shared_ptr<Store>()> make_store{};  ///< a new, empty one

  [[nodiscard]] bool quick() const { return suite.option("--quick"); }
  /// How many instances a store is filled with.
  [[nodiscard]] std::size_t instances() const {
    return suite.number_of("--instances", quick() ? 20'000 : 1'000'000);
  }
  /// How long one of these calls takes; the median and the worst of a number of them.
  void measure(const std::string& name, const std::function<void()>& call);
};

/// Pages and counts by search attributes, among many instances.
void attributes(Vocabulary& bench);

}  // namespace holdfast::bench
