// How instances stand, and when an id may be used again.
#pragma once

#include <cstdint>
#include <string_view>

namespace holdfast {

/// The numbers are in stores: new ones need a migration.
enum class Status : std::uint8_t {
  running,
  suspended,  ///< by request: it goes on when it is resumed
  parked,     ///< its code can't go on, until it is woken
  completed,
  failed,
  cancelled,
  terminated,
};
std::string_view to_string(Status status) noexcept;
[[nodiscard]] constexpr bool has_ended(Status status) noexcept { return status >= Status::completed; }

namespace store {  // g++ 12 takes its `never` for holdfast::never beside that
/// When an id that exists may begin a new life. The former one is removed then, and its history with it.
enum class Reuse : std::uint8_t {
  never,
  after_failure,  ///< when the former life ended other than completed
  after_end,
};
std::string_view to_string(Reuse reuse) noexcept;
}  // namespace store
using store::Reuse;

}  // namespace holdfast
