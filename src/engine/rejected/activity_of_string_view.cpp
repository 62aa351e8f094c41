// expect: holdfast: the inputs and the result of an activity travel to another process
#include <holdfast/activity.hpp>

inline constexpr holdfast::Activity<int(std::string_view)> kCharge{"charge"};
