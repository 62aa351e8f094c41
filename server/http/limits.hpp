// What one server takes: sizes, counts and times of its connections.
#pragma once

#include <holdfast/options.hpp>

#include <chrono>
#include <cstddef>

namespace holdfast::server::http {

struct Limits {
  std::size_t header_bytes = std::size_t{16} << 10U;
  std::size_t body_bytes = std::size_t{8} << 20U;
  std::size_t held_bytes = std::size_t{256} << 20U;    ///< of the bodies of all requests together
  std::size_t stream_bytes = std::size_t{256} << 10U;  ///< that wait to be written to one stream
  std::size_t connections = 12'000;
  std::size_t connections_per_address = 12'000;

  Duration header_time = std::chrono::seconds(10);   ///< from the first byte, with TLS from the connection on
  Duration body_time = std::chrono::seconds(30);     ///< and a second more for each 64 KiB
  Duration idle_time = std::chrono::seconds(75);     ///< between two requests
  Duration answer_time = std::chrono::seconds(120);  ///< until a reply must be there
  Duration write_time = std::chrono::seconds(30);    ///< for a reply, and a second more for each 64 KiB
  Duration linger_time =
      std::chrono::seconds(2);  ///< for what the other side still sends after the last reply
};

}  // namespace holdfast::server::http
