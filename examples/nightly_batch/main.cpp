// nightly: a batch that bills every customer of a file once. README.md says how to run it.
#include "batch.hpp"
#include "billing.hpp"
#include "examples/support/command_line.hpp"
#include "examples/support/store.hpp"

#include <holdfast/holdfast.hpp>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>

using namespace holdfast;
using namespace std::chrono_literals;
using nightly::Batch;
using nightly::ItemFailure;
using nightly::Progress;
using support::Arguments;
using support::Opens;
using support::UsageError;

namespace {

constexpr std::string_view kUsage = R"(usage: nightly [--store ADDRESS] [--namespace NAME] COMMAND

  nightly worker [--name NAME] [--ledger FILE] [--latency TIME] [--lease TIME]
                             works on batches until it gets SIGINT or SIGTERM
  nightly start BATCH FILE   begins a batch: FILE has a line "customer,cents" for each item, and stays as it is
  nightly restart BATCH      begins one again that failed or was cancelled: what was billed is not billed again
  nightly watch BATCH        tells how far it is until it ends: 0 all billed, 2 some items failed, 1 it was stopped
  nightly report BATCH       each item that failed, and why
  nightly cancel BATCH       stops it; what was billed stays
  nightly list               all batches, the newest first

  --store      sqlite:FILE or postgresql://HOST/DATABASE ($NIGHTLY_STORE, else sqlite:nightly.db)
  --namespace  tells several in one store apart (default)
  --name       the name of a worker, the same after a restart, and no other worker's (random)
  --ledger     where invoices are written (nightly.ledger)
  --latency    how long an invoice takes (20ms)
  --lease      how long the work of a worker that died is kept from others (10s)
)";

constexpr int kSomeFailed = 2;

std::shared_ptr<Store> open_store(const Arguments& arguments, Opens how) {
  return support::open_store(arguments, "NIGHTLY_STORE", "sqlite:nightly.db", how);
}

// ---- the worker -----------------------------------------------------------------------------------

int work(const Arguments& arguments) {
  static_cast<void>(arguments.words(0, 0, ""));
  const Duration lease = arguments.time("--lease", 10s);
  const nightly::Billing billing(arguments.text("--ledger", "nightly.ledger"),
                                 arguments.time("--latency", 20ms));
  support::outlive_readers();
  Runtime rt(open_store(arguments, Opens::or_creates),
             {.node_id = arguments.text("--name", ""),
              .activity_slots = nightly::kItemsAtOnce,
              .activity_lease = lease,
              .instance_lease = lease,
              .worker_stale_after = std::max<Duration>(1min, 2 * lease),
              .history_budget = 500,  // some chunks
              .logger = stderr_logger(LogLevel::warn)});
  billing.register_with(rt);
  rt.orchestration(nightly::bill_customers, nightly::bill_all);
  const bool finished =
      rt.run_until_signal(10s, [&] { support::say("worker " + rt.node_id() + " is ready"); });
  support::say(finished ? "worker " + rt.node_id() + " has finished what it had"
                        : "worker " + rt.node_id() + " has left some of its work to others");
  return 0;
}

// ---- the command line -----------------------------------------------------------------------------

TypedRun<Progress> find_batch(const Client& client, const std::string& id) {
  try {
    return client.run(nightly::bill_customers, id);
  } catch (const ClientError& e) {
    if (e.kind() != ClientError::Kind::not_found) throw;
    throw std::runtime_error("there is no batch '" + id + "'");
  }
}

Progress progress_of(const RunInfo& info) { return info.status_as<Progress>().value_or(Progress{}); }

std::string in_words(const RunInfo& info) {
  const Progress progress = progress_of(info);
  std::string text = std::to_string(progress.billed) + " of " + std::to_string(progress.total) + " billed, " +
                     std::to_string(progress.failed) + " failed";
  if (info.status != Status::running) text = std::string(to_string(info.status)) + ", " + text;
  if (info.failure) text += ": " + info.failure->message;
  if (!info.parked_because.empty()) text += ": " + info.parked_because;
  return text;
}

