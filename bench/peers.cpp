// Others beside ours: the same orchestrations in systems that promise the same or less, each with its own
// store, in the same run on the same machine. docs/benchmarks.md says what each figure means, bench/peers/
// has what runs in them.
//
//   bench_peers [folder] [--quick] [--peers=build/peers] [--only=duroxide]
#include "bench/disk.hpp"
#include "bench/harness.hpp"
#include "bench/peer_process.hpp"
#include "bench/postgres_server.hpp"
#include "bench/runtime_load.hpp"
#include "bench/workload.hpp"

#include <holdfast/codec.hpp>
#include <holdfast/sqlite.hpp>
#include <holdfast/version.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::bench {
namespace {

using namespace std::chrono_literals;

/// What all contestants are asked for, and how long. All of them start with nothing, and warm up as long.
struct Work {
  Shape shape = Shape::p5;
  std::size_t in_flight = 64;
  std::chrono::milliseconds length{5000};
};
constexpr auto kRunUp = 1500ms;
// To start servers, to let the last instances end.
constexpr auto kPatience = 90s;

/// The line that a peer prints.
struct PeerRound {
  std::string versions{};
  std::string settings{};
  double steps = 0;
  double seconds = 0;
  double p50_ms = 0;
  double p99_ms = 0;
  double failed = 0;  ///< instances that it gave up, since the round began
};

struct Contestant {
  std::string name{};
  std::string beside{};  ///< the contestant of ours that it is compared with
  std::function<PeerRound(const Work&)> run{};
  std::optional<std::string> missing{};  ///< why it is not here
};

/// Rounds of one contestant; one that failed has no figures.
struct Tally {
  std::vector<std::optional<PeerRound>> rounds{};
  std::string failure{};  ///< of the last round that failed

  [[nodiscard]] std::size_t failed() const {
    return static_cast<std::size_t>(std::count(rounds.begin(), rounds.end(), std::nullopt));
  }
  [[nodiscard]] double sum(const std::function<double(const PeerRound&)>& figure) const {
    double all = 0;
    for (const auto& round : rounds) all += round ? figure(*round) : 0;
    return all;
  }
  [[nodiscard]] double median(const std::function<double(const PeerRound&)>& figure) const {
    Times times;
    for (const auto& round : rounds) {
      if (round) times.rounds.push_back(figure(*round));
    }
    return times.median();
  }
};

double steps_per_s(const PeerRound& round) { return round.steps / round.seconds; }

// How many times the steps of the other one, in rounds in which both ran.
std::optional<double> times_as_many(const Tally& one, const Tally& other) {
  Times ratios;
  for (std::size_t i = 0; i < one.rounds.size(); ++i) {
    if (!one.rounds[i] || !other.rounds[i] || other.rounds[i]->steps == 0) continue;
    ratios.rounds.push_back(steps_per_s(*one.rounds[i]) / steps_per_s(*other.rounds[i]));
  }
  return ratios.rounds.empty() ? std::nullopt : std::optional(ratios.median());
}

PeerRound run_ours(std::shared_ptr<Store> store, const Work& work, std::string settings) {
  const auto load = runtime_load(std::move(store), work.shape, work.in_flight);
  load->run(kRunUp);
  Measured measured;
  const Round round = load->run(work.length);
  measured.latencies = round.latencies;
  return {.versions = "holdfast " HOLDFAST_VERSION,
          .settings = std::move(settings),
          .steps = static_cast<double>(round.steps),
          .seconds = round.seconds,
          .p50_ms = measured.latency(0.5) / 1000,
          .p99_ms = measured.latency(0.99) / 1000};
}

class PeersBench {
 public:
  PeersBench(Suite& suite, bool quick)
      : suite_(suite), rounds_(quick ? 1 : 3), length_(quick ? 3000ms : 5000ms) {
    suite_.note("disk: " + disk_.file_system());
    add_ours();
    add_peer("duroxide", "sqlite", "duroxide", {"full"});
    add_peer("duroxide_as_shipped", "sqlite", "duroxide", {"normal"});
    add_peer("dbos", "postgres", "dbos", {server_.uri()});
    add_peer("temporal", "sqlite", "temporal", {});
    add_peer("restate", "sqlite", "restate", {});
  }

  void contest(Shape shape, std::size_t in_flight) {
    const Work work{.shape = shape, .in_flight = in_flight, .length = length_};
    std::vector<Tally> tallies(contestants_.size());
    for (int round = 0; round < rounds_; ++round) {
      for (std::size_t i = 0; i < contestants_.size(); ++i) {
        if (!contestants_[i].missing) run_round(contestants_[i], work, tallies[i]);
      }
    }
    const std::string of = std::string(to_string(shape)) + "_c" + std::to_string(in_flight);
    for (std::size_t i = 0; i < contestants_.size(); ++i) report(contestants_[i], tallies[i], tallies, of);
  }

  /// What the contestants said of themselves, and why some of them did not run.
  void notes() {
    for (const Contestant& contestant : contestants_) {
      if (contestant.missing) suite_.note(contestant.name + ": skipped, " + *contestant.missing);
    }
    for (const std::string& note : notes_) suite_.note(note);
  }

 private:
  void add_ours() {
    contestants_.push_back({.name = "sqlite", .run = [this](const Work& work) {
                              const std::filesystem::path folder = new_folder();
                              const PeerRound round =
                                  run_ours(sqlite(folder / "ours.db"), work,
                                           "one process, SQLite in a file, WAL, synchronous=FULL");
                              std::filesystem::remove_all(folder);
                              return round;
                            }});
    contestants_.push_back({.name = "postgres", .run = [this](const Work& work) {
                              return run_ours(
                                  server_.store(), work,
                                  "one process, PostgreSQL by a unix socket, synchronous_commit=on");
                            }});
  }

