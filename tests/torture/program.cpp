#include "program.hpp"

#include "plans.hpp"

#include <holdfast/holdfast.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

namespace holdfast::torture {
namespace {

using namespace std::chrono_literals;
using Number = std::uint64_t;

Task<Number> chain(Context& ctx, Number x, Number size) {
  for (Number i = 0; i < size; ++i) x = co_await ctx.activity<Number>("mix", x, i);
  co_return x;
}

Task<Number> fan(Context& ctx, Number x, Number size) {
  std::vector<Op<Number>> parts;
  for (Number i = 0; i < size; ++i) parts.push_back(ctx.activity<Number>("mix", x, i));
  for (const Number part : co_await when_all(std::move(parts))) x = mix(x, part);
  co_return x;
}

Task<Number> naps(Context& ctx, Number x, Number size) {
  for (Number i = 0; i < size; ++i) {
    co_await ctx.sleep(std::chrono::milliseconds(1 + x % 20));
    auto first = co_await race(ctx.activity<Number>("mix", x, i), ctx.sleep(1h));
    x = std::get<0>(first);
  }
  co_return x;
}

Task<Number> family(Context& ctx, Number x, Number size) {
  std::vector<Op<Number>> parts;
  for (Number i = 0; i < size; ++i) {
    const std::string id = child_of(ctx.instance_id(), i);
    parts.push_back(ctx.child<Number>("chain", {.id = id}, mix(x, i), Number{2}));
  }
  for (const Number part : co_await when_all(std::move(parts))) x = mix(x, part);
  co_return x;
}

Task<std::vector<int>> inbox(Context& ctx, Number x, int size) {
  const Receiver<int> numbers = ctx.mailbox<int>("numbers");
  std::vector<int> received;
  do {
    received.push_back(co_await numbers.receive());
    x = co_await ctx.activity<Number>("mix", x, Number{0});
  } while (received.back() != size - 1);
  co_return received;
}

// The same, with a life for each message.
Task<std::vector<int>> lives(Context& ctx, Number x, int size, std::vector<int> received) {
  received.push_back(co_await ctx.mailbox<int>("numbers").receive());
  x = co_await ctx.activity<Number>("mix", x, Number{0});
  if (received.back() != size - 1) co_await ctx.continue_as_new(x, size, received);
  co_return received;
}

Task<Number> gate(Context& ctx, Number x, Number /*size*/) {
  const std::optional<Number> key = co_await with_timeout(ctx.event<Number>("go"), 24h);
  co_return co_await ctx.activity<Number>("mix", x, key.value_or(1000));
}

Task<Number> flaky(Context& ctx, Number x, Number /*size*/) {
  co_return co_await ctx.activity<Number>("flaky", {.retry = {.max_attempts = 5, .first_delay = 5ms}}, x);
}

// In one of a few sessions, which many share and nobody opens or closes.
Task<Number> talk(Context& ctx, Number x, Number size) {
  const std::string session = "talk-" + std::to_string(x % 12);
  for (Number i = 0; i < size; ++i) {
    x = co_await ctx.activity<Number>("mix", {.session = session}, x, i);
  }
  co_return x;
}

// In a session of its own, which others may go on with.
Task<Number> desk(Context& ctx, Number x, Number size) {
  const std::string id = "desk-" + ctx.instance_id();
  Session session = co_await ctx.open_session({.id = id, .lease = 1s, .allow_reacquire_after_failure = true});
  for (Number i = 0; i < size; ++i) x = co_await session.activity<Number>("mix", x, i);
  co_await session.close();
  co_return x;
}

Task<std::string> stubborn(Context& ctx) {
  std::string reason;
  try {
    co_await ctx.event<int>("never");
  } catch (const Cancelled& e) {
    reason = e.failure().message;
  }
  co_return reason;
}

}  // namespace

void add_program(Runtime& runtime) {
  runtime.activity("mix", [](ActivityContext&, Number x, Number y) {
    // Long enough to be in the middle of it when the end comes, now and then.
    std::this_thread::sleep_for(std::chrono::milliseconds(mix(x, y) % 4));
    return mix(x, y);
  });
  runtime.activity("flaky", [](ActivityContext& ctx, Number) {
    if (ctx.attempt() == 1) throw ActivityFailure("flaky", "not the first time");
    return static_cast<Number>(ctx.attempt());
  });
  runtime.orchestration("chain", chain);
  runtime.orchestration("fan", fan);
  runtime.orchestration("naps", naps);
  runtime.orchestration("family", family);
  runtime.orchestration("inbox", inbox);
  runtime.orchestration("lives", lives);
  runtime.orchestration("gate", gate);
  runtime.orchestration("flaky", flaky);
  runtime.orchestration("stubborn", stubborn);
  runtime.orchestration("talk", talk);
  runtime.orchestration("desk", desk);
}

}  // namespace holdfast::torture
