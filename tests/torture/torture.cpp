// Recovery with real processes: two engines and a client work on one file while a driver kills and stops them
// at random moments. Afterwards nothing that was acknowledged is lost, everything has ended with the result
// that only one way of running it gives, and the file is whole.
//
//   torture [--rounds N] [--seed N]
#include "check.hpp"
#include "journal.hpp"
#include "place.hpp"
#include "process.hpp"
#include "roles.hpp"

#include <holdfast/random.hpp>

#include <signal.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::torture {
namespace {

using namespace std::chrono_literals;

struct Lost : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The last lines of a log.
std::string tail(const std::string& path) {
  std::ifstream in(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  std::string text;
  for (std::size_t i = lines.size() - std::min<std::size_t>(lines.size(), 12); i < lines.size(); ++i) {
    text += "\n    " + lines[i];
  }
  return text;
}

class Driver {
 public:
  Driver(const Place& place, std::uint64_t seed) : place_(place), seed_(seed), random_(seed) {
    for (Part& part : parts_) start(part);
  }

  void round() {
    pause_for(50, 500);
    look();
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
    look();
    end(parts_[kClient], 180s);
    end(parts_[kEngineA], 30s);
    end(parts_[kEngineB], 30s);
    std::string all;
    for (const std::string& problem : check(place_, seed_)) all += "\n  " + problem;
    if (!all.empty()) throw Lost("the end is not as it should be:" + all);
  }

  [[nodiscard]] std::string summary() const {
    const Journal journal(place_.journal());
    return std::to_string(crashes_) + " kills, " + std::to_string(stops_) + " stops, " +
           std::to_string(deploys_) + " deployments; " + std::to_string(journal.next_plan()) +
           " instances, " + std::to_string(journal.acknowledged()) + " acknowledged calls, nothing lost";
  }

 private:
  enum Name : std::uint8_t { kEngineA, kEngineB, kClient };
  struct Part {
    const char* name = "";
    std::unique_ptr<Process> process{};
  };

  void pause_for(std::uint64_t from, std::uint64_t to) {
    std::this_thread::sleep_for(std::chrono::milliseconds(from + below(random_, to - from)));
  }

  void start(Part& part) {
    std::vector<std::string> arguments{part.name, place_.folder()};
    arguments.push_back(std::to_string(seed_));
    part.process = std::make_unique<Process>(arguments, place_.log(part.name));
  }

  void crash(const std::vector<Name>& names) {
    crashes_ += names.size();
    for (const Name name : names) parts_[name].process->signal(SIGKILL);
    for (const Name name : names) parts_[name].process->crash();
    pause_for(0, 200);
    for (const Name name : names) start(parts_[name]);
  }

  // Longer than the leases, now and then so long that others take it for gone.
  void stop_for_long(const std::vector<Name>& names) {
    stops_ += names.size();
    for (const Name name : names) parts_[name].process->signal(SIGSTOP);
    if (below(random_, 3) == 0) {
      pause_for(2200, 2800);
    } else {
      pause_for(600, 1200);
    }
    for (const Name name : names) parts_[name].process->signal(SIGCONT);
  }

  void deploy(Name name) {
    ++deploys_;
    end(parts_[name], 30s);
    start(parts_[name]);
  }

  void end(Part& part, std::chrono::milliseconds at_most) {
    part.process->signal(SIGTERM);
    const std::optional<int> status = part.process->wait(at_most);
    if (!status) throw Lost(std::string(part.name) + " does not end" + tail(place_.log(part.name)));
    if (*status != 0) complain(part, *status);
  }

  // Nobody may end without being asked to.
  void look() {
    for (Part& part : parts_) {
      if (const auto status = part.process->ended()) complain(part, *status);
    }
  }

  [[noreturn]] void complain(const Part& part, int status) const {
    throw Lost(std::string(part.name) + " ended with " + std::to_string(status) + ":" +
               tail(place_.log(part.name)));
  }

  const Place place_;
  const std::uint64_t seed_;
  SeededRandom random_;
  std::array<Part, 3> parts_{Part{"engine-a"}, Part{"engine-b"}, Part{"client"}};
  std::size_t crashes_ = 0;
  std::size_t stops_ = 0;
  std::size_t deploys_ = 0;
};

int torture(std::uint64_t rounds, std::uint64_t seed) {
  std::string folder = (std::filesystem::temp_directory_path() / "holdfast-torture-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) throw std::runtime_error("no temporary folder");
  const auto began = std::chrono::steady_clock::now();
  std::uint64_t round = 0;
  try {
    Driver driver(Place(folder), seed);
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
  } catch (const Lost& lost) {
    std::cerr << "torture: FAILED after round " << round << " of " << rounds << ", seed " << seed << "\n  "
              << lost.what() << "\n  kept: " << folder << " (torture.db, journal, *.log)\n"
              << "  again: ./dev torture --rounds " << rounds << " --seed " << seed << "\n";
    return 1;
  }
  std::filesystem::remove_all(folder);
  return 0;
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.size() == 3) {
    const Place place(arguments[1]);
    if (arguments[0] == "engine-a") return run_engine(place, "a");  // a name that comes back, and none
    if (arguments[0] == "engine-b") return run_engine(place, "");
    if (arguments[0] == "client") return run_client(place, std::stoull(arguments[2]));
  }
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
