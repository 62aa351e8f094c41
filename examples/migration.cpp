// What to do about memory that stays behind when a session moves: three ways, each with two workers that
// share a store. Most programs need none of them: SessionState does it, see examples/agents.cpp.
#include <holdfast/holdfast.hpp>

#include <condition_variable>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace holdfast;
using namespace std::chrono_literals;

namespace {

using Lines = std::vector<std::string>;

// [snippet archive]
/// Where a program keeps conversations itself. It takes nothing from a worker that has lost the session.
class Archive {
 public:
  Lines load(const std::string& talk) {
    const std::lock_guard lock(mutex_);
    return kept_[talk].lines;
  }
  void save(const ActivitySession& session, const Lines& lines) {
    const std::lock_guard lock(mutex_);
    Kept& kept = kept_[session.id];
    if (session.generation < kept.generation) throw ActivityFailure("too_late", "another worker has it");
    kept = {session.generation, lines};
  }

 private:
  struct Kept {
    Generation generation{};
    Lines lines{};
  };
  std::mutex mutex_;
  std::map<std::string, Kept> kept_;
};
// [/snippet]

// [snippet known]
/// What one worker has in memory, by session.
class Known {
 public:
  struct Talk {
    Generation held_since{};
    Generation generation{};
    std::mutex mutex{};            // activities of a session may run side by side
    std::optional<Lines> lines{};  // nothing: they have to be loaded
  };
  std::shared_ptr<Talk> in(const ActivitySession& session) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<Talk>& talk = talks_[session.id];
    // What is here from an earlier time is old: another worker had the session in between.
    if (!talk || talk->held_since < session.held_since) talk = std::make_shared<Talk>();
    talk->held_since = session.held_since;
    talk->generation = session.generation;
    return talk;
  }
  void forget(const SessionNotice& left) {
    const std::lock_guard lock(mutex_);
    const auto found = talks_.find(left.id);
    if (found == talks_.end() || found->second->generation > left.generation) return;  // it is back already
    talks_.erase(found);
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Talk>> talks_;
};
// [/snippet]

// ---- 1. what is not in memory is loaded ---------------------------------------------------------

// [snippet rehydrate]
void add_reply(Runtime& rt, const std::string& node, Archive& archive) {
  const auto known = std::make_shared<Known>();
  rt.activity("reply", [node, known, &archive](ActivityContext& ctx, std::string line) {
    const ActivitySession& session = *ctx.session();
    const std::shared_ptr<Known::Talk> talk = known->in(session);
    const std::lock_guard lock(talk->mutex);
    const bool loads = !talk->lines;
    if (loads) talk->lines = archive.load(session.id);
    talk->lines->push_back(line);
    archive.save(session, *talk->lines);
    return node + " knows " + std::to_string(talk->lines->size()) + (loads ? ", and had to load" : "");
  });
  rt.on_session_released([known](const SessionNotice& left) { known->forget(left); });
}
// [/snippet]

Task<std::string> ask(Context& ctx, std::string talk, std::string line) {
  co_return co_await ctx.activity<std::string>("reply", {.session = talk}, line);
}

// ---- 2. the session does not leave --------------------------------------------------------------

// [snippet keepalive]
Task<std::string> waits_with_keepalive(Context& ctx, std::string talk) {
  co_await ctx.activity<std::string>("reply", {.session = talk}, "how may I help?");
  // A session with an activity in it is not idle. This one takes a slot of its worker, for as long as it
  // runs.
  auto first =
      co_await race(ctx.event<std::string>("user"), ctx.activity<void>("keepalive", {.session = talk}));
  const std::string line = first.index() == 0 ? std::get<0>(first) : "the keepalive has ended";
  co_return co_await ctx.activity<std::string>("reply", {.session = talk}, line);
}

void add_keepalive(Runtime& rt) {
  rt.activity("keepalive", [](ActivityContext& ctx) {
    std::mutex mutex;
    std::condition_variable_any changed;
    std::unique_lock lock(mutex);
    changed.wait(lock, ctx.stop_token(), [] { return false; });  // until the race is over
  });
}
// [/snippet]

// [snippet never]
Task<std::string> waits_without_idle_timeout(Context& ctx, std::string talk) {
  const Session session = ctx.worker_session(talk, {.idle_timeout = never, .ttl = 24h});
  co_await session.activity<std::string>("reply", "how may I help?");
  const std::string line = co_await ctx.event<std::string>("user");  // costs nothing
  co_return co_await session.activity<std::string>("reply", line);
}
// [/snippet]

Task<std::string> waits(Context& ctx, std::string talk) {
  co_await ctx.activity<std::string>("reply", {.session = talk}, "how may I help?");
  const std::string line = co_await ctx.event<std::string>("user");
  co_return co_await ctx.activity<std::string>("reply", {.session = talk}, line);
}

// ---- 3. the orchestration is told ---------------------------------------------------------------

// [snippet moved]
Task<std::string> warms_up(Context& ctx, std::string talk) {
  const Session session = co_await ctx.open_session({.id = talk, .allow_reacquire_after_failure = true});
  co_await session.activity<std::string>("reply", "how may I help?");
  const Future<std::string> question = ctx.event<std::string>("user").start();
  std::string news = "stayed";
  for (;;) {
    auto first = co_await race(question, session.moved());
    if (first.index() == 0) break;
    const SessionEvent event = std::get<1>(first);
    news = "moved from " + event.from + " to " + event.to + " (" + event.reason + ")";
    // Nobody waits for an answer yet: the time to load what the next one needs.
    co_await session.activity<std::string>("reply", "still there?");
    ctx.set_status(news);
  }
  const std::string answer = co_await session.activity<std::string>("reply", "here is why");
  co_return news + "; " + answer;
}
// [/snippet]

// ---- workers ------------------------------------------------------------------------------------

std::unique_ptr<Runtime> worker(const std::string& node, const std::shared_ptr<Store>& store,
                                Archive& archive) {
  auto rt = std::make_unique<Runtime>(
      store,
      RuntimeOptions{
          .node_id = node, .activity_lease = 600ms, .session_idle_timeout = 300ms, .logger = null_logger()});
  add_reply(*rt, node, archive);
  add_keepalive(*rt);
  rt->orchestration("ask", ask);
  rt->orchestration("waits_with_keepalive", waits_with_keepalive);
  rt->orchestration("waits_without_idle_timeout", waits_without_idle_timeout);
  rt->orchestration("waits", waits);
  rt->orchestration("warms_up", warms_up);
  rt->start();
  return rt;
}

void wait_until(const std::function<bool()>& condition) {
  while (!condition()) std::this_thread::sleep_for(5ms);
}

void tell_story(const Client& client, const std::string& talk) {
  const char* separator = "";
  for (const SessionLogEntry& entry : client.session_log(talk)) {
    if (entry.kind == SessionLogEntry::Kind::swept) continue;  // only its record went, sooner or later
    const bool left = entry.kind == SessionLogEntry::Kind::released;
    std::cout << separator << (left ? "released (" + std::string(to_string(entry.reason)) + ")" : "claimed");
    separator = ", ";
  }
  std::cout << "\n";
}

// A user who thinks for longer than a session stays unused; at least until `changes` happened to it.
std::string ask_late(Client client, const std::string& orchestration, std::size_t changes) {
  const Run run = client.start(orchestration, {.id = orchestration}, orchestration);
  std::this_thread::sleep_for(1s);
  wait_until([&] { return client.session_log(orchestration).size() >= changes; });
  run.raise("user", std::string("my printer burns"));
  return run.wait<std::string>(30s);
}

}  // namespace

