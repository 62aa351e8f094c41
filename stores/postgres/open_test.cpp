// Opening a schema: made once, brought up to date, refused when it is not ours or too new.
#include "open.hpp"

#include "meanwhile_test.hpp"
#include "server_test.hpp"

#include <holdfast/errors.hpp>
#include <holdfast/postgres.hpp>
#include <holdfast/store.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <fstream>
#include <future>
#include <sstream>
#include <thread>
#include <vector>

namespace holdfast::postgres_store::open_test {
namespace {

using Kind = StoreOpenError::Kind;

std::shared_ptr<Store> open_as(const std::string& role, const TestSchema& schema,
                               PostgresOptions options = {}) {
  options.schema = schema.name();
  return postgres(
      "user=" + role + " " + schema.uri().substr(0, schema.uri().find(" user=")) + " dbname=postgres",
      options);
}

Kind refusal(const std::function<void()>& open) {
  try {
    open();
  } catch (const StoreOpenError& error) {
    return error.kind();
  }
  ADD_FAILURE() << "it was opened";
  return Kind::unavailable;
}

store::StartRequest start_of(const std::string& id) {
  return {.instance = id, .code = {"order", "1"}, .body = "in"};
}

bool can_start(Store& store, const std::string& id) {
  const std::array requests{start_of(id)};
  return store.start(requests).front().has_value();
}

/// As a newer library would.
std::int32_t next_number() { return migrations().back().number + 1; }
std::vector<Migration> with(std::string_view sql) {
  std::vector<Migration> all(migrations().begin(), migrations().end());
  all.push_back({next_number(), sql});
  return all;
}
std::vector<Migration> with_another() {
  return with(
      "ALTER TABLE instances ADD COLUMN colour text;"
      "INSERT INTO migrations (number) SELECT max(number) + 1 FROM migrations");
}

TEST(PostgresOpen, ManyProcessesMayStartAtOnce) {
  const TestSchema schema;
  schema.run("DROP SCHEMA IF EXISTS " + schema.name() + " CASCADE");
  std::atomic<int> opened{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        if (can_start(*schema.open(), "order-1")) ++opened;
      });
    }
  }
  EXPECT_EQ(opened, 8);
}

TEST(PostgresOpen, ManyProcessesMayBeginOneNamespaceAtOnce) {
  const TestSchema schema;
  schema.open();
  for (int round = 0; round < 10; ++round) {
    const PostgresOptions options{.ns = "shop-" + std::to_string(round)};
    {
      std::vector<std::jthread> threads;
      for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&, i] { can_start(*schema.open(options), "order-" + std::to_string(i)); });
      }
    }
    const auto store = schema.open(options);
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(store->find("order-" + std::to_string(i)));
  }
}

TEST(PostgresOpen, ANewerSchemaIsRefused) {
  const TestSchema schema;
  schema.open();
  schema.run("INSERT INTO migrations (number) VALUES (99)");
  EXPECT_EQ(refusal([&] { schema.open(); }), Kind::newer);
  schema.run("DELETE FROM migrations WHERE number = 99");
  EXPECT_NE(schema.open(), nullptr);
}

TEST(PostgresOpen, AnOlderSchemaIsBroughtUpToDateInPlace) {
  const TestSchema schema;
  schema.run("DROP SCHEMA IF EXISTS " + schema.name() + " CASCADE");
  EXPECT_TRUE(can_start(*schema.open(), "order-1"));
  const PostgresOptions options{.schema = schema.name()};
  open_schema(connection_setup(schema.uri(), options), options, with_another());
  schema.run("SELECT colour FROM instances WHERE name = 'order-1'");
  // What was the newest library a moment ago is too old now.
  EXPECT_EQ(refusal([&] { schema.open(); }), Kind::newer);
  schema.run("DROP SCHEMA " + schema.name() + " CASCADE");
}

TEST(PostgresOpen, ASchemaOfTheFirstVersionIsBroughtUpToDate) {
  const TestSchema schema;
  schema.run("DROP SCHEMA IF EXISTS " + schema.name() + " CASCADE");
  const PostgresOptions options{.schema = schema.name()};
  open_schema(connection_setup(schema.uri(), options), options, migrations().first(1));
  EXPECT_TRUE(can_start(*schema.open(), "order-1"));
  EXPECT_EQ(schema.number("SELECT max(number) FROM migrations"), migrations().back().number);
}

TEST(PostgresOpen, AMigrationThatFailsChangesNothing) {
  const TestSchema schema;
  schema.run("DROP SCHEMA IF EXISTS " + schema.name() + " CASCADE");
  schema.open();
  const auto plan = with("ALTER TABLE instances ADD COLUMN colour text; SELECT nonsense");
  const PostgresOptions options{.schema = schema.name()};
  EXPECT_THROW(open_schema(connection_setup(schema.uri(), options), options, plan), StoreOpenError);
  EXPECT_THROW(schema.run("SELECT colour FROM instances"), SqlError);
  EXPECT_TRUE(can_start(*schema.open(), "order-1"));
}

