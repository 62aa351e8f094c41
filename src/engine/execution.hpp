// Execution: the replay engine. History and messages go in, the outcome of a turn comes out; the same code
// path replays what happened and does what is new.
#pragma once

#include "codec/segment.hpp"
#include "engine/channels.hpp"
#include "engine/code_log.hpp"
#include "engine/handlers.hpp"
#include "engine/open_operations.hpp"
#include "engine/turn.hpp"

#include <holdfast/context.hpp>
#include <holdfast/detail/core.hpp>
#include <holdfast/detail/orchestration.hpp>
#include <holdfast/detail/rare.hpp>
#include <holdfast/log.hpp>
#include <holdfast/random.hpp>
#include <holdfast/result.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <typeinfo>
#include <variant>
#include <vector>

namespace holdfast::engine {

/// What an execution is told about itself.
struct Identity {
  std::string instance{};
  ExecutionNumber execution{1};
  std::string build{};  ///< of the code, noted in each turn
  bool strict = false;  ///< replay also compares inputs, values and results: for tests of determinism
  const CodeLog* log = nullptr;  ///< where lines of the code go, if anywhere; outlives the execution
};

/// An operation that has no outcome yet.
struct OpenOperation {
  EventId id{};
  std::uint8_t kind = 0;  ///< the index of the operation in detail::Operation
  std::string label{};
};

/// What a question led to.
struct Asked {
  Result<Payload> answer;
  /// The handler has changed what it may only read: the frames can't be trusted any more.
  bool spoiled = false;
};

/// One execution of an instance, with the suspended frames of its code. Used by one thread at a time; it may
/// move between threads from turn to turn.
///
/// To go on from history: replay() every segment, in order, then run(). To go on with an execution that is in
/// memory: run(). From the outside there is no difference. When the outcome of run() could not be committed,
/// or replay() failed, the only thing left to do is to destroy it. Destroying it cancels nothing.
class Execution final : private detail::Core {
 public:
  Execution(Identity identity, std::shared_ptr<const detail::OrchestrationCode> code);
  ~Execution() override;

  /// Runs the code over one recorded turn.
  Result<void, Problem> replay(std::string_view segment);

  /// Runs one new turn.
  Outcome run(Turn turn);
  /// The same for who has many: the messages are used up, and the memory of `outcome` is used, whatever is in
  /// it.
  void run(CalendarTime time, std::span<Message> messages, Outcome& outcome);
  /// Ends the execution without running any code.
  Outcome terminate(CalendarTime time, std::string reason);

  [[nodiscard]] bool ended() const noexcept { return end_.has_value(); }
  /// The id that the next event gets.
  [[nodiscard]] EventId next_event() const noexcept;
  /// Who waits for its end, if anybody does.
  [[nodiscard]] const history::Parent* parent() const noexcept { return parent_ ? &*parent_ : nullptr; }
  [[nodiscard]] const std::string& version() const noexcept override { return version_; }
  /// How the next execution begins. Precondition: this one ended as continued-as-new.
  [[nodiscard]] history::Started next_start() const;
  /// How it is tried again when it fails; null when it is not, or no longer since it was asked to stop.
  [[nodiscard]] const history::Retrying* retrying() const noexcept;
  /// How the next attempt begins. Precondition: retrying().
  [[nodiscard]] history::Started next_attempt(CalendarTime not_before) const;
  /// Whether an outcome of this operation would be of use.
  [[nodiscard]] bool awaits(EventId id) const noexcept { return !end_ && open_.find(id) != nullptr; }
  /// What it waits for, in the order of the code.
  [[nodiscard]] std::vector<OpenOperation> open_operations() const;
  /// Answers a query, between two turns. It records nothing.
  [[nodiscard]] Asked ask(std::string_view name, const Payload& arguments);
  /// Whether it goes on in another execution.
  [[nodiscard]] bool continues() const noexcept {
    return end_ && std::holds_alternative<history::ContinuedAsNew>(*end_);
  }
  /// Its code can begin: the start was taken.
  [[nodiscard]] bool begun() const noexcept { return begun_; }

