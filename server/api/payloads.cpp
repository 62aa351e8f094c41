#include "server/api/payloads.hpp"

#include "codec/base64.hpp"
#include "server/api/endpoints.hpp"

#include <stdexcept>

namespace holdfast::server {

Payload payload_of(const Json& json, const std::optional<BytesBody>& bytes, std::string_view where) {
  if (!bytes) return {kJsonEncoding, json.text};
  const std::string place = std::string(where) + "_bytes";
  if (json.text != "null") refuse_part(place, "it stands beside " + std::string(where), "send one of them");
  Payload payload{kBytesEncoding};
  try {
    payload.encoding = Encoding(bytes->encoding);
  } catch (const std::invalid_argument& error) {
    refuse_part(place + ".encoding", error.what());
  }
  if (!codec::from_base64(bytes->base64, payload.bytes))
    refuse_part(place + ".base64", "it is no base64 with padding");
  return payload;
}

}  // namespace holdfast::server
