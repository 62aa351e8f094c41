// WaitTimes: since when an execution waits for what it waits for, as its history tells.
#pragma once

#include <holdfast/address.hpp>
#include <holdfast/clock.hpp>
#include <holdfast/ids.hpp>
#include <holdfast/store.hpp>

#include <map>
#include <optional>

namespace holdfast::client {

/// Of operations that have no outcome yet. What can't be read is left out: it is for people who look.
class WaitTimes {
 public:
  WaitTimes(Store& store, InstanceKey instance, ExecutionNumber execution);

  [[nodiscard]] std::optional<CalendarTime> of(EventId operation) const;
  /// The longest wait for an event, a message or the news of a session.
  [[nodiscard]] std::optional<CalendarTime> of(const Address& address) const;

 private:
  bool read(const store::Segment& segment);

  struct Open {
    CalendarTime since{};
    std::optional<Address> address{};
  };
  CalendarTime turn_{};
  std::map<EventId, Open> open_;
};

}  // namespace holdfast::client
