#include "client/calling_activity.hpp"

#include "base/siphash.hpp"

#include <initializer_list>

namespace holdfast::client {
namespace {

thread_local CallingActivity* calling = nullptr;

// With its length before each part: no two lists look alike.
std::string joined(std::initializer_list<std::string_view> parts) {
  std::string bytes;
  for (const std::string_view part : parts) {
    bytes += std::to_string(part.size()) + ":";
    bytes += part;
  }
  return bytes;
}

RequestId hashed(OperationKey key, std::string_view bytes) noexcept {
  const detail::SipHash hash = detail::sip_hash(key.low, key.high, bytes);
  return {hash.high, hash.low};
}

}  // namespace

CallingActivity::CallingActivity(OperationKey key) noexcept : key_(key), outer_(calling) { calling = this; }
CallingActivity::~CallingActivity() { calling = outer_; }

CallingActivity* CallingActivity::current() noexcept { return calling; }

RequestId CallingActivity::next_request(std::string_view what, std::string_view target,
                                        std::string_view name) {
  std::string kind = joined({what, target, name});
  const std::uint64_t number = calls_[kind]++;
  return hashed(key_, kind + std::to_string(number));
}

RequestId request_of(std::string_view instance, std::string_view key) {
  constexpr OperationKey kMessageKeys{0x686f6c6466617374U, 0x6d6573736167652eU};  // nothing secret
  return hashed(kMessageKeys, joined({instance, key}));
}

}  // namespace holdfast::client
