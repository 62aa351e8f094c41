// expect: holdfast: the inputs and the result of an activity travel to another process
#include <holdfast/activity.hpp>

inline constexpr holdfast::Activity<const char*(int)> kCharge{"charge"};
