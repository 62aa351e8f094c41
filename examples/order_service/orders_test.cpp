// The order service as its users see it: processes on one store, killed at any moment. The ledger tells what
// was done for each order, and what was taken back.
#include "examples/support/ledger.hpp"
#include "examples/support/processes_test.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

const char* support::testing::program() { return HOLDFAST_PROGRAM; }

namespace orders {
namespace {

using support::LedgerEntries;
using support::LedgerEntry;
using support::testing::Application;
using support::testing::eventually;
using support::testing::Finished;
using support::testing::lines_of;
using support::testing::Process;
using support::testing::StoreKind;

using Pair = std::pair<std::string, std::string>;
const std::array<Pair, 4> kSteps{Pair{"reserve_stock", "release_stock"}, Pair{"charge_card", "refund_card"},
                                 Pair{"pack", "unpack"}, Pair{"ship", "recall"}};

bool is_shipped(const std::string& state) { return state.starts_with("shipped"); }
bool has_ended(const std::string& state) {
  return is_shipped(state) || state.starts_with("rejected") || state.starts_with("cancelled");
}

/// The service with its ledger.
class Shop : public Application {
 public:
  using Application::Application;

  [[nodiscard]] std::unique_ptr<Process> worker(const std::string& name,
                                                const std::string& latency = "20ms") const {
    return start_worker(
        {"worker", "--name", name, "--ledger", folder() / "ledger", "--latency", latency, "--lease", "1s"});
  }

