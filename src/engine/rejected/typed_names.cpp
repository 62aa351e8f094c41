// expect: holdfast: the inputs and the result of an orchestration are stored
// expect: holdfast: the type of an orchestration is its signature, as in Orchestration<Receipt(Order)>
// expect: holdfast: the value of an event is stored
// expect: holdfast: messages are stored
#include <holdfast/messages.hpp>
#include <holdfast/orchestration.hpp>

using namespace holdfast;

inline constexpr Orchestration<int(std::string_view)> kView{"sell"};  // rejected here
inline constexpr Orchestration<int> kWithoutSignature{"sell"};        // rejected here
inline constexpr Event<const char*> kPointer{"decision"};             // rejected here
inline constexpr Mailbox<std::string_view> kMailbox{"orders"};        // rejected here
