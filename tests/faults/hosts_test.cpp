// Workers on several hosts, with settings and clocks that differ, one of which is cut off for a while.
#include "conversation.hpp"
#include "network_test.hpp"
#include "workload_test.hpp"

#include <algorithm>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <sstream>

namespace holdfast::faults {
namespace {

/// A line as a worker wrote it down.
struct Line {
  std::string session{};
  std::uint64_t generation = 0;
  std::string node{};
  std::int64_t time = 0;
};

struct Settings {
  std::string node{};
  int lease = 500;
  int session_lease = 1000;
  int idle_timeout = 2000;
  int session_limit = 4;
  int slots = 4;
  std::string clock_offset = "0";  ///< of its calendar, in seconds
  std::string uptime = "86400";    ///< when it begins
};

/// All have room for 4 sessions.
const std::vector<Settings> kHosts{
    {.node = "a", .lease = 500, .session_lease = 1000},
    {.node = "b", .lease = 900, .session_lease = 1500, .slots = 2, .clock_offset = "3600", .uptime = "0"},
    {.node = "c", .idle_timeout = 400, .slots = 8, .clock_offset = "-3600", .uptime = "-3600"},
    {.node = "d", .lease = 700, .session_lease = 800},
};

class Hosts : public ::testing::Test {
 protected:
  using Run = holdfast::Run;  // not the test framework's own

  Hosts() {
    std::ofstream file(lines_file);
    if (network.is_real()) {
      std::ofstream(server->folder() + "/data/pg_hba.conf", std::ios::app) << "host all all samenet trust\n";
      run_sql(server->uri(), "SELECT pg_reload_conf()");
    } else {
      std::cout << "THIS USER MAY NOT HAVE A NETWORK: hosts are processes, and who is cut off is stopped\n";
    }
  }
  ~Hosts() override {
    if (HasFailure()) {
      for (const Settings& host : kHosts) std::cout << "---- " << host.node << "\n" << log_of(host.node);
    }
  }

  std::unique_ptr<TestServer> start_server() const {
    if (network.is_real()) {
      const std::string settings = "-c listen_addresses=" + Network::address();
      ::setenv("HOLDFAST_POSTGRES_SETTINGS", settings.c_str(), 1);
    }
    auto started = std::make_unique<TestServer>();
    ::unsetenv("HOLDFAST_POSTGRES_SETTINGS");
    return started;
  }
  std::unique_ptr<Host> start_host(int number) const {
    const Settings& host = kHosts.at(static_cast<std::size_t>(number));
    const std::string uri =
        network.is_real() ? "host=" + Network::address() + " user=holdfast dbname=postgres" : server->uri();
    std::vector<std::string> command{HOLDFAST_FAULTS_WORKER, uri, host.node, lines_file};
    for (const int value :
         {host.lease, host.session_lease, host.idle_timeout, host.session_limit, host.slots}) {
      command.push_back(std::to_string(value));
    }
    return std::make_unique<Host>(
        network, number, command,
        std::vector{"HOLDFAST_TEST_CLOCK_OFFSET=" + host.clock_offset, "HOLDFAST_TEST_UPTIME=" + host.uptime},
        folder / (host.node + ".log"));
  }

  std::vector<Line> lines() const {
    std::vector<Line> all;
    std::ifstream file(lines_file);
    for (std::string text; std::getline(file, text);) {
      Line line;
      std::istringstream(text) >> line.session >> line.generation >> line.node >> line.time;
      all.push_back(line);
    }
    return all;
  }
  /// Sessions that it holds.
  std::int64_t held_by(const std::string& node) const {
    return std::ranges::count_if(client.list_sessions(), [&](const SessionInfo& session) {
      return session.owner == node && session_status(session) == "active";
    });
  }
  std::string log_of(const std::string& node) const {
    std::ifstream file(folder / (node + ".log"));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void converse_in(int from, int to) {
    for (int i = from; i < to; ++i) {
      runs.push_back(
          client.start("converse", {.id = "talk-" + std::to_string(i)}, "session-" + std::to_string(i)));
    }
  }
  /// Until each conversation had one more line, from anybody but this node.
  bool all_get_on_without(const std::string& node) const {
    const std::size_t before = lines().size();
    return eventually([&] {
      std::set<std::string> sessions;
      const std::vector<Line> now = lines();
      for (std::size_t i = before; i < now.size(); ++i) {
        if (now[i].generation > 0 && now[i].node != node) sessions.insert(now[i].session);
      }
      return sessions.size() == runs.size();
    });
  }

  const support::TemporaryFolder folder;
  const std::string lines_file = folder / "lines";
  const Network network;
  const std::unique_ptr<TestServer> server = start_server();
  Client client{postgres(server->uri()), {.retry_for = kSoon}};
  std::vector<Run> runs;
};

TEST_F(Hosts, OneThatIsCutOffLosesItsSessionsAndTakesNewOnesWhenItIsBack) {
  const auto cut = start_host(3);
  converse_in(0, 4);
  ASSERT_TRUE(eventually([&] { return held_by("d") == 4; }));
  std::vector<std::unique_ptr<Host>> others;
  for (int i = 0; i < 3; ++i) others.push_back(start_host(i));
  converse_in(4, 12);
  ASSERT_TRUE(all_get_on_without("nobody"));

  // The others have room for all.
  cut->cut_off();
  ASSERT_TRUE(eventually([&] { return held_by("d") == 0; }));
  ASSERT_TRUE(all_get_on_without("d"));
  // It finds out by itself: its calls are not held up for ever by what the network swallows.
  if (network.is_real()) {
    ASSERT_TRUE(
        eventually([&] { return log_of("d").find("the store could not answer") != std::string::npos; }));
  }
  std::uint64_t last = 0;
  for (const Line& line : lines()) last = std::max(last, line.generation);
  cut->join_again();
  // More than the others can hold.
  converse_in(12, 16);
  ASSERT_TRUE(eventually([&] {
    return std::ranges::any_of(lines(),
                               [&](const Line& line) { return line.node == "d" && line.generation > last; });
  }));
  EXPECT_TRUE(
      eventually([&] { return log_of("d").find("a session has left this worker") != std::string::npos; }));

  for (const Run& run : runs) run.raise("end", 1);
  std::map<std::pair<std::string, std::uint64_t>, std::set<std::string>> owners;
  for (const Run& run : runs) {
    const auto said = run.wait<std::vector<Said>>(kSoon);
    for (std::size_t i = 0; i < said.size(); ++i) {
      owners[{"session-" + run.id().substr(5), said[i].generation}].insert(said[i].node);
      if (i > 0) EXPECT_LE(said[i - 1].generation, said[i].generation);
    }
  }
  const std::int64_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::map<std::string, std::int64_t> offsets;
  for (const Line& line : lines()) {
    if (line.generation > 0) owners[{line.session, line.generation}].insert(line.node);
    offsets[line.node] = line.time - now;
  }
  for (const auto& [key, nodes] : owners) {
    EXPECT_EQ(nodes.size(), 1U) << key.first << " had two owners in generation " << key.second;
  }
  EXPECT_GT(offsets["b"], 1800) << "its clock was to be an hour ahead";
  EXPECT_LT(offsets["c"], -1800) << "its clock was to be an hour behind";
  EXPECT_TRUE(cut->end());
  for (const auto& host : others) EXPECT_TRUE(host->end());
}

}  // namespace
}  // namespace holdfast::faults
