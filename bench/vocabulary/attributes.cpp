// Pages and counts by search attributes, among many instances.
#include "bench/answers.hpp"
#include "bench/prefill.hpp"
#include "bench/vocabulary/parts.hpp"

#include <holdfast/client.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::bench {

void Vocabulary::measure(const std::string& name, const std::function<void()>& call) {
  constexpr int kCalls = 51;
  using Clock = std::chrono::steady_clock;
  std::vector<double> times;
  for (int i = 0; i < kCalls; ++i) {
    const Clock::time_point begin = Clock::now();
    call();
    times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
  }
  std::ranges::sort(times);
  suite.add({.name = store + "_" + name + "_p50", .value = times[times.size() / 2], .unit = "ms"});
  suite.add({.name = store + "_" + name + "_worst", .value = times.back(), .unit = "ms"});
}

namespace {

constexpr std::size_t kFound = 900;

/// Most of them have ended. Of a tenth of a customer's instances, and a few of one with a rare tag.
std::vector<Attribute> attributes_of(std::size_t number) {
  std::vector<Attribute> all{{"cents", static_cast<std::int64_t>(number * 7919 % 1'000'003)},
                             {"customer", "customer-" + std::to_string(number % 10)}};
  if (number % 1000 == 0) all.push_back({"tags", Keywords{"rare", "rush"}});
  return all;
}

}  // namespace

void attributes(Vocabulary& bench) {
  const auto store = bench.make_store();
  const std::size_t count = bench.instances();
  fill_with_attributes(*store, count, attributes_of);
  const Client client(store);
  const auto page = [&](const std::string& text) {
    const ListFilter filter = parse_filter(text);
    return [&client, filter] { keep(client.list(filter)); };
  };
  const auto counted = [&](const std::string& text) {
    const ListFilter filter = parse_filter(text);
    return [&client, filter] { keep(client.count(filter)); };
  };
  bench.measure("page_by_value", page("customer = customer-3"));
  bench.measure("page_by_rare_keyword", page("tags has rare"));
  bench.measure("page_by_range_in_order", page("cents > 500000 order by cents asc"));
  bench.measure("page_by_range", page("cents > 500000"));
  bench.measure("page_by_value_and_status", page("customer = customer-3 and status = completed"));
  bench.measure("page_by_value_and_rare_status", page("customer = customer-3 and status = running"));
  bench.measure("page_by_status", page("status = running"));
  bench.measure("count_by_status", [&] { keep(client.count_by_status()); });
  bench.measure("count_by_value", counted("customer = customer-3"));
  bench.measure("count_by_rare_keyword", counted("tags has rare"));
  bench.measure("count_by_value_and_status", counted("customer = customer-3 and status = completed"));
  // In the middle of a long list.
  ListFilter deep = parse_filter("customer = customer-3");
  deep.limit = kFound;
  for (int pages = 0; pages < 10; ++pages) {
    const RunPage next = client.list(deep);
    if (!next.next) break;
    deep.after = *next.next;
  }
  deep.limit = 100;
  bench.measure("page_deep_in_a_list", [&] { keep(client.list(deep)); });
  bench.suite.note(std::to_string(count) + " instances, of which one in a hundred runs");
}

}  // namespace holdfast::bench
