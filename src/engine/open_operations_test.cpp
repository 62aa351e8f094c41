#include "engine/open_operations.hpp"

#include <holdfast/random.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

namespace holdfast::engine::open_operations_test {
namespace {

using detail::OpState;

struct Started : OpState {
  explicit Started(std::uint64_t number) { id = EventId{number}; }
};

std::vector<std::uint64_t> ids_of(const OpenOperations& open) {
  std::vector<std::uint64_t> ids;
  for (const OpState* state : open.list()) ids.push_back(state->id.value);
  return ids;
}

TEST(OpenOperations, AreFoundByIdAndListedInOrder) {
  Started a(3);
  Started b(4);
  Started c(9);
  OpenOperations open;
  EXPECT_EQ(open.find(EventId{3}), nullptr);
  open.add(a);
  open.add(b);
  open.add(c);
  EXPECT_EQ(open.find(EventId{3}), &a);
  EXPECT_EQ(open.find(EventId{4}), &b);
  EXPECT_EQ(open.find(EventId{9}), &c);
  for (const std::uint64_t absent : {0U, 1U, 2U, 5U, 8U, 10U, 1000U}) {
    EXPECT_EQ(open.find(EventId{absent}), nullptr) << absent;
  }
  EXPECT_EQ(ids_of(open), (std::vector<std::uint64_t>{3, 4, 9}));
}

TEST(OpenOperations, RemovingOneTwiceOrOneThatIsNotThereHasNoEffect) {
  Started a(3);
  Started b(5);
  Started c(6);
  OpenOperations open;
  open.remove(EventId{3});
  open.add(a);
  open.add(b);
  open.add(c);
  open.remove(EventId{5});
  open.remove(EventId{5});
  open.remove(EventId{4});
  EXPECT_EQ(ids_of(open), (std::vector<std::uint64_t>{3, 6}));
}

// Any mix of starts and outcomes, against a map.
TEST(OpenOperations, GapsAreNeverSeen) {
  SeededRandom random(7);
  std::deque<Started> states;
  std::map<EventId, OpState*> model;
  OpenOperations open;
  std::uint64_t next = 1;
  for (int i = 0; i < 20'000; ++i) {
    // Long phases in which more are added than removed, and the other way round.
    const std::uint64_t share = i / 1000 % 2 == 0 ? 7 : 3;
    if (below(random, 10) < share) {
      next += 1 + below(random, 3);
      open.add(states.emplace_back(next));
      model.emplace(states.back().id, &states.back());
    } else if (!model.empty()) {
      auto victim = model.lower_bound(EventId{below(random, next + 1)});
      if (victim == model.end()) victim = model.begin();
      open.remove(victim->first);
      model.erase(victim);
    }
    const EventId probe{below(random, next + 3)};
    const auto expected = model.find(probe);
    ASSERT_EQ(open.find(probe), expected == model.end() ? nullptr : expected->second) << i;
  }
  std::vector<OpState*> left;
  for (const auto& [id, state] : model) left.push_back(state);
  EXPECT_EQ(open.list(), left);
}

}  // namespace
}  // namespace holdfast::engine::open_operations_test
