#include "base/moments.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using Count = Duration::rep;
using Wide = __int128;

constexpr Count kLeast = std::numeric_limits<Count>::min();
constexpr Count kMost = std::numeric_limits<Count>::max();

Count within_range(Wide value) {
  return static_cast<Count>(std::clamp(value, static_cast<Wide>(kLeast), static_cast<Wide>(kMost)));
}

/// Any value, and often one near an end of the range or near zero.
rc::Gen<Count> counts() {
  return rc::gen::mapcat(rc::gen::inRange(-3, 4), [](int near) {
    return rc::gen::oneOf(
        rc::gen::arbitrary<Count>(), rc::gen::just(near < 0 ? kMost + near : kLeast + near),
        rc::gen::just(Count{near}),
        rc::gen::map(rc::gen::inRange<Count>(-7'200'000'000, 7'200'000'000), [](Count c) { return c; }));
  });
}

BootTime boot(Count count) { return BootTime(Duration(count)); }

RC_GTEST_PROP(Moments, ASumIsTheTrueOneOrTheEndOfTheRange, ()) {
  const Count from = *counts(), by = *counts();
  const BootTime sum = after(boot(from), Duration(by));
  const bool endless = by == kMost || from == kMost;
  RC_ASSERT(sum.time_since_epoch().count() == (endless ? kMost : within_range(Wide{from} + by)));
  RC_ASSERT(after(CalendarTime(Duration(from)), Duration(by)).time_since_epoch() == sum.time_since_epoch());
}

RC_GTEST_PROP(Moments, ADifferenceIsTheTrueOneAndNeverNegative, ()) {
  const Count moment = *counts(), now = *counts();
  const Count expected = moment == kMost ? kMost : within_range(std::max(Wide{moment} - now, Wide{0}));
  RC_ASSERT(left(boot(moment), boot(now)) == Duration(expected));
}

RC_GTEST_PROP(Moments, ALaterStartNeverLeadsToAnEarlierEnd, ()) {
  const Count a = *counts(), b = *counts(), by = *counts();
  RC_ASSERT(after(boot(std::min(a, b)), Duration(by)) <= after(boot(std::max(a, b)), Duration(by)));
}

TEST(Moments, NeverIsNeverAlsoOnAMachineThatHasNotBootedYet) {
  EXPECT_EQ(after(BootTime{-1h}, never), BootTime::max());
  EXPECT_EQ(after(BootTime{-1h}, 2s), BootTime{-1h + 2s});
  EXPECT_EQ(after(BootTime::max(), -1h), BootTime::max());
  EXPECT_EQ(left(BootTime::max(), BootTime{-1h}), never);
  EXPECT_EQ(left(BootTime{-2h}, BootTime{-1h}), 0s);
}

}  // namespace
}  // namespace holdfast
