// Sessions as clients see them.
#include "base/check_options.hpp"
#include "client/core.hpp"
#include "client/saved_states.hpp"

#include <holdfast/client.hpp>
#include <holdfast/detail/enum_names.hpp>
#include <holdfast/detail/names.hpp>

#include <chrono>
#include <string>
#include <utility>

namespace holdfast {

SessionInfo detail::to_info(store::SessionView session) {
  return {.id = std::move(session.id),
          .state = session.state,
          .orphaned = session.orphaned,
          .reason = session.reason,
          .note = std::move(session.note),
          .owner = std::move(session.owner),
          .worker = session.worker,
          .generation = session.generation,
          .held_since = session.held_since,
          .wanted = std::move(session.wanted),
          .kept_for = session.kept_for,
          .policy = std::move(session.policy),
          .lease_left = session.lease_left,
          .ttl_left = session.ttl_left,
          .quiet_for = session.quiet_for,
          .opened_by = std::move(session.opened_by),
          .queued = session.queued,
          .in_flight = session.in_flight,
          .saved_size = session.saved_size,
          .saved_version = session.saved_version,
          .created_at = session.created_at,
          .updated_at = session.updated_at};
}

std::string_view session_status(const SessionInfo& session) noexcept {
  if (session.orphaned) return "orphaned";
  if (session.state == SessionStatus::lapsed) return "expired";
  return detail::enum_name(session.state);
}

std::string to_string(const SessionLogEntry& entry) {
  using Kind = SessionLogEntry::Kind;
  std::string text(detail::enum_name(entry.kind));
  if (!entry.previous_owner.empty())
    text += (entry.kind == Kind::moved ? " from " : ", was with ") + entry.previous_owner;
  if (!entry.owner.empty()) text += (entry.kind == Kind::moved ? " to " : " by ") + entry.owner;
  if (entry.reason != SessionReason::none) text += " (" + std::string(to_string(entry.reason)) + ")";
  const auto quiet = std::chrono::duration_cast<std::chrono::milliseconds>(entry.quiet_for).count();
  return text + ", generation " + to_string(entry.generation) + ", quiet for " + std::to_string(quiet) +
         " ms";
}

namespace {

// An empty one stands for all of them.
void check_id_if_any(std::string_view id) {
  if (!id.empty()) static_cast<void>(detail::checked_name("a session", id));
}

}  // namespace

std::vector<SessionInfo> Client::list_sessions(std::string_view after, std::size_t limit) const {
  return list_sessions({.after = std::string(after), .limit = limit});
}

std::vector<SessionInfo> Client::list_sessions(const SessionFilter& filter) const {
  check_id_if_any(filter.after);
  detail::ClientCore::check_limit(filter.limit);
  if (filter.owner) static_cast<void>(detail::checked_name("a node", *filter.owner));
  if (filter.queue && !filter.queue->empty())
    static_cast<void>(detail::checked_name("a queue", *filter.queue));
  std::vector<SessionInfo> infos;
  for (store::SessionView& session : core_->call([&] { return core_->store().sessions(filter); }))
    infos.push_back(detail::to_info(std::move(session)));
  return infos;
}

SessionCounts Client::count_sessions() const {
  return core_->call([&] { return core_->store().count_sessions(); });
}

SessionInfo Client::describe_session(std::string_view id) const {
  const std::string checked = detail::checked_name("a session", id);
  return detail::to_info(core_->call([&] { return core_->store().session(checked, store::Saved::size); }));
}

std::optional<Payload> Client::read_saved_state(std::string_view id, std::string_view name) const {
  const std::string checked = detail::checked_name("a session", id);
  const store::SessionView session =
      core_->call([&] { return core_->store().session(checked, store::Saved::bytes); });
  if (!session.saved) return std::nullopt;
  for (SavedStates::Part& part : read_saved_states(*session.saved).parts) {
    if (part.name == name) return std::move(part.state);
  }
  return std::nullopt;
}

std::vector<SessionLogEntry> Client::session_log(std::string_view id, std::uint64_t after,
                                                 std::size_t limit) const {
  check_id_if_any(id);
  detail::ClientCore::check_limit(limit);
  return core_->call([&] { return core_->store().session_log(id, after, limit); });
}

std::vector<SessionLogEntry> Client::session_log(std::string_view id) const {
  constexpr std::size_t kAtOnce = 500;  // keeps transactions short
  std::vector<SessionLogEntry> story;
  for (;;) {
    std::vector<SessionLogEntry> page = session_log(id, story.empty() ? 0 : story.back().number, kAtOnce);
    const bool last = page.size() < kAtOnce;
    story.insert(story.end(), std::make_move_iterator(page.begin()), std::make_move_iterator(page.end()));
    if (last) return story;
  }
}

bool Client::close_session(std::string_view id) const {
  const std::string checked = detail::checked_name("a session", id);
  // The second time it has ended by the first, whose answer was lost.
  bool in_doubt = false;
  return core_->call([&]() -> StoreResult<bool> {
    StoreResult<bool> closed = core_->store().close_session(checked, SessionReason::operated);
    if (closed) return *closed || in_doubt;
    in_doubt = true;
    return closed;
  });
}

SessionReleased Client::release_session(std::string_view id, ReleaseOptions options) const {
  const std::string checked = detail::checked_name("a session", id);
  return core_->call([&] { return core_->store().ask_for_session(checked, {.force = options.force}); });
}

SessionReleased Client::move_session(std::string_view id, std::string_view node, MoveOptions options) const {
  const std::string checked = detail::checked_name("a session", id);
  detail::check_delay("the move of session '" + checked + "'", "keep_for", options.keep_for);
  const store::SessionWish wish{
      .to = detail::checked_name("a node", node), .keep_for = options.keep_for, .force = options.force};
  return core_->call([&] { return core_->store().ask_for_session(checked, wish); });
}

bool Client::discard_session_state(std::string_view id) const {
  const std::string checked = detail::checked_name("a session", id);
  bool in_doubt = false;
  return core_->call([&]() -> StoreResult<bool> {
    StoreResult<bool> discarded = core_->store().discard_session_state(checked);
    if (discarded) return *discarded || in_doubt;
    in_doubt = true;
    return discarded;
  });
}

}  // namespace holdfast
