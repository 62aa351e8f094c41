// expect: holdfast: an orchestration can only await operations of its Context
#include <holdfast/context.hpp>

holdfast::Task<> ship(holdfast::Context&) { co_await std::suspend_always{}; }
