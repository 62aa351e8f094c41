// Calls of a store as data. Their arguments are symbolic ("the lock that is there now", "the 2nd activity of
// step 12"), so that a program still means something after any of its steps was removed; and every default is
// the plainest choice, so that the text of a step names only what matters.
#pragma once

#include <holdfast/codec.hpp>
#include <holdfast/options.hpp>
#include <holdfast/store.hpp>

#include <array>
#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace holdfast::testing::model {

using namespace std::chrono_literals;

/// Handles on the one database: two of one namespace, one of another.
enum class On : std::uint8_t { left, right, other };
/// Nodes that join; each of their joins is an incarnation.
enum class Node : std::uint8_t { ada, bob, cyd };
/// A worker: the last incarnation of a node, the one before it, or nobody that ever joined.
enum class Who : std::uint8_t { ada, bob, cyd, former_ada, former_bob, stranger };
/// What a worker can do.
enum class Profile : std::uint8_t {
  wide,    ///< everything
  plain,   ///< default queue only, no capabilities, one session
  gpu,     ///< other handlers, queues and code, newer builds only
  client,  ///< runs nothing
};
/// Instance ids, and which life of an id is meant.
enum class Id : std::uint8_t { a, b, c, d, e };
inline constexpr std::array kIds{Id::a, Id::b, Id::c, Id::d, Id::e};
enum class Life : std::uint8_t { now, before };
/// Session ids.
enum class Sid : std::uint8_t { s, t, u };
enum class At : std::uint8_t { event_x, event_y, mailbox_x, session_s, session_t };
/// Names of activities.
enum class Job : std::uint8_t { x, y, z };

/// Which token, stamp or generation: the last one that the row had, one that it had before, one that nobody
/// ever gave, or the empty one.
enum class Which : std::uint8_t { last, stale, made_up, empty };

/// The n-th activity, or timer, that a step made.
struct Made {
  std::uint32_t step = 0;
  std::uint32_t nth = 0;
  friend auto operator<=>(const Made&, const Made&) = default;
};

// ---- workers ------------------------------------------------------------------------------------

struct Join {
  static constexpr std::string_view kName = "join";
  On on = On::left;
  Node node = Node::ada;
  Profile profile = Profile::wide;
  friend bool operator==(const Join&, const Join&) = default;
};
struct Refresh {
  static constexpr std::string_view kName = "refresh";
  On on = On::left;
  Who who = Who::ada;
  bool draining = false;
  friend bool operator==(const Refresh&, const Refresh&) = default;
};
struct Leave {
  static constexpr std::string_view kName = "leave";
  On on = On::left;
  Who who = Who::ada;
  friend bool operator==(const Leave&, const Leave&) = default;
};

// ---- turns --------------------------------------------------------------------------------------

/// Which instances a fetch says that it holds: those whose lock is of this worker, the same with tokens from
/// before, or none.
enum class Holding : std::uint8_t { none, own, stale };

struct FetchTurns {
  static constexpr std::string_view kName = "fetch_turns";
  On on = On::left;
  Who who = Who::ada;
  Holding holding = Holding::none;
  std::size_t max = 10;
  Duration lease = 5s;
  std::uint32_t repeats = 0;  ///< the step of a fetch that it repeats, as if that had not been answered
  friend bool operator==(const FetchTurns&, const FetchTurns&) = default;
};

