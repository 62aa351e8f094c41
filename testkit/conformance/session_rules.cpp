// The rules of sessions, one by one.
#include "testkit/conformance/story.hpp"

HOLDFAST_CONFORMANCE_FILE(session_rules);

namespace holdfast::testing::conformance {
namespace {

STORE_TEST(SessionRules, GenerationsOfTheWholeStoreOnlyGrow) {
  const Worker a = join("a");
  const Worker b = join("b");
  std::vector<Generation> generations{a.acquire("gpu").session.generation,
                                      a.acquire("cpu").session.generation};
  pass(a.info.abilities.session_lease);
  generations.push_back(b.acquire("gpu").session.generation);
  pass(b.info.abilities.session_lease);
  generations.push_back(b.acquire("gpu").session.generation);
  EXPECT_EQ(generations, (std::vector{Generation{1}, Generation{2}, Generation{3}, Generation{4}}));
}

}  // namespace
}  // namespace holdfast::testing::conformance
