// Which server answers: after a failover, or when a backup was restored, it is another one than before.
#pragma once

#include "connection.hpp"

#include <cstdint>
#include <string>

namespace holdfast {
class Logger;
}  // namespace holdfast

namespace holdfast::postgres_store {

/// A server that took over from another may have lost the last commits of it. Whoever makes a connection
/// calls this before anything is written over it: the first one who sees another server frees whatever was
/// held there, locks and sessions, and makes numbers jump ahead of all that may have been given; the others
/// wait for that. True when this call did it. Throws SqlError, also when the server is a standby: it would go
/// on with this connection when it is promoted.
bool adopt_server(Connection& connection, Logger* logger);

}  // namespace holdfast::postgres_store
