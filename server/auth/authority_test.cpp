#include "server/auth/authority.hpp"

#include "server/auth/secrets.hpp"
#include "testkit/support/lines.hpp"
#include "testkit/support/temporary_folder.hpp"

#include <holdfast/clock.hpp>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::server::authority_test {

using namespace std::chrono_literals;

class Tokens : public ::testing::Test {
 protected:
  NewToken add(Role role, std::vector<std::string> namespaces = {"default"},
               std::optional<Duration> life = {}) {
    NewToken made = make_token("somebody", role, std::move(namespaces), clock.calendar_now(), life);
    file.add(made.record);
    return made;
  }
  Authority authority() { return {file, log, clock}; }
  static std::string bearer(const NewToken& token) { return "Bearer " + token.text; }
  void look_again() { clock.advance(1s); }

  support::TemporaryFolder folder;
  TokenFile file{folder / "tokens"};
  ManualClock clock;
  std::shared_ptr<support::Lines> log = std::make_shared<support::Lines>();
};

TEST_F(Tokens, SayWhoCalls) {
  const NewToken ours = add(Role::operate, {"shop", "bank"});
  add(Role::admin, {"*"});
  Authority authority = this->authority();
  EXPECT_EQ(authority.tokens(), 2U);
  const std::optional<Caller> caller = authority.caller(bearer(ours));
  ASSERT_TRUE(caller);
  EXPECT_EQ(caller->id, ours.record.id);
  EXPECT_EQ(caller->name, "somebody");
  EXPECT_TRUE(caller->covers("bank"));
  EXPECT_FALSE(caller->covers("default"));
  EXPECT_TRUE(caller->may(Role::operate));
  EXPECT_FALSE(caller->may(Role::worker));
  EXPECT_FALSE(caller->may(Role::admin));
  EXPECT_TRUE(authority.caller("bearer  " + ours.text + " "));
}

TEST_F(Tokens, WhatIsNoTokenIsNobody) {
  const NewToken ours = add(Role::operate);
  Authority authority = this->authority();
  EXPECT_FALSE(authority.caller(std::nullopt));
  std::string changed = bearer(ours);
  changed.back() = changed.back() == '0' ? '1' : '0';
  for (const std::string& wrong :
       {std::string(), std::string("Bearer"), std::string("Bearer "), std::string("Basic ") + ours.text,
        ours.text, changed, bearer(ours) + "0", bearer(ours).substr(0, 40),
        "Bearer hft_" + ours.record.id + "_", "Bearer hft_" + ours.record.id, "Bearer " + ours.record.sha256,
        std::string("Bearer hft_0000000000000000_") + std::string(64, '0')}) {
    EXPECT_FALSE(authority.caller(wrong)) << wrong;
  }
}

TEST_F(Tokens, TheFileHoldsNoSecret) {
  const NewToken ours = add(Role::operate);
  std::ifstream in(file.path());
  std::ostringstream text;
  text << in.rdbuf();
  EXPECT_EQ(text.str().find(ours.text.substr(ours.text.rfind('_') + 1)), std::string::npos);
  EXPECT_NE(text.str().find(sha256_hex(ours.text)), std::string::npos);
  struct stat status{};
  ASSERT_EQ(::stat(file.path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(Tokens, CountFromWhenTheyAreAddedUntilTheyAreRevokedOrExpire) {
  const NewToken first = add(Role::operate);
  Authority authority = this->authority();
  EXPECT_TRUE(authority.caller(bearer(first)));
  const NewToken second = add(Role::operate, {"default"}, 10s);
  look_again();
  EXPECT_TRUE(authority.caller(bearer(second)));
  EXPECT_TRUE(file.remove(first.record.id));
  EXPECT_FALSE(file.remove(first.record.id));
  look_again();
  EXPECT_FALSE(authority.caller(bearer(first)));
  clock.advance(8s);
  EXPECT_FALSE(authority.caller(bearer(second)));
  EXPECT_EQ(authority.tokens(), 0U);
}

TEST_F(Tokens, NobodyIsLetInWhileTheFileIsGone) {
  const NewToken ours = add(Role::operate);
  Authority authority = this->authority();
  EXPECT_TRUE(authority.caller(bearer(ours)));
  std::filesystem::rename(file.path(), folder / "away");
  look_again();
  EXPECT_FALSE(authority.caller(bearer(ours)));
  EXPECT_TRUE(log->wait_for("nobody is let in, since the tokens can't be read"));
  std::filesystem::rename(folder / "away", file.path());
  look_again();
  EXPECT_TRUE(authority.caller(bearer(ours)));
}

TEST_F(Tokens, AFileThatOthersMayWriteIsNotTrusted) {
  const NewToken ours = add(Role::operate);
  ::chmod(file.path().c_str(), 0620);
  Authority authority = this->authority();
  EXPECT_FALSE(authority.caller(bearer(ours)));
  EXPECT_TRUE(log->wait_for("may be written by others than its owner"));
  ::chmod(file.path().c_str(), 0644);
  look_again();
  EXPECT_TRUE(authority.caller(bearer(ours)));
}

TEST_F(Tokens, ALineThatCannotBeReadCountsForNobodyElse) {
  const NewToken ours = add(Role::operate);
  std::ofstream(file.path(), std::ios::app)
      << "# a comment\n\nnonsense\n{\"id\":\"a\",\"role\":\"king\",\"sha256\":\"" + std::string(64, '0') +
             "\"}\n{\"id\":\"b\"}\n";
  const TokenList list = file.read();
  EXPECT_EQ(list.tokens.size(), 1U);
  ASSERT_EQ(list.problems.size(), 3U);
  EXPECT_TRUE(list.problems[0].starts_with("line 4 of ")) << list.problems[0];
  EXPECT_NE(list.problems[1].find("'king' is no role"), std::string::npos) << list.problems[1];
  EXPECT_TRUE(authority().caller(bearer(ours)));
  const NewToken another = add(Role::operate);  // keeps what it does not understand
  EXPECT_EQ(file.read().problems.size(), 3U);
  EXPECT_TRUE(authority().caller(bearer(another)));
}

TEST_F(Tokens, ManyMayAddAtATime) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([this] {
      for (int k = 0; k < 10; ++k) add(Role::worker);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(file.read().tokens.size(), 40U);
}

TEST_F(Tokens, WithoutAFileEverybodyIsAnAdmin) {
  Authority authority(std::nullopt, log, clock);
  EXPECT_TRUE(authority.open());
  const std::optional<Caller> caller = authority.caller(std::nullopt);
  ASSERT_TRUE(caller);
  for (const Role role : {Role::worker, Role::operate, Role::admin}) EXPECT_TRUE(caller->may(role));
  EXPECT_TRUE(caller->covers("anything"));
}

TEST(MakingTokens, RefusesWhatMakesNoSense) {
  EXPECT_THROW(static_cast<void>(make_token("a", Role::worker, {}, {}, {})), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(make_token("a\nb", Role::worker, {"*"}, {}, {})), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(parse_role("king")), std::invalid_argument);
}

TEST(Secrets, HashesAreThoseOfTheStandard) {
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_TRUE(same_secret("abc", "abc"));
  EXPECT_FALSE(same_secret("abc", "abd"));
  EXPECT_FALSE(same_secret("abc", "ab"));
  EXPECT_NE(random_hex(16), random_hex(16));
}

}  // namespace holdfast::server::authority_test
