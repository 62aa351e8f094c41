// An order as a coroutine, and the history that it leaves: it takes its steps turn by turn, loses everything
// but its history, goes on at the same place, and is undone by a saga; then what happens when somebody
// changes the code under it.
#include <holdfast/saga.hpp>
#include <holdfast/testing/replay.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

using namespace holdfast;
using namespace std::chrono_literals;
using testing::HistoryLine;
using testing::ReplayHarness;

namespace {

// ---- the orchestration --------------------------------------------------------------------------

struct Order {
  std::string id;
  std::string item;
  int amount = 0;
};

Task<std::string> steps(Context& ctx, Saga& saga, Order order) {
  // Two steps side by side.
  saga.undo_with("release_stock", order.item);
  const auto checks = co_await when_all_settled(ctx.activity<std::string>("reserve_stock", order.item),
                                                ctx.activity<int>("score_risk", order.id));
  const std::string stock = std::get<0>(checks).value();
  const int risk = std::get<1>(checks).value();
  if (risk > 50) throw std::runtime_error("too risky: " + stock);

  // A person decides, within a day.
  const std::optional<bool> approved = co_await with_timeout(ctx.event<bool>("approval"), 24h);
  if (!approved.value_or(false)) throw std::runtime_error("not approved");

  saga.undo_with("refund_card", order.id);
  co_await ctx.activity<std::string>("charge_card", order.amount);

  co_await ctx.sleep(2h);  // time to change one's mind
  co_await ctx.activity<void>("ship", order.item);
  co_return "shipped";
}

Task<std::string> sell(Context& ctx, Order order) {
  const Result<std::string> sold = co_await run_saga(ctx, steps, order).result();  // the last step first
  co_return sold ? *sold : "undone, because " + sold.error().message;
}

// The same with one line moved: the card is charged before anybody approves.
Task<std::string> sell_changed(Context& ctx, Order order) {
  co_await when_all(ctx.activity<std::string>("reserve_stock", order.item),
                    ctx.activity<int>("score_risk", order.id));
  co_await ctx.activity<std::string>("charge_card", order.amount);
  co_await with_timeout(ctx.event<bool>("approval"), 24h);
  co_return "shipped";
}

// ---- the stage ----------------------------------------------------------------------------------

const bool on_terminal = isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr;

std::string styled(const char* code, const std::string& text) {
  return on_terminal ? "\033[" + std::string(code) + "m" + text + "\033[0m" : text;
}
std::string bold(const std::string& text) { return styled("1", text); }
std::string dim(const std::string& text) { return styled("2", text); }

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(text.size(), width), ' ');
  return text;
}

const char* style_of(const std::string& kind) {
  if (kind == "failed") return "31";
  if (kind.ends_with("completed")) return "32";
  if (kind.ends_with("cancelled")) return "33";
  return "36";
}

void print(const HistoryLine& line) {
  const std::string id = to_string(line.id);
  std::cout << dim(std::string(6 - id.size(), ' ') + id) << "  "
            << styled(style_of(line.kind), padded(line.kind, 21)) << line.what << "\n";
}

/// Runs the order and prints what each turn adds to its history.
class Stage {
 public:
  ReplayHarness run{{.instance = "order-7", .orchestration = "sell", .replay_every_turn = false}};

  /// Prints the turn that the last call made.
  void show(const std::string& title) {
    if (on_terminal) std::this_thread::sleep_for(120ms);
    std::cout << bold("turn " + std::to_string(++turns_)) << "  " << title << "\n";
    const std::vector<HistoryLine> history = run.history();
    for (; shown_ < history.size(); ++shown_) {
      if (history[shown_].kind != "turn_started") print(history[shown_]);
    }
    std::cout.flush();
  }

  /// A worker takes the next step and does it. Each is counted.
  template <class... Result>
  void work(const std::string& activity, const Result&... result) {
    ++ran_[activity];
    run.complete(activity, result...);
    show("a worker ran " + activity);
  }
  void work_fails(const std::string& activity, const std::string& type, const std::string& message) {
    ++ran_[activity];
    run.fail(activity, type, message);
    show("a worker ran " + activity + ", and it failed");
  }

  [[nodiscard]] std::string waits_for() const {
    std::string text;
    for (const auto& operation : run.open()) {
      text += (text.empty() ? "" : " and ") + (operation.name.empty() ? "a timer" : operation.name);
    }
    return text;
  }
  [[nodiscard]] int turns() const { return turns_; }
  [[nodiscard]] const std::map<std::string, int>& ran() const { return ran_; }

 private:
  std::size_t shown_ = 0;
  int turns_ = 0;
  std::map<std::string, int> ran_;
};

int conclude(const Stage& stage, bool same_place, bool reported) {
  bool twice = false;
  for (const auto& [activity, count] : stage.ran()) twice = twice || count != 1;
  const bool fine = same_place && !twice && reported;
  std::cout << "\n"
            << styled(fine ? "1;32" : "1;31", fine ? "OK" : "FAILED") << "  " << stage.turns()
            << " turns, 1 crash, " << stage.ran().size() << " steps, " << (twice ? "some" : "none")
            << " of them run twice; changed code " << (reported ? "was caught" : "went unnoticed") << ".\n";
  return fine ? 0 : 1;
}

}  // namespace

int main() {
  std::cout << bold("Holdfast") << ": an order as a coroutine, and the history that it leaves.\n\n";
  Stage stage;
  stage.run.start(sell, Order{.id = "o-7", .item = "lamp", .amount = 40});
  stage.show("somebody orders a lamp");
  stage.work("score_risk", 12);
  stage.work("reserve_stock", "shelf-3");

  const std::string before = stage.waits_for();
  std::cout << "\n"
            << styled("1;31", "crash") << "   every coroutine frame is gone; history is all there is\n";
  stage.run.forget();
  const bool same_place = stage.waits_for() == before;
  std::cout << styled("1;32", "replay") << "  " << stage.run.history().size()
            << " events, no step run again; it waits for " << stage.waits_for() << "\n\n";

  stage.run.raise("approval", true);
  stage.show("a person approves");
  stage.work("charge_card", "receipt-9");
  stage.run.fire_timer();
  stage.show("two hours later");
  stage.work_fails("ship", "no_carrier", "the carrier is on strike");
  stage.work("refund_card");
  stage.work("release_stock");

  std::cout << "\n" << bold("The same history, with code that charges before it asks:") << "\n";
  const auto divergence = stage.run.replay_with(sell_changed);
  if (divergence) {
    std::cout << "  event " << to_string(divergence->event) << "       the first that differs\n"
              << "  history says  " << divergence->history_says << "\n"
              << "  the code      " << divergence->code_did << "\n";
  }
  return conclude(stage, same_place, divergence.has_value());
}
