// WaitTimes: since when an execution waits for what it waits for, as its history tells.
#pragma once

#include <holdfast/address.hpp>
#include <holdfast/clock.hpp>
#include <holdfast/ids.hpp>
#include <holdfast/store.hpp>

#include <map>
#include <optional>

namespace holdfast::client {

/// Of operations that have no outcome yet. Reads the history when it is asked first. What can't be read is
/// left out: it is for people who look.
class WaitTimes {
 public:
  WaitTimes(Store& store, InstanceKey instance, ExecutionNumber execution)
      : store_(store), instance_(instance), execution_(execution) {}

  [[nodiscard]] std::optional<CalendarTime> of(EventId operation);
  /// The longest wait for an event, a message or the news of a session.
  [[nodiscard]] std::optional<CalendarTime> of(const Address& address);

 private:
  void read_once();
  bool read(const store::Segment& segment);

  struct Open {
    CalendarTime since{};
    std::optional<Address> address{};
  };
  Store& store_;
  const InstanceKey instance_;
  const ExecutionNumber execution_;
  bool was_read_ = false;
  CalendarTime turn_{};
  std::map<EventId, Open> open_;
};

}  // namespace holdfast::client
