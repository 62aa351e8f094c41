// Orchestrations that start others.
#include <holdfast/testing/replay.hpp>

#include <iostream>
#include <string>
#include <vector>

using namespace holdfast;

namespace {

// [snippet children]
Task<int> ship_all(Context& ctx, std::vector<std::string> parcels) {
  std::vector<Op<bool>> shipments;
  for (const std::string& parcel : parcels) {
    const std::string id = "ship-" + parcel;
    shipments.push_back(ctx.child<bool>("ship", {.id = id}, parcel));
  }
  int shipped = 0;
  for (const Result<bool>& outcome : co_await when_all_settled(std::move(shipments))) {
    if (outcome && *outcome) ++shipped;
  }
  // Detached: it goes on independently of this instance. The value is its id.
  const std::string audit = co_await ctx.start_detached("audit", shipped);
  ctx.set_value("audit", audit);
  co_return shipped;
}
// [/snippet]

// [snippet child_error]
Task<std::string> ship_one(Context& ctx, std::string parcel) {
  try {
    co_await ctx.child<bool>("ship", {.on_parent_close = ParentClosePolicy::abandon}, parcel);
  } catch (const ChildError& e) {
    co_return "not shipped: " + e.failure().message;
  }
  co_return "shipped";
}
// [/snippet]

// [snippet launch]
Task<int> close_books(Context& ctx, std::vector<std::string> orders) {
  for (const std::string& order : orders) {
    const std::string id = "archive-" + order;
    ctx.launch("archive", {.id = id}, order);  // starts with this turn's commit, independently
  }
  co_return static_cast<int>(orders.size());
}
// [/snippet]

}  // namespace

int main() {
  testing::ReplayHarness run;
  run.start(ship_all, std::vector<std::string>{"p1", "p2"});
  for (const auto& child : run.open()) std::cout << child.name << " " << child.instance << "\n";
  run.complete("ship", true);
  run.forget();
  run.fail("ship", "lost", "the parcel fell off the cart");
  run.complete("audit");
  std::cout << run.result<int>().value() << " shipped; audit id of "
            << run.value<std::string>("audit")->size() << " digits\n";

  testing::ReplayHarness one;
  one.start(ship_one, "p3");
  one.fail("ship", "lost", "the cart broke");
  std::cout << one.result<std::string>().value() << "\n";

  testing::ReplayHarness books;
  books.start(close_books, std::vector<std::string>{"o1", "o2"});
  for (const auto& launched : books.launched()) std::cout << "launched " << launched.instance << "\n";
}
