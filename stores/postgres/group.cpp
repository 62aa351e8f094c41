// A group of calls in one transaction: what they need is brought, each is done, what has changed is written,
// and one commit makes all of it true.
#include "adopt.hpp"
#include "statements.hpp"
#include "store.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::postgres_store {

namespace {

/// A lock that does not become free within this is not waited for with others in hand: all are given up.
/// Well below the second after which the server looks for deadlocks.
constexpr const char* kLockPatience = "SET lock_timeout = '100ms'";

/// So long a call of a worker waits for what somebody else has locked: its threads have other things to do.
constexpr std::chrono::milliseconds kBriefly(100);

/// Between two tries of a call whose row somebody else has locked.
constexpr std::chrono::milliseconds kFirstPause(5);
constexpr std::chrono::milliseconds kLongestPause(100);

/// Who has migrated the schema has another version of this library: what this one would write may mean
/// something else there by now.
void refuse_other_version(const std::string& schema, std::int64_t there) {
  const std::int32_t known = migrations().back().number;
  if (there == known) return;
  throw SqlError("",
                 "the schema '" + schema + "' is of version " + std::to_string(there) +
                     " by now, and this process works with version " + std::to_string(known) +
                     ": it does nothing more there; restart it with the library that migrated the schema");
}

/// An error that doesn't depend on what was asked for: trying the items one by one would not help.
struct Unavailable {
  StoreError error{};
};

/// Somebody else has locked what one of the items needs.
struct Locked {};

/// Names that it had added may have been read back meanwhile: they are not true any more. What was kept is in
/// the set, or was not what it was taken for. What it had to wait for comes in the order of everybody next
/// time.
void forget(Link& link, const WorkingSet& set, Needs& locks) {
  locks.add_locks(set.waited_for());
  link.names = {};
  link.kept.forget();
}

}  // namespace

StoreError refused(const SqlError& error) {
  if (error.is_damage()) {
    return {.kind = StoreError::Kind::damaged,
            .message = "the database is damaged, restore it from a backup: " + std::string(error.what())};
  }
  return {.kind = StoreError::Kind::invalid,
          .message = "the database refused it: " + std::string(error.what())};
}

StoreError PostgresStore::unavailable(std::string why) {
  in_doubt_ = true;
  return {.kind = StoreError::Kind::unavailable, .message = std::move(why)};
}

StoreError PostgresStore::busy() {
  return {.kind = StoreError::Kind::busy,
          .message = "another transaction has locked what this needs: pg_blocking_pids() tells whose it is"};
}

std::unique_ptr<Link> PostgresStore::make_link() {
  auto link = std::make_unique<Link>(setup_, ns_number_, options_.faults);
  // Another server may answer now: what it has to be told comes first.
  if (adopt_server(link->connection, &later_) &&
      intern_namespace(link->connection, options_.ns) != ns_number_) {
    throw SqlError("", "the namespace '" + options_.ns +
                           "' has another number on the server that has taken over: restart this process");
  }
  wakes_->server_answers();
  return link;
}

Link& PostgresStore::writer() {
  if (!writer_) {
    auto link = make_link();
    link->connection.run(kLockPatience);
    writer_ = std::move(link);
  }
  return *writer_;
}

// One that is of no more use is made again by whoever leads next.
void PostgresStore::roll_back() {
  if (writer_ && !writer_->connection.rollback()) writer_.reset();
}

// Whoever has to wait for somebody else's lock does so here, in the thread that called, with nothing in its
// hands: the writer goes on with the calls of others.
void PostgresStore::run(Job& job) {
  if (options_.read_only) return store::refuse_to_write(job);
  const auto lead_group = [this](std::span<store::GroupedCall* const> group) {
    lead(group);
    return store::CallQueue::Led{};
  };
  const auto run_in_group = [&](store::GroupedCall& call) {
    queue_.run(call, lead_group);
    later_.say();
  };
  const auto deadline = std::chrono::steady_clock::now() +
                        (job.waits_briefly() ? std::min(kBriefly, options_.timeout) : options_.timeout);
  run_in_group(job);
  std::vector<std::size_t> items = job.take_postponed();
  if (items.empty()) return;
  ++waiting_;
  for (auto pause = kFirstPause; !items.empty(); pause = std::min(pause * 2, kLongestPause)) {
    if (std::chrono::steady_clock::now() + pause > deadline) {
      const StoreError error =
          job.waits_briefly()
              ? busy()
              : unavailable("another transaction has locked what this needs, for longer than " +
                            std::to_string(options_.timeout.count()) +
                            " ms: pg_blocking_pids() tells whose it is");
      for (const std::size_t item : items) job.fail(item, error);
      break;
    }
    std::this_thread::sleep_for(pause);
    store::Again<WorkingSet> again(job, std::move(items));
    run_in_group(again);
    items = job.take_postponed();
  }
  --waiting_;
}

