// expect: holdfast: a std::string_view or const char* does not own its text and can't be decoded
#include <holdfast/codec.hpp>

struct Greeting {
  std::string_view text{};
};

auto result = holdfast::decode<Greeting>(holdfast::Payload{});
