// Races: the first outcome wins, the others are cancelled.
#include <holdfast/testing/replay.hpp>

#include <iostream>
#include <string>
#include <variant>
#include <vector>

using namespace holdfast;
using namespace std::chrono_literals;

namespace {

// [snippet race_list]
Task<std::string> fetch(Context& ctx, std::vector<std::string> mirrors) {
  std::vector<Op<std::string>> downloads;
  for (const std::string& mirror : mirrors)
    downloads.push_back(ctx.activity<std::string>("download", mirror));
  const Winner<std::string> winner = co_await race(std::move(downloads));
  co_return mirrors[winner.index] + ": " + winner.value;
}
// [/snippet]

// [snippet borrow]
Task<std::string> watch(Context& ctx, std::string job) {
  const Future<std::string> work = ctx.activity<std::string>("long_job", job).start();
  for (int minutes = 1;; ++minutes) {
    auto first = co_await race(work, ctx.sleep(1min));  // an lvalue is borrowed: losing does not cancel it
    if (first.index() == 0) co_return std::get<0>(first);
    co_await ctx.activity<void>("report", minutes);
  }
}
// [/snippet]

}  // namespace

int main() {
  testing::ReplayHarness mirrors;
  mirrors.start(fetch, std::vector<std::string>{"north", "south", "west"});
  mirrors.complete(mirrors.open().at(1).id, "42 MB");
  std::cout << mirrors.result<std::string>().value() << "; cancelled: " << mirrors.cancelled().size() << "\n";

  testing::ReplayHarness watched;
  watched.start(watch, "render");
  watched.fire_timer();
  watched.complete("report");
  watched.forget();
  watched.complete("long_job", "rendered");
  std::cout << watched.result<std::string>().value() << "; cancelled: " << watched.cancelled().size()
            << " (the timer)\n";
}
