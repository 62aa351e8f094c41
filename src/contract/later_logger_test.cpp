#include "contract/later_logger.hpp"

#include "testkit/support/lines.hpp"
#include "testkit/support/nosy_logger.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

namespace holdfast::store::later_logger_test {
namespace {

using support::Lines;
using support::NosyLogger;

TEST(LaterLogger, SaysWhatItWasToldWhenItIsAskedTo) {
  Lines lines;
  LaterLogger later(&lines);
  {
    const std::string path = "/a/path/that/is/too/long/to/stand/in/a/short/string.db";
    log(later, LogLevel::warn, "the log is long", {{"path", path}, {"bytes", 7}, {"ok", false}});
  }
  log(later, LogLevel::info, "it is short again");
  EXPECT_EQ(lines.count(""), 0U);
  later.say();
  EXPECT_EQ(lines.count(""), 2U) << lines.all();
  EXPECT_EQ(lines.count("the log is long path=/a/path/that/is/too/long/to/stand/in/a/short/string.db bytes=7 "
                        "ok=false"),
            1U)
      << lines.all();
  EXPECT_LT(lines.all().find("the log is long"), lines.all().find("it is short again"));
  later.say();
  EXPECT_EQ(lines.count(""), 2U) << "once";
}

TEST(LaterLogger, SaysAtItsEndWhatNobodyHasAskedFor) {
  Lines lines;
  std::optional<LaterLogger> later(&lines);
  log(*later, LogLevel::info, "closing");
  later.reset();
  EXPECT_EQ(lines.count("closing"), 1U);
}

TEST(LaterLogger, LetsTheLoggerSayMoreMeanwhile) {
  NosyLogger logger;
  LaterLogger later(&logger);
  int asked = 0;
  logger.ask = [&] {
    if (++asked < 3) log(later, LogLevel::info, "more");
    later.say();
  };
  log(later, LogLevel::info, "first");
  EXPECT_EQ(asked, 0);
  later.say();
  EXPECT_EQ(logger.lines, 3);
}

TEST(LaterLogger, KeepsNothingForNobody) {
  LaterLogger later(nullptr);
  EXPECT_FALSE(later.enabled(LogLevel::error));
  log(later, LogLevel::error, "lost");
  later.say();
}

}  // namespace
}  // namespace holdfast::store::later_logger_test
