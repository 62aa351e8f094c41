// The control API of a real server, on a file and on a PostgreSQL server, with a worker in this process.
#include "api_client_test.hpp"
#include "stores/postgres/server_test.hpp"
#include "testkit/support/lines.hpp"

#include <holdfast/holdfast.hpp>
#include <holdfast/open.hpp>
#include <holdfast/store.hpp>

#include <atomic>
#include <chrono>
#include <set>
#include <thread>

namespace holdfast::server_tests::api_test {

using namespace std::chrono_literals;
using support::eventually;
using support::HttpClient;
using support::TemporaryFolder;

Task<std::string> hello(Context& ctx, std::string who) {
  co_return co_await ctx.activity<std::string>("greet", who);
}
/// Ends with what it is told, and shows how far it is.
Task<Payload> told(Context& ctx, Payload input) {
  ctx.set_value("input", input);
  ctx.set_status(std::string("waiting"));
  Payload end = co_await ctx.event<Payload>("end");
  co_return end;
}
Task<int> mailed(Context& ctx) {
  auto box = ctx.mailbox<int>("box");
  int sum = 0;
  for (int i = 0; i < 3; ++i) sum += co_await box.receive();
  co_return sum;
}
Task<std::string> parent(Context& ctx) {
  auto child = ctx.child<std::string>("hello", {.id = "child-1"}, std::string("child"));
  const std::string said = co_await std::move(child);
  co_return said;
}
Task<int> said_in(Context& ctx, std::string session) {
  const std::string_view id = session;
  co_await ctx.activity<std::string>("greet", {.session = id}, session);
  co_return co_await ctx.event<int>("end");
}
Task<int> fails(Context& ctx) {
  co_await ctx.activity<void>("refuse");
  co_return 1;
}

enum class Kept : std::uint8_t { in_a_file, on_a_server };

class ApiTest : public ::testing::TestWithParam<Kept> {
 protected:
  // On the server the tests share the tables, and each has a namespace.
  ApiTest() {
    static int number = 0;
    if (GetParam() == Kept::on_a_server)
      ns = "api-" + std::to_string(getpid()) + "-" + std::to_string(++number);
  }
  [[nodiscard]] std::string address() const {
    return GetParam() == Kept::on_a_server ? postgres_store::TestServer::shared().uri()
                                           : "sqlite:" + (folder / "app.db");
  }
  [[nodiscard]] std::shared_ptr<Store> store() const { return open(address(), {.ns = ns}); }

  std::unique_ptr<ServerProcess> new_server(std::vector<std::string> arguments = {}) const {
    arguments.insert(arguments.begin(), {"--store", address(), "--namespaces", ns});
    return std::make_unique<ServerProcess>(std::move(arguments));
  }
  void serve(std::vector<std::string> arguments = {}) {
    server = new_server(std::move(arguments));
    api.emplace(server->port(), ns);
  }
  void work() {
    worker = std::make_unique<Runtime>(
        store(), RuntimeOptions{.node_id = "worker-1", .activity_slots = 4, .logger = log});
    worker->activity("greet", [](ActivityContext&, std::string who) { return "Hello, " + who + "!"; });
    worker->activity(
        "refuse", [](ActivityContext&) { throw ActivityFailure("no_funds", "the account is empty", false); });
    worker->orchestration("hello", hello);
    worker->orchestration("told", told);
    worker->orchestration("mailed", mailed);
    worker->orchestration("parent", parent);
    worker->orchestration("said_in", said_in);
    worker->orchestration("fails", fails);
    worker->start();
  }
  json result(const std::string& id) {
    json shown;
    EXPECT_TRUE(eventually([&] {
      shown = api->get("/instances/" + id + "/result?wait=10s").body;
      return shown.at("ended").get<bool>();
    }));
    return shown.at("instance");
  }
  bool has_status(const std::string& id, const std::string& status) {
    return eventually(
        [&] { return api->get("/instances/" + id).body.at("instance").at("status") == status; });
  }
  json start(const json& body) {
    const ApiReply reply = api->post("/instances", body);
    EXPECT_EQ(reply.status, 201) << reply.text;
    return reply.body;
  }

