// The core of an execution, as the headers see it: starting operations, waiting for them, resuming what is
// ready. Templates encode and decode; everything else is behind this interface and compiled once.
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/detail/blocks.hpp>
#include <holdfast/detail/links.hpp>
#include <holdfast/detail/rare.hpp>
#include <holdfast/errors.hpp>
#include <holdfast/ids.hpp>
#include <holdfast/log.hpp>
#include <holdfast/options.hpp>
#include <holdfast/payload.hpp>
#include <holdfast/result.hpp>

#include <coroutine>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>
#include <vector>

namespace holdfast::detail {

class Core;
class Dropping;
class QueryCode;
class Resumed;
struct OpState;
struct Undoing;

/// Why a message can't be read as the type that the code waits for; nothing when it can. Null: any can.
using WhyUnreadable = std::optional<Failure> (*)(const Payload& payload);

/// What the frame of every Task has in common.
struct PromiseBase {
  Core* core = nullptr;               // inherited at await
  bool shielded = false;              // inherited at await: a request to cancel does not reach it
  bool root = false;                  // the outermost frame: its end is the end of the execution
  OpState* owner = nullptr;           // the state of the Future, when the task was started as one
  struct Waiter* awaiting = nullptr;  // the frame that awaits this one, a FrameWaiter
  std::uint32_t depth = 0;            // how many frames await each other up to this one
  std::uint32_t saga = 0;             // the last one of this frame, or else inherited; 0: none
  std::exception_ptr error;
  std::source_location where;  // of its last await
};

/// Something that is resumed in its turn.
struct Waiter : Link {
  void (*resume)(Waiter& self) = nullptr;
  bool shielded = false;     // a request to cancel does not reach the frame that waits
  bool interrupted = false;  // by a request to cancel: the await throws Cancelled
};

/// A suspended frame.
struct FrameWaiter : Waiter {
  std::coroutine_handle<> frame;
  PromiseBase* promise = nullptr;

  void suspend(std::coroutine_handle<> handle, PromiseBase& of) noexcept {
    frame = handle;
    promise = &of;
    shielded = of.shielded;
    resume = &resume_frame;
  }
  static void resume_frame(Waiter& self);
};

/// One started operation, or one started task. Owned by a Future or an awaiter, and by the core once
/// detached; who borrowed it keeps it for longer than that.
struct OpState : InBlocks {
  Core* core = nullptr;
  EventId id{};                    // of its scheduling event; 0 for a task
  std::uint64_t completed_at = 0;  // position among all completions; 0 = not yet
  bool failed = false;
  bool told = false;    // of a task: somebody was given its outcome
  bool absent = false;  // a value or message that may be missing, and is
  bool detached = false;
  bool orphaned = false;  // without an owner: the last borrower frees it
  bool shielded = false;  // started inside a shield
  std::uint8_t kind = 0;  // index in Operation; meaningless for a task
  std::uint32_t borrowers = 0;
  ParentClosePolicy on_close = ParentClosePolicy::cancel;  // of a child
  std::string label;  // the activity's name, the child's id, the event's name
  Payload value;
  std::unique_ptr<Failure> failure;
  std::coroutine_handle<> task;  // the frame, when it is a task
  PromiseBase* task_promise = nullptr;
  LinkList<Waiter> waiters;
  struct Channel* channel = nullptr;       // where it waits for a message, of events and mailboxes
  WhyUnreadable why_unreadable = nullptr;  // then
  /// Of an operation: makes the std::optional<Result<T>> at `result` of its value. Set by the Op<T>, so that
  /// a task's value needs no codec.
  void (*read)(OpState& state, void* result) = nullptr;

