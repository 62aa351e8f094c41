// What `./dev run agents` shows: conversations that stay with the worker that remembers them, and move when
// they must. This program plays the users (a client) and starts itself again as three workers on one SQLite
// file. It drains one of them, kills another with `kill -9`, and lets the third, which may hold only half of
// the conversations at once, finish all of them.
#include <holdfast/holdfast.hpp>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace holdfast;
using namespace std::chrono_literals;

namespace {

constexpr int kConversations = 20;

// ---- the conversation ---------------------------------------------------------------------------

// [snippet conversation]
struct Question {
  std::string text;
  CalendarTime asked;
};

/// What the worker that holds a conversation remembers of it.
struct Memory {
  std::vector<std::string> questions;
};

Task<Memory> converse(Context& ctx, std::string talk, int turns) {
  Memory remembered;
  for (int turn = 1; turn <= turns; ++turn) {
    co_await ctx.sleep(200ms + 1ms * (ctx.random() % 200));  // somebody types
    const Question question{"question " + std::to_string(turn), ctx.now()};
    remembered = co_await ctx.activity<Memory>("reply", {.session = talk}, question);
  }
  co_return remembered;
}
// [/snippet]

// ---- the worker ---------------------------------------------------------------------------------

// Tells the users what happens, a line each, in one write.
void tell(const std::string& line) {
  const std::string text = line + "\n";
  if (write(STDOUT_FILENO, text.data(), text.size()) < 0) _exit(1);
}

void tell_that_it_begins(const std::string& worker, const ActivityContext& ctx, std::size_t turn,
                         const Question& question) {
  const auto waited = std::chrono::system_clock::now() - question.asked;
  tell(worker + " " + ctx.session()->id + " " + std::to_string(turn) + " " +
       to_string(ctx.session()->generation) + " " +
       std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(waited).count()));
}

// [snippet worker]
void work(const std::string& file, const std::string& name) {
  Runtime rt(sqlite(file), {.node_id = name,
                            .activity_slots = 16,
                            .activity_lease = 2s,
                            .instance_lease = 2s,
                            .session_limit = 10,
                            .session_lease = 2s,  // how soon others may take over; 30 s unless said otherwise
                            .logger = null_logger()});
  // What a turn adds to the memory is saved in the transaction that records the turn.
  const auto memories =
      rt.session_state<Memory>("memory", saved_by_codec<Memory>(SaveState::with_each_activity));
  rt.activity("reply", [name, memories](ActivityContext& ctx, Question question) {
    Memory& memory = memories.in(ctx);
    tell_that_it_begins(name, ctx, memory.questions.size() + 1, question);
    std::this_thread::sleep_for(150ms);  // here a model would think
    memory.questions.push_back(question.text);
    return memory;
  });
  rt.orchestration("converse", converse);
  rt.start();
  tell(name + " ready");
  int signal = 0;
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigwait(&ends, &signal);  // main() has blocked it
  rt.drain(10s);            // what it holds goes on elsewhere, at once
}
// [/snippet]

// ---- what the users see -------------------------------------------------------------------------

const bool on_terminal = isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr;

std::string styled(const char* code, const std::string& text) {
  return on_terminal ? "\033[" + std::string(code) + "m" + text + "\033[0m" : text;
}

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

const char* colour_of(const std::string& worker) {
  return worker == "worker-1" ? "36" : worker == "worker-2" ? "33" : "35";
}
std::string coloured(const std::string& worker, std::size_t width = 0) {
  return styled(colour_of(worker), padded(worker, width));
}

std::string as_time(int ms) {
  std::array<char, 16> text{};
  if (ms < 1000) {
    snprintf(text.data(), text.size(), "%d ms", ms);
  } else {
    snprintf(text.data(), text.size(), "%.1f s", ms / 1000.0);
  }
  return text.data();
}

/// Said by a worker: "I begin this turn of this conversation, of which I hold this generation."
struct Begin {
  std::string worker;
  std::string talk;  // "ready": the worker is there
  int turn = 0;
  std::uint64_t generation = 0;
  int waited_ms = 0;
};

/// A worker process. It speaks into `pipe`, and goes with the object.
class WorkerProcess {
 public:
  WorkerProcess(const std::string& file, const std::string& name, const std::array<int, 2>& pipe) {
    process_ = fork();
    if (process_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // never left alone
    dup2(pipe[1], STDOUT_FILENO);
    close(pipe[0]);
    close(pipe[1]);
    execl("/proc/self/exe", "agents", "worker", file.c_str(), name.c_str(), nullptr);
    _exit(127);
  }
  ~WorkerProcess() { end(SIGKILL); }
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  void drain() const { kill(process_, SIGTERM); }
  void kill9() { end(SIGKILL); }

 private:
  void end(int signal) {
    if (process_ <= 0) return;
    kill(process_, signal);
    waitpid(process_, nullptr, 0);
    process_ = -1;
  }
  pid_t process_ = -1;
};

/// Tells what is seen as it happens, and keeps all of it.
class Story {
 public:
  Story(Client client, bool brief) : client_(std::move(client)), brief_(brief) {}

