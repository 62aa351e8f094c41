// A turn is committed: checked first, then applied step by step, in the order that the contract gives.
#include "activities.hpp"
#include "calls.hpp"
#include "contract/code_order.hpp"
#include "ends.hpp"
#include "instances.hpp"
#include "messages.hpp"
#include "placing.hpp"
#include "readiness.hpp"
#include "session_results.hpp"
#include "sessions.hpp"
#include "setting_aside.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::rules {

namespace {

/// One commit, with what it is about. Nothing can fail once it is made.
class Turn {
 public:
  Turn(Transaction& tx, const CommitRequest& request, const TurnCommit& commit, Instance& instance)
      : tx_(tx), request_(request), commit_(commit), instance_(instance) {}

  Committed apply() {
    // Messages to itself must not make it ready half-way; it gets its place at the end.
    unplace(tx_, instance_);
    instance_.ready_since.reset();
    instance_.lock.live = true;
    tx_.rows.commits(instance_, commit_);
    if (!commit_.segment.empty()) tx_.rows.record(instance_, commit_);
    consume();
    complete();
    cancel();
    open_sessions();
    schedule_activities();
    for (const NewTimer& timer : commit_.timers) set_timer(tx_, instance_, timer);
    change_values();
    change_attributes();
    close_and_watch_sessions();
    start_and_send();
    answer();
    show();
    end_or_go_on();
    settle_lock();
    return std::move(committed_);
  }

 private:
  [[nodiscard]] ActivityId activity(EventId event) const {
    return {instance_.view.key, instance_.view.execution, event};
  }

  void consume() {
    for (const MessageId id : commit_.consumed) instance_.messages.erase(id);
    for (const MessageId id : commit_.set_aside) {
      tx_.rows.message(instance_, id);
      const auto message = instance_.messages.extract(id);
      if (message) rules::set_aside(tx_, instance_, message.mapped());
    }
    instance_.seen = commit_.seen;
  }

  void complete() {
    // All rows first: an activity that aborts its session must not take those away that ended with it.
    std::vector<SessionResults> results;
    for (const LocalCompletion& completion : commit_.completed) {
      Activity* const row = find_activity(tx_, activity(completion.event));
      if (row == nullptr) continue;  // named twice
      if (completion.save || completion.abort_session)
        results.emplace_back(*row, completion.save, completion.abort_session);
      remove(tx_, *row);
    }
    for (const SessionResults& result : results) result.apply(tx_);
  }

  void cancel() {
    for (const CancelledActivity& cancelled : commit_.cancelled) {
      Activity* const row = find_activity(tx_, activity(cancelled.event));
      if (row != nullptr) take_away(tx_, *row, cancelled.reason);
    }
    for (const EventId timer : commit_.cancelled_timers) cancel_timer(tx_, instance_, timer);
    for (const EndRequest& request : commit_.cancelled_end_requests)
      forget_end_request(tx_, instance_, request);
  }

  void open_sessions() {
    for (const SessionOpen& open : commit_.open_sessions) {
      const Session* const session = session_now(tx_, open.id);
      const bool exists = session != nullptr && !session->ended;
      if (!exists) begin(tx_, open.id, open.policy, &instance_);
      watch(tx_, instance_, open.id);
      note_answer(open.source, exists ? SessionAnswer::Kind::existed : SessionAnswer::Kind::opened);
    }
  }

  void schedule_activities() {
    committed_.handed_off.reserve(commit_.activities.size());
    for (const NewActivity& wanted : commit_.activities) {
      auto& handed_off = committed_.handed_off.emplace_back();
      Activity* const row = schedule(tx_, instance_, wanted);
      if (row == nullptr) continue;
      if (wanted.hand_off && goes_on() && may_hand_off(*row)) {
        handed_off = take(tx_, *row, request_.worker, commit_.activity_token, request_.activity_lease);
      } else {
        place(tx_, *row);
        tx_.news.work |= kActivities;
      }
    }
  }

