#include "server/http/server.hpp"

#include "server/http/connection.hpp"
#include "testkit/support/certificate.hpp"
#include "testkit/support/eventually.hpp"
#include "testkit/support/http_client.hpp"
#include "testkit/support/lines.hpp"
#include "testkit/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::server::http::server_test {

using namespace std::chrono_literals;
using support::eventually;
using support::HttpClient;
using support::HttpReply;
using support::Lines;

// /echo answers what it is told, /wait is answered by the test, /deny is refused before its body.
class Echo final : public Service {
 public:
  std::optional<Reply> admit(Request& request) override {
    ++admitted;
    if (request.path == std::vector<std::string>{"deny"}) return Reply{.status = 401, .body = "who are you?"};
    return std::nullopt;
  }
  void serve(std::shared_ptr<Exchange> exchange) override {
    const Request& request = exchange->request();
    if (request.path == std::vector<std::string>{"wait"}) {
      const MutexLock lock(mutex_);
      waiting_.push_back(std::move(exchange));
      return;
    }
    if (const auto size = request.parameter("size")) {
      exchange->reply({.body = std::string(std::stoul(std::string(*size)), 'x')});
      return;
    }
    exchange->reply(
        {.body = request.method + " " + request.target + " " + request.body, .content_type = "text/plain"});
  }
  Reply refuse(const Request& /*request*/, int status, const std::string& why) override {
    return {.status = status, .body = why};
  }

  std::vector<std::shared_ptr<Exchange>> waiting() {
    const MutexLock lock(mutex_);
    return waiting_;
  }
  std::shared_ptr<Exchange> wait_for_one() {
    EXPECT_TRUE(eventually([&] { return !waiting().empty(); }));
    return waiting().front();
  }
  void forget() {
    const MutexLock lock(mutex_);
    waiting_.clear();
  }
  std::atomic<int> admitted{0};

 private:
  Mutex mutex_;
  std::vector<std::shared_ptr<Exchange>> waiting_ HOLDFAST_GUARDED_BY(mutex_);
};

class HttpServer : public ::testing::Test {
 protected:
  ~HttpServer() override { stop(); }

  std::uint16_t start(Limits limits = {}, Tls* tls = nullptr) {
    server = std::make_unique<Server>(
        loop, echo, ServerOptions{.tls = tls, .limits = limits, .logger = log, .metrics = metrics});
    port = server->port();
    thread = std::thread([this] { loop->run(); });
    return port;
  }
  void stop() {
    if (thread.joinable()) {
      loop->post([this] { server->stop(0ms, [this] { loop->stop(); }); });
      thread.join();
    }
    echo.forget();
  }
  [[nodiscard]] std::uint64_t count(const std::string& name) const {
    const std::string text = "\n" + metrics->prometheus();
    const std::size_t at = text.find("\n" + name + " ");
    return at == std::string::npos ? 0 : std::stoul(text.substr(at + name.size() + 2));
  }
  [[nodiscard]] bool has_counted(const std::string& name, std::uint64_t number = 1) const {
    return eventually([&] { return count(name) >= number; });
  }

  Echo echo;
  std::shared_ptr<Lines> log = std::make_shared<Lines>();
  std::shared_ptr<Metrics> metrics = std::make_shared<Metrics>();
  std::shared_ptr<Loop> loop = std::make_shared<Loop>();
  std::unique_ptr<Server> server;
  std::uint16_t port = 0;
  std::thread thread;
};

TEST_F(HttpServer, AnswersOneRequestAfterTheOtherOnAConnection) {
  HttpClient client(start());
  EXPECT_EQ(client.ask("GET", "/a?b=c").body, "GET /a?b=c ");
  EXPECT_EQ(client.ask("POST", "/a", "body").body, "POST /a body");
  EXPECT_EQ(client.ask("DELETE", "/a", "why").body, "DELETE /a why");
  const HttpReply head = client.ask("HEAD", "/a");
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.headers.at("content-length"), "8");
  EXPECT_EQ(client.ask("GET", "/last").body, "GET /last ");
  EXPECT_EQ(count("holdfast_server_connections_total"), 1U);
}