  void note(const std::string& who, const std::string& text, const char* style = "1") {
    std::cout << (brief_ ? std::string(10, ' ') : time()) << coloured(who, 12) << styled(style, text)
              << std::endl;
  }

  void add(const Begin& begin) {
    std::vector<Begin>& begins = talks_[begin.talk];
    if (!begins.empty() && begins.back().generation != begin.generation) tell_move(begins.back(), begin);
    begins.push_back(begin);
  }

  /// Whether all conversations have come so far.
  [[nodiscard]] bool all_at(int turn) const {
    return talks_.size() == kConversations &&
           std::ranges::all_of(talks_, [turn](const auto& talk) { return talk.second.back().turn >= turn; });
  }

  /// How the conversations are spread now.
  void tell_holders() const {
    if (brief_) return;
    std::map<std::string, std::string> held;
    for (const auto& [talk, begins] : talks_) held[begins.back().worker] += " " + talk.substr(5);
    for (const auto& [worker, talks] : held)
      std::cout << std::string(10, ' ') << coloured(worker, 12) << "holds" << talks << std::endl;
  }

  /// One line for each conversation, with the worker of each turn.
  void tell_lanes() const {
    if (brief_) return;
    std::cout << "\nWho answered; 2x3: worker-2 was cut off, and worker-3 began that turn again.\n";
    for (const auto& [talk, begins] : talks_) {
      std::cout << "  " << talk << "  ";
      for (std::size_t i = 0; i < begins.size(); ++i) {
        std::cout << styled(colour_of(begins[i].worker), begins[i].worker.substr(7))
                  << (is_cut_off(begins, i) ? styled("1;31", "x") : "  ");
      }
      std::cout << "\n";
    }
  }

  void tell_moves() const {
    if (brief_) return;
    std::cout << "\n"
              << styled("1", padded("why they moved", 40) + padded("moves", 8) + "longest wait") << "\n";
    for (const auto& [why, waits] : moves_) {
      std::cout << padded(why, 40) << padded(std::to_string(waits.size()), 8)
                << as_time(*std::ranges::max_element(waits)) << "\n";
    }
  }

  [[nodiscard]] int twice_in_a_generation() const {
    int twice = 0;
    for (const auto& [talk, begins] : talks_) {
      std::map<std::pair<int, std::uint64_t>, int> times;
      for (const Begin& begin : begins) twice += ++times[{begin.turn, begin.generation}] == 2 ? 1 : 0;
    }
    return twice;
  }

 private:
  // The same turn begins once more: nobody heard of the end of the time before.
  static bool is_cut_off(const std::vector<Begin>& begins, std::size_t i) {
    return i + 1 < begins.size() && begins[i + 1].turn == begins[i].turn;
  }

  /// What the session log says about the end of the hold before this one.
  [[nodiscard]] std::string why(const Begin& begin) const {
    std::string reason = "?";
    for (const SessionLogEntry& entry : client_.session_log(begin.talk)) {
      using Kind = SessionLogEntry::Kind;
      const bool leaves = entry.kind == Kind::released || entry.kind == Kind::displaced;
      if (!leaves && entry.generation.value == begin.generation) return reason;
      reason = leaves ? std::string(to_string(entry.reason)) : "killed";
    }
    return reason;
  }

  void tell_move(const Begin& before, const Begin& now) {
    const std::map<std::string, std::string> words{{"drained", "its worker was drained"},
                                                   {"killed", "its worker died, the lease is over"},
                                                   {"displaced", "made room for one that waited"}};
    const std::string reason = why(now);
    const std::string text = words.contains(reason) ? words.at(reason) : reason;
    moves_[text].push_back(now.waited_ms);
    if (brief_) return;
    std::cout << time() << padded(now.talk, 10) << coloured(before.worker) << " -> "
              << coloured(now.worker, 11) << padded(text, 37) << "turn " << now.turn << " waited "
              << as_time(now.waited_ms) << (before.turn == now.turn ? styled("1;31", ", begun again") : "")
              << std::endl;
  }

  [[nodiscard]] std::string time() const {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
    std::array<char, 16> text{};
    snprintf(text.data(), text.size(), "%6.2f s  ", seconds);
    return styled("2", text.data());
  }

