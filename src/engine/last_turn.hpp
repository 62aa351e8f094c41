// LastTurn: ends an execution whose code can't be run, because it no longer matches its history or keeps
// killing the process that runs it.
#pragma once

#include "engine/turn.hpp"

#include <holdfast/result.hpp>

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::engine {

/// Reads history for who has to be told and what has to be stopped; no code runs.
class LastTurn {
 public:
  explicit LastTurn(std::string build) : build_(std::move(build)) {}

  /// One recorded turn, in order.
  Result<void, Problem> read(std::string_view segment);
  /// There is no history yet: the execution begins with its end.
  void begin(history::Started started);

  [[nodiscard]] EventId next_event() const noexcept { return next_event_; }
  /// Who waits for its end; null when nobody does.
  [[nodiscard]] const history::Parent* parent() const noexcept {
    return started_ && started_->parent ? &*started_->parent : nullptr;
  }
  /// The turn that ends it.
  [[nodiscard]] Outcome end(CalendarTime time, End end) const;

 private:
  void note(history::Event&& event);

  std::string build_;
  EventId next_event_{1};
  CalendarTime now_{};
  std::optional<history::Started> started_;
  bool is_new_ = false;             // its start is not in history yet
  std::map<EventId, Cancel> open_;  // what would be cancelled
};

}  // namespace holdfast::engine
