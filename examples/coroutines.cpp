// Activities that are coroutines: many wait at once, in one thread. They learn of a request to stop like any
// other.
#include <holdfast/asio.hpp>
#include <holdfast/holdfast.hpp>

#include <asio/steady_timer.hpp>
#include <asio/thread_pool.hpp>

#include <atomic>
#include <chrono>
#include <iostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace holdfast;
using namespace std::chrono_literals;

namespace {

Task<int> survey(Context& ctx, int people) {
  std::vector<Op<int>> answers;
  for (int i = 0; i < people; ++i) answers.push_back(ctx.activity<int>("ask", i));
  int sum = 0;
  for (const int answer : co_await when_all(std::move(answers))) sum += answer;
  co_return sum;
}

Task<std::string> first_answer(Context& ctx) {
  auto first = co_await race(ctx.activity<void>("watch"), ctx.activity<std::string>("look_up", "answer"));
  co_return std::get<1>(first);  // the other one is asked to stop
}

// [snippet coroutine]
asio::awaitable<int> ask(ActivityContext&, int person) {
  asio::steady_timer answers(co_await asio::this_coro::executor, 100ms);  // a connection would be the same
  co_await answers.async_wait(asio::use_awaitable);
  co_return person % 2;
}
// [/snippet]

// [snippet cancelled]
std::atomic<bool> closed{false};

asio::awaitable<void> watch(ActivityContext& ctx) {
  co_await ctx.cancelled();
  closed = true;  // here it would close its connection; nobody waits for a result any more
}
// [/snippet]

asio::awaitable<std::string> look_up(ActivityContext&, std::string what) { co_return "the " + what; }

}  // namespace

int main() {
  asio::thread_pool pool(2);  // outlives the runtime
  // [snippet register]
  Runtime rt(memory(), {.activity_slots = 5'000, .logger = null_logger()});
  rt.activity("ask", ask);
  rt.activity("watch", watch);
  rt.activity("look_up", asio_activity(pool, look_up));  // elsewhere than the others
  // [/snippet]
  rt.orchestration("survey", survey);
  rt.orchestration("first_answer", first_answer);
  rt.start();
  Client client = rt.client();

  const int yes = client.start("survey", {.id = "village"}, 1'000).wait<int>(60s);
  std::cout << yes << " of 1000 said yes\n";

  const auto answer = client.start("first_answer", {.id = "question"}).wait<std::string>(60s);
  while (!closed) std::this_thread::sleep_for(1ms);
  std::cout << "found " << answer << ", and the watcher has stopped\n";
}
