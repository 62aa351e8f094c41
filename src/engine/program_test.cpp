#include "engine/program_test.hpp"

#include <holdfast/saga.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <typeinfo>
#include <utility>

namespace holdfast::engine {

using namespace std::chrono_literals;

namespace {

// Loops and nested parts multiply: after so many nodes a program does nothing more.
constexpr int kMaxSteps = 400;
constexpr std::size_t kSlots = 3;

// ---- what frames hold ---------------------------------------------------------------------------

int live_objects = 0;

/// Counts itself: every frame has one.
class Counted {
 public:
  Counted() noexcept { ++live_objects; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --live_objects; }
};

/// A Future that all parts may use.
struct SharedSlot {
  std::optional<Future<std::string>> future;
  bool holds_task = false;
};
using SharedSlots = std::array<SharedSlot, kSlots>;

/// One execution. Shared by all frames that run beside each other, and by the test that looks at the trace.
struct Env : std::enable_shared_from_this<Env> {
  Env(Program p, Generation g) : program(std::move(p)), generation(g) {}
  Program program;
  Generation generation;
  SharedSlots* shared = nullptr;  // in the outermost frame: null once that is gone
  Trace trace;
  int steps = 0;

  void note(const std::string& what) { trace.text += what + "\n"; }
  void broken(const std::string& what) { trace.broken += what + "\n"; }
};

std::shared_ptr<Env> latest;
Generation deployed = Generation::patched;

struct Frame;

/// Where a node runs. Trivial, so that it may be copied in any expression.
struct Scope {
  Context* ctx;
  Env* env;
  Frame* frame;
  bool shielded;
  bool apart = false;  // what is named is started even after a request to cancel

  [[nodiscard]] Scope inside_shield() const { return {ctx, env, frame, true}; }
  [[nodiscard]] Scope in(Frame& other) const { return {ctx, env, &other, shielded}; }
  [[nodiscard]] std::string name(int number) const {
    const char prefix = shielded ? 's' : apart ? 'a' : kUnshieldedPrefix;
    return std::string(1, prefix) + std::to_string(number);
  }
};

/// Does something when it is destroyed: with its scope, with a task that is dropped, or with the execution.
class Guard {
 public:
  Guard(Scope scope, int what) : ctx_(*scope.ctx), env_(scope.env->shared_from_this()), what_(what) {}
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  ~Guard() {
    env_->note("guard " + std::to_string(what_));
    if (what_ % 4 == 0) ctx_.set_value("guarded", env_->steps);
    if (what_ % 4 == 1) static_cast<void>(ctx_.activity<std::string>("guard", env_->steps).start());
    if (what_ % 4 == 2) env_->note("  " + ctx_.uuid());
    if (what_ % 4 == 3) std::move(ctx_.activity<std::string>("guard").start()).detach();
  }

 private:
  Context& ctx_;
  std::shared_ptr<Env> env_;
  int what_;
  Counted counted_;
};

/// What the code of one part keeps in its frame.
struct Frame {
  explicit Frame(Context& ctx) : saga(ctx) {}
  std::vector<std::unique_ptr<Guard>> guards;
  std::vector<std::optional<Future<std::string>>> slots{kSlots};
  std::array<bool, kSlots> holds_task{};
  Saga saga;
  std::optional<Session> session;
  std::string last = "";
  bool finished = false;
  Counted counted;

  static std::size_t slot_number(const Node& node) { return static_cast<std::size_t>(node.a) % kSlots; }
  std::optional<Future<std::string>>& slot(const Node& node) { return slots[slot_number(node)]; }
};

/// Marks an await that a request to cancel has to end.
class OpenWait {
 public:
  explicit OpenWait(Scope scope) : env_(scope.env->shared_from_this()), counts_(!scope.shielded) {
    doomed_ = counts_ && scope.ctx->cancel_requested();
    env_->trace.open_waits += counts_ ? 1 : 0;
  }
  OpenWait(const OpenWait&) = delete;
  OpenWait& operator=(const OpenWait&) = delete;
  ~OpenWait() { env_->trace.open_waits -= counts_ ? 1 : 0; }

  /// Throws nothing: the outcome was a value, or a failure of the operation itself.
  void survived() const {
    if (doomed_) env_->broken("an await outside of a shield went on after a request to cancel");
  }

