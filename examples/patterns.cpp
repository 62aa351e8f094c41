// Patterns that most systems need, on a runtime.
#include <holdfast/holdfast.hpp>

#include <algorithm>
#include <atomic>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

using namespace holdfast;
using namespace std::chrono_literals;

namespace {

// [snippet chaining]
Task<std::string> publish(Context& ctx, std::string draft) {
  const std::string checked = co_await ctx.activity<std::string>("spell_check", draft);
  const std::string page = co_await ctx.activity<std::string>("render", {.timeout = 30s}, checked);
  co_return co_await ctx.activity<std::string>("upload", {.retry = {.max_attempts = 5}}, page);
}
// [/snippet]

// [snippet polling]
// Polls with growing pauses, for 24 hours at most. While it sleeps it is a row in the store.
Task<std::string> wait_for_job(Context& ctx, std::string job) {
  const CalendarTime give_up = ctx.now() + 24h;
  for (Duration pause = 10ms; ctx.now() < give_up; pause = std::min<Duration>(pause * 2, 10min)) {
    const std::string state = co_await ctx.activity<std::string>("job_state", job);
    if (state != "running") co_return state;
    ctx.set_status("asked, next in " + std::to_string(pause.count()) + " us");
    co_await ctx.sleep(pause);
    if (ctx.should_continue_as_new()) co_await ctx.continue_as_new(job);
  }
  co_return "gave up";
}
// [/snippet]

// [snippet eternal]
struct Meter {
  int readings = 0;
  double last = 0;
};

// Runs for ever: a round, a pause, and a new history from time to time. An event ends it.
Task<Meter> watch_meter(Context& ctx, Meter meter) {
  const Future<bool> stop = ctx.event<bool>("stop").start();
  while (!ctx.should_continue_as_new()) {
    meter.last = co_await ctx.activity<double>("read_meter");
    ++meter.readings;
    ctx.set_status(meter);
    auto first = co_await race(stop, ctx.sleep(1ms));  // an lvalue is borrowed: the wait for `stop` goes on
    if (first.index() == 0) co_return meter;
  }
  co_await ctx.continue_as_new(meter);
}
// [/snippet]

// [snippet tree]
// The size of a folder: each folder below it is a child, and each child has its own history.
Task<int> folder_size(Context& ctx, std::string folder) {
  const auto names = co_await ctx.activity<std::vector<std::string>>("list", folder);
  std::vector<Op<int>> below;
  for (const std::string& name : names) {
    const std::string path = folder + "/" + name;
    below.push_back(
        ctx.child<int>("folder_size", {.id = "size of " + path, .retry = {.max_attempts = 3}}, path));
  }
  int size = co_await ctx.activity<int>("size_of_files", folder);
  for (const int part : co_await when_all(std::move(below))) size += part;
  co_return size;
}
// [/snippet]

void add_code(Runtime& rt) {
  rt.activity("spell_check", [](ActivityContext&, std::string text) { return text + ", checked"; });
  rt.activity("render", [](ActivityContext&, std::string text) { return "<p>" + text + "</p>"; });
  rt.activity("upload", [](ActivityContext&, std::string page) { return "online: " + page; });
  rt.activity("job_state", [asked = std::make_shared<std::atomic<int>>(0)](ActivityContext&, std::string) {
    return std::string(++*asked < 4 ? "running" : "done");
  });
  rt.activity("read_meter", [](ActivityContext&) { return 230.0; });
  rt.activity("list", [](ActivityContext&, std::string folder) {
    if (folder != "/") return std::vector<std::string>();
    return std::vector<std::string>{"home", "srv", "var"};
  });
  rt.activity("size_of_files",
              [](ActivityContext&, std::string folder) { return static_cast<int>(folder.size()); });
  rt.orchestration("publish", publish);
  rt.orchestration("wait_for_job", wait_for_job);
  rt.orchestration("watch_meter", watch_meter);
  rt.orchestration("folder_size", folder_size);
}

}  // namespace

int main() {
  Runtime rt(memory(), {.history_budget = 100, .logger = null_logger()});
  add_code(rt);
  rt.start();
  Client client = rt.client();
  std::cout << client.start("publish", {.id = "page-1"}, "Hello").wait<std::string>(30s) << "\n";
  std::cout << "job: " << client.start("wait_for_job", {.id = "job-1"}, "j").wait<std::string>(30s) << "\n";
  std::cout << "folder: " << client.start("folder_size", {.id = "size of /"}, "/").wait<int>(30s) << "\n";

  const Run meter = client.start("watch_meter", {.id = "meter-1"}, Meter{});
  RunInfo seen;
  while (seen.execution.value < 3) seen = meter.wait_for_change(seen, 30s).value();
  meter.raise("stop", true);
  const auto last = meter.wait<Meter>(30s);
  std::cout << "meter: " << last.last << ", many readings: " << (last.readings > 20 ? "yes" : "no") << "\n";
}
