// expect: holdfast: braces alone don't say what type an input has
#include <holdfast/saga.hpp>

void note(holdfast::Saga& saga) { saga.undo_with("refund", {"o1", 5}); }
