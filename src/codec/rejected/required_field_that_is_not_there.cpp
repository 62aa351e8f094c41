// expect: holdfast: HOLDFAST_REQUIRED names a field that the type doesn't have
#include <holdfast/codec.hpp>

struct Order {
  HOLDFAST_REQUIRED(id, quantty)
  int id = 0;
  int quantity = 0;
};

auto result = holdfast::decode<Order>(holdfast::Payload{});
