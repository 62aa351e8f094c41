#include "writer.hpp"

#include "damaged_row.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>
#include <vector>

namespace holdfast::sqlite_store {
namespace {

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
  return store_error(StoreError::Kind::invalid, "the database refused it: " + error.message);
}

}  // namespace

// Whoever leads came first, of those in its group.
void Writer::run(Job& job) {
  const auto came = std::chrono::steady_clock::now();
  queue_.run(job, [this, came](std::span<store::GroupedCall* const> group) {
    const InRole leads(leading_);
    came_ = came;
    waited_for_disk_ = {};
    lead(group);
    store::CallQueue::Led led{.waited_for_disk = waited_for_disk_};
    if (hooks_.log_is_long()) led.afterwards = hooks_.shorten_log;
    return led;
  });
}

void Writer::lead(std::span<store::GroupedCall* const> group) {
  const std::vector<Item> items = store::items_of<Job>(group);
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
    item.call->fail(item.index, unavailable.error);
  } catch (const SqlError& error) {
    item.call->fail(item.index, explain(error));
  } catch (const DamagedRow& damaged) {
    item.call->fail(item.index, store_error(StoreError::Kind::damaged, damaged.what()));
  } catch (const std::exception& error) {
    item.call->fail(item.index, store_error(StoreError::Kind::unavailable, error.what()));
  }
}

void Writer::commit(std::span<const Item> items, WhenFull when_full) {
  try {
    run_transaction(items);
  } catch (const InjectedFault&) {
    undo();
    hooks_.unavailable();
    throw Unavailable{store_error(StoreError::Kind::unavailable, "an injected fault")};
  } catch (const SqlError& error) {
    hooks_.failed(error.code);
    undo();
    if (!concerns_everybody(error)) throw;
    const bool wants_room = error.is_disk_full() && when_full == WhenFull::make_room;
    if (wants_room && hooks_.make_room()) return commit(items, WhenFull::give_up);
    hooks_.unavailable();
    throw Unavailable{to_store_error(error)};
  } catch (...) {
    undo();
    throw;
  }
}

void Writer::run_transaction(std::span<const Item> items) {
  const bool waits_for_disk =
      std::ranges::any_of(items, [](const Item& i) { return i.call->order() == Order::middle; });
  hooks_.wait_for_disk(waits_for_disk);
  using namespace std::chrono;
  hooks_.begin(duration_cast<milliseconds>(steady_clock::now() - came_));
  came_ = steady_clock::now();  // what the same group begins next has not waited yet
  if (const std::int64_t version = link_.connection.data_version(); version != data_version_) {
    hooks_.others_wrote();
    set_.forget();
    data_version_ = version;
  }
  set_.begin(hooks_.lease_now(), clock_.calendar_now());
  set_.space().next_sweep = next_sweep_;
  set_.settle();
  for (const Item& item : items) item.call->run(set_, item.index);
  set_.end();
  const Fault fault = fault_at(link_.faults, "sqlite.commit");
  if (fault == Fault::fail_before) throw InjectedFault{};
  const auto asked = steady_clock::now();
  hooks_.commit();
  if (waits_for_disk) waited_for_disk_ += duration_cast<Duration>(steady_clock::now() - asked);
  hooks_.over();
  next_sweep_ = set_.space().next_sweep;
  hooks_.publish(set_.tx().news);
  if (fault == Fault::lose_answer) throw InjectedFault{};
}

void Writer::undo() noexcept {
  link_.connection.rollback();
  set_.forget();
  link_.interned.forget();
  hooks_.over();
}

void Writer::fail_all(std::span<const Item> items, const StoreError& error) {
  for (const Item& item : items) item.call->fail(item.index, error);
}

}  // namespace holdfast::sqlite_store
