// What operators do to instances: suspend and resume them, start them again, look at whole trees, delete
// many. And what instances do to each other: end them, and wait for their ends.
#include <holdfast/holdfast.hpp>

#include <chrono>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

using namespace holdfast;
using namespace std::chrono_literals;

namespace {

Task<int> campaign(Context& ctx, int letters) {
  std::vector<Op<int>> parts;
  for (int i = 1; i <= letters; ++i) {
    const std::string id = ctx.instance_id() + "/" + std::to_string(i);
    parts.push_back(ctx.child<int>("letter", {.id = id}, i));
  }
  int sent = 0;
  for (const int part : co_await when_all(std::move(parts))) sent += part;
  co_return sent;
}

Task<int> letter(Context& ctx, int number) {
  co_await ctx.event<void>("approved");
  co_return co_await ctx.activity<int>("post", number);
}

// [snippet ended]
/// Begins when the campaign is over, however that ended.
Task<std::string> clean_up_after(Context& ctx, std::string id) {
  const EndedInstance ended = co_await ctx.ended(id);
  if (!ended.has_completed()) co_return id + " was " + std::string(to_string(ended.status));
  co_return id + " has sent " + std::to_string(*ended.output_as<int>()) + " letters";
}
// [/snippet]

// [snippet terminate]
/// Makes room for a campaign that matters more.
Task<std::string> take_over(Context& ctx, std::string from) {
  ctx.terminate(from, "the budget is needed elsewhere");
  const EndedInstance ended = co_await ctx.ended(from);
  co_return from + " is " + std::string(to_string(ended.status));
}
// [/snippet]

// [snippet tree]
/// An instance with all that descends from it, each with its status, indented by depth.
void show_tree(const Client& client, const std::string& id) {
  TreeOptions options;
  for (bool more = true; more;) {
    const TreePage page = client.tree(id, options);
    for (const TreeNode& node : page.nodes)
      std::cout << std::string(2 * node.depth, ' ') << node.info.id << ": " << to_string(node.info.status)
                << "\n";
    more = page.next.has_value();
    if (more) options.after = *page.next;
  }
}
// [/snippet]

void wait_for_children(const Client& client, const std::string& id, std::size_t count) {
  while (client.list({.parent = id}).runs.size() < count) std::this_thread::sleep_for(1ms);
}

}  // namespace

int main() {
  Runtime rt(memory(), {.activity_slots = 2, .logger = null_logger()});
  rt.activity("post", [](ActivityContext&, int) { return 1; });
  rt.orchestration("campaign", campaign);
  rt.orchestration("letter", letter);
  rt.orchestration("clean_up_after", clean_up_after);
  rt.orchestration("take_over", take_over);
  rt.start();
  Client client = rt.client();

  const Run run = client.start("campaign", {.id = "spring"}, 3);
  wait_for_children(client, "spring", 3);
  const Run watcher = client.start("clean_up_after", "spring");

  // [snippet suspend]
  // Somebody found a mistake: no letter goes out until it is mended.
  const BulkResult stopped = client.suspend_all({.orchestration = "letter"});
  std::cout << stopped.done << " letters wait\n";
  client.raise("spring/1", "approved");  // is kept
  // ...
  client.resume_all({.orchestration = "letter"});
  // [/snippet]
  client.raise("spring/2", "approved");
  client.raise("spring/3", "approved");
  std::cout << run.wait<int>(30s) << " sent\n";
  std::cout << watcher.wait<std::string>(30s) << "\n";
  show_tree(client, "spring");

  // [snippet restart]
  const Run again = client.run("spring/2").restart();  // has ended: a new life with the same input
  again.raise("approved");
  std::cout << again.id() << " once more: " << again.wait<int>(30s) << "\n";
  // [/snippet]

  client.start("campaign", {.id = "summer"}, 2);
  wait_for_children(client, "summer", 2);
  std::cout << client.start("take_over", "summer").wait<std::string>(30s) << "\n";

  // [snippet delete]
  client.delete_instance("spring", {.cascade = true});  // with its letters, all of which have ended
  const BulkResult deleted = client.delete_all({.prefix = "summer"}, {.force = true});
  for (const BulkRefusal& refusal : deleted.refusals) std::cout << refusal.why << "\n";
  // [/snippet]
  std::cout << client.list({.prefix = "s"}).runs.size() << " left\n";
}