// Renewals first and by themselves: nothing may make them late. Last, and apart from the others, what needs
// rows that are known to be locked.
void PostgresStore::lead(std::span<store::GroupedCall* const> group) {
  locked_.forget_old();
  std::array<std::vector<Item>, 2> parts;
  std::vector<Item> waiting;
  for (const Item& item : store::items_of<Job>(group)) {
    const bool waits = item.call->was_postponed() || (locked_.any() && locked_.concern(needs_of(item)));
    (waits ? waiting : parts[item.call->order() == Order::first ? 0 : 1]).push_back(item);
  }
  const Patience patience = waiting_ > 0 || locked_.waited_lately() ? Patience::little : Patience::some;
  for (const std::vector<Item>& items : parts) commit_in_parts(items, patience);
  if (!waiting.empty()) try_again(waiting);
}

// A single call may bring more than one transaction should hold.
void PostgresStore::commit_in_parts(std::span<const Item> items, Patience patience) {
  for (std::size_t begin = 0; begin < items.size(); begin += kItemsPerTransaction) {
    const std::size_t count = std::min(kItemsPerTransaction, items.size() - begin);
    commit_together(items.subspan(begin, count), patience);
  }
}

// However many wait, one look tells whose rows are free by now; only these are tried.
void PostgresStore::try_again(std::span<const Item> items) {
  if (!locked_.looked_just_now()) look_for_locks(items);
  std::vector<Item> free;
  for (const Item& item : items) {
    if (!locked_.concern(needs_of(item))) {
      free.push_back(item);
    } else if (item.call->waits_briefly() && !item.call->was_postponed()) {
      item.call->fail(item.index, busy());
    } else {
      item.call->postpone(item.index);
    }
  }
  commit_in_parts(free, Patience::none);
}

void PostgresStore::commit_together(std::span<const Item> items, Patience patience) {
  try {
    commit(items, patience);
  } catch (const Locked&) {
    set_apart(items);
  } catch (const Unavailable& unavailable) {
    for (const Item& item : items) item.call->fail(item.index, unavailable.error);
  } catch (const std::exception&) {
    // Something about one of the items: each by itself, so that only the offender gets the error.
    for (const Item& item : items) commit_alone(item, patience);
  }
}

// Postpones the items whose rows are locked, and does the others. A lock that is asked for while a call runs
// may concern any of them: then the half that it does not concern is done at once.
void PostgresStore::set_apart(std::span<const Item> items) {
  locked_.waited();
  look_for_locks(items);
  std::vector<Item> free;
  for (const Item& item : items) {
    if (locked_.concern(needs_of(item))) {
      item.call->postpone(item.index);
    } else {
      free.push_back(item);
    }
  }
  if (free.size() < items.size()) {
    if (!free.empty()) commit_together(free, Patience::none);
  } else if (items.size() == 1) {
    items.front().call->postpone(items.front().index);
  } else {
    const std::size_t half = items.size() / 2;
    commit_together(items.first(half), Patience::none);
    commit_together(items.subspan(half), Patience::none);
  }
}

// What the call says beforehand. Nothing without a connection: then nobody knows what is locked, either.
Needs PostgresStore::needs_of(const Item& item) {
  if (!writer_) return {};
  WorkingSet set(*writer_, Access::writes);
  item.call->prepare(set, item.index);
  return std::move(set.need());
}

// Where the server can't be asked, the next transaction finds out.
void PostgresStore::look_for_locks(std::span<const Item> items) {
  if (!writer_) return;
  WorkingSet set(*writer_, Access::writes);
  for (const Item& item : items) item.call->prepare(set, item.index);
  try {
    locked_.look(writer_->connection, ns_number_, std::move(set.need()));
  } catch (const SqlError&) {
    roll_back();
  }
}

void PostgresStore::commit_alone(const Item& item, Patience patience) {
  try {
    commit(std::span(&item, 1), patience);
  } catch (const Locked&) {
    item.call->postpone(item.index);
  } catch (const Unavailable& unavailable) {
    item.call->fail(item.index, unavailable.error);
  } catch (const SqlError& error) {
    item.call->fail(item.index, refused(error));
  } catch (const std::exception& error) {
    item.call->fail(item.index, unavailable(error.what()));
  }
}

