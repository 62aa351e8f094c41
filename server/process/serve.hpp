// The server as a process.
#pragma once

#include "server/settings/settings.hpp"

namespace holdfast::server {

/// Serves until the process is told to end (SIGTERM, SIGINT), and ends in an orderly way then; a second
/// signal ends it at once. Throws std::exception when it can't start.
void serve(const Settings& settings);

}  // namespace holdfast::server
