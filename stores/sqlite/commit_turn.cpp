#include "activities.hpp"
#include "clients.hpp"
#include "contract/rows.hpp"
#include "turns.hpp"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

namespace holdfast::sqlite_store {
namespace {

using store::InstanceStatus;
using store::TurnCommit;

CancelReason reason_of_end(InstanceStatus status) noexcept {
  switch (status) {
    case InstanceStatus::failed:
      return CancelReason::execution_failed;
    case InstanceStatus::cancelled:
      return CancelReason::execution_cancelled;
    case InstanceStatus::terminated:
      return CancelReason::execution_terminated;
    default:
      return CancelReason::execution_completed;
  }
}

class Commit {
 public:
  Commit(Transaction& tx, const store::CommitRequest& request, const TurnCommit& commit)
      : tx_(tx), request_(request), commit_(commit) {}

  StoreResult<store::Committed> run() {
    if (!load() || !find_completed()) {
      return Unexpected(store_error(
          StoreError::Kind::lost, "instance " + to_string(commit_.key) + " was changed or taken by another"));
    }
    begin();
    append_segment();
    remove_messages();
    complete_local();
    cancel();
    schedule_activities();
    schedule_timers();
    change_values();
    send();
    show();
    end();
    settle_lock();
    return std::move(out_);
  }

 private:
  // ---- what must hold -------------------------------------------------------------------------

  bool load() {
    std::optional<Instance> found = load_instance(tx_, commit_.key);
    if (!found || !found->held || found->held->token != commit_.token) return false;
    instance_ = *std::move(found);
    return stamp_of(tx_, instance_) == commit_.expected && instance_.execution == commit_.execution;
  }

  // All rows of the local completions must be locked by their tokens.
  bool find_completed() {
    if (commit_.completed.empty()) return true;
    const auto [first, last] = std::minmax_element(
        commit_.completed.begin(), commit_.completed.end(),
        [](const store::LocalCompletion& a, const store::LocalCompletion& b) { return a.event < b.event; });
    first_completed_ = first->event;
    last_completed_ = last->event;
    std::vector<std::pair<EventId, LockToken>> rows;
    for (Cursor row = tx_.rows(tx_.sql.running_tokens, commit_.key, commit_.execution, first_completed_,
                               last_completed_);
         row.next();) {
      rows.emplace_back(row->number<EventId>(0), row->token<LockToken>(1));
    }
    completed_are_range_ = rows.size() == commit_.completed.size();
    for (const store::LocalCompletion& done : commit_.completed) {
      if (std::binary_search(rows.begin(), rows.end(), std::pair(done.event, done.token))) continue;
      completed_are_range_ = false;
      const std::optional<Activity> lapsed = find_activity(tx_, id_of(done.event));
      if (!lapsed || lapsed->token != done.token) return false;
    }
    return true;
  }

  // Until the end nothing done here makes the instance ready, also when its lease is over.
  void begin() {
    take_out(tx_, instance_);
    place_in_row_ = instance_.ready_at;
    lapsed_ = std::exchange(instance_.held->lapsed, false);
    seen_ = commit_.seen;
  }

  // ---- the steps, in the order of the contract ------------------------------------------------

  void append_segment() {
    if (commit_.segment.empty()) {
      change_instance().stamp = commit_.stamp;
      return;
    }
    tx_.run(tx_.sql.insert_segment, commit_.key, commit_.execution, commit_.first_event, commit_.stamp,
            Blob{commit_.segment});
    if (!instance_.stamp.empty()) change_instance().stamp = {};
  }

  void remove_messages() {
    for (const MessageId id : commit_.set_aside) put_aside(id);
    for (const MessageId id : commit_.consumed) {
      if (tx_.change(tx_.sql.delete_message, commit_.key, 0, id) == 0) {
        tx_.run(tx_.sql.delete_message, commit_.key, 1, id);
      }
    }
  }

  void put_aside(MessageId id) {
    for (const int waits : {0, 1}) {
      store::MessageKind kind{};
      std::string body;
      {
        Cursor row = tx_.rows(tx_.sql.message, commit_.key, waits, id);
        if (!row.next()) continue;
        kind = static_cast<store::MessageKind>(row->integer(0));
        body = row->blob(1);
      }
      tx_.run(tx_.sql.delete_message, commit_.key, waits, id);
      set_aside(tx_, commit_.key, describe_message(id, kind), "could not be decoded", body);
    }
  }

  void complete_local() {
    if (commit_.completed.empty()) return;
    if (completed_are_range_) {
      tx_.run(tx_.sql.delete_running_range, commit_.key, commit_.execution, first_completed_,
              last_completed_);
      return;
    }
    for (const store::LocalCompletion& done : commit_.completed) {
      if (const auto row = find_activity(tx_, id_of(done.event))) erase_activity(tx_, *row);
    }
  }

  void cancel() {
    for (const store::CancelledActivity& cancelled : commit_.cancelled) {
      if (const auto row = find_activity(tx_, id_of(cancelled.event))) {
        cancel_activity(tx_, *row, cancelled.reason);
      }
    }
    for (const EventId timer : commit_.cancelled_timers) {
      tx_.run(tx_.sql.delete_timer, commit_.key, commit_.execution, timer);
    }
  }