  [[nodiscard]] bool ready() const noexcept { return completed_at != 0; }
};

/// Whether it looked for something that may be missing: a message in a mailbox, a value of another instance.
[[nodiscard]] bool may_be_missing(const OpState& state) noexcept;
/// What such an operation found, if anything.
[[nodiscard]] Result<std::optional<Payload>> read_found(const OpState& state);

/// Destroys what nobody owns or borrows any more, and the frame of a task with it.
void free_state(OpState* state) noexcept;

/// Keeps a state that somebody else owns: the owner may drop or detach it while its outcome is waited for.
class Borrow {
 public:
  explicit Borrow(OpState* state) noexcept : state_(state) { ++state_->borrowers; }
  Borrow(const Borrow& other) noexcept : Borrow(other.state_) {}
  Borrow& operator=(const Borrow&) = delete;
  ~Borrow() {
    if (--state_->borrowers == 0 && state_->orphaned) free_state(state_);
  }
  [[nodiscard]] OpState* state() const noexcept { return state_; }

 private:
  OpState* state_;
};

/// The wait of one frame for one operation.
struct Wait {
  OpState* state = nullptr;
  FrameWaiter waiter{};
};

/// An operation that is described and not yet started. What is in it is the engine's own.
struct Description;
struct FreeDescription {
  void operator()(Description* description) const noexcept;
};

/// On the heap until it is started, null after that: an Op is moved around, and the frame that holds it may
/// wait for long.
using Described = std::unique_ptr<Description, FreeDescription>;

/// What an operation is started for.
enum class StartedFor : std::uint8_t {
  a_wait,  // by an await: after a request to cancel it is not started, and the await throws
  itself,  // as a Future that may never be awaited: what a request would not take back is started all the
           // same
};

/// A state of an execution, see Context::state().
struct OwnedState {
  void* object = nullptr;
  void (*destroy)(void* object) noexcept = nullptr;
};

/// One per execution. Used by one thread at a time, which may change between turns.
class Core {
 public:
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  // ---- operations -------------------------------------------------------------------------------

  /// Starts an operation: on replay it must be the one that history shows. The caller owns the state.
  virtual OpState* start(Described described, StartedFor purpose) = 0;
  /// Adopts a task and runs it up to its first wait. The caller owns the state.
  OpState* start(std::coroutine_handle<> task, PromiseBase& promise);
  /// The owner no longer wants it. Without an outcome it is cancelled, unless the frames are being torn down;
  /// whoever waits for it then gets a failure.
  virtual void release(OpState* state) noexcept = 0;
  /// The owner no longer wants it, but it goes on until the execution ends.
  virtual void detach(OpState* state) noexcept = 0;
  /// Destroys the frame of a started task that has not ended and is not running; its state stays.
  void drop_frame(OpState& task) noexcept;

  /// Suspends a frame until `wait.state` has an outcome. False: it need not be suspended.
  bool wait(struct Wait& wait, std::coroutine_handle<> frame, PromiseBase& promise);
  /// The same for an operation that is to be started first; `wait.state` is then owned by the caller.
  bool start_and_wait(Described& described, struct Wait& wait, std::coroutine_handle<> frame,
                      PromiseBase& promise);
  /// Whether an await in this frame must throw Cancelled at once; unless is_over(), then it is never resumed.
  bool interrupts(const PromiseBase& promise);

  /// Records an operation without an outcome, which takes effect with the commit of this turn. Gives its
  /// label: of an orchestration that is launched, the id. Throws LimitError when it is too large.
  virtual std::string send_off(Described described) = 0;

  virtual void continue_as_new(std::string_view version, Payload input) = 0;

  // ---- sagas ------------------------------------------------------------------------------------

  /// The number of a saga that begins in the frame which runs now, from 1. It is inside of the one that this
  /// frame began or inherited before.
  std::uint32_t new_saga();
  /// Undoes a saga in a task of the execution's own, which takes over the frame and runs in its turn.
  Undoing& undo(std::uint32_t saga, std::coroutine_handle<> steps, PromiseBase& promise);
  /// The same when the sagas inside of it that are being undone, or dropped together with it, have been.
  void undo_dropped(std::uint32_t saga, std::coroutine_handle<> steps, PromiseBase& promise);
  /// Whoever is dropping frames now; null while none are, or they are torn down.
  [[nodiscard]] Dropping* dropping() const noexcept { return dropping_; }
  /// A saga has steps that would have to be undone, or no longer has.
  void saga_opens() noexcept { ++sagas_; }
  void saga_closes() noexcept { --sagas_; }
  /// A task ended with this, and nobody was given it. What it could not undo fails the execution.
  void never_told(const std::exception_ptr& error) noexcept;
  void never_told(const Failure& failure) noexcept;
  /// Resumes it when nothing is being undone and no saga is open: at once, or later.
  void when_undone(Waiter& waiter);
  /// Throws std::logic_error when a saga is open.
  void refuse_in_saga(std::string_view call) const;