 private:
  std::shared_ptr<Env> env_;
  bool counts_;
  bool doomed_ = false;
};

/// Notes an await in a shield for a future that may have been started outside of it.
void note_shared(Scope scope) { scope.env->trace.shared |= scope.shielded; }

// ---- words --------------------------------------------------------------------------------------

// Without the texts that are the library's own: they may change, and what was recorded must not.
std::string in_words(const Failure& failure) {
  const bool own_text = failure.category == Category::decode;
  return std::string(to_string(failure.category)) + " " + failure.type + " " + failure.source + " " +
         (own_text ? "" : failure.message) + (failure.cause ? " <- " + in_words(*failure.cause) : "");
}

std::string in_words(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Cancelled& e) {
    return "Cancelled " + in_words(e.failure());
  } catch (const Error& e) {
    return typeid(e).name() + std::string(" ") + in_words(e.failure());
  } catch (const std::logic_error& e) {
    return typeid(e).name();
  } catch (const std::exception& e) {
    return typeid(e).name() + std::string(" ") + e.what();
  } catch (...) {
    return "something";
  }
}

std::string in_words(const Result<std::string>& result) {
  return result ? *result : "failed: " + in_words(result.error());
}

bool is_request(const Failure& failure) {
  return failure.category == Category::cancelled && failure.type == "cancel_requested";
}

// ---- operations ---------------------------------------------------------------------------------

std::string input_of(Scope s) { return std::to_string(s.env->steps) + ":" + s.frame->last.substr(0, 24); }

Op<std::string> child_op(Scope s, const Node& node) {
  ChildOptions options{.on_parent_close = static_cast<ParentClosePolicy>(node.b % 3)};
  std::string id = "child-" + std::to_string(s.env->steps);
  if (node.b >= 3) options.id = id;
  return s.ctx->child<std::string>(s.name(node.a), options, input_of(s));
}

Op<std::string> session_op(Scope s, const Node& node) {
  if (s.frame->session && node.b == 0) {
    return s.frame->session->activity<std::string>(s.name(node.a), input_of(s));
  }
  const std::string id = "w" + std::to_string(node.a);
  return s.ctx->worker_session(id, {.queue = "gpu", .max_concurrent_activities = 2})
      .activity<std::string>(s.name(node.a), input_of(s));
}

Op<std::string> make_op(Scope s, const Node& node) {
  Context& ctx = *s.ctx;
  switch (node.kind) {
    case NodeKind::queued_activity:
      return ctx.activity<std::string>(
          s.name(node.a), {.queue = "q", .timeout = 5s, .retry = {.max_attempts = 4}, .priority = node.b},
          input_of(s));
    case NodeKind::session_activity:
      return session_op(s, node);
    case NodeKind::event:
      return ctx.event<std::string>("e" + std::to_string(node.a));
    case NodeKind::receive:
      return ctx.mailbox<std::string>("m" + std::to_string(node.a)).receive();
    case NodeKind::child:
      return child_op(s, node);
    case NodeKind::detached:
      return ctx.start_detached(s.name(node.a), input_of(s));
    default:
      return ctx.activity<std::string>(s.name(node.a), input_of(s));
  }
}

bool outlasts_request(const Node& node) {
  return node.kind == NodeKind::detached ||
         (node.kind == NodeKind::child &&
          static_cast<ParentClosePolicy>(node.b % 3) == ParentClosePolicy::abandon);
}

// A start that a request to cancel does not take back really happens. After the end nothing does, and the
// Future stays open.
Future<std::string> start_op(Scope s, const Node& node) {
  s.apart = s.ctx->cancel_requested() && outlasts_request(node);
  const std::uint64_t events = s.ctx->history_size();
  Future<std::string> future = make_op(s, node).start();
  const bool recorded = s.ctx->history_size() > events;
  if (s.apart && !recorded && future.ready()) s.env->broken("a start that nobody takes back was not made");
  return future;
}

// ---- nodes --------------------------------------------------------------------------------------
// Each is a coroutine that takes a trivial scope and a node of the program, and names what it awaits: see the
// page on compilers.

Task<std::string> run(Scope s, const Node& node);
Task<std::string> run_part(Scope outer, std::shared_ptr<Env> env, const Node& node);

Task<std::string> part(Scope s, const Node& node) { return run_part(s, s.env->shared_from_this(), node); }

void check_shield(Scope s, const Failure& failure) {
  if (s.shielded && !s.env->trace.shared && is_request(failure))
    s.env->broken("a request to cancel came into a shield");
}

// What was started inside of a shield is not reached by a request to cancel.
Task<std::string> out_of_reach(Scope s, Task<std::string> task) {
  Counted counted;
  try {
    co_return co_await std::move(task);
  } catch (const Cancelled& e) {
    check_shield(s, e.failure());
    throw;
  }
}

Task<std::string> await_in_sight(Scope s, const Node& node) {
  Counted counted;
  Op<std::string> op = make_op(s, node);
  const OpenWait wait(s);
  std::string value = co_await std::move(op);
  wait.survived();
  co_return value;
}

Task<std::string> await_op(Scope s, const Node& node) { return out_of_reach(s, await_in_sight(s, node)); }

Task<std::string> await_used(Scope s, const Node& node) { return await_op(s, node.parts.at(0)); }

Task<std::string> result_of_op(Scope s, const Node& node) {
  Counted counted;
  Op<std::string> op = make_op(s, node.parts.at(0));
  const OpenWait wait(s);
  std::optional<Result<std::string>> result;
  if (node.b % 2 == 1) {
    result = co_await std::move(op).settled();
  } else {
    result = co_await std::move(op).result();
  }
  if (*result || !is_request(result->error())) wait.survived();
  if (!*result) check_shield(s, result->error());
  co_return in_words(*result);
}

Task<std::string> tidy_up(Scope s) {
  const Counted counted;
  co_await s.ctx->sleep(1s);
  co_return "tidy";
}

Task<std::string> nothing() { co_return "nothing"; }

// Whatever ran before in this frame or beside it, the operation is inside of a shield only if this code is.
Task<std::string> start(Scope s, const Node& node) {
  const Counted counted;
  if (node.b == 1) co_await s.ctx->shield(nothing());
  if (node.b == 2) co_await s.ctx->sleep(1s);
  if (node.b == 3) s.ctx->start(s.ctx->shield(tidy_up(s.inside_shield()))).detach();
  s.frame->slot(node) = start_op(s, node.parts.at(0));
  s.frame->holds_task[s.frame->slot_number(node)] = false;
  co_return "started";
}

Task<std::string> start_and_drop(Scope s, const Node& node) {
  const Future<std::string> dropped = start_op(s, node.parts.at(0));
  co_return dropped.ready() ? "ready" : "dropped";
}

Task<std::string> start_and_detach(Scope s, const Node& node) {
  Future<std::string> future = start_op(s, node.parts.at(0));
  std::move(future).detach();
  co_return "detached";
}

Task<std::string> shielded_op(Scope s, const Node& node) {
  Op<std::string> op = make_op(s.inside_shield(), node.parts.at(0));
  std::string value = co_await s.ctx->shield(std::move(op));
  co_return value;
}

Task<std::string> stubborn(Scope s, const Node& node) {
  Counted counted;
  for (int i = 0; i < 2 * detail::kMaxInterruptions; ++i) {
    Op<std::string> op = make_op(s, node.parts.at(0));
    try {
      co_return co_await std::move(op);
    } catch (const Cancelled&) {
      if (i < 3) s.env->note("  stubborn");
    }
  }
  s.env->broken("the limit of interruptions did not end the turn");
  co_return "gave up";
}

Task<std::string> undo_with(Scope s, const Node& node) {
  std::string value = co_await await_op(s, node.parts.at(0));
  s.frame->saga.undo_with("revert", value);
  co_return value;
}

Task<std::string> compensate(Scope s, const Node& node) {
  const bool empty = s.frame->saga.empty();
  if (node.b % 2 == 1) static_cast<void>(s.frame->saga.compensate());
  if (s.frame->saga.empty() != empty) s.env->broken("an undoing that nobody awaited took the steps");
  co_await s.frame->saga.compensate();
  co_return s.frame->saga.empty() ? "undone" : "not all undone";
}

Task<std::string> saga_steps(Context&, Saga& saga, Scope s, const Node* steps) {
  const std::size_t number = s.env->trace.sagas.size();
  s.env->trace.sagas.push_back(s.env->trace.continues);
  saga.undo_with(kUndo, number);
  std::string value = co_await run(s, *steps);
  s.env->trace.sagas[number] = true;
  co_return value;
}

Task<std::string> saga(Scope s, const Node& node) {
  return run_saga(*s.ctx, saga_steps, s, &node.parts.at(0));
}

Duration length(const Node& node) { return 1s * node.b; }

template <class Part>
Task<std::string> limited(Scope, Part part, Duration limit) {
  Counted counted;
  const std::optional<std::string> value = co_await with_timeout(std::move(part), limit);
  co_return value ? *value : "timed out";
}

Task<std::string> timeout(Scope s, const Node& node) {
  return out_of_reach(s, limited(s, make_op(s, node.parts.at(0)), length(node)));
}
Task<std::string> timeout_of_task(Scope s, const Node& node) {
  return out_of_reach(s, limited(s, part(s, node.parts.at(0)), length(node)));
}

Task<std::string> timeout_borrowed(Scope s, const Node& node) {
  note_shared(s);
  auto& slot = s.frame->slot(node);
  if (!slot) co_return "no future";
  const std::optional<std::string> value = co_await with_timeout(*slot, length(node));
  co_return value ? *value : "timed out";
}

Task<std::string> race_borrowed(Scope s, const Node& node) {
  note_shared(s);
  auto& slot = s.frame->slot(node);
  if (!slot) co_return "no future";
  Op<std::string> op = make_op(s, node.parts.at(0));
  const std::variant<std::string, std::string> winner = co_await race(*slot, std::move(op));
  co_return winner.index() == 0 ? "slot " + std::get<0>(winner) : "other " + std::get<1>(winner);
}

Task<std::string> all_borrowed(Scope s, const Node& node) {
  note_shared(s);
  auto& slot = s.frame->slot(node);
  if (!slot) co_return "no future";
  Op<std::string> op = make_op(s, node.parts.at(0));
  const std::tuple<std::string, std::string> all = co_await when_all(*slot, std::move(op));
  co_return std::get<0>(all) + "&" + std::get<1>(all);
}

// ---- operations of other types ------------------------------------------------------------------

Task<std::string> sleep(Scope s, const Node& node) {
  const OpenWait wait(s);
  Op<void> op = node.a == 0 ? s.ctx->sleep(length(node)) : s.ctx->sleep_until(s.ctx->now() + length(node));
  co_await std::move(op);
  wait.survived();
  co_return "slept";
}

Task<std::string> try_receive(Scope s, const Node& node) {
  Op<std::optional<std::string>> op = s.ctx->mailbox<std::string>("m" + std::to_string(node.a)).try_receive();
  const std::optional<std::string> message = co_await std::move(op);
  co_return message ? *message : "nothing";
}

Task<std::string> drain(Scope s, const Node& node) {
  const Receiver<std::string> mailbox = s.ctx->mailbox<std::string>("m" + std::to_string(node.a));
  const std::vector<std::string> messages = co_await mailbox.drain();
  std::string all;
  for (const std::string& message : messages) all += message + ",";
  co_return all;
}

Task<std::string> side_effect(Scope s, const Node& node) {
  const std::string text = "effect " + std::to_string(s.env->steps);
  const bool fails = node.b == 1;
  auto effect = [text, fails]() -> std::string {
    if (fails) throw ActivityFailure("bad_day", text);
    return text;
  };
  Op<std::string> op = s.ctx->side_effect(effect);
  std::string value = co_await std::move(op);
  co_return value;
}

Task<std::string> value_of(Scope s, const Node& node) {
  const OpenWait wait(s);
  Op<std::optional<std::string>> op = s.ctx->value_of<std::string>("other", "k" + std::to_string(node.a));
  const std::optional<std::string> value = co_await std::move(op);
  wait.survived();
  co_return value ? *value : "no value";
}

Task<std::string> ended(Scope s, const Node& node) {
  const OpenWait wait(s);
  Op<EndedInstance> op = s.ctx->ended("other-" + std::to_string(node.a));
  std::optional<EndedInstance> how;
  if (node.b == 1) {
    auto limited = with_timeout(std::move(op), 1s);
    how = co_await std::move(limited);
  } else {
    EndedInstance ended = co_await std::move(op);
    how = std::move(ended);
  }
  wait.survived();
  if (!how) co_return "not ended";
  const std::string why = how->failure ? how->failure->message : how->output_as<std::string>().value_or("");
  co_return std::string(to_string(how->status)) + " " + why;
}

Task<std::string> open_session(Scope s, const Node& node) {
  const OpenWait wait(s);
  const std::string id = node.b == 0 ? "" : "session-" + std::to_string(node.a);
  Op<Session> op = s.ctx->open_session({.id = id, .ttl = 30min, .outlives_opener = node.b == 2});
  Session session = co_await std::move(op);
  wait.survived();
  s.frame->session = session;
  co_return session.id();
}

Task<std::string> close_session(Scope s, const Node&) {
  const OpenWait wait(s);
  if (!s.frame->session) co_return "no session";
  Op<void> op = s.frame->session->close();
  s.frame->session.reset();
  co_await std::move(op);
  wait.survived();
  co_return "closed";
}

Task<std::string> session_news(Scope s, const Node& node) {
  const OpenWait wait(s);
  const Session session = s.frame->session.value_or(s.ctx->session("w" + std::to_string(node.a)));
  Op<SessionEvent> op = session.next_event();
  const SessionEvent news = co_await std::move(op);
  wait.survived();
  co_return news.to + "/" + std::to_string(news.generation);
}

// ---- what needs no waiting ----------------------------------------------------------------------

std::string key_of(const Node& node) { return "k" + std::to_string(node.a); }

Task<std::string> set_value(Scope s, const Node& node) {
  s.ctx->set_value(key_of(node), s.frame->last);
  co_return "set";
}
Task<std::string> clear_value(Scope s, const Node& node) {
  s.ctx->clear_value(key_of(node));
  co_return "cleared";
}
Task<std::string> get_value(Scope s, const Node& node) {
  co_return s.ctx->value<std::string>(key_of(node)).value_or("no value");
}
Task<std::string> set_attribute(Scope s, const Node& node) {
  if (node.b % 2 == 0) {
    s.ctx->set_attribute(key_of(node), s.frame->last.size());
  } else {
    s.ctx->set_attribute(key_of(node), {"k", std::to_string(s.frame->last.size())});
  }
  co_return "set";
}
Task<std::string> clear_attribute(Scope s, const Node& node) {
  if (node.b % 2 == 0) {
    s.ctx->clear_attribute<int>(key_of(node));
  } else {
    s.ctx->clear_attribute<Keywords>(key_of(node));
  }
  co_return "cleared";
}
Task<std::string> get_attribute(Scope s, const Node& node) {
  const std::optional<Keywords> words = s.ctx->attribute<Keywords>(key_of(node));
  co_return std::to_string(s.ctx->attribute<int>(key_of(node)).value_or(-1)) +
      (words ? words->front() : "no keywords");
}
Task<std::string> send_message(Scope s, const Node& node) {
  const std::string other = "other-" + std::to_string(node.b);
  s.ctx->send(other, "m" + std::to_string(node.a), {.keep_for = std::chrono::seconds(node.b)}, s.frame->last);
  co_return "sent";
}
Task<std::string> raise_event(Scope s, const Node& node) {
  s.ctx->raise("other-" + std::to_string(node.b), "e" + std::to_string(node.a), s.frame->last);
  co_return "raised";
}
Task<std::string> terminate_other(Scope s, const Node& node) {
  s.ctx->terminate("other-" + std::to_string(node.a), s.frame->last);
  co_return "terminated another";
}

Task<std::string> cancel_other(Scope s, const Node& node) {
  s.ctx->cancel("other-" + std::to_string(node.a), s.frame->last);
  co_return "asked";
}
Task<std::string> launch(Scope s, const Node& node) {
  if (node.b % 2 == 0) co_return s.ctx->launch("audit", s.frame->last);
  const std::string id = "launched-" + std::to_string(node.a);
  co_return s.ctx->launch("audit", {.id = id}, s.frame->last);
}
Task<std::string> set_status(Scope s, const Node& node) {
  s.ctx->set_status(s.name(node.a) + s.frame->last);
  co_return "told";
}
Task<std::string> uuid(Scope s, const Node&) { co_return s.ctx->uuid(); }
Task<std::string> random(Scope s, const Node&) { co_return std::to_string(s.ctx->random()); }
Task<std::string> now(Scope s, const Node&) {
  co_return std::to_string(s.ctx->now().time_since_epoch().count());
}
Task<std::string> history_size(Scope s, const Node&) {
  co_return std::to_string(s.ctx->history_size()) + (s.ctx->should_continue_as_new() ? "!" : "");
}

// ---- futures in slots ---------------------------------------------------------------------------

Task<std::string> start_task(Scope s, const Node& node) {
  s.frame->slot(node) = s.ctx->start(part(s, node.parts.at(0)));
  s.frame->holds_task[s.frame->slot_number(node)] = true;
  co_return "running";
}

Task<std::string> detach_task(Scope s, const Node& node) {
  Future<std::string> future = s.ctx->start(part(s, node.parts.at(0)));
  std::move(future).detach();
  co_return "runs alone";
}

Task<std::string> await_slot(Scope s, const Node& node) {
  note_shared(s);
  auto& slot = s.frame->slot(node);
  if (!slot) co_return "no future";
  const Future<std::string> future = std::move(*slot);
  slot.reset();
  const bool safe = !s.frame->holds_task[s.frame->slot_number(node)] && !s.ctx->cancel_requested();
  try {
    co_return co_await future;
  } catch (const Cancelled& e) {
    if (safe) check_shield(s, e.failure());
    throw;
  }
}

Task<std::string> result_slot(Scope s, const Node& node) {
  note_shared(s);
  auto& slot = s.frame->slot(node);
  if (!slot) co_return "no future";
  const Future<std::string> future = std::move(*slot);
  slot.reset();
  std::optional<Result<std::string>> result;
  if (node.b % 2 == 1) {
    result = co_await future.settled();
  } else {
    result = co_await future.result();
  }
  co_return in_words(*result);
}

Task<std::string> drop_slot(Scope s, const Node& node) {
  s.frame->slot(node).reset();
  co_return "dropped";
}

Task<std::string> detach_slot(Scope s, const Node& node) {
  auto& slot = s.frame->slot(node);
  if (!slot) co_return "no future";
  std::move(*slot).detach();
  slot.reset();
  co_return "detached";
}

Task<std::string> look_at_slot(Scope s, const Node& node) {
  const auto& slot = s.frame->slot(node);
  co_return !slot ? "no future" : slot->ready() ? "ready" : "open";
}

// Those that are ready already count in the order of history.
Task<std::string> race_slots(Scope s, const Node&) {
  note_shared(s);
  std::vector<std::size_t> used;
  for (std::size_t i = 0; i < kSlots; ++i) {
    if (s.frame->slots[i]) used.push_back(i);
  }
  if (used.size() < 2) co_return "too few futures";
  const Future<std::string>& first = *s.frame->slots[used[0]];
  const Future<std::string>& second = *s.frame->slots[used[1]];
  const std::variant<std::string, std::string> winner = co_await race(second, first);
  co_return winner.index() == 0 ? "second " + std::get<0>(winner) : "first " + std::get<1>(winner);
}

// ---- futures that all parts share ---------------------------------------------------------------

SharedSlot* shared_slot(Scope s, const Node& node) {
  return s.env->shared == nullptr ? nullptr : &s.env->shared->at(Frame::slot_number(node));
}

Task<std::string> share(Scope s, const Node& node) {
  SharedSlot* const slot = shared_slot(s, node);
  if (slot == nullptr) co_return "not shared";
  slot->holds_task = false;
  slot->future = start_op(s, node.parts.at(0));
  co_return "shared";
}

Task<std::string> share_task(Scope s, const Node& node) {
  SharedSlot* const slot = shared_slot(s, node);
  if (slot == nullptr || slot->future) co_return "not shared";
  Future<std::string> task = s.ctx->start(part(s, node.parts.at(0)));
  if (slot->future) co_return "not shared";  // the task was faster
  slot->holds_task = true;
  slot->future = std::move(task);
  co_return "shared";
}

// Counts as a wait that a request has to end, unless it is for a task: that may tidy up in a shield first.
Task<std::string> await_shared(Scope s, const Node& node) {
  note_shared(s);
  SharedSlot* const slot = shared_slot(s, node);
  if (slot == nullptr || !slot->future) co_return "no future";
  std::optional<OpenWait> wait;
  if (!slot->holds_task) wait.emplace(s);
  std::optional<Result<std::string>> result;
  if (node.b % 2 == 1) {
    result = co_await slot->future->settled();
  } else {
    result = co_await slot->future->result();
  }
  co_return in_words(*result);
}

Task<std::string> join_shared(Scope s, const Node& node) {
  note_shared(s);
  SharedSlot* const slot = shared_slot(s, node);
  if (slot == nullptr || !slot->future) co_return "no future";
  Op<std::string> op = make_op(s, node.parts.at(0));
  std::optional<OpenWait> wait;
  if (!slot->holds_task) wait.emplace(s);
  if (node.b == 0) {
    const std::tuple<std::string, std::string> all = co_await when_all(*slot->future, std::move(op));
    co_return std::get<0>(all) + "&" + std::get<1>(all);
  }
  if (node.b == 1) {
    const auto all = co_await when_all_settled(*slot->future, std::move(op));
    co_return in_words(std::get<0>(all)) + "&" + in_words(std::get<1>(all));
  }
  if (node.b == 2) {
    const std::variant<std::string, std::string> winner = co_await race(*slot->future, std::move(op));
    co_return winner.index() == 0 ? "shared " + std::get<0>(winner) : "other " + std::get<1>(winner);
  }
  const std::optional<std::string> value = co_await with_timeout(*slot->future, 2s);
  co_return value ? *value : "timed out";
}

Task<std::string> drop_shared(Scope s, const Node& node) {
  SharedSlot* const slot = shared_slot(s, node);
  if (slot == nullptr) co_return "not dropped";  // it may drop the task that it belongs to
  slot->future.reset();
  co_return "dropped";
}

Task<std::string> detach_shared(Scope s, const Node& node) {
  SharedSlot* const slot = shared_slot(s, node);
  if (slot == nullptr || !slot->future) co_return "no future";
  std::move(*slot->future).detach();
  slot->future.reset();
  co_return "detached";
}

// ---- several at once ----------------------------------------------------------------------------

std::string joined(const std::vector<std::string>& values) {
  std::string text;
  for (const std::string& value : values) text += value + "&";
  return text;
}

// `at_most`: so many at a time; 0: all.
template <class Part>
Task<std::string> combine(Scope s, NodeKind how, std::vector<Part> parts, std::size_t at_most) {
  Counted counted;
  if (how == NodeKind::when_all) {
    std::vector<std::string> values;
    if (at_most == 0) {
      values = co_await when_all(std::move(parts));
    } else {
      values = co_await when_all(std::move(parts), {.at_most = at_most});
    }
    co_return joined(values);
  }
  if (how == NodeKind::race) {
    const Winner<std::string> winner = co_await race(std::move(parts));
    co_return std::to_string(winner.index) + "=" + winner.value;
  }
  std::vector<Result<std::string>> outcomes;
  if (at_most == 0) {
    outcomes = co_await when_all_settled(std::move(parts));
  } else {
    outcomes = co_await when_all_settled(std::move(parts), {.at_most = at_most});
  }
  std::string text;
  for (const auto& outcome : outcomes) {
    if (!outcome) check_shield(s, outcome.error());
    text += in_words(outcome) + "&";
  }
  co_return text;
}

std::size_t at_most(const Node& node) { return node.b == 3 ? static_cast<std::size_t>(node.a) + 1 : 0; }

Task<std::string> combine_futures(Scope s, const Node& node) {
  std::vector<Future<std::string>> futures;
  for (const Node& p : node.parts) {
    futures.push_back(is_operation(p.kind) ? start_op(s, p) : s.ctx->start(part(s, p)));
  }
  std::string value = co_await combine(s, node.kind, std::move(futures), at_most(node));
  co_return value;
}

Task<std::string> describe_several(Scope s, const Node& node) {
  if (node.b == 1) return combine_futures(s, node);
  if (std::ranges::all_of(node.parts, [](const Node& p) { return is_operation(p.kind); })) {
    std::vector<Op<std::string>> ops;
    for (const Node& p : node.parts) ops.push_back(make_op(s, p));
    return combine(s, node.kind, std::move(ops), at_most(node));
  }
  std::vector<Task<std::string>> tasks;
  for (const Node& p : node.parts) tasks.push_back(part(s, p));
  return combine(s, node.kind, std::move(tasks), at_most(node));
}

Task<std::string> several(Scope s, const Node& node) { return out_of_reach(s, describe_several(s, node)); }

Task<std::string> all_of_kinds(Scope s, const Node& node) {
  Op<std::string> op = make_op(s, node.parts.at(0));
  Op<void> timer = s.ctx->sleep(length(node));
  Task<std::string> task = part(s, node.parts.at(1));
  const std::tuple<std::string, std::monostate, std::string> all =
      co_await when_all(std::move(op), std::move(timer), std::move(task));
  co_return std::get<0>(all) + "&" + std::get<2>(all);
}

Task<std::string> settled_of_kinds(Scope s, const Node& node) {
  Op<std::string> op = make_op(s, node.parts.at(0));
  Op<void> timer = s.ctx->sleep(length(node));
  Task<std::string> task = part(s, node.parts.at(1));
  const std::tuple<Result<std::string>, Result<void>, Result<std::string>> all =
      co_await when_all_settled(std::move(op), std::move(timer), std::move(task));
  co_return in_words(std::get<0>(all)) + (std::get<1>(all) ? "&" : "|") + in_words(std::get<2>(all));
}

Task<std::string> race_of_kinds(Scope s, const Node& node) {
  Op<std::string> op = make_op(s, node.parts.at(0));
  Op<void> timer = s.ctx->sleep(length(node));
  Task<std::string> task = part(s, node.parts.at(1));
  const std::variant<std::string, std::monostate, std::string> winner =
      co_await race(std::move(op), std::move(timer), std::move(task));
  if (winner.index() == 1) co_return "timer";
  co_return winner.index() == 0 ? "op " + std::get<0>(winner) : "task " + std::get<2>(winner);
}

// ---- structure ----------------------------------------------------------------------------------

Task<std::string> block(Scope s, const Node& node) {
  Counted counted;
  for (const Node& step : node.parts) {
    if (s.frame->finished || s.env->steps >= kMaxSteps) break;
    const std::string number = "#" + std::to_string(++s.env->steps) + " ";
    Task<std::string> task = run(s, step);
    try {
      s.frame->last = co_await std::move(task);
    } catch (const Cancelled&) {
      s.env->note(number + in_words(std::current_exception()));
      if (node.b < 2) throw;
    } catch (...) {
      s.env->note(number + in_words(std::current_exception()));
      if (node.b < 1) throw;
    }
    s.env->note(number + s.frame->last);
  }
  co_return s.frame->last;
}

Task<std::string> loop(Scope s, const Node& node) {
  std::string last = "no round";
  for (int i = 0; i < node.b && !s.frame->finished && s.env->steps < kMaxSteps; ++i) {
    last = co_await run(s, node.parts.at(0));
  }
  co_return last;
}

Task<std::string> if_last(Scope s, const Node& node) {
  unsigned sum = 0;
  for (const char c : s.frame->last) sum += static_cast<unsigned char>(c);
  return run(s, node.parts.at(sum % 2));
}

Task<std::string> shield(Scope s, const Node& node) {
  return s.ctx->shield(run(s.inside_shield(), node.parts.at(0)));
}

Task<std::string> try_error(Scope s, const Node& node) {
  Counted counted;
  std::string caught;
  try {
    co_return co_await run(s, node.parts.at(0));
  } catch (const Error& e) {
    caught = in_words(e.failure());
  }
  s.env->note("  caught " + caught);
  co_return co_await run(s, node.parts.at(1));
}

Task<std::string> try_cancelled(Scope s, const Node& node) {
  Counted counted;
  std::string caught;
  try {
    co_return co_await run(s, node.parts.at(0));
  } catch (const Cancelled& e) {
    caught = in_words(e.failure());
  }
  s.env->note("  caught " + caught);
  std::string value = co_await s.ctx->shield(run(s.inside_shield(), node.parts.at(1)));
  co_return value;
}

Task<std::string> try_all(Scope s, const Node& node) {
  Counted counted;
  std::string caught;
  try {
    co_return co_await run(s, node.parts.at(0));
  } catch (...) {
    caught = in_words(std::current_exception());
  }
  s.env->note("  caught " + caught);
  co_return co_await run(s, node.parts.at(1));
}

Task<std::string> task_result(Scope s, const Node& node) {
  Task<std::string> task = run(s, node.parts.at(0));
  std::optional<Result<std::string>> result;
  if (node.b % 2 == 1) {
    result = co_await std::move(task).settled();
  } else {
    result = co_await std::move(task).result();
  }
  co_return in_words(*result);
}

Task<std::string> throw_error(Scope, const Node& node) {
  const std::string text = "thrown " + std::to_string(node.a);
  if (node.b == 0) throw std::runtime_error(text);
  if (node.b == 1) throw ActivityFailure("own_type", text);
  if (node.b == 2) throw Error(Failure{.category = Category::limit, .type = "limit", .message = text});
  throw node.a;
  co_return text;
}

Task<std::string> guard(Scope s, const Node& node) {
  s.frame->guards.push_back(std::make_unique<Guard>(s, node.b));
  co_return "guarded";
}

// The guard goes when the frame of the task does, which nobody waits for.
Task<std::string> run_guarded(Scope outer, std::shared_ptr<Env> env,
                              [[maybe_unused]] std::unique_ptr<Guard> guard, const Node& node) {
  std::string value = co_await run_part(outer, std::move(env), node);
  co_return value;
}

Task<std::string> guard_parameter(Scope s, const Node& node) {
  auto guard = std::make_unique<Guard>(s, node.b);
  s.ctx->start(run_guarded(s, s.env->shared_from_this(), std::move(guard), node.parts.at(0))).detach();
  co_return "runs guarded";
}

bool takes(Scope s, const std::string& patch) {
  switch (s.env->generation) {
    case Generation::before:
      return false;
    case Generation::patched:
      return s.ctx->patched(patch);
    case Generation::deprecated:
      break;
  }
  s.ctx->deprecate_patch(patch);
  return true;
}

// One that is not taken leaves no trace.
Task<std::string> patched(Scope s, const Node& node) {
  if (!takes(s, "p" + std::to_string(node.a))) co_return s.frame->last;
  std::string value = co_await run(s, node.parts.at(0));
  co_return value;
}

Task<std::string> greedy_effect(Scope s, const Node& node) {
  auto effect = [s, name = node.a, what = node.b]() -> std::string {
    if (what == 0 && name == 0) return s.ctx->patched("greedy") ? "took a patch" : "took none";
    if (what == 0) return s.ctx->uuid();
    if (what == 1) s.ctx->set_value("greedy", 1);
    if (what == 2) s.ctx->activity<std::string>("greedy").start().detach();
    if (what == 3) s.ctx->start(nothing()).detach();
    return "not refused";
  };
  Op<std::string> op = s.ctx->side_effect(effect);
  const Result<std::string> result = co_await std::move(op).result();
  if (result) s.env->broken("a side effect used the context");
  co_return result ? *result : result.error().type;
}

Task<std::string> continue_as_new(Scope s, const Node& node) {
  if (s.env->program.continues == 0) co_return "goes on";
  Program next = s.env->program;
  --next.continues;
  s.env->trace.continues = true;
  try {
    if (node.b == 1) co_await s.ctx->continue_as_new({.version = "2"}, next);
    co_await s.ctx->continue_as_new(next);
  } catch (...) {
    s.env->trace.continues = false;
    throw;
  }
}

Task<std::string> finish(Scope s, const Node&) {
  s.frame->finished = true;
  co_return "finished";
}

using Run = Task<std::string> (*)(Scope, const Node&);

Run code_of(NodeKind kind) {
  using K = NodeKind;
  switch (kind) {
      // clang-format off
    case K::activity: case K::queued_activity: case K::session_activity: case K::event: case K::receive:
    case K::child: case K::detached: return &await_op;
    case K::await: return &await_used;
    case K::result: return &result_of_op;
    case K::start: return &start;
    case K::start_and_drop: return &start_and_drop;
    case K::start_and_detach: return &start_and_detach;
    case K::shielded_op: return &shielded_op;
    case K::stubborn: return &stubborn;
    case K::undo_with: return &undo_with;
    case K::timeout: return &timeout;
    case K::timeout_borrowed: return &timeout_borrowed;
    case K::race_borrowed: return &race_borrowed;
    case K::all_borrowed: return &all_borrowed;
    case K::sleep: return &sleep;
    case K::try_receive: return &try_receive;
    case K::drain: return &drain;
    case K::side_effect: return &side_effect;
    case K::value_of: return &value_of;
    case K::ended: return &ended;
    case K::open_session: return &open_session;
    case K::close_session: return &close_session;
    case K::session_news: return &session_news;
    case K::set_value: return &set_value;
    case K::clear_value: return &clear_value;
    case K::get_value: return &get_value;
    case K::set_attribute: return &set_attribute;
    case K::clear_attribute: return &clear_attribute;
    case K::get_attribute: return &get_attribute;
    case K::send_message: return &send_message;
    case K::raise_event: return &raise_event;
    case K::cancel_other: return &cancel_other;
    case K::terminate_other: return &terminate_other;
    case K::launch: return &launch;
    case K::set_status: return &set_status;
    case K::uuid: return &uuid;
    case K::random: return &random;
    case K::now: return &now;
    case K::history_size: return &history_size;
    case K::start_task: return &start_task;
    case K::detach_task: return &detach_task;
    case K::await_slot: return &await_slot;
    case K::result_slot: return &result_slot;
    case K::drop_slot: return &drop_slot;
    case K::detach_slot: return &detach_slot;
    case K::look_at_slot: return &look_at_slot;
    case K::race_slots: return &race_slots;
    case K::share: return &share;
    case K::share_task: return &share_task;
    case K::await_shared: return &await_shared;
    case K::join_shared: return &join_shared;
    case K::drop_shared: return &drop_shared;
    case K::detach_shared: return &detach_shared;
    case K::when_all: case K::when_all_settled: case K::race: return &several;
    case K::all_of_kinds: return &all_of_kinds;
    case K::settled_of_kinds: return &settled_of_kinds;
    case K::race_of_kinds: return &race_of_kinds;
    case K::timeout_of_task: return &timeout_of_task;
    case K::block: return &block;
    case K::loop: return &loop;
    case K::if_last: return &if_last;
    case K::shield: return &shield;
    case K::try_error: return &try_error;
    case K::try_cancelled: return &try_cancelled;
    case K::try_all: return &try_all;
    case K::task_result: return &task_result;
    case K::throw_error: return &throw_error;
    case K::compensate: return &compensate;
    case K::saga: return &saga;
    case K::patched: return &patched;
    case K::guard: return &guard;
    case K::guard_parameter: return &guard_parameter;
    case K::greedy_effect: return &greedy_effect;
    case K::continue_as_new: return &continue_as_new;
    case K::finish: return &finish;
      // clang-format on
  }
  throw std::invalid_argument("a program has a node of an unknown kind");
}

Task<std::string> run(Scope s, const Node& node) { return code_of(node.kind)(s, node); }

// A part has slots, guards and a saga of its own, and may outlive the code that started it.
Task<std::string> run_part(Scope outer, [[maybe_unused]] std::shared_ptr<Env> env, const Node& node) {
  Frame frame(*outer.ctx);
  const Scope s = outer.in(frame);
  std::string value = co_await run(s, node);
  co_return value;
}

/// In the outermost frame, which goes first.
class SharedFutures {
 public:
  explicit SharedFutures(Env& env) : env_(env) { env_.shared = &slots_; }
  SharedFutures(const SharedFutures&) = delete;
  SharedFutures& operator=(const SharedFutures&) = delete;
  ~SharedFutures() { env_.shared = nullptr; }

 private:
  Env& env_;
  SharedSlots slots_;
};

}  // namespace

Task<std::string> interpret(Context& ctx, Program program) {
  const auto env = std::make_shared<Env>(std::move(program), deployed);
  latest = env;
  const SharedFutures shared(*env);
  Frame frame(ctx);
  const Scope s{&ctx, env.get(), &frame, false};
  try {
    co_await run(s, env->program.code);
  } catch (...) {
    env->note(in_words(std::current_exception()));
    throw;
  }
  co_return env->trace.text;
}

void deploy(Generation generation) { deployed = generation; }

std::shared_ptr<const Trace> latest_trace() { return {latest, &latest->trace}; }

int objects_in_frames() { return live_objects; }

}  // namespace holdfast::engine
