#include "codec/operation.hpp"

#include <holdfast/detail/names.hpp>
#include <holdfast/session.hpp>

#include <memory>
#include <string>
#include <utility>

namespace holdfast {

Session::Session(detail::Core& core, std::string_view id)
    : Session(core, std::make_shared<const detail::SessionSettings>(
                        detail::SessionSettings{.id = detail::checked_name("a session", id)})) {}

Session::Session(detail::Core& core, detail::SharedSessionSettings settings)
    : core_(&core), settings_(std::move(settings)) {}

const std::string& Session::id() const noexcept { return settings_->id; }

namespace {

Task<SessionEvent> wait_until_moved(Session session) {
  for (;;) {
    SessionEvent event = co_await session.next_event();
    if (event.kind != SessionEvent::Kind::claimed) co_return event;
  }
}

}  // namespace

Task<SessionEvent> Session::moved() const { return wait_until_moved(*this); }

namespace detail {

Result<SessionEvent> OutcomeReader<SessionEvent>::read(OpState& state) {
  return decode<SessionEvent>(state.value);
}

Result<Session> OutcomeReader<Session>::read(OpState& state) {
  Result<std::string> id = decode<std::string>(state.value);
  if (!id) return Unexpected(std::move(id).error());
  return Session(*state.core, *id);
}

}  // namespace detail
}  // namespace holdfast
