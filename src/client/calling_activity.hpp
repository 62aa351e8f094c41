// The activity whose code a thread runs, as far as clients have to know: what it asks of them takes effect
// once, however often it is tried.
#pragma once

#include <holdfast/ids.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace holdfast::client {

/// One attempt, for as long as its code runs in this thread. An attempt that makes the same calls as the one
/// before makes them under the same requests, so the store answers those that took effect and does nothing.
class CallingActivity {
 public:
  /// `key` is the same for all attempts, and for no other activity.
  explicit CallingActivity(OperationKey key) noexcept;
  ~CallingActivity();
  CallingActivity(const CallingActivity&) = delete;
  CallingActivity& operator=(const CallingActivity&) = delete;

  /// The one that the calling thread runs; null outside of activities.
  static CallingActivity* current() noexcept;

  /// The request of its next call of this kind. Calls are told apart by what they do and to whom, and by
  /// their number among those that are alike: an attempt that goes another way sends what the others did not.
  RequestId next_request(std::string_view what, std::string_view target, std::string_view name);

 private:
  const OperationKey key_;
  std::map<std::string, std::uint64_t, std::less<>> calls_;  // of each kind, so far
  CallingActivity* const outer_;
};

/// The request that a key of the user's stands for, of a message to this instance.
RequestId request_of(std::string_view instance, std::string_view key);

}  // namespace holdfast::client
