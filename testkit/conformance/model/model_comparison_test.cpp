// The comparison itself: it finds nothing between equals, and every planted mistake, in few steps.
#include "testkit/support/forwarding_store.hpp"

#include <holdfast/testing/model_comparison.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace holdfast::testing {
namespace {

using support::ForwardingStore;

// Memory stores with a mistake.
template <class Mistaken>
StoreSubject mistaken() {
  return {"mistaken", [](const Clock& clock) -> OpenHandle {
            return [open = memory_subject().database(clock)](const std::string& ns) {
              return std::make_shared<Mistaken>(open(ns));
            };
          }};
}

template <class Mistaken>
ModelDifference expect_found() {
  const auto difference = compare_with_model(mistaken<Mistaken>(), {.programs = 300});
  EXPECT_TRUE(difference) << "the mistake was not found";
  return difference.value_or(ModelDifference{});
}

TEST(ModelComparison, FindsNothingInTheMemoryStore) {
  const auto difference = compare_with_model(memory_subject(), from_environment({.programs = 400}));
  EXPECT_FALSE(difference) << to_string(*difference);
}

class ForgetsToConsume : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  std::vector<StoreResult<store::Committed>> commit_turns(
      const store::CommitRequest& request, std::span<const store::TurnCommit> commits) override {
    std::vector<store::TurnCommit> changed(commits.begin(), commits.end());
    for (store::TurnCommit& commit : changed) {
      if (commit.consumed.size() > 1) commit.consumed.pop_back();
    }
    return to().commit_turns(request, changed);
  }
};
TEST(ModelComparison, FindsAMessageThatIsNotConsumed) {
  const ModelDifference difference = expect_found<ForgetsToConsume>();
  EXPECT_LE(difference.steps, 12U) << to_string(difference);
}

class RefusesLapsedTokens : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  std::vector<StoreResult<void>> renew_turns(WorkerKey worker, Duration lease,
                                             std::span<const store::TurnRenewal> turns) override {
    std::vector<StoreResult<void>> answers;
    for (const store::TurnRenewal& turn : turns) {
      if (is_over(turn.key)) {
        answers.emplace_back(Unexpected(StoreError{.kind = StoreError::Kind::lost}));
      } else {
        answers.push_back(to().renew_turns(worker, lease, {&turn, 1}).front());
      }
    }
    return answers;
  }

 private:
  bool is_over(InstanceKey key) {
    const store::StoreState state = to().state().value();
    return std::any_of(state.instances.begin(), state.instances.end(), [&](const store::InstanceRow& row) {
      return row.view.key == key && row.lease_left == Duration{};
    });
  }
};
TEST(ModelComparison, FindsALapsedTokenThatNoLongerCounts) {
  const ModelDifference difference = expect_found<RefusesLapsedTokens>();
  EXPECT_LE(difference.steps, 12U) << to_string(difference);
  EXPECT_NE(difference.found.find("renew_turns"), std::string::npos) << difference.found;
}

class IgnoresPriority : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  StoreResult<store::FetchedActivities> fetch_activities(const store::ActivityRequest& request) override {
    StoreResult<store::FetchedActivities> fetched = to().fetch_activities(request);
    if (!fetched) return fetched;
    const auto by_id = [](const auto& a, const auto& b) { return a.id < b.id; };
    std::sort(fetched->activities.begin(), fetched->activities.end(), by_id);
    return fetched;
  }
};
TEST(ModelComparison, FindsPrioritiesThatAreIgnored) {
  const ModelDifference difference = expect_found<IgnoresPriority>();
  EXPECT_LE(difference.steps, 12U) << to_string(difference);
  EXPECT_NE(difference.found.find("the order"), std::string::npos) << difference.found;
}

class SendsTwice : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  std::vector<StoreResult<InstanceKey>> send(std::span<const store::ClientMessage> messages) override {
    std::vector<store::ClientMessage> changed(messages.begin(), messages.end());
    for (store::ClientMessage& message : changed) message.request = {};
    return to().send(changed);
  }
};
TEST(ModelComparison, FindsARequestThatTakesEffectTwice) {
  const ModelDifference difference = expect_found<SendsTwice>();
  EXPECT_LE(difference.steps, 12U) << to_string(difference);
}

class Throws : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  StoreResult<void> leave(WorkerKey /*worker*/) override { throw std::runtime_error("out of luck"); }
};
TEST(ModelComparison, TakesAnExceptionForADifference) {
  const ModelDifference difference = expect_found<Throws>();
  EXPECT_EQ(difference.steps, 1U);
  EXPECT_NE(difference.found.find("out of luck"), std::string::npos) << difference.found;
}

TEST(ModelComparison, PrintsAProgramThatRunsAgain) {
  const ModelDifference difference = expect_found<ForgetsToConsume>();
  EXPECT_NE(run_program(mistaken<ForgetsToConsume>(), difference.program), "") << difference.program;
  EXPECT_EQ(run_program(memory_subject(), difference.program), "");
}

TEST(ModelComparison, SaysHowToFindItAgain) {
  const auto found = compare_with_model(mistaken<Throws>(), {.programs = 300, .command = "./my_test"});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->repeat, "HOLDFAST_MODEL_SEED=" + std::to_string(found->seed) +
                               " HOLDFAST_MODEL_PROGRAMS=1 HOLDFAST_MODEL_STEPS=80 ./my_test");
  const auto again = compare_with_model(mistaken<Throws>(), {.seed = found->seed, .programs = 1});
  ASSERT_TRUE(again);
  EXPECT_EQ(again->program, found->program);
}

TEST(ModelComparison, RefusesTextThatIsNoProgram) {
  EXPECT_THROW(run_program(memory_subject(), "1 jump"), std::invalid_argument);
  EXPECT_THROW(run_program(memory_subject(), "join"), std::invalid_argument);
  EXPECT_THROW(run_program(memory_subject(), "1 join {\"node\":\"eve\"}"), std::invalid_argument);
}

}  // namespace
}  // namespace holdfast::testing
