// Query: a statement by name. It is prepared when it is first used, and passes a fault point at each use.
#pragma once

#include "connection.hpp"

#include <holdfast/fault.hpp>

#include <string_view>

namespace holdfast::sqlite_store {

/// Thrown where a fault plan wants an operation to fail; ends the transaction.
struct InjectedFault {};

class Query {
 public:
  /// Both texts live as long as the process. `point` is "sqlite." and the name of the statement.
  constexpr Query(std::string_view point, std::string_view sql) noexcept : point_(point), sql_(sql) {}

  [[nodiscard]] Statement& use(Connection& connection, FaultPlan* faults) {
    if (fault_at(faults, point_) != Fault::none) throw InjectedFault{};
    if (statement_.get() == nullptr) [[unlikely]]
      statement_ = connection.prepare(sql_);
    return statement_;
  }
  [[nodiscard]] std::string_view sql() const noexcept { return sql_; }

 private:
  std::string_view point_;
  std::string_view sql_;
  Statement statement_{};
};

}  // namespace holdfast::sqlite_store
