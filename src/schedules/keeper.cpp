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
    if (progress_.running) wait_for(progress_.running->id);
  }
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  Task<void> keep() {
    while (true) {
      const std::vector<Command> commands = co_await commands_.drain();
      for (const Command& command : commands) co_await carry_out(command);
      co_await take_due();
      co_await start_waiting();
      ctx_.set_status(progress_);
      if (is_over()) co_return;
      if (ctx_.should_continue_as_new()) co_await ctx_.continue_as_new(state_);
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
      for (const CalendarTime time : due.times) co_await arrive({.time = time}, progress_.options.overlap);
      next_ = due.next;
      over_ = !due.more && !due.next;
      if (!due.more) co_return;
    }
    progress_.handled_until =
        std::max(*progress_.handled_until, ctx_.now());  // what passes now is not made up for
  }

  // A time has come.
  Task<void> arrive(Waiting run, Overlap overlap) {
    if (overlap == Overlap::allow) {
      co_await start(run, Follow::no);
      co_return;
    }
    std::vector<Waiting>& waiting = progress_.waiting;
    if (!progress_.running && waiting.empty()) {
      waiting.push_back(run);
      co_await start_waiting();
      co_return;
    }
    switch (overlap) {
      case Overlap::one_after:
        if (!waiting.empty()) break;
        [[fallthrough]];
      case Overlap::all_after:
        if (!run.backfill && waiting.size() >= kMaxWaiting) break;
        waiting.push_back(run);
        co_return;
      case Overlap::cancel:
      case Overlap::terminate:
        progress_.counts.skipped += waiting.size();
        waiting.assign(1, run);
        if (progress_.running) end_running(overlap);
        co_return;
      case Overlap::skip:
      case Overlap::allow:
        break;
    }
    ++progress_.counts.skipped;
  }

  void end_running(Overlap overlap) {
    if (overlap == Overlap::cancel) {
      ctx_.cancel(progress_.running->id, "its next run is due");
    } else {
      ctx_.terminate(progress_.running->id, "its next run is due");
    }
  }

  // ---- runs

  enum class Follow : bool { no, until_its_end };

  Task<void> start_waiting() {
    while (!progress_.running && !progress_.waiting.empty() && !reached_max_runs()) {
      const Waiting run = progress_.waiting.front();
      progress_.waiting.erase(progress_.waiting.begin());
      co_await start(run, Follow::until_its_end);
    }
  }

  Task<void> start(Waiting run, Follow follow) {
    if (reached_max_runs()) co_return;
    std::string id = run_id(ctx_.instance_id(), run);
    Result<std::string> answer = co_await begin(id);
    // A schedule that had this id before has triggered runs, too: those numbers are passed over in steps that
    // double.
    while (run.trigger > 0 && is_taken(answer)) {
      run.trigger = progress_.counts.triggered *= 2;
      id = run_id(ctx_.instance_id(), run);
      answer = co_await begin(id);
    }
    const bool existed = is_taken(answer);
    if (!answer && !existed) {
      ++progress_.counts.failed;
      ctx_.log(LogLevel::error, "a schedule could not start its run",
               {{"run", id}, {"error", answer.error().message}});
      co_return;
    }
    ++progress_.counts.started;
    const Started started{.id = id, .time = run.time, .existed = existed, .ended = std::nullopt};
    progress_.recent.insert(progress_.recent.begin(), started);
    if (progress_.recent.size() > kRecent) progress_.recent.pop_back();
    if (follow == Follow::until_its_end && !existed) {  // whose instance that is, is not known
      progress_.running = started;
      wait_for(id);
    }
  }

  Task<Result<std::string>> begin(std::string id) {
    const Payload input{Encoding(state_.input.encoding), state_.input.bytes};
    const DetachedOptions options{.id = id, .version = progress_.options.version};
    Op<std::string> op = ctx_.start_detached(state_.orchestration, options, input);
    Result<std::string> answer = co_await std::move(op).result();
    co_return answer;
  }
  static bool is_taken(const Result<std::string>& answer) {
    return !answer && answer.error().type == "id_taken";
  }

  void wait_for(const std::string& id) { end_.emplace(ctx_.start(end_of(ctx_, id))); }
  // Nothing of one that nobody knows any more.
  static Task<std::optional<Status>> end_of(Context& ctx, std::string id) {
    Op<EndedInstance> end = ctx.ended(id);
    const Result<EndedInstance> answer = co_await std::move(end).result();
    if (!answer) co_return std::nullopt;
    co_return answer->status;
  }

  void note_end(std::optional<Status> how) {
    for (Started& run : progress_.recent) {
      if (run.id == progress_.running->id) run.ended = how;
    }
    progress_.running.reset();
    end_.reset();
  }

  // ---- commands

  Task<void> carry_out(const Command& command) {
    switch (command.kind) {
      case Command::Kind::pause:
        co_await take_due();  // what has come until now still counts
        [[fallthrough]];
      case Command::Kind::resume:
        progress_.options.paused = command.kind == Command::Kind::pause;
        progress_.options.note = command.note;
        progress_.handled_until = std::max(*progress_.handled_until, ctx_.now());
        break;
      case Command::Kind::trigger:
        co_await arrive({.time = ctx_.now(), .trigger = ++progress_.counts.triggered}, command.overlap);
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

  // The client has refused a longer one, unless it did not know yet what times there are.
  Task<void> backfill(const Command& command) {
    const auto look = [spec = progress_.options.spec, from = command.from, until = command.until] {
      return times_between(spec, from, until);
    };
    const Past past = co_await ctx_.side_effect(look);
    if (past.more)
      ctx_.log(LogLevel::error, "a backfill is too long; its first times are taken",
               {{"times", past.times.size()}});
    for (const CalendarTime time : past.times)
      co_await arrive({.time = time, .backfill = true}, command.overlap);
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
    if (!end_) {
      const std::optional<Command> command = co_await next_time_or_command();
      if (command) co_await carry_out(*command);
      co_return;
    }
    auto news = co_await race(next_time_or_command(), *end_);
    if (news.index() == 1) {
      note_end(std::get<1>(news));
    } else if (const std::optional<Command>& command = std::get<0>(news)) {
      co_await carry_out(*command);
    }
  }

  Context& ctx_;
  Receiver<Command> commands_;
  State state_;
  Progress& progress_ = state_.progress;
  std::optional<CalendarTime> next_{};                  // when the next time begins
  bool over_ = false;                                   // no time is left
  std::optional<Future<std::optional<Status>>> end_{};  // of the run that goes on
};

}  // namespace

Task<void> keep_schedule(Context& ctx, State state) {
  Keeper keeper(ctx, std::move(state));
  co_await keeper.keep();
}

}  // namespace holdfast::schedules
