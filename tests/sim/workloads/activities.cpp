// Activities one after the other, side by side, failing, timing out, undone.
#include "tests/sim/workloads/workloads.hpp"

#include <holdfast/context.hpp>
#include <holdfast/saga.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::sim {

using namespace std::chrono_literals;

namespace {

Task<std::vector<std::string>> sequence(Context& ctx, int length) {
  std::vector<std::string> done;
  for (int i = 0; i < length; ++i) {
    const std::string label = "s" + std::to_string(i);
    done.push_back(co_await ctx.activity<std::string>("step", label));
  }
  co_return done;
}

Task<std::vector<std::string>> fan_out(Context& ctx, int width) {
  std::vector<Op<std::string>> parts;
  for (int i = 0; i < width; ++i) {
    const std::string label = "f" + std::to_string(i);
    parts.push_back(ctx.activity<std::string>("step", label));
  }
  std::vector<std::string> done = co_await when_all(std::move(parts));
  const std::string label = "in";
  done.push_back(co_await ctx.activity<std::string>("step", label));
  co_return done;
}

// The attempt that succeeded, or how it failed.
Task<std::string> retrying(Context& ctx, int succeeds_at, int max_attempts) {
  const Result<int> attempt =
      co_await ctx
          .activity<int>("flaky", {.retry = {.max_attempts = max_attempts, .first_delay = 200ms}},
                         succeeds_at)
          .result();
  if (attempt) co_return "attempt " + std::to_string(*attempt);
  co_return attempt.error().type + " at " + std::to_string(attempt.error().attempt);
}

// Attempts are ended by their timeout as long as it takes.
Task<std::vector<std::string>> timed(Context& ctx) {
  const std::string label = "timed";
  std::vector<std::string> done;
  done.push_back(co_await ctx.activity<std::string>(
      "step", {.timeout = 3s, .retry = {.max_attempts = 10'000, .max_delay = 2s}}, label));
  co_return done;
}

// Each has one attempt, which may take too long.
Task<std::vector<std::string>> hurried(Context& ctx, int width) {
  std::vector<Op<std::string>> parts;
  for (int i = 0; i < width; ++i) {
    const std::string label = "h" + std::to_string(i);
    parts.push_back(ctx.activity<std::string>("step", {.timeout = 1s, .retry = {.max_attempts = 1}}, label));
  }
  std::vector<std::string> ends;
  for (const Result<std::string>& end : co_await when_all_settled(std::move(parts)))
    ends.push_back(end ? "done" : end.error().type);
  co_return ends;
}

// It gives up when its worker goes; that is no failure of its own.
Task<std::string> interrupted(Context& ctx) {
  const Result<std::string> end =
      co_await ctx.activity<std::string>("interruptible", {.retry = {.max_attempts = 1}}).result();
  co_return end ? *end : end.error().type;
}

// Nobody has this activity.
Task<std::string> unserved(Context& ctx) {
  const Result<int> result = co_await ctx.activity<int>("nobody_has_it", {.schedule_to_start = 4s}).result();
  co_return result ? "served" : result.error().type;
}

// No attempt succeeds before its total deadline.
Task<std::string> hopeless(Context& ctx) {
  const int never_succeeds = 1'000'000;
  const Result<int> result =
      co_await ctx
          .activity<int>("flaky",
                         {.retry = {.max_attempts = 1'000'000, .first_delay = 300ms, .total_deadline = 5s}},
                         never_succeeds)
          .result();
  co_return result ? "succeeded" : result.error().type;
}

Task<std::string> book(Context& ctx, Saga& saga, std::string trip, int fails_at) {
  for (int i = 0; i < 3; ++i) {
    if (i == fails_at) {
      const int never_succeeds = 100;
      co_await ctx.activity<int>("flaky", {.retry = {.max_attempts = 2}}, never_succeeds);
    }
    const std::string label = trip + "/do" + std::to_string(i);
    const std::string undo = trip + "/undo" + std::to_string(i);
    saga.undo_with("step", undo);
    co_await ctx.activity<std::string>("step", label);
  }
  co_return "booked";
}

Task<std::string> saga_trip(Context& ctx, int fails_at, Duration limit) {
  auto trip = run_saga(ctx, book, ctx.instance_id(), fails_at);
  const Result<std::optional<std::string>> booked = co_await with_timeout(std::move(trip), limit).result();
  if (!booked) co_return "undone";
  co_return booked->value_or("too late");
}

// How often side effects ran, in this process: each run gives another number.
int effects = 0;

Task<std::vector<std::string>> with_effects(Context& ctx, int rounds) {
  std::vector<std::string> done;
  for (int i = 0; i < rounds; ++i) {
    const int number = co_await ctx.side_effect([] { return ++effects; });
    const std::string id = ctx.uuid();
    const std::string label = std::to_string(number) + "/" + id;
    const std::string step = co_await ctx.activity<std::string>("step", label);
    // What it was before the wait, and what the activity was told, must be the same.
    done.push_back(step.substr(0, step.find('=')) == label ? "same"
                                                           : "changed from " + label + " to " + step);
  }
  co_return done;
}

Task<std::vector<std::string>> queued(Context& ctx) {
  const std::string first = "gpu";
  const std::string second = "later";
  Future<std::string> slow =
      ctx.activity<std::string>("step", {.queue = "gpu", .priority = -1}, first).start();
  std::vector<std::string> done;
  done.push_back(co_await ctx.activity<std::string>("step", {.queue = "cpu", .priority = 5}, second));
  done.push_back(co_await slow);
  co_return done;
}

// Each attempt goes on from where the last heartbeat of the one before was.
Task<int> counted(Context& ctx, int attempts) {
  co_return co_await ctx.activity<int>(
      "counting", {.timeout = 1h, .retry = {.max_attempts = attempts, .first_delay = 100ms}}, attempts);
}

Task<std::string> oversized(Context& ctx) {
  const std::string large((4U << 20U) + 1, 'x');
  std::string caught = "nothing";
  try {
    co_await ctx.activity<std::string>("step", large);
  } catch (const LimitError& e) {
    caught = e.failure().type;
  }
  const std::string label = "after";
  co_await ctx.activity<std::string>("step", label);
  co_return caught;
}

std::vector<std::string> labels(const std::string& prefix, int count) {
  std::vector<std::string> list;
  for (int i = 0; i < count; ++i) list.push_back(prefix + std::to_string(i));
  return list;
}

}  // namespace

void sequences(const Shared& shared) {
  shared.sim.orchestration("sequence", sequence);
  for (int i = shared.number(1, 3); i > 0; --i) {
    const std::string id = "sequence-" + std::to_string(i);
    const int length = shared.number(0, 6);
    shared.start("sequence", id, length);
    shared.sim.at_end([shared, id, length] {
      shared.expect_steps(id, shared.sim.result<std::vector<std::string>>(id).value(), labels("s", length));
    });
  }
}

void fan_outs(const Shared& shared) {
  shared.sim.orchestration("fan_out", fan_out);
  for (int i = shared.number(1, 2); i > 0; --i) {
    const std::string id = "fan_out-" + std::to_string(i);
    const int width = shared.number(0, 20);
    shared.start("fan_out", id, width);
    shared.sim.at_end([shared, id, width] {
      std::vector<std::string> expected = labels("f", width);
      expected.emplace_back("in");
      shared.expect_steps(id, shared.sim.result<std::vector<std::string>>(id).value(), expected);
    });
  }
}

void retries(const Shared& shared) {
  shared.sim.orchestration("retrying", retrying);
  for (int i = shared.number(1, 3); i > 0; --i) {
    const std::string id = "retrying-" + std::to_string(i);
    const int succeeds_at = shared.number(1, 5);
    const int max_attempts = shared.number(1, 5);
    shared.start("retrying", id, succeeds_at, max_attempts);
    shared.sim.at_end([shared, id, succeeds_at, max_attempts] {
      const std::string expected = succeeds_at <= max_attempts ? "attempt " + std::to_string(succeeds_at)
                                                               : "not_yet at " + std::to_string(max_attempts);
      shared.expect(id, shared.sim.result<std::string>(id).value(), expected);
    });
  }
}

void deadlines(const Shared& shared) {
  shared.sim.orchestration("timed", timed);
  shared.sim.orchestration("unserved", unserved);
  shared.sim.orchestration("hopeless", hopeless);
  shared.start("timed", "timed");
  shared.start("unserved", "unserved");
  shared.start("hopeless", "hopeless");
  shared.sim.at_end([shared] {
    shared.expect_steps("timed", shared.sim.result<std::vector<std::string>>("timed").value(), {"timed"});
    shared.expect<std::string>("unserved", shared.sim.result<std::string>("unserved").value(),
                               "schedule_to_start");
    const std::string end = shared.sim.result<std::string>("hopeless").value();
    // The last failure when no attempt would start in time, or the deadline when none could.
    if (end != "not_yet" && end != "total_deadline") shared.sim.fail("hopeless ended with " + end);
  });
}

void hurries(const Shared& shared) {
  shared.sim.orchestration("hurried", hurried);
  const int width = shared.number(1, 8);
  shared.start("hurried", "hurried", width);
  shared.sim.at_end([shared, width] {
    const auto ends = shared.sim.result<std::vector<std::string>>("hurried").value();
    shared.expect("hurried has so many parts", ends.size(), static_cast<std::size_t>(width));
    for (const std::string& end : ends) {
      if (end != "done" && end != "attempt_timeout") shared.sim.fail("a part of hurried ended with " + end);
    }
  });
}

void interruptions(const Shared& shared) {
  shared.sim.activity("interruptible", [](ActivityContext& ctx) {
    if (ctx.stop_token().stop_requested()) throw ActivityFailure("interrupted", "asked to stop");
    return std::string("done");
  });
  shared.sim.orchestration("interrupted", interrupted);
  for (int i = shared.number(1, 3); i > 0; --i) {
    const std::string id = "interrupted-" + std::to_string(i);
    shared.start("interrupted", id);
    shared.sim.at_end(
        [shared, id] { shared.expect<std::string>(id, shared.sim.result<std::string>(id).value(), "done"); });
  }
}

void sagas(const Shared& shared) {
  shared.sim.orchestration("saga_trip", saga_trip);
  for (int i = shared.number(1, 2); i > 0; --i) {
    const std::string id = "saga-" + std::to_string(i);
    const int fails_at = shared.number(0, 3);
    const Duration limit = shared.number(0, 1) == 0 ? Duration(1h) : 1ms * shared.number(0, 3000);
    shared.start("saga_trip", id, fails_at, limit);
    shared.sim.at_end([shared, id, fails_at, limit] {
      const std::string end = shared.sim.result<std::string>(id).value();
      if (limit == 1h || end != "too late")
        shared.expect<std::string>(id, end, fails_at < 3 ? "undone" : "booked");
      for (int k = 0; k < 3; ++k) {
        const bool was_done = shared.ledger->has_label(id + "/do" + std::to_string(k));
        const bool was_undone = shared.ledger->has_label(id + "/undo" + std::to_string(k));
        // What was dropped or failed may have been done, or not; it was undone in either case.
        if (end == "booked" || was_done)
          shared.expect(id + " undid what it did", was_undone, end != "booked");
      }
    });
  }
}

void side_effects(const Shared& shared) {
  effects = 0;
  shared.sim.orchestration("with_effects", with_effects);
  const int rounds = shared.number(1, 5);
  shared.start("with_effects", "effects", rounds);
  shared.sim.at_end([shared, rounds] {
    shared.expect("effects", shared.sim.result<std::vector<std::string>>("effects").value(),
                  std::vector<std::string>(static_cast<std::size_t>(rounds), "same"));
  });
}

void heartbeats(const Shared& shared) {
  shared.sim.activity("counting", [&sim = shared.sim](ActivityContext& ctx, int attempts) {
    const int last = ctx.last_heartbeat<int>().value_or(0);
    // One that was lost on the way may have said something already.
    if (last != ctx.attempt() - 1 && last != ctx.attempt())
      sim.fail("attempt " + std::to_string(ctx.attempt()) + " sees the heartbeat " + std::to_string(last));
    ctx.heartbeat(ctx.attempt());
    if (ctx.attempt() < attempts) throw ActivityFailure("not_yet", "once more");
    return ctx.attempt();
  });
  shared.sim.orchestration("counted", counted);
  const int attempts = shared.number(1, 5);
  shared.start("counted", "counted", attempts);
  shared.sim.at_end(
      [shared, attempts] { shared.expect("counted", shared.sim.result<int>("counted").value(), attempts); });
}

void oversized_ones(const Shared& shared) {
  shared.sim.orchestration("oversized", oversized);
  shared.start("oversized", "oversized");
  shared.sim.at_end([shared] {
    shared.expect<std::string>("oversized", shared.sim.result<std::string>("oversized").value(),
                               "payload_too_large");
  });
}

void queues(const Shared& shared) {
  shared.sim.orchestration("queued", queued);
  for (const std::string id : {"queued-1", "queued-2"}) {
    shared.start("queued", id);
    shared.sim.at_end([shared, id] {
      shared.expect_steps(id, shared.sim.result<std::vector<std::string>>(id).value(), {"later", "gpu"});
    });
  }
}

}  // namespace holdfast::sim
