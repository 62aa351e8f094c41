// Crew: the processes of a run, which are killed, stopped and started again.
#pragma once

#include "place.hpp"
#include "process.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace holdfast::torture {

/// Something is not as it has to be.
struct Lost : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The name of a process tells its role: engine-x, an engine whose node is x in all its lives; nameless-x,
/// one whose node has another name in each; client-0, client-1. All are gone with the object.
class Crew {
 public:
  using Names = std::vector<std::string>;

  Crew(Place place, std::uint64_t seed) : place_(std::move(place)), seed_(seed) {}

  void start(const std::string& name);
  /// kill -9, all at the same time.
  void kill(const Names& names);
  void stop(const Names& names) const;
  void resume(const Names& names) const;
  /// Waits until it has ended in peace. Throws Lost.
  void end(const std::string& name, std::chrono::milliseconds at_most);
  /// Nobody may end without being asked to: throws Lost. An engine that could not begin, because the store
  /// did not answer, is started again, as anybody would.
  void look();

  [[nodiscard]] pid_t pid(const std::string& name) const { return processes_.at(name)->pid(); }

 private:
  [[noreturn]] void complain(const std::string& name, int status) const;
  /// The last lines of what it said.
  [[nodiscard]] std::string tail(const std::string& name) const;

  const Place place_;
  const std::uint64_t seed_;
  std::map<std::string, std::unique_ptr<Process>> processes_{};
};

}  // namespace holdfast::torture
