// expect: holdfast: the members of this type can't be found by reflection
#include <holdfast/codec.hpp>

struct Tag {};
struct Document : Tag {
  std::string title{};
};

holdfast::Payload payload = holdfast::encode(Document{});
