// expect: holdfast: the members of this type can't be found by reflection
#include <holdfast/codec.hpp>

class Account {
 public:
  explicit Account(int balance) : balance_(balance) {}

 private:
  int balance_;
};

holdfast::Payload payload = holdfast::encode(Account(5));
