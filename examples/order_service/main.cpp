// orders: a small order service. README.md says how to run it.
#include "examples/support/command_line.hpp"
#include "examples/support/store.hpp"
#include "fulfil.hpp"
#include "orders.hpp"
#include "services.hpp"

#include <holdfast/holdfast.hpp>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>

using namespace holdfast;
using namespace std::chrono_literals;
using support::Arguments;
using support::Opens;
using support::UsageError;

namespace {

constexpr std::string_view kUsage = R"(usage: orders [--store ADDRESS] [--namespace NAME] COMMAND

  orders worker [--name NAME] [--ledger FILE] [--latency TIME] [--lease TIME]
                                  fulfils orders until it gets SIGINT or SIGTERM
  orders place ID ITEM[=N]...     places an order; the same order again changes nothing
  orders approve ID               lets an order go on that costs more than 1000.00
  orders reject ID                or not
  orders cancel ID [REASON]       takes it back: what was done for it is undone
  orders show ID                  how far it is, and what it waits for
  orders wait ID [--timeout TIME] waits for its end (30s): 0 shipped, 2 not shipped, 3 not ended yet
  orders list                     all orders, the newest first

  --store      sqlite:FILE or postgresql://HOST/DATABASE ($ORDERS_STORE, else sqlite:orders.db)
  --namespace  tells several shops in one store apart (default)
  --name       the name of a worker, the same after a restart, and no other worker's (random)
  --ledger     where warehouse, bank and carrier write what they do (orders.ledger)
  --latency    how long each of their answers takes (20ms)
  --lease      how long the work of a worker that died is kept from others (10s)
)";

constexpr int kNotShipped = 2;
constexpr int kNotEnded = 3;

std::shared_ptr<Store> open_store(const Arguments& arguments, Opens how) {
  return support::open_store(arguments, "ORDERS_STORE", "sqlite:orders.db", how);
}

// ---- the worker -----------------------------------------------------------------------------------

int work(const Arguments& arguments) {
  static_cast<void>(arguments.words(0, 0, ""));
  const Duration lease = arguments.time("--lease", 10s);
  const orders::Services services(arguments.text("--ledger", "orders.ledger"),
                                  arguments.time("--latency", 20ms));
  support::outlive_readers();
  Runtime rt(open_store(arguments, Opens::or_creates),
             {.node_id = arguments.text("--name", ""),
              .activity_slots = 8,
              .activity_lease = lease,
              .instance_lease = lease,
              .worker_stale_after = std::max<Duration>(1min, 2 * lease),
              .logger = stderr_logger(LogLevel::warn)});
  services.register_with(rt);
  rt.orchestration(orders::fulfil, orders::fulfil_order);
  const bool finished =
      rt.run_until_signal(10s, [&] { support::say("worker " + rt.node_id() + " is ready"); });
  support::say(finished ? "worker " + rt.node_id() + " has finished what it had"
                        : "worker " + rt.node_id() + " has left some of its work to others");
  return 0;
}

// ---- the command line -----------------------------------------------------------------------------

TypedRun<orders::Outcome> find_order(const Client& client, const std::string& id) {
  try {
    return client.run(orders::fulfil, id);
  } catch (const ClientError& e) {
    if (e.kind() != ClientError::Kind::not_found) throw;
    throw std::runtime_error("there is no order '" + id + "'");
  }
}

std::string in_words(const RunInfo& info) {
  switch (info.status) {
    case Status::completed: {
      const auto outcome = info.output<orders::Outcome>().value();
      return outcome.shipped ? "shipped, " + outcome.tracking : "rejected, " + outcome.reason;
    }
    case Status::cancelled:
    case Status::failed:
    case Status::terminated:
      return std::string(to_string(info.status)) + ", " + info.failure.value_or(Failure{}).message;
    default:
      break;
  }
  const auto stage = info.status_as<orders::Stage>();
  std::string text = stage ? std::string(to_string(*stage)) : "placed";
  if (info.cancel_requested_at) text += ", to be cancelled";
  if (!info.parked_because.empty()) text += ", parked: " + info.parked_because;
  return text;
}

/// Tells an order something; `what` says it in words. Throws when the order has ended.
template <class Call>
void tell(const TypedRun<orders::Outcome>& run, const std::string& what, Call call) {
  try {
    call(run);
  } catch (const ClientError& e) {
    if (e.kind() != ClientError::Kind::conflict) throw;
    throw std::runtime_error("order '" + run.id() + "' can't be " + what +
                             " any more: " + in_words(run.info()));
  }
  std::cout << run.id() << ": " << what << "\n";
}

