// A saga: what was done is undone when a later step fails.
#include <holdfast/saga.hpp>
#include <holdfast/testing/replay.hpp>

#include <iostream>
#include <string>

using namespace holdfast;
using namespace std::chrono_literals;

namespace {

// [snippet handles]
struct Trip {
  std::string traveller;
  std::string city;
};

inline constexpr Activity<std::string(Trip)> book_hotel{"book_hotel", {.timeout = 30s}};
inline constexpr Activity<std::string(Trip)> book_flight{"book_flight", {.retry = {.max_attempts = 2}}};
inline constexpr Activity<void(std::string)> cancel_hotel{"cancel_hotel"};
// [/snippet]

// [snippet trip]
Task<std::string> trip(Context& ctx, Trip plan) {
  Saga saga(ctx);
  std::string problem;
  try {
    const std::string hotel = co_await ctx.activity(book_hotel, plan);
    saga.undo_with(cancel_hotel, hotel);
    const std::string flight = co_await ctx.activity(book_flight, plan);
    co_return hotel + " and " + flight;
  } catch (const ActivityError& e) {
    problem = e.failure().type;  // no co_await in a catch block: C++ does not allow it
  }
  co_await saga.compensate();
  co_return "not booked: " + problem;
}
// [/snippet]

}  // namespace

int main() {
  const Trip plan{.traveller = "Ada", .city = "Turin"};

  testing::ReplayHarness booked;
  booked.start(trip, plan);
  booked.complete("book_hotel", "room 12");
  booked.complete("book_flight", "seat 3A");
  std::cout << booked.result<std::string>().value() << "\n";

  testing::ReplayHarness undone;
  undone.start(trip, plan);
  undone.complete("book_hotel", "room 12");
  undone.fail("book_flight", "no_seats", "the flight is full");
  std::cout << "open after the failure: " << undone.open().at(0).name << " "
            << undone.open().at(0).input_as<std::string>() << "\n";
  undone.forget();
  undone.complete("cancel_hotel");
  std::cout << undone.result<std::string>().value() << "\n";
}
