// What `./dev run` shows: orders that outlive the process that handles them. This program is the shop (a
// client) and starts itself again as a worker: it kills that with `kill -9` in the middle of a step, starts
// another on the same file, and shows what ran once, what ran again, and what was undone.
#include "sell.hpp"

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
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace holdfast;
using namespace std::chrono_literals;
using shop::Order;
using shop::sell;

namespace {

// ---- the worker ---------------------------------------------------------------------------------

struct Step {
  const char* name = "";
  std::chrono::milliseconds takes{};
};
constexpr std::array kSteps{Step{"reserve_stock", 150ms}, Step{"score_risk", 300ms},
                            Step{"charge_card", 300ms},   Step{"ship", 250ms},
                            Step{"refund_card", 150ms},   Step{"release_stock", 150ms}};

// Tells the shop what happens, a line each, in one write.
void tell(const std::string& line) {
  const std::string text = line + "\n";
  if (write(STDOUT_FILENO, text.data(), text.size()) < 0) _exit(1);
}

void perform(const Step& step, const ActivityContext& ctx, const Order& order) {
  const std::string what = " " + order.id + " " + ctx.name() + " ";
  tell("begins" + what + ctx.idempotency_key());
  // The first time, the bank takes so long that the process doesn't live to see its answer.
  const bool for_ever = ctx.name() == "charge_card" && order.id == "o-1" && ctx.delivery() == 1;
  std::this_thread::sleep_for(for_ever ? std::chrono::hours(1) : step.takes);
  if (ctx.name() == "ship" && order.item == "piano") {
    tell("fails" + what + ctx.idempotency_key());
    throw ActivityFailure("too_heavy", "no carrier takes a piano", /*retryable=*/false);
  }
  tell("done" + what + ctx.idempotency_key());
}

// [snippet worker]
void work(const std::string& file, const std::string& name) {
  Runtime rt(sqlite(file),
             {.node_id = name,
              .activity_lease = 2s,  // how soon another worker may take over; 30 s unless said otherwise
              .instance_lease = 2s,
              .logger = null_logger()});
  for (const Step& step : kSteps) {
    rt.activity(step.name, [step](ActivityContext& ctx, Order order) { perform(step, ctx, order); });
  }
  rt.orchestration("sell", sell);
  rt.start();
  tell("ready");
  pause();  // until somebody ends this process
}
// [/snippet]

// ---- what the shop sees -------------------------------------------------------------------------

const bool on_terminal = isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr;

std::string styled(const char* code, const std::string& text) {
  return on_terminal ? "\033[" + std::string(code) + "m" + text + "\033[0m" : text;
}

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

/// Something that a worker said.
struct Line {
  std::string what;  // "ready", "begins", "done", "fails"; empty when the worker is gone
  std::string order;
  std::string step;
  std::string key;
};

/// A worker process, and the end of a pipe at which it can be heard. It goes with the object.
class WorkerProcess {
 public:
  WorkerProcess(const std::string& file, std::string name) : name_(std::move(name)) {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) throw std::runtime_error("no pipe");
    process_ = fork();
    if (process_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);  // never left alone
      dup2(ends[1], STDOUT_FILENO);
      close(ends[0]);
      execl("/proc/self/exe", "demo", "worker", file.c_str(), name_.c_str(), nullptr);
      _exit(127);
    }
    close(ends[1]);
    heard_ = fdopen(ends[0], "r");
  }
  ~WorkerProcess() {
    kill9();
    if (heard_ != nullptr) fclose(heard_);
  }
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }

  Line next() {
    std::array<char, 256> text{};
    if (fgets(text.data(), text.size(), heard_) == nullptr) return {};
    Line line;
    std::istringstream(text.data()) >> line.what >> line.order >> line.step >> line.key;
    return line;
  }
  void kill9() {
    if (process_ <= 0) return;
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
    process_ = -1;
  }

 private:
  std::string name_;
  pid_t process_ = -1;
  FILE* heard_ = nullptr;
};

/// Tells what is seen as it happens, and keeps count of it.
class Timeline {
 public:
  void note(const std::string& who, const std::string& text, const char* style = "0") {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
    std::array<char, 16> time{};
    if (on_terminal) snprintf(time.data(), time.size(), "%5.2f s  ", seconds);
    std::cout << styled("2", time.data()) << styled("1", padded(who, 10)) << styled(style, text) << std::endl;
  }

  /// Follows a worker until it has said `what` of each of these steps.
  void follow(WorkerProcess& worker, const std::string& what, const std::string& order,
              std::vector<std::string> steps) {
    // Steps that run side by side begin and end as they like. Told in one order, the output can be compared.
    std::multimap<int, Line> in_order;
    while (!steps.empty()) {
      const Line line = worker.next();
      if (line.what.empty()) throw std::runtime_error(worker.name() + " has died");
      if (line.what == what && line.order == order) std::erase(steps, line.step);
      if (on_terminal) {
        show(worker, line);
      } else {
        in_order.emplace(place(line), line);
      }
    }
    for (const auto& [place, line] : in_order) show(worker, line);
  }