  Client client_;
  bool brief_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::map<std::string, std::vector<Begin>> talks_;
  std::map<std::string, std::vector<int>> moves_;  // by the reason, how long the turn waited
};

/// The most sessions that one worker ever held at once, by the session log.
int most_held(const Client& client) {
  std::map<std::string, std::string> holder;
  std::map<std::string, int> held;
  int most = 0;
  for (const SessionLogEntry& entry : client.session_log("")) {
    using Kind = SessionLogEntry::Kind;
    if (holder.contains(entry.session)) --held[holder[entry.session]];
    holder.erase(entry.session);
    if (entry.kind != Kind::claimed && entry.kind != Kind::moved && entry.kind != Kind::reclaimed) continue;
    holder[entry.session] = entry.owner;
    most = std::max(most, ++held[entry.owner]);
  }
  return most;
}

// ---- the users ----------------------------------------------------------------------------------

std::optional<Begin> next_line(FILE* heard) {
  std::array<char, 256> text{};
  if (fgets(text.data(), text.size(), heard) == nullptr) return std::nullopt;
  Begin line;
  std::istringstream(text.data()) >> line.worker >> line.talk >> line.turn >> line.generation >>
      line.waited_ms;
  return line;
}

// Turns that the memory of a conversation doesn't have, or not in their order.
int missing_turns(const std::vector<Run>& runs, int turns) {
  int missing = 0;
  for (const Run& run : runs) {
    const auto memory = run.wait<Memory>(60s);
    for (int turn = 1; turn <= turns; ++turn) {
      const auto place = static_cast<std::size_t>(turn - 1);
      const bool there =
          place < memory.questions.size() && memory.questions[place] == "question " + std::to_string(turn);
      missing += there ? 0 : 1;
    }
    missing += std::max(0, static_cast<int>(memory.questions.size()) - turns);
  }
  return missing;
}

int conclude(const Client& client, const Story& story, int lost) {
  const int most = most_held(client);
  const int twice = story.twice_in_a_generation();
  story.tell_lanes();
  story.tell_moves();
  const auto row = [](const char* text, auto value) { std::cout << padded(text, 40) << value << "\n"; };
  std::cout << "\n";
  row("turns lost, or out of order", lost);
  row("turns that ran twice in one generation", twice);
  row("most sessions at one worker (limit 10)", most);
  const bool fine = lost == 0 && twice == 0 && most <= 10;
  std::cout << "\n"
            << styled(fine ? "1;32" : "1;31", fine ? "OK" : "FAILED")
            << "  20 conversations, 1 drain, 1 kill -9: every turn was answered, by a worker that remembered "
               "all before it.\n";
  return fine ? 0 : 1;
}

int users(const std::string& file, bool brief) {
  const int turns = brief ? 6 : 10;
  std::cout << styled("1", "Holdfast")
            << ": 20 conversations with 3 workers on one SQLite file. A worker remembers at most 10.\n\n";
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) throw std::runtime_error("no pipe");
  WorkerProcess first(file, "worker-1", ends);
  WorkerProcess second(file, "worker-2", ends);
  const WorkerProcess third(file, "worker-3", ends);
  close(ends[1]);
  FILE* const heard = fdopen(ends[0], "r");

  Client client((sqlite(file)));
  Story story(client, brief);
  std::vector<Run> runs;
  int ready = 0;
  int drain_at = 2;
  int kill_at = 4;
  while (const std::optional<Begin> line = next_line(heard)) {
    if (line->talk == "ready") {
      if (++ready < 3) continue;
      std::vector<StartItem> talks;
      for (int i = 1; i <= kConversations; ++i) {
        const std::string id = (i < 10 ? "talk-0" : "talk-") + std::to_string(i);
        talks.push_back(start_item(id, id, turns));
      }
      runs = client.start_all("converse", talks);
      continue;
    }
    story.add(*line);
    if (drain_at > 0 && story.all_at(drain_at)) {
      story.tell_holders();
      story.note("worker-1", "is drained: what it holds goes on elsewhere, at once");
      first.drain();
      drain_at = 0;
    }
    if (kill_at > 0 && story.all_at(kill_at) && line->worker == "worker-2") {
      story.tell_holders();
      second.kill9();
      story.note("worker-2",
                 "kill -9, in the middle of a turn: what it held goes on when its leases are over", "1;31");
      story.note("worker-3", "is alone now, with room for 10 of the 20");
      kill_at = 0;
    }
    if (story.all_at(turns)) break;
  }
  const int lost = missing_turns(runs, turns);
  third.drain();
  while (const std::optional<Begin> line = next_line(heard)) story.add(*line);
  fclose(heard);
  return conclude(client, story, lost);
}

int main_in_folder(bool brief) {
  std::string folder = (std::filesystem::temp_directory_path() / "holdfast-agents-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) throw std::runtime_error("no temporary folder");
  const int status = users(folder + "/agents.db", brief);
  std::filesystem::remove_all(folder);
  return status;
}

// Before there are threads: none of them is ended by it.
void block_sigterm() {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigprocmask(SIG_BLOCK, &ends, nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    if (arguments.size() == 3 && arguments[0] == "worker") {
      block_sigterm();
      return work(arguments[1], arguments[2]), 0;
    }
    return main_in_folder(!arguments.empty() && arguments[0] == "--quick");
  } catch (const std::exception& e) {
    std::cerr << "agents: " << e.what() << "\n";
    return 1;
  }
}
