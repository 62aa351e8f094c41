// Instances: starting, looking at them, and what is done to them.
#include "server/api/api.hpp"
#include "server/api/payloads.hpp"
#include "server/api/views.hpp"

#include <charconv>
#include <utility>

namespace holdfast::server {

// ---- what is taken and given ---------------------------------------------------------------------

struct StartBody {
  std::string orchestration{};
  std::optional<std::string> id{};
  std::string version{};
  Json input{};
  std::optional<BytesBody> input_bytes{};
  Reuse reuse = Reuse::never;
  Duration delay{};
  HOLDFAST_REQUIRED(orchestration)
};
struct MessageBody {
  Json value{};
  std::optional<BytesBody> value_bytes{};
  Duration keep_for = kKeepEarly;
  Duration delay{};
  std::string key{};
};
struct CancelBody {
  std::string reason{};
  std::optional<Duration> terminate_after{};
};
struct ReasonBody {
  std::string reason{};
};
struct RestartBody {
  std::string version{};
};
struct BulkBody {
  enum class Action : std::uint8_t { cancel, terminate, suspend, resume, remove };
  Action action = Action::cancel;
  std::string filter{};
  std::string reason{};
  bool force = false;
  bool cascade = false;
  HOLDFAST_REQUIRED(action, filter)
};
struct IdView {
  std::string id{};
};
struct ValueView {
  PayloadView value{};
};
struct InputView {
  std::optional<PayloadView> input{};
};
struct TreeNodeView {
  std::uint64_t depth = 0;
  InstanceView instance{};
};
struct TreeView {
  std::vector<TreeNodeView> nodes{};
  std::optional<std::string> next{};
};
struct ExecutionView {
  std::uint64_t execution = 0;
  std::uint64_t turns = 0;
  std::uint64_t bytes = 0;
};
struct ExecutionListView {
  std::vector<ExecutionView> executions{};
};
struct EventView {
  std::uint64_t id = 0;
  std::string kind{};
  CalendarTime time{};
  std::string text{};
  Json recorded{};
};
struct HistoryView {
  std::uint64_t execution = 0;
  std::vector<EventView> events{};
  std::optional<std::uint64_t> next{};
};
struct PrunedView {
  std::uint64_t executions = 0;
};

HOLDFAST_TAKEN(StartBody, "Start");
HOLDFAST_TAKEN(MessageBody, "Message");
HOLDFAST_TAKEN(CancelBody, "CancelRequest");
HOLDFAST_TAKEN(ReasonBody, "Reason");
HOLDFAST_TAKEN(RestartBody, "Restart");
HOLDFAST_TAKEN(BulkBody, "Bulk");
HOLDFAST_GIVEN(IdView, "Id");
HOLDFAST_GIVEN(ValueView, "Value");
HOLDFAST_GIVEN(InputView, "Input");
HOLDFAST_GIVEN(TreeNodeView, "TreeNode");
HOLDFAST_GIVEN(TreeView, "Tree");
HOLDFAST_GIVEN(ExecutionView, "Execution");
HOLDFAST_GIVEN(ExecutionListView, "ExecutionList");
HOLDFAST_GIVEN(EventView, "Event");
HOLDFAST_GIVEN(HistoryView, "History");
HOLDFAST_GIVEN(PrunedView, "Pruned");
HOLDFAST_GIVEN(BulkRefusal, "BulkRefusal");
HOLDFAST_GIVEN(BulkResult, "BulkResult");

namespace {

std::uint64_t key_in(std::string_view text, std::string_view parameter) {
  std::uint64_t key = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), key);
  if (error != std::errc() || end != text.data() + text.size()) {
    refuse_part("query " + std::string(parameter), "it is what `next` of the page before said");
  }
  return key;
}

// A place in a list that has an order of its own: the key, and the value that the list is ordered by.
std::string text_of(const ListPlace& place) {
  return to_string(place.key) + (place.value ? "," + encode(*place.value).bytes : "");
}

ListPlace place_in(std::string_view text) {
  const std::size_t end = std::min(text.find(','), text.size());
  ListPlace place(InstanceKey{key_in(text.substr(0, end), "after")});
  if (end == text.size()) return place;
  Result<AttributeValue> value = decode<AttributeValue>(Payload{.bytes = std::string(text.substr(end + 1))});
  if (!value) refuse_part("query after", "it is what `next` of the page before said");
  place.value = *std::move(value);
  return place;
}

Run run_of(const Asked& asked) { return asked.client().run(asked.part("id")); }

// ---- looking at them

InstanceListView instance_page(const Asked& asked) {
  ListFilter filter = parse_filter(asked.text("filter"));
  filter.limit = asked.limit();
  if (const std::string after = asked.text("after"); !after.empty()) filter.after = place_in(after);
  const RunPage page = asked.client().list(filter);
  InstanceListView shown;
  for (const RunInfo& info : page.runs) shown.instances.push_back(view(info));
  if (page.next) shown.next = text_of(*page.next);
  return shown;
}

