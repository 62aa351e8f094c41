// Replays each file of tests/histories/nondeterminism with the code that it names, and holds the report
// against the one that it expects. A file has lines `<key>: <text>`, then the history as JSON:
//
//   code: packs_first                one of the orchestrations below
//   at event: 6                      the first event that differs; without this line, code and history match
//   history has: activity 'pack'
//   the code: started activity 'charge'
//   strict: yes                      inputs and results are compared too
#include "codec/history_json.hpp"
#include "codec/segment.hpp"
#include "engine/execution.hpp"
#include "tests/histories/segments_test.hpp"

#include <holdfast/context.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::engine {
namespace {

using namespace std::chrono_literals;

// ---- code ---------------------------------------------------------------------------------------

Task<std::string> order(Context& ctx, std::string id) {
  co_await ctx.activity<void>("reserve", id);
  co_await when_all(ctx.activity<void>("charge", {.queue = "payments"}, id), ctx.activity<void>("pack", id));
  const auto approved = co_await with_timeout(ctx.event<bool>("approval"), 24h);
  if (!approved.value_or(false)) co_return "refused";
  co_await ctx.child<void>("ship", {.id = "ship-" + id}, id);
  co_return "shipped";
}
Task<std::string> packs_first(Context& ctx, std::string id) {
  co_await ctx.activity<void>("reserve", id);
  co_await when_all(ctx.activity<void>("pack", id), ctx.activity<void>("charge", {.queue = "payments"}, id));
  co_return "packed";
}
Task<std::string> charges_elsewhere(Context& ctx, std::string id) {
  co_await ctx.activity<void>("reserve", id);
  co_await ctx.activity<void>("charge", {.queue = "cards"}, id);
  co_return "charged";
}
Task<std::string> does_not_pack(Context& ctx, std::string id) {
  co_await ctx.activity<void>("reserve", id);
  co_await ctx.activity<void>("charge", {.queue = "payments"}, id);
  co_return "charged";
}
Task<std::string> is_patched(Context& ctx, std::string id) {
  if (ctx.patched("reserve-first")) co_await ctx.activity<void>("reserve", id);
  if (ctx.patched("pack-first")) co_await ctx.activity<void>("pack", id);
  co_await ctx.activity<void>("charge", id);
  co_return "charged";
}
Task<std::string> also_notifies(Context& ctx, std::string id) {
  co_await ctx.activity<void>("reserve", id);
  co_await when_all(ctx.activity<void>("charge", {.queue = "payments"}, id), ctx.activity<void>("pack", id),
                    ctx.activity<void>("notify", id));
  co_return "packed";
}
Task<std::string> waits_without_a_limit(Context& ctx, std::string id) {
  co_await ctx.activity<void>("reserve", id);
  co_await when_all(ctx.activity<void>("charge", {.queue = "payments"}, id), ctx.activity<void>("pack", id));
  const bool approved = co_await ctx.event<bool>("approval");
  co_return approved ? "approved" : "refused";
}
Task<std::string> keeps_the_limit(Context& ctx, std::string id) {
  co_await ctx.activity<void>("reserve", id);
  co_await when_all(ctx.activity<void>("charge", {.queue = "payments"}, id), ctx.activity<void>("pack", id));
  auto approval = ctx.event<bool>("approval").start();
  auto limit = ctx.sleep(24h).start();
  co_await race(approval, limit);
  co_await ctx.child<void>("ship", {.id = "ship-" + id}, id);
  co_await limit;
  co_return "shipped";
}
Task<std::string> ships_under_another_id(Context& ctx, std::string id) {
  co_await ctx.activity<void>("reserve", id);
  co_await when_all(ctx.activity<void>("charge", {.queue = "payments"}, id), ctx.activity<void>("pack", id));
  co_await with_timeout(ctx.event<bool>("approval"), 24h);
  co_await ctx.child<void>("ship", {.id = "shipment-" + id}, id);
  co_return "shipped";
}
Task<std::string> fails_at_the_end(Context& ctx, std::string id) {
  co_await order(ctx, id);
  throw std::runtime_error("lost in transit");
}
Task<std::string> encodes_otherwise(Context& ctx, std::string id) {
  co_await ctx.activity<void>("reserve", id, 1);
  co_await when_all(ctx.activity<void>("charge", {.queue = "payments"}, id), ctx.activity<void>("pack", id));
  const auto approved = co_await with_timeout(ctx.event<bool>("approval"), 48h);
  if (!approved.value_or(false)) co_return "refused";
  co_await ctx.child<void>("ship", {.id = "ship-" + id, .version = "2"}, id);
  co_return "done";
}

using Code = Task<std::string> (*)(Context&, std::string);
const std::map<std::string, Code> kCode = {
    {"order", order},
    {"packs_first", packs_first},
    {"charges_elsewhere", charges_elsewhere},
    {"does_not_pack", does_not_pack},
    {"also_notifies", also_notifies},
    {"is_patched", is_patched},
    {"waits_without_a_limit", waits_without_a_limit},
    {"keeps_the_limit", keeps_the_limit},
    {"ships_under_another_id", ships_under_another_id},
    {"fails_at_the_end", fails_at_the_end},
    {"encodes_otherwise", encodes_otherwise},
};

// ---- files --------------------------------------------------------------------------------------

const std::filesystem::path kFolder = "tests/histories/nondeterminism";

struct Case {
  std::map<std::string, std::string> expected{};
  std::vector<std::string> segments{};
};

Case read_case(const std::filesystem::path& path) {
  Case read;
  std::ifstream file(path);
  for (std::string line; file.peek() != '[' && std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (!line.starts_with("#") && colon != std::string::npos)
      read.expected[line.substr(0, colon)] = line.substr(colon + 2);
  }
  const std::string json(std::istreambuf_iterator<char>(file), {});
  const auto events = history::parse_history_json(json);
  if (!events) ADD_FAILURE() << path << ": " << events.error();
  if (events) read.segments = segments_of(*events);
  return read;
}

std::vector<std::string> names() {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder))
    found.push_back(entry.path().stem().string());
  std::sort(found.begin(), found.end());
  return found;
}

class History : public testing::TestWithParam<std::string> {};

TEST_P(History, HasTheExpectedReport) {
  Case expected = read_case(kFolder / (GetParam() + ".txt"));
  ASSERT_TRUE(kCode.contains(expected.expected["code"])) << "no such code: " << expected.expected["code"];
  Execution execution({.instance = "i-1", .strict = expected.expected["strict"] == "yes"},
                      detail::make_orchestration(kCode.at(expected.expected["code"])));
  Problem problem;
  for (const std::string& segment : expected.segments) {
    const auto outcome = execution.replay(segment);
    if (outcome) continue;
    problem = outcome.error();
    break;
  }
  EXPECT_EQ(problem.event.value == 0 ? "" : to_string(problem.event), expected.expected["at event"])
      << describe(problem);
  EXPECT_EQ(problem.history_says, expected.expected["history has"]);
  EXPECT_EQ(problem.code_did, expected.expected["the code"]);
}

INSTANTIATE_TEST_SUITE_P(Nondeterminism, History, testing::ValuesIn(names()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace holdfast::engine
