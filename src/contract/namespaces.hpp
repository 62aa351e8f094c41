// What all stores say about the namespace that is to be opened.
#pragma once

#include <cstdint>
#include <string>

namespace holdfast::store {

/// Throws StoreOpenError (invalid) when nothing can have that name.
void check_namespace(const std::string& ns);

/// Why a namespace that doesn't exist is not made.
enum class NotMade : std::uint8_t { create_is_false, read_only };

/// StoreOpenError (missing).
[[noreturn]] void refuse_missing_namespace(const std::string& ns, NotMade why);

}  // namespace holdfast::store
