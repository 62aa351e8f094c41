#include "schedules/keeper.hpp"

#include <holdfast/combinators.hpp>
#include <holdfast/receiver.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

namespace holdfast::schedules {

namespace {

class Keeper {
 public:
  Keeper(Context& ctx, State state)
      : ctx_(ctx), commands_(ctx.mailbox<Command>(kCommands)), state_(std::move(state)) {
    if (!progress_.handled_until) progress_.handled_until = ctx.now();
    if (progress_.running) wait_for_end(progress_.running->id);
  }
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  Task<void> keep() {
    while (true) {
      if (ctx_.should_continue_as_new()) co_await ctx_.continue_as_new(state_);
      const std::vector<Command> commands = co_await commands_.drain();
      for (const Command& command : commands) co_await carry_out(command);
      co_await take_due();
      start_waiting();
      ctx_.set_status(progress_);
      if (is_over()) co_return;
      co_await wait_for_news();
    }
  }

 private:
  // ---- times

  // Time zones are looked up in a side effect: another version of their data must not change what a replay
  // does.
  Task<void> take_due() {
    next_.reset();
    over_ = false;
    while (!progress_.options.paused) {
      const auto look = [id = ctx_.instance_id(), options = progress_.options,
                         after = *progress_.handled_until,
                         now = ctx_.now()] { return due_times(id, options, after, now); };
      const Due due = co_await ctx_.side_effect(look);
      progress_.counts.missed += due.missed;
      progress_.handled_until = due.until;
      for (const CalendarTime time : due.times) arrive({.time = time}, progress_.options.overlap);
      next_ = due.next;
      over_ = !due.more && !due.next;
      if (!due.more) co_return;
    }
    progress_.handled_until =
        std::max(*progress_.handled_until, ctx_.now());  // what passes now is not made up for
  }

  // A time has come.
  void arrive(Waiting run, Overlap overlap) {
    if (overlap == Overlap::allow) return start_beside(run);
    std::vector<Waiting>& waiting = progress_.waiting;
    if (!progress_.running && waiting.empty()) {
      waiting.push_back(run);
      return start_waiting();
    }
    switch (overlap) {
      case Overlap::one_after:
        if (!waiting.empty()) break;
        [[fallthrough]];
      case Overlap::all_after:
        if (!run.backfill && waiting.size() >= kMaxWaiting) break;
        waiting.push_back(run);
        return;
      case Overlap::cancel:
      case Overlap::terminate:
        progress_.counts.skipped += waiting.size();
        waiting.assign(1, run);
        if (progress_.running) end_running(overlap);
        return;
      case Overlap::skip:
      case Overlap::allow:
        break;
    }
    ++progress_.counts.skipped;
  }

  // What has not begun may turn out to be an instance of somebody else.
  void end_running(Overlap how) {
    if (!progress_.running->begun) {
      progress_.running->end_by = how;
    } else if (how == Overlap::cancel) {
      ctx_.cancel(progress_.running->id, "its next run is due");
    } else {
      ctx_.terminate(progress_.running->id, "its next run is due");
    }
  }

  // ---- runs

  // A schedule waits for no answer before it goes on: the code of a run may not be there yet.

  void start_waiting() {
    while (!progress_.running && !progress_.waiting.empty() && !reached_max_runs()) {
      const Waiting run = progress_.waiting.front();
      progress_.waiting.erase(progress_.waiting.begin());
      start_and_follow(run);
    }
  }

  void start_and_follow(const Waiting& run) {
    const Started started{.id = run_id(ctx_.instance_id(), run), .time = run.time};
    beginning_.emplace(ctx_.start(beginning_of(ctx_, started.id, state_, progress_.options)));
    wait_for_end(started.id);
    note_started(started);
    progress_.running = started;
  }

  // Nobody waits for it. Where its id is taken, the log of the worker says so.
  void start_beside(const Waiting& run) {
    if (reached_max_runs()) return;
    const Started started{.id = run_id(ctx_.instance_id(), run), .time = run.time};
    const Payload input = input_of(state_);
    try {
      ctx_.launch(state_.orchestration,
                  {.id = started.id,
                   .version = progress_.options.version,
                   .attributes = progress_.options.attributes},
                  input);
    } catch (const Error& error) {
      return note_failed(started.id, error.failure());
    }
    note_started(started);
  }

  void note_started(const Started& started) {
    ++progress_.counts.started;
    progress_.recent.insert(progress_.recent.begin(), started);
    if (progress_.recent.size() > kRecent) progress_.recent.pop_back();
  }
  void note_failed(const std::string& id, const Failure& failure) {
    ++progress_.counts.failed;
    ctx_.log(LogLevel::error, "a schedule could not start its run",
             {{"run", id}, {"error", failure.message}});
  }

  static Payload input_of(const State& state) { return {Encoding(state.input.encoding), state.input.bytes}; }
  // Gives its id.
  static Task<Result<std::string>> beginning_of(Context& ctx, std::string id, const State& state,
                                                ScheduleOptions given) {
    const DetachedOptions options{.id = id, .version = given.version, .attributes = given.attributes};
    const Payload input = input_of(state);
    Op<std::string> op = ctx.start_detached(state.orchestration, options, input);
    Result<std::string> answer = co_await std::move(op).result();
    co_return answer;
  }
  void wait_for_end(const std::string& id) { end_.emplace(ctx_.start(end_of(ctx_, id))); }
  // Nothing of one that nobody knows any more.
  static Task<std::optional<Status>> end_of(Context& ctx, std::string id) {
    Op<EndedInstance> end = ctx.ended(id);
    const Result<EndedInstance> answer = co_await std::move(end).result();
    if (!answer) co_return std::nullopt;
    co_return answer->status;
  }