int place(const Arguments& arguments) {
  const std::vector<std::string> words = arguments.words(2, 100, "an id and at least one item");
  orders::Order order{.id = words.front(), .items = {}};
  for (auto word = words.begin() + 1; word != words.end(); ++word) {
    try {
      order.items.push_back(orders::parse_item(*word));
    } catch (const std::invalid_argument& e) {
      throw UsageError(e.what());
    }
    if (orders::catalogue().contains(order.items.back().sku)) continue;
    std::string goods;
    for (const auto& [sku, good] : orders::catalogue()) goods += (goods.empty() ? "" : ", ") + sku;
    throw UsageError("nothing is sold here as '" + order.items.back().sku + "'; there are " + goods);
  }
  Client client(open_store(arguments, Opens::or_creates));
  try {
    const Run run = client.start(orders::fulfil, {.id = order.id}, order);
    std::cout << run.id() << ": " << in_words(run.info()) << "\n";
  } catch (const ClientError& e) {
    if (e.kind() != ClientError::Kind::conflict) throw;
    throw std::runtime_error("there is another order '" + order.id + "'");
  }
  return 0;
}

int decide(const Arguments& arguments, bool approved) {
  const std::string id = arguments.words(1, 1, "the id of an order").front();
  const char* const user = std::getenv("USER");
  const orders::Decision made{.approved = approved, .by = user != nullptr ? user : "somebody"};
  tell(find_order(Client(open_store(arguments, Opens::existing)), id), approved ? "approved" : "rejected",
       [&](const Run& order) { order.raise(orders::decision, made); });
  return 0;
}

int cancel(const Arguments& arguments) {
  const std::vector<std::string> words = arguments.words(1, 2, "the id of an order and perhaps a reason");
  tell(find_order(Client(open_store(arguments, Opens::existing)), words.front()), "cancelled",
       [&](const Run& order) { order.cancel(words.size() > 1 ? words[1] : "the customer cancelled it"); });
  return 0;
}

int show(const Arguments& arguments) {
  const std::string id = arguments.words(1, 1, "the id of an order").front();
  const auto run = find_order(Client(open_store(arguments, Opens::existing)), id);
  const RunDetail detail = run.describe();
  std::cout << id << ": " << in_words(detail.info) << "\n";
  if (const auto order = run.input<orders::Order>())
    std::cout << "  items: " << to_text(order->items) << "\n";
  for (const RunWait& wait : detail.waits) {
    std::cout << "  waits for " << to_string(wait.kind) << (wait.name.empty() ? "" : " ") << wait.name << ": "
              << wait.state << "\n";
  }
  return 0;
}

int wait(const Arguments& arguments) {
  const std::string id = arguments.words(1, 1, "the id of an order").front();
  const auto run = find_order(Client(open_store(arguments, Opens::existing)), id);
  static_cast<void>(run.result(arguments.time("--timeout", 30s)));
  const RunInfo info = run.info();
  std::cout << id << ": " << in_words(info) << "\n";
  if (info.status == Status::completed && info.output<orders::Outcome>()->shipped) return 0;
  return has_ended(info.status) ? kNotShipped : kNotEnded;
}

int list(const Arguments& arguments) {
  static_cast<void>(arguments.words(0, 0, ""));
  const Client client(open_store(arguments, Opens::existing));
  ListFilter filter{.orchestration = std::string(orders::fulfil.name)};
  for (;;) {
    const RunPage page = client.list(filter);
    for (const RunInfo& info : page.runs) std::cout << info.id << ": " << in_words(info) << "\n";
    if (!page.next) return 0;
    filter.after = *page.next;
  }
}

int run(const Arguments& arguments) {
  const std::string& command = arguments.command();
  if (command == "worker") return work(arguments);
  if (command == "place") return place(arguments);
  if (command == "approve") return decide(arguments, true);
  if (command == "reject") return decide(arguments, false);
  if (command == "cancel") return cancel(arguments);
  if (command == "show") return show(arguments);
  if (command == "wait") return wait(arguments);
  if (command == "list") return list(arguments);
  throw UsageError("there is no command '" + command + "'");
}

}  // namespace

int main(int argc, char** argv) {
  return support::run_program("orders", kUsage, argc, argv, [&] {
    return run(Arguments(
        argc, argv,
        {{"--store"}, {"--namespace"}, {"--name"}, {"--ledger"}, {"--latency"}, {"--lease"}, {"--timeout"}}));
  });
}