  TemporaryFolder folder;
  std::string ns = "default";
  std::shared_ptr<support::Lines> log = std::make_shared<support::Lines>();
  std::unique_ptr<ServerProcess> server;
  std::optional<ApiClient> api;
  std::unique_ptr<Runtime> worker;
};

INSTANTIATE_TEST_SUITE_P(OnEachStore, ApiTest, ::testing::Values(Kept::in_a_file, Kept::on_a_server),
                         [](const auto& info) {
                           return info.param == Kept::in_a_file ? "Sqlite" : "Postgres";
                         });

TEST_P(ApiTest, AnInstanceIsStartedAndGivesItsResult) {
  serve();
  work();
  EXPECT_EQ(start({{"orchestration", "hello"}, {"id", "h"}, {"input", "Ada"}}).at("id"), "h");
  EXPECT_EQ(start({{"orchestration", "hello"}, {"id", "h"}, {"input", "Ada"}}).at("id"), "h");
  const json ended = result("h");
  EXPECT_EQ(ended.at("status"), "completed");
  EXPECT_EQ(ended.at("output"), json({{"encoding", "json"}, {"value", "Hello, Ada!"}}));
  EXPECT_EQ(api->post("/instances", {{"orchestration", "hello"}, {"id", "h"}, {"input", "Bob"}}).status, 409);
  const std::string made = start({{"orchestration", "hello"}, {"input", "x"}}).at("id");
  EXPECT_EQ(made.size(), 32U);
  EXPECT_EQ(result(made).at("output").at("value"), "Hello, x!");
}

TEST_P(ApiTest, PayloadsGoThroughUnchanged) {
  serve();
  work();
  const std::string odd =
      R"({"one":1.0,"big":123456789012345678901234567890,"a":[1e400,-0],"a":"\u00e9","<b>":null})";
  EXPECT_EQ(api->ask("POST", "/instances", R"({"orchestration":"told","id":"t","input":)" + odd + "}").status,
            201);
  EXPECT_TRUE(
      eventually([&] { return api->get("/instances/t").body.at("value_keys") == json::array({"input"}); }));
  const auto raw = [&](const std::string& path) {
    HttpClient client(server->port());
    return client.ask("GET", api->target(path)).body;
  };
  EXPECT_EQ(raw("/instances/t/values/input"), R"({"value":{"encoding":"json","value":)" + odd + "}}");
  EXPECT_EQ(raw("/instances/t/input"), R"({"input":{"encoding":"json","value":)" + odd + "}}");
  EXPECT_EQ(
      api->post("/instances/t/events/end", {{"value_bytes", {{"encoding", "bytes"}, {"base64", "AP8B"}}}})
          .status,
      204);
  EXPECT_EQ(result("t").at("output"), json({{"encoding", "bytes"}, {"base64", "AP8B"}}));
}

TEST_P(ApiTest, ShowsWhatAnInstanceWaitsForAndHasDone) {
  serve();
  work();
  start({{"orchestration", "told"}, {"id", "t"}, {"input", 1}});
  json detail;
  ASSERT_TRUE(eventually([&] {
    detail = api->get("/instances/t").body;
    return !detail.at("waits").empty() && detail.at("waits").at(0).at("kind") == "event";
  }));
  EXPECT_EQ(detail.at("waits").at(0).at("name"), "end");
  EXPECT_EQ(detail.at("instance").at("custom_status").at("value"), "waiting");
  const json history = api->get("/instances/t/history").body;
  EXPECT_EQ(history.at("execution"), 1);
  EXPECT_EQ(history.at("events").back().at("kind"), "event_awaited");
  const json page = api->get("/instances/t/history?execution=1&max_bytes=1&after=0").body;
  EXPECT_LE(page.at("events").size(), history.at("events").size());
  EXPECT_EQ(api->get("/instances/t/executions").body.at("executions").size(), 1U);
  EXPECT_EQ(api->get("/instances/t/values/none").status, 404);
  EXPECT_EQ(api->get("/instances/t/history?execution=7").status, 404);

  start({{"orchestration", "parent"}, {"id", "p"}});
  EXPECT_EQ(result("p").at("output").at("value"), "Hello, child!");
  const json tree = api->get("/instances/p/tree").body;
  ASSERT_EQ(tree.at("nodes").size(), 2U);
  EXPECT_EQ(tree.at("nodes").at(1).at("instance").at("id"), "child-1");
  EXPECT_EQ(tree.at("nodes").at(1).at("depth"), 1);
  const json first = api->get("/instances/p/tree?limit=1").body;
  ASSERT_FALSE(first.at("next").is_null());
  EXPECT_EQ(
      api->get("/instances/p/tree?after=" + first.at("next").get<std::string>()).body.at("nodes").size(), 1U);

  start({{"orchestration", "fails"}, {"id", "f"}});
  const json failed = result("f");
  EXPECT_EQ(failed.at("status"), "failed");
  EXPECT_NE(failed.at("failure").dump().find("no_funds"), std::string::npos) << failed.dump();
}

TEST_P(ApiTest, ListsInPagesAndByAFilter) {
  serve();
  for (int i = 0; i < 5; ++i) start({{"orchestration", "nobody"}, {"id", "n" + std::to_string(i)}});
  start({{"orchestration", "other"}, {"id", "o"}});
  std::set<std::string> found;
  std::string next;
  int pages = 0;
  do {
    const json page = api->get("/instances?limit=2&filter=orchestration%20%3D%20nobody" +
                               (next.empty() ? "" : "&after=" + next))
                          .body;
    for (const json& one : page.at("instances")) found.insert(one.at("id"));
    next = page.at("next").is_null() ? "" : page.at("next").get<std::string>();
    ++pages;
  } while (!next.empty() && pages < 10);
  EXPECT_EQ(found, (std::set<std::string>{"n0", "n1", "n2", "n3", "n4"}));
  const ApiReply wrong = api->get("/instances?filter=colour%20red");
  EXPECT_EQ(wrong.status, 422);
  EXPECT_EQ(wrong.body.at("code"), "invalid_filter");
}

TEST_P(ApiTest, InstancesAreTalkedTo) {
  serve();
  work();
  start({{"orchestration", "mailed"}, {"id", "m"}});
  EXPECT_EQ(api->post("/instances/m/mailboxes/box", {{"value", 1}, {"key", "k1"}}).status, 204);
  EXPECT_EQ(api->post("/instances/m/mailboxes/box", {{"value", 1}, {"key", "k1"}}).status, 204);
  EXPECT_EQ(api->post("/instances/m/mailboxes/box", {{"value", 2}}).status, 204);
  EXPECT_EQ(api->post("/instances/m/mailboxes/box", {{"value", 3}}).status, 204);
  EXPECT_EQ(result("m").at("output").at("value"), 6);
  EXPECT_EQ(api->post("/instances/early/events/end", {{"value", "kept"}}).status, 204);
  EXPECT_EQ(api->post("/instances/nobody/events/end", {{"value", 1}, {"keep_for", "PT0S"}}).status, 404);
  start({{"orchestration", "told"}, {"id", "early"}, {"input", nullptr}});
  EXPECT_EQ(result("early").at("output").at("value"), "kept");
}

TEST_P(ApiTest, InstancesAreStoppedAndBegunAgain) {
  serve();
  work();
  for (const char* id : {"a", "b", "c", "d"}) start({{"orchestration", "told"}, {"id", id}, {"input", 1}});
  EXPECT_EQ(api->post("/instances/a/cancel", {{"reason", "why not"}, {"terminate_after", "PT1M"}}).status,
            204);
  EXPECT_EQ(result("a").at("status"), "cancelled");
  EXPECT_EQ(api->post("/instances/b/terminate", {{"reason", "enough"}}).status, 204);
  EXPECT_EQ(result("b").at("status"), "terminated");
  EXPECT_EQ(api->post("/instances/c/suspend").status, 204);
  EXPECT_TRUE(has_status("c", "suspended"));
  EXPECT_EQ(api->post("/instances/c/suspend").status, 409);
  EXPECT_EQ(api->post("/instances/c/resume").status, 204);
  EXPECT_EQ(api->post("/instances/c/events/end", {{"value", 7}}).status, 204);
  EXPECT_EQ(result("c").at("output").at("value"), 7);
  EXPECT_EQ(api->post("/instances/c/prune?keep=1").body.at("executions"), 0);
  EXPECT_EQ(api->post("/instances/c/restart").status, 201);
  EXPECT_TRUE(has_status("c", "running"));
  EXPECT_EQ(api->post("/instances/c/restart").status, 409);
  EXPECT_EQ(api->ask("DELETE", "/instances/c").status, 409);
  EXPECT_EQ(api->ask("DELETE", "/instances/c?force=true&cascade=true").status, 204);
  EXPECT_EQ(api->get("/instances/c").status, 404);
  const json many =
      api->post("/bulk", {{"action", "remove"}, {"filter", "orchestration = told"}, {"force", true}}).body;
  EXPECT_EQ(many.at("done"), 3);
  EXPECT_TRUE(api->get("/instances").body.at("instances").empty());
}

TEST_P(ApiTest, WaitsWithoutThreads) {
  serve({"--store-threads", "1", "--poll-time", "50s"});
  work();
  start({{"orchestration", "told"}, {"id", "t"}, {"input", 1}});
  std::vector<std::unique_ptr<HttpClient>> waiting;
  for (int i = 0; i < 100; ++i) waiting.push_back(api->begin("/instances/t/result?wait=50s"));
  waiting[0]->close();
  EXPECT_FALSE(api->get("/instances/t/result").body.at("ended").get<bool>());  // the only thread is free
  EXPECT_EQ(api->post("/instances/t/events/end", {{"value", 1}}).status, 204);
  for (std::size_t i = 1; i < waiting.size(); ++i) {
    const ApiReply reply = api->read(*waiting[i], "GET", api->target("/instances/t/result"));
    EXPECT_TRUE(reply.body.at("ended").get<bool>());
  }
}

TEST_P(ApiTest, AWaitEndsInTime) {
  serve({"--poll-time", "20ms"});
  start({{"orchestration", "nobody"}, {"id", "n"}});
  EXPECT_FALSE(api->get("/instances/n/result?wait=1h").body.at("ended").get<bool>());
  const json shown = api->get("/instances/n/status?wait=1h&since=0").body;
  EXPECT_EQ(shown.at("instance").at("custom_status_version"), 0);
}

TEST_P(ApiTest, TellsOfANewCustomStatus) {
  serve();
  work();
  start({{"orchestration", "told"}, {"id", "t"}, {"input", 1}});
  json shown;
  EXPECT_TRUE(eventually([&] {
    shown = api->get("/instances/t/status?wait=10s&since=0").body.at("instance");
    return shown.at("custom_status_version") != 0;
  }));
  EXPECT_EQ(shown.at("custom_status").at("value"), "waiting");
}

TEST_P(ApiTest, WhoWaitsIsAnsweredWhenTheServerStops) {
  serve();
  start({{"orchestration", "nobody"}, {"id", "n"}});
  const auto waiting = api->begin("/instances/n/result?wait=60s");
  EXPECT_TRUE(eventually([&] {
    return server->ask("GET", "/metrics").body.find("holdfast_server_connections 2") != std::string::npos;
  }));
  server->command().signal(SIGTERM);
  const ApiReply reply = api->read(*waiting, "GET", api->target("/instances/n/result"));
  EXPECT_EQ(reply.status, 200);
  EXPECT_FALSE(reply.body.at("ended").get<bool>());
  EXPECT_EQ(server->command().ended().code, 0);
}

TEST_P(ApiTest, ShowsSessionsWorkersAndQueues) {
  serve();
  work();
  start({{"orchestration", "said_in"}, {"id", "i"}, {"input", "s/1"}});
  EXPECT_TRUE(eventually(
      [&] { return api->get("/sessions?state=active&owner=worker-1").body.at("sessions").size() == 1; }));
  EXPECT_EQ(api->get("/sessions/s%2F1").body.at("owner"), "worker-1");
  EXPECT_EQ(api->get("/session-counts").body.at("active"), 1);
  EXPECT_EQ(api->get("/sessions/s%2F1/log?limit=1").body.at("entries").at(0).at("kind"), "claimed");
  EXPECT_GE(api->get("/session-log").body.at("entries").size(), 1U);
  EXPECT_EQ(api->post("/sessions/s%2F1/move", {{"node", "worker-1"}}).body.at("outcome"), "there");
  EXPECT_EQ(api->post("/sessions/s%2F1/release", {{"force", true}}).body.at("outcome"), "released");
  EXPECT_EQ(api->post("/sessions/s%2F1/close").status, 200);
  EXPECT_EQ(api->post("/sessions/none/close").status, 404);
  EXPECT_EQ(api->get("/sessions?state=odd").status, 422);

  const json workers = api->get("/workers").body.at("workers");
  ASSERT_EQ(workers.size(), 2U);
  EXPECT_TRUE(std::ranges::any_of(workers, [](const json& one) {
    return one.at("node") == "worker-1" && one.at("activities").size() == 2;
  }));
  worker.reset();
  start({{"orchestration", "nobody"}, {"id", "n"}});
  EXPECT_EQ(api->get("/queues").body.at("queues"), json::array());
}

TEST_P(ApiTest, KeepsSchedulesWhereNoWorkerRuns) {
  serve();
  const json options = {
      {"spec", {{"intervals", json::array({{{"every", "PT1S"}}})}}}, {"max_runs", 2}, {"overlap", "allow"}};
  const json body = {{"id", "s"}, {"orchestration", "nobody"}, {"options", options}, {"input", {{"a", 1}}}};
  EXPECT_EQ(api->post("/schedules", body).status, 201);
  EXPECT_EQ(api->post("/schedules", body).status, 201);
  EXPECT_TRUE(eventually([&] { return api->get("/schedules/s").body.at("counts").at("started") == 2; }));
  EXPECT_EQ(api->get("/schedules").body.at("schedules").size(), 1U);
  EXPECT_EQ(api->get("/instances?filter=orchestration%20%3D%20nobody").body.at("instances").size(), 2U);

  EXPECT_EQ(api->post("/schedules", {{"id", "later"},
                                     {"orchestration", "nobody"},
                                     {"options", {{"spec", {{"cron", {"@yearly"}}}}}}})
                .status,
            201);
  EXPECT_EQ(api->post("/schedules/later/pause", {{"note", "holidays"}}).status, 204);
  EXPECT_TRUE(
      eventually([&] { return api->get("/schedules/later").body.at("options").at("note") == "holidays"; }));
  EXPECT_EQ(api->post("/schedules/later/resume").status, 204);
  EXPECT_EQ(api->post("/schedules/later/trigger").status, 204);
  EXPECT_TRUE(eventually([&] { return api->get("/schedules/later").body.at("counts").at("started") == 1; }));
  EXPECT_EQ(api->post("/schedules/later/backfill",
                      {{"from", "2020-06-01T00:00:00Z"}, {"until", "2021-06-01T00:00:00Z"}})
                .status,
            204);
  EXPECT_EQ(api->ask("PUT", "/schedules/later/options", R"({"spec":{"cron":["@daily"]}})").status, 204);
  EXPECT_EQ(api->ask("DELETE", "/schedules/later").status, 204);
  EXPECT_EQ(api->get("/schedules/later").status, 404);
  EXPECT_EQ(
      api->post("/schedules",
                {{"id", "x"}, {"orchestration", "n"}, {"options", {{"spec", {{"cron", {"every day"}}}}}}})
          .status,
      422);
}

struct Wrong {
  std::string method{};
  std::string path{};
  std::string body{};
  int status = 0;
  std::string code{};
  std::string where{};
};

TEST_P(ApiTest, SaysWhatIsWrongAndWhere) {
  serve();
  const std::vector<Wrong> all{
      {"GET", "/instances/none", "", 404, "not_found", ""},
      {"GET", "/instances?limit=0", "", 422, "invalid", "query limit"},
      {"GET", "/instances?limit=1001", "", 422, "invalid", "query limit"},
      {"GET", "/instances?limit=x", "", 422, "invalid", "query limit"},
      {"GET", "/instances?after=x", "", 422, "invalid", "query after"},
      {"GET", "/instances?colour=red", "", 422, "invalid", "query colour"},
      {"GET", "/instances/none/result?wait=soon", "", 422, "invalid", "query wait"},
      {"DELETE", "/instances/none?force=perhaps", "", 422, "invalid", "query force"},
      {"POST", "/instances", "", 422, "invalid", "body"},
      {"POST", "/instances", "[]", 422, "invalid", "body"},
      {"POST", "/instances", "{", 400, "no_json", "body"},
      {"POST", "/instances", "{} {}", 400, "no_json", "body"},
      {"POST", "/instances", R"({"orchestration":1})", 422, "invalid", "body"},
      {"POST", "/instances", R"({"orchestration":"o","ID":"x"})", 422, "invalid", "body.ID"},
      {"POST", "/instances", R"({"orchestration":"o","delay":"soon"})", 422, "invalid", "body"},
      {"POST", "/instances", R"({"orchestration":"o","input":1,"input_bytes":{"base64":""}})", 422, "invalid",
       "body.input_bytes"},
      {"POST", "/instances", R"({"orchestration":"o","input_bytes":{"base64":"?"}})", 422, "invalid",
       "body.input_bytes.base64"},
      {"POST", "/instances", R"({"orchestration":"o","input_bytes":{"encoding":"","base64":""}})", 422,
       "invalid", "body.input_bytes.encoding"},
      {"POST", "/bulk", R"({"action":"explode","filter":""})", 422, "invalid", "body"},
      {"PUT", "/instances", "{}", 405, "method", "method"},
      {"GET", "/nothing", "", 404, "no_route", "path"},
  };
  for (const Wrong& wrong : all) {
    SCOPED_TRACE(wrong.method + " " + wrong.path + " " + wrong.body);
    const ApiReply reply = api->ask(wrong.method, wrong.path, wrong.body);
    EXPECT_EQ(reply.status, wrong.status) << reply.text;
    EXPECT_EQ(reply.body.at("code"), wrong.code) << reply.text;
    EXPECT_EQ(reply.body.at("where"), wrong.where) << reply.text;
    EXPECT_FALSE(reply.body.at("message").get<std::string>().empty());
    EXPECT_EQ(reply.body.at("request_id").get<std::string>().size(), 32U);
  }
  EXPECT_EQ(server->ask("GET", "/v1/namespaces/other/instances").status, 404);
  EXPECT_EQ(json::parse(server->ask("GET", "/v1/namespaces").body).at("namespaces"), json::array({ns}));
  HttpClient plain(server->port());
  plain.send("POST " + api->target("/instances") +
             " HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}");
  EXPECT_EQ(plain.read_reply().status, 415);
}

TEST_P(ApiTest, WhatWasAcknowledgedSurvivesAServerThatIsKilled) {
  serve();
  std::set<std::string> acknowledged;
  for (int round = 0; round < 3; ++round) {
    std::atomic<bool> go_on{true};
    std::thread clients([&, port = server->port()] {
      for (int i = 0; go_on; ++i) {
        const std::string id = "r" + std::to_string(round) + "-" + std::to_string(i);
        try {
          if (HttpClient(port)
                  .ask("POST", api->target("/instances"),
                       json({{"orchestration", "nobody"}, {"id", id}}).dump())
                  .status == 201) {
            acknowledged.insert(id);
          }
        } catch (const std::runtime_error&) {  // killed
        }
      }
    });
    const std::string metric = "holdfast_server_requests_total{operation=\"start_instance\",status=\"2xx\"} ";
    EXPECT_TRUE(eventually([&] {
      const std::string metrics = server->ask("GET", "/metrics").body;
      const std::size_t at = metrics.find(metric);
      return at != std::string::npos && std::stoi(metrics.substr(at + metric.size())) >= 20;
    }));
    server->command().signal(SIGKILL);
    server->command().ended();
    go_on = false;
    clients.join();
    serve();
  }
  EXPECT_GE(acknowledged.size(), 57U);  // the last reply of a round may have come too late
  for (const std::string& id : acknowledged) EXPECT_EQ(api->get("/instances/" + id).status, 200) << id;
}

TEST_P(ApiTest, ServersStandBesideEachOther) {
  serve();
  const auto second = new_server();
  ApiClient other(second->port(), ns);
  work();
  start({{"orchestration", "told"}, {"id", "t"}, {"input", 1}});
  const auto waiting = other.begin("/instances/t/result?wait=60s");
  EXPECT_EQ(api->post("/instances/t/events/end", {{"value", 5}}).status, 204);
  const ApiReply reply = other.read(*waiting, "GET", other.target("/instances/t/result"));
  EXPECT_EQ(reply.body.at("instance").at("output").at("value"), 5);
}

// ---- who may do what -----------------------------------------------------------------------------

TEST(ApiRoles, EachRouteAsksForItsRole) {
  const TemporaryFolder folder;
  const std::string tokens = folder / "tokens";
  const auto token = [&](const std::string& role, const std::string& namespaces) {
    const Ended made =
        Command({"token", "create", "--tokens", tokens, "--role", role, "--namespaces", namespaces}).ended();
    EXPECT_EQ(made.code, 0) << made.err;
    return support::HttpHeaders{{"Authorization", "Bearer " + made.out.substr(0, made.out.size() - 1)}};
  };
  const std::map<std::string, support::HttpHeaders> callers{{"nobody", {}},
                                                            {"worker", token("worker", "*")},
                                                            {"operator", token("operator", "default")},
                                                            {"elsewhere", token("operator", "other")},
                                                            {"admin", token("admin", "*")}};
  ServerProcess server({"--store", folder / "app.db", "--tokens", tokens, "--namespaces", "default,other"});
  const json document = ApiClient(server.port(), "default", callers.at("admin")).document();
  int routes = 0;
  for (const auto& [path, methods] : document.at("paths").items()) {
    std::string target = path;
    for (std::size_t at = target.find("{namespace}"); at != std::string::npos;
         at = target.find("{namespace}"))
      target.replace(at, 11, "default");
    for (const auto& [method, described] : methods.items()) {
      ++routes;
      std::string upper = method;
      for (char& c : upper) c = static_cast<char>(c - 'a' + 'A');
      const auto status = [&](const std::string& who) {
        return server.ask(upper, target, "", callers.at(who)).status;
      };
      SCOPED_TRACE(upper + " " + target);
      ASSERT_EQ(described.at("x-role"), "operator");  // so far all of them
      EXPECT_EQ(status("nobody"), 401);
      EXPECT_EQ(status("worker"), 403);
      EXPECT_EQ(status("elsewhere"), path.find("{namespace}") == std::string::npos ? 200 : 403);
      for (const char* who : {"operator", "admin"}) {
        const int given = status(who);
        EXPECT_TRUE(given != 401 && given != 403 && given < 500) << who << " " << given;
      }
    }
  }
  EXPECT_GE(routes, 40);
  EXPECT_EQ(
      json::parse(server.ask("GET", "/v1/namespaces", "", callers.at("elsewhere")).body).at("namespaces"),
      json::array({"other"}));
  const std::string log = server.stop().err;
  EXPECT_NE(
      log.find("audit operation=terminate_instance target=\"namespace=default id={id}\" status=404 token="),
      std::string::npos);
  EXPECT_EQ(log.find("audit operation=get_instance"), std::string::npos);
  EXPECT_EQ(log.find("hft_"), std::string::npos);
}

// The page for readers is what the server says.
TEST(ApiDescription, IsTheFileInTheDocs) {
  const TemporaryFolder folder;
  const ServerProcess server({"--store", folder / "app.db"});
  const std::string served = server.ask("GET", "/v1/openapi.json").body;
  EXPECT_TRUE(served == file_text("docs/openapi.json"))
      << "docs/openapi.json is not what the server describes; take it from: curl "
         "localhost:7420/v1/openapi.json";
}

}  // namespace holdfast::server_tests::api_test
