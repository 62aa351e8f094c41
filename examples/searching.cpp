// Search attributes: instances are found, ordered and counted by what their code and their clients say of
// them.
#include <holdfast/holdfast.hpp>

#include <iostream>
#include <string>
#include <thread>

using namespace holdfast;
using namespace std::chrono_literals;

namespace {

struct Order {
  std::string id;
  int cents = 0;
  bool rush = false;
};

// [snippet attributes]
Task<std::string> fulfil(Context& ctx, Order order) {
  ctx.set_attribute("stage", "packing");
  if (order.rush) ctx.set_attribute("tags", {"rush", "gift"});
  co_await ctx.event<int>("packed");
  ctx.set_attribute("stage", "sent");
  const std::string customer = ctx.attribute<std::string>("customer").value_or("nobody");
  co_return order.id + " for " + customer;
}
// [/snippet]

}  // namespace

int main() {
  Runtime rt(memory(), {.logger = null_logger()});
  rt.orchestration("fulfil", fulfil);
  rt.start();
  Client client = rt.client();
  for (const Order& order : {Order{"o-1", 1200, true}, Order{"o-2", 900}, Order{"o-3", 5400}}) {
    const std::string customer = order.id == "o-2" ? "zeta" : "acme";
    // [snippet start]
    client.start("fulfil", {.id = order.id, .attributes = {{"customer", customer}, {"cents", order.cents}}},
                 order);
    // [/snippet]
  }
  while (client.count(parse_filter("stage = packing")).count < 3) std::this_thread::sleep_for(1ms);

  // [snippet find]
  const RunPage page = client.list(parse_filter(R"(customer = "acme" and status = running)"));
  for (const RunInfo& run : page.runs)
    std::cout << run.id << ": " << *run.attribute<int>("cents") << " cents\n";
  // [/snippet]

  // [snippet order]
  for (const RunInfo& run : client.list(parse_filter("cents >= 1000 order by cents desc")).runs)
    std::cout << run.id << "\n";
  // [/snippet]

  // [snippet filter]
  ListFilter rush{.statuses = {Status::running},
                  .attributes = {{"tags", AttributeCondition::Is::has, "rush"}}};
  std::cout << client.list(rush).runs.size() << " in a hurry\n";
  // [/snippet]

  client.raise("o-1", "packed", 1);
  std::cout << client.run("o-1").wait<std::string>(30s) << "\n";

  // [snippet count]
  const RunCount of_acme = client.count(parse_filter("customer = acme"));
  std::cout << of_acme.count << (of_acme.at_least ? " or more" : "") << " of acme\n";
  for (const auto& [status, count] : client.count_by_status())
    std::cout << count << " " << to_string(status) << "\n";
  // [/snippet]
}
