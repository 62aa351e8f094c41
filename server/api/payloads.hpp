// Payloads in requests: JSON as it is, or bytes in base64.
#pragma once

#include "server/api/schema.hpp"

#include <holdfast/codec.hpp>
#include <holdfast/payload.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace holdfast::server {

/// A payload that is no JSON.
struct BytesBody {
  std::string encoding = "bytes";
  std::string base64{};
  HOLDFAST_REQUIRED(base64)
};
HOLDFAST_TAKEN(BytesBody, "Bytes");

/// JSON goes through unchanged. Throws RefusedRequest when both are there, or the
/// bytes are no base64; `where` names them.
[[nodiscard]] Payload payload_of(const Json& json, const std::optional<BytesBody>& bytes,
                                 std::string_view where);

}  // namespace holdfast::server