  [[nodiscard]] bool goes_on() const { return std::holds_alternative<std::monostate>(commit_.end); }

  [[nodiscard]] bool may_hand_off(const Activity& row) const {
    return request_.abilities != nullptr && !refusal(tx_, request_.worker, Call::takes_work) &&
           rules::may_hand_off(tx_, request_.worker, *request_.abilities, row);
  }

  void change_values() {
    for (const ValueChange& change : commit_.values) {
      if (change.value) {
        instance_.values.insert_or_assign(change.key, *change.value);
      } else {
        instance_.values.erase(change.key);
      }
    }
  }

  void change_attributes() {
    for (const AttributeChange& change : commit_.attributes)
      detail::change_attribute(instance_.view.attributes, change.name, change.type, change.value);
  }

  void close_and_watch_sessions() {
    for (const SessionClose& item : commit_.close_sessions) {
      Session* const session = session_now(tx_, item.id);
      const bool exists = session != nullptr && !session->ended;
      if (exists) close(tx_, *session, SessionReason::closed_by_code);
      note_answer(item.source, exists ? SessionAnswer::Kind::closed : SessionAnswer::Kind::missing);
    }
    for (const std::string& id : commit_.watch_sessions) watch(tx_, instance_, id);
  }

  void start_and_send() {
    store::in_code_order(
        commit_, [this](const NewInstance& item) { start(item); },
        [this](std::size_t i, const Outgoing& outgoing) {
          if (!send(outgoing)) committed_.dropped.push_back(i);
        });
  }

  // False when it goes nowhere.
  bool send(const Outgoing& outgoing) {
    const bool by_key = outgoing.key != InstanceKey{};
    const bool keeps =
        !by_key && outgoing.message.kind == MessageKind::delivery && outgoing.keep_early > Duration::zero();
    Instance* const target = by_key  ? find_instance(tx_, outgoing.key)
                             : keeps ? find_or_reserve(tx_, outgoing.instance)
                                     : find_instance(tx_, outgoing.instance);
    if (target == nullptr && keeps) {
      keep_early(tx_, outgoing.instance, outgoing.message, outgoing.keep_early);
      return true;
    }
    const bool ends_with_this = target == &instance_ && std::holds_alternative<InstanceEnd>(commit_.end);
    if (target == nullptr || ends_with_this || !deliver(tx_, *target, outgoing.message)) return false;
    if (outgoing.cancels) note_cancel_request(tx_, *target);
    return true;
  }

  void start(const NewInstance& item) {
    tx_.rows.reserve(item.instance);
    Instance* target = find_instance(tx_, item.instance);
    const bool is_new = target == nullptr;
    if (is_new)
      target = &create(
          tx_,
          {.id = item.instance, .code = item.code, .parent = item.parent, .attributes = item.attributes});
    const ExecutionNumber begins = is_new ? target->view.execution : ExecutionNumber{};
    deliver(tx_, *target, NewMessage{.kind = MessageKind::start, .execution = begins, .body = item.body});
    if (is_new) deliver_early(tx_, *target);
  }

  void answer() {
    for (const ValueRequest& read : commit_.value_reads) {
      ValueAnswer found;
      if (Instance* const other = find_instance(tx_, read.instance); other != nullptr) {
        found.instance_found = true;
        found.value = find_value(tx_, *other, read.key);
      }
      deliver_answer(MessageKind::value, read.source, std::move(found));
    }
    for (const auto& [source, kind] : session_answers_) {
      deliver_answer(MessageKind::session, source, SessionAnswer{kind});
    }
    if (!goes_on()) return;
    for (const EndRequest& request : commit_.end_requests) ask_for_end(tx_, instance_, request);
  }

  void note_answer(EventId source, SessionAnswer::Kind kind) {
    if (source != EventId{}) session_answers_.emplace_back(source, kind);
  }

  void deliver_answer(MessageKind kind, EventId source, MessageBody body) {
    deliver(
        tx_, instance_,
        Message{
            .kind = kind, .execution = instance_.view.execution, .source = source, .body = std::move(body)});
  }