int main() {
  const auto store = memory();
  Archive archive;
  Client client(store);
  const auto ask_in = [&client](const std::string& talk, const std::string& line) {
    return client.start("ask", StartOptions{}, talk, line).wait<std::string>(30s);
  };

  std::cout << "What is missing is loaded:\n";
  auto a = worker("a", store, archive);
  for (const char* line : {"one", "two"}) std::cout << "  " << ask_in("talk-1", line) << "\n";
  a->drain(10s);
  auto b = worker("b", store, archive);
  for (const char* line : {"three", "four"}) std::cout << "  " << ask_in("talk-1", line) << "\n";

  std::cout << "A user thinks for a second, the idle timeout is 0.3 s:\n";
  const std::vector<std::pair<std::string, std::size_t>> ways{
      {"waits", 2}, {"waits_with_keepalive", 1}, {"waits_without_idle_timeout", 1}};
  for (const auto& [way, changes] : ways) {
    std::cout << "  " << way << ": " << ask_late(client, way, changes) << "; ";
    tell_story(client, way);
  }

  std::cout << "The orchestration is told:\n";
  const Run run = client.start("warms_up", {.id = "talk-5"}, "talk-5");
  wait_until([&] { return !client.session_log("talk-5").empty(); });
  auto c = worker("c", store, archive);
  b->drain(10s);
  c->acquire_session("talk-5");
  wait_until([&] { return run.custom_status<std::string>().has_value(); });
  run.raise("user", std::string("my printer burns"));
  std::cout << "  " << run.wait<std::string>(30s) << "\n";
}
