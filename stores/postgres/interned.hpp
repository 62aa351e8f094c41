// Interned: numbers for what many rows have in common: the code of instances, the kinds of activities.
#pragma once

#include "stores/rules/route.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace holdfast::postgres_store {

using rules::Route;

struct Kind {
  std::string queue{};
  std::string name{};
  friend auto operator<=>(const Kind&, const Kind&) = default;
};

/// Both ways between things and their numbers. One thread at a time.
template <class Thing>
class Interned {
 public:
  [[nodiscard]] const Thing* find(std::int32_t number) const {
    const auto found = things_.find(number);
    return found == things_.end() ? nullptr : &found->second;
  }
  [[nodiscard]] std::optional<std::int32_t> find(const Thing& thing) const {
    const auto found = numbers_.find(thing);
    return found == numbers_.end() ? std::nullopt : std::optional(found->second);
  }
  [[nodiscard]] const std::map<std::int32_t, Thing>& all() const { return things_; }
  void add(std::int32_t number, Thing thing) {
    numbers_.insert_or_assign(thing, number);
    things_.insert_or_assign(number, std::move(thing));
  }

 private:
  std::map<std::int32_t, Thing> things_{};
  std::map<Thing, std::int32_t> numbers_{};
};

/// What a connection knows of the names in its namespace. Names never change, so what was read once stays
/// true; what a transaction added is forgotten when it is rolled back.
struct Names {
  Interned<Route> routes{};
  Interned<Kind> kinds{};
};

}  // namespace holdfast::postgres_store
