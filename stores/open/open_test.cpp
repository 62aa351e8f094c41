#include "stores/postgres/server_test.hpp"
#include "testkit/support/temporary_folder.hpp"

#include <holdfast/client.hpp>
#include <holdfast/errors.hpp>
#include <holdfast/log.hpp>
#include <holdfast/open.hpp>
#include <holdfast/runtime.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace holdfast {
namespace {

using support::TemporaryFolder;
using Kind = StoreOpenError::Kind;

Kind refused(const std::string& address, std::string* why = nullptr,
             const OpenOptions& options = {.create = false}) {
  try {
    open(address, options);
  } catch (const StoreOpenError& error) {
    if (why != nullptr) *why = error.failure().message;
    return error.kind();
  }
  return Kind::unavailable;
}

TEST(Open, TakesAFileByItsAddress) {
  const TemporaryFolder folder;
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

void expect_only_readable(const std::string& address, const std::string& ns = "default") {
  Client(open(address, {.ns = ns})).start("hello", {.id = "h"});
  const Client reader(open(address, {.ns = ns, .read_only = true}));
  EXPECT_EQ(reader.run("h").info().orchestration, "hello");
  EXPECT_EQ(reader.list().runs.size(), 1U);
  EXPECT_TRUE(reader.list_sessions().empty());
  EXPECT_TRUE(reader.workers().empty());
  for (const auto& change : std::vector<std::function<void()>>{
           [&] { Client(reader).start("hello", {.id = "other"}); }, [&] { reader.raise("h", "event"); },
           [&] { reader.terminate("h", "why not"); },
           [&] { reader.delete_instance("h", {.force = true}); }}) {
    try {
      change();
      ADD_FAILURE() << "it was changed";
    } catch (const ClientError& error) {
      EXPECT_EQ(error.kind(), ClientError::Kind::invalid);
      EXPECT_NE(error.failure().message.find("read_only"), std::string::npos) << error.failure().message;
    }
  }
  Runtime worker(open(address, {.ns = ns, .read_only = true}), {.logger = null_logger()});
  try {
    worker.start();
    ADD_FAILURE() << "it works on what it may not change";
  } catch (const ClientError& error) {
    EXPECT_EQ(error.kind(), ClientError::Kind::invalid) << error.failure().message;
  }
  EXPECT_EQ(Client(open(address, {.ns = ns})).run("h").info().status, Status::running);
}

// Of a store that has the namespace `ns`.
void expect_namespaces_are_checked(const std::string& address, const std::string& ns) {
  std::string why;
  EXPECT_EQ(refused(address, &why, {.ns = ns + "-none", .create = false}), Kind::missing);
  EXPECT_NE(why.find("no namespace '" + ns + "-none'"), std::string::npos) << why;
  EXPECT_NE(why.find("set `create`"), std::string::npos) << why;
  EXPECT_EQ(refused(address, &why, {.ns = ns + "-none", .read_only = true}), Kind::missing);
  EXPECT_NE(why.find("without read_only"), std::string::npos) << why;
  EXPECT_NO_THROW(open(address, {.ns = ns, .create = false}));
  EXPECT_EQ(refused(address, &why, {.ns = ""}), Kind::invalid);
  EXPECT_NE(why.find("the name of a namespace is empty"), std::string::npos) << why;
  EXPECT_EQ(refused(address, &why, {.ns = "a\nb"}), Kind::invalid);
  EXPECT_NE(why.find("the control character U+000A at byte 1"), std::string::npos) << why;
}

TEST(Open, ForReadingChangesNothingInAFile) {
  const TemporaryFolder folder;
  const std::string address = "sqlite:" + (folder / "app.db");
  EXPECT_THROW(open(address, {.read_only = true}), StoreOpenError);
  EXPECT_FALSE(std::filesystem::exists(folder / "app.db"));
  std::string why;
  EXPECT_EQ(refused(address, &why, {.read_only = true}), Kind::missing);
  EXPECT_NE(why.find("without read_only"), std::string::npos) << why;
  expect_only_readable(address);
}

TEST(Open, ForReadingChangesNothingOnAServer) {
  const postgres_store::TestSchema schema;
  expect_only_readable(schema.uri(), schema.name());
}

TEST(Open, LooksForTheNamespaceInAFile) {
  const TemporaryFolder folder;
  const std::string address = "sqlite:" + (folder / "app.db");
  open(address, {.ns = "shop"});
  expect_namespaces_are_checked(address, "shop");
}

TEST(Open, LooksForTheNamespaceOnAServer) {
  const postgres_store::TestSchema schema;
  open(schema.uri(), {.ns = schema.name()});
  expect_namespaces_are_checked(schema.uri(), schema.name());
}

TEST(Open, RefusesMemoryThatIsOnlyRead) {
  std::string why;
  EXPECT_EQ(refused("memory:", &why, {.read_only = true}), Kind::invalid);
  EXPECT_NE(why.find("read_only"), std::string::npos) << why;
  EXPECT_EQ(refused("memory:", &why, {.ns = "\x7f"}), Kind::invalid);
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
