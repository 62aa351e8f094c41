// expect: holdfast: an orchestration takes its inputs by value
// expect: holdfast: a pointer can't be the input of an orchestration
// expect: holdfast: a std::string_view can't be the input of an orchestration
#include <holdfast/detail/orchestration.hpp>

using namespace holdfast;

struct Order {
  int id = 0;
};

Task<> by_reference(Context&, const Order&) { co_return; }
Task<> by_rvalue_reference(Context&, std::string&&) { co_return; }
Task<> by_pointer(Context&, int, const char*) { co_return; }
Task<> by_view(Context&, std::string_view) { co_return; }

auto reference = detail::make_orchestration(by_reference);                // rejected here
auto rvalue_reference = detail::make_orchestration(by_rvalue_reference);  // rejected here
auto pointer = detail::make_orchestration(by_pointer);                    // rejected here
auto view = detail::make_orchestration(by_view);                          // rejected here
