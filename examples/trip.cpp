// A saga: the steps are undone when a later one fails, and when the instance is cancelled.
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
inline constexpr Activity<void(Trip)> cancel_hotel{"cancel_hotel"};
inline constexpr Activity<void(Trip)> cancel_flight{"cancel_flight"};
// [/snippet]

// [snippet trip]
Task<std::string> book(Context& ctx, Saga& saga, Trip plan) {
  saga.undo_with(cancel_hotel, plan);  // before the step: it may be done although it failed
  const std::string hotel = co_await ctx.activity(book_hotel, plan);
  saga.undo_with(cancel_flight, plan);
  const std::string flight = co_await ctx.activity(book_flight, plan);
  co_return hotel + " and " + flight;
}

Task<std::string> trip(Context& ctx, Trip plan) {
  const Result<std::string> booked = co_await run_saga(ctx, book, plan).result();
  co_return booked ? *booked : "not booked: " + booked.error().type;
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
  std::cout << "open after the failure: " << undone.open().at(0).name << "\n";
  undone.forget();
  undone.complete("cancel_flight");
  undone.complete("cancel_hotel");
  std::cout << undone.result<std::string>().value() << "\n";

  testing::ReplayHarness cancelled;
  cancelled.start(trip, plan);
  cancelled.cancel("the traveller is ill");
  cancelled.complete("cancel_hotel");
  std::cout << "ended as cancelled: " << std::boolalpha
            << (cancelled.state() == testing::ReplayHarness::State::cancelled) << "\n";
}