  // ---- what orchestrations ask without waiting --------------------------------------------------

  virtual CalendarTime now() const noexcept = 0;
  virtual std::uint64_t random() = 0;
  virtual void set_status(Payload status) = 0;
  virtual void set_value(std::string_view key, std::optional<Payload> value) = 0;
  virtual const Payload* value(std::string_view key) const = 0;
  virtual void set_attribute(Attribute attribute) = 0;
  virtual void clear_attribute(std::string_view name, AttributeType type) = 0;
  virtual const AttributeValue* attribute(std::string_view name, AttributeType type) const = 0;
  /// Whether the code takes the patch `id`. The first answer holds for the execution.
  virtual bool patched(std::string_view id) = 0;
  /// Takes it, where history has it or is being written: for code that can do nothing else.
  virtual void deprecate_patch(std::string_view id) = 0;
  virtual const std::string& instance() const noexcept = 0;
  virtual ExecutionNumber execution() const noexcept = 0;
  virtual const std::string& orchestration() const noexcept = 0;
  virtual const std::string& version() const noexcept = 0;
  virtual std::uint32_t attempt() const noexcept = 0;
  virtual std::uint64_t history_size() const noexcept = 0;
  virtual std::uint64_t history_budget() const noexcept = 0;
  virtual bool replaying() const noexcept = 0;
  /// Not on replay, nor while frames are destroyed.
  virtual void log(LogLevel level, std::string_view message, std::span<const LogField> fields) const = 0;
  [[nodiscard]] const Rare<Failure>& cancel_request() const noexcept { return cancel_request_; }

  // ---- what others ask it -------------------------------------------------------------------------

  /// A handler that goes with its guard; the number is for that. 0 when nothing is registered any more.
  virtual std::uint64_t add_query(std::string_view name, std::unique_ptr<const QueryCode> code) = 0;
  /// A handler over this state of the execution.
  virtual void add_query(std::string_view name, std::unique_ptr<const QueryCode> code, const void* state) = 0;
  virtual void remove_handler(std::uint64_t number) noexcept = 0;
  /// The state of this type, which lives as long as the execution: made when it is asked for first.
  virtual void* state(const std::type_info& type, OwnedState (*make)()) = 0;

  // ---- the scheduler ----------------------------------------------------------------------------

  /// Marks `state` as having an outcome and puts what waits for it into the queue.
  void complete(OpState& state) noexcept;
  void make_ready(Waiter& waiter) noexcept { ready_.push_back(waiter); }
  /// The code has returned. What it dropped on its way may have to be undone before this is the end.
  void root_ended() noexcept;
  /// Nothing is resumed any more. This is no exception, so user code can't catch it.
  void stop() noexcept { stopped_ = true; }
  [[nodiscard]] bool stopped() const noexcept { return stopped_; }
  /// Whether the code is resumed no more: all of it, or all but what is being undone.
  [[nodiscard]] bool is_over() const noexcept { return stopped_ || given_up_; }
  /// Whether the code that runs now belongs to this started task.
  [[nodiscard]] bool runs_inside(const OpState& task) const noexcept;
  /// The nesting of a frame that the code which runs now begins. Throws LimitError when that is too deep for
  /// the stack: frames begin, and are destroyed, inside of each other.
  [[nodiscard]] std::uint32_t next_depth(const PromiseBase& parent) const;
  /// Of the frame that runs now; null outside of code.
  [[nodiscard]] PromiseBase* running() const noexcept;
  /// Whether the code that runs now is inside a shield.
  [[nodiscard]] bool shield() const noexcept { return shield_; }
  void set_shield(bool on) noexcept { shield_ = on; }