TEST_F(HttpServer, AnswersPipelinedRequestsInTheirOrder) {
  HttpClient client(start());
  std::string all;
  for (int i = 0; i < 50; ++i)
    all += HttpClient::request("POST", "/" + std::to_string(i), "b" + std::to_string(i));
  client.send(all);
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(client.read_reply().body, "POST /" + std::to_string(i) + " b" + std::to_string(i));
  }
}

TEST_F(HttpServer, KeepsWhatFollowsUntilARequestIsAnswered) {
  HttpClient client(start({.header_bytes = 1000}));
  client.send(HttpClient::request("GET", "/wait"));
  const auto waiting = echo.wait_for_one();
  for (int i = 0; i < 100; ++i) client.send(HttpClient::request("GET", "/next"));
  waiting->reply({.body = "first"});
  EXPECT_EQ(client.read_reply().body, "first");
  for (int i = 0; i < 100; ++i) EXPECT_EQ(client.read_reply().body, "GET /next ");
}

TEST_F(HttpServer, TakesRequestsByteByByte) {
  HttpClient client(start());
  for (const char c : HttpClient::request("POST", "/slow", "body")) client.send(std::string(1, c));
  EXPECT_EQ(client.read_reply().body, "POST /slow body");
}

TEST_F(HttpServer, TakesBodiesInChunks) {
  HttpClient client(start());
  client.send("POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
  client.send("2\r\nde\r\n0\r\n\r\n");
  EXPECT_EQ(client.read_reply().body, "POST /c abcde");
  EXPECT_EQ(client.ask("GET", "/next").body, "GET /next ");
}

TEST_F(HttpServer, SendsALargeReply) {
  HttpClient client(start());
  EXPECT_EQ(client.ask("GET", "/a?size=5000000").body.size(), 5'000'000U);
  EXPECT_EQ(client.ask("GET", "/next").body, "GET /next ");
}

TEST_F(HttpServer, EndsTheConnectionThatAsksForIt) {
  HttpClient client(start());
  EXPECT_EQ(client.ask("GET", "/a", "", {{"Connection", "close"}}).headers.at("connection"), "close");
  EXPECT_TRUE(client.is_closed());
  HttpClient old(port);
  old.send("GET /old HTTP/1.0\r\n\r\n");
  EXPECT_EQ(old.read_reply().body, "GET /old ");
  EXPECT_TRUE(old.is_closed());
}

TEST_F(HttpServer, AsksForABodyThatWaitsForItsWord) {
  HttpClient client(start());
  client.send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.read_reply().status, 100);
  client.send("body");
  EXPECT_EQ(client.read_reply().body, "POST /a body");
}