struct ActivitySpec {
  Job job = Job::x;
  std::string queue{};
  int priority = 0;
  Duration start_within = never;
  Duration total = never;
  std::optional<Sid> session{};
  store::SessionPolicy policy{};  ///< with a session only
  bool hand_off = false;
  friend bool operator==(const ActivitySpec&, const ActivitySpec&) = default;
};
struct CompletionSpec {
  Made activity{};
  Which token = Which::last;
  bool save = false;
  bool required = false;  ///< the result counts only with its save
  bool abort = false;
  friend bool operator==(const CompletionSpec&, const CompletionSpec&) = default;
};
struct CancelSpec {
  Made activity{};
  CancelReason reason = CancelReason::dropped;
  friend bool operator==(const CancelSpec&, const CancelSpec&) = default;
};
struct OutgoingSpec {
  Id to = Id::a;
  Life life = Life::now;
  bool by_key = false;
  store::MessageKind kind = store::MessageKind::outcome;
  At at = At::event_x;  ///< of a delivery
  Duration keep_early{};
  bool cancels = false;
  bool before_starts = false;
  friend bool operator==(const OutgoingSpec&, const OutgoingSpec&) = default;
};
/// The n-th of the values of its type, or none: it is cleared.
struct AttributeSpec {
  std::string name{"k"};
  AttributeType type = AttributeType::text;
  std::uint32_t nth = 0;
  bool clear = false;
  friend bool operator==(const AttributeSpec&, const AttributeSpec&) = default;
};
struct ChildSpec {
  Id id = Id::a;
  store::CodeVersion code{"flow", ""};
  bool detached = false;
  std::vector<AttributeSpec> attributes{};
  friend bool operator==(const ChildSpec&, const ChildSpec&) = default;
};
struct ValueSpec {
  std::string key{"k"};
  bool remove = false;
  friend bool operator==(const ValueSpec&, const ValueSpec&) = default;
};
struct ValueReadSpec {
  Id id = Id::a;
  std::string key{"k"};
  friend bool operator==(const ValueReadSpec&, const ValueReadSpec&) = default;
};
/// The n-th question of this instance that the other one has to answer when it ends.
struct EndCancelSpec {
  Id id = Id::a;
  std::size_t nth = 0;
  friend bool operator==(const EndCancelSpec&, const EndCancelSpec&) = default;
};
struct SessionOpenSpec {
  Sid id = Sid::s;
  store::SessionPolicy policy{};
  bool silent = false;  ///< wants no answer
  friend bool operator==(const SessionOpenSpec&, const SessionOpenSpec&) = default;
};
struct SessionCloseSpec {
  Sid id = Sid::s;
  bool silent = false;
  friend bool operator==(const SessionCloseSpec&, const SessionCloseSpec&) = default;
};

/// Which messages a turn consumes: of those that its worker was given, or all that are there.
enum class Consumed : std::uint8_t { given, first, last, every_other, unread_kept, none, all_there };
/// The last message that the frame was given; or as if it had been given none, or all that are there.
enum class Seen : std::uint8_t { given, none, all_there };
enum class End : std::uint8_t { none, completed, failed, cancelled, terminated, next_execution };

struct TurnSpec {
  Id id = Id::a;
  Life life = Life::now;
  Which token = Which::last;
  Which expected = Which::last;
  Consumed consumed = Consumed::given;
  Seen seen = Seen::given;
  bool first_set_aside = false;   ///< of those that it consumes
  bool strange_messages = false;  ///< consumes messages of other instances too, and one that never was
  std::size_t segment = 0;        ///< bytes of history
  std::optional<std::vector<At>> waits{};
  std::vector<ActivitySpec> activities{};
  std::vector<CompletionSpec> completed{};
  std::vector<CancelSpec> cancelled{};
  std::vector<Duration> timers{};  ///< due so much later than now, in calendar time
  std::vector<Made> cancelled_timers{};
  std::vector<OutgoingSpec> messages{};
  std::vector<ChildSpec> starts{};
  std::vector<ValueSpec> values{};
  std::vector<AttributeSpec> attributes{};
  std::vector<ValueReadSpec> value_reads{};
  std::vector<Id> end_requests{};
  std::vector<EndCancelSpec> cancelled_end_requests{};
  std::vector<SessionOpenSpec> open_sessions{};
  std::vector<SessionCloseSpec> close_sessions{};
  std::vector<Sid> watch_sessions{};
  bool custom_status = false;
  std::optional<std::string> version{};
  std::optional<std::uint64_t> build{};
  End end = End::none;
  std::string next_version{};
  bool keep_lock = false;
  friend bool operator==(const TurnSpec&, const TurnSpec&) = default;
};
struct CommitTurns {
  static constexpr std::string_view kName = "commit_turns";
  On on = On::left;
  Who who = Who::ada;
  Duration lease = 10s;
  std::vector<TurnSpec> turns{};
  friend bool operator==(const CommitTurns&, const CommitTurns&) = default;
};