TreeView tree_page(const Asked& asked) {
  TreeOptions options{.limit = asked.limit()};
  std::string after = asked.text("after");
  for (std::string_view left = after; !left.empty();) {
    const std::size_t end = std::min(left.find('.'), left.size());
    options.after.push_back(InstanceKey{key_in(left.substr(0, end), "after")});
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  const TreePage page = asked.client().tree(asked.part("id"), options);
  TreeView shown;
  for (const TreeNode& node : page.nodes) shown.nodes.push_back({node.depth, view(node.info)});
  if (page.next) {
    shown.next.emplace();
    for (const InstanceKey key : *page.next) *shown.next += (shown.next->empty() ? "" : ".") + to_string(key);
  }
  return shown;
}

HistoryView history_page(const Asked& asked) {
  HistoryOptions options;
  options.execution = ExecutionNumber{asked.number("execution").value_or(0)};
  options.after = EventId{asked.number("after").value_or(0)};
  options.max_bytes = std::clamp<std::uint64_t>(asked.number("max_bytes").value_or(options.max_bytes), 1,
                                                std::uint64_t{4} << 20U);
  const HistoryPage page = run_of(asked).history(options);
  HistoryView shown{.execution = page.execution.value};
  for (const HistoryEvent& event : page.events) {
    shown.events.push_back(
        {event.id.value, std::string(to_string(event.kind)), event.time, event.text(), Json{event.json()}});
  }
  if (page.next) shown.next = page.next->after.value;
  return shown;
}

ExecutionListView execution_list(const Asked& asked) {
  ExecutionListView shown;
  for (const ExecutionInfo& one : run_of(asked).executions()) {
    shown.executions.push_back({one.execution.value, one.turns, one.bytes});
  }
  return shown;
}

ValueView value_of(const Asked& asked) {
  std::optional<Payload> found = run_of(asked).value<Payload>(asked.part("key"));
  if (!found) {
    throw RefusedRequest({.status = 404,
                          .code = "not_found",
                          .message = "the instance has no value '" + asked.part("key") + "'",
                          .where = "path {key}",
                          .remedy = "value_keys of the instance lists those that it has"});
  }
  return {{*std::move(found)}};
}

InputView input_of(const Asked& asked) {
  std::optional<Payload> found = run_of(asked).input<Payload>();
  return {found ? std::optional(PayloadView{*std::move(found)}) : std::nullopt};
}

// ---- doing something to them

IdView start_instance(const Asked& asked, const StartBody& body) {
  Client client = asked.client();
  const std::optional<std::string_view> id =
      body.id ? std::optional<std::string_view>(*body.id) : std::nullopt;
  const Payload payload = payload_of(body.input, body.input_bytes, "body.input");
  const Run run =
      client.start(body.orchestration,
                   {.id = id, .version = body.version, .reuse = body.reuse, .delay = body.delay}, payload);
  return {run.id()};
}

void raise_event(const Asked& asked, const MessageBody& body) {
  asked.client().raise(asked.part("id"), asked.part("name"),
                       {.keep_for = body.keep_for, .delay = body.delay, .key = body.key},
                       payload_of(body.value, body.value_bytes, "body.value"));
}

void send_message(const Asked& asked, const MessageBody& body) {
  asked.client().send(asked.part("id"), asked.part("mailbox"),
                      {.keep_for = body.keep_for, .delay = body.delay, .key = body.key},
                      payload_of(body.value, body.value_bytes, "body.value"));
}

void cancel_instance(const Asked& asked, const CancelBody& body) {
  asked.client().cancel(asked.part("id"), {.terminate_after = body.terminate_after}, body.reason);
}

BulkResult change_many(const Asked& asked, const BulkBody& body) {
  const Client& client = asked.client();
  const ListFilter filter = parse_filter(body.filter);
  switch (body.action) {
    case BulkBody::Action::cancel:
      return client.cancel_all(filter, body.reason);
    case BulkBody::Action::terminate:
      return client.terminate_all(filter, body.reason);
    case BulkBody::Action::suspend:
      return client.suspend_all(filter);
    case BulkBody::Action::resume:
      return client.resume_all(filter);
    case BulkBody::Action::remove:
      break;
  }
  return client.delete_all(filter, {.force = body.force, .cascade = body.cascade});
}

const std::string kOne = "/instances/{id}";

Route get(const std::string& path, std::string operation) {
  return below_namespace("GET", path, std::move(operation));
}
Route change(std::string method, const std::string& path, std::string operation) {
  return below_namespace(std::move(method), path, std::move(operation), true);
}

void add_looks(Endpoints& endpoints) {
  const Parameter limit{"limit", ParameterKind::number,
                        "how many at most: from 1 to 1000, 100 if it is not set"};
  const Parameter after{"after", ParameterKind::text, "`next` of the page before"};
  endpoints.add<Nothing, InstanceListView>(
      get("/instances", "list_instances"),
      {.summary = "Instances, the newest first",
       .query = {{"filter", ParameterKind::text,
                  "such as: status in (running, parked) and orchestration = bill and created > -2d"},
                 limit,
                 after}},
      instance_page);
  endpoints.add<Nothing, InstanceDetailView>(
      get(kOne, "get_instance"), {.summary = "An instance, what it waits for, and who could serve it"},
      [](const Asked& asked) { return view(run_of(asked).describe()); });
  endpoints.add<Nothing, TreeView>(
      get(kOne + "/tree", "get_tree"),
      {.summary = "An instance with all that descends from it", .query = {limit, after}}, tree_page);
  endpoints.add<Nothing, HistoryView>(
      get(kOne + "/history", "get_history"),
      {.summary = "What happened in an execution, event by event",
       .query = {{"execution", ParameterKind::number, "the current one if it is not set"},
                 {"after", ParameterKind::number, "turns behind this event: `next` of the page before"},
                 {"max_bytes", ParameterKind::number, "about how much of the stored history a page holds"}}},
      history_page);
  endpoints.add<Nothing, ExecutionListView>(
      get(kOne + "/executions", "list_executions"),
      {.summary = "The executions whose history is there, the oldest first"}, execution_list);
  endpoints.add<Nothing, InputView>(
      get(kOne + "/input", "get_input"),
      {.summary = "What its current execution was started with; nothing before its first turn"}, input_of);
  endpoints.add<Nothing, ValueView>(get(kOne + "/values/{key}", "get_value"),
                                    {.summary = "A value that its code has set"}, value_of);
}

void add_messages(Endpoints& endpoints) {
  endpoints.add<StartBody, IdView>(
      change("POST", "/instances", "start_instance"),
      {.summary = "Start an orchestration; the same again with the same id gives the same instance",
       .status = 201},
      start_instance);
  endpoints.add<MessageBody, Nothing>(change("POST", kOne + "/events/{name}", "raise_event"),
                                      {.summary = "Raise an event, also for an id that does not exist yet"},
                                      raise_event);
  endpoints.add<MessageBody, Nothing>(change("POST", kOne + "/mailboxes/{mailbox}", "send_message"),
                                      {.summary = "Put a message into a mailbox"}, send_message);
}

void add_controls(Endpoints& endpoints) {
  endpoints.add<CancelBody, Nothing>(change("POST", kOne + "/cancel", "cancel_instance"),
                                     {.summary = "Ask it to stop; its code may clean up"}, cancel_instance);
  endpoints.add<ReasonBody, Nothing>(change("POST", kOne + "/terminate", "terminate_instance"),
                                     {.summary = "End it without running its code"},
                                     [](const Asked& asked, const ReasonBody& body) {
                                       asked.client().terminate(asked.part("id"), body.reason);
                                     });
  endpoints.add<Nothing, Nothing>(change("POST", kOne + "/suspend", "suspend_instance"),
                                  {.summary = "Run no more of its code until it is resumed"},
                                  [](const Asked& asked) { asked.client().suspend(asked.part("id")); });
  endpoints.add<Nothing, Nothing>(change("POST", kOne + "/resume", "resume_instance"),
                                  {.summary = "Go on with one that is suspended"},
                                  [](const Asked& asked) { asked.client().resume(asked.part("id")); });
  endpoints.add<RestartBody, IdView>(
      change("POST", kOne + "/restart", "restart_instance"),
      {.summary = "Start one again that has ended, with the same input", .status = 201},
      [](const Asked& asked, const RestartBody& body) {
        return IdView{asked.client().restart(asked.part("id"), {.version = body.version}).id()};
      });
  endpoints.add<Nothing, Nothing>(
      change("DELETE", kOne, "delete_instance"),
      {.summary = "Remove one that has ended",
       .query = {{"force", ParameterKind::flag, "also when it has not ended"},
                 {"cascade", ParameterKind::flag, "its children too, and theirs"}}},
      [](const Asked& asked) {
        asked.client().delete_instance(asked.part("id"),
                                       {.force = asked.flag("force"), .cascade = asked.flag("cascade")});
      });
  endpoints.add<Nothing, PrunedView>(
      change("POST", kOne + "/prune", "prune_executions"),
      {.summary = "Remove the history of executions before the last ones",
       .query = {{"keep", ParameterKind::number,
                  "how many stay, the current one included: 1 if it is not set"}}},
      [](const Asked& asked) {
        return PrunedView{
            asked.client().prune_executions(asked.part("id"), asked.number("keep").value_or(1))};
      });
  endpoints.add<BulkBody, BulkResult>(
      change("POST", "/bulk", "change_many"),
      {.summary = "Cancel, terminate, suspend, resume or remove all instances that match a filter"},
      change_many);
}

}  // namespace

void add_instances(Endpoints& endpoints) {
  add_looks(endpoints);
  add_messages(endpoints);
  add_controls(endpoints);
}

}  // namespace holdfast::server
