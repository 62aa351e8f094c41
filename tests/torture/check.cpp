#include "check.hpp"

#include "journal.hpp"
#include "plans.hpp"

#include <holdfast/client.hpp>

#include <sqlite3.h>

#include <filesystem>
#include <fstream>

namespace holdfast::torture {
namespace {

void check_integrity(const Place& place, Problems& problems) {
  sqlite3* database = nullptr;
  if (sqlite3_open(place.database().c_str(), &database) != SQLITE_OK)
    problems.push_back("the file does not open");
  const auto add = [](void* to, int, char** values, char**) {
    if (std::string(values[0]) != "ok")
      static_cast<Problems*>(to)->push_back("integrity: " + std::string(values[0]));
    return 0;
  };
  if (sqlite3_exec(database, "PRAGMA integrity_check", add, &problems, nullptr) != SQLITE_OK) {
    problems.push_back("integrity can't be checked: " + std::string(sqlite3_errmsg(database)));
  }
  sqlite3_close(database);
}

void check_instance(const store::InstanceRow& row, Problems& problems) {
  const auto wrong = [&](const std::string& what) { problems.push_back(row.view.instance + " " + what); };
  if (!has_ended(row.view.status)) wrong("is " + std::string(to_string(row.view.status)));
  if (row.ready) wrong("is still ready");
  if (row.locked_by) wrong("is still locked");
  if (!row.messages.empty() || !row.delayed_messages.empty()) wrong("still has messages");
  if (!row.timers.empty()) wrong("still has timers");
}

void check_state(Store& store, Problems& problems) {
  const auto state = store.state();
  if (!state) {
    problems.push_back("the state can't be read: " + state.error().message);
    return;
  }
  for (const store::InstanceRow& row : state->instances) check_instance(row, problems);
  for (const store::ActivityRow& row : state->activities) {
    problems.push_back("activity " + row.view.name + " of instance " + to_string(row.view.id.instance) +
                       " is left");
  }
  for (const store::EarlyRow& row : state->early)
    problems.push_back("an early message for " + row.instance + " is left");
  for (const store::SetAsideRow& row : state->set_aside)
    problems.push_back(row.what + " was set aside: " + row.problem);
}

// On a server, what has ended as it should was deleted.
void check_plans(const std::shared_ptr<Store>& store, const Place& place, std::uint64_t seed,
                 std::uint64_t owner, Problems& problems) {
  const Journal journal(place.journal(owner));
  const Client client(store);
  const bool tidied = place.server().has_value();
  for (std::uint64_t number = 0; number < journal.next_plan(); ++number) {
    const Plan plan = plan_of(seed, owner, number);
    if (journal.calls_done(number) <= start_of(plan) || (tidied && journal.has_ended(number))) continue;
    const auto run = client.find(plan.id);
    if (!run) {
      problems.push_back(plan.id + " is not there, though its start was acknowledged");
      continue;
    }
    const std::string wrong =
        verdict(plan, *run, Duration::zero(), [&](int call) { return journal.tries(number, call); });
    if (!wrong.empty()) problems.push_back(plan.id + " " + wrong);
  }
}

// What an engine says that a healthy one never does.
void check_log(const Place& place, const std::string& process, Problems& problems) {
  std::ifstream lines(place.log(process));
  for (std::string line; std::getline(lines, line);) {
    for (const char* const bad : {" error ", "ERROR: ", "WARNING: ThreadSanitizer", "runtime error:"}) {
      if (line.find(bad) != std::string::npos) problems.push_back(process + " said: " + line);
    }
  }
}

}  // namespace

std::uint64_t clients_in(const Place& place) {
  std::uint64_t count = 0;
  while (std::filesystem::exists(place.journal(count))) ++count;
  return count;
}

Problems check(const Place& place, std::uint64_t seed, const std::vector<std::string>& engines) {
  Problems problems;
  if (!place.server()) check_integrity(place, problems);
  const auto store = place.open();
  check_state(*store, problems);
  for (std::uint64_t client = 0; client < clients_in(place); ++client) {
    check_plans(store, place, seed, client, problems);
  }
  for (const std::string& engine : engines) check_log(place, engine, problems);
  return problems;
}

}  // namespace holdfast::torture
