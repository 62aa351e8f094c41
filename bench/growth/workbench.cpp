#include "bench/growth/workbench.hpp"

#include <fstream>
#include <stdexcept>

namespace holdfast::bench {

std::optional<std::uint64_t> Workbench::autovacuums() const {
  if (!kind_.autovacuums) return std::nullopt;
  return kind_.autovacuums();
}

void Workbench::add(const std::string& store, Row row) {
  row.name = store + "_" + row.name;
  suite_.add(std::move(row));
}

void Workbench::draw(const std::string& name, Chart chart) const {
  if (curves_.empty()) return;
  chart.title = kind_.title + ": " + chart.title;
  const std::string path = curves_ + "/" + suite_.name() + "-" + name + ".svg";
  std::ofstream file(path);
  file << to_svg(chart);
  if (!file.flush()) throw std::runtime_error("can't write " + path);
}

}  // namespace holdfast::bench