  void schedule_activities() {
    out_.handed_off.resize(commit_.activities.size());
    for (std::size_t i = 0; i < commit_.activities.size(); ++i) {
      const store::NewActivity& activity = commit_.activities[i];
      const std::int64_t kind = tx_.kind_number(activity.queue, activity.name, {});
      if (may_hand_off(activity, kind)) {
        out_.handed_off[i] = hand_off(activity, kind);
      } else {
        enqueue(activity, kind);
      }
    }
  }

  bool may_hand_off(const store::NewActivity& activity, std::int64_t kind) {
    if (!activity.hand_off || request_.abilities == nullptr) return false;
    if (!worker_may_take_) {
      worker_may_take_ = !tx_.refuse_worker(request_.worker);
      let_activities_lapse(tx_);
    }
    return *worker_may_take_ && serves(*request_.abilities, tx_.kind(kind)) &&
           !must_yield(tx_, request_.worker, *request_.abilities, activity.priority);
  }

  store::LockedActivity hand_off(const store::NewActivity& activity, std::int64_t kind) {
    const LeaseTime until = later(tx_.now, request_.activity_lease);
    if (activity.priority == 0 && activity.start_within == never && activity.total == never) {
      tx_.run(tx_.sql.insert_running_plain, commit_.key, commit_.execution, activity.event, kind,
              request_.worker, commit_.activity_token, until, Blob{activity.body});
      LeaseTime& horizon = tx_.counters().activity_horizon;
      horizon = std::min(horizon, until);
    } else {
      Activity row = row_of(activity, kind);
      row.worker = request_.worker;
      row.token = commit_.activity_token;
      row.until = until;
      row.delivery = 1;
      insert_running(tx_, row);
    }
    return {.id = id_of(activity.event),
            .instance = instance_.name,
            .name = activity.name,
            .queue = activity.queue,
            .priority = activity.priority,
            .body = activity.body,
            .total_left = activity.total};
  }

  void enqueue(const store::NewActivity& activity, std::int64_t kind) {
    Activity row = row_of(activity, kind);
    row.lane = lane_of(tx_, row);
    row.at = tx_.now;
    insert_queued(tx_, row);
  }

  Activity row_of(const store::NewActivity& activity, std::int64_t kind) {
    Activity row;
    row.id = id_of(activity.event);
    row.kind = kind;
    row.body = activity.body;
    row.priority = activity.priority;
    row.start_within = activity.start_within;
    row.total_until = later(tx_.now, activity.total);
    return row;
  }

  void schedule_timers() {
    for (const store::NewTimer& timer : commit_.timers) {
      tx_.run(tx_.sql.insert_timer, commit_.key, commit_.execution, timer.event, tx_.ns, to_row(timer.due));
      tx_.wake(store::kTurns);
    }
  }

  void change_values() {
    for (const store::ValueChange& change : commit_.values) {
      if (change.value) {
        tx_.run(tx_.sql.set_value, commit_.key, change.key, Blob{*change.value});
      } else {
        tx_.run(tx_.sql.remove_value, commit_.key, change.key);
      }
    }
  }

  void send() {
    for (const store::Outgoing& outgoing : commit_.messages) {
      std::optional<InstanceKey> key = outgoing.key;
      if (outgoing.key == InstanceKey{}) key = key_of(tx_, outgoing.instance);
      if (!key || !deliver_to(*key, letter(outgoing.message))) ++out_.dropped;
    }
    for (const store::NewInstance& start : commit_.starts) start_child(start);
    for (const store::ValueRequest& read : commit_.value_reads) answer_value(read);
  }

  // This instance is changed in memory: its row is written at the end.
  bool deliver_to(InstanceKey key, const Letter& letter) {
    return key == commit_.key ? deliver(tx_, instance_, letter) : deliver(tx_, key, letter);
  }

  void start_child(const store::NewInstance& start) {
    if (const auto key = key_of(tx_, start.instance)) {
      deliver_to(*key, {.kind = store::MessageKind::start, .body = start.body});
      return;
    }
    create_instance(
        tx_, {.name = start.instance, .code = &start.code, .body = start.body, .parent = start.parent});
  }

  void answer_value(const store::ValueRequest& read) {
    store::ValueAnswer answer;
    if (const auto key = key_of(tx_, read.instance)) {
      answer.instance_found = true;
      if (Cursor row = tx_.rows(tx_.sql.value, *key, read.key); row.next()) answer.value = row->blob(0);
    }
    deliver(tx_, instance_,
            {.kind = store::MessageKind::value,
             .execution = commit_.execution,
             .source = read.source,
             .body = store::encode_body(answer)});
  }

