#include "lease_clock.hpp"

#include <fstream>
#include <utility>

namespace holdfast::sqlite_store {

std::string current_boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  file >> id;
  return id;
}

// The file tells of the namespace of this process's children, which is its own, unless it has asked for a new
// one for them.
std::chrono::microseconds time_namespace_offset() {
  using namespace std::chrono;
  std::ifstream file("/proc/self/timens_offsets");
  std::string clock;
  std::int64_t whole = 0;
  std::int64_t nano = 0;
  while (file >> clock >> whole >> nano) {
    if (clock == "boottime") return seconds(whole) + duration_cast<microseconds>(nanoseconds(nano));
  }
  return {};
}

LeaseClock::LeaseClock(Connection& database, const Clock& clock)
    : LeaseClock(database, clock, current_boot_id(),
                 &clock == &real_clock() ? time_namespace_offset() : std::chrono::microseconds::zero()) {}

LeaseClock::LeaseClock(Connection& database, const Clock& clock, std::string boot_id,
                       std::chrono::microseconds ahead)
    : clock_(clock),
      boot_id_(std::move(boot_id)),
      ahead_(ahead.count()),
      read_(database.prepare(kReadLeaseClock)),
      write_(database.prepare(
          "INSERT OR REPLACE INTO lease_clock (id, boot, offset, bound) VALUES (1, ?, ?, ?)")) {}

std::int64_t LeaseClock::machine_now() const noexcept {
  return clock_.boot_now().time_since_epoch().count() - ahead_;
}

LeaseClock::Reading LeaseClock::read(Statement& statement) const {
  const std::int64_t boot = machine_now();
  std::int64_t offset = kStart.count() - boot;
  std::int64_t bound = 0;
  bool same_boot = false;
  if (Cursor row(statement); row.next()) {
    same_boot = row->text(0) == boot_id_;
    offset = row->int64(1);
    bound = row->int64(2);
  }
  // The bound was moved to where it is at kAhead before it, so an earlier time was told already: the machine
  // went back to a snapshot, or this is another clock than the last one.
  const bool went_back = boot + offset < bound - kAhead.count();
  if (bound != 0 && (!same_boot || went_back)) offset = bound - boot;
  return {.now = boot + offset, .offset = offset, .bound = bound};
}

std::int64_t LeaseClock::now() {
  const Reading found = read(read_);
  if (found.now >= found.bound)
    write_.run(std::string_view(boot_id_), found.offset, found.now + kAhead.count());
  offset_.store(found.offset, std::memory_order_relaxed);
  return found.now;
}

void LeaseClock::follow(Statement& statement) {
  offset_.store(read(statement).offset, std::memory_order_relaxed);
}

std::int64_t LeaseClock::look() const noexcept {
  return machine_now() + offset_.load(std::memory_order_relaxed);
}

}  // namespace holdfast::sqlite_store
