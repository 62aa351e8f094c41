// expect: holdfast: the inputs and the result of an activity travel to another process
#include <holdfast/activity.hpp>

struct Order {
  int id = 0;
};

inline constexpr holdfast::Activity<int(const Order&)> kCharge{"charge"};
