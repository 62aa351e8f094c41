// Bodies of replies as JSON, and refusals in it.
#pragma once

#include "server/front/route.hpp"
#include "server/http/message.hpp"

#include <holdfast/codec.hpp>

#include <string>

namespace holdfast::server {

template <class T>
http::Reply json_reply(const T& value, int status = 200) {
  return {.status = status, .body = encode(value).bytes};
}

/// What every refusal looks like.
struct RefusalView {
  std::string code{};
  std::string message{};
  std::string where{};
  std::string remedy{};
  std::string request_id{};
};
[[nodiscard]] http::Reply json_refusal(const http::Request& request, const Refusal& refusal);

}  // namespace holdfast::server
