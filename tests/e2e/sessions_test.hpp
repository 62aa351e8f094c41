// Workers that take part in conversations: what the tests of sessions run.
#pragma once

#include "stores_test.hpp"

#include <holdfast/fault.hpp>
#include <holdfast/holdfast.hpp>
#include <holdfast/store.hpp>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::e2e {

/// The store of a process that is dead: nothing that it asks for happens.
class Death final : public FaultPlan {
 public:
  Fault at(std::string_view) override { return dead_ ? Fault::fail_before : Fault::none; }
  void begin() { dead_ = true; }
  void end() { dead_ = false; }

 private:
  std::atomic<bool> dead_{false};
};

/// Where one line was said.
struct Said {
  std::string node{};
  std::string session{};
  std::uint64_t generation = 0;
  bool fresh = false;
};

/// What is empty names no session.
inline std::optional<std::string_view> session_or_none(const std::string& session) {
  return session.empty() ? std::nullopt : std::optional<std::string_view>(session);
}

inline Task<std::vector<Said>> converse(Context& ctx, std::string session, int lines) {
  std::vector<Said> said;
  for (int i = 0; i < lines; ++i) {
    said.push_back(co_await ctx.activity<Said>("say", {.session = session_or_none(session)}, i));
  }
  co_return said;
}

inline Task<std::vector<Said>> parent(Context& ctx, std::string session, int lines) {
  auto child = ctx.child<std::vector<Said>>("converse", session, lines);
  std::vector<Said> said = co_await std::move(child);
  const std::vector<Said> own = co_await converse(ctx, session, lines);
  said.insert(said.end(), own.begin(), own.end());
  co_return said;
}

inline Task<std::vector<Said>> again(Context& ctx, std::string session, int lines, std::vector<Said> said) {
  said.push_back(co_await ctx.activity<Said>("say", {.session = session}, lines));
  if (lines > 1) co_await ctx.continue_as_new(session, lines - 1, said);
  co_return said;
}

inline Task<void> waits_in(Context& ctx, std::string session) {
  co_await ctx.activity<void>("wait", {.session = session_or_none(session)});
}

inline Task<std::string> upgraded(Context& ctx, std::string session) {
  co_await ctx.activity<Said>("say", {.session = session}, 0);
  co_await ctx.activity<void>("tell");
  co_return co_await ctx.activity<std::string>("only_new", {.session = session});
}

class SessionsTest : public OnEachStore {
 protected:
  void add_conversations(Runtime& rt, const std::string& node) {
    rt.activity("say", [node](ActivityContext& ctx, int) {
      Said said{.node = node};
      if (ctx.session()) {
        said.session = ctx.session()->id;
        said.generation = ctx.session()->generation.value;
        said.fresh = ctx.session()->fresh;
      }
      return said;
    });
    rt.activity("wait", [this](ActivityContext& ctx) {
      ++waiting;
      while (!go_on && !ctx.stop_token().stop_requested()) std::this_thread::sleep_for(1ms);
    });
    rt.activity("tell", [this](ActivityContext&) { ++told; });
    rt.orchestration("converse", converse);
    rt.orchestration("parent", parent);
    rt.orchestration("again", again);
    rt.orchestration("waits_in", waits_in);
    rt.orchestration("upgraded", upgraded);
  }

  static RuntimeOptions named(const std::string& node, RuntimeOptions options) {
    options.node_id = node;
    return options;
  }
  std::unique_ptr<Runtime> worker(const std::string& node, RuntimeOptions options = {}) {
    return runtime(named(node, std::move(options)), [&](Runtime& rt) { add_conversations(rt, node); });
  }

  /// Runs turns, and nothing of any session.
  std::unique_ptr<Runtime> turns_only(const std::function<void(Runtime&)>& add = [](Runtime&) {}) {
    RuntimeOptions options = named("turns", quick(log));
    options.session_limit = 0;
    return runtime(options, [&](Runtime& rt) {
      rt.activity("tell", [this](ActivityContext&) { ++told; });
      rt.orchestration("converse", converse);
      rt.orchestration("waits_in", waits_in);
      add(rt);
    });
  }

  /// Until so much time has passed for the store.
  void pass(Duration time) {
    const auto clock = store();
    const BootTime until = clock->clock().boot_now() + time;
    EXPECT_TRUE(eventually([&] { return clock->clock().boot_now() >= until; }));
  }
  Client client() { return Client(store()); }
  /// "claimed", "released", ...: of one session, oldest first.
  std::vector<SessionLogEntry::Kind> story_of(const std::string& id) {
    std::vector<SessionLogEntry::Kind> kinds;
    for (const SessionLogEntry& entry : client().session_log(id)) kinds.push_back(entry.kind);
    return kinds;
  }

  std::atomic<int> waiting{0};
  std::atomic<int> told{0};
  std::atomic<bool> go_on{false};
};

}  // namespace holdfast::e2e
