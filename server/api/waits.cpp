// Requests that wait for news of an instance. While they wait they take no thread.
#include "server/api/api.hpp"
#include "server/api/views.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::server {

struct ResultView {
  bool ended = false;
  InstanceView instance{};
};
HOLDFAST_GIVEN(ResultView, "Result");

namespace {

http::Reply result_reply(const RunInfo& info) { return json_reply(ResultView{info.has_ended(), view(info)}); }

// As it is by now, from a thread that may call the store.
void reply_with_now(Pool& pool, const std::shared_ptr<Call>& call, const Run& run) {
  run_in(pool, call, [run](const std::shared_ptr<Call>& waited) { waited->reply(result_reply(run.info())); });
}

Duration wait_of(const std::shared_ptr<Call>& call, Duration longest) {
  return std::min(Asked(*call, nullptr).time("wait").value_or(Duration::zero()), longest);
}

void wait_for_end(Pool& pool, const std::shared_ptr<Call>& call, const Client& client, Duration longest) {
  const Duration wait = wait_of(call, longest);
  const Run run = client.run(call->part("id"));
  const RunInfo info = run.info();
  if (info.has_ended() || wait == Duration::zero()) return call->reply(result_reply(info));
  // However the wait ends: what is there then is the answer.
  run.wait_async<Payload>(wait).then(
      [&pool, call, run](const ClientAnswer<Payload>&) { reply_with_now(pool, call, run); },
      call->stop_token());
}

void wait_for_change(Pool& pool, const std::shared_ptr<Call>& call, const Client& client, Duration longest) {
  const Duration wait = wait_of(call, longest);
  const std::optional<std::uint64_t> since = Asked(*call, nullptr).number("since");
  const Run run = client.run(call->part("id"));
  const RunInfo info = run.info();
  const bool is_news = since && *since != info.custom_status_version;
  if (info.has_ended() || is_news || wait == Duration::zero()) return call->reply(result_reply(info));
  run.wait_for_change_async(info, wait)
      .then([&pool, call,
             run](const ClientAnswer<std::optional<RunInfo>>&) { reply_with_now(pool, call, run); },
            call->stop_token());
}

}  // namespace

void add_waits(Endpoints& endpoints, Duration poll_time) {
  const Parameter wait{"wait", ParameterKind::time,
                       "how long to wait for it, such as 30s; bounded by the setting poll_time"};
  Pool& pool = endpoints.pool();
  endpoints.add_later<ResultView>(
      below_namespace("GET", "/instances/{id}/result", "get_result"),
      {.summary = "How it ended, or how it is after waiting for its end", .query = {wait}},
      [&pool, poll_time](const std::shared_ptr<Call>& call, const Client* client) {
        wait_for_end(pool, call, *client, poll_time);
      });
  endpoints.add_later<ResultView>(
      below_namespace("GET", "/instances/{id}/status", "get_status"),
      {.summary = "Its custom status, after waiting for another one or for its end",
       .query =
           {wait,
            {"since", ParameterKind::number,
             "custom_status_version of the answer before: when it differs by now, nothing is waited for"}}},
      [&pool, poll_time](const std::shared_ptr<Call>& call, const Client* client) {
        wait_for_change(pool, call, *client, poll_time);
      });
}

}  // namespace holdfast::server