// Who waits for a lock out of the order of everybody may be waited for: the second try asks for all that the
// first one did, in that order.
void PostgresStore::commit(std::span<const Item> items, Patience patience) {
  const auto deadline = std::chrono::steady_clock::now() + options_.timeout;
  Needs locks;
  Attempt attempt{.patience = patience};
  bool in_order = false;
  for (;;) {
    try {
      return run_transaction(items, attempt, locks);
    } catch (const InjectedFault&) {
      roll_back();
      throw Unavailable{unavailable("an injected fault")};
    } catch (const SqlError& error) {
      roll_back();
      if (error.is_broken_guard() && std::exchange(attempt.relies, false)) continue;
      if (error.is_duplicate() && !std::exchange(attempt.history_may_be_there, true)) continue;
      if (error.is_locked() && std::exchange(in_order, true)) throw Locked{};
      if (error.is_locked()) {
        attempt.patience = Patience::none;
        continue;
      }
      if (error.is_passing() && std::chrono::steady_clock::now() < deadline) continue;
      if (error.is_about_values() || error.is_damage()) throw;
      throw Unavailable{unavailable(error.what())};
    } catch (...) {
      roll_back();
      throw;
    }
  }
}

void PostgresStore::begin(WorkingSet& set, const Statement& how, BootTime next_sweep, bool may_guess) {
  const auto begin_at = [&set, next_sweep](Moment now) { set.set_time(now.lease, now.calendar, next_sweep); };
  WorkingSet::TimeSource time{.schema_version = migrations().back().number};
  time.read = [this, begin_at](const Answer& answer) {
    if (answer.rows() == 0) throw missing_deployment();
    if (answer.is_null(0, 3))
      throw SqlError(kIncomplete, "the table 'migrations' is empty: restore it from a backup");
    refuse_other_version(setup_.schema, answer.integer(0, 3));
    begin_at(lease_clock_.read(answer));
  };
  time.guess = [this, begin_at, may_guess] {
    const std::optional<Moment> now = may_guess ? lease_clock_.guess() : std::nullopt;
    if (now) begin_at(*now);
    return now.has_value();
  };
  time.learn = [this](const Answer& answer) { lease_clock_.read(answer); };
  set.begin(how, std::move(time));
}

void PostgresStore::run_transaction(std::span<const Item> items, const Attempt& attempt, Needs& locks) {
  Link& link = writer();
  link.renew_plans();
  WorkingSet set(link, Access::writes);
  try {
    set.need().add_locks(locks);
    if (attempt.history_may_be_there) set.expect_history();
    run_items(set, items, attempt);
  } catch (const SqlError& error) {
    if (error.is_broken_guard()) set.give_back_keys();
    forget(link, set, locks);
    throw;
  } catch (...) {
    forget(link, set, locks);
    throw;
  }
}

void PostgresStore::run_items(WorkingSet& set, std::span<const Item> items, const Attempt& attempt) {
  begin(set, sql::kBegin, next_sweep_, attempt.relies);
  if (attempt.patience != Patience::some) {
    const bool little = attempt.patience == Patience::little;
    set.ask(sql::kPatience, Parameters(std::string(little ? "10ms" : "1ms")));
  }
  const auto looks_around = [](const Item& item) { return item.call->order() == Order::last; };
  for (const Item& item : items) {
    if (!looks_around(item)) item.call->prepare(set, item.index);
  }
  set.bring_needed(!std::ranges::all_of(items, looks_around));
  for (const Item& item : items) {
    if (looks_around(item)) {
      // It looks into the tables, so what the others did has to be there.
      set.write_back();
      set.clear();
    }
    item.call->run(set, item.index);
  }
  finish_transaction(set);
}

void PostgresStore::finish_transaction(WorkingSet& set) {
  set.write_back();
  if (const auto mark = lease_clock_.mark(set.tx().now)) {
    if (mark->offset) {
      set.ask(sql::kSaveTime, Parameters(*mark->offset, mark->high));
    } else {
      set.ask(sql::kSaveTimeIfFree, Parameters(mark->high));
    }
  }
  const Fault fault = fault_at(options_.faults, sql::kCommit.name);
  if (fault == Fault::fail_before) throw InjectedFault{};
  const store::News& news = set.tx().news;
  set.prepare_to_keep();
  set.commit();
  if (!news.empty()) {
    const Parameters told(ns_number_, wakes_->id(), wakes_->channel(), wakes_->encode(news));
    set.after_commit(sql::kNotify, told);
  }
  set.bring();
  set.keep_names();
  set.keep();
  next_sweep_ = set.tx().space.next_sweep;
  if (!news.empty()) wakes_->publish(news);
  if (fault == Fault::lose_answer) throw InjectedFault{};
}

}  // namespace holdfast::postgres_store
