// The status of instances, and when an id may be reused.
#pragma once

#include <cstdint>
#include <string_view>

namespace holdfast {

/// The numbers are in stores: new ones need a migration.
enum class Status : std::uint8_t {
  running,
  suspended,  ///< by a client: its code does not run until it is resumed
  parked,     ///< its code does not fit its history, or did not come back; workers that start try it again
  completed,
  failed,
  cancelled,
  terminated,
};
std::string_view to_string(Status status) noexcept;
[[nodiscard]] constexpr bool has_ended(Status status) noexcept { return status >= Status::completed; }

namespace store {  // in holdfast, g++ 12 takes its `never` for holdfast::never
/// When an id that exists may begin a new life. The former instance is removed then, with its history.
enum class Reuse : std::uint8_t {
  never,
  after_failure,  ///< when the former life ended other than completed
  after_end,
};
std::string_view to_string(Reuse reuse) noexcept;
}  // namespace store
using store::Reuse;

}  // namespace holdfast
