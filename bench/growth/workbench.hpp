// What all parts of the suite `growth` share: where stores come from, and where figures and curves go.
#pragma once

#include "bench/growth/chart.hpp"
#include "bench/harness.hpp"

#include <holdfast/store.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace holdfast::bench {

/// The kind of store that is measured.
struct StoreKind {
  std::string name{};                              ///< what figures begin with: "sqlite"
  std::string title{};                             ///< what people read: "SQLite"
  std::function<std::shared_ptr<Store>()> make{};  ///< a new, empty one
  /// How often its server has cleaned up by itself, where it has one.
  std::function<std::uint64_t()> autovacuums{};
};

class Workbench {
 public:
  Workbench(Suite& suite, StoreKind kind, std::string curves)
      : suite_(suite), kind_(std::move(kind)), curves_(std::move(curves)) {}

  [[nodiscard]] std::shared_ptr<Store> new_store() const { return kind_.make(); }
  /// How often the server has cleaned up; nothing when there is no server.
  [[nodiscard]] std::optional<std::uint64_t> autovacuums() const;
  [[nodiscard]] bool quick() const { return suite_.option("--quick"); }
  [[nodiscard]] Suite& suite() const noexcept { return suite_; }
  [[nodiscard]] const StoreKind& kind() const noexcept { return kind_; }

  /// A figure of this store: `row.name` without the name of the store.
  void add(Row row) { add(kind_.name, std::move(row)); }
  void add(const std::string& store, Row row);
  /// Writes a curve as <suite>-<name>.svg. The title gets the name of the store.
  void draw(const std::string& name, Chart chart) const;

 private:
  Suite& suite_;
  StoreKind kind_;
  std::string curves_;  // the folder; empty: none are drawn
};

}  // namespace holdfast::bench
