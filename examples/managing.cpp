// Many instances: started together, listed page by page, begun anew, kept apart, removed when they are old.
#include <holdfast/holdfast.hpp>

#include <chrono>
#include <iostream>
#include <string>
#include <vector>

using namespace holdfast;
using namespace std::chrono_literals;

namespace {

Task<int> resize(Context& ctx, std::string url, int width) {
  co_return co_await ctx.activity<int>("resize_one", url, width);
}

Task<std::string> bill(Context& ctx) { co_return "billed by version " + ctx.version(); }

// [snippet list]
/// The ids of all instances that failed, the newest first.
std::vector<std::string> failed_ids(const Client& client) {
  std::vector<std::string> ids;
  ListFilter filter{.statuses = {Status::failed}, .limit = 2};
  for (;;) {
    const RunPage page = client.list(filter);
    for (const RunInfo& run : page.runs) ids.push_back(run.id);
    if (!page.next) return ids;
    filter.after = *page.next;
  }
}
// [/snippet]

// [snippet retention]
/// Deletes the instances that ended longer than `age` ago. Call it from a job of yours.
std::size_t delete_ended(const Client& client, Duration age) {
  const CalendarTime before = real_clock().calendar_now() - age;
  ListFilter filter{.statuses = {Status::completed, Status::failed, Status::cancelled, Status::terminated},
                    .created_before = before};
  std::size_t deleted = 0;
  for (;;) {
    const RunPage page = client.list(filter);
    for (const RunInfo& run : page.runs) {
      if (run.updated_at >= before) continue;  // started long ago, and ended lately
      client.delete_instance(run.id);
      ++deleted;
    }
    if (!page.next) return deleted;
    filter.after = *page.next;
  }
}
// [/snippet]

}  // namespace

int main() {
  const auto database = memory_database();
  Runtime rt(memory({.database = database}), {.logger = null_logger()});
  rt.activity("resize_one", [](ActivityContext&, std::string url, int width) {
    if (url.empty()) throw ActivityFailure("no_url", "there is nothing to resize", /*retryable=*/false);
    return width;
  });
  rt.orchestration("resize", resize);
  // [snippet versions]
  rt.orchestration("bill", {.version = "1.9"}, bill);
  rt.orchestration("bill", {.version = "1.10"}, bill);  // newer than 1.9: numbers are compared as numbers
  // [/snippet]
  rt.start();
  Client client = rt.client();

  // [snippet start_all]
  const std::string url = "https://example.org/lamp.png";
  const std::vector<Run> runs =
      client.start_all("resize", {start_item("img-1", url, 200), start_item("img-2", "", 200),
                                  start_item("img-3", "", 400), start_item("img-4", "", 800)});
  // [/snippet]
  for (const Run& run : runs) static_cast<void>(run.result<int>(30s));
  for (const std::string& id : failed_ids(client)) std::cout << id << " failed\n";

  // [snippet reuse]
  // img-2 has failed: its history is removed, and a new instance begins under the same id.
  const Run again = client.start("resize", {.id = "img-2", .reuse = Reuse::after_failure}, url, 200);
  // [/snippet]
  std::cout << again.id() << " is " << again.wait<int>(30s) << " wide\n";

  // [snippet filter_text]
  const RunPage page = client.list(parse_filter("status in (failed, terminated) and created > -2d"));
  // [/snippet]
  std::cout << page.runs.size() << " failed in two days\n";

  // [snippet start_version]
  std::cout << client.start("bill").wait<std::string>(30s) << "\n";  // an id is made, and the newest is taken
  std::cout << client.start("bill", {.id = "bill-7", .version = "1.9"}).wait<std::string>(30s) << "\n";
  // [/snippet]

  // [snippet namespaces]
  Client staging(memory({.ns = "staging", .database = database}));
  std::cout << "staging sees " << staging.list().runs.size() << " instances\n";
  // [/snippet]

  std::cout << delete_ended(client, -1h) << " deleted\n";
}
