// The target of a request: `/v1/instances/a%2Fb?limit=10`.
#pragma once

#include "server/http/message.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace holdfast::server::http {

/// Percent-encoded text as what it stands for; nothing when it is malformed. `plus_is_space` as in a query.
[[nodiscard]] std::optional<std::string> percent_decode(std::string_view text, bool plus_is_space = false);
/// The inverse, for one segment of a path or one value of a query: all but letters, digits and `-._~` is
/// encoded.
[[nodiscard]] std::string percent_encode(std::string_view text);

/// Reads `request.target` into its path and query. Each segment of the path is decoded by itself, so that an
/// id may hold a slash. False when it is no target: it must begin with a slash, or with http:// and a host.
[[nodiscard]] bool read_target(Request& request);

}  // namespace holdfast::server::http