struct TurnReleaseSpec {
  Id id = Id::a;
  Life life = Life::now;
  Which token = Which::last;
  Duration delay{};
  Seen seen = Seen::given;
  bool counts = false;
  bool park = false;
  friend bool operator==(const TurnReleaseSpec&, const TurnReleaseSpec&) = default;
};
struct ReleaseTurns {
  static constexpr std::string_view kName = "release_turns";
  On on = On::left;
  std::vector<TurnReleaseSpec> turns{};
  friend bool operator==(const ReleaseTurns&, const ReleaseTurns&) = default;
};
struct TurnRenewalSpec {
  Id id = Id::a;
  Life life = Life::now;
  Which token = Which::last;
  friend bool operator==(const TurnRenewalSpec&, const TurnRenewalSpec&) = default;
};
struct RenewTurns {
  static constexpr std::string_view kName = "renew_turns";
  On on = On::left;
  Who who = Who::ada;
  Duration lease = 5s;
  std::vector<TurnRenewalSpec> turns{};
  friend bool operator==(const RenewTurns&, const RenewTurns&) = default;
};
struct ReadHistory {
  static constexpr std::string_view kName = "read_history";
  On on = On::left;
  Id id = Id::a;
  Life life = Life::now;
  std::uint64_t execution = 1;
  std::uint32_t after_step = 0;
  std::size_t max_bytes = 1'000'000;
  friend bool operator==(const ReadHistory&, const ReadHistory&) = default;
};
struct WakeParked {
  static constexpr std::string_view kName = "wake_parked";
  On on = On::left;
  Profile profile = Profile::wide;
  friend bool operator==(const WakeParked&, const WakeParked&) = default;
};

// ---- activities ---------------------------------------------------------------------------------

struct FetchActivities {
  static constexpr std::string_view kName = "fetch_activities";
  On on = On::left;
  Who who = Who::ada;
  std::size_t max = 10;
  Duration lease = 10s;
  bool owned_only = false;
  std::uint32_t repeats = 0;  ///< as with turns
  friend bool operator==(const FetchActivities&, const FetchActivities&) = default;
};
enum class Ending : std::uint8_t { finished, retry, put_back, set_aside };
struct FinishSpec {
  Made activity{};
  Which token = Which::last;
  Ending ending = Ending::finished;
  Duration delay{};
  bool save = false;
  bool required = false;  ///< the result counts only with its save
  bool abort = false;
  bool still_runs = false;
  friend bool operator==(const FinishSpec&, const FinishSpec&) = default;
};
struct FinishActivities {
  static constexpr std::string_view kName = "finish_activities";
  On on = On::left;
  std::vector<FinishSpec> activities{};
  friend bool operator==(const FinishActivities&, const FinishActivities&) = default;
};
struct ActivityRenewalSpec {
  Made activity{};
  Which token = Which::last;
  bool progress = false;
  friend bool operator==(const ActivityRenewalSpec&, const ActivityRenewalSpec&) = default;
};
struct RenewActivities {
  static constexpr std::string_view kName = "renew_activities";
  On on = On::left;
  Who who = Who::ada;
  Duration lease = 10s;
  std::vector<ActivityRenewalSpec> activities{};
  friend bool operator==(const RenewActivities&, const RenewActivities&) = default;
};
struct AcknowledgementSpec {
  Made activity{};
  Which token = Which::last;
  store::CancelRecord::State state = store::CancelRecord::State::acknowledged;
  friend bool operator==(const AcknowledgementSpec&, const AcknowledgementSpec&) = default;
};
struct AcknowledgeCancels {
  static constexpr std::string_view kName = "acknowledge_cancels";
  On on = On::left;
  std::vector<AcknowledgementSpec> cancels{};
  friend bool operator==(const AcknowledgeCancels&, const AcknowledgeCancels&) = default;
};

// ---- sessions -----------------------------------------------------------------------------------

