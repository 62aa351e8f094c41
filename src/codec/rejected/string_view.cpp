// expect: holdfast: a std::string_view or const char* does not own its text and can't be decoded
#include <holdfast/codec.hpp>

auto result = holdfast::decode<std::string_view>(holdfast::Payload{});
