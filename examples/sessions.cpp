// Sessions in the hands of an orchestration: activities that share what one worker holds in memory.
#include <holdfast/testing/replay.hpp>

#include <iostream>
#include <string>

using namespace holdfast;
using namespace std::chrono_literals;

namespace {

// [snippet implicit]
Task<std::string> chat(Context& ctx, std::string talk, std::string text) {
  co_return co_await ctx.activity<std::string>("reply", {.session = talk}, text);
}
// [/snippet]

// [snippet explicit]
Task<std::string> render(Context& ctx, std::string scene) {
  const Session gpu = co_await ctx.open_session({.requirements = {"gpu:l4"}, .ttl = 30min});
  std::string frames;
  try {
    co_await gpu.activity<void>("load", scene);
    frames = co_await gpu.activity<std::string>("render");
  } catch (const SessionLost& e) {
    co_return "the worker is gone: " + e.failure().message;
  }
  co_await gpu.close();
  co_return frames;
}
// [/snippet]

// [snippet worker]
Task<> encode_all(Context& ctx, int parts) {
  // Lazy: nothing is recorded until its first activity.
  const Session encoder = ctx.worker_session("encoder", {.queue = "video", .max_concurrent_activities = 1});
  for (int part = 0; part < parts; ++part) co_await encoder.activity<void>("encode", part);
}
// [/snippet]

}  // namespace

int main() {
  testing::ReplayHarness talk;
  talk.start(chat, "talk-1", "hi");
  std::cout << "reply runs in session " << talk.open("reply").session << "\n";

  testing::ReplayHarness run;
  run.start(render, "castle");
  run.complete(run.open().at(0).id);  // the session is open
  run.complete("load");
  run.forget();
  run.complete("render", "240 frames");
  run.complete(run.open().at(0).id);  // it is closed
  std::cout << run.result<std::string>().value() << "\n";

  testing::ReplayHarness lost;
  lost.start(render, "castle");
  lost.complete(lost.open().at(0).id);
  lost.fail("load", Failure{.category = Category::session, .type = "session_lost", .message = "power cut"});
  std::cout << lost.result<std::string>().value() << "\n";

  testing::ReplayHarness parts;
  parts.start(encode_all, 2);
  parts.complete("encode");
  std::cout << "encode runs in session " << parts.open("encode").session << "\n";
}
