// Interned: routes and kinds by number and back. Rows of both are never changed, so what was read once stays
// right, whoever else writes the file.
#pragma once

#include "statements.hpp"
#include "stores/rules/route.hpp"

#include <holdfast/store/workers.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace holdfast::sqlite_store {

using rules::Route;

/// What a worker needs to take an activity.
struct Kind {
  std::string queue{};
  std::string name{};
  bool in_session = false;
  /// Of its session, as far as they are known here: the session's own policy decides.
  std::vector<std::string> requirements{};
};

/// Numbers of one namespace are between these two, without them.
struct NumberRange {
  std::int64_t below = 0;
  std::int64_t above = 0;
  explicit constexpr NumberRange(std::int64_t ns) noexcept : below(ns << 32), above((ns + 1) << 32) {}
};

/// Belongs to one connection, like its statements. References stay valid until forget().
class Interned {
 public:
  Interned(Connection& connection, Statements& sql, FaultPlan* faults, std::int64_t ns) noexcept
      : connection_(connection), sql_(sql), faults_(faults), range_(ns) {}

  /// Null when its row is missing; likewise the next.
  const Route* route(std::int64_t number);
  const Kind* kind(std::int64_t number);
  /// These two write when it is the first of its like.
  std::int64_t route_number(const Route& route);
  std::int64_t kind_number(std::string_view queue, std::string_view name, std::string_view requirements);

  /// After a rollback: some of it may not be in the file.
  void forget();

 private:
  using KindKey = std::tuple<std::string, std::string, std::string>;

  void load_routes();
  void load_kinds();

  Connection& connection_;
  Statements& sql_;
  FaultPlan* faults_;
  NumberRange range_;
  std::unordered_map<std::int64_t, Route> routes_;
  std::unordered_map<std::int64_t, Kind> kinds_;
  std::map<Route, std::int64_t> route_numbers_;
  std::map<KindKey, std::int64_t, std::less<>> kind_numbers_;
  std::int64_t last_route_ = 0;
  std::int64_t last_kind_ = 0;
};

}  // namespace holdfast::sqlite_store