  void show() {
    if (commit_.custom_status) {
      tx_.run(tx_.sql.set_custom_status, commit_.key, Blob{*commit_.custom_status});
      touch();
    }
    if (commit_.version || commit_.build) {
      const Route& route = tx_.route(instance_.route);
      const store::CodeVersion code{route.code.name, commit_.version.value_or(route.code.version)};
      const std::int64_t number = tx_.route_number(code, commit_.build.value_or(route.build));
      if (number != instance_.route) change_instance().route = number;
    }
    if (commit_.waits) {
      std::string waits = commit_.waits->empty() ? std::string() : store::to_bytes(*commit_.waits);
      if (waits != instance_.waits) change_instance().waits = std::move(waits);
    }
    if (commit_.status && *commit_.status != instance_.status) {
      change_instance().status = *commit_.status;
      touch();
    }
  }

  void end() {
    if (const auto* next = std::get_if<store::NextExecution>(&commit_.end)) {
      begin_next(*next);
    } else if (const auto* ended = std::get_if<store::InstanceEnd>(&commit_.end)) {
      end_instance(*ended);
    }
  }

  void begin_next(const store::NextExecution& next) {
    const Leftovers left = look_for_leftovers();
    end_execution(left, CancelReason::continued_as_new);
    if (left.messages) tx_.run(tx_.sql.drop_answers, commit_.key);
    Instance& instance = change_instance();
    ++instance.execution.value;
    instance.waits.clear();
    seen_ = {};  // the new frame was given nothing
    const Route& route = tx_.route(instance.route);
    instance.route = tx_.route_number({route.code.name, next.version}, route.build);
    deliver(tx_, instance_, {.kind = store::MessageKind::start, .body = next.body});
    touch();
  }

  void end_instance(const store::InstanceEnd& ended) {
    const Leftovers left = look_for_leftovers();
    end_execution(left, reason_of_end(ended.status));
    if (left.messages) tx_.run(tx_.sql.drop_unread, commit_.key);
    if (left.delayed) tx_.run(tx_.sql.drop_delayed, commit_.key);
    instance_.status = ended.status;
    instance_.waits.clear();
    touch();
    output_ = &ended.output;
  }

  struct Leftovers {
    bool activities = false;
    bool timers = false;
    bool messages = false;
    bool delayed = false;
  };
  Leftovers look_for_leftovers() {
    Cursor row = tx_.rows(tx_.sql.leftovers, commit_.key);
    if (!row.next()) return {};
    return {.activities = row->truth(0) || row->truth(1),
            .timers = row->truth(2),
            .messages = row->truth(3),
            .delayed = row->truth(4)};
  }

  void end_execution(const Leftovers& left, CancelReason reason) {
    if (left.activities) cancel_all_activities(tx_, commit_.key, reason);
    if (left.timers) tx_.run(tx_.sql.drop_timers, commit_.key);
  }

  void settle_lock() {
    out_.ready = needs_turn(tx_, instance_, seen_);
    if (!commit_.keep_lock || output_ != nullptr) {
      tx_.run(tx_.sql.unhold, commit_.key);
      instance_.held.reset();
      instance_.ready_at.reset();
      if (std::exchange(instance_.delivery, 0) != 0) changed_ = true;
    } else {
      instance_.held->lapsed = lapsed_;
    }
    if (instance_.is_free()) {
      place(tx_, instance_, out_.ready);
      if (instance_.ready_at != place_in_row_) changed_ = true;
      if (const MessageId seen = seen_to_keep(); seen != instance_.seen) change_instance().seen = seen;
    }
    if (output_ != nullptr) {
      const auto stamp = instance_.stamp.empty() ? std::nullopt : std::optional(instance_.stamp);
      tx_.run(tx_.sql.end_instance, commit_.key, instance_.route, to_row(instance_.status),
              instance_.ready_at, stamp, to_row(instance_.updated_at), Blob{*output_});
    } else if (changed_) {
      save_instance(tx_, instance_);
    }
  }

  // Nearly always 0: the frame received what it was given and waits for.
  MessageId seen_to_keep() {
    if (instance_.waits.empty()) return {};
    if (seen_.value > tx_.counters().messages) return seen_;
    return has_awaited_delivery(tx_, instance_, {}) ? seen_ : MessageId{};
  }

  // ---- helpers --------------------------------------------------------------------------------

  store::ActivityId id_of(EventId event) const { return {commit_.key, commit_.execution, event}; }
  Instance& change_instance() {
    changed_ = true;
    return instance_;
  }
  void touch() {
    change_instance().updated_at = tx_.calendar_now;
    tx_.news.instances.push_back(commit_.key);
  }

  Transaction& tx_;
  const store::CommitRequest& request_;
  const TurnCommit& commit_;
  Instance instance_{};
  bool changed_ = false;
  const std::string* output_ = nullptr;  // set when the instance ends
  std::optional<LeaseTime> place_in_row_{};
  bool lapsed_ = false;
  MessageId seen_{};
  EventId first_completed_{};
  EventId last_completed_{};
  bool completed_are_range_ = false;
  std::optional<bool> worker_may_take_{};
  store::Committed out_{};
};

}  // namespace

StoreResult<store::Committed> commit_turn(Transaction& tx, const store::CommitRequest& request,
                                          const TurnCommit& commit) {
  return Commit(tx, request, commit).run();
}

}  // namespace holdfast::sqlite_store
