// expect: holdfast: the members of this type can't be found by reflection
#include <holdfast/codec.hpp>

struct Packet {
  int header[3] = {};
  int sequence = 0;
};

holdfast::Payload payload = holdfast::encode(Packet{});
