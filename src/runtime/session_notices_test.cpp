#include "runtime/session_notices.hpp"

#include <holdfast/log.hpp>
#include <holdfast/memory.hpp>

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::runtime::session_notices_test {
namespace {

class Later final : public Executor {
 public:
  void post(Work work) override { work_.push_back(std::move(work)); }
  void run_all() {
    while (!work_.empty()) {
      Work work = std::move(work_.front());
      work_.pop_front();
      work();
    }
  }

 private:
  std::deque<Work> work_;
};

class SessionNoticesTest : public ::testing::Test {
 protected:
  Registry with_hooks() {
    Registry registry;
    registry.hooks().acquired = [this](const SessionNotice& notice) {
      heard.push_back("+" + notice.id);
      if (notice.id == "bad") throw std::runtime_error("no");
    };
    registry.hooks().released = [this](const SessionNotice& notice) { heard.push_back("-" + notice.id); };
    return registry;
  }
  void note(SessionChange::Kind kind, const std::string& id) {
    notices.note({.kind = kind, .hold = {id, Generation{1}}});
  }

  std::vector<std::string> heard;
  ManualClock clock;
  SeededRandom random{1};
  Settings settings{memory({.clock = &clock}), {.logger = null_logger()}, with_hooks(), random};
  Later executor;
  UserJobs jobs{executor};
  SessionNotices notices{settings, jobs};
};

using Kind = SessionChange::Kind;

TEST_F(SessionNoticesTest, HooksHearInTheOrderOfWhatHappened) {
  note(Kind::claimed, "a");
  note(Kind::lapsed, "a");  // nobody wants to know
  note(Kind::left, "a");
  note(Kind::came, "b");
  notices.begin();
  notices.begin();
  EXPECT_TRUE(heard.empty()) << "not in the thread that notes it";
  EXPECT_FALSE(jobs.are_done());
  executor.run_all();
  EXPECT_EQ(heard, (std::vector<std::string>{"+a", "-a", "+b"}));
  EXPECT_TRUE(jobs.are_done());
}

TEST_F(SessionNoticesTest, AHookThatThrowsKeepsNobodyElseFromHearing) {
  note(Kind::claimed, "bad");
  note(Kind::claimed, "good");
  notices.begin();
  executor.run_all();
  EXPECT_EQ(heard, (std::vector<std::string>{"+bad", "+good"}));
}

TEST_F(SessionNoticesTest, NothingNotedIsNothingToRun) {
  notices.begin();
  EXPECT_TRUE(jobs.are_done());
}

}  // namespace
}  // namespace holdfast::runtime::session_notices_test
