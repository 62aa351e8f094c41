// The assistant as its users see it: conversations go on, with all that was said in them, whatever happens to
// the workers that remember them.
#include "examples/support/processes_test.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

const char* support::testing::program() { return HOLDFAST_PROGRAM; }

namespace agent {
namespace {

using support::testing::Application;
using support::testing::eventually;
using support::testing::Process;
using support::testing::StoreKind;

class House : public Application {
 public:
  using Application::Application;

  [[nodiscard]] std::unique_ptr<Process> worker(const std::string& name, const std::string& think = "10ms",
                                                const std::string& lease = "60s") const {
    return start_worker({"worker", "--name", name, "--think", think, "--lease", lease});
  }
  /// Says a line: "2 a: dog is Rex."
  [[nodiscard]] std::string say(const std::string& talk, const std::string& line) const {
    const std::string output = succeed({"say", talk, line, "--timeout", "60s"});
    return output.substr(0, output.find('\n'));
  }
  /// Somebody who says all these lines, one after the other.
  [[nodiscard]] std::unique_ptr<Process> chat(const std::string& talk, const std::string& lines) const {
    return start({"chat", talk, "--timeout", "60s"}, lines);
  }
};

std::string talk(int number) { return "talk-" + std::to_string(number); }

/// How often workers made a memory, by the talk and the generation that it was made in.
std::map<std::string, int> made(const std::vector<const Process*>& workers) {
  std::map<std::string, int> times;
  for (const Process* worker : workers) {
    for (const std::string& line : worker->lines()) {
      std::istringstream words(line);
      std::string name, learns, id, rest;
      words >> name >> learns >> id;
      std::getline(words, rest);
      if (learns == "learns") ++times[id + rest.substr(rest.rfind(' '))];
    }
  }
  return times;
}

TEST(Assistant, RemembersWithoutLearningAnewWhileAWorkerHoldsTheConversation) {
  const House house(StoreKind::sqlite);
  const auto worker = house.worker("a");
  EXPECT_EQ(house.say("t", "dog is Rex"), "1 a: I see, dog is Rex.");
  EXPECT_EQ(house.say("t", "cat is Tom"), "2 a: I see, cat is Tom.");
  EXPECT_EQ(house.say("t", "what is dog?"), "3 a: dog is Rex.");
  EXPECT_EQ(house.say("t", "what is fish?"), "4 a: You never told me what fish is.");
  EXPECT_EQ(house.say("other", "what is dog?"), "1 a: You never told me what dog is.");
  EXPECT_EQ(house.say("t", "bye"), "5 a: Goodbye.");
  EXPECT_EQ(worker->count("a answers t"), 5U);
  EXPECT_EQ(worker->count("a learns t anew"), 1U) << worker->output();
  house.expect({"say", "t", "are you there?"}, 1, "the conversation 't' is over");
}

TEST(Assistant, HandsConversationsOverWhenItsWorkerIsDrained) {
  const House house(StoreKind::sqlite);
  const auto first = house.worker("a");
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(house.say(talk(i), "dog is Rex " + std::to_string(i)),
              "1 a: I see, dog is Rex " + std::to_string(i) + ".");
  }
  const auto second = house.worker("b");
  // In the middle of a line: it is answered all the same, by one of them, once.
  const auto chat = house.chat(talk(0), "cat is Tom\nfish is Wanda\nrecite\n");
  ASSERT_TRUE(eventually([&] { return first->count("a begins talk-0") >= 2; }));
  first->signal(SIGTERM);
  EXPECT_EQ(first->wait(), 0) << first->output();
  EXPECT_EQ(first->count("a has handed over its conversations"), 1U) << first->output();
  EXPECT_EQ(chat->wait(), 0) << chat->output();
  EXPECT_NE(chat->output().find("You said: [dog is Rex 0] [cat is Tom] [fish is Wanda] [recite]"),
            std::string::npos)
      << chat->output();
  EXPECT_EQ(house.say(talk(0), "what is cat?"), "5 b: cat is Tom.");
  for (int i = 1; i < 4; ++i) {
    EXPECT_EQ(house.say(talk(i), "what is dog?"), "2 b: dog is Rex " + std::to_string(i) + ".");
    EXPECT_EQ(house.say(talk(i), "what is dog?"), "3 b: dog is Rex " + std::to_string(i) + ".");
    house.expect({"story", talk(i)}, 0, "moved from a to b (drained)");
  }
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(second->count("b learns " + talk(i) + " anew"), 1U) << second->output();
  }
}

class AssistantOn : public ::testing::TestWithParam<StoreKind> {};

INSTANTIATE_TEST_SUITE_P(Stores, AssistantOn, ::testing::Values(StoreKind::sqlite, StoreKind::postgres),
                         [](const auto& store) { return std::string(to_string(store.param)); });

