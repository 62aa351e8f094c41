// A small world around one program: a script says what happens to its operations, and when.
#pragma once

#include "engine/checked_test.hpp"
#include "engine/program_test.hpp"
#include "engine/record_test.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::engine {

/// Something that happens: one message, or none when there is nothing it could happen to.
struct Step {
  enum class What : std::uint8_t {
    complete,         ///< an open operation
    fail,             ///< an open operation
    raise,            ///< an event, waited for or not
    send,             ///< a message to a mailbox
    news,             ///< of a session, waited for or not
    deliver,          ///< to whatever the code waits for
    cancel,           ///< a request
    late,             ///< an outcome for any operation that ever was, open or not
    unknown,          ///< an outcome for an operation that never was
    wrong_execution,  ///< an outcome for an open operation, but of another execution
    start_again,      ///< the start, once more
  };
  What what = What::complete;
  unsigned pick = 0;     ///< which one
  unsigned variant = 0;  ///< which value or failure
  friend bool operator==(const Step&, const Step&) = default;
};

/// The messages of one turn.
struct ScriptedTurn {
  std::vector<Step> steps{};
  CheckedExecution::Frames then = CheckedExecution::Frames::kept;
  bool terminate = false;  ///< instead of running
  friend bool operator==(const ScriptedTurn&, const ScriptedTurn&) = default;
};

/// A program and what happens to it: all that a run depends on.
struct Case {
  Program program{};
  std::uint64_t seed = 0;       ///< of the execution
  unsigned early = 0;           ///< how many steps of the first turn come before the start
  bool born_cancelled = false;  ///< the request came before the start
  std::vector<ScriptedTurn> turns{};
  unsigned more = 0;       ///< turns after those of the script, in which all that is open completes
  unsigned old_turns = 0;  ///< how many turns go by before the code is the patched one
  friend bool operator==(const Case&, const Case&) = default;
};

/// As JSON, in one line: to be put into a file, or pasted into a test.
std::string to_text(const Case& what);
/// The inverse. Throws DecodeError.
Case case_of(const std::string& text);

/// What happened.
struct Run {
  std::vector<std::vector<TurnRecord>> executions{};
  std::vector<std::string> problems{};
};

/// Runs a case to its end, and checks everything at each turn.
Run run(const Case& what);

/// Replays what another build has recorded of the execution with this number, in strict mode. Empty when
/// there is no problem.
std::string replay(const std::vector<TurnRecord>& execution, std::uint64_t number);

/// The segments of what was recorded.
std::vector<std::string> segments_of(const std::vector<TurnRecord>& execution);
/// Replays it with the code that is deployed, and gives the first difference.
std::optional<Problem> first_difference(const std::vector<TurnRecord>& execution, std::uint64_t number);

}  // namespace holdfast::engine
