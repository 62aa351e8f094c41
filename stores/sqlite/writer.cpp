#include "writer.hpp"

#include "damaged_row.hpp"
#include "futex.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace holdfast::sqlite_store {
namespace {

// Keeps a transaction well below 50 ms: an item takes 10 to 50 microseconds.
constexpr std::size_t kItemsPerTransaction = 500;

bool concerns_everybody(const SqlError& error) noexcept {
  switch (error.primary()) {
    case SQLITE_CONSTRAINT:
    case SQLITE_TOOBIG:
    case SQLITE_MISMATCH:
    case SQLITE_CORRUPT:
    case SQLITE_ERROR:
      return false;
    default:
      return true;
  }
}

StoreError explain(const SqlError& error) {
  const int code = error.primary();
  if (code != SQLITE_CONSTRAINT && code != SQLITE_TOOBIG && code != SQLITE_MISMATCH) {
    return to_store_error(error);
  }
  return store_error(StoreError::Kind::invalid, "the database refuses it: " + error.message);
}

}  // namespace

Job::State Job::wait() noexcept {
  for (;;) {
    const std::uint32_t state = state_.load(std::memory_order_acquire);
    if (state != kWaits) return static_cast<State>(state);
    futex_wait_here(state_, kWaits);
  }
}

void Job::tell(State state) noexcept {
  state_.store(state, std::memory_order_release);
  futex_wake_here(state_);
}

// The next group goes first: its commit takes longer than all that its callers do with their answers.
void Writer::run(Job& job) {
  if (job.size() == 0) return;
  enqueue(job);
  if (job.wait() == Job::kDone) return;
  const std::vector<Job*> group = take_group();
  lead(group);
  const bool log_is_long = hooks_.log_is_long();
  if (!log_is_long) pass_on();
  for (Job* done : group) {
    if (done != &job) done->tell(Job::kDone);
  }
  if (!log_is_long) return;
  hooks_.shorten_log();
  pass_on();
}

void Writer::enqueue(Job& job) {
  const std::lock_guard lock(mutex_);
  queue_.push_back(&job);
  if (std::exchange(leading_, true)) return;
  job.state_.store(Job::kLeads, std::memory_order_relaxed);  // nobody waits for it yet
}

void Writer::pass_on() {
  const std::lock_guard lock(mutex_);
  leading_ = !queue_.empty();
  if (leading_) queue_.front()->tell(Job::kLeads);
}

// Its own job is the first of it.
std::vector<Job*> Writer::take_group() {
  const std::lock_guard lock(mutex_);
  std::vector<Job*> group;
  std::size_t items = 0;
  while (!queue_.empty() && (items == 0 || items + queue_.front()->size() <= kItemsPerTransaction)) {
    items += queue_.front()->size();
    group.push_back(queue_.front());
    queue_.pop_front();
  }
  return group;
}

void Writer::lead(std::span<Job* const> group) {
  std::vector<Item> items;
  for (const Place place : {Place::first, Place::middle, Place::last}) {
    for (Job* job : group) {
      for (std::size_t i = 0; job->place() == place && i < job->size(); ++i) items.push_back({job, i});
    }
  }
  // A single call may bring more than one transaction should hold.
  for (std::size_t begin = 0; begin < items.size(); begin += kItemsPerTransaction) {
    const std::size_t count = std::min(kItemsPerTransaction, items.size() - begin);
    commit_together(std::span(items).subspan(begin, count));
  }
}

void Writer::commit_together(std::span<const Item> items) {
  try {
    commit(items);
  } catch (const Unavailable& unavailable) {
    fail_all(items, unavailable.error);
  } catch (const std::exception& error) {
    // Something about one of the items: each by itself, so that only the offender gets the error.
    if (items.size() == 1) return commit_alone(items.front());
    for (const Item& item : items) commit_alone(item);
  }
}

void Writer::commit_alone(const Item& item) {
  try {
    commit(std::span(&item, 1));
  } catch (const Unavailable& unavailable) {
    item.job->fail(item.index, unavailable.error);
  } catch (const SqlError& error) {
    item.job->fail(item.index, explain(error));
  } catch (const std::exception& error) {
    item.job->fail(item.index, store_error(StoreError::Kind::unavailable, error.what()));
  }
}

void Writer::commit(std::span<const Item> items) {
  try {
    run_transaction(items);
  } catch (const InjectedFault&) {
    undo();
    hooks_.unavailable();
    throw Unavailable{store_error(StoreError::Kind::unavailable, "an injected fault")};
  } catch (const SqlError& error) {
    undo();
    if (!concerns_everybody(error)) throw;
    hooks_.unavailable();
    throw Unavailable{to_store_error(error)};
  } catch (...) {
    undo();
    throw;
  }
}

void Writer::run_transaction(std::span<const Item> items) {
  hooks_.wait_for_disk(
      std::ranges::any_of(items, [](const Item& i) { return i.job->place() == Place::middle; }));
  hooks_.begin();
  if (const std::int64_t version = link_.connection.data_version(); version != data_version_) {
    link_.memo = Memo{};
    data_version_ = version;
  }
  Transaction tx(link_, hooks_.lease_now(), clock_.calendar_now());
  hooks_.settle(tx);
  for (const Item& item : items) item.job->run(tx, item.index);
  tx.finish();
  const Fault fault = fault_at(link_.faults, "sqlite.commit");
  if (fault == Fault::fail_before) throw InjectedFault{};
  link_.connection.commit();
  hooks_.over();
  hooks_.publish(tx.news);
  if (fault == Fault::lose_answer) throw InjectedFault{};
}

void Writer::undo() noexcept {
  link_.connection.rollback();
  link_.forget();
  hooks_.over();
}

void Writer::fail_all(std::span<const Item> items, const StoreError& error) {
  for (const Item& item : items) item.job->fail(item.index, error);
}

}  // namespace holdfast::sqlite_store
