// The program that the engines run.
#pragma once

#include <holdfast/runtime.hpp>

namespace holdfast::torture {

void add_program(Runtime& runtime);

}  // namespace holdfast::torture
