// The order process of the examples, interrupted at each of its awaits: whatever is done and not shipped is
// undone in the end.
#include "examples/sell.hpp"

#include <holdfast/testing/replay.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace holdfast::testing {
namespace {

using namespace std::chrono_literals;

enum class Interruption : std::uint8_t { failure, timeout, cancel, no_answer };
constexpr Interruption kAll[] = {Interruption::failure, Interruption::timeout, Interruption::cancel,
                                 Interruption::no_answer};

std::string in_words(Interruption interruption) {
  switch (interruption) {
    case Interruption::failure:
      return "failure";
    case Interruption::timeout:
      return "timeout";
    case Interruption::cancel:
      return "cancel";
    case Interruption::no_answer:
      return "no answer";
  }
  return "";
}

/// What the activities have done.
class World {
 public:
  void does(const std::string& activity) {
    if (activity == "reserve_stock") done_.insert("stock");
    if (activity == "charge_card") done_.insert("money");
    if (activity == "ship") done_.insert("parcel");
    if (activity == "release_stock") done_.erase("stock");
    if (activity == "refund_card") done_.erase("money");
  }
  [[nodiscard]] const std::set<std::string>& done() const noexcept { return done_; }

 private:
  std::set<std::string> done_;
};

class Sale {
 public:
  /// `done_all_the_same`: what fails or is cancelled had been done.
  Sale(Interruption how, bool done_all_the_same) : how_(how), done_all_the_same_(done_all_the_same) {
    run_.start(shop::sell, shop::Order{.id = "o-1", .item = "lamp", .amount = 40});
  }

  [[nodiscard]] bool has_ended() const { return run_.state() != ReplayHarness::State::running; }

  /// The next thing that happens when nothing goes wrong.
  void go_on() {
    const StartedOperation next = run_.open().at(0);
    if (next.kind == OperationKind::event) return run_.raise(next.name, true);
    if (next.kind == OperationKind::timer) return run_.fire_timer();
    world.does(next.name);
    run_.complete(next.id);
  }

  void interrupt() {
    const StartedOperation next = run_.open().at(0);
    if (how_ == Interruption::cancel) {
      for (const StartedOperation& open : run_.open()) {
        if (done_all_the_same_) happened_.push_back(open.name);
      }
      run_.cancel("enough");
      // What was not in a shield is dropped, and may be done by now.
      for (const std::string& name : happened_) {
        if (!run_.is_open(name)) world.does(name);
      }
      return;
    }
    if (next.kind == OperationKind::event && how_ == Interruption::no_answer) return run_.advance(25h);
    if (next.kind != OperationKind::activity || how_ == Interruption::no_answer) return go_on();
    if (done_all_the_same_) world.does(next.name);
    run_.fail(next.id,
              Failure{.category = how_ == Interruption::timeout ? Category::timeout : Category::application,
                      .type = "broken",
                      .message = "it broke"});
  }

  [[nodiscard]] ReplayHarness::State state() const { return run_.state(); }
  [[nodiscard]] std::string result() const { return run_.result<std::string>().value(); }

  World world;

 private:
  ReplayHarness run_;
  Interruption how_;
  bool done_all_the_same_;
  std::vector<std::string> happened_;
};

// Answers how many awaits there were before the end.
int sell_and_interrupt(int at, Interruption how, bool done_all_the_same) {
  SCOPED_TRACE(in_words(how) + " at await " + std::to_string(at) +
               (done_all_the_same ? ", done all the same" : ""));
  Sale sale(how, done_all_the_same);
  int awaits = 0;
  for (; !sale.has_ended() && awaits < 100; ++awaits) {
    if (awaits == at) {
      sale.interrupt();
    } else {
      sale.go_on();
    }
  }
  EXPECT_TRUE(sale.has_ended());
  const bool shipped = sale.state() == ReplayHarness::State::completed && sale.result() == "shipped";
  const std::set<std::string> all{"money", "parcel", "stock"};
  // A parcel can't be called back: one that went out although the step failed is another matter.
  std::set<std::string> done = sale.world.done();
  if (!shipped) done.erase("parcel");
  EXPECT_EQ(done, shipped ? all : std::set<std::string>{});
  return awaits;
}

TEST(Sell, UndoesWhatWasDoneWhereverItIsInterrupted) {
  const int awaits = sell_and_interrupt(-1, Interruption::failure, false);
  EXPECT_GE(awaits, 6);
  for (const Interruption how : kAll) {
    for (int at = 0; at < awaits; ++at) {
      sell_and_interrupt(at, how, false);
      sell_and_interrupt(at, how, true);
    }
  }
}

}  // namespace
}  // namespace holdfast::testing
