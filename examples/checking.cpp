// History: looked at, exported to files, and replayed with the code of the next release before it is
// deployed.
#include <holdfast/holdfast.hpp>
#include <holdfast/testing/replay_checker.hpp>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>

using namespace holdfast;
using testing::ReplayChecker;
using testing::ReplayReport;

namespace {

Task<std::string> bill(Context& ctx, std::string customer) {
  const int amount = co_await ctx.activity<int>("sum_up", customer);
  co_await ctx.activity<void>("send_bill", customer, amount);
  ctx.set_status("sent");
  co_await ctx.event<bool>("paid");
  co_return "paid";
}

/// What is to be deployed next: a bill is shown to somebody before it is sent.
Task<std::string> next_bill(Context& ctx, std::string customer) {
  const int amount = co_await ctx.activity<int>("sum_up", customer);
  co_await ctx.activity<void>("show", customer, amount);
  co_await ctx.activity<void>("send_bill", customer, amount);
  ctx.set_status("sent");
  co_await ctx.event<bool>("paid");
  co_return "paid";
}

// [snippet register]
/// All orchestrations of this build, for a Runtime and for a ReplayChecker.
template <class Worker>
void add_orchestrations(Worker& worker) {
  worker.orchestration("bill", bill);
}
// [/snippet]

void add_activities(Runtime& rt) {
  rt.activity("sum_up",
              [](ActivityContext&, std::string customer) { return static_cast<int>(customer.size()) * 100; });
  rt.activity("send_bill", [](ActivityContext&, std::string, int) {});
}

// [snippet read]
void print_history(const Run& run) {
  std::optional<HistoryOptions> next = HistoryOptions();
  while (next) {
    const HistoryPage page = run.history(*next);
    for (const HistoryEvent& event : page.events) {
      if (event.kind == HistoryEvent::Kind::turn_started) continue;
      std::cout << to_string(event.id) << "  " << to_string(event.kind) << "  " << event.text() << "\n";
    }
    next = page.next;
  }
}
// [/snippet]

// [snippet former]
/// What each execution of an instance was started with, as far as its history has not been pruned.
void print_inputs(const Run& run) {
  for (const ExecutionInfo& execution : run.executions()) {
    const HistoryPage page = run.history({.execution = execution.execution, .max_bytes = 1});
    for (const HistoryEvent& event : page.events) {
      if (event.kind != HistoryEvent::Kind::started) continue;
      std::cout << "execution " << to_string(execution.execution) << "  "
                << event.payload_as<std::string>().value_or("") << "\n";
    }
  }
}
// [/snippet]

// [snippet export]
/// One file for each instance that runs, named after its id.
void export_running(const Client& client, const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  ListFilter filter{.statuses = {Status::running, Status::parked}};
  for (;;) {
    const RunPage page = client.list(filter);
    for (const RunInfo& info : page.runs) {
      std::ofstream file(folder / (info.id + ".jsonl"));
      write_history(client.run(info.id), file);
    }
    if (!page.next) return;
    filter.after = *page.next;
  }
}
// [/snippet]

// [snippet program]
/// A step of a deployment, with the new build: 0 when all that runs would go on.
int check_deployment(const std::string& database) {
  ReplayChecker checker;
  add_orchestrations(checker);
  const Client client(sqlite(database, {.create = false, .read_only = true}));
  const ReplayReport report = checker.check_running(client);
  std::cout << report.text();
  return report.ok() ? 0 : 1;
}
// [/snippet]

}  // namespace

int main() {
  Runtime rt(sqlite("app.db"), {.logger = null_logger()});
  add_activities(rt);
  add_orchestrations(rt);
  rt.start();
  for (const char* customer : {"acme", "globex"}) {
    const Run run = rt.client().start("bill", {.id = std::string("bill-") + customer}, customer);
    RunInfo now = run.info();
    while (now.status_as<std::string>() != "sent") now = run.wait_for_change(now).value();
  }
  print_history(rt.client().run("bill-acme"));
  print_inputs(rt.client().run("bill-acme"));

  std::cout << "\nthis build, on the database in use:\n";
  const int status = check_deployment("app.db");

  std::cout << "\nthe next build, on exported histories:\n";
  export_running(rt.client(), "histories");
  // [snippet next]
  ReplayChecker next_release;
  next_release.orchestration("bill", next_bill);
  const ReplayReport report = next_release.check_folder("histories");
  std::cout << report.text();
  // [/snippet]

  // [snippet load]
  std::ifstream file("histories/bill-acme.jsonl");
  testing::ReplayHarness harness;
  harness.load(read_history(file, "bill-acme.jsonl"));
  const bool fits = !harness.replay_with(bill);
  harness.resume(bill);  // goes on where the instance stands
  harness.raise("paid", true);
  std::cout << (fits ? "fits, and ends as: " : "") << harness.result<std::string>().value() << "\n";
  // [/snippet]
  return status == 0 && report.would_park == 2 ? 0 : 1;
}