  void show() {
    InstanceView& view = instance_.view;
    if (commit_.custom_status) {
      view.custom_status = commit_.custom_status;
      ++view.custom_status_version;
      touch(tx_, instance_);
    }
    if (commit_.version) view.code.version = *commit_.version;
    if (commit_.build) view.build = *commit_.build;
    if (commit_.waits) {
      instance_.waits = *commit_.waits;
      std::ranges::sort(instance_.waits);
    }
  }

  void end_or_go_on() {
    if (const auto* const how = std::get_if<InstanceEnd>(&commit_.end)) end(tx_, instance_, *how);
    if (const auto* const next = std::get_if<NextExecution>(&commit_.end)) {
      continue_as_new(tx_, instance_, *next);
    }
  }

  void settle_lock() {
    if (instance_.terminating) instance_.terminating = has_unread_control(tx_, instance_);
    instance_.stamp = commit_.stamp;
    instance_.delivery = 0;
    instance_.woken = false;
    committed_.ready = needs_turn(tx_, instance_);
    const bool keeps = commit_.keep_lock && !std::holds_alternative<InstanceEnd>(commit_.end);
    if (!keeps) instance_.lock = {};
    instance_.lock.live = instance_.lock.until > tx_.now;
    if (keeps && !instance_.lock.live) instance_.seen = {};  // as when the lease ends while nothing happens
    place(tx_, instance_);
    if (instance_.ready_since) tx_.news.work |= kTurns;
  }

  Transaction& tx_;
  const CommitRequest& request_;
  const TurnCommit& commit_;
  Instance& instance_;
  Committed committed_{};
  std::vector<std::pair<EventId, SessionAnswer::Kind>> session_answers_{};
};

/// Why nothing of a commit may happen, if so.
std::optional<StoreError> objection(Transaction& tx, const TurnCommit& commit) {
  using Kind = StoreError::Kind;
  const Instance* const instance = look_at(tx, commit.key);
  if (instance == nullptr || !instance->lock.is(commit.token)) {
    return StoreError{.kind = Kind::lost,
                      .message = "instance " + to_string(commit.key) + " is not locked by this token"};
  }
  if (instance->stamp != commit.expected) {
    return StoreError{.kind = Kind::lost,
                      .message = "instance '" + instance->view.instance + "' has another stamp"};
  }
  if (instance->view.execution != commit.execution) {
    return StoreError{.kind = Kind::invalid,
                      .message = "instance '" + instance->view.instance + "' is in execution " +
                                 to_string(instance->view.execution) + ", not " +
                                 to_string(commit.execution)};
  }
  if (has_ended(instance->view.status) && !(commit.activities.empty() && commit.timers.empty())) {
    return StoreError{.kind = Kind::invalid,
                      .message = "instance '" + instance->view.instance +
                                 "' has ended; it can't have new activities or timers"};
  }
  for (const LocalCompletion& completion : commit.completed) {
    const Activity* const row = look_at(tx, ActivityId{commit.key, commit.execution, completion.event});
    if (row == nullptr || !row->lock.is(completion.token)) {
      return StoreError{.kind = Kind::lost,
                        .message = "the activity of event " + to_string(completion.event) + " of instance '" +
                                   instance->view.instance +
                                   "' is not locked by the token of its completion"};
    }
    if (completion.save && !SessionResults(*row, completion.save, completion.abort_session).counts(tx)) {
      return StoreError{
          .kind = Kind::lost,
          .message = "the state of its session can't be saved: its worker no longer holds the session"};
    }
  }
  return std::nullopt;
}

}  // namespace

StoreResult<Committed> commit_turn(Transaction& tx, const CommitRequest& request, const TurnCommit& commit) {
  if (auto refused = objection(tx, commit)) return Unexpected(*std::move(refused));
  return Turn(tx, request, commit, *find_instance(tx, commit.key)).apply();
}

}  // namespace holdfast::rules
