// assistant: conversations whose memory lives in worker processes. README.md says how to run it.
#include "agent.hpp"
#include "examples/support/command_line.hpp"
#include "examples/support/store.hpp"
#include "memory.hpp"

#include <holdfast/holdfast.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <iostream>
#include <memory>
#include <random>
#include <thread>

using namespace holdfast;
using namespace std::chrono_literals;
using agent::Answer;
using agent::Line;
using agent::Memory;
using agent::Talk;
using support::Arguments;
using support::Opens;
using support::UsageError;

namespace {

constexpr std::string_view kUsage = R"(usage: assistant [--store ADDRESS] [--namespace NAME] COMMAND

  assistant worker --name NAME [--think TIME] [--lease TIME] [--sessions N]
                                answers until it gets SIGINT or SIGTERM; its conversations go on elsewhere
  assistant say TALK LINE [--timeout TIME]
                                says one line in a conversation, which begins with its first line (30s)
  assistant chat TALK [--timeout TIME]
                                the same with each line of the standard input
  assistant where               which worker remembers which conversation
  assistant story TALK          where the memory of a conversation was, and why it moved

  It understands "dog is Rex", "what is dog?", "recite" and "bye".

  --store      sqlite:FILE or postgresql://HOST/DATABASE ($ASSISTANT_STORE, else sqlite:assistant.db)
  --namespace  tells several assistants in one store apart (default)
  --name       the name of a worker, the same after a restart, and no other worker's
  --think      how long an answer takes (50ms)
  --lease      how long the work of a worker that died is kept from others (10s)
  --sessions   how many conversations a worker remembers at most at the same time (100)
)";

std::shared_ptr<Store> open_store(const Arguments& arguments, Opens how) {
  return support::open_store(arguments, "ASSISTANT_STORE", "sqlite:assistant.db", how);
}

// ---- the worker -----------------------------------------------------------------------------------

/// The memory of a session: made from what was said so far when the session comes to this worker, and kept
/// until it leaves. What an answer adds to it is saved in the transaction that records the answer.
SessionState<Memory> remember(Runtime& rt, const std::string& worker) {
  return rt.session_state<Memory>("memory",
                                  {.make =
                                       [worker](const SessionStart& start) {
                                         const auto lines = start.saved<std::vector<std::string>>();
                                         const Memory memory(lines.value_or(std::vector<std::string>()));
                                         support::say(worker + " learns " + start.id + " anew, " +
                                                      std::to_string(memory.lines().size()) +
                                                      " lines, generation " + to_string(start.generation));
                                         return memory;
                                       },
                                   .save = [](const Memory& memory) { return encode(memory.lines()); },
                                   .save_when = SaveState::with_each_activity});
}

int work(const Arguments& arguments) {
  static_cast<void>(arguments.words(0, 0, ""));
  const std::string name = arguments.text("--name", "");
  if (name.empty()) throw UsageError("worker needs a --name");
  const Duration lease = arguments.time("--lease", 10s);
  const std::chrono::milliseconds think = arguments.time("--think", 50ms);
  support::outlive_readers();
  Runtime rt(open_store(arguments, Opens::or_creates),
             {.node_id = name,
              .activity_slots = 16,
              .activity_lease = lease,
              .instance_lease = lease,
              .worker_stale_after = std::max<Duration>(1min, 2 * lease),
              .history_budget = 200,  // a conversation may go on for years
              .session_limit = static_cast<std::uint32_t>(arguments.count("--sessions", 100)),
              .session_lease = lease,
              .session_state_retention = 30 * 24h,  // for those who come back after their holidays
              .logger = stderr_logger(LogLevel::warn)});
  const SessionState<Memory> memories = remember(rt, name);
  rt.activity(agent::reply, [=](ActivityContext& ctx, Line line) {
    support::say(name + " begins " + ctx.session()->id);
    std::this_thread::sleep_for(think / 2);
    Memory& memory = memories.in(ctx);
    const std::string text = memory.hear(line.text);
    const Answer answer{.id = line.id,
                        .turn = static_cast<int>(memory.lines().size()),
                        .text = text,
                        .worker = name,
                        .last = line.text == agent::kGoodbye};
    support::say(name + " answers " + ctx.session()->id + ", turn " + std::to_string(answer.turn));
    std::this_thread::sleep_for(think / 2);
    return answer;
  });
  rt.orchestration(agent::converse, agent::hold_conversation);
  // At the end it saves the memories, and other workers go on with them at once.
  const bool finished = rt.run_until_signal(10s, [&] { support::say(name + " is ready"); });
  support::say(finished ? name + " has handed over its conversations"
                        : name + " has left some of its work to others");
  return 0;
}