TEST(PostgresOpen, ASchemaThatIsMissingIsNotMadeUnlessItMayBe) {
  const TestSchema schema;
  schema.run("DROP SCHEMA IF EXISTS " + schema.name() + " CASCADE");
  EXPECT_EQ(refusal([&] { schema.open({.create = false}); }), Kind::missing);
  EXPECT_THROW(schema.run("SELECT count(*) FROM " + schema.name() + ".instances"), SqlError);
  schema.open();
  EXPECT_TRUE(can_start(*schema.open({.create = false}), "order-1"));
}

TEST(PostgresOpen, TablesOfAnotherProgramAreLeftAlone) {
  const TestSchema schema;
  schema.run("DROP SCHEMA IF EXISTS " + schema.name() + " CASCADE; CREATE SCHEMA " + schema.name() +
             "; CREATE TABLE " + schema.name() + ".theirs (a int)");
  EXPECT_EQ(refusal([&] { schema.open(); }), Kind::not_a_store);
  schema.run("DROP SCHEMA " + schema.name() + " CASCADE");
}

TEST(PostgresOpen, ARoleThatMayNotCreateTablesRunsOnAPreparedSchema) {
  const TestSchema schema;
  schema.run("DROP SCHEMA IF EXISTS " + schema.name() + " CASCADE");
  const std::string role = "role_of_" + schema.name();
  schema.run("DROP ROLE IF EXISTS " + role + "; CREATE ROLE " + role + " LOGIN");
  EXPECT_EQ(refusal([&] { open_as(role, schema); }), Kind::no_schema);
  schema.open();
  schema.run("GRANT USAGE ON SCHEMA " + schema.name() + " TO " + role +
             "; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA " + schema.name() + " TO " +
             role + "; GRANT USAGE, UPDATE ON ALL SEQUENCES IN SCHEMA " + schema.name() + " TO " + role);
  const auto store = open_as(role, schema);
  EXPECT_TRUE(can_start(*store, "order-1"));
  EXPECT_TRUE(store->find("order-1"));
  EXPECT_NE(store->listen(store::kAllWork, {}), nullptr);
}

TEST(PostgresOpen, ARoleThatMayOnlySelectReads) {
  const TestSchema schema;
  EXPECT_TRUE(can_start(*schema.open(), "order-1"));
  const std::string role = "reader_of_" + schema.name();
  schema.run("DROP ROLE IF EXISTS " + role + "; CREATE ROLE " + role + " LOGIN; GRANT USAGE ON SCHEMA " +
             schema.name() + " TO " + role + "; GRANT SELECT ON ALL TABLES IN SCHEMA " + schema.name() +
             " TO " + role);
  const auto store = open_as(role, schema, {.read_only = true});
  EXPECT_TRUE(store->find("order-1"));
  EXPECT_TRUE(store->describe("order-1"));
  EXPECT_EQ(store->list({})->instances.size(), 1U);
  EXPECT_TRUE(store->queue_depths());
  EXPECT_TRUE(store->workers());
  EXPECT_TRUE(store->sessions({}));
  EXPECT_NE(store->listen(store::kAllWork, {}), nullptr);
  EXPECT_FALSE(can_start(*store, "order-2"));
}

TEST(PostgresOpen, AServerThatIsNotThereIsNamedWithoutThePassword) {
  try {
    postgres("host=/nowhere user=me password=secret", {});
    FAIL() << "it was opened";
  } catch (const StoreOpenError& error) {
    EXPECT_EQ(error.kind(), Kind::unavailable);
    EXPECT_EQ(std::string(error.what()).find("secret"), std::string::npos) << error.what();
  }
}

/// What opening that uri is refused with.
StoreOpenError refused(const std::string& uri, const PostgresOptions& options = {}) {
  try {
    postgres(uri, options);
  } catch (const StoreOpenError& error) {
    return error;
  }
  throw std::runtime_error("it was opened");
}

TEST(PostgresOpen, AMissingDatabaseIsNamed) {
  const TestSchema schema;
  const StoreOpenError error = refused(schema.uri() + " dbname=nowhere");
  EXPECT_EQ(error.kind(), Kind::no_database) << error.what();
  EXPECT_NE(std::string(error.what()).find("\"nowhere\""), std::string::npos) << error.what();
}

TEST(PostgresOpen, AMissingRoleIsNamed) {
  const TestSchema schema;
  const StoreOpenError error = refused(schema.uri() + " user=nobody");
  EXPECT_EQ(error.kind(), Kind::no_access) << error.what();
  EXPECT_NE(std::string(error.what()).find("nobody"), std::string::npos) << error.what();
}

