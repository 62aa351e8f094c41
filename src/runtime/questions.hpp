// Questions: answers what clients ask of instances whose code this worker has.
#pragma once

#include "base/moments.hpp"
#include "base/mutex.hpp"
#include "runtime/answering.hpp"
#include "runtime/question_frames.hpp"
#include "runtime/settings.hpp"
#include "runtime/standing.hpp"
#include "runtime/steps.hpp"
#include "runtime/store_trouble.hpp"
#include "runtime/waker.hpp"

#include <holdfast/store.hpp>

#include <atomic>
#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace holdfast::runtime {

/// Any thread brings questions; the step answers them, one instance after the other. It reads the store after
/// a question came, so that the answer knows all that was committed before. The frames that it asks are its
/// own: turns neither wait for them nor see what a handler does to them. Code that takes too long costs that
/// frame and, in place, its thread: the limits step gives both up.
class Questions final : public store::LocalAsks::Taker, private AnswerHost {
 public:
  Questions(const Settings& settings, const Standing& standing, Waker& waker);
  ~Questions() override;

  /// What must live as long as code runs on executors.
  void keep_alive(std::weak_ptr<const void> owner) { owner_ = std::move(owner); }

  bool take(const store::Ask& ask, const store::LocalAsks::Done& done) override;
  /// Processes elsewhere may have asked something.
  void want_asks() noexcept { asks_wanted_ = true; }

  /// `run` is the number of this call.
  Progress step(RunId run);
  /// Gives up code that has taken too long. Returns the runs that it was in, and does not come back to.
  std::vector<RunId> give_up_overdue();
  [[nodiscard]] BootTime next_overdue() const;
  /// Nothing is answered from now on, and frames are let go of: for after the last step.
  void close();

 private:
  using Kind = store::AskAnswer::Kind;
  using ByInstance = std::map<InstanceKey, std::vector<Question>>;
  /// Code that runs, or is on its way to an executor.
  struct Running {
    std::shared_ptr<Answering> work{};
    std::vector<Question> questions{};
    std::size_t answered = 0;
    BootTime until = BootTime::max();
  };

  /// Questions of other processes, and what they are answered.
  void fetch_asks();
  void send_answers();
  [[nodiscard]] store::LocalAsks::Done answer_in_store();

  ByInstance take_due(BootTime now);
  [[nodiscard]] BootTime next_due() const;
  /// False when the run was given up.
  bool answer(RunId run, std::vector<Question>&& questions, const std::optional<store::InstanceView>& view);
  void refuse(const std::vector<Question>& questions, Kind kind, const std::string& why) const;
  void put_off(std::vector<Question>&& questions, Duration pause);
  /// Null, and `missing` says what this worker lacks, when it has no code for the instance.
  [[nodiscard]] std::shared_ptr<const detail::OrchestrationCode> code_of(const store::InstanceView& view,
                                                                         std::string& missing) const;
  /// False when the store could not be read; nothing when there is no such instance.
  std::optional<bool> read_history(Answering& work);
  bool run(const std::shared_ptr<Answering>& work);
  void send(const std::shared_ptr<Answering>& work);
  void settle(Answering& work);

  void begin(Answering& work, Duration limit) override;
  bool came_back(Answering& work) override;
  bool answered(Answering& work, const bodies::Answer& answer) override;
  [[nodiscard]] std::vector<Running>::iterator find(const Answering& work) HOLDFAST_REQUIRES(mutex_);

  const Settings& settings_;
  const Standing& standing_;
  Waker& waker_;
  StoreTrouble trouble_;
  QuestionFrames frames_;
  std::weak_ptr<const void> owner_;
  /// What executors have been given may outlive this, and does nothing then.
  struct Link {
    std::atomic<bool> closed{false};
  };
  const std::shared_ptr<Link> link_ = std::make_shared<Link>();
  mutable Mutex mutex_;
  bool closed_ HOLDFAST_GUARDED_BY(mutex_) = false;
  std::list<Question> waiting_ HOLDFAST_GUARDED_BY(mutex_);
  std::vector<Running> running_ HOLDFAST_GUARDED_BY(mutex_);
  std::vector<store::AskAnswer> answers_ HOLDFAST_GUARDED_BY(mutex_);  // for other processes
  std::atomic<bool> asks_wanted_{true};
  BootTime again_at_ = BootTime::max();  // the step's own: the store did not answer
};

}  // namespace holdfast::runtime
