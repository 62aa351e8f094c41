// Tells systemd how the server is (sd_notify).
#pragma once

#include <string>
#include <string_view>

namespace holdfast::server {

/// Sends "READY=1", "STOPPING=1", "STATUS=..." to the socket that NOTIFY_SOCKET names. Nothing happens
/// without one, or when nobody listens there.
void notify_manager(std::string_view state);

}  // namespace holdfast::server
