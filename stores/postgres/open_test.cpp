// Opening a schema: made once, brought up to date, refused when it is not ours or too new.
#include "open.hpp"

#include "server_test.hpp"

#include <holdfast/errors.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

namespace holdfast::postgres_store {
namespace {

using Kind = StoreOpenError::Kind;

std::shared_ptr<Store> open_as(const std::string& role, const TestSchema& schema) {
  return postgres(
      "user=" + role + " " + schema.uri().substr(0, schema.uri().find(" user=")) + " dbname=postgres",
      {.schema = schema.name()});
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
  const std::array plan{migrations().front(), Migration{2,
                                                        "ALTER TABLE instances ADD COLUMN colour text;"
                                                        "INSERT INTO migrations (number) VALUES (2)"}};
  const PostgresOptions options{.schema = schema.name()};
  open_schema(connection_setup(schema.uri(), options), options, plan);
  schema.run("SELECT colour FROM instances WHERE name = 'order-1'");
  // What was the newest library a moment ago is too old now.
  EXPECT_EQ(refusal([&] { schema.open(); }), Kind::newer);
  schema.run("DROP SCHEMA " + schema.name() + " CASCADE");
}

TEST(PostgresOpen, AMigrationThatFailsChangesNothing) {
  const TestSchema schema;
  schema.run("DROP SCHEMA IF EXISTS " + schema.name() + " CASCADE");
  schema.open();
  const std::array plan{migrations().front(),
                        Migration{2, "ALTER TABLE instances ADD COLUMN colour text; SELECT nonsense"}};
  const PostgresOptions options{.schema = schema.name()};
  EXPECT_THROW(open_schema(connection_setup(schema.uri(), options), options, plan), StoreOpenError);
  EXPECT_THROW(schema.run("SELECT colour FROM instances"), SqlError);
  EXPECT_TRUE(can_start(*schema.open(), "order-1"));
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
  EXPECT_EQ(refusal([&] { open_as(role, schema); }), Kind::read_only);
  schema.open();
  schema.run("GRANT USAGE ON SCHEMA " + schema.name() + " TO " + role +
             "; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA " + schema.name() + " TO " +
             role + "; GRANT USAGE, UPDATE ON ALL SEQUENCES IN SCHEMA " + schema.name() + " TO " + role);
  const auto store = open_as(role, schema);
  EXPECT_TRUE(can_start(*store, "order-1"));
  EXPECT_TRUE(store->find("order-1"));
  EXPECT_NE(store->listen(store::kAllWork, {}), nullptr);
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

TEST(PostgresOpen, TheDescriptionSaysWhatIsDurable) {
  const TestSchema schema;
  EXPECT_NE(schema.open()->description().find("synchronous_commit=on"), std::string::npos);
  EXPECT_NE(schema.open({.wait_for_disk = false})->description().find("synchronous_commit=off"),
            std::string::npos);
}

}  // namespace
}  // namespace holdfast::postgres_store
