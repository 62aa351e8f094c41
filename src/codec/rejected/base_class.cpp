// expect: holdfast: the members of this type can't be found by reflection
#include <holdfast/codec.hpp>

struct Entity {
  int version = 1;
};
struct Document : Entity {
  std::string title{};
};

holdfast::Payload payload = holdfast::encode(Document{});
