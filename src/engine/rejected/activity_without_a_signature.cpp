// expect: holdfast: the type of an activity is its signature, as in Activity<Receipt(Order)>
#include <holdfast/activity.hpp>

inline constexpr holdfast::Activity<int> kCharge{"charge"};
