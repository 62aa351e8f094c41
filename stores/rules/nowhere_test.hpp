// Nowhere: where rows come from in tests that put them into a space themselves.
#pragma once

#include "stores/rules/source.hpp"

#include <cstdint>
#include <string>

namespace holdfast::rules {

struct Nowhere final : Source, Numbers {
  std::string name_of(InstanceKey) override { return {}; }
  InstanceKey next_instance() override { return {}; }
  MessageId next_message() override { return {}; }
  WorkerKey next_worker() override { return {}; }
  Generation next_generation() override { return {}; }
  std::uint64_t next_delayed() override { return 0; }
  std::uint64_t next_log_entry() override { return 0; }
  std::uint64_t next_set_aside() override { return 0; }
};

}  // namespace holdfast::rules
