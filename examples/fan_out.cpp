// Many activities at once, and what they give in the order of the list.
#include <holdfast/testing/replay.hpp>

#include <iostream>
#include <string>
#include <vector>

using namespace holdfast;
using namespace std::chrono_literals;

namespace {

// [snippet when_all]
Task<int> count_words(Context& ctx, std::vector<std::string> pages) {
  std::vector<Op<int>> counts;
  for (const std::string& page : pages) {
    counts.push_back(ctx.activity<int>("count", {.timeout = 30s, .retry = {.max_attempts = 5}}, page));
  }
  int sum = 0;
  for (const int count : co_await when_all(std::move(counts))) sum += count;
  co_return sum;
}
// [/snippet]

// [snippet settled]
Task<int> count_what_works(Context& ctx, std::vector<std::string> pages) {
  std::vector<Op<int>> counts;
  for (const std::string& page : pages) counts.push_back(ctx.activity<int>("count", page));
  const std::vector<Result<int>> outcomes = co_await when_all_settled(std::move(counts));
  int sum = 0;
  for (const Result<int>& outcome : outcomes) {
    if (outcome) sum += *outcome;
  }
  co_return sum;
}
// [/snippet]

}  // namespace

int main() {
  const std::vector<std::string> pages = {"a.html", "b.html", "c.html"};

  testing::ReplayHarness all;
  all.start(count_words, pages);
  std::cout << all.open().size() << " activities run side by side\n";
  const auto started = all.open();
  all.complete(started[2].id, 30);  // answers may come in any order
  all.complete(started[0].id, 10);
  all.forget();
  all.complete(started[1].id, 20);
  std::cout << "when_all: " << all.result<int>().value() << " words\n";

  testing::ReplayHarness failing;
  failing.start(count_words, pages);
  failing.fail("count", "not_found", "no such page");
  std::cout << "the first failure ends it: " << failing.result<int>().error().message << "; "
            << failing.cancelled().size() << " others are cancelled\n";

  testing::ReplayHarness settled;
  settled.start(count_what_works, pages);
  settled.complete("count", 10);
  settled.fail("count", "not_found", "no such page");
  settled.complete("count", 30);
  std::cout << "when_all_settled: " << settled.result<int>().value() << " words in those that worked\n";
}
