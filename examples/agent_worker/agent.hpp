// What those who talk to the agent and its workers agree on.
#pragma once

#include <holdfast/activity.hpp>
#include <holdfast/context.hpp>
#include <holdfast/messages.hpp>
#include <holdfast/orchestration.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace agent {

/// What a user says. The id finds the answer.
struct Line {
  std::string id;
  std::string text;
};

struct Answer {
  std::string id;  ///< of the line
  int turn = 0;    ///< the number of the line in its conversation, as the worker remembers it
  std::string text;
  std::string worker;
  bool last = false;  ///< the user said goodbye
};

/// A conversation as its users see it: the custom status of its instance. What was said in it is not here;
/// the worker that holds its session remembers that.
struct Talk {
  std::vector<Answer> recent;  ///< the last answers
};
inline constexpr std::size_t kRecentAnswers = 32;

inline constexpr holdfast::Orchestration<Talk(Talk)> converse{"converse"};
inline constexpr holdfast::Mailbox<Line> said{"said"};
inline constexpr holdfast::Activity<Answer(Line)> reply{"reply", {.timeout = std::chrono::minutes(1)}};

/// The code of a conversation: answers one line after the other, in the session that has its name.
holdfast::Task<Talk> hold_conversation(holdfast::Context& ctx, Talk talk);

}  // namespace agent
