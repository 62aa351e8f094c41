// A conversation that may go on for years: its history is cut by continue-as-new.
#include <holdfast/testing/replay.hpp>

#include <iostream>
#include <string>
#include <vector>

using namespace holdfast;
using namespace std::chrono_literals;

namespace {

// [snippet agent]
struct Reply {
  std::string text;
  bool done = false;
};

struct Conversation {
  std::string id;
  std::vector<std::string> messages;
};

Task<std::string> agent(Context& ctx, Conversation talk) {
  while (!ctx.should_continue_as_new()) {
    const Reply reply =
        co_await ctx.activity<Reply>("model", {.session = talk.id, .timeout = 5min}, talk.messages);
    talk.messages.push_back(reply.text);
    ctx.set_status(talk.messages.size());
    if (reply.done) co_return reply.text;
  }
  co_await ctx.continue_as_new(talk);  // never resumes: the next execution starts with `talk`
}
// [/snippet]

}  // namespace

int main() {
  testing::ReplayHarness run({.history_budget = 8});
  run.start(agent, Conversation{.id = "talk-1", .messages = {"hello"}});
  for (int i = 1; run.state() != testing::ReplayHarness::State::completed; ++i) {
    run.complete("model", Reply{.text = "thought " + std::to_string(i), .done = i == 5});
    std::cout << "execution " << to_string(run.execution()) << ", " << run.history().size() << " events, "
              << run.status<int>().value() << " messages\n";
    if (run.state() == testing::ReplayHarness::State::continued_as_new) run.next_execution();
  }
  std::cout << run.result<std::string>().value() << "\n";
}
