#include "store.hpp"

#include <algorithm>

namespace holdfast {

std::shared_ptr<MemoryDatabase> memory_database() { return std::make_shared<MemoryDatabase>(); }

std::shared_ptr<Store> memory(MemoryOptions options) {
  return std::make_shared<memory_store::MemoryStore>(std::move(options));
}

namespace memory_store {

MemoryStore::MemoryStore(MemoryOptions options)
    : ns_(std::move(options.ns)),
      database_(options.database ? std::move(options.database) : memory_database()),
      clock_(options.clock != nullptr ? *options.clock : real_clock()),
      faults_(options.faults),
      bus_(clock_) {
  const std::lock_guard lock(database_->mutex);
  space_ = &database_->spaces[ns_];
  space_->buses.push_back(&bus_);
}

MemoryStore::~MemoryStore() {
  const std::lock_guard lock(database_->mutex);
  std::erase(space_->buses, &bus_);
}

std::string MemoryStore::description() const { return "memory (namespace " + ns_ + ")"; }

std::unique_ptr<Listener> MemoryStore::listen(WorkMask mask, WorkerKey worker) {
  return bus_.listen(mask, worker);
}

Transaction MemoryStore::begin_transaction() {
  database_->latest = std::max(database_->latest, clock_.boot_now());
  Transaction tx{.space = *space_,
                 .counters = database_->counters,
                 .now = database_->latest,
                 .calendar = clock_.calendar_now()};
  settle(tx);
  return tx;
}

void MemoryStore::publish(const News& news) {
  if (news.work.empty() && news.cancelled.empty() && news.instances.empty()) return;
  for (WakeBus* const bus : space_->buses) bus->publish(news);
}

Unexpected<StoreError> MemoryStore::unavailable(std::string_view point) {
  lapses_.clear();
  return refuse(StoreError::Kind::unavailable, "the answer of " + std::string(point) + " is not known");
}

}  // namespace memory_store
}  // namespace holdfast