 private:
  // What the code asks for; see detail::Core.
  using Core::start;
  detail::OpState* start(detail::Described described, detail::StartedFor purpose) override;
  void release(detail::OpState* state) noexcept override;
  void detach(detail::OpState* state) noexcept override;
  std::string send_off(detail::Described described) override;
  void continue_as_new(std::string_view version, Payload input) override;
  CalendarTime now() const noexcept override { return now_; }
  std::uint64_t random() override;
  void set_status(Payload status) override;
  void set_value(std::string_view key, std::optional<Payload> value) override;
  const Payload* value(std::string_view key) const override;
  std::uint64_t add_query(std::string_view name, std::unique_ptr<const detail::QueryCode> code) override;
  void add_query(std::string_view name, std::unique_ptr<const detail::QueryCode> code,
                 const void* state) override;
  void remove_handler(std::uint64_t number) noexcept override;
  void* state(const std::type_info& type, detail::OwnedState (*make)()) override;
  void set_attribute(Attribute attribute) override;
  void clear_attribute(std::string_view name, AttributeType type) override;
  const AttributeValue* attribute(std::string_view name, AttributeType type) const override;
  bool patched(std::string_view id) override;
  void deprecate_patch(std::string_view id) override;
  const std::string& instance() const noexcept override { return identity_.instance; }
  ExecutionNumber execution() const noexcept override { return identity_.execution; }
  const std::string& orchestration() const noexcept override { return name_; }
  std::uint32_t attempt() const noexcept override { return retry_ ? retry_->state.attempt : 1; }
  std::uint64_t history_size() const noexcept override { return next_event().value - 1; }
  std::uint64_t history_budget() const noexcept override { return history_budget_; }
  bool replaying() const noexcept override { return replay_ != nullptr; }
  void log(LogLevel level, std::string_view message, std::span<const LogField> fields) const override;
  void too_many_interruptions() override;

  // Starting operations.
  void complete_description(detail::Description& description);
  std::optional<Payload> next_readable(const Address& mailbox, detail::WhyUnreadable why_unreadable);
  const detail::Operation& record(detail::Operation& operation, EventId& id);
  void match(detail::Operation& operation, EventId& id);
  bool match_patch(std::string_view id);
  bool matches_plain_activity(const history::RawEvent& event, const detail::Operation& operation) const;
  void complete_at_once(detail::OpState& state, const detail::Operation& operation);
  void fail(detail::OpState& state, const Failure& failure);
  void leave(detail::OpState* state) noexcept;

  /// How an execution that follows this one begins.
  [[nodiscard]] history::Started successor(const std::string& version, const Payload& input) const;

  // Patches; see patches.cpp.
  bool ask_for_patch(std::string_view id);
  [[nodiscard]] std::string hint_about_patches() const;
  [[nodiscard]] std::string hint_about_patch(const std::string& id) const;

