// TurnWatch: which turns run now, and for how long they have.
#pragma once

#include <holdfast/clock.hpp>

#include <list>
#include <mutex>
#include <string>
#include <vector>

namespace holdfast::runtime {

/// Code of orchestrations can't be interrupted; what doesn't come back can at least be named. Any thread.
class TurnWatch {
 public:
  struct Turn {
    std::string instance{};
    std::string orchestration{};
    BootTime until{};  ///< when it has taken too long
  };

  /// The turn runs for as long as this lives.
  class Running {
   public:
    Running(TurnWatch& watch, Turn turn);
    ~Running();
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

   private:
    TurnWatch& watch_;
    std::list<Turn>::iterator place_;
  };

  /// Those that have taken too long and still run, each once.
  std::vector<Turn> take_overdue(BootTime now);
  /// When the next one will have.
  [[nodiscard]] BootTime next_due() const;

 private:
  mutable std::mutex mutex_;
  std::list<Turn> running_;  // a thread has few: one each
};

}  // namespace holdfast::runtime
