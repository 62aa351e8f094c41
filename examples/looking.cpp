// What others see of an instance: what it waits for, who could serve it, how far it is.
#include <holdfast/holdfast.hpp>

#include <iostream>
#include <memory>
#include <string>

using namespace holdfast;
using namespace std::chrono_literals;

namespace {

// [snippet queues]
Task<std::string> render(Context& ctx, std::string scene) {
  co_return co_await ctx.activity<std::string>(
      "render", {.queue = "gpu", .schedule_to_start = 1h, .priority = 5}, scene);
}
// [/snippet]

// [snippet progress]
struct Progress {
  int done = 0;
  int of = 0;
};

Task<int> import(Context& ctx, int files) {
  for (int i = 1; i <= files; ++i) {
    co_await ctx.activity<void>("import_file", i);
    ctx.set_status(Progress{i, files});
    ctx.set_value("imported", i);
  }
  co_return files;
}
// [/snippet]

// [snippet retry_child]
Task<int> import_all(Context& ctx, int files) {
  // A child that fails is retried as its next execution; it keeps its values.
  co_return co_await ctx.child<int>("import", {.id = "import-1", .retry = {.max_attempts = 3}}, files);
}
// [/snippet]

}  // namespace

int main() {
  const auto database = memory_database();
  // [snippet only_orchestrates]
  Runtime decides(memory({.database = database}), {.queues = {}, .logger = null_logger()});
  // [/snippet]
  decides.orchestration("render", render);
  decides.start();

  // [snippet look]
  Client client(memory({.database = database}));
  const Run run = client.start("render", {.id = "scene-1"}, "sunset");
  RunDetail detail = run.describe();
  while (detail.waits.empty() || detail.waits.front().kind != RunWait::Kind::activity)
    detail = run.describe();
  const RunWait wait = detail.waits.front();
  std::cout << wait.name << ": " << wait.state.substr(0, wait.state.find(", gives up")) << "\n";
  for (const QueueInfo& queue : client.queues())
    std::cout << queue.queue << ": " << queue.ready << " ready, " << queue.workers << " workers\n";
  // [/snippet]

  // [snippet some_queues]
  Runtime renders(memory({.database = database}), {.queues = {"", "gpu"}, .logger = null_logger()});
  // [/snippet]
  renders.activity("render", [](ActivityContext&, std::string scene) { return scene + ".png"; });
  renders.activity("import_file", [](ActivityContext&, int) {});
  renders.orchestration("import", import);
  renders.orchestration("import_all", import_all);
  renders.start();
  std::cout << run.wait<std::string>(30s) << "\n";

  // [snippet early]
  client.raise("order-9", "decision", {.keep_for = 1h}, true);  // order-9 does not exist yet
  // [/snippet]

  // [snippet follow]
  const Run all = client.start("import_all", {.id = "all-1"}, 3);
  all.wait<int>(30s);
  const Run child = client.run("import-1");
  RunInfo seen;  // nothing seen yet: the first call returns at once
  while (seen.status == Status::running) seen = child.wait_for_change(seen, 30s).value();
  const auto progress = decode<Progress>(*seen.custom_status).value();
  std::cout << progress.done << " of " << progress.of << ", " << *child.value<int>("imported")
            << " imported\n";
  // [/snippet]
}
