// The disk of the server is full: calls are unavailable and say why, and all goes on when there is room.
#include "testkit/support/small_disk.hpp"
#include "testkit/support/temporary_folder.hpp"
#include "workload_test.hpp"

#include <holdfast/errors.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <iostream>

namespace holdfast::faults {
namespace {

using support::SmallDisk;
using support::TemporaryFolder;

/// The tables are on a disk of their own, which gets full. Where nobody may mount one, the server is made to
/// say what it says when a disk is full.
class DiskFull : public ::testing::Test {
 protected:
  DiskFull() {
    struct stat about{};
    if (::stat(server.folder().c_str(), &about) == 0 && disk.mounted()) {
      EXPECT_EQ(::chown(folder.path().c_str(), about.st_uid, about.st_gid), 0);
      run_sql(server.uri(), "CREATE TABLESPACE small LOCATION '" + folder.path() + "'");
      uri = server.uri() + " options='-c default_tablespace=small'";
    } else {
      std::cout
          << "THIS USER MAY NOT MOUNT A SMALL DISK: the server only says that its disk is full (a trigger)\n";
    }
  }

  void fill() const {
    if (disk.mounted()) return disk.fill();
    run_sql(server.uri(),
            "CREATE FUNCTION is_full() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE disk_full USING"
            " MESSAGE = 'could not extend file: No space left on device'; END $$;"
            "CREATE TRIGGER full_instances BEFORE INSERT ON instances EXECUTE FUNCTION is_full();"
            "CREATE TRIGGER full_history BEFORE INSERT ON history EXECUTE FUNCTION is_full()");
  }
  void make_room() const {
    if (disk.mounted()) return disk.make_room();
    run_sql(server.uri(),
            "DROP TRIGGER full_instances ON instances; DROP TRIGGER full_history ON history; DROP FUNCTION "
            "is_full()");
  }

  const TemporaryFolder folder;
  const SmallDisk disk{folder.path(), "16m"};
  TestServer server{"--durable"};
  std::string uri = server.uri();
  std::shared_ptr<Lines> log = std::make_shared<Lines>();
};

TEST_F(DiskFull, NothingAcknowledgedIsLostAndEverybodySaysWhy) {
  const auto worker = start_worker(postgres(uri, {.logger = log.get()}), e2e::quick(log));
  Clients clients(uri, 2);
  ASSERT_TRUE(clients.get_on(6));
  fill();
  EXPECT_TRUE(log->wait_for("No space left on device"));
  // Pages have room for a few more.
  std::string why;
  Client impatient(postgres(uri), {.retry_for = 1ms});
  EXPECT_TRUE(eventually([&] {
    try {
      impatient.start("hello", StartOptions{}, std::string(2000, 'x'));
      return false;
    } catch (const ClientError& e) {
      EXPECT_EQ(e.kind(), ClientError::Kind::unavailable);
      why = e.what();
      return true;
    }
  }));
  EXPECT_NE(why.find("No space left on device"), std::string::npos) << why;
  make_room();
  ASSERT_TRUE(clients.get_on(6));
  clients.stop();
  expect_kept(uri, clients.acknowledged());
  EXPECT_TRUE(log->wait_for("the store answers again"));
}

}  // namespace
}  // namespace holdfast::faults
