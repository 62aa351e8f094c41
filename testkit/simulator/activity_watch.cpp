#include "testkit/simulator/activity_watch.hpp"

#include "runtime/executor.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

namespace holdfast::simulator {
namespace {

using namespace std::chrono_literals;

// Enough for a thread that has something to do to get its turn among all others.
constexpr Duration kPromptly = 10s;
// The same for one that acts on news: less than it takes until a renewal says the same.
constexpr Duration kNewsComes = 3s;

std::string name_of(const ActivityContext& ctx) {
  return "activity " + to_string(ctx.activity_id()) + " (" + ctx.name() + ") of execution " +
         to_string(ctx.execution()) + " of '" + ctx.instance() + "'";
}

/// Does something right before what is posted runs.
class Before final : public runtime::Executor {
 public:
  Before(runtime::Executor& inner, std::function<void()> look) : inner_(inner), look_(std::move(look)) {}
  void post(runtime::Work work) override {
    inner_.post([look = look_, work = std::move(work)]() mutable {
      look();
      work();
    });
  }
  [[nodiscard]] bool may_wait() const noexcept override { return inner_.may_wait(); }

 private:
  runtime::Executor& inner_;
  std::function<void()> look_;
};

}  // namespace

class ActivityWatch::WatchedCode final : public detail::ActivityCode {
 public:
  WatchedCode(ActivityWatch& watch, Code code, Finder process)
      : watch_(watch), code_(std::move(code)), process_(std::move(process)) {}

  void invoke(detail::ActivityTask task, detail::Completion completion) const override {
    const BootTime deadline = after(watch_.clock_.boot_now(), task.ctx.time_left());
    Before threads(task.threads, [this, &ctx = task.ctx, deadline] {
      if (const Process* const process = process_(); process != nullptr && process->is_at_work())
        watch_.comes_to_its_end(*process, ctx, deadline);
    });
    code_->invoke({task.ctx, task.input, threads, task.end}, std::move(completion));
  }

 private:
  ActivityWatch& watch_;
  const Code code_;
  const Finder process_;
};

ActivityWatch::Code ActivityWatch::watched(Code code, Finder process) {
  return std::make_shared<WatchedCode>(*this, std::move(code), std::move(process));
}

void ActivityWatch::comes_to_its_end(const Process& process, const ActivityContext& ctx, BootTime deadline) {
  witness_.ends(ctx);
  if (ctx.stop_token().stop_requested()) return;
  check_told(process, ctx, deadline, "its timeout");
  if (const auto taken_away = witness_.taken_away_at(ctx);
      taken_away &&
      after(std::max(*taken_away, process.acts_on_news_since()), kNewsComes) < clock_.boot_now())
    broken_(name_of(ctx) + " goes on in " + process.name() +
            " though it is not wanted any more, and was not asked to stop");
  if (const auto lease = witness_.lease_of(ctx)) check_told(process, ctx, *lease, "its lease");
  const Ran ran{process.number(), ctx.delivery()};
  const auto [before, first] =
      ran_.try_emplace({ctx.instance(), ctx.execution(), ctx.activity_id(), ctx.attempt()}, ran);
  // In a session it may have to: what it changed there is lost when the session was another's.
  if (!first && !ctx.session() && before->second.process == ran.process &&
      before->second.delivery + 1 == ran.delivery && witness_.was_taken_again(ctx))
    broken_(name_of(ctx) + " runs again in " + process.name() + ", which has its result in hand");
  before->second = ran;
}

void ActivityWatch::check_told(const Process& process, const ActivityContext& ctx, BootTime limit,
                               std::string_view which) {
  const BootTime should_know = after(std::max(limit, process.came_back_at()), kPromptly);
  if (should_know < clock_.boot_now())
    broken_(name_of(ctx) + " goes on in " + process.name() + " long after " + std::string(which) +
            " was over, and was not asked to stop");
}

}  // namespace holdfast::simulator