 protected:
  Core();
  virtual ~Core();

  /// Resumes what is ready until nothing is, or the execution stopped.
  void run_ready();
  /// The code is not to run any more. What it has done in sagas is undone before the execution ends.
  void give_up() noexcept { given_up_ = true; }
  [[nodiscard]] bool given_up() const noexcept { return given_up_; }
  /// A request to cancel reaches those who wait for `state` outside of a shield, and the others go on
  /// waiting.
  void interrupt_waiters(OpState& state) noexcept;
  /// Whether a saga is being undone.
  [[nodiscard]] bool undoing() const noexcept;
  /// Forgets what was undone, and resumes who waited for it. False when there was nobody.
  bool end_undoing();
  /// Destroys the frames that undo.
  void forget_undoings() noexcept;
  /// Why a saga could not be undone, where nobody was told.
  [[nodiscard]] std::optional<Failure> untold_failure() const;
  /// Throws ReadOnlyError while code runs that may only read.
  void refuse_in_read_only(std::string_view call) const;
  /// Notes that code which may only read dropped or detached something: a destructor can't throw.
  void note_drop_in_read_only() noexcept { dropped_in_read_only_ = true; }
  /// The error of read-only code that did; nothing when it did not.
  [[nodiscard]] std::optional<ReadOnlyError> take_drop_in_read_only(std::string_view where);
  /// More interruptions than any sane code meets: it catches everything in a loop.
  virtual void too_many_interruptions() = 0;

  Rare<Failure> cancel_request_;
  bool teardown_ = false;  // frames are destroyed, not dropped by the code
  /// Why code that runs now may only read; null when it may do more.
  const struct ReadOnly* read_only_ = nullptr;
  bool dropped_in_read_only_ = false;
  std::uint64_t completions_ = 0;
  int interruptions_ = 0;  // in this turn

 private:
  friend struct FrameWaiter;
  friend class Dropping;
  friend class Resumed;
  struct Undoings;
  Undoing& add_undoing(std::uint32_t saga, std::coroutine_handle<> steps, PromiseBase& promise);
  [[nodiscard]] bool is_inside(std::uint32_t saga, std::uint32_t outer) const noexcept;
  /// Begins to undo what was dropped, or lets it wait for what is inside of it.
  void begin_dropped();
  LinkList<Waiter> ready_;
  const Resumed* resumed_ = nullptr;
  Dropping* dropping_ = nullptr;
  std::unique_ptr<Undoings> undoings_;  // null while there are none
  std::uint32_t sagas_ = 0;             // that are open
  std::vector<std::uint32_t> around_;   // by the number of a saga less 1: the one that it is inside of
  bool stopped_ = false;
  bool given_up_ = false;
  bool shield_ = false;
};

/// Code that may only read, in words.
struct ReadOnly {
  std::string_view where{};  ///< "the function of a side effect"
  std::string_view why{};    ///< "which is not called again on replay, ..."
};

inline constexpr int kMaxInterruptions = 1000;
/// Tasks that await each other, or start each other before their first wait.
inline constexpr std::uint32_t kMaxDepth = 2000;

/// A frame while it runs, on the stack of who resumes it.
class Resumed {
 public:
  Resumed(Core& core, PromiseBase& promise) noexcept : core_(core), promise_(promise), outer_(core.resumed_) {
    core.resumed_ = this;
  }
  ~Resumed() { core_.resumed_ = outer_; }
  Resumed(const Resumed&) = delete;
  Resumed& operator=(const Resumed&) = delete;

  [[nodiscard]] PromiseBase& promise() const noexcept { return promise_; }
  [[nodiscard]] const Resumed* outer() const noexcept { return outer_; }

 private:
  Core& core_;
  PromiseBase& promise_;
  const Resumed* outer_;
};

}  // namespace holdfast::detail
