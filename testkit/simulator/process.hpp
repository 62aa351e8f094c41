// Process: one started runtime under the simulator. It does, move by move, what the schedules of a real one,
// and its drain, would have threads do.
#pragma once

#include "runtime/drain.hpp"
#include "runtime/schedule.hpp"
#include "runtime/worker.hpp"
#include "testkit/simulator/executor.hpp"
#include "testkit/simulator/faulty_store.hpp"
#include "testkit/simulator/frame_executor.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/random.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::simulator {

/// One thing that a process could do now.
struct Move {
  enum class Kind : std::uint8_t {
    step,    ///< one of its threads runs a step
    work,    ///< the code of an activity comes to its end
    frames,  ///< its executor runs turns, or destroys frames
    wake,    ///< news of the store arrives
    floor,   ///< no news came for a while: it looks for itself
    rest,    ///< a thread of activities does what activities have left to be done
    leave,   ///< it was asked to leave, and goes on with that
  };
  Kind kind = Kind::step;
  std::size_t index = 0;  ///< the thread, or the wake-up
};

class Process {
 public:
  struct Setup {
    std::uint64_t number = 0;  ///< of all processes of the run
    std::string name{};        ///< for the trace
    std::uint64_t build = 0;
    RuntimeOptions options{};
    std::unique_ptr<SimFrameExecutor> frames{};  ///< which the registry may name
    runtime::Registry registry{};
    std::shared_ptr<FaultyStore> store{};
    std::uint64_t seed = 0;
    std::function<BootTime()> activity_end{};  ///< when an activity that begins now ends
  };
  explicit Process(Setup setup);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  [[nodiscard]] std::uint64_t number() const noexcept { return setup_.number; }
  [[nodiscard]] const std::string& name() const noexcept { return setup_.name; }
  [[nodiscard]] std::uint64_t build() const noexcept { return setup_.build; }
  [[nodiscard]] const std::string& node_id() const noexcept { return setup_.options.node_id; }

  /// Joins the store and begins to work. False when the store could not be reached: it is of no use then.
  bool start();

  // ---- what it could do ---------------------------------------------------------------------------

  void offer(BootTime now, std::vector<Move>& moves) const;
  /// When it could do something that it can't do now.
  [[nodiscard]] BootTime next_due(BootTime now) const;
  /// In words, for the trace.
  [[nodiscard]] std::string describe(const Move& move) const;
  /// Throws what production code throws: nothing, unless there is a mistake in it. Returns a complaint when
  /// the process did something that threads must not do.
  std::optional<std::string> make(const Move& move);

  /// Takes the news that the store has for it; each kind of news goes through `fate`: none when it is lost,
  /// else when it arrives.
  void listen(const std::function<std::optional<BootTime>(const store::Wake&)>& fate);

  // ---- what happens to it -----------------------------------------------------------------------

  /// It stands still until then.
  void pause(BootTime until) noexcept {
    paused_until_ = until;
    came_back_at_ = std::max(until, now());
  }
  /// When it stood still last, the end of that.
  [[nodiscard]] BootTime came_back_at() const noexcept { return came_back_at_; }
  /// From when on it acts on news: after the last step of the thread that does so which took long, since a
  /// call to the store did. max() while a step of that thread is under way.
  [[nodiscard]] BootTime acts_on_news_since() const noexcept { return acts_on_news_since_; }
  /// Whether its threads run.
  [[nodiscard]] bool is_at_work() const noexcept { return !is_dead() && !left_; }
  /// It dies: the store no longer hears of it. Destroy it once it is not in use.
  void kill();
  [[nodiscard]] bool is_dead() const noexcept { return setup_.store->is_cut_off(); }
  /// Activities that run now come to their end in a process that is dying: what they did is done, and nobody
  /// hears of it.
  void finish_unheard(std::size_t count);
  /// Asks it to leave, as Runtime::drain does.
  void drain(BootTime deadline);
  /// Whether its program may ask for something: nothing of it is under way that this would have to wait for.
  [[nodiscard]] bool is_ready_for_verbs(BootTime now) const {
    return listener_ && !is_dead() && paused_until_ <= now && !drain_ && in_use_ == 0;
  }
  SessionAcquired acquire_session(std::string_view id, const SessionOptions& options);
  SessionOutcome renew_session(std::string_view id);
  SessionOutcome close_session(std::string_view id);
  [[nodiscard]] WorkerKey worker() const { return worker_.standing().key(); }
  [[nodiscard]] const RuntimeOptions& options() const noexcept { return setup_.options; }
  [[nodiscard]] BootTime now() const { return setup_.store->clock().boot_now(); }

