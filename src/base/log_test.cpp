#include "base/utf8.hpp"

#include <holdfast/log.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <limits>
#include <thread>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

constexpr CalendarTime kTime =
    std::chrono::sys_days{std::chrono::year{2026} / 11 / 15} + 4h + 36min + 2s + 123456us;

std::string line_of(std::string_view message, std::vector<LogField> fields = {}) {
  return format_line({.level = LogLevel::info, .time = kTime, .message = message, .fields = fields});
}

// What a field with this value looks like behind "key=".
std::string shown(LogValue value) {
  const std::string line = line_of("m", {{"key", value}});
  const std::string_view start = "2026-11-15T04:36:02.123Z info  m key=";
  EXPECT_TRUE(line.starts_with(start)) << line;
  return line.substr(start.size());
}

// Keeps what it was given, as lines.
class KeepingLogger final : public Logger {
 public:
  KeepingLogger(LogLevel minimum, const Clock& clock) : Logger(clock), minimum_(minimum) {}
  [[nodiscard]] bool enabled(LogLevel level) const noexcept override { return level >= minimum_; }
  void write(const LogRecord& record) noexcept override { lines_.push_back(format_line(record)); }
  [[nodiscard]] const std::vector<std::string>& lines() const { return lines_; }

 private:
  LogLevel minimum_;
  std::vector<std::string> lines_;
};

// Stands in for stderr while it lives, and tells one write(2) from the next.
class CapturedStderr {
 public:
  CapturedStderr() : saved_(dup(STDERR_FILENO)) {
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends_.data()), 0);
    dup2(ends_[1], STDERR_FILENO);
    close(ends_[1]);
  }
  ~CapturedStderr() {
    restore();
    close(ends_[0]);
  }
  CapturedStderr(const CapturedStderr&) = delete;
  CapturedStderr& operator=(const CapturedStderr&) = delete;

  std::vector<std::string> writes() {
    restore();
    std::vector<std::string> writes;
    std::array<char, 4096> text{};
    for (ssize_t size; (size = read(ends_[0], text.data(), text.size())) > 0;) {
      writes.emplace_back(text.data(), static_cast<std::size_t>(size));
    }
    return writes;
  }

 private:
  void restore() {
    if (saved_ < 0) return;
    dup2(saved_, STDERR_FILENO);
    close(saved_);
    saved_ = -1;
  }

  int saved_;
  std::array<int, 2> ends_{};
};

TEST(LogLine, ShowsTimeLevelMessageAndFields) {
  EXPECT_EQ(line_of("turn committed", {{"instance", "order-7"}, {"events", 3}, {"note", "second try"}}),
            "2026-11-15T04:36:02.123Z info  turn committed instance=order-7 events=3 note=\"second try\"");
  EXPECT_EQ(format_line({.level = LogLevel::error, .time = kTime, .message = "no store"}),
            "2026-11-15T04:36:02.123Z error no store");
}

TEST(LogLine, ShowsTimesAtTheEdges) {
  EXPECT_EQ(format_line({.level = LogLevel::debug, .message = "m"}), "1970-01-01T00:00:00.000Z debug m");
  EXPECT_EQ(format_line({.level = LogLevel::warn, .time = CalendarTime{-1us}, .message = "m"}),
            "1969-12-31T23:59:59.999Z warn  m");
  EXPECT_EQ(format_line({.time = std::chrono::sys_days{std::chrono::year{987} / 2 / 3}, .message = "m"}),
            "0987-02-03T00:00:00.000Z info  m");
}

