// Answering: questions to one instance, and the frame that answers them. It is never one that turns use: it
// is made for questions only, by replay.
#pragma once

#include "client/bodies.hpp"
#include "engine/execution.hpp"
#include "runtime/frame.hpp"
#include "runtime/frame_home.hpp"
#include "runtime/steps.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/detail/orchestration.hpp>
#include <holdfast/ids.hpp>
#include <holdfast/store/asks.hpp>
#include <holdfast/store/turns.hpp>

#include <cstddef>
#include <memory>
#include <vector>

namespace holdfast::runtime {

/// One question that waits, or is being answered.
struct Question {
  store::Ask ask{};
  store::LocalAsks::Done done{};  ///< empty once it was answered
  BootTime came{};
  BootTime until{};       ///< nobody waits for the answer after that
  BootTime not_before{};  ///< it can't be answered before
};

struct Answering;

/// Who bounds what code may take. Called in the thread that runs the code.
class AnswerHost {
 public:
  /// Code runs from now on, and has so long.
  virtual void begin(Answering& work, Duration limit) = 0;
  /// It has ended. False: it was given up before, and nobody waits for it.
  virtual bool came_back(Answering& work) = 0;
  /// The answer to the next question. False as above.
  virtual bool answered(Answering& work, const bodies::Answer& answer) = 0;

 protected:
  ~AnswerHost() = default;
};

/// What is needed to answer, and what comes of it. It belongs to whoever works on it, except for the
/// questions themselves, which are the host's.
struct Answering {
  InstanceKey key{};
  engine::Identity identity{};
  std::shared_ptr<const detail::OrchestrationCode> code{};
  std::shared_ptr<FrameHome> home{};      ///< where the frame lives; null: in place
  Frame frame{};                          ///< null: it has to be made
  std::vector<store::Segment> history{};  ///< what the frame does not know; all of it where there is none
  Duration replay_limit{};
  Duration handler_limit{};
  std::vector<store::Ask> asks{};
  RunId run{};  ///< of the step that it runs in; none on an executor

  enum class Came : std::uint8_t {
    answered,   ///< all, or those before a handler that spoiled the frame
    not_begun,  ///< the execution has not had its first turn
    continued,  ///< the instance goes on in another execution
    differs,    ///< the code does not fit what the frame did not know: it has to be made from the beginning
    given_up,
  };
  Came came = Came::answered;
};

/// Replays and asks, where the frame lives. It throws nothing.
void work_on(Answering& work, AnswerHost& host);

}  // namespace holdfast::runtime
