#include "runtime/suspect.hpp"

#include <gtest/gtest.h>

namespace holdfast::runtime::suspect_test {
namespace {

TEST(SuspectInstance, OnlyTheOneThatIsMeantIsCleared) {
  SuspectInstance suspect;
  EXPECT_EQ(suspect.current(), InstanceKey{});
  EXPECT_FALSE(suspect.clear(InstanceKey{})) << "none is none";
  suspect.set(InstanceKey{7});
  EXPECT_FALSE(suspect.clear(InstanceKey{8}));
  EXPECT_EQ(suspect.current(), InstanceKey{7});
  EXPECT_TRUE(suspect.clear(InstanceKey{7}));
  EXPECT_FALSE(suspect.clear(InstanceKey{7}));
}

}  // namespace
}  // namespace holdfast::runtime::suspect_test
