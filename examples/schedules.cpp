// A nightly job: when it runs, how it is made, looked at, paused, triggered and made up for.
#include <holdfast/holdfast.hpp>

#include <chrono>
#include <functional>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

using namespace holdfast;
using namespace std::chrono_literals;

namespace {

Task<std::string> bill(Context& ctx, std::string tenant) {
  co_return co_await ctx.activity<std::string>("bill_tenant", tenant);
}

std::string text_of(CalendarTime time) {
  const std::string json = encode(time).bytes;
  return json.substr(1, json.size() - 2);
}

// [snippet preview]
/// The next `count` times of a schedule, before there is one.
void print_times(const ScheduleSpec& spec, CalendarTime after, std::size_t count) {
  for (const CalendarTime time : next_times(spec, after, count)) std::cout << "  " << text_of(time) << "\n";
}
// [/snippet]

ScheduleSpec working_days() {
  // [snippet spec]
  ScheduleSpec spec;
  spec.cron = {"30 9 * * mon-fri", "0 12 last * *"};  // and at noon of each last day of a month
  spec.excluded_calendars = {{.month = "12", .day_of_month = "24-26,31"}};
  spec.time_zone = "Europe/Berlin";
  // [/snippet]
  return spec;
}

void wait_until(const std::function<bool()>& condition) {
  while (!condition()) std::this_thread::sleep_for(5ms);
}

}  // namespace

int main() {
  const auto database = memory_database();
  Runtime rt(memory({.database = database}), {.logger = null_logger()});
  rt.activity("bill_tenant", [](ActivityContext&, std::string tenant) { return tenant + " is billed"; });
  rt.orchestration("bill", bill);
  rt.start();
  Client client = rt.client();

  std::cout << "working days before Christmas, in UTC\n";
  print_times(working_days(), CalendarTime(std::chrono::sys_days(std::chrono::year(2027) / 12 / 22)), 6);

  // [snippet create]
  const Schedule nightly =
      client.create_schedule("nightly", "bill",
                             {.spec = {.cron = {"30 2 * * *"}, .time_zone = "Europe/Berlin"},
                              .overlap = Overlap::one_after,
                              .catch_up = 6h},
                             "acme");
  // [/snippet]

  // [snippet manage]
  nightly.pause("the bank is closed");
  nightly.trigger();  // one run now, also while it is paused
  nightly.backfill(CalendarTime(std::chrono::sys_days(std::chrono::year(2026) / 1 / 1)),
                   CalendarTime(std::chrono::sys_days(std::chrono::year(2026) / 1 / 3)));
  // [/snippet]
  wait_until([&] { return nightly.describe().counts.started == 3 && !nightly.describe().running; });

  // [snippet describe]
  const ScheduleInfo info = nightly.describe();
  std::cout << info.id << " starts " << info.orchestration << (info.options.paused ? ", but is paused: " : "")
            << info.options.note << "\n";
  for (const ScheduleRun& run : info.recent) {
    std::cout << "  " << client.run(run.id).wait<std::string>() << "\n";
  }
  // [/snippet]

  // [snippet update]
  ScheduleOptions options = nightly.describe().options;
  options.spec.time_zone = "America/New_York";
  nightly.update(options);
  nightly.resume("the bank is open");
  // [/snippet]
  wait_until([&] { return !nightly.describe().options.paused; });
  std::cout << nightly.describe().options.note << ", " << nightly.describe().next.size()
            << " next times are known\n";

  // [snippet delete]
  client.delete_schedule("nightly");  // what it has started goes on
  // [/snippet]
  std::cout << client.schedules().size() << " schedules are left\n";
  return 0;
}
