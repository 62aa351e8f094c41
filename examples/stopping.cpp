// How activities are written that end when they are asked to.
#include <holdfast/holdfast.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <iostream>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

using namespace holdfast;
using namespace std::chrono_literals;

namespace {

std::atomic<int> at_work{0};

/// Says that one more of them works, for as long as it is there.
struct AtWork {
  AtWork() { ++at_work; }
  ~AtWork() { --at_work; }
  AtWork(const AtWork&) = delete;
  AtWork& operator=(const AtWork&) = delete;
};

void resize_one(int /*picture*/) { std::this_thread::sleep_for(1ms); }

/// A library call that can't be interrupted, and takes a limit of its own.
bool receive(std::string& message, std::chrono::milliseconds at_most) {
  std::this_thread::sleep_for(at_most);
  message.clear();
  return false;
}

void add_activities(Runtime& rt) {
  // [snippet loop]
  rt.activity("resize", [](ActivityContext& ctx, std::vector<int> pictures) {
    const AtWork here;
    for (const int picture : pictures) {
      ctx.throw_if_stopping();
      resize_one(picture);
    }
    return static_cast<int>(pictures.size());
  });
  // [/snippet]

  // [snippet wait]
  rt.activity("wait_for_lamp", [](ActivityContext& ctx) {
    const AtWork here;
    std::mutex mutex;
    std::condition_variable_any changed;  // whoever switches the lamp on notifies it
    bool lamp = false;
    std::unique_lock lock(mutex);
    changed.wait(lock, ctx.stop_token(), [&] { return lamp; });  // also returns when it is asked to stop
    ctx.throw_if_stopping();
    return true;
  });
  // [/snippet]

  // [snippet threads]
  rt.activity("sum", [](ActivityContext& ctx, int parts) {
    const AtWork here;
    std::vector<long> sums(static_cast<std::size_t>(parts));
    {
      std::vector<std::jthread> threads;  // joined at the end of this block
      for (long& sum : sums) {
        threads.emplace_back([&sum, stop = ctx.stop_token()] {  // each has the token
          while (!stop.stop_requested()) ++sum;
        });
      }
    }
    ctx.throw_if_stopping();  // half a sum is none
    return std::accumulate(sums.begin(), sums.end(), 0L);
  });
  // [/snippet]

  // [snippet slices]
  rt.activity("receive", [](ActivityContext& ctx) {
    const AtWork here;
    std::string message;
    while (!receive(message, 20ms)) {  // short enough to look up in between
      ctx.throw_if_stopping();
    }
    return message;
  });
  // [/snippet]
}

Task<int> work_in_four_ways(Context& ctx) {
  std::vector<int> pictures(100'000);
  std::iota(pictures.begin(), pictures.end(), 0);
  co_await when_all(ctx.activity<int>("resize", pictures), ctx.activity<bool>("wait_for_lamp"),
                    ctx.activity<long>("sum", 2), ctx.activity<std::string>("receive"));
  co_return 0;
}

}  // namespace

int main() {
  Runtime rt(memory(), {.activity_slots = 4, .logger = null_logger()});
  add_activities(rt);
  rt.orchestration("work_in_four_ways", work_in_four_ways);
  rt.start();
  // [snippet cancel]
  const Run run = rt.client().start("work_in_four_ways", {.id = "work"});
  while (at_work < 4) std::this_thread::sleep_for(1ms);
  run.cancel("the user closed the window");
  const Result<int> result = run.result<int>(10s);
  std::cout << to_string(result.error().category) << ": " << result.error().message << "\n";
  // [/snippet]
  while (at_work > 0) std::this_thread::sleep_for(1ms);
  std::cout << "nobody is at work any more\n";
  // [snippet states]
  for (const RunCancel& cancel : run.describe().cancels) {
    std::cout << cancel.name << ": " << to_string(cancel.reason) << "\n";
  }
  // [/snippet]
}
