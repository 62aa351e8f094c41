#include "stores/postgres/server_test.hpp"
#include "stores/sqlite/temporary_folder_test.hpp"

#include <holdfast/client.hpp>
#include <holdfast/errors.hpp>
#include <holdfast/open.hpp>

#include <gtest/gtest.h>

#include <string>

namespace holdfast {
namespace {

using Kind = StoreOpenError::Kind;

Kind refused(const std::string& address, std::string* why = nullptr) {
  try {
    open(address, {.create = false});
  } catch (const StoreOpenError& error) {
    if (why != nullptr) *why = error.failure().message;
    return error.kind();
  }
  return Kind::unavailable;
}

TEST(Open, TakesAFileByItsAddress) {
  const sqlite_store::TemporaryFolder folder;
  const std::string address = "sqlite:" + (folder / "app.db");
  EXPECT_EQ(refused(address), Kind::missing);
  Client(open(address)).start("hello", {.id = "h"});
  EXPECT_TRUE(Client(open(address, {.create = false})).find("h"));
  EXPECT_FALSE(Client(open(address, {.ns = "other"})).find("h"));
}

TEST(Open, TakesAServerByItsAddress) {
  const postgres_store::TestSchema schema;
  Client(open(schema.uri())).start("hello", {.id = "h-" + schema.name()});
  EXPECT_TRUE(Client(open(schema.uri(), {.create = false})).find("h-" + schema.name()));
}

TEST(Open, TakesMemory) { EXPECT_FALSE(Client(open("memory:")).find("h")); }

TEST(Open, SaysWhatAnAddressLooksLikeAndNotWhatWasInIt) {
  std::string why;
  EXPECT_EQ(refused("app.db", &why), Kind::invalid);
  EXPECT_NE(why.find("sqlite:app.db"), std::string::npos) << why;
  EXPECT_EQ(refused("mysql://me:secret@host/db", &why), Kind::invalid);
  EXPECT_NE(why.find("no kind of store 'mysql'"), std::string::npos) << why;
  EXPECT_EQ(why.find("secret"), std::string::npos) << why;
}

}  // namespace
}  // namespace holdfast