  // bench/peers/install.sh leaves either a program or the reason why there is none.
  void add_peer(std::string name, std::string beside, const std::string& program,
                std::vector<std::string> more) {
    if (const auto only = suite_.value_of("--only"); only && *only != program) return;
    const std::filesystem::path folder =
        std::filesystem::absolute(suite_.value_of("--peers").value_or("build/peers")) / program;
    Contestant peer{.name = std::move(name), .beside = std::move(beside)};
    if (!std::filesystem::exists(folder / "run")) {
      std::ifstream reason(folder / "skipped");
      std::string text = "it is not installed: `./dev bench peers` does that";
      std::getline(reason, text);
      peer.missing = text;
    }
    peer.run = [this, folder, more = std::move(more)](const Work& work) {
      const std::filesystem::path data = new_folder();
      const PeerRound round = run_peer(folder / "run", data, more, work);
      std::filesystem::remove_all(data);
      return round;
    };
    contestants_.push_back(std::move(peer));
  }

  static PeerRound run_peer(const std::filesystem::path& program, const std::filesystem::path& data,
                            const std::vector<std::string>& more, const Work& work) {
    const auto seconds = std::chrono::duration<double>(work.length).count();
    std::vector<std::string> command{program, std::string(to_string(work.shape)),
                                     std::to_string(work.in_flight), std::to_string(seconds), data};
    command.insert(command.end(), more.begin(), more.end());
    const auto limit = std::chrono::ceil<std::chrono::seconds>(work.length + kRunUp) + kPatience;
    const std::string line = first_line_of(command, data / "log", limit);
    const Result<PeerRound> round = decode<PeerRound>(Payload{.bytes = line});
    if (!round) throw std::runtime_error("printed what is no result: " + line);
    if (round->p50_ms == 0) throw std::runtime_error("not one instance ended");
    return *round;
  }

  void run_round(const Contestant& contestant, const Work& work, Tally& tally) {
    try {
      const PeerRound round = contestant.run(work);
      std::printf("%s, %s, %zu in flight: %.0f steps/s\n", contestant.name.c_str(),
                  std::string(to_string(work.shape)).c_str(), work.in_flight, steps_per_s(round));
      add_note(contestant.name + ": " + round.versions + "; " + round.settings);
      tally.rounds.emplace_back(round);
    } catch (const std::exception& error) {
      std::printf("%s: %s\n", contestant.name.c_str(), error.what());
      tally.failure = error.what();
      tally.rounds.emplace_back();
    }
    std::fflush(stdout);
  }

  void report(const Contestant& contestant, const Tally& tally, const std::vector<Tally>& all,
              const std::string& of) {
    const std::string name = contestant.name + "_" + of;
    if (contestant.missing || tally.failed() == tally.rounds.size()) {
      suite_.add({.name = name, .skipped = contestant.missing.value_or(tally.failure)});
      return;
    }
    if (tally.failed() > 0) {
      add_note(name + ": " + std::to_string(tally.failed()) + " of " + std::to_string(tally.rounds.size()) +
               " rounds failed, the last one: " + tally.failure);
    }
    const double given_up = tally.sum([](const PeerRound& round) { return round.failed; });
    if (given_up > 0) add_note(name + ": it gave up " + std::to_string(std::lround(given_up)) + " instances");
    const auto p50 = [](const PeerRound& round) { return round.p50_ms; };
    const auto p99 = [](const PeerRound& round) { return round.p99_ms; };
    suite_.add({.name = name + "_steps_per_s", .value = tally.median(steps_per_s), .unit = "1/s"});
    suite_.add({.name = name + "_p50_ms", .value = tally.median(p50), .unit = "ms"});
    suite_.add({.name = name + "_p99_ms", .value = tally.median(p99), .unit = "ms"});
    for (std::size_t i = 0; i < contestants_.size(); ++i) {
      if (contestants_[i].name != contestant.beside) continue;
      if (const auto ratio = times_as_many(all[i], tally)) {
        suite_.add({.name = contestant.beside + "_" + of + "_over_" + contestant.name,
                    .value = *ratio,
                    .unit = "x"});
      }
    }
  }

  void add_note(std::string text) {
    if (std::find(notes_.begin(), notes_.end(), text) == notes_.end()) notes_.push_back(std::move(text));
  }
  std::filesystem::path new_folder() {
    const std::filesystem::path folder = disk_ / std::to_string(++folders_);
    std::filesystem::create_directory(folder);
    return folder;
  }

  Suite& suite_;
  int rounds_;
  std::chrono::milliseconds length_;
  DiskFolder disk_;
  PostgresServer server_;
  int folders_ = 0;
  std::vector<Contestant> contestants_;
  std::vector<std::string> notes_;
};

}  // namespace
}  // namespace holdfast::bench

int main(int argc, char** argv) {
  using namespace holdfast::bench;
  try {
    Suite suite("peers", argc, argv);
    PeersBench bench(suite, suite.option("--quick"));
    bench.contest(Shape::p5, 64);
    bench.contest(Shape::s5, 64);
    bench.contest(Shape::s5, 1);
    bench.notes();
    return suite.finish();
  } catch (const std::exception& error) {
    std::cerr << "bench_peers: " << error.what() << "\n";
    return 1;
  }
}