  /// The keys under which a step of an order began, one for each time.
  [[nodiscard]] std::vector<std::string> keys_of(const std::string& order, const std::string& step) const {
    const auto found = begun_.find(order + " " + step);
    return found == begun_.end() ? std::vector<std::string>() : found->second;
  }

 private:
  static int place(const Line& line) {
    if (line.step == "reserve_stock") return line.what == "begins" ? 0 : 2;
    if (line.step == "score_risk") return line.what == "begins" ? 1 : 3;
    return 4;
  }
  void show(const WorkerProcess& worker, const Line& line) {
    if (line.step.empty()) return;
    const std::string step = line.order + "  " + padded(line.step, 15);
    if (line.what != "begins")
      return note(worker.name(), step + line.what, line.what == "done" ? "32" : "33");
    std::vector<std::string>& keys = begun_[line.order + " " + line.step];
    keys.push_back(line.key);
    note(worker.name(), step + (keys.size() == 1 ? "begins" : "begins again: nobody knows how far it came"),
         keys.size() == 1 ? "36" : "1;33");
  }

  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::map<std::string, std::vector<std::string>> begun_;
};

std::string times(std::size_t count) {
  if (count == 0) return "-";
  return count == 1 ? "once" : count == 2 ? "twice" : std::to_string(count) + " times";
}

// Fine when one step ran twice, the one that was cut off, with one key for both; and all others at most once.
int conclude(const Timeline& timeline, const std::string& lamp, const std::string& piano) {
  bool fine = lamp == "shipped" && piano.starts_with("undone");
  std::cout << "\n" << styled("1", padded("ran", 16) + padded("o-1", 8) + "o-2") << "\n";
  for (const Step& step : kSteps) {
    const std::vector<std::string> first = timeline.keys_of("o-1", step.name);
    const std::vector<std::string> second = timeline.keys_of("o-2", step.name);
    const bool cut_off = step.name == std::string("charge_card");
    const bool same_key = cut_off && first.size() == 2 && first.front() == first.back();
    fine = fine && (cut_off ? same_key : first.size() <= 1) && second.size() == 1;
    std::cout << padded(step.name, 16) << styled(cut_off ? "1;33" : "0", padded(times(first.size()), 8))
              << times(second.size())
              << (same_key ? styled("2", "    cut off by the kill; the second time under the same key") : "")
              << "\n";
  }
  std::cout << "\n"
            << styled(fine ? "1;32" : "1;31", fine ? "OK" : "FAILED")
            << "  2 orders, 1 kill -9: what was done stayed done, and what was cut off was done again.\n";
  return fine ? 0 : 1;
}

// ---- the shop -----------------------------------------------------------------------------------

int shop(const std::filesystem::path& folder) {
  const std::string file = folder / "shop.db";
  Timeline timeline;
  std::cout << styled("1", "Holdfast")
            << ": two orders in one SQLite file, and a worker that dies in the middle.\n\n";

  Client client(sqlite(file));
  const Run lamp = client.start("sell", {.id = "o-1"}, Order{"o-1", "lamp", 40});
  timeline.note("shop", "o-1  a lamp is ordered; no worker is there yet");
  WorkerProcess first(file, "worker-1");
  timeline.follow(first, "done", "o-1", {"reserve_stock", "score_risk"});
  lamp.raise("approval", true);
  timeline.note("shop", "o-1  approved");
  timeline.follow(first, "begins", "o-1", {"charge_card"});
  first.kill9();
  timeline.note("worker-1", "kill -9, in the middle of the charge", "1;31");

  WorkerProcess second(file, "worker-2");
  timeline.note("worker-2", "starts on the same file, and takes over when the leases of worker-1 are over",
                "1");
  timeline.follow(second, "done", "o-1", {"ship"});
  const auto lamp_result = lamp.wait<std::string>(30s);
  timeline.note("shop", "o-1  " + lamp_result, "1");

  client.raise("o-2", "approval", true);  // for an order that is not there yet: kept until it is
  timeline.note("shop", "o-2  approved before it is ordered");
  const Run piano = client.start("sell", {.id = "o-2"}, Order{"o-2", "piano", 9000});
  timeline.note("shop", "o-2  a piano is ordered");
  timeline.follow(second, "done", "o-2", {"release_stock"});
  const auto piano_result = piano.wait<std::string>(30s);
  timeline.note("shop", "o-2  " + piano_result, "1");
  return conclude(timeline, lamp_result, piano_result);
}

int main_in_folder() {
  std::string folder = (std::filesystem::temp_directory_path() / "holdfast-demo-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) throw std::runtime_error("no temporary folder");
  const int status = shop(folder);
  std::filesystem::remove_all(folder);
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 4 && std::string(argv[1]) == "worker") return work(argv[2], argv[3]), 0;
    return main_in_folder();
  } catch (const std::exception& e) {
    std::cerr << "demo: " << e.what() << "\n";
    return 1;
  }
}
