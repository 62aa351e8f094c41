// What Run::history() makes of a store whose history is damaged, goes away, or does not come.
#include "codec/segment.hpp"
#include "testkit/support/forwarding_store.hpp"

#include <holdfast/client.hpp>
#include <holdfast/history_file.hpp>
#include <holdfast/memory.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::client::stored_turns_test {
namespace {

std::string turn(std::uint64_t first) {
  history::SegmentWriter writer(EventId{first});
  writer.add(history::TurnStarted{});
  writer.add(history::Started{.name = "sell", .version = "1"});
  return writer.finish();
}

/// Has one instance, in its third execution.
class StoreOfOne final : public support::ForwardingStore {
 public:
  StoreOfOne() : ForwardingStore(memory()) {}

  std::vector<store::Segment> segments{{{1}, turn(1)}, {{3}, turn(3)}, {{5}, turn(5)}};
  ExecutionNumber execution{3};  ///< whose history this is
  int outages = 0;
  bool exists = true;

  StoreResult<store::InstanceView> find(std::string_view id) override {
    if (!exists) return Unexpected(StoreError{.kind = StoreError::Kind::not_found, .message = "none"});
    return store::InstanceView{
        .key = {7}, .instance = std::string(id), .code = {.name = "sell", .version = "2"}, .execution = {3}};
  }
  StoreResult<std::vector<std::optional<store::InstanceView>>> look(
      std::span<const InstanceKey> keys) override {
    std::vector<std::optional<store::InstanceView>> views(keys.size());
    if (exists) views.front() = *find("one");
    return views;
  }
  StoreResult<std::vector<store::Segment>> read_history(InstanceKey /*key*/, ExecutionNumber which,
                                                        EventId after, std::size_t max_bytes) override {
    if (outages > 0) {
      --outages;
      return Unexpected(StoreError{.kind = StoreError::Kind::unavailable, .message = "an outage"});
    }
    if (!exists) return Unexpected(StoreError{.kind = StoreError::Kind::not_found, .message = "none"});
    std::vector<store::Segment> some;
    std::size_t bytes = 0;
    for (const store::Segment& segment : segments) {
      if (which != execution || segment.first_event <= after) continue;
      bytes += segment.bytes.size();
      if (!some.empty() && bytes > max_bytes) break;
      some.push_back(segment);
    }
    return some;
  }
};

class StoredHistory : public ::testing::Test {
 protected:
  using Run = holdfast::Run;  // not the test framework's own

  std::shared_ptr<StoreOfOne> store = std::make_shared<StoreOfOne>();
  Client client{store, {.pause = [](Duration) {}}};
  Run run = client.run("one");
};

std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const ClientError& e) {
    return std::string(to_string(e.kind())) + ": " + e.failure().message;
  }
  return "";
}

TEST_F(StoredHistory, ComesInPagesOfWholeTurns) {
  HistoryPage page = run.history({.max_bytes = 1});
  EXPECT_EQ(page.execution, ExecutionNumber{3});
  EXPECT_EQ(page.events.size(), 2U);
  ASSERT_TRUE(page.next);
  page = run.history(*page.next);
  EXPECT_EQ(page.events.front().id, EventId{3});
  page = run.history({.after = {2}});
  EXPECT_EQ(page.events.size(), 4U);
  EXPECT_FALSE(page.next);
  EXPECT_TRUE(run.history({.after = {6}}).events.empty());
  EXPECT_EQ(client.history("one").events.size(), 6U);
  EXPECT_EQ(refusal([&] { static_cast<void>(run.history({.max_bytes = 0})); }),
            "invalid: a page's limit is 0, and must be above zero");
}

TEST_F(StoredHistory, IsAskedForAgainWhenTheStoreIsAway) {
  store->outages = 3;
  EXPECT_EQ(run.history().events.size(), 6U);
}

TEST_F(StoredHistory, ThatIsDamagedIsNamedWithItsPlace) {
  store->segments[1].bytes.back() ^= 1;
  const std::string damaged =
      "damaged: the history of instance 'one', execution 3, can't be read from event 3 on: the checksum of "
      "this segment of history is wrong: it is damaged or cut off";
  EXPECT_EQ(refusal([&] { static_cast<void>(run.history()); }), damaged);
  EXPECT_EQ(refusal([&] { static_cast<void>(read_history(run)); }), damaged);
  store->segments[1].bytes = turn(4);
  EXPECT_EQ(
      refusal([&] { static_cast<void>(run.history()); }),
      "damaged: the history of instance 'one', execution 3, can't be read from event 3 on: the events of "
      "this turn have other numbers");
  store->segments.erase(store->segments.begin() + 1);
  EXPECT_EQ(refusal([&] { static_cast<void>(run.history()); }),
            "damaged: the history of instance 'one', execution 3, can't be read from event 3 on: the events "
            "from 3 to 4 are missing");
}

TEST_F(StoredHistory, ThatIsPrunedBetweenTwoPagesIsNotTakenForItsEnd) {
  store->execution = {2};
  const HistoryPage page = run.history({.execution = {2}, .max_bytes = 1});
  ASSERT_TRUE(page.next);
  store->segments.clear();
  const std::string pruned =
      "not_found: the history of execution 2 of instance 'one' was pruned; Run::executions() lists those "
      "that "
      "are there";
  EXPECT_EQ(refusal([&] { static_cast<void>(run.history(*page.next)); }), pruned);
  EXPECT_EQ(refusal([&] { static_cast<void>(read_history(run, ExecutionNumber{2})); }), pruned);
}

TEST_F(StoredHistory, OfAnExecutionThatNeverWasIsNotFound) {
  EXPECT_EQ(refusal([&] { static_cast<void>(run.history({.execution = {4}})); }),
            "not_found: execution 4 of instance 'one' does not exist: the current one is execution 3");
}

TEST_F(StoredHistory, OfAnInstanceThatIsGoneIsNotFound) {
  store->exists = false;
  const std::string gone = "not_found: instance 'one' was deleted";
  EXPECT_EQ(refusal([&] { static_cast<void>(run.history()); }), gone);
  EXPECT_EQ(refusal([&] { static_cast<void>(run.history({.execution = {3}})); }), gone);
  EXPECT_EQ(refusal([&] { static_cast<void>(run.executions()); }), gone);
  EXPECT_EQ(refusal([&] { static_cast<void>(read_history(run)); }), gone);
  EXPECT_THROW(static_cast<void>(Run().history()), std::logic_error);
}

TEST_F(StoredHistory, HasTheVersionThatItsExecutionBeganIn) {
  EXPECT_EQ(read_history(run).header(), (HistoryHeader{"one", {3}, "sell", "1"}));
  store->segments.clear();
  EXPECT_EQ(read_history(run).header(), (HistoryHeader{"one", {3}, "sell", "2"}));
}

}  // namespace
}  // namespace holdfast::client::stored_turns_test
