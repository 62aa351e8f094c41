// expect: holdfast: an operation or Task is used up by awaiting it
#include <holdfast/context.hpp>

holdfast::Task<> ship(holdfast::Context& ctx) {
  auto pack = ctx.activity<int>("pack");
  co_await pack;
}
