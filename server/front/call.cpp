#include "server/front/call.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace holdfast::server {

Call::Call(std::shared_ptr<http::Exchange> exchange, RouteMatch match, Caller caller, OnAnswer on_answer)
    : exchange_(std::move(exchange)),
      match_(std::move(match)),
      caller_(std::move(caller)),
      on_answer_(std::move(on_answer)) {}

Call::~Call() {
  if (answered_) return;
  try {
    refuse(Refusal{.status = 503,
                   .code = "dropped",
                   .message = "the request was dropped before it was answered",
                   .remedy = "look whether it took effect, or repeat it if it can be repeated"});
  } catch (...) {  // no memory, say: then the connection ends when its time is up
  }
}

const std::string& Call::part(std::string_view name) const {
  const auto found =
      std::ranges::find_if(match_.parameters, [&](const auto& entry) { return entry.first == name; });
  if (found == match_.parameters.end()) {
    throw std::logic_error("route " + match_.route->pattern + " has no part '" + std::string(name) + "'");
  }
  return found->second;
}

void Call::answered(int status) {
  if (answered_.exchange(true)) return;
  on_answer_(*this, status);
}

void Call::reply(http::Reply reply) {
  answered(reply.status);
  exchange_->reply(std::move(reply));
}

void Call::refuse(const Refusal& refusal) { reply(match_.door->refuse(request(), refusal)); }

void Call::refuse(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const RefusedRequest& refused) {
    refuse(refused.refusal());
  } catch (const std::exception& other) {
    refuse(Refusal{.status = 500,
                   .code = "internal",
                   .message = other.what(),
                   .remedy = "this is a mistake in the server: its log has the request id"});
  }
}

std::shared_ptr<http::Stream> Call::stream(http::Reply head, std::size_t room) {
  answered(head.status);
  return exchange_->stream(std::move(head), room);
}

}  // namespace holdfast::server
