// Comparison: two stores that are told to do the same, step by step.
#pragma once

#include "testkit/conformance/model/answered_requests.hpp"
#include "testkit/conformance/model/differences.hpp"
#include "testkit/conformance/model/operations.hpp"
#include "testkit/conformance/model/world.hpp"

#include <holdfast/testing/model_comparison.hpp>

#include <array>
#include <concepts>
#include <exception>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace holdfast::testing::model {

/// Both stores begin empty, and share one clock. For one thread.
class Comparison {
 public:
  /// Without `states` only answers are compared.
  Comparison(const StoreSubject& model, const StoreSubject& subject, bool states);

  /// Runs a step on both. Nothing more may be run once something differed.
  Differences run(const Step& step);

  [[nodiscard]] const World& world() const noexcept { return world_; }
  /// From now on the model's answers are kept as text, which takes time.
  void keep_answers() noexcept { keeps_answers_ = true; }
  /// What the model answered to the last step, if answers are kept.
  [[nodiscard]] const std::string& answer() const noexcept { return answer_; }

 private:
  /// One of the two.
  struct Side {
    Side(const StoreSubject& subject, const Clock& clock);
    OpenHandle open;
    std::array<std::shared_ptr<Store>, 3> handles;  // by On
    [[nodiscard]] Store& at(On on) const { return *handles[static_cast<std::size_t>(on)]; }
  };

  // Makes the same call on both, and compares the answers. Gives the model's answer, or nothing when one of
  // them threw. `level` may even out what stores are free to choose.
  template <class Call>
  auto ask(On on, const std::string& what, Call call);
  template <class Call, class Level>
  auto ask(On on, const std::string& what, Call call, Level level);
  template <class Call>
  auto attempt(bool is_model, Store& store, Call& call)
      -> std::optional<std::remove_cvref_t<std::invoke_result_t<Call&, Store&>>>;
  void compare_states(On on, const std::string& what);
  void check_invariants(const store::StoreState& before, const store::StoreState& after);
  // How long until something is due may be too short, never too long: a Doze finds out. Until then the two
  // may differ.
  template <class Answer>
  void take_next_due(const Answer& model, Answer& subject);

  // How each kind of step is done.
  void perform(const Join& op);
  void perform(const Refresh& op);
  void perform(const Leave& op);
  void perform(const FetchTurns& op);
  void perform(const CommitTurns& op);
  void perform(const ReleaseTurns& op);
  void perform(const RenewTurns& op);
  void perform(const ReadHistory& op);
  void perform(const WakeParked& op);
  void perform(const FetchActivities& op);
  void perform(const FinishActivities& op);
  void perform(const RenewActivities& op);
  void perform(const AcknowledgeCancels& op);
  void perform(const AcquireSession& op);
  void perform(const RenewSessions& op);
  void perform(const ReleaseSessions& op);
  void perform(const CloseSession& op);
  void perform(const AskForSession& op);
  void perform(const DiscardSessionState& op);
  void perform(const AcknowledgeEnds& op);
  void perform(const FailSession& op);
  void perform(const Start& op);
  void perform(const Send& op);
  void perform(const SetSuspended& op);
  void perform(const Delete& op);
  void perform(const Prune& op);
  void perform(const AskQuestions& op);
  void perform(const FetchQuestions& op);
  void perform(const AnswerQuestions& op);
  void perform(const TakeAnswers& op);
  void perform(const LookAround& op);
  void perform(const Doze& op);
  void perform(const Sweep& op);
  void perform(const Advance& op);
  void perform(const StepCalendar& op);
  void perform(const Reopen& op);

  // What the model answered; empty-handed after an error.
  store::FetchedTurns fetch(const FetchTurns& op, LockToken token);
  store::FetchedActivities fetch(const FetchActivities& op, LockToken token);
  store::Swept sweep(const Sweep& op);
  // Whether there was time to sleep.
  bool sleep();
  void not_after_sleep(const std::string& what);
  void note_answer(On on, RequestId request, InstanceKey key, bool is_new);
  void look_at_instances(On on);
  void look_at_lists(On on);
  void look_at_attributes(On on);
  void look_at_workers(On on);
  void look_at_sessions(On on);

  World world_{};
  Side model_;
  Side subject_;
  std::uint32_t step_ = 0;
  std::set<InstanceKey> committed_{};  // in this step
  AnsweredRequests answered_{};
  Differences found_{};
  Duration next_due_model_{};
  Duration next_due_subject_{};
  Difference told_{};  // before a sleep
  bool compares_states_;
  bool keeps_answers_ = false;
  std::string answer_{};
};

template <class Answer>
void Comparison::take_next_due(const Answer& model, Answer& subject) {
  next_due_model_ = model.next_due;
  next_due_subject_ = std::exchange(subject.next_due, model.next_due);
}

template <class Call>
auto Comparison::attempt(bool is_model, Store& store, Call& call)
    -> std::optional<std::remove_cvref_t<std::invoke_result_t<Call&, Store&>>> {
  try {
    return call(store);
  } catch (const std::exception& e) {
    found_.push_back({"an exception", is_model ? e.what() : "nothing", is_model ? "nothing" : e.what()});
    return std::nullopt;
  }
}

template <class Call, class Level>
auto Comparison::ask(On on, const std::string& what, Call call, Level level) {
  auto model = attempt(true, model_.at(on), call);
  auto subject = attempt(false, subject_.at(on), call);
  if (model && subject) {
    if (keeps_answers_) answer_.append(answer_.empty() ? "" : "; ").append(words(*model));
    level(*model, *subject);
    compare(what, *model, *subject, found_);
  }
  return model;
}

template <class Call>
auto Comparison::ask(On on, const std::string& what, Call call) {
  return ask(on, what, std::move(call), [](auto&, auto&) {});
}

}  // namespace holdfast::testing::model