  void note_beginning(const Result<std::string>& answer) {
    beginning_.reset();
    Started& running = *progress_.running;
    if (answer) {
      running.begun = true;
      if (running.end_by) end_running(*running.end_by);
    } else if (answer.error().type == "id_taken") {
      leave_alone();
    } else {
      --progress_.counts.started;
      note_failed(running.id, answer.error());
      std::erase_if(progress_.recent, [&](const Started& run) { return run.id == running.id; });
      follow_no_longer();
    }
  }

  // What ends before it has begun had ended before, and its id was taken; or it was deleted.
  void note_end(std::optional<Status> how) {
    if (beginning_ && how) return leave_alone();
    recent_of_running().ended = how;
    follow_no_longer();
  }

  // Its id was taken: nobody knows whose it is.
  void leave_alone() {
    recent_of_running().existed = true;
    follow_no_longer();
  }

  Started& recent_of_running() {
    const auto found = std::ranges::find(progress_.recent, progress_.running->id, &Started::id);
    return found != progress_.recent.end() ? *found : *progress_.running;
  }

  void follow_no_longer() {
    progress_.running.reset();
    beginning_.reset();
    end_.reset();
  }

  // ---- commands

  Task<void> carry_out(const Command& command) {
    switch (command.kind) {
      case Command::Kind::pause:  // nothing is made up for
      case Command::Kind::resume:
        progress_.options.paused = command.kind == Command::Kind::pause;
        progress_.options.note = command.note;
        progress_.handled_until = std::max(*progress_.handled_until, ctx_.now());
        break;
      case Command::Kind::trigger:
        arrive({.time = next_trigger(), .trigger = true}, command.overlap);
        break;
      case Command::Kind::backfill:
        co_await backfill(command);
        break;
      case Command::Kind::update:
        co_await take_due();
        progress_.options = *command.options;
        progress_.handled_until = std::max(*progress_.handled_until, ctx_.now());
        break;
    }
  }

  // No two have the same time: it is in the id of the run, and no schedule that had this id before has used
  // it.
  CalendarTime next_trigger() {
    const CalendarTime time = std::max(ctx_.now(), progress_.last_trigger + Duration(1));
    progress_.last_trigger = time;
    return time;
  }

  // The client has refused a longer one, unless it did not know yet what times there are.
  Task<void> backfill(const Command& command) {
    const auto look = [spec = progress_.options.spec, from = command.from, until = command.until] {
      return times_between(spec, from, until);
    };
    const Past past = co_await ctx_.side_effect(look);
    if (past.more)
      ctx_.log(LogLevel::error, "a backfill is too long; its first times are taken",
               {{"times", past.times.size()}});
    for (const CalendarTime time : past.times) arrive({.time = time, .backfill = true}, command.overlap);
  }

  // ---- waiting

  [[nodiscard]] bool reached_max_runs() const {
    return progress_.options.max_runs > 0 && progress_.counts.started >= progress_.options.max_runs;
  }
  // A schedule that is paused may still get other options.
  [[nodiscard]] bool is_over() const {
    if (reached_max_runs()) return true;
    return over_ && !progress_.options.paused && !progress_.running && progress_.waiting.empty();
  }

  Task<std::optional<Command>> next_time_or_command() {
    if (!next_) {
      Command command = co_await commands_.receive();
      co_return command;
    }
    std::variant<std::monostate, Command> news = co_await race(ctx_.sleep_until(*next_), commands_.receive());
    if (auto* command = std::get_if<Command>(&news)) co_return std::move(*command);
    co_return std::nullopt;
  }

  Task<void> wait_for_news() {
    if (beginning_) {
      auto news = co_await race(next_time_or_command(), *end_, *beginning_);
      if (news.index() == 2) {
        note_beginning(std::get<2>(news));
      } else if (news.index() == 1) {
        note_end(std::get<1>(news));
      } else {
        std::optional<Command> command = std::get<0>(std::move(news));
        co_await take(std::move(command));
      }
    } else if (end_) {
      auto news = co_await race(next_time_or_command(), *end_);
      if (news.index() == 1) {
        note_end(std::get<1>(news));
      } else {
        std::optional<Command> command = std::get<0>(std::move(news));
        co_await take(std::move(command));
      }
    } else {
      std::optional<Command> command = co_await next_time_or_command();
      co_await take(std::move(command));
    }
  }
  Task<void> take(std::optional<Command> command) {
    if (command) co_await carry_out(*command);
  }

  Context& ctx_;
  Receiver<Command> commands_;
  State state_;
  Progress& progress_ = state_.progress;
  std::optional<CalendarTime> next_{};                      // when the next time begins
  bool over_ = false;                                       // no time is left
  std::optional<Future<Result<std::string>>> beginning_{};  // of the run that was started last
  std::optional<Future<std::optional<Status>>> end_{};      // of the run that goes on
};

}  // namespace

Task<void> keep_schedule(Context& ctx, State state) {
  Keeper keeper(ctx, std::move(state));
  co_await keeper.keep();
}

}  // namespace holdfast::schedules
