#include "agent.hpp"

#include <holdfast/result.hpp>

namespace agent {

using namespace holdfast;

Task<Talk> hold_conversation(Context& ctx, Talk talk) {
  const Receiver<Line> lines = ctx.mailbox(said);
  while (!ctx.should_continue_as_new()) {
    const Line line = co_await lines.receive();
    // One line at a time, so the session needs no order of its own.
    const Result<Answer> reached =
        co_await ctx.activity(reply, {.session = ctx.instance_id()}, line).result();
    Answer answer;
    if (reached) {
      answer = *reached;
    } else {
      answer.id = line.id;
      answer.text = "I could not think about that: " + reached.error().message;
    }
    talk.recent.push_back(answer);
    if (talk.recent.size() > kRecentAnswers) talk.recent.erase(talk.recent.begin());
    ctx.set_status(talk);
    if (answer.last) {
      co_await ctx.session(ctx.instance_id()).close();  // nobody needs the memory any more
      co_return talk;
    }
  }
  co_await ctx.continue_as_new(talk);
}

}  // namespace agent
