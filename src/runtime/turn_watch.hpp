// TurnWatch: which turns run now, and for how long they have.
#pragma once

#include <holdfast/clock.hpp>

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::runtime {

/// Code of orchestrations can't be interrupted; what doesn't come back can at least be named. Any thread.
class TurnWatch {
 public:
  /// A turn runs for as long as this lives, and what it is named by as well. It has taken too long at
  /// `until`.
  class Running {
   public:
    Running(TurnWatch& watch, std::string_view instance, std::string_view orchestration, BootTime until);
    ~Running();
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

   private:
    friend class TurnWatch;

    TurnWatch& watch_;
    const std::string_view instance_;
    const std::string_view orchestration_;
    BootTime until_;
  };

  struct Overdue {
    std::string instance{};
    std::string orchestration{};
  };
  /// Those that have taken too long and still run, each once.
  std::vector<Overdue> take_overdue(BootTime now);
  /// When the next one will have.
  [[nodiscard]] BootTime next_due() const;

 private:
  mutable std::mutex mutex_;
  std::vector<Running*> running_;  // one for each thread that runs turns
};

}  // namespace holdfast::runtime
