// What happens to sessions of a worker, and what is to be done about it.
#pragma once

#include "runtime/held_session.hpp"
#include "runtime/session_memory.hpp"
#include "runtime/settings.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/options.hpp>
#include <holdfast/store/sessions.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::runtime {

/// Something that people are told of.
struct SessionChange {
  enum class Kind : std::uint8_t {
    claimed,          ///< nobody else had it
    came,             ///< from another worker
    reclaimed,        ///< its lease was over, and nobody else had it in between
    lapsed,           ///< its lease is over
    overdue,          ///< its lease could not be kept, as far as this process knows
    left,             ///< it is no longer this worker's
    asked_for,        ///< by an operator
    not_releasable,   ///< an operator asked for it, and it can't go
    stranded,         ///< it has work that this worker has no code for, and can't go
    released_unsaved  ///< it goes, and its state could not be saved
  };
  Kind kind{};
  store::SessionHold hold{};
  store::SessionReason reason{};
  std::string from{};           ///< the owner before
  std::size_t saved_bytes = 0;  ///< that came with it
  Duration quiet{};             ///< before it left
  std::string error{};
};

/// Logs it. The logger is code of the user: not with a mutex held.
void say(const Settings& settings, const SessionChange& change);

/// What is to be done about sessions, by somebody who holds no mutex.
struct SessionOrders {
  std::vector<SessionChange> changes{};
  std::vector<HeldPointer> save{};                       ///< threads of activities save them
  std::vector<std::shared_ptr<SessionMemory>> let_go{};  ///< whoever lets go last has their states destroyed
  bool keep = false;                                     ///< the keep step has something to do
  BootTime keep_by = BootTime::max();                    ///< the same, by then
  bool released =
      false;  ///< one that was about to leave has left, or stays: whoever waits for that may go on
};

}  // namespace holdfast::runtime
