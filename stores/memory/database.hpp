// What the memory store keeps: the rows of each namespace, and the counters.
#pragma once

#include "base/mutex.hpp"
#include "contract/wake_bus.hpp"
#include "stores/rules/asks.hpp"
#include "stores/rules/source.hpp"
#include "stores/rules/space.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace holdfast::memory_store {

/// The last number given of each kind, over all namespaces.
class Counters final : public rules::Numbers {
 public:
  InstanceKey next_instance() override { return {++instances_}; }
  MessageId next_message() override { return {++messages_}; }
  WorkerKey next_worker() override { return {++workers_}; }
  Generation next_generation() override { return {++generations_}; }
  std::uint64_t next_delayed() override { return ++delayed_; }
  std::uint64_t next_log_entry() override { return ++session_log_; }
  std::uint64_t next_set_aside() override { return ++set_aside_; }

 private:
  std::uint64_t instances_ = 0;
  std::uint64_t messages_ = 0;
  std::uint64_t workers_ = 0;
  std::uint64_t generations_ = 0;
  std::uint64_t session_log_ = 0;
  std::uint64_t set_aside_ = 0;
  std::uint64_t delayed_ = 0;
};

/// One namespace: all its rows are in the space, so there is nothing to bring there.
struct Namespace final : rules::Source {
  std::string name_of(InstanceKey key) override { return space.instances.at(key).view.instance; }

  rules::Space space{};
  rules::Asks asks{};
  std::vector<store::WakeBus*> buses{};  ///< of the open stores
};

}  // namespace holdfast::memory_store

namespace holdfast {

class MemoryDatabase {
 public:
  Mutex mutex{};
  memory_store::Counters counters HOLDFAST_GUARDED_BY(mutex){};
  std::map<std::string, memory_store::Namespace> namespaces HOLDFAST_GUARDED_BY(mutex){};
  /// Where lease time begins on the clock of the first store: an hour before, so that no moment of it is
  /// zero.
  std::optional<BootTime> began HOLDFAST_GUARDED_BY(mutex){};
  /// Lease time never steps, not even between stores with clocks of their own.
  BootTime latest HOLDFAST_GUARDED_BY(mutex){};
};

}  // namespace holdfast
