// Recovery with real processes: two engines and a client work on one file while a driver kills and stops them
// at random moments. Afterwards nothing that was acknowledged is lost, everything has ended with the result
// that only one way of running it gives, and the file is whole.
//
//   torture [--rounds N] [--seed N]
#include "check.hpp"
#include "crew.hpp"
#include "journal.hpp"
#include "place.hpp"
#include "roles.hpp"
#include "testkit/support/temporary_folder.hpp"

#include <holdfast/random.hpp>

#include <chrono>
#include <exception>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::torture {
namespace {

using namespace std::chrono_literals;

constexpr const char* kEngineA = "engine-a";    // a name that comes back
constexpr const char* kEngineB = "nameless-b";  // and none
constexpr const char* kClient = "client-0";

class Driver {
 public:
  Driver(const Place& place, std::uint64_t seed)
      : place_(place), seed_(seed), random_(seed), crew_(place, seed) {
    for (const char* const name : {kEngineA, kEngineB, kClient}) crew_.start(name);
  }

  void round() {
    pause_for(50, 500);
    crew_.look();
    switch (below(random_, 10)) {
      case 0:
      case 1:
        return crash({kEngineA});
      case 2:
      case 3:
        return crash({kEngineB});
      case 4:
        return crash({kClient});
      case 5:
        return crash({kEngineA, kEngineB});
      case 6:
        return crash({kEngineA, kEngineB, kClient});
      case 7:
        return stop_for_long({kEngineB});
      case 8:
        return below(random_, 2) == 0 ? stop_for_long({kEngineA}) : stop_for_long({kEngineA, kEngineB});
      default:
        return deploy(below(random_, 2) == 0 ? kEngineA : kEngineB);
    }
  }

  /// Everybody ends in peace: the client when all that it began has ended.
  void finish() {
    crew_.look();
    crew_.end(kClient, 180s);
    crew_.end(kEngineA, 30s);
    crew_.end(kEngineB, 30s);
    std::string all;
    for (const std::string& problem : check(place_, seed_, {kEngineA, kEngineB})) all += "\n  " + problem;
    if (!all.empty()) throw Lost("the end is not as it should be:" + all);
  }

  [[nodiscard]] std::string summary() const {
    const Journal journal(place_.journal(0));
    return std::to_string(crashes_) + " kills, " + std::to_string(stops_) + " stops, " +
           std::to_string(deploys_) + " deployments; " + std::to_string(journal.next_plan()) +
           " instances, " + std::to_string(journal.acknowledged()) + " acknowledged calls, nothing lost";
  }

 private:
  void pause_for(std::uint64_t from, std::uint64_t to) {
    std::this_thread::sleep_for(std::chrono::milliseconds(from + below(random_, to - from)));
  }

  void crash(const Crew::Names& names) {
    crashes_ += names.size();
    crew_.kill(names);
    pause_for(0, 200);
    for (const std::string& name : names) crew_.start(name);
  }

  // Longer than the leases, now and then so long that others take it for gone.
  void stop_for_long(const Crew::Names& names) {
    stops_ += names.size();
    crew_.stop(names);
    if (below(random_, 3) == 0) {
      pause_for(2200, 2800);
    } else {
      pause_for(600, 1200);
    }
    crew_.resume(names);
  }

  void deploy(const std::string& name) {
    ++deploys_;
    crew_.end(name, 30s);
    crew_.start(name);
  }

  const Place place_;
  const std::uint64_t seed_;
  SeededRandom random_;
  Crew crew_;
  std::size_t crashes_ = 0;
  std::size_t stops_ = 0;
  std::size_t deploys_ = 0;
};

int torture(std::uint64_t rounds, std::uint64_t seed) {
  support::TemporaryFolder folder;
  const auto began = std::chrono::steady_clock::now();
  std::uint64_t round = 0;
  try {
    Driver driver(Place(folder.path()), seed);
    while (round < rounds) {
      ++round;
      driver.round();
      if (round % 20 == 0) std::cout << "  round " << round << " of " << rounds << std::endl;
    }
    driver.finish();
    const auto seconds =
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - began);
    std::cout << "torture: " << rounds << " rounds with seed " << seed << " in " << seconds.count()
              << " s: " << driver.summary() << "\n";
  } catch (const std::exception& error) {
    folder.keep();
    std::cerr << "torture: FAILED after round " << round << " of " << rounds << ", seed " << seed << "\n  "
              << error.what() << "\n  kept: " << folder.path() << " (torture.db, journal-0, *.log)\n"
              << "  again: ./dev torture --rounds " << rounds << " --seed " << seed << "\n";
    return 1;
  }
  return 0;
}

int run(const std::vector<std::string>& arguments) {
  if (const auto status = run_role(arguments)) return *status;
  std::uint64_t rounds = 200;
  std::uint64_t seed = system_random().next() % 1'000'000;
  for (std::size_t i = 0; i + 1 < arguments.size(); i += 2) {
    (arguments[i] == "--rounds" ? rounds : seed) = std::stoull(arguments[i + 1]);
  }
  return torture(rounds, seed);
}

}  // namespace
}  // namespace holdfast::torture

int main(int argc, char** argv) {
  try {
    return holdfast::torture::run({argv + 1, argv + argc});
  } catch (const std::exception& e) {
    std::cerr << "torture: " << e.what() << "\n";
    return 1;
  }
}
