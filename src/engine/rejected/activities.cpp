// expect: holdfast: the inputs and the result of an activity travel to another process
// expect: holdfast: the type of an activity is its signature, as in Activity<Receipt(Order)>
#include <holdfast/activity.hpp>

using namespace holdfast;

struct Order {
  int id = 0;
};

inline constexpr Activity<int(const Order&)> kReference{"charge"};  // rejected here
inline constexpr Activity<int(std::string_view)> kView{"charge"};   // rejected here
inline constexpr Activity<const char*(int)> kPointer{"charge"};     // rejected here
inline constexpr Activity<Order> kWithoutSignature{"charge"};       // rejected here
