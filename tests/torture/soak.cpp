// A long run on a PostgreSQL server: clients and engines in processes of their own, engines that are killed
// again and again, a server that restarts and crashes. Afterwards nothing that was acknowledged is lost,
// nothing has ended twice, and neither the tables nor an engine that lived through all of it have grown.
//
//   soak [--minutes N] [--seed N]
#include "audit.hpp"
#include "check.hpp"
#include "crew.hpp"
#include "growth.hpp"
#include "journal.hpp"
#include "place.hpp"
#include "plans.hpp"
#include "roles.hpp"
#include "stores/postgres/server_test.hpp"
#include "testkit/support/temporary_folder.hpp"

#include <holdfast/random.hpp>

#include <chrono>
#include <iostream>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::torture {
namespace {

using namespace std::chrono_literals;
using Time = std::chrono::steady_clock::time_point;

constexpr const char* kSteady = "engine-steady";  // nobody kills it
const Crew::Names kMortal{"engine-a", "nameless-b", "nameless-c"};
const Crew::Names kClients{"client-0", "client-1"};

Time now() { return std::chrono::steady_clock::now(); }
double seconds(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

class Soak {
 public:
  Soak(const Place& place, std::uint64_t seed, std::chrono::milliseconds load)
      : place_(place), seed_(seed), load_(load), random_(seed), crew_(place, seed), audit_(prepare(place)) {
    audit_.begin();
    crew_.start(kSteady);
    for (const std::string& name : kMortal) crew_.start(name);
    for (const std::string& name : kClients) crew_.start(name);
  }

  void run() {
    const Time began = now();
    bool restarted = false;
    bool crashed = false;
    bool settled = false;
    Time next_word = began + load_ / 10;
    while (now() - began < load_) {
      pause_for(200, 1500);
      crew_.look();
      deadlocks_ += audit_.deadlocks();
      const auto passed = now() - began;
      if (!settled && passed > load_ / 4) {
        settled = true;
        growth_.early(sizes());
      }
      if (!restarted && passed > load_ / 3) {
        restarted = true;
        restart("fast");
      } else if (!crashed && passed > load_ * 2 / 3) {
        crashed = true;
        restart("immediate");
      } else {
        disturb();
      }
      if (now() < next_word) continue;
      next_word += load_ / 10;
      tell(passed);
    }
    growth_.loaded(sizes());
  }

  /// The load ends, the work is done, and everybody goes in peace.
  Problems finish() {
    std::cout << "  the load ends" << std::endl;
    for (const std::string& name : kClients) crew_.end(name, 240s);
    crew_.look();
    const Problems left = wait_for_floor();
    growth_.at_rest(sizes());
    crew_.end(kSteady, 30s);
    for (const std::string& name : kMortal) crew_.end(name, 30s);
    Problems problems = check(place_, seed_, engines());
    add(problems, left);
    add(problems, audit_.ends(expected_ends()));
    add(problems, audit_.integrity());
    deadlocks_ += audit_.deadlocks();
    audit_.vacuum();
    growth_.vacuumed({.tables = audit_.tables()});
    add(problems, growth_.problems());
    return problems;
  }

  [[nodiscard]] std::string summary() const {
    const Total total = counts();
    return std::to_string(kills_) + " kills, " + std::to_string(stops_) +
           " stops, 1 restart and 1 crash of the server; " + std::to_string(total.plans) + " instances, " +
           std::to_string(total.acknowledged) + " acknowledged calls; " + std::to_string(deadlocks_) +
           " deadlocks\n" + growth_.report();
  }

 private:
  struct Total {
    std::uint64_t plans = 0;
    std::uint64_t acknowledged = 0;
  };

  std::string prepare(const Place& place) {
    place.use_server(server_.uri());
    const auto makes_the_schema = place.open();
    return server_.uri();
  }

  static void add(Problems& all, const Problems& more) { all.insert(all.end(), more.begin(), more.end()); }
  static Crew::Names engines() {
    Crew::Names names = kMortal;
    names.emplace_back(kSteady);
    return names;
  }

  void pause_for(std::uint64_t from, std::uint64_t to) {
    std::this_thread::sleep_for(std::chrono::milliseconds(from + below(random_, to - from)));
  }

  // Mostly one of them is killed; now and then two at once, or one is stopped for longer than its leases.
  void disturb() {
    const std::string& one = kMortal[below(random_, kMortal.size())];
    const std::string& other = kMortal[below(random_, kMortal.size())];
    const std::uint64_t what = below(random_, 8);
    if (what == 0) {
      ++stops_;
      crew_.stop({one});
      pause_for(600, 1200);
      crew_.resume({one});
      return;
    }
    const Crew::Names victims = what < 3 && one != other ? Crew::Names{one, other} : Crew::Names{one};
    kills_ += victims.size();
    crew_.kill(victims);
    pause_for(0, 300);
    for (const std::string& name : victims) crew_.start(name);
  }

  void restart(const std::string& how) {
    std::cout << "  the server restarts (" << how << ")" << std::endl;
    server_.restart(how);
    audit_.reconnect();
  }

  Sizes sizes() { return {.memory = resident_memory(crew_.pid(kSteady)), .tables = audit_.tables()}; }

  void tell(std::chrono::steady_clock::duration passed) {
    const Total total = counts();
    std::cout << "  " << static_cast<int>(seconds(passed)) << " s: " << kills_ << " kills, " << total.plans
              << " instances, " << total.acknowledged << " acknowledged calls, " << deadlocks_
              << " deadlocks, " << resident_memory(crew_.pid(kSteady)) / 1024 / 1024 << " MB" << std::endl;
  }

  // What nobody needs any more goes within seconds.
  Problems wait_for_floor() {
    const Time deadline = now() + 60s;
    for (;;) {
      Problems above = above_floor(audit_.tables(), counts().acknowledged, engines().size());
      if (above.empty() || now() > deadline) return above;
      std::this_thread::sleep_for(100ms);
    }
  }

  [[nodiscard]] Total counts() const {
    Total total;
    for (std::uint64_t client = 0; client < clients_in(place_); ++client) {
      const Journal journal(place_.journal(client));
      total.plans += journal.next_plan();
      total.acknowledged += journal.acknowledged();
    }
    return total;
  }

  [[nodiscard]] std::set<std::string> expected_ends() const {
    std::set<std::string> ids;
    for (std::uint64_t client = 0; client < clients_in(place_); ++client) {
      const Journal journal(place_.journal(client));
      for (std::uint64_t number = 0; number < journal.next_plan(); ++number) {
        ids.merge(as_set(instances_of(plan_of(seed_, client, number))));
      }
    }
    return ids;
  }
  static std::set<std::string> as_set(const std::vector<std::string>& ids) {
    return {ids.begin(), ids.end()};
  }

  const Place place_;
  const std::uint64_t seed_;
  const std::chrono::milliseconds load_;
  SeededRandom random_;
  postgres_store::TestServer server_{"--durable"};
  Crew crew_;
  Audit audit_;
  Growth growth_{};
  std::int64_t deadlocks_ = 0;
  std::size_t kills_ = 0;
  std::size_t stops_ = 0;
};

int soak(double minutes, std::uint64_t seed) {
  support::TemporaryFolder folder;
  std::cout << "soak: " << minutes << " minutes with seed " << seed << std::endl;
  const Time began = now();
  std::string wrong;
  try {
    Soak soak(Place(folder.path()), seed,
              std::chrono::milliseconds(static_cast<std::int64_t>(minutes * 60'000)));
    soak.run();
    for (const std::string& problem : soak.finish()) wrong += "\n  " + problem;
    std::cout << soak.summary();
  } catch (const std::exception& error) {
    wrong = std::string("\n  ") + error.what();
  }
  if (!wrong.empty()) {
    folder.keep();
    std::cerr << "soak: FAILED after " << static_cast<int>(seconds(now() - began)) << " s, seed " << seed
              << wrong << "\n  kept: " << folder.path()
              << " (journals, *.log)\n  again: ./dev soak --minutes " << minutes << " --seed " << seed
              << "\n";
    return 1;
  }
  std::cout << "soak: OK, " << static_cast<int>(seconds(now() - began))
            << " s: nothing lost, nothing ended twice, nothing has grown\n";
  return 0;
}

int run(const std::vector<std::string>& arguments) {
  if (const auto status = run_role(arguments)) return *status;
  double minutes = 10;
  std::uint64_t seed = system_random().next() % 1'000'000;
  for (std::size_t i = 0; i < arguments.size(); i += 2) {
    const std::string value = i + 1 < arguments.size() ? arguments[i + 1] : "";
    if (arguments[i] == "--minutes") {
      minutes = std::stod(value);
    } else if (arguments[i] == "--seed") {
      seed = std::stoull(value);
    } else {
      throw std::invalid_argument("takes [--minutes N] [--seed N], not " + arguments[i]);
    }
  }
  return soak(minutes, seed);
}

}  // namespace
}  // namespace holdfast::torture

int main(int argc, char** argv) {
  try {
    return holdfast::torture::run({argv + 1, argv + argc});
  } catch (const std::exception& e) {
    std::cerr << "soak: " << e.what() << "\n";
    return 1;
  }
}
