// The server as a process: how it starts, watches, and ends.
#include "server_process_test.hpp"
#include "testkit/support/certificate.hpp"

#include <holdfast/version.hpp>

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>

namespace holdfast::server_tests::process_test {

using support::eventually;
using support::HttpClient;
using support::TemporaryFolder;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Process, AnswersThoseWhoWatchIt) {
  const TemporaryFolder folder;
  ServerProcess server({"--store", folder / "app.db"});
  EXPECT_EQ(server.ask("GET", "/health").body,
            std::string(R"({"status":"up","version":")") + HOLDFAST_VERSION + "\"}");
  EXPECT_EQ(server.ask("GET", "/ready").body, R"({"status":"ready","namespaces":["default"]})");
  const std::string metrics = server.ask("GET", "/metrics").body;
  EXPECT_TRUE(has(metrics, "\nholdfast_server_connections 1\n")) << metrics;
  EXPECT_TRUE(has(metrics, "\nholdfast_server_requests_total{operation=\"ready\",status=\"2xx\"} 1\n"))
      << metrics;
  EXPECT_EQ(server.ask("GET", "/nothing").status, 404);
  const Ended ended = server.stop();
  EXPECT_EQ(ended.code, 0);
  EXPECT_TRUE(has(ended.err, "server stopped")) << ended.err;
  EXPECT_EQ(ended.out, "");
}

TEST(Process, ServesSeveralNamespaces) {
  const TemporaryFolder folder;
  const ServerProcess server({"--store", "sqlite:" + (folder / "app.db"), "--namespaces", "a,b"});
  EXPECT_EQ(server.ask("GET", "/ready").body, R"({"status":"ready","namespaces":["a","b"]})");
}

TEST(Process, TakesSettingsFromAFileAndTheEnvironment) {
  const TemporaryFolder folder;
  std::ofstream(folder / "s.toml") << "store = \"" << folder / "app.db"
                                   << "\"\nmax_body = \"1KiB\"\nlog_format = \"text\"\n";
  ServerProcess server({"--config", folder / "s.toml"}, {{"HOLDFAST_MAX_BODY", "10"}});
  EXPECT_EQ(server.ask("POST", "/v1", "12345678901").status, 413);
}

TEST(Process, LogsAsJson) {
  const TemporaryFolder folder;
  Command server({"server", "--store", folder / "app.db", "--listen", "127.0.0.1:0", "--log-format", "json"});
  EXPECT_TRUE(eventually([&] {
    return has(server.err(), R"("level":"info","message":"server listening","address":"127.0.0.1:)");
  }));
}

TEST(Process, SaysWhyItDoesNotStart) {
  const TemporaryFolder folder;
  const auto refused = [&](const std::vector<std::string>& arguments) {
    std::vector<std::string> all{"server"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return Command(all).ended();
  };
  EXPECT_EQ(refused({}).err, "holdfast: no store is named: --store app.db, or a PostgreSQL URL\n");
  EXPECT_EQ(refused({}).code, 2);
  EXPECT_EQ(refused({"--store", folder / "a.db", "--poll-time", "soon"}).code, 2);
  EXPECT_EQ(refused({"--store", folder / "a.db", "--listen", "nowhere"}).code, 1);
  const Ended no_folder = refused({"--store", folder / "none/a.db", "--listen", "127.0.0.1:0"});
  EXPECT_EQ(no_folder.code, 1);
  EXPECT_TRUE(has(no_folder.err, "none")) << no_folder.err;
  const Ended no_file = refused({"--config", folder / "none.toml"});
  EXPECT_EQ(no_file.code, 2);
  EXPECT_TRUE(has(no_file.err, "none.toml")) << no_file.err;
}

TEST(Process, IsReachedByOthersOnlyWithTokensAndTls) {
  const TemporaryFolder folder;
  const std::string tokens = folder / "tokens";
  const auto refused = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"server", "--store", folder / "app.db", "--listen", "0.0.0.0:0"});
    const Ended ended = Command(arguments).ended();
    EXPECT_EQ(ended.code, 2);
    return ended.err;
  };
  EXPECT_TRUE(has(refused({"--insecure"}), "needs tokens"));
  EXPECT_TRUE(has(refused({"--insecure", "--tokens", tokens}), "no token in '" + tokens + "' is valid"));
  const Ended made =
      Command({"token", "create", "--tokens", tokens, "--role", "admin", "--namespaces", "*"}).ended();
  ASSERT_EQ(made.code, 0) << made.err;
  const std::string token = made.out.substr(0, made.out.size() - 1);
  EXPECT_TRUE(has(refused({"--tokens", tokens}), "needs TLS"));

  const ServerProcess server({"--store", folder / "app.db", "--tokens", tokens, "--insecure"}, {},
                             "0.0.0.0:0");
  EXPECT_EQ(server.ask("GET", "/health").status, 200);
  EXPECT_EQ(server.ask("GET", "/metrics").status, 401);
  EXPECT_EQ(server.ask("GET", "/metrics", "", {{"Authorization", "Bearer " + token}}).status, 200);
}