/// Two workers at any time, and all that there were before.
class Crew {
 public:
  explicit Crew(const House& house) : house_(house), alive_{start("a"), start("b")} {}

  /// What they say from now on counts for kill_who_says().
  void listen() {
    for (Worker& worker : alive_) worker.heard = worker.process->lines().size();
  }
  /// Kills a worker that says this, and replaces it by one of the name that `renamed` gives.
  void kill_who_says(std::string_view text, const std::function<std::string(const std::string&)>& renamed) {
    Worker* dies = nullptr;
    ASSERT_TRUE(eventually([&] {
      for (Worker& worker : alive_) {
        const std::vector<std::string> lines = worker.process->lines();
        for (std::size_t i = worker.heard; i < lines.size(); ++i) {
          if (lines[i].find(text) != std::string::npos) dies = &worker;
        }
      }
      return dies != nullptr;
    }));
    dies->process->crash();
    *dies = start(renamed(dies->name));
  }

  [[nodiscard]] std::vector<const Process*> all() const {
    std::vector<const Process*> processes;
    for (const auto& process : ever_) processes.push_back(process.get());
    return processes;
  }

 private:
  struct Worker {
    std::string name{};
    Process* process = nullptr;
    std::size_t heard = 0;  // lines
  };
  Worker start(const std::string& name) {
    ever_.push_back(house_.worker(name, "40ms", "1s"));
    return {.name = name, .process = ever_.back().get(), .heard = 0};
  }

  const House& house_;
  std::vector<std::unique_ptr<Process>> ever_;
  std::array<Worker, 2> alive_;
};

TEST_P(AssistantOn, ForgetsNothingWhereverWorkersAreKilled) {
  const House house(GetParam());
  Crew crew(house);
  constexpr int kTalks = 3;
  const int rounds = GetParam() == StoreKind::sqlite ? 4 : 2;
  constexpr int kLines = 3;  // of a round, in each talk
  std::string recital;
  for (int round = 0; round < rounds; ++round) {
    std::string lines;
    for (int i = 1; i <= kLines; ++i) {
      const std::string line =
          "number " + std::to_string(round * kLines + i) + " is " + std::to_string(i * i);
      lines += line + "\n";
      recital += " [" + line + "]";
    }
    crew.listen();
    std::vector<std::unique_ptr<Process>> chats;
    for (int i = 0; i < kTalks; ++i) chats.push_back(house.chat(talk(i), lines));
    // Before it has learnt something, or after. Under the same name it goes on with what it held as soon as
    // it is back, under another one when the lease is over.
    crew.kill_who_says(round % 2 == 0 ? " begins talk-" : " answers talk-", [&](const std::string& name) {
      return round < rounds / 2 ? name : name + std::to_string(round);
    });
    for (const auto& chat : chats) {
      EXPECT_EQ(chat->wait(), 0) << chat->output();
      const std::vector<std::string> answers = chat->lines();
      ASSERT_EQ(answers.size(), static_cast<std::size_t>(kLines)) << chat->output();
      for (int i = 0; i < kLines; ++i) {
        const std::string turn = std::to_string(round * kLines + i + 1) + " ";
        EXPECT_TRUE(answers[static_cast<std::size_t>(i)].starts_with(turn)) << chat->output();
      }
    }
  }
  for (int i = 0; i < kTalks; ++i) {
    const std::string recited = house.say(talk(i), "recite");
    EXPECT_NE(recited.find("You said:" + recital + " [recite]"), std::string::npos) << recited;
    EXPECT_NE(house.say(talk(i), "what is number 5?").find("number 5 is 4."), std::string::npos);
  }
  // A memory was made when a worker got the conversation, and then used.
  for (const auto& [talk_and_generation, times] : made(crew.all()))
    EXPECT_EQ(times, 1) << talk_and_generation;
}

TEST(Assistant, SaysWhatIsWrongWithACommand) {
  const House house(StoreKind::sqlite);
  house.expect({"where"}, 1, "yet: start a worker, or correct --store");
  house.expect({"worker"}, 64, "worker needs a --name");
  house.expect({"say", "t"}, 64, "say needs the name of a conversation and one line");
  house.expect({"say", "t", "dog", "is", "Rex"}, 64, "'is' is too much");
  house.expect({"say", "t", "hello", "--timeout", "1ms"}, 1, "there is no answer yet; is a worker running?");
  house.expect({"story", "nobody"}, 1, "there is no conversation 'nobody'");
  const auto worker = house.worker("a");
  ASSERT_TRUE(worker->says("a answers t, turn 1"));  // what was said before it began
  house.expect({"say", "t", "recite"}, 0, "2 a: You said: [hello] [recite]");
  house.expect({"where"}, 0, "t: active on a");
  house.expect({"story", "t"}, 0, "claimed");
  worker->signal(SIGINT);
  EXPECT_EQ(worker->wait(), 0) << worker->output();
}

}  // namespace
}  // namespace agent
