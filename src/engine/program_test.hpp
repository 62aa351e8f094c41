// Orchestrations as data: a small tree that one coroutine interprets. A program is the input of its
// execution, so it goes through the codec, and everything that its code sees ends up in a trace.
#pragma once

#include <holdfast/context.hpp>
#include <holdfast/task.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::engine {

/// What a node does. `a` names something (an activity, event, mailbox, slot, key); `b` chooses a variant.
enum class NodeKind : std::uint8_t {
  // Operations whose outcome is a text. They are described by a node, and used by the one around it.
  activity,
  queued_activity,
  session_activity,
  event,
  receive,
  child,
  detached,
  // What uses one of these.
  await,
  result,
  start,  // into slot a; b: where its frame comes from before that
  start_and_drop,
  start_and_detach,
  shielded_op,
  stubborn,  // catches every cancellation and tries again
  undo_with,
  timeout,
  timeout_borrowed,  // of slot a
  race_borrowed,     // slot a against the operation
  all_borrowed,
  // Operations of other types, awaited where they stand.
  sleep,
  try_receive,
  drain,
  side_effect,
  value_of,
  ended,  // b: 1 = not for long
  open_session,
  close_session,
  session_news,
  // What needs no waiting.
  set_value,
  clear_value,
  get_value,
  set_attribute,    // b: an integer, or keywords
  clear_attribute,  // likewise
  get_attribute,
  send_message,
  raise_event,
  cancel_other,
  terminate_other,
  launch,
  set_status,
  uuid,
  random,
  now,
  history_size,
  // Futures that wait in slots.
  start_task,  // into slot a
  detach_task,
  await_slot,
  result_slot,
  drop_slot,
  detach_slot,
  look_at_slot,
  race_slots,
  // Futures that all parts share; they may be waited for by several at once, in shields and outside of them.
  share,  // an operation
  share_task,
  await_shared,
  join_shared,  // b: when_all, when_all_settled, race or with_timeout, with the operation
  drop_shared,
  detach_shared,
  // Several at once. b: 0 = as they are, 1 = started before.
  when_all,
  when_all_settled,
  race,
  all_of_kinds,  // an operation, a timer and a task
  settled_of_kinds,
  race_of_kinds,
  timeout_of_task,
  // Structure.
  block,  // b: 0 = ends with the first exception, 1 = goes on unless it is cancelled, 2 = goes on
  loop,
  if_last,
  shield,
  try_error,
  try_cancelled,  // and compensates in a shield
  try_all,
  task_result,
  throw_error,
  compensate,
  saga,             // whose undo is named after its place in the trace
  patched,          // a part that the code did not always have: see Generation
  guard,            // an object whose destructor does something
  guard_parameter,  // the same in a parameter of a detached task
  greedy_effect,    // a side effect whose function uses the context
  continue_as_new,
  finish,
};

struct Node {
  NodeKind kind = NodeKind::block;
  int a = 0;
  int b = 0;
  std::vector<Node> parts{};
  friend bool operator==(const Node&, const Node&) = default;
};

struct Program {
  Node code{};
  int continues = 0;  ///< how often it may continue as new
  friend bool operator==(const Program&, const Program&) = default;
};

/// Whether a node describes an operation with a text as its outcome, which is nothing by itself.
constexpr bool is_operation(NodeKind kind) { return kind <= NodeKind::detached; }

/// Of the code of a program: `patched` nodes were added to it under a patch, which is deprecated later.
enum class Generation : std::uint8_t {
  before,      ///< they are not there
  patched,     ///< they are run by executions that take the patch
  deprecated,  ///< they are always run
};

/// With which code executions begin, and are replayed, from now on.
void deploy(Generation generation);

/// What one run of a program saw so far.
struct Trace {
  std::string text{};      ///< each value and exception, in the order of the code
  std::string broken{};    ///< what code must never see; empty when all is well
  int open_waits = 0;      ///< awaits of operations that a request to cancel has to end
  bool shared = false;     ///< code in a shield waited for what may have been started outside of it
  bool continues = false;  ///< as new: what code does after that has no effect
  std::vector<bool>
      sagas{};  ///< by their numbers, whether they need not be undone: their steps came to their end
};

/// The interpreter. Its result is the text of its trace.
Task<std::string> interpret(Context& ctx, Program program);

/// The trace of the execution that began last. Programs run on one thread.
std::shared_ptr<const Trace> latest_trace();

/// What undoes a saga; its input is the saga's number.
inline constexpr const char* kUndo = "revert_saga";

/// How many objects live in the frames of programs.
int objects_in_frames();

/// Code that was started outside of a shield names its activities, children and detached starts like this;
/// except for starts that a request to cancel does not take back, and which nobody has to wait for.
inline constexpr char kUnshieldedPrefix = 'u';

}  // namespace holdfast::engine