void ask_for_password(TestServer& server, const std::string& role) {
  const std::string file = server.folder() + "/data/pg_hba.conf";
  std::ostringstream before;
  before << std::ifstream(file).rdbuf();
  std::ofstream(file) << "local all " << role << " scram-sha-256\n" << before.str();
  server.restart("fast");
}

TEST(PostgresOpen, AWrongPasswordIsNotShown) {
  TestServer server;
  const TestSchema schema(server);
  const std::string role = "asks_for_password";
  schema.run("CREATE ROLE " + role + " LOGIN PASSWORD 'right'");
  ask_for_password(server, role);
  const std::string wrong = refused(schema.uri() + " user=" + role + " password='wr ong'").what();
  EXPECT_EQ(refused(schema.uri() + " user=" + role + " password='wr ong'").kind(), Kind::no_access) << wrong;
  EXPECT_EQ(wrong.find("wr ong"), std::string::npos) << wrong;
  EXPECT_EQ(refused(schema.uri() + " user=" + role).kind(), Kind::no_access) << "no password at all";
}

TEST(PostgresOpen, ARoleWithoutRightsOnTheSchemaIsTold) {
  const TestSchema schema;
  schema.open();
  const std::string role = "stranger_of_" + schema.name();
  schema.run("DROP ROLE IF EXISTS " + role + "; CREATE ROLE " + role + " LOGIN");
  EXPECT_EQ(refusal([&] { open_as(role, schema); }), Kind::no_access);
}

TEST(PostgresOpen, ASchemaThatTheServerWouldCutOffIsRefused) {
  const TestSchema schema;
  for (const std::string& name : {std::string(), std::string(64, 's')}) {
    EXPECT_EQ(refused(schema.uri(), {.schema = name}).kind(), Kind::invalid);
  }
  EXPECT_EQ(refused(schema.uri(), {.schema = "pg_mine"}).kind(), Kind::invalid);
}

// ---- the number of the schema --------------------------------------------------------------------

/// FNV-1a.
std::uint64_t checksum(std::string_view text) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return hash;
}

// A schema is known by its number alone: what stands behind a number never changes.
TEST(PostgresOpen, EveryChangeOfTheSchemaHasANumberOfItsOwn) {
  const std::array<std::uint64_t, 8> known{
      0xce9e471f789c39f0ULL, 0x46c918dcd8c045dfULL, 0xd0f66f2ec748ef3eULL, 0xdbfa2c4929512057ULL,
      0x30257ed56e6864edULL, 0x0db5b9c419470826ULL, 0xb0b83dcb05ea3d5eULL, 0x02adba837c5ec486ULL};
  ASSERT_EQ(migrations().size(), known.size()) << "add the checksum of the new migration here";
  for (std::size_t i = 0; i < known.size(); ++i) {
    EXPECT_EQ(migrations()[i].number, static_cast<std::int32_t>(i + 1));
    EXPECT_EQ(checksum(migrations()[i].sql), known[i])
        << "migration " << i + 1 << " was changed: there are databases that it has made. Leave it as it was, "
        << "and write the change as the next migration";
  }
}

TEST(PostgresOpen, ARunningProcessNoticesAMigrationAndWritesNothingMore) {
  const TestSchema schema;
  schema.run("DROP SCHEMA IF EXISTS " + schema.name() + " CASCADE");
  const auto store = schema.open();
  ASSERT_TRUE(can_start(*store, "order-1"));
  const PostgresOptions options{.schema = schema.name()};
  open_schema(connection_setup(schema.uri(), options), options, with_another());
  const auto answer = store->start(std::array{start_of("order-2")}).front();
  ASSERT_FALSE(answer) << "it writes into a schema that it does not know";
  EXPECT_EQ(answer.error().kind, StoreError::Kind::unavailable);
  EXPECT_NE(answer.error().message.find("is of version " + std::to_string(next_number())), std::string::npos)
      << answer.error().message;
  EXPECT_FALSE(store->find("order-1"));
  EXPECT_EQ(schema.number("SELECT count(*) FROM instances"), 1);
  schema.run("DROP SCHEMA " + schema.name() + " CASCADE");
}

TEST(PostgresOpen, AMigrationWaitsForTransactionsThatAreUnderWay) {
  const TestSchema schema;
  schema.run("DROP SCHEMA IF EXISTS " + schema.name() + " CASCADE");
  Meanwhile plan;
  const auto store = schema.open({.faults = &plan});
  const PostgresOptions options{.schema = schema.name()};
  std::future<std::int32_t> migrated;
  plan.at("postgres.insert_instances", [&] {
    migrated = until_done_or_blocked(schema, [&] {
      return open_schema(connection_setup(schema.uri(), options), options, with_another());
    });
    EXPECT_NE(migrated.wait_for(std::chrono::seconds(0)), std::future_status::ready);
  });
  EXPECT_TRUE(can_start(*store, "order-1"));
  ASSERT_TRUE(plan.happened());
  EXPECT_GT(migrated.get(), 0);
  EXPECT_FALSE(can_start(*store, "order-2"));
  schema.run("DROP SCHEMA " + schema.name() + " CASCADE");
}