TEST(Process, SpeaksTlsAndForgetsRevokedTokens) {
  const TemporaryFolder folder;
  support::make_certificate(folder / "cert.pem", folder / "key.pem");
  const std::string tokens = folder / "tokens";
  const Ended made = Command({"token", "create", "--tokens", tokens, "--role", "worker"}).ended();
  const std::string token = made.out.substr(0, made.out.size() - 1);
  ServerProcess server({"--store", folder / "app.db", "--tokens", tokens, "--tls-certificate",
                        folder / "cert.pem", "--tls-key", folder / "key.pem"},
                       {}, "0.0.0.0:0");
  HttpClient client(server.port(), {.ca = folder / "cert.pem"});
  const auto status = [&] {
    return client.ask("GET", "/metrics", "", {{"Authorization", "Bearer " + token}}).status;
  };
  EXPECT_EQ(status(), 200);
  const Ended listed = Command({"token", "list"}, {{"HOLDFAST_TOKENS", tokens}}).ended();
  EXPECT_TRUE(has(listed.out, "worker")) << listed.out;
  const std::string id = listed.out.substr(0, listed.out.find(' '));
  EXPECT_EQ(Command({"token", "revoke", id, "--tokens", tokens}).ended().code, 0);
  EXPECT_EQ(Command({"token", "revoke", id, "--tokens", tokens}).ended().code, 1);
  EXPECT_TRUE(eventually([&] { return status() == 401; }));
  EXPECT_FALSE(has(server.command().err(), token.substr(token.rfind('_') + 1)));
}

TEST(Process, WhoIsServedWhenItIsToldToEndGetsAReply) {
  const TemporaryFolder folder;
  ServerProcess server({"--store", folder / "app.db"});
  HttpClient idle(server.port());
  EXPECT_EQ(idle.ask("GET", "/health").status, 200);
  server.command().signal(SIGINT);
  EXPECT_TRUE(idle.is_closed());
  EXPECT_EQ(server.command().ended().code, 0);
}

TEST(Process, TellsSystemdHowItIs) {
  const TemporaryFolder folder;
  const std::string path = folder / "notify";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  ASSERT_LT(path.size(), sizeof address.sun_path);
  std::ranges::copy(path, std::begin(address.sun_path));
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  const auto next = [&] {
    char buffer[100];
    const ssize_t size = ::recv(fd, buffer, sizeof buffer, 0);
    return std::string(buffer, static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  };
  ServerProcess server({"--store", folder / "app.db"}, {{"NOTIFY_SOCKET", path}});
  EXPECT_EQ(next(), "READY=1");
  server.command().signal(SIGTERM);
  EXPECT_EQ(next(), "STOPPING=1");
  EXPECT_EQ(server.command().ended().code, 0);
  ::close(fd);
}

TEST(Process, AKilledServerStartsAgain) {
  const TemporaryFolder folder;
  for (int i = 0; i < 3; ++i) {
    ServerProcess server({"--store", folder / "app.db"});
    HttpClient client(server.port());
    EXPECT_EQ(client.ask("GET", "/ready").status, 200);
    client.send("GET /ready HTTP/1.1\r\nHost: localh");  // in the middle of a request
    server.command().signal(SIGKILL);
    EXPECT_EQ(server.command().ended().code, -SIGKILL);
    EXPECT_TRUE(client.is_closed());
  }
}

}  // namespace holdfast::server_tests::process_test
