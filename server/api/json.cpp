#include "server/api/json.hpp"

namespace holdfast::server {

http::Reply json_refusal(const http::Request& request, const Refusal& refusal) {
  http::Reply reply = json_reply(
      RefusalView{refusal.code, refusal.message, refusal.where, refusal.remedy, request.id}, refusal.status);
  if (refusal.status == 503) reply.headers.add("Retry-After", "1");
  return reply;
}

}  // namespace holdfast::server