TEST(PostgresOpen, TheDescriptionSaysWhatIsDurable) {
  const TestSchema schema;
  EXPECT_NE(schema.open()->description().find("synchronous_commit=on"), std::string::npos);
  EXPECT_NE(schema.open({.wait_for_disk = false})->description().find("synchronous_commit=off"),
            std::string::npos);
}

/// The kind and the text with which it is refused, and whether that came at once.
std::string refused_at_once(const std::string& uri, PostgresOptions options = {}) {
  if (options.timeout == PostgresOptions{}.timeout)
    options.timeout = std::chrono::seconds(90);  // if it waited
  const auto began = std::chrono::steady_clock::now();
  std::string said = "opened";
  try {
    postgres(uri, options);
  } catch (const StoreOpenError& error) {
    said = (error.kind() == Kind::invalid       ? "invalid: "
            : error.kind() == Kind::unavailable ? "unavailable: "
            : error.kind() == Kind::corrupt     ? "corrupt: "
            : error.kind() == Kind::not_a_store ? "not a store: "
                                                : "something else: ") +
           std::string(error.what());
  }
  return std::chrono::steady_clock::now() - began < std::chrono::seconds(60) ? said : "after a while " + said;
}

TEST(PostgresOpen, WhatCanNeverWorkIsRefusedAtOnce) {
  const TestSchema schema;
  const auto begins = [](const std::string& text, const std::string& with) {
    EXPECT_TRUE(text.starts_with(with)) << text;
  };
  begins(refused_at_once(schema.uri() + " sslmode=nonsense"), "invalid: no server can be reached");
  begins(refused_at_once("service=nosuch"), "invalid: no server can be reached");
  begins(refused_at_once(schema.uri(), {.timeout = std::chrono::milliseconds(-5)}),
         "invalid: PostgresOptions::timeout is -5 ms");
  begins(refused_at_once(schema.uri(), {.schema = "\xff\xfe"}), "invalid: PostgresOptions::schema is not");
}

// It may be about to start; whoever opens decides how long to try.
TEST(PostgresOpen, AServerThatIsNotThereIsUnavailableAtOnce) {
  for (const char* const uri : {"host=/nosuchdir dbname=app", "host=127.0.0.1 port=1 dbname=app"}) {
    const std::string said = refused_at_once(uri);
    EXPECT_TRUE(said.starts_with("unavailable: ")) << said;
  }
}

TEST(PostgresOpen, ADatabaseOfAnotherEncodingIsRefused) {
  const TestSchema schema;
  schema.run("DROP DATABASE IF EXISTS holdfast_latin");
  schema.run(
      "CREATE DATABASE holdfast_latin ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'");
  std::string uri = schema.uri();
  uri.replace(uri.find("dbname="), std::string::npos, "dbname=holdfast_latin");
  const std::string said = refused_at_once(uri);
  EXPECT_TRUE(said.starts_with("not a store: the database has the encoding LATIN1")) << said;
  schema.run("DROP DATABASE holdfast_latin");
}

TEST(PostgresOpen, TablesThatLackWhatEveryDeploymentHasAreCorrupt) {
  const TestSchema schema;
  const auto store = schema.open();
  const auto said_at_open = [&] { return refused_at_once(schema.uri(), {.schema = schema.name()}); };
  const auto said_later = [&] {
    const std::array requests{start_of("order-1")};
    const auto answer = store->start(requests).front();
    return answer ? "started" : answer.error().message;
  };
  schema.run("CREATE TABLE kept AS SELECT * FROM migrations; DELETE FROM migrations");
  EXPECT_TRUE(said_at_open().starts_with("corrupt: the table 'migrations'")) << said_at_open();
  EXPECT_TRUE(said_later().starts_with("the table 'migrations' is empty")) << said_later();
  schema.run("INSERT INTO migrations SELECT * FROM kept");
  schema.run("CREATE TABLE kept_too AS SELECT * FROM deployment; DELETE FROM deployment");
  EXPECT_TRUE(said_at_open().starts_with("corrupt: the row of the table 'deployment'")) << said_at_open();
  EXPECT_TRUE(said_later().starts_with("the row of the table 'deployment'")) << said_later();
  schema.run("INSERT INTO deployment SELECT * FROM kept_too");
  EXPECT_EQ(said_later(), "started") << "once they are there again, it goes on";
}

}  // namespace
}  // namespace holdfast::postgres_store::open_test
