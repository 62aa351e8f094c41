// Loggers are code of the user, and may ask the store that tells them something.
#include "stores/sqlite/connection.hpp"
#include "testkit/support/nosy_logger.hpp"
#include "testkit/support/temporary_folder.hpp"

#include <holdfast/sqlite.hpp>
#include <holdfast/store.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace holdfast::sqlite_store::loggers_test {
namespace {

using support::NosyLogger;
using support::TemporaryFolder;
using namespace holdfast::store;

bool start(Store& store, std::uint64_t number) {
  const StartRequest request{.instance = "i" + std::to_string(number),
                             .code = {"o", "1"},
                             .body = std::string(100'000, 'x'),
                             .request = {number, 1}};
  return store.start(std::span(&request, 1)).at(0).has_value();
}

TEST(SqliteLoggers, MayWriteToTheStoreThatSaysItsLogIsTooLong) {
  const TemporaryFolder folder;
  NosyLogger logger;
  const auto store = sqlite(folder / "a.db", {.wal_limit_bytes = 1000, .logger = &logger});
  std::uint64_t started = 100;
  logger.ask = [&] { EXPECT_TRUE(start(*store, ++started)); };
  Connection reader(folder / "a.db", SQLITE_OPEN_READWRITE);
  reader.exec("BEGIN");
  (void)reader.int64_of("SELECT count(*) FROM instances");  // keeps the log as it is
  EXPECT_TRUE(start(*store, 1));
  EXPECT_TRUE(start(*store, 2));
  EXPECT_EQ(logger.lines, 1);
  EXPECT_GT(started, 100U);
}

}  // namespace
}  // namespace holdfast::sqlite_store::loggers_test