  /// How each order stands: "o-1" -> "shipped, parcel-1234".
  [[nodiscard]] std::map<std::string, std::string> all() const {
    std::map<std::string, std::string> orders;
    for (const std::string& line : lines_of(succeed({"list"}))) {
      const std::size_t colon = line.find(": ");
      orders[line.substr(0, colon)] = line.substr(colon + 2);
    }
    return orders;
  }
  /// The same, once all have ended.
  [[nodiscard]] std::map<std::string, std::string> ended() const {
    for (const auto& [id, state] : all()) {
      if (has_ended(state)) continue;
      const Finished waited = run({"wait", id, "--timeout", "60s"});
      EXPECT_TRUE(waited.status == 0 || waited.status == 2) << waited.output;
    }
    return all();
  }
  [[nodiscard]] LedgerEntries entries() const { return support::Ledger(folder() / "ledger").entries(); }
};

/// What was done for one order: done exactly once and kept when it was shipped, taken back exactly when it
/// was not.
void expect_exact(const std::string& id, const std::string& state, const LedgerEntries& entries) {
  SCOPED_TRACE(id + ": " + state);
  std::map<std::string, int> times;
  for (const LedgerEntry& entry : entries) times[entry.action] += entry.subject == id ? 1 : 0;
  for (const auto& [step, undo] : kSteps) {
    SCOPED_TRACE(step);
    if (is_shipped(state)) {
      EXPECT_EQ(times[step], 1);
      EXPECT_EQ(times[undo], 0);
      continue;
    }
    EXPECT_LE(times[step], 1);
    EXPECT_LE(times[undo], 1);
    if (times[step] == 0) continue;
    ASSERT_EQ(times[undo], 1) << "what was done is not undone";
    const LedgerEntry* const done = find_entry(entries, step, id);
    const LedgerEntry* const undone = find_entry(entries, undo, id);
    EXPECT_EQ(undone->amount, done->amount);
    EXPECT_EQ(undone->note, done->note);
  }
}

void expect_exact(const std::map<std::string, std::string>& orders, const LedgerEntries& entries) {
  std::set<std::string> keys;
  for (const LedgerEntry& entry : entries) EXPECT_TRUE(keys.insert(entry.key).second) << entry.key;
  for (const auto& [id, state] : orders) expect_exact(id, state, entries);
}

class OrdersOn : public ::testing::TestWithParam<StoreKind> {};

INSTANTIATE_TEST_SUITE_P(Stores, OrdersOn, ::testing::Values(StoreKind::sqlite, StoreKind::postgres),
                         [](const auto& store) { return std::string(to_string(store.param)); });

TEST_P(OrdersOn, AreFulfilledOrUndoneExactlyWhereverWorkersAreKilled) {
  const Shop shop(GetParam());
  shop.succeed({"place", "one-globe", "globe"});
  shop.succeed({"place", "other-globe", "globe"});
  shop.succeed({"place", "too-dear", "diamond"});
  shop.succeed({"approve", "too-dear"});
  shop.succeed({"place", "unwanted", "desk"});
  shop.succeed({"place", "refused", "desk"});
  shop.succeed({"reject", "refused"});

  std::vector<std::string> places{"charge_card done", "recall begins", "reserve_stock begins", "ship begins",
                                  "refund_card done"};
  if (GetParam() == StoreKind::postgres) places.resize(2);  // each command takes longer to connect
  for (std::size_t i = 0; i < places.size(); ++i) {
    // Fresh orders, so that each worker comes to all places: one that is shipped, and one that nobody
    // carries.
    shop.succeed({"place", "good-" + std::to_string(i), "lamp=2", "chair"});
    shop.succeed({"place", "heavy-" + std::to_string(i), "piano"});
    shop.succeed({"approve", "heavy-" + std::to_string(i)});
    const auto worker = shop.worker("worker-" + std::to_string(i % 2));
    ASSERT_TRUE(worker->says(places[i]));
    worker->crash();
  }

  // Two at once, one of which dies.
  const auto first = shop.worker("worker-0");
  const auto second = shop.worker("worker-1");
  shop.succeed({"place", "last", "chair=3"});
  ASSERT_TRUE(eventually([&] { return shop.all().at("unwanted") == "awaiting approval"; }));
  shop.succeed({"cancel", "unwanted", "changed my mind"});
  ASSERT_TRUE(eventually([&] { return first->count(" begins") + second->count(" begins") > 3; }));
  second->crash();

  const std::map<std::string, std::string> orders = shop.ended();
  first->signal(SIGTERM);
  EXPECT_EQ(first->wait(), 0) << first->output();
  EXPECT_EQ(first->count("has finished what it had"), 1U);

  const LedgerEntries entries = shop.entries();
  expect_exact(orders, entries);
  EXPECT_TRUE(is_shipped(orders.at("last")));
  EXPECT_NE(is_shipped(orders.at("one-globe")), is_shipped(orders.at("other-globe")));
  EXPECT_EQ(orders.at("too-dear"), "rejected, the card does not cover it");
  EXPECT_EQ(orders.at("unwanted"), "cancelled, changed my mind");
  EXPECT_EQ(find_entry(entries, "release_stock", "unwanted")->note, "desk=1");
  EXPECT_TRUE(orders.at("refused").starts_with("rejected, rejected by ")) << orders.at("refused");
  for (std::size_t i = 0; i < places.size(); ++i) {
    EXPECT_TRUE(is_shipped(orders.at("good-" + std::to_string(i))));
    EXPECT_EQ(orders.at("heavy-" + std::to_string(i)), "rejected, no carrier takes a piano");
    EXPECT_EQ(find_entry(entries, "refund_card", "heavy-" + std::to_string(i))->amount, 9'000'00);
  }
}

TEST(Orders, CancelledAtAnyStepLeaveNothingBehind) {
  const Shop shop(StoreKind::sqlite);
  auto first = shop.worker("worker-0", "100ms");
  const auto second = shop.worker("worker-1", "100ms");
  for (const auto& [step, undo] : kSteps) {
    for (const std::string& place : {step + " begins", step + " done"}) {
      std::string id = place;
      id[id.find(' ')] = '-';
      shop.succeed({"place", id, "lamp"});
      ASSERT_TRUE(
          eventually([&] { return first->count(id + " " + place) + second->count(id + " " + place) > 0; }));
      const Finished cancelled = shop.run({"cancel", id});
      if (cancelled.status != 0) {
        EXPECT_NE(cancelled.output.find(id), std::string::npos) << cancelled.output;  // it was shipped before
      }
      if (place == "pack begins") {
        first->crash();
        first = shop.worker("worker-0", "100ms");
      }
    }
  }
  const std::map<std::string, std::string> orders = shop.ended();
  expect_exact(orders, shop.entries());
  for (const auto& [id, state] : orders) {
    const bool possible = state.starts_with("cancelled, the customer cancelled it") || is_shipped(state);
    EXPECT_TRUE(possible) << id << ": " << state;
  }
}

TEST(Orders, SayWhatIsWrongWithACommand) {
  const Shop shop(StoreKind::sqlite);
  shop.expect({"list"}, 1, "yet: start a worker, or correct --store");  // nobody has made the store yet
  shop.expect({}, 64, "a command is missing");
  shop.expect({"plaice"}, 64, "there is no command 'plaice'");
  shop.expect({"place", "o-1"}, 64, "place needs an id and at least one item");
  shop.expect({"place", "o-1", "lamp=many"}, 64, "not 'lamp=many'");
  shop.expect({"place", "o-1", "boat"}, 64, "nothing is sold here as 'boat'; there are chair, desk");
  shop.expect({"worker", "--lease", "soon"}, 64, "--lease is a time such as 250ms");
  shop.expect({"worker", "--wings", "2"}, 64, "there is no option --wings");
  shop.expect({"show"}, 64, "show needs the id of an order");
  shop.expect({"--help"}, 0, "usage: orders");

  shop.succeed({"place", "o-1", "desk"});
  shop.succeed({"place", "o-1", "desk"});  // the same once more
  shop.expect({"place", "o-1", "lamp"}, 1, "there is another order 'o-1'");
  shop.expect({"show", "o-2"}, 1, "there is no order 'o-2'");
  shop.expect({"wait", "o-1", "--timeout", "1ms"}, 3, "o-1: placed");
  const auto worker = shop.worker("worker");
  ASSERT_TRUE(worker->says("reserve_stock done"));
  ASSERT_TRUE(eventually(
      [&] { return shop.succeed({"show", "o-1"}).find("waits for event decision") != std::string::npos; }));
  shop.expect({"show", "o-1"}, 0, "o-1: awaiting approval");
  shop.expect({"approve", "o-1"}, 0, "o-1: approved");
  shop.expect({"wait", "o-1", "--timeout", "60s"}, 0, "o-1: shipped, parcel-");
  shop.succeed({"place", "o-3", "globe", "globe"});  // there is only one
  shop.expect({"wait", "o-3", "--timeout", "60s"}, 2, "o-3: rejected, there are not 2 of 'globe' left");
  shop.expect({"cancel", "o-1"}, 1, "order 'o-1' can't be cancelled any more: shipped, parcel-");
  worker->signal(SIGINT);
  EXPECT_EQ(worker->wait(), 0) << worker->output();
}

}  // namespace
}  // namespace orders
