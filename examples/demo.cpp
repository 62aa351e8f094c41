// What Holdfast can show today: failures are data, and errors say what happened.
#include <holdfast/errors.hpp>
#include <holdfast/version.hpp>

#include <iostream>
#include <memory>

int main() {
  std::cout << "Holdfast " << HOLDFAST_VERSION << "\n";
  holdfast::Failure failure{
      .type = "card_declined", .message = "no funds", .source = "activity charge", .attempt = 3};
  try {
    holdfast::throw_failure(failure);
  } catch (const holdfast::ActivityError& e) {
    std::cout << "caught by type: " << e.what() << "\n";
  }
}