  // Handlers; see handlers.cpp.
  bool register_query(std::string_view name, std::unique_ptr<const detail::QueryCode> code, const void* state,
                      std::uint64_t number);
  [[nodiscard]] std::optional<Payload> built_in(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> queries() const;
  [[nodiscard]] Failure no_handler(std::string_view name) const;
  [[nodiscard]] Asked call_handler(const detail::QueryCode& code, const void* state, std::string_view name,
                                   const Payload& arguments);

  // Limits; see limits.cpp.
  [[nodiscard]] std::optional<Failure> over_limit(const detail::Operation& operation);
  [[nodiscard]] std::optional<Failure> over_payload_limit(std::string_view what, std::uint64_t bytes);
  [[nodiscard]] Failure failure_thrown(const std::exception_ptr& error) const;
  void check_value_limits(std::string_view key, const Payload& value);
  void check_attribute_limits(const Attribute& attribute) const;
  void end_if_history_is_too_long(std::uint64_t events);
  void note_history_size(std::uint64_t segment_bytes);
  void near_limit(std::string what, std::uint64_t now, std::uint64_t limit);

  // Revealing what happened; each runs the code until it waits.
  void take_start(history::Started& started);
  void begin(history::Started&& started);
  void wait_for_next_attempt();
  void begin_code(const Payload& input);
  void reveal(detail::OpState& state);
  bool reveal_completed(history::Completed&& completed);
  bool reveal_failed(history::Failed&& failed);
  void reveal_cancel_request(const std::string& reason);
  void run_code();
  bool free_finished_tasks();
  bool drop_left_tasks();
  bool drop_code();
  [[nodiscard]] End end_of_code();
  [[nodiscard]] End end_of_given_up() const;
  void close_turn();
  void remove_open(detail::OpState& state) noexcept;
  void cancel(const detail::OpState& state, history::CancelReason reason);

  // A new turn.
  void open_turn();
  void apply(Message&& message);
  [[nodiscard]] bool may_go_on() const noexcept;
  void deliver(std::uint64_t before);
  void finish_turn(Outcome& outcome);

  // A recorded turn.
  struct Replay;
  void replay_event(Replay& replay);
  bool replay_common_event(const history::RawEvent& event);
  void check_cancel(Replay& replay, const history::OperationCancelled& recorded);
  void check_end(const history::Body& recorded, EventId event);
  void other_operation(EventId event, const detail::Operation& recorded, const detail::Operation& started);
  void unknown_source(EventId event, EventId source, std::string_view what);
  [[nodiscard]] std::string hint_for(const history::Body& recorded, std::string_view otherwise) const;
  [[nodiscard]] std::string with_advice(std::string_view hint) const;
  [[nodiscard]] std::string waits_in_words() const;
  [[nodiscard]] std::string cancelled_in_words(std::size_t index) const;
  void diverge(EventId event, std::string history_says, std::string code_did, std::string hint);
  void corrupt(EventId event, std::string what);

  Identity identity_;
  std::shared_ptr<const detail::OrchestrationCode> code_;
  Context context_;
  detail::RootFrame root_;
  std::string name_;
  std::string version_;
  detail::Rare<history::Parent> parent_;
  std::uint64_t history_budget_ = 0;
  std::uint64_t history_bytes_ = 0;  // of the turns so far
  detail::Rare<history::ExecutionLimits> limits_;
  /// Of a child that is tried again.
  struct Retry {
    history::Retrying state{};
    Payload input{};
    detail::OpState* gate = nullptr;  // the timer before this attempt's code begins
  };
  detail::Rare<Retry> retry_;
  bool begun_ = false;
  Seed seed_{};  // of all that is random in it, and of the keys of what it starts
  SeededRandom random_;
  CalendarTime now_{};
  EventId next_event_{1};
  OpenOperations open_;
  std::vector<detail::OpState*> detached_tasks_;  // owned
  detail::Rare<Channels> channels_;
  std::uint64_t arrivals_ = 0;  // messages so far, to tell their order
  detail::Rare<std::map<std::string, Payload, std::less<>>> values_;
  std::uint64_t values_bytes_ = 0;
  detail::Rare<std::vector<Attribute>> attributes_;  // sorted by name and type
  /// What the code was told about patches.
  struct Patches {
    std::map<std::string, bool, std::less<>> answers{};
    std::size_t taken = 0;
    std::string missed{};  // the first one that the code has deprecated, and history does not have
  };
  detail::Rare<Patches> patches_;
  std::unique_ptr<Handlers> handlers_;  // null while there are none
  detail::Rare<Payload> status_;        // what the code last gave to ctx.set_status()
  std::vector<Cancel> cancels_;         // of this turn
  bool turn_closed_ = false;
  bool drops_code_ = false;  // since it was given up
  detail::Rare<End> end_;

  // While a turn runs, one of these is set.
  struct Live {
    Outcome& outcome;
    history::SegmentWriter writer;
    CalendarTime time;
  };
  Live* live_ = nullptr;
  Replay* replay_ = nullptr;
};

}  // namespace holdfast::engine