struct AcquireSession {
  static constexpr std::string_view kName = "acquire_session";
  On on = On::left;
  Who who = Who::ada;
  Sid id = Sid::s;
  store::SessionPolicy policy{};
  friend bool operator==(const AcquireSession&, const AcquireSession&) = default;
};
struct SessionRenewalSpec {
  Sid id = Sid::s;
  Which generation = Which::last;
  Duration quiet_for{};
  friend bool operator==(const SessionRenewalSpec&, const SessionRenewalSpec&) = default;
};
struct RenewSessions {
  static constexpr std::string_view kName = "renew_sessions";
  On on = On::left;
  Who who = Who::ada;
  std::vector<SessionRenewalSpec> sessions{};
  friend bool operator==(const RenewSessions&, const RenewSessions&) = default;
};
struct SessionReleaseSpec {
  Sid id = Sid::s;
  Which generation = Which::last;
  store::SessionReason reason = store::SessionReason::idle;
  bool save = false;
  friend bool operator==(const SessionReleaseSpec&, const SessionReleaseSpec&) = default;
};
struct ReleaseSessions {
  static constexpr std::string_view kName = "release_sessions";
  On on = On::left;
  Who who = Who::ada;
  std::vector<SessionReleaseSpec> sessions{};
  friend bool operator==(const ReleaseSessions&, const ReleaseSessions&) = default;
};
struct CloseSession {
  static constexpr std::string_view kName = "close_session";
  On on = On::left;
  Sid id = Sid::s;
  friend bool operator==(const CloseSession&, const CloseSession&) = default;
};
struct AskForSession {
  static constexpr std::string_view kName = "ask_for_session";
  On on = On::left;
  Sid id = Sid::s;
  std::optional<Node> to{};
  Duration keep_for{};
  bool force = false;
  friend bool operator==(const AskForSession&, const AskForSession&) = default;
};
struct DiscardSessionState {
  static constexpr std::string_view kName = "discard_session_state";
  On on = On::left;
  Sid id = Sid::s;
  friend bool operator==(const DiscardSessionState&, const DiscardSessionState&) = default;
};
struct AcknowledgeEnds {
  static constexpr std::string_view kName = "acknowledge_ends";
  On on = On::left;
  Who who = Who::ada;
  Sid id = Sid::s;
  Which generation = Which::last;
  friend bool operator==(const AcknowledgeEnds&, const AcknowledgeEnds&) = default;
};
struct FailSession {
  static constexpr std::string_view kName = "fail_session";
  On on = On::left;
  Who who = Who::ada;
  Sid id = Sid::s;
  Which generation = Which::last;
  friend bool operator==(const FailSession&, const FailSession&) = default;
};

// ---- clients ------------------------------------------------------------------------------------

struct StartSpec {
  Id id = Id::a;
  store::CodeVersion code{"flow", ""};
  std::uint64_t request = 0;  ///< 0 is the empty one
  std::uint64_t fingerprint = 1;
  Reuse reuse = Reuse::never;
  Duration delay{};
  std::vector<AttributeSpec> attributes{};
  friend bool operator==(const StartSpec&, const StartSpec&) = default;
};
struct Start {
  static constexpr std::string_view kName = "start";
  On on = On::left;
  std::vector<StartSpec> instances{};
  friend bool operator==(const Start&, const Start&) = default;
};
struct SendSpec {
  Id to = Id::a;
  std::optional<Life> life{};  ///< none: whichever there is
  store::MessageKind kind = store::MessageKind::control;
  At at = At::event_x;        ///< of a delivery
  std::uint64_t request = 0;  ///< 0 is the empty one
  Duration delay{};
  Duration keep_early = 24h;
  bool cancels = false;
  friend bool operator==(const SendSpec&, const SendSpec&) = default;
};
struct Send {
  static constexpr std::string_view kName = "send";
  On on = On::left;
  std::vector<SendSpec> messages{};
  friend bool operator==(const Send&, const Send&) = default;
};
struct SuspensionSpec {
  Id id = Id::a;
  std::optional<Life> life{};  ///< none: whichever there is
  bool resume = false;
  std::uint64_t request = 0;  ///< 0 is the empty one
  friend bool operator==(const SuspensionSpec&, const SuspensionSpec&) = default;
};
struct SetSuspended {
  static constexpr std::string_view kName = "set_suspended";
  On on = On::left;
  std::vector<SuspensionSpec> wishes{};
  friend bool operator==(const SetSuspended&, const SetSuspended&) = default;
};
struct DeletionSpec {
  Id id = Id::a;
  std::optional<Life> life{};  ///< none: whichever there is
  bool force = false;
  friend bool operator==(const DeletionSpec&, const DeletionSpec&) = default;
};
struct Delete {
  static constexpr std::string_view kName = "delete_instances";
  On on = On::left;
  std::vector<DeletionSpec> instances{};
  friend bool operator==(const Delete&, const Delete&) = default;
};
struct Prune {
  static constexpr std::string_view kName = "prune_executions";
  On on = On::left;
  Id id = Id::a;
  std::uint64_t keep = 0;
  std::uint64_t one = 0;  ///< if set: the history of this execution, and no other
  friend bool operator==(const Prune&, const Prune&) = default;
};

