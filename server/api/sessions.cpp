// Sessions: listing, their log, and what operators do to them.
#include "server/api/api.hpp"
#include "server/api/views.hpp"

#include <utility>

namespace holdfast::server {

struct SessionListView {
  std::vector<SessionView> sessions{};
  std::optional<std::string> next{};
};
struct SessionLogPageView {
  std::vector<SessionLogView> entries{};
  std::optional<std::uint64_t> next{};
};
struct ReleaseBody {
  bool force = false;
};
struct MoveBody {
  std::string node{};
  bool force = false;
  Duration keep_for = std::chrono::minutes(5);
  HOLDFAST_REQUIRED(node)
};
struct ReleasedView {
  SessionReleased outcome = SessionReleased::asked;
};
struct ClosedView {
  bool closed = false;
};

HOLDFAST_GIVEN(SessionListView, "SessionList");
HOLDFAST_GIVEN(SessionLogPageView, "SessionLog");
HOLDFAST_TAKEN(ReleaseBody, "ReleaseSession");
HOLDFAST_TAKEN(MoveBody, "MoveSession");
HOLDFAST_GIVEN(ReleasedView, "SessionReleased");
HOLDFAST_GIVEN(ClosedView, "SessionClosed");
HOLDFAST_GIVEN(SessionCounts, "SessionCounts");

namespace {

SessionListView session_page(const Asked& asked) {
  SessionFilter filter{.after = asked.text("after"), .limit = asked.limit()};
  if (const std::string state = asked.text("state"); !state.empty()) {
    Result<SessionStatus> wanted = decode<SessionStatus>({kJsonEncoding, encode(state).bytes});
    if (!wanted) refuse_part("query state", wanted.error().message);
    filter.states = {*wanted};
  }
  if (const auto owner = asked.call().request().parameter("owner")) filter.owner = std::string(*owner);
  if (const auto queue = asked.call().request().parameter("queue")) filter.queue = std::string(*queue);
  SessionListView shown;
  for (const SessionInfo& session : asked.client().list_sessions(filter))
    shown.sessions.push_back(view(session));
  if (shown.sessions.size() == filter.limit) shown.next = shown.sessions.back().id;
  return shown;
}

SessionLogPageView session_log_page(const Asked& asked, std::string_view id) {
  const std::size_t limit = asked.limit();
  SessionLogPageView shown;
  for (const SessionLogEntry& entry :
       asked.client().session_log(id, asked.number("after").value_or(0), limit)) {
    shown.entries.push_back(view(entry));
  }
  if (shown.entries.size() == limit) shown.next = shown.entries.back().number;
  return shown;
}

}  // namespace

void add_sessions(Endpoints& endpoints) {
  const Parameter limit{"limit", ParameterKind::number,
                        "how many at most: from 1 to 1000, 100 if it is not set"};
  const std::string one = "/sessions/{id}";
  endpoints.add<Nothing, SessionListView>(
      below_namespace("GET", "/sessions", "list_sessions"),
      {.summary = "Sessions, by their ids",
       .query = {{"state", ParameterKind::text, "unclaimed, active, lapsed, expired, closed or failed"},
                 {"owner", ParameterKind::text, "the node that holds it, or held it last"},
                 {"queue", ParameterKind::text, "empty: the default one"},
                 {"after", ParameterKind::text, "`next` of the page before"},
                 limit}},
      session_page);
  endpoints.add<Nothing, SessionCounts>(below_namespace("GET", "/session-counts", "count_sessions"),
                                        {.summary = "How many sessions are in which state"},
                                        [](const Asked& asked) { return asked.client().count_sessions(); });
  endpoints.add<Nothing, SessionLogPageView>(
      below_namespace("GET", "/session-log", "get_session_log_of_all"),
      {.summary = "What happened to all sessions",
       .query = {{"after", ParameterKind::number, "`next` of the page before"}, limit}},
      [](const Asked& asked) { return session_log_page(asked, ""); });
  endpoints.add<Nothing, SessionView>(
      below_namespace("GET", one, "get_session"), {.summary = "A session"},
      [](const Asked& asked) { return view(asked.client().describe_session(asked.part("id"))); });
  endpoints.add<Nothing, SessionLogPageView>(
      below_namespace("GET", one + "/log", "get_session_log"),
      {.summary = "What happened to a session",
       .query = {{"after", ParameterKind::number, "`next` of the page before"}, limit}},
      [](const Asked& asked) { return session_log_page(asked, asked.part("id")); });
  endpoints.add<Nothing, ClosedView>(
      below_namespace("POST", one + "/close", "close_session", true),
      {.summary = "End a session; false when it had ended already"},
      [](const Asked& asked) { return ClosedView{asked.client().close_session(asked.part("id"))}; });
  endpoints.add<ReleaseBody, ReleasedView>(
      below_namespace("POST", one + "/release", "release_session", true),
      {.summary = "Ask its worker to save it and to give it up"},
      [](const Asked& asked, const ReleaseBody& body) {
        return ReleasedView{asked.client().release_session(asked.part("id"), {.force = body.force})};
      });
  endpoints.add<MoveBody, ReleasedView>(
      below_namespace("POST", one + "/move", "move_session", true), {.summary = "Move it to a certain node"},
      [](const Asked& asked, const MoveBody& body) {
        return ReleasedView{asked.client().move_session(asked.part("id"), body.node,
                                                        {.force = body.force, .keep_for = body.keep_for})};
      });
}

}  // namespace holdfast::server
