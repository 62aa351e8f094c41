// expect: holdfast: a pointer means nothing in another process
#include <holdfast/codec.hpp>

struct Node {
  int value = 0;
  Node* next = nullptr;
};

holdfast::Payload payload = holdfast::encode(Node{});