TEST_F(HttpServer, RefusesBeforeTheBodyIsSent) {
  HttpClient client(start());
  client.send("POST /deny HTTP/1.1\r\nHost: h\r\nContent-Length: 400\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.read_reply().status, 401);
  EXPECT_TRUE(client.is_closed());
}

TEST_F(HttpServer, ARefusalIsReadAlsoByWhoStillSends) {
  start({.body_bytes = 1000});
  for (int i = 0; i < 20; ++i) {
    HttpClient client(port);
    client.send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 300000\r\n\r\n");
    try {
      client.send(std::string(300'000, 'x'));
    } catch (const std::runtime_error&) {  // it was closed meanwhile
    }
    EXPECT_EQ(client.read_reply().status, 413);
  }
}

struct Wrong {
  std::string request{};
  int status = 400;
};

TEST_F(HttpServer, RefusesWhatIsNoRequest) {
  start({.header_bytes = 2000, .body_bytes = 1000});
  const std::vector<Wrong> all{
      {"nonsense\r\n\r\n"},
      {"GET /a\r\n\r\n"},
      {"GET a HTTP/1.1\r\nHost: h\r\n\r\n"},
      {"GET /%zz HTTP/1.1\r\nHost: h\r\n\r\n"},
      {"GET /%a HTTP/1.1\r\nHost: h\r\n\r\n"},
      {"GET / HTTP/1.1\r\nHost: h\r\nHost: i\r\n\r\n"},
      {"GET / HTTP/1.1\r\nHost h\r\n\r\n"},
      {"GET / HTTP/1.1\r\nHost: h\r\nContent-Length: x\r\n\r\n"},
      {"GET / HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n"},
      {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc"},
      {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabc"},
      {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"},
      {"GET / HTTP/2.0\r\nHost: h\r\n\r\n", 505},
      {"GET / HTTP/1.1\r\nHost: h\r\nX: " + std::string(3000, 'x') + "\r\n\r\n", 431},
      {"GET /" + std::string(3000, 'x'), 431},
      {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1001\r\n\r\n", 413},
      {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999999999999999\r\n\r\n"},
      {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n7d0\r\n" + std::string(2000, 'x'),
       413},
  };
  for (const Wrong& wrong : all) {
    SCOPED_TRACE(wrong.request.substr(0, 80));
    HttpClient client(port);
    client.send(wrong.request);
    const HttpReply reply = client.read_reply();
    EXPECT_EQ(reply.status, wrong.status) << reply.body;
    EXPECT_TRUE(client.is_closed());
  }
  EXPECT_EQ(HttpClient(port).ask("GET", "/still").body, "GET /still ");
}

TEST_F(HttpServer, HoldsSoManyBytesOfBodiesAtATime) {
  start({.held_bytes = 1000});
  HttpClient first(port);
  first.send(HttpClient::request("POST", "/wait", std::string(900, 'x')));
  const auto waiting = echo.wait_for_one();
  EXPECT_EQ(HttpClient(port).ask("POST", "/a", std::string(200, 'x')).status, 503);
  HttpClient chunked(port);
  chunked.send("POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nc8\r\n" +
               std::string(200, 'x'));
  EXPECT_EQ(chunked.read_reply().status, 503);
  waiting->reply({});
  EXPECT_EQ(first.read_reply().status, 200);
  EXPECT_EQ(HttpClient(port).ask("POST", "/a", std::string(200, 'x')).status, 200);
}

// ---- who is slow

TEST_F(HttpServer, CutsOffWhoSendsAHeadTooSlowly) {
  HttpClient client(start({.header_time = 30ms, .linger_time = 10ms}));
  client.send("GET /a HTTP/1.1\r\n");
  EXPECT_EQ(client.read_reply().status, 408);
  EXPECT_TRUE(client.is_closed());
  EXPECT_TRUE(has_counted("holdfast_server_connections_too_slow_total"));
}

TEST_F(HttpServer, MoreBytesOfAHeadGainNoTime) {
  HttpClient client(start({.header_time = 50ms, .linger_time = 10ms}));
  client.send("GET /a HTTP/1.1\r\n");
  EXPECT_TRUE(eventually([&] {
    try {
      client.send("X: y\r\n");  // for as long as the server takes them
      return false;
    } catch (const std::runtime_error&) {
      return true;
    }
  }));
}

TEST_F(HttpServer, CutsOffWhoSendsABodyTooSlowly) {
  HttpClient client(start({.body_time = 30ms, .linger_time = 10ms}));
  client.send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nabc");
  EXPECT_EQ(client.read_reply().status, 408);
  EXPECT_TRUE(client.is_closed());
}

TEST_F(HttpServer, ClosesIdleConnections) {
  start({.header_time = 30ms, .idle_time = 30ms});
  HttpClient silent(port);
  EXPECT_TRUE(silent.is_closed());
  HttpClient client(port);
  EXPECT_EQ(client.ask("GET", "/a").status, 200);
  EXPECT_TRUE(client.is_closed());
}

TEST_F(HttpServer, CutsOffWhoDoesNotReadItsReplies) {
  start({.write_time = 30ms});
  const HttpClient client(port, {.ca = "", .receive_buffer = 4096});
  std::string requests;  // whose replies are more than the buffers of the sockets hold
  for (int i = 0; i < 300; ++i) requests += HttpClient::request("GET", "/a?size=60000");
  client.send(requests);
  EXPECT_TRUE(has_counted("holdfast_server_connections_too_slow_total"));
  EXPECT_TRUE(eventually([&] { return count("holdfast_server_connections") == 0; }));
}

TEST_F(HttpServer, AReplyThatTakesTooLongIsARefusal) {
  HttpClient client(start({.answer_time = 30ms, .linger_time = 10ms}));
  client.send(HttpClient::request("GET", "/wait"));
  EXPECT_EQ(client.read_reply().status, 503);
  const auto waiting = echo.wait_for_one();
  EXPECT_TRUE(waiting->stop_token().stop_requested());
  EXPECT_FALSE(waiting->reply({}));
  EXPECT_TRUE(client.is_closed());
}

// ---- who goes

TEST_F(HttpServer, NoticesWhenSomebodyWhoWaitsHasGone) {
  start();
  HttpClient client(port);
  client.send(HttpClient::request("GET", "/wait"));
  const auto waiting = echo.wait_for_one();
  EXPECT_FALSE(waiting->stop_token().stop_requested());
  client.close();
  EXPECT_TRUE(eventually([&] { return waiting->stop_token().stop_requested(); }));
  waiting->reply({});
  EXPECT_TRUE(eventually([&] { return count("holdfast_server_connections") == 0; }));
}

TEST_F(HttpServer, AnswersWhoHasClosedItsHalfOnly) {
  HttpClient client(start());
  client.send(HttpClient::request("GET", "/wait"));
  const auto waiting = echo.wait_for_one();
  client.half_close();
  EXPECT_TRUE(eventually([&] { return waiting->stop_token().stop_requested(); }));
  EXPECT_FALSE(waiting->gone());
  waiting->reply({.body = "still"});
  EXPECT_EQ(client.read_reply().body, "still");
  EXPECT_TRUE(client.is_closed());
}

TEST_F(HttpServer, CarriesManyWhoWait) {
  start();
  std::vector<std::unique_ptr<HttpClient>> clients;
  for (int i = 0; i < 300; ++i) {
    clients.push_back(std::make_unique<HttpClient>(port));
    clients.back()->send(HttpClient::request("GET", "/wait"));
  }
  EXPECT_TRUE(eventually([&] { return echo.waiting().size() == 300; }));
  for (std::size_t i = 0; i < 100; ++i) clients[i]->close();
  EXPECT_TRUE(eventually([&] {
    return std::ranges::count_if(echo.waiting(),
                                 [](const auto& one) { return one->stop_token().stop_requested(); }) == 100;
  }));
  for (const auto& one : echo.waiting()) one->reply({.body = "now"});
  for (std::size_t i = 100; i < 300; ++i) EXPECT_EQ(clients[i]->read_reply().body, "now");
}

TEST_F(HttpServer, TakesSoManyConnections) {
  start({.connections = 3, .connections_per_address = 2});
  HttpClient one(port);
  HttpClient two(port);
  EXPECT_EQ(one.ask("GET", "/a").status, 200);
  EXPECT_EQ(two.ask("GET", "/a").status, 200);
  EXPECT_TRUE(HttpClient(port).is_closed());
  EXPECT_EQ(count("holdfast_server_connections_refused_total"), 1U);
  two.close();
  EXPECT_TRUE(eventually([&] {
    try {
      return HttpClient(port).ask("GET", "/a").status == 200;
    } catch (const std::runtime_error&) {
      return false;
    }
  }));
}

// ---- streams

TEST_F(HttpServer, StreamsInPieces) {
  HttpClient client(start());
  client.send(HttpClient::request("GET", "/wait"));
  const auto stream = echo.wait_for_one()->stream({.content_type = "text/event-stream"}, 1000);
  ASSERT_TRUE(stream);
  EXPECT_TRUE(stream->send("one"));
  EXPECT_EQ(client.read_head().headers.at("content-type"), "text/event-stream");
  EXPECT_EQ(client.read_chunk(), "one");
  EXPECT_TRUE(stream->send("two"));
  EXPECT_EQ(client.read_chunk(), "two");
  stream->end();
  EXPECT_FALSE(stream->send("three"));
  EXPECT_EQ(client.read_chunk(), "");
  EXPECT_TRUE(client.is_closed());
}

TEST_F(HttpServer, AStreamHoldsSoMuchForASlowReader) {
  start();
  HttpClient client(port, {.ca = "", .receive_buffer = 4096});
  client.send(HttpClient::request("GET", "/wait"));
  const std::string piece(100'000, 'x');
  const auto stream = echo.wait_for_one()->stream({}, 3 * piece.size());
  std::size_t sent = 0;
  ASSERT_TRUE(eventually([&] {  // what the sockets hold comes on top
    while (stream->send(piece)) ++sent;
    return sent >= 3;
  }));
  std::atomic<bool> room{false};
  stream->on_room([&] { room = true; });
  client.read_head();
  for (std::size_t i = 0; i < sent; ++i) EXPECT_EQ(client.read_chunk(), piece);
  EXPECT_TRUE(eventually([&] { return room.load(); }));
  EXPECT_TRUE(stream->send("more"));
  EXPECT_EQ(client.read_chunk(), "more");
}

TEST_F(HttpServer, AStreamTellsThatItsReaderHasGone) {
  start();
  HttpClient client(port);
  client.send(HttpClient::request("GET", "/wait"));
  const auto exchange = echo.wait_for_one();
  const auto stream = exchange->stream({}, 1000);
  EXPECT_TRUE(stream->send("one"));
  client.read_head();
  client.close();
  EXPECT_TRUE(eventually([&] { return exchange->gone() && !stream->send("more"); }));
}

// ---- the end

TEST_F(HttpServer, StopsWhenAllHaveTheirReplies) {
  start();
  HttpClient idle(port);
  EXPECT_EQ(idle.ask("GET", "/a").status, 200);
  HttpClient busy(port);
  busy.send(HttpClient::request("GET", "/wait"));
  const auto waiting = echo.wait_for_one();
  std::atomic<bool> stopped{false};
  loop->post([&] {
    server->stop(60s, [&] {
      stopped = true;
      loop->stop();
    });
  });
  EXPECT_TRUE(idle.is_closed());
  EXPECT_TRUE(eventually([&] { return waiting->stop_token().stop_requested(); }));
  EXPECT_FALSE(stopped);
  EXPECT_THROW(HttpClient{port}, std::runtime_error);
  waiting->reply({.body = "last"});
  EXPECT_EQ(busy.read_reply().body, "last");
  busy.close();
  thread.join();
  EXPECT_TRUE(stopped);
}

TEST_F(HttpServer, StopsInTimeAlsoWhenNobodyReplies) {
  start();
  HttpClient busy(port);
  busy.send(HttpClient::request("GET", "/wait"));
  const auto waiting = echo.wait_for_one();
  loop->post([&] { server->stop(20ms, [&] { loop->stop(); }); });
  thread.join();
  EXPECT_TRUE(waiting->gone());
  EXPECT_TRUE(busy.is_closed());
  waiting->reply({});
}

// ---- TLS

TEST_F(HttpServer, SpeaksTls) {
  const support::TemporaryFolder folder;
  support::make_certificate(folder / "cert.pem", folder / "key.pem");
  Tls tls(folder / "cert.pem", folder / "key.pem");
  start({}, &tls);
  HttpClient client(port, {.ca = folder / "cert.pem"});
  EXPECT_EQ(client.ask("POST", "/a", "body").body, "POST /a body");
  EXPECT_EQ(client.ask("GET", "/a?size=1000000").body.size(), 1'000'000U);
  EXPECT_EQ(client.ask("GET", "/a", "", {{"Connection", "close"}}).status, 200);
  EXPECT_TRUE(client.is_closed());

  HttpClient waits(port, {.ca = folder / "cert.pem"});
  waits.send(HttpClient::request("GET", "/wait"));
  const auto waiting = echo.wait_for_one();
  waits.close();
  EXPECT_TRUE(eventually([&] { return waiting->stop_token().stop_requested(); }));

  HttpClient plain(port);
  plain.send(HttpClient::request("GET", "/a"));
  EXPECT_TRUE(eventually([&] {
    try {
      plain.read_bytes(1);  // an alert of TLS
      return false;
    } catch (const std::runtime_error&) {
      return true;
    }
  }));
  HttpClient silent(port);
  stop();
}

TEST_F(HttpServer, CutsOffWhoShakesHandsTooSlowly) {
  const support::TemporaryFolder folder;
  support::make_certificate(folder / "cert.pem", folder / "key.pem");
  Tls tls(folder / "cert.pem", folder / "key.pem");
  HttpClient silent(start({.header_time = 30ms}, &tls));
  EXPECT_TRUE(silent.is_closed());
  stop();
}

TEST(Tls, SaysWhichFileIsWrong) {
  const support::TemporaryFolder folder;
  support::make_certificate(folder / "cert.pem", folder / "key.pem");
  support::make_certificate(folder / "other.pem", folder / "other-key.pem");
  const auto message = [&](const std::string& certificate, const std::string& key) -> std::string {
    try {
      const Tls tls(folder / certificate, folder / key);
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message("cert.pem", "key.pem"), "");
  EXPECT_NE(
      message("none.pem", "key.pem").find("the certificate '" + (folder / "none.pem") + "' can't be used"),
      std::string::npos);
  EXPECT_NE(
      message("cert.pem", "none.pem").find("the private key '" + (folder / "none.pem") + "' can't be used"),
      std::string::npos);
  EXPECT_NE(message("cert.pem", "other-key.pem").find("key values mismatch"), std::string::npos);
}

TEST(Endpoint, IsAHostAndAPort) {
  EXPECT_EQ(parse_endpoint("127.0.0.1:80").host, "127.0.0.1");
  EXPECT_EQ(parse_endpoint("[::1]:7420").host, "::1");
  EXPECT_EQ(to_string(parse_endpoint("[::1]:7420")), "[::1]:7420");
  EXPECT_EQ(parse_endpoint("localhost:0").port, 0);
  for (const char* wrong : {"", "80", ":80", "localhost", "::1:80", "localhost:", "localhost:x",
                            "localhost:65536", "localhost:8 "}) {
    EXPECT_THROW(static_cast<void>(parse_endpoint(wrong)), std::invalid_argument) << wrong;
  }
  EXPECT_TRUE(is_loopback("127.0.0.1"));
  EXPECT_TRUE(is_loopback("::1"));
  EXPECT_FALSE(is_loopback("0.0.0.0"));
  EXPECT_FALSE(is_loopback("::"));
}

TEST_F(HttpServer, SaysWhyItCannotListen) {
  start();
  try {
    const Server second(loop, echo,
                        {.listen = {.host = "127.0.0.1", .port = port}, .logger = log, .metrics = metrics});
    FAIL() << "the port was taken";
  } catch (const std::runtime_error& error) {
    EXPECT_EQ(std::string(error.what()),
              "can't listen on 127.0.0.1:" + std::to_string(port) + ": Address already in use");
  }
}

}  // namespace holdfast::server::http::server_test
