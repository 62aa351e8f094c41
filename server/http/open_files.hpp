// The number of files and sockets that this process may have open.
#pragma once

#include <cstdint>

namespace holdfast::server::http {

/// Raises the limit of this process as far as it may; returns what it is then.
std::uint64_t raise_open_files();

}  // namespace holdfast::server::http