// ---- users ----------------------------------------------------------------------------------------

std::string fresh_id() {
  std::random_device random;
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%08x%08x", random(), random());
  return text.data();
}

/// A conversation in the hands of one user.
class Conversation {
 public:
  Conversation(const Arguments& arguments, const std::string& id)
      : run_(Client(open_store(arguments, Opens::or_creates)).start(agent::converse, {.id = id}, Talk{})),
        timeout_(arguments.time("--timeout", 30s)) {}

  /// Says a line and waits for the answer.
  Answer say(const std::string& text) const {
    const Line line{.id = fresh_id(), .text = text};
    try {
      run_.send(agent::said, line);
    } catch (const ClientError& e) {
      if (e.kind() != ClientError::Kind::conflict) throw;
      throw std::runtime_error("the conversation '" + run_.id() + "' is over");
    }
    return wait_for(line.id);
  }

 private:
  [[nodiscard]] Answer wait_for(const std::string& id) const {
    const auto deadline = std::chrono::steady_clock::now() + timeout_;
    RunInfo seen;  // nothing yet
    for (;;) {
      const auto left = std::chrono::duration_cast<Duration>(deadline - std::chrono::steady_clock::now());
      const std::optional<RunInfo> now = run_.wait_for_change(seen, std::max(left, Duration::zero()));
      if (!now) throw std::runtime_error("there is no answer yet; is a worker running?");
      seen = *now;
      const Talk talk = seen.status_as<Talk>().value_or(Talk{});
      const auto answer = std::ranges::find(talk.recent, id, &Answer::id);
      if (answer != talk.recent.end()) return *answer;
      if (has_ended(seen.status)) {
        throw std::runtime_error("the conversation '" + run_.id() + "' ended before it was answered");
      }
    }
  }

  TypedRun<Talk> run_;
  Duration timeout_;
};

void print(const Answer& answer) {
  std::cout << answer.turn << " " << answer.worker << ": " << answer.text << std::endl;
}

int say(const Arguments& arguments) {
  const std::vector<std::string> words = arguments.words(2, 2, "the name of a conversation and one line");
  print(Conversation(arguments, words[0]).say(words[1]));
  return 0;
}

int chat(const Arguments& arguments) {
  const Conversation talk(arguments, arguments.words(1, 1, "the name of a conversation").front());
  for (std::string line; std::getline(std::cin, line);) {
    if (line.empty()) continue;
    const Answer answer = talk.say(line);
    print(answer);
    if (answer.last) break;
  }
  return 0;
}

int where(const Arguments& arguments) {
  static_cast<void>(arguments.words(0, 0, ""));
  const Client client(open_store(arguments, Opens::existing));
  std::vector<SessionInfo> page = client.list_sessions();
  while (!page.empty()) {
    for (const SessionInfo& session : page) {
      std::cout << session.id << ": " << session_status(session);
      if (session_status(session) == "active") std::cout << " on " << session.owner;
      std::cout << "\n";
    }
    page = client.list_sessions(page.back().id);
  }
  return 0;
}

int story(const Arguments& arguments) {
  const std::string id = arguments.words(1, 1, "the name of a conversation").front();
  const Client client(open_store(arguments, Opens::existing));
  const std::vector<SessionLogEntry> entries = client.session_log(id);
  if (entries.empty()) throw std::runtime_error("there is no conversation '" + id + "'");
  for (const SessionLogEntry& entry : entries) std::cout << to_string(entry) << "\n";
  return 0;
}

int run(const Arguments& arguments) {
  const std::string& command = arguments.command();
  if (command == "worker") return work(arguments);
  if (command == "say") return say(arguments);
  if (command == "chat") return chat(arguments);
  if (command == "where") return where(arguments);
  if (command == "story") return story(arguments);
  throw UsageError("there is no command '" + command + "'");
}

}  // namespace

int main(int argc, char** argv) {
  return support::run_program("assistant", kUsage, argc, argv, [&] {
    return run(Arguments(
        argc, argv,
        {{"--store"}, {"--namespace"}, {"--name"}, {"--think"}, {"--lease"}, {"--sessions"}, {"--timeout"}}));
  });
}