  /// Whether it has stopped working because another process goes by its name.
  [[nodiscard]] bool is_superseded() const noexcept { return worker_.standing().is_superseded(); }
  [[nodiscard]] bool is_draining() const noexcept { return drain_.has_value(); }
  /// It was asked to leave, has had nothing to do for long, as far as that counts from `since` on, and is
  /// still here: it waits for others.
  [[nodiscard]] bool lingers(BootTime since) const;
  [[nodiscard]] bool has_left() const noexcept {
    return left_ && executor_.empty() && setup_.frames->empty();
  }
  /// Whether it has left while code of activities went on, whose locks nobody could give back.
  [[nodiscard]] bool left_code_running() const { return left_ && !worker_.running_activities().empty(); }
  /// Whether it has this session in its memory.
  [[nodiscard]] bool holds(const store::SessionHold& hold) const { return worker_.session(hold.id) == hold; }
  /// Slots that are taken though no code runs any more: none, once it has left.
  [[nodiscard]] std::size_t slots_lost() const { return worker_.slots_in_use(); }
  /// Frames that its executor still has: none, once it has left.
  [[nodiscard]] std::size_t frames_lost() const { return worker_.frames_elsewhere(); }
  /// Its executor is late no longer.
  void hurry() { setup_.frames->hurry(now()); }
  /// Whether one of its threads is in the middle of something.
  [[nodiscard]] bool in_use() const noexcept { return in_use_ > 0; }

 private:
  struct Thread {
    runtime::Step step{};
    bool running = false;
    bool ended = false;  ///< it was stuck, and another one has its place
  };
  struct Arriving {
    BootTime at{};
    store::Wake wake{};
  };

  runtime::StepSchedule& schedule_of(runtime::Step step) {
    return schedules_[static_cast<std::size_t>(step)];
  }
  [[nodiscard]] const runtime::StepSchedule& schedule_of(runtime::Step step) const {
    return schedules_[static_cast<std::size_t>(step)];
  }
  class Hands;
  void poke(runtime::Step step);
  void register_listener();
  void make_one(const Move& move);
  void run_step(Thread& thread);
  runtime::Progress run(runtime::Step step, runtime::RunId run);
  void note_idle(runtime::Step step, const runtime::Progress& progress, std::uint64_t calls_before);
  void go_on_leaving();

  Setup setup_;
  SeededRandom random_;
  SimExecutor executor_;
  std::array<runtime::StepSchedule, runtime::kSteps> schedules_{};
  std::array<int, runtime::kSteps>
      idle_runs_{};  // in a row that did nothing and wanted to be followed at once
  std::optional<std::string> complaint_;
  bool in_activities_ = false;  // the move that is made now is one of a thread of activities
  bool rest_wanted_ = false;
  runtime::Worker worker_;
  std::unique_ptr<store::Listener> listener_;
  WorkerKey listens_as_{};
  std::deque<Thread> threads_;  // one that runs stays where it is when another is made
  std::vector<Arriving> arriving_;
  BootTime floor_at_ = kLongAgo;
  BootTime paused_until_ = kLongAgo;
  BootTime came_back_at_ = kLongAgo;
  BootTime acts_on_news_since_ = kLongAgo;
  std::optional<runtime::Drain> drain_;
  bool left_ = false;
  BootTime busy_at_ = kLongAgo;  // while it leaves: when it had something to do last
  int in_use_ = 0;
};

}  // namespace holdfast::simulator
