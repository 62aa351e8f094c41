// The description of the API as an OpenAPI document.
#pragma once

#include "server/api/endpoints.hpp"

#include <string>

namespace holdfast::server {

/// OpenAPI 3.1, as JSON with two blanks for each level.
[[nodiscard]] std::string openapi_document(Endpoints& endpoints);

/// JSON with line breaks and two blanks for each level. `text` is valid JSON.
[[nodiscard]] std::string indented(std::string_view text);

}  // namespace holdfast::server
