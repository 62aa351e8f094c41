// expect: holdfast: the names of an unscoped enum without a fixed type can't be found
#include <holdfast/codec.hpp>

enum Color { red, green };
struct Car {
  Color color = red;
};

holdfast::Payload payload = holdfast::encode(Car{});
