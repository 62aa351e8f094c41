#include "server_test.hpp"

#include "connection.hpp"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <mutex>
#include <stdexcept>
#include <vector>

namespace holdfast::postgres_store {

namespace {

void script(const std::string& arguments) {
  const std::string command = HOLDFAST_SOURCE_FOLDER "/stores/postgres/server.sh " + arguments;
  if (std::system(command.c_str()) != 0) {
    throw std::runtime_error("no PostgreSQL server for the tests: " + command + " failed");
  }
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) throw std::runtime_error("no PostgreSQL server for the tests: no " + path);
  return line;
}

std::string fresh_state() {
  static int count = 0;
  return "/tmp/holdfast-test-" + std::to_string(::getpid()) + "-" + std::to_string(++count);
}

/// Schemas of former tests in this process: emptying one is faster than making it.
struct Spare {
  std::mutex mutex{};
  std::vector<std::string> names{};
  int made = 0;
};
Spare& spare() {
  static Spare all;
  return all;
}

constexpr const char* kEmpty = R"sql(
DO $$
DECLARE
  name text;
BEGIN
  FOR name IN SELECT quote_ident(c.relname) FROM pg_class c WHERE c.relnamespace = current_schema::regnamespace
      AND c.relkind = 'r' AND c.relname NOT IN ('migrations', 'deployment') LOOP
    EXECUTE 'DELETE FROM ' || name;
  END LOOP;
  FOR name IN SELECT quote_ident(c.relname) FROM pg_class c WHERE c.relnamespace = current_schema::regnamespace
      AND c.relkind = 'S' LOOP
    EXECUTE 'SELECT setval(''' || name || ''', 1, false)';
  END LOOP;
  IF to_regclass('deployment') IS NOT NULL THEN
    UPDATE deployment SET lease_offset = 0, lease_high = 0;
  END IF;
END $$)sql";

}  // namespace

TestServer& TestServer::shared() {
  static const char* const running = std::getenv("HOLDFAST_TEST_POSTGRES");
  static TestServer server = running != nullptr ? TestServer(Existing{running}) : TestServer();
  return server;
}

TestServer::TestServer(const Existing& existing)
    : state_(existing.state), uri_(first_line(existing.state + "/uri")) {}

TestServer::TestServer(const std::string& arguments) : state_(fresh_state()), own_(true) {
  script("start " + state_ + " --watch " + std::to_string(::getpid()) + " " + arguments);
  uri_ = first_line(state_ + "/uri");
}

TestServer::TestServer(const Following& following) : state_(fresh_state()), own_(true) {
  script("standby " + state_ + " " + following.primary + " --watch " + std::to_string(::getpid()));
  uri_ = first_line(state_ + "/uri");
}

TestServer::~TestServer() {
  if (!own_) return;
  try {
    script("stop " + state_);
  } catch (const std::exception&) {
    // It watches this process, and goes when that is gone.
  }
}

void TestServer::restart(const std::string& how) { script("restart " + state_ + " " + how); }
void TestServer::halt(const std::string& how) { script("halt " + state_ + " " + how); }
void TestServer::resume() { script("resume " + state_); }

std::unique_ptr<TestServer> TestServer::standby() const {
  return std::unique_ptr<TestServer>(new TestServer(Following{state_}));
}
void TestServer::promote() { script("promote " + state_); }
std::string TestServer::folder() const { return first_line(state_ + "/folder"); }

TestSchema::TestSchema() : TestSchema(TestServer::shared()) {}

TestSchema::TestSchema(TestServer& server) : server_(server) {
  {
    const std::lock_guard lock(spare().mutex);
    if (&server == &TestServer::shared() && !spare().names.empty()) {
      name_ = spare().names.back();
      spare().names.pop_back();
    } else {
      name_ = "test_" + std::to_string(::getpid()) + "_" + std::to_string(++spare().made);
      return;
    }
  }
  run(kEmpty);
}

TestSchema::~TestSchema() {
  const std::lock_guard lock(spare().mutex);
  if (&server_ == &TestServer::shared()) spare().names.push_back(name_);
}

std::shared_ptr<Store> TestSchema::open(PostgresOptions options) const {
  options.schema = name_;
  return postgres(uri(), std::move(options));
}

void TestSchema::run(const std::string& sql) const {
  Connection connection({.uri = uri(), .schema = name_});
  connection.run(sql);
}

std::int64_t TestSchema::number(const std::string& query) const {
  Connection connection({.uri = uri(), .schema = name_});
  connection.queue({"test.number", query.c_str()}, Parameters());
  return connection.exchange().front().integer(0, 0);
}

}  // namespace holdfast::postgres_store
