// Base64 with the standard alphabet and padding.
#pragma once

#include <string>
#include <string_view>

namespace holdfast::codec {

std::string to_base64(std::string_view bytes);

/// False when `text` isn't what to_base64 writes: strict, so that equal bytes always have equal text.
bool from_base64(std::string_view text, std::string& out);

}  // namespace holdfast::codec
