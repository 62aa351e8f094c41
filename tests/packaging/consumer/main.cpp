// A program of somebody who uses Holdfast from outside its tree: headers, library and exceptions across both.
#include <holdfast/errors.hpp>
#include <holdfast/version.hpp>

#include <iostream>

int main() {
  std::cout << "Holdfast " << HOLDFAST_VERSION << "\n";
  try {
    holdfast::throw_failure({.message = "no funds", .source = "activity charge"});
  } catch (const holdfast::ActivityError& error) {
    std::cout << "caught: " << error.what() << "\n";
  }
}