// ---- questions -----------------------------------------------------------------------------------

/// One of a few questions, each with its id.
struct QuestionSpec {
  std::uint64_t number = 1;
  store::CodeVersion code{"flow", "1"};
  std::uint64_t build = 0;
  Duration within = 10s;
  friend bool operator==(const QuestionSpec&, const QuestionSpec&) = default;
};
struct AskQuestions {
  static constexpr std::string_view kName = "ask";
  On on = On::left;
  std::vector<QuestionSpec> questions{};
  friend bool operator==(const AskQuestions&, const AskQuestions&) = default;
};
struct FetchQuestions {
  static constexpr std::string_view kName = "fetch_asks";
  On on = On::left;
  Who who = Who::ada;
  Duration lease = 3s;
  std::size_t max = 2;
  friend bool operator==(const FetchQuestions&, const FetchQuestions&) = default;
};
struct AnswerQuestions {
  static constexpr std::string_view kName = "answer";
  On on = On::left;
  std::vector<std::uint64_t> numbers{};
  friend bool operator==(const AnswerQuestions&, const AnswerQuestions&) = default;
};
struct TakeAnswers {
  static constexpr std::string_view kName = "take_answers";
  On on = On::left;
  std::vector<std::uint64_t> numbers{};
  friend bool operator==(const TakeAnswers&, const TakeAnswers&) = default;
};

/// Every call that only reads.
struct LookAround {
  static constexpr std::string_view kName = "look_around";
  On on = On::left;
  friend bool operator==(const LookAround&, const LookAround&) = default;
};

enum class Waiting : std::uint8_t { turns, activities, sweep };
/// A worker takes all that there is, and waits until just before the time at which it was told to ask again:
/// there must be nothing for it.
struct Doze {
  static constexpr std::string_view kName = "doze";
  On on = On::left;
  Who who = Who::ada;
  Waiting waiting = Waiting::turns;
  Duration lease = 5s;
  friend bool operator==(const Doze&, const Doze&) = default;
};

// ---- keeping order, and the world around ---------------------------------------------------------

struct Sweep {
  static constexpr std::string_view kName = "sweep";
  On on = On::left;
  Who who = Who::ada;
  Duration worker_stale_after = 60s;
  Duration session_state_retention = 24h;
  Duration session_record_retention = 24h;
  Duration request_retention = 24h;
  Duration session_log_retention = 24h;
  friend bool operator==(const Sweep&, const Sweep&) = default;
};
struct Advance {
  static constexpr std::string_view kName = "advance";
  Duration by = 1s;
  friend bool operator==(const Advance&, const Advance&) = default;
};
struct StepCalendar {
  static constexpr std::string_view kName = "step_calendar";
  Duration by = 1s;
  friend bool operator==(const StepCalendar&, const StepCalendar&) = default;
};
/// The handle is destroyed, and opened anew on the same database.
struct Reopen {
  static constexpr std::string_view kName = "reopen";
  On on = On::left;
  friend bool operator==(const Reopen&, const Reopen&) = default;
};

using Operation =
    std::variant<Join, Refresh, Leave, FetchTurns, CommitTurns, ReleaseTurns, RenewTurns, ReadHistory,
                 WakeParked, FetchActivities, FinishActivities, RenewActivities, AcknowledgeCancels,
                 AcquireSession, RenewSessions, ReleaseSessions, CloseSession, AskForSession,
                 DiscardSessionState, AcknowledgeEnds, FailSession, Start, Send, SetSuspended, Delete, Prune,
                 AskQuestions, FetchQuestions, AnswerQuestions, TakeAnswers, LookAround, Doze, Sweep, Advance,
                 StepCalendar, Reopen>;

/// The number stays with the step when others are removed: tokens, stamps, bodies and event numbers are made
/// of it.
struct Step {
  std::uint32_t number = 0;
  Operation operation{};
  friend bool operator==(const Step&, const Step&) = default;
};
using Program = std::vector<Step>;

}  // namespace holdfast::testing::model

/// As text "12.1": the activity or timer number 1 of step 12.
template <>
struct holdfast::Codec<holdfast::testing::model::Made> {
  static void write(JsonWriter& out, const testing::model::Made& made);
  static bool read(JsonReader& in, testing::model::Made& made);
};
