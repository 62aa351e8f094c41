// Questions that wait in a store. They depend on no other rows: a store brings those of the namespace, all of
// them, and writes back what has changed.
#pragma once

#include "contract/wake_bus.hpp"
#include "times.hpp"

#include <holdfast/store.hpp>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace holdfast::rules {

struct Asked {
  store::Ask ask{};
  std::uint64_t number = 0;  ///< in the order in which they came
  BootTime until{};
  WorkerKey taken_by{};
  BootTime taken_until{};
  std::uint64_t answered = 0;  ///< 1: `answer` stands
  store::AskAnswer answer{};
  friend bool operator==(const Asked&, const Asked&) = default;
};
/// All of one namespace.
using Asks = std::map<store::AskId, Asked>;

StoreResult<void> ask(Asks& asks, BootTime now, const store::Ask& item, store::News& news);
std::vector<store::Ask> fetch_asks(Asks& asks, BootTime now, const store::AskRequest& request);
StoreResult<void> answer(Asks& asks, BootTime now, const store::AskAnswer& item, store::News& news);
std::vector<store::AskAnswer> take_answers(Asks& asks, BootTime now, std::span<const store::AskId> ids);
/// As people see them.
std::vector<store::AskRow> view(const Asks& asks, BootTime now);

}  // namespace holdfast::rules
