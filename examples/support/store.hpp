// The store of an example application, as its command line says.
#pragma once

#include "command_line.hpp"

#include <holdfast/store.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace support {

/// Those who only look, or talk to what is there, should not make an empty store of a name that they
/// mistyped.
enum class Opens : std::uint8_t { existing, or_creates };

/// By the options --store and --namespace; without --store the address is in the environment variable
/// `variable`, or `otherwise`. Throws when it can't be opened, and says what to do.
std::shared_ptr<holdfast::Store> open_store(const Arguments& arguments, const char* variable,
                                            const std::string& otherwise, Opens how);

}  // namespace support
