// The orchestration that the fuzz target `replay` runs: every construct, as short as it can be.
#pragma once

#include <holdfast/context.hpp>
#include <holdfast/saga.hpp>

#include <string>

namespace holdfast::fuzz {

inline Task<std::string> works(Context& ctx, std::string name) {
  auto text = co_await ctx.activity<std::string>(name, {.queue = "q"}, name);
  co_return text;
}

inline Task<> books(Context& ctx, Saga& saga) {
  co_await ctx.activity<void>("book");
  saga.undo_with("undo", "x");
  co_await works(ctx, "more");
}

inline Task<std::string> waits(Context& ctx, std::string log) {
  log += co_await ctx.event<std::string>("e");
  const auto box = ctx.mailbox<std::string>("m");
  log += co_await box.receive();
  const auto rest = co_await box.drain();
  for (const std::string& text : rest) log += text;
  const auto timed = co_await with_timeout(works(ctx, "in time"), std::chrono::hours(1));
  co_return timed ? log + *timed : log;
}

inline Task<std::string> talks(Context& ctx) {
  auto session = co_await ctx.open_session({.requirements = {"gpu"}});
  auto text = co_await session.activity<std::string>("render", 1);
  co_await session.close();
  const SessionEvent news = co_await session.next_event();
  const auto value = co_await ctx.value_of<std::string>("i-2", "k");
  co_return text + news.to + value.value_or("");
}

inline Task<> everything(Context& ctx, std::string in) {
  using namespace std::chrono_literals;
  ctx.start(works(ctx, "detached")).detach();
  static_cast<void>(co_await run_saga(ctx, books).result());
  ctx.set_value("k", in);
  ctx.set_status(in);
  if (ctx.patched("p")) ctx.deprecate_patch("q");
  const int effect = co_await ctx.side_effect([] { return 7; });
  auto child = ctx.child<std::string>("child", effect).start();
  auto other = ctx.start_detached("other", {.id = "o-1"}).start();
  const auto winner = co_await race(waits(ctx, in), talks(ctx), child, ctx.sleep(1s));
  const auto all = co_await when_all_settled(other, ctx.activity<void>("a"), works(ctx, "b"));
  if (winner.index() == 3 || !std::get<1>(all)) throw ActivityFailure("late", "too late");
  co_await ctx.shield(works(ctx, "shielded"));
  if (ctx.history_size() < 100) co_await ctx.continue_as_new(in + "x");
  ctx.clear_value("k");
}

}  // namespace holdfast::fuzz
