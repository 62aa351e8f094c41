// Schedules, whose commands, runs and clocks meet all faults.
#include "schedules/keeper.hpp"
#include "tests/sim/workloads/workloads.hpp"

#include <holdfast/schedule.hpp>

#include <array>
#include <chrono>
#include <optional>
#include <string>

namespace holdfast::sim {

using namespace std::chrono_literals;

namespace {

Task<std::string> scheduled(Context& ctx, Duration length) {
  const std::string done = co_await ctx.activity<std::string>("step", ctx.instance_id());
  co_await ctx.sleep(length);
  co_return done;
}

/// What is done to a schedule and its runs besides the faults.
struct Treatment {
  bool commands = false;  ///< paused, triggered
  bool made_anew = false;
  bool runs_deleted = false;
};

Treatment draw_treatment(const Shared& shared) {
  switch (shared.sim.draw(6)) {
    case 0:
    case 1:
      return {};
    case 2:
      return {.made_anew = true};
    case 3:
      return {.runs_deleted = true};
    default:
      return {.commands = true};
  }
}

// All times of a schedule that runs every `every` are there, as far as it remembers them; each ran once.
void check_runs(const Shared& shared, const std::string& id, const ScheduleOptions& options,
                const Treatment& treatment) {
  const RunInfo schedule = shared.sim.info(id);
  const auto progress = schedule.status_as<schedules::Progress>().value();
  shared.expect(id + " started so many", progress.counts.started, options.max_runs);
  shared.expect(id + " missed so many", progress.counts.missed, std::uint64_t{0});
  shared.expect(id + " could not start so many", progress.counts.failed, std::uint64_t{0});
  for (const schedules::Started& run : progress.recent) {
    if (treatment.runs_deleted) continue;  // nobody knows how it ended
    const RunInfo info = shared.sim.info(run.id);
    if (info.status == Status::completed && !shared.ledger->has_label(run.id))
      shared.sim.fail(run.id + " completed without its step");
    if (run.existed && !treatment.made_anew)
      shared.sim.fail(run.id + " was there before its schedule started it");
  }
  if (treatment.commands || treatment.made_anew || options.overlap != Overlap::allow) return;
  for (std::size_t i = 1; i < progress.recent.size(); ++i) {
    const Duration between = progress.recent[i - 1].time - progress.recent[i].time;
    shared.expect(id + " ran after so many seconds", between, options.spec.intervals.front().every);
  }
}

void command(const Shared& shared, const std::string& id, Duration when) {
  const auto kind = shared.sim.draw(3);
  shared.sim.at(when, "command for " + id, [id, kind](Client& client) {
    const std::optional<Run> run = client.find(id);
    if (!run) return;  // it is made later
    const Schedule schedule(*run);
    try {
      if (kind == 0) {
        schedule.trigger();
      } else {
        schedule.pause("for a moment");
        schedule.resume("on");
      }
    } catch (const ClientError& e) {
      if (e.kind() != ClientError::Kind::conflict) throw;  // it has just ended
    }
  });
}

// Whether their code has begun or not.
void delete_runs(const Shared& shared, const std::string& id, Duration when) {
  shared.sim.at(when, "delete runs of " + id, [id](Client& client) {
    for (const RunInfo& run : client.list({.prefix = id + "-"}).runs) {
      try {
        client.delete_instance(run.id, {.force = true});
      } catch (const ClientError& e) {
        if (e.kind() != ClientError::Kind::not_found) throw;
      }
    }
  });
}

}  // namespace

void schedules_of_work(const Shared& shared) {
  shared.share("scheduled", scheduled);
  // Schedules wait for no run of theirs to begin: some have this code only when the faults have stopped.
  shared.sim.orchestration("scheduled_later", {.from_build = 2}, scheduled);
  shared.sim.at_calm([] {});
  shared.share(std::string(schedules::kOrchestration), schedules::keep_schedule);
  constexpr std::array kOverlaps{Overlap::skip,   Overlap::one_after, Overlap::all_after,
                                 Overlap::cancel, Overlap::terminate, Overlap::allow};
  for (int i = shared.number(1, 3); i > 0; --i) {
    const std::string id = "schedule-" + std::to_string(i);
    const ScheduleOptions options{
        .spec = {.intervals = {{.every = std::chrono::seconds(shared.number(1, 5))}}},
        .overlap = kOverlaps[shared.sim.draw(kOverlaps.size())],
        .catch_up = never,
        .jitter = shared.sim.draw(2) == 0 ? Duration(0) : Duration(800ms),
        .max_runs = static_cast<std::uint64_t>(shared.number(1, 9))};
    const Duration length = shared.number(0, 3'000) * 1ms;
    const Duration begin = shared.some_time();
    const std::string work = shared.number(0, 3) == 0 ? "scheduled_later" : "scheduled";
    const auto make = [id, work, options, length](Client& client) {
      client.create_schedule(id, work, options, length);
    };
    shared.sim.at(begin, "make " + id, make);
    const Treatment treatment = draw_treatment(shared);
    for (int k = treatment.commands ? shared.number(1, 4) : 0; k > 0; --k)
      command(shared, id, begin + shared.some_time());
    for (int k = treatment.runs_deleted ? shared.number(1, 3) : 0; k > 0; --k)
      delete_runs(shared, id, begin + shared.some_time());
    if (treatment.made_anew) {
      shared.sim.at(begin + 1ms + shared.some_time(), "make " + id + " anew", [id, make](Client& client) {
        if (client.find(id)) client.delete_schedule(id);
        make(client);
        if (const std::optional<Run> run = client.find(id)) Schedule(*run).trigger();
      });
    }
    shared.sim.at_end([shared, id, options, treatment] { check_runs(shared, id, options, treatment); });
  }
}

}  // namespace holdfast::sim
