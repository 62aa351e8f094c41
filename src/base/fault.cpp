#include <holdfast/fault.hpp>

#include <stdexcept>

namespace holdfast {

void FaultScript::inject(std::string_view point, std::uint64_t nth, Fault fault) {
  if (nth == 0) {
    throw std::invalid_argument("the passages of fault point '" + std::string(point) +
                                "' are counted from 1, not 0");
  }
  const std::lock_guard lock(mutex_);
  Point& entry = points_[std::string(point)];
  entry.planned.insert_or_assign(entry.passed + nth, fault);
}

Fault FaultScript::at(std::string_view point) {
  const std::lock_guard lock(mutex_);
  auto found = points_.find(point);
  if (found == points_.end()) found = points_.try_emplace(std::string(point)).first;
  Point& entry = found->second;
  const auto planned = entry.planned.extract(++entry.passed);
  return planned ? planned.mapped() : Fault::none;
}

std::map<std::string, std::uint64_t> FaultScript::passed() const {
  const std::lock_guard lock(mutex_);
  std::map<std::string, std::uint64_t> counts;
  for (const auto& [name, point] : points_) {
    if (point.passed != 0) counts.emplace(name, point.passed);
  }
  return counts;
}

std::uint64_t FaultScript::passed(std::string_view point) const {
  const std::lock_guard lock(mutex_);
  const auto found = points_.find(point);
  return found == points_.end() ? 0 : found->second.passed;
}

std::size_t FaultScript::pending() const {
  const std::lock_guard lock(mutex_);
  std::size_t count = 0;
  for (const auto& [name, point] : points_) count += point.planned.size();
  return count;
}

void FaultScript::clear() {
  const std::lock_guard lock(mutex_);
  points_.clear();
}

}  // namespace holdfast