TEST(LogLine, ShowsValuesOfEveryKind) {
  EXPECT_EQ(shown(true), "true");
  EXPECT_EQ(shown(false), "false");
  EXPECT_EQ(shown(-5), "-5");
  EXPECT_EQ(shown(std::uint8_t{200}), "200");
  EXPECT_EQ(shown(7U), "7");
  EXPECT_EQ(shown(8LL), "8");
  EXPECT_EQ(shown(9ULL), "9");
  EXPECT_EQ(shown(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(shown(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(shown(0.1), "0.1");
  EXPECT_EQ(shown(1.5F), "1.5");
  EXPECT_EQ(shown(-std::numeric_limits<double>::denorm_min()), "-5e-324");
  EXPECT_EQ(shown(-std::numeric_limits<double>::max()), "-1.7976931348623157e+308");
  EXPECT_EQ(shown(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(shown(std::string("text")), "text");
  EXPECT_EQ(shown(std::string_view("view")), "view");
  EXPECT_EQ(shown({}), "\"\"");
}

TEST(LogLine, QuotesValuesThatWouldNotReadAsOne) {
  EXPECT_EQ(shown("a/b:c,d-e"), "a/b:c,d-e");
  EXPECT_EQ(shown("caf\xc3\xa9"), "caf\xc3\xa9");
  EXPECT_EQ(shown(""), R"("")");
  EXPECT_EQ(shown("with space"), R"("with space")");
  EXPECT_EQ(shown("a=b"), R"("a=b")");
  EXPECT_EQ(shown(R"(say "hi")"), R"("say \"hi\"")");
  EXPECT_EQ(shown(R"(back\slash)"), R"("back\\slash")");
}

TEST(LogLine, EscapesWhatWouldBreakTheLineOrTheTerminal) {
  EXPECT_EQ(shown("two\nlines\r\tend"), R"("two\nlines\r\tend")");
  EXPECT_EQ(shown(std::string_view("\0\x1b[31m\x7f", 7)), R"("\x00\x1b[31m\x7f")");
  EXPECT_EQ(shown("\xff\xc3"), R"("\xff\xc3")");
  EXPECT_EQ(shown("\xc2\x85\xc2\x9b"), R"("\xc2\x85\xc2\x9b")");
  EXPECT_EQ(shown("\xe2\x80\xa8\xe2\x80\xa9"), R"("\xe2\x80\xa8\xe2\x80\xa9")");
  EXPECT_EQ(shown("\xe2\x80\xa6"), "\xe2\x80\xa6");
  EXPECT_EQ(line_of("say \"hi\"\n\\ \xfe"), R"(2026-11-15T04:36:02.123Z info  say "hi"\n\\ \xfe)");
}

TEST(LogLine, KeepsKeysOneWord) {
  EXPECT_EQ(line_of("m", {{"a b=c\"d\n\xff", 1}, {"", 2}, {"caf\xc3\xa9", 3}}),
            "2026-11-15T04:36:02.123Z info  m a_b_c_d__=1 _=2 caf\xc3\xa9=3");
}

RC_GTEST_PROP(LogLine, IsOneVisibleLineWhateverItHolds, ()) {
  const auto bytes = rc::gen::container<std::string>(rc::gen::arbitrary<char>());
  const std::string message = *bytes;
  const std::string key = *bytes;
  const std::string value = *bytes;
  const std::string line = line_of(message, {{key, value}});
  RC_ASSERT(detail::is_utf8(line));
  RC_ASSERT(std::none_of(line.begin(), line.end(), [](char c) { return (c >= 0 && c < ' ') || c == 0x7f; }));
}

TEST(Log, GivesTheRecordTheTimeOfTheLoggersClock) {
  ManualClock clock(kTime);
  KeepingLogger logger(LogLevel::info, clock);
  const std::string id = "order-7";
  log(logger, LogLevel::info, "started", {{"instance", id}, {"attempt", 1}});
  clock.advance(1h);
  log(logger, LogLevel::warn, "late");
  EXPECT_EQ(logger.lines(),
            (std::vector<std::string>{"2026-11-15T04:36:02.123Z info  started instance=order-7 attempt=1",
                                      "2026-11-15T05:36:02.123Z warn  late"}));
}

TEST(Log, WritesNothingBelowTheMinimum) {
  const ManualClock clock;
  KeepingLogger logger(LogLevel::warn, clock);
  log(logger, LogLevel::debug, "m");
  log(logger, LogLevel::info, "m");
  EXPECT_TRUE(logger.lines().empty());
}

TEST(StderrLogger, WritesEachRecordAsOneLineInOneWrite) {
  const ManualClock clock(kTime);
  CapturedStderr captured;
  const std::shared_ptr<Logger> logger = stderr_logger(LogLevel::info, clock);
  log(*logger, LogLevel::debug, "not wanted");
  log(*logger, LogLevel::info, "first", {{"n", 1}});
  log(*logger, LogLevel::error, "second\n");
  EXPECT_EQ(captured.writes(), (std::vector<std::string>{"2026-11-15T04:36:02.123Z info  first n=1\n",
                                                         "2026-11-15T04:36:02.123Z error second\\n\n"}));
}

TEST(StderrLogger, DoesNotMixTheLinesOfThreads) {
  const ManualClock clock(kTime);
  CapturedStderr captured;
  const std::shared_ptr<Logger> logger = stderr_logger(LogLevel::debug, clock);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&logger] {
        for (int n = 0; n < 10; ++n) log(*logger, LogLevel::debug, "m");
      });
    }
  }
  EXPECT_EQ(captured.writes(), std::vector<std::string>(40, "2026-11-15T04:36:02.123Z debug m\n"));
}

TEST(StderrLogger, EnablesItsMinimumAndAboveButNeverOff) {
  const std::shared_ptr<Logger> warn = stderr_logger(LogLevel::warn);
  EXPECT_FALSE(warn->enabled(LogLevel::info));
  EXPECT_TRUE(warn->enabled(LogLevel::warn));
  EXPECT_TRUE(warn->enabled(LogLevel::error));
  EXPECT_FALSE(warn->enabled(LogLevel::off));
  EXPECT_FALSE(stderr_logger(LogLevel::off)->enabled(LogLevel::error));
  EXPECT_FALSE(stderr_logger(LogLevel::off)->enabled(LogLevel::off));
  EXPECT_EQ(&warn->clock(), &real_clock());
}

TEST(NullLogger, WantsNothing) {
  const std::shared_ptr<Logger> logger = null_logger();
  EXPECT_FALSE(logger->enabled(LogLevel::error));
  log(*logger, LogLevel::error, "m", {{"key", 1}});
  EXPECT_EQ(logger, null_logger());
}

TEST(LogLevel, HasNames) {
  EXPECT_EQ(to_string(LogLevel::debug), "debug");
  EXPECT_EQ(to_string(LogLevel::warn), "warn");
  EXPECT_EQ(to_string(LogLevel::off), "off");
  EXPECT_EQ(to_string(static_cast<LogLevel>(99)), "unknown");
}

}  // namespace
}  // namespace holdfast