int start(const Arguments& arguments) {
  const std::vector<std::string> words = arguments.words(2, 2, "the name of a batch and a file");
  const Batch batch{.file = std::filesystem::absolute(words[1]), .offset = 0, .lines = 0, .progress = {}};
  const int items = nightly::count_lines(batch.file);
  Client client(open_store(arguments, Opens::or_creates));
  try {
    client.start(nightly::bill_customers, {.id = words[0]}, batch);
  } catch (const ClientError& e) {
    if (e.kind() != ClientError::Kind::conflict) throw;
    throw std::runtime_error("there is another batch '" + words[0] + "'");
  }
  std::cout << words[0] << ": " << items << " items\n";
  return 0;
}

int restart(const Arguments& arguments) {
  const std::string id = arguments.words(1, 1, "the name of a batch").front();
  Client client(open_store(arguments, Opens::existing));
  const auto stopped = find_batch(client, id);
  const RunInfo info = stopped.info();
  if (!has_ended(info.status)) throw std::runtime_error("the batch '" + id + "' has not ended");
  if (info.status == Status::completed) throw std::runtime_error("the batch '" + id + "' is complete");
  const std::optional<Batch> former = stopped.input<Batch>();
  if (!former) throw std::runtime_error("the batch '" + id + "' never began: start it");
  const Batch batch{.file = former->file, .offset = 0, .lines = 0, .progress = {}};
  client.start(nightly::bill_customers, {.id = id, .reuse = Reuse::after_failure}, batch);
  std::cout << id << ": begins again\n";
  return 0;
}

int watch(const Arguments& arguments) {
  const std::string id = arguments.words(1, 1, "the name of a batch").front();
  const auto run = find_batch(Client(open_store(arguments, Opens::existing)), id);
  RunInfo seen = run.info();
  while (!has_ended(seen.status)) {
    std::cout << id << ": " << in_words(seen) << std::endl;
    seen = run.wait_for_change(seen).value();
  }
  std::cout << id << ": " << in_words(seen) << std::endl;
  if (seen.status != Status::completed) return support::kExitFailed;
  return progress_of(seen).failed > 0 ? kSomeFailed : 0;
}

int report(const Arguments& arguments) {
  const std::string id = arguments.words(1, 1, "the name of a batch").front();
  const auto run = find_batch(Client(open_store(arguments, Opens::existing)), id);
  const RunInfo info = run.info();
  std::cout << id << ": " << in_words(info) << "\n";
  for (int chunk = 0; chunk < progress_of(info).chunks; ++chunk) {
    const auto failures = run.value<std::vector<ItemFailure>>(nightly::failures_of(chunk));
    if (!failures) continue;
    for (const ItemFailure& failure : *failures) {
      std::cout << "  line " << failure.line << " '" << failure.text << "': " << failure.why << "\n";
    }
  }
  return 0;
}

int cancel(const Arguments& arguments) {
  const std::string id = arguments.words(1, 1, "the name of a batch").front();
  const auto run = find_batch(Client(open_store(arguments, Opens::existing)), id);
  try {
    run.cancel("stopped by the operator");
  } catch (const ClientError& e) {
    if (e.kind() != ClientError::Kind::conflict) throw;
    throw std::runtime_error("the batch '" + id + "' has ended: " + in_words(run.info()));
  }
  std::cout << id << ": cancelled\n";
  return 0;
}

int list(const Arguments& arguments) {
  static_cast<void>(arguments.words(0, 0, ""));
  const Client client(open_store(arguments, Opens::existing));
  ListFilter filter{.orchestration = std::string(nightly::bill_customers.name)};
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
  if (command == "start") return start(arguments);
  if (command == "restart") return restart(arguments);
  if (command == "watch") return watch(arguments);
  if (command == "report") return report(arguments);
  if (command == "cancel") return cancel(arguments);
  if (command == "list") return list(arguments);
  throw UsageError("there is no command '" + command + "'");
}

}  // namespace

int main(int argc, char** argv) {
  return support::run_program("nightly", kUsage, argc, argv, [&] {
    return run(Arguments(
        argc, argv, {{"--store"}, {"--namespace"}, {"--name"}, {"--ledger"}, {"--latency"}, {"--lease"}}));
  });
}
