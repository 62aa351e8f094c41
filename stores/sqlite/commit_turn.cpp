#include "activities.hpp"
#include "clients.hpp"
#include "contract/code_order.hpp"
#include "contract/rows.hpp"
#include "pack.hpp"
#include "sessions.hpp"
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
    if (auto refused = objection()) return Unexpected(*std::move(refused));
    begin();
    append_segment();
    remove_messages();
    complete_local();
    cancel();
    open_sessions();
    schedule_activities();
    schedule_timers();
    change_values();
    close_and_watch_sessions();
    start_and_send();
    answer();
    show();
    end();
    settle_lock();
    return std::move(out_);
  }

 private:
  // ---- what must hold -------------------------------------------------------------------------

  std::optional<StoreError> objection() {
    using Why = StoreError::Kind;
    instance_ = load_instance(tx_, commit_.key);
    if (instance_ == nullptr || !instance_->held || instance_->held->token != commit_.token) {
      return store_error(Why::lost, "instance " + to_string(commit_.key) + " is not locked by this token");
    }
    if (stamp_of(tx_, *instance_) != commit_.expected) {
      return store_error(Why::lost, "instance '" + instance_->name + "' has another stamp");
    }
    if (instance_->execution != commit_.execution) {
      return store_error(Why::invalid, "instance '" + instance_->name + "' is in execution " +
                                           to_string(instance_->execution) + ", not " +
                                           to_string(commit_.execution));
    }
    if (has_ended(instance_->status) && !(commit_.activities.empty() && commit_.timers.empty())) {
      return store_error(Why::invalid, "instance '" + instance_->name +
                                           "' has ended; it can't have new activities or timers");
    }
    if (!find_completed()) {
      return store_error(Why::lost, "an activity of instance '" + instance_->name +
                                        "' is not locked by the token of its completion");
    }
    return std::nullopt;
  }

  // All rows of the local completions must be locked by their tokens, and what they require must be saved.
  bool find_completed() {
    return std::ranges::all_of(commit_.completed, [&](const store::LocalCompletion& done) {
      if (!can_be_saved(done)) return false;
      if (const RunningActivity* row = running(done.event)) return row->token == done.token;
      // Its lock may be over, and nobody has taken it.
      const std::optional<Activity> lapsed = find_activity(tx_, id_of(done.event));
      return lapsed && !done.token.empty() && lapsed->token == done.token;
    });
  }

  bool can_be_saved(const store::LocalCompletion& done) {
    if (!done.save || !done.save->required) return true;
    const std::optional<Activity> row = find_activity(tx_, id_of(done.event));
    if (!row) return true;  // then it is not locked either
    const SessionResults result{.session = row->session,
                                .worker = row->worker,
                                .generation = row->generation,
                                .session_over = row->session_over.has_value(),
                                .save = &done.save,
                                .abort = &done.abort_session};
    return result.counts(tx_);
  }

  const RunningActivity* running(EventId event) {
    const auto& rows = all_running();
    const auto found = std::ranges::lower_bound(rows, event, {}, &RunningActivity::event);
    return found != rows.end() && found->event == event ? &*found : nullptr;
  }

  std::vector<RunningActivity>& all_running() {
    if (!instance_->running) instance_->running = read_running(tx_, *instance_);
    return *instance_->running;
  }

  // Until the end nothing done here makes the instance ready, also when its lease is over.
  void begin() {
    take_out(tx_, *instance_);
    place_in_row_ = instance_->ready_at;
    lapsed_ = std::exchange(instance_->held->lapsed, false);
    seen_ = commit_.seen;
    settle_start(tx_, *instance_, commit_);
  }

  // ---- the steps, in the order of the contract ------------------------------------------------

  void append_segment() {
    if (commit_.segment.empty()) {
      change_instance().stamp = commit_.stamp;
      return;
    }
    tx_.run(tx_.sql.insert_segment, commit_.key, commit_.execution, commit_.first_event, commit_.stamp,
            Blob{commit_.segment});
    instance_->last_stamp = commit_.stamp;
    if (!instance_->stamp.empty()) change_instance().stamp = {};
  }

  void remove_messages() {
    for (const MessageId id : commit_.consumed) consume(tx_, *instance_, id);
    for (const MessageId id : commit_.set_aside) put_aside(tx_, *instance_, id);
  }

  void complete_local() {
    std::vector<EventId> packed;
    std::vector<SessionResults> results;
    for (const store::LocalCompletion& done : commit_.completed) {
      if (const RunningActivity* known = running(done.event); known != nullptr && says_nothing_else(done)) {
        note_room(tx_, known->session);
        if (known->packed) {
          packed.push_back(done.event);
        } else {
          tx_.run(tx_.sql.delete_running, commit_.key, commit_.execution, done.event);
          instance_->note_not_running(done.event);
        }
        continue;
      }
      const std::optional<Activity> row = find_activity(tx_, id_of(done.event));
      if (!row) continue;  // named twice
      results.push_back({.session = row->session,
                         .worker = row->worker,
                         .generation = row->generation,
                         .session_over = row->session_over.has_value(),
                         .save = &done.save,
                         .abort = &done.abort_session});
      erase_activity(tx_, *row);
      note_room(tx_, row->session);
    }
    if (!packed.empty()) complete_packed(std::move(packed));
    // After all rows: an activity that aborts its session must not take those away that ended with it.
    for (const SessionResults& result : results) result.apply(tx_);
  }

  static bool says_nothing_else(const store::LocalCompletion& done) {
    return !done.save && !done.abort_session;
  }

  // Most often all that a commit has handed off ends together.
  void complete_packed(std::vector<EventId> events) {
    std::ranges::sort(events);
    const auto ends = [&](const RunningActivity& row) {
      return row.packed && std::ranges::binary_search(events, row.event);
    };
    std::vector<RunningActivity>& rows = all_running();
    std::erase_if(rows, ends);
    if (std::ranges::any_of(rows, &RunningActivity::packed)) {
      take_from_pack(tx_, commit_.key, events);
    } else {
      pack_is_over_ = true;
      if (!commit_.cancelled.empty()) drop_pack();
    }
  }

  // Left until it is known whether another one takes its place.
  void drop_pack() {
    if (std::exchange(pack_is_over_, false)) tx_.run(tx_.sql.delete_pack, commit_.key);
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

  void open_sessions() {
    for (const store::SessionOpen& open : commit_.open_sessions) {
      const Session* const session = session_now(tx_, open.id);
      const bool exists = session != nullptr && !session->ended;
      if (!exists) begin_session(tx_, open.id, open.policy, instance_);
      watch(open.id);
      note_answer(open.source,
                  exists ? store::SessionAnswer::Kind::existed : store::SessionAnswer::Kind::opened);
    }
  }

  void schedule_activities() {
    out_.handed_off.resize(commit_.activities.size());
    const bool goes_on = std::holds_alternative<std::monostate>(commit_.end);
    for (std::size_t i = 0; i < commit_.activities.size(); ++i) {
      const store::NewActivity& wanted = commit_.activities[i];
      std::optional<Activity> activity = new_activity(tx_, *instance_, wanted);
      if (!activity) continue;
      if (wanted.hand_off && goes_on && may_hand_off(*activity)) {
        out_.handed_off[i] = hand_off(*std::move(activity));
      } else {
        insert_queued(tx_, *activity);
      }
    }
    if (pack_.size == 0) return drop_pack();
    write_pack(tx_, pack_);
    pack_is_over_ = false;
  }

  bool may_hand_off(const Activity& activity) {
    if (request_.abilities == nullptr) return false;
    if (!worker_may_take_) {
      worker_may_take_ = !tx_.refuse_worker(request_.worker, WorkerCall::takes_work);
    }
    return *worker_may_take_ &&
           sqlite_store::may_hand_off(tx_, request_.worker, *request_.abilities, activity);
  }

  store::LockedActivity hand_off(Activity activity) {
    if (!may_pack(activity)) {
      return lock_activity(tx_, std::move(activity), request_.worker, commit_.activity_token,
                           request_.activity_lease, instance_->name);
    }
    if (pack_.size == 0) {
      pack_ = {.key = commit_.key,
               .ns = tx_.ns,
               .execution = commit_.execution,
               .worker = request_.worker,
               .token = commit_.activity_token,
               .until = later(tx_.now, request_.activity_lease),
               .session = activity.session};
    }
    if (activity.session != 0) {
      enter_session(tx_, activity);
      pack_.generation = activity.generation;
    }
    pack_.add(activity);
    instance_->note_running(
        {.event = activity.id.event, .token = pack_.token, .session = activity.session, .packed = true});
    activity.delivery = 1;
    return tell_locked(tx_, std::move(activity), instance_->name);
  }

  // What is left of an earlier pack stays as it is. Of a session that limits how many run at once each one is
  // counted, also while this commit goes on.
  bool may_pack(const Activity& activity) {
    if (!is_plain(activity) || !pack_.has_room_for(activity)) return false;
    if (activity.session != 0 && session_of(tx_, activity.session).policy.max_concurrent != 0) return false;
    if (pack_.size != 0) return pack_.session == activity.session;
    return !std::ranges::any_of(all_running(), &RunningActivity::packed);
  }

  void schedule_timers() {
    for (const store::NewTimer& timer : commit_.timers) {
      tx_.run(tx_.sql.insert_timer, commit_.key, commit_.execution, timer.event, tx_.ns, to_row(timer.due));
      instance_->bare = false;
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

  void close_and_watch_sessions() {
    for (const store::SessionClose& item : commit_.close_sessions) {
      Session* const session = session_now(tx_, item.id);
      const bool exists = session != nullptr && !session->ended;
      if (exists) close_session(tx_, *session, store::SessionReason::closed_by_code);
      note_answer(item.source,
                  exists ? store::SessionAnswer::Kind::closed : store::SessionAnswer::Kind::missing);
    }
    for (const std::string& id : commit_.watch_sessions) watch(id);
  }

  void watch(const std::string& session) {
    instance_->bare = false;
    sqlite_store::watch(tx_, commit_.key, session);
  }

  void start_and_send() {
    store::in_code_order(
        commit_, [this](const store::NewInstance& start) { start_child(start); },
        [this](std::size_t i, const store::Outgoing& outgoing) {
          if (!send(outgoing)) out_.dropped.push_back(i);
        });
  }

  // False when it goes nowhere.
  bool send(const store::Outgoing& outgoing) {
    const bool by_key = outgoing.key != InstanceKey{};
    const std::optional<InstanceKey> key = by_key ? outgoing.key : key_of(tx_, outgoing.instance);
    if (!key) {
      const bool keeps =
          outgoing.message.kind == store::MessageKind::delivery && outgoing.keep_early > Duration::zero();
      if (keeps) keep_early(tx_, outgoing.instance, outgoing.message, outgoing.keep_early);
      return keeps;
    }
    const bool ends_with_this =
        *key == commit_.key && std::holds_alternative<store::InstanceEnd>(commit_.end);
    if (ends_with_this || !deliver(tx_, *key, letter(outgoing.message))) return false;
    if (outgoing.cancels) tx_.run(tx_.sql.request_cancel, *key, to_row(tx_.calendar_now));
    return true;
  }

  void answer() {
    for (const store::ValueRequest& read : commit_.value_reads) answer_value(read);
    for (const auto& [source, kind] : session_answers_) {
      deliver_answer(store::MessageKind::session, source, store::SessionAnswer{kind});
    }
  }

  void note_answer(EventId source, store::SessionAnswer::Kind kind) {
    if (source != EventId{}) session_answers_.emplace_back(source, kind);
  }

  void deliver_answer(store::MessageKind kind, EventId source, const store::MessageBody& body) {
    deliver(
        tx_, *instance_,
        {.kind = kind, .execution = commit_.execution, .source = source, .body = store::encode_body(body)});
  }

  void start_child(const store::NewInstance& start) {
    if (const auto key = key_of(tx_, start.instance)) {
      deliver(tx_, *key, {.kind = store::MessageKind::start, .body = start.body});
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
    deliver_answer(store::MessageKind::value, read.source, answer);
  }

  void show() {
    if (commit_.custom_status) {
      tx_.run(tx_.sql.set_custom_status, commit_.key, Blob{*commit_.custom_status});
      touch();
    }
    if (commit_.version || commit_.build) {
      const Route& route = tx_.route(instance_->route);
      const store::CodeVersion code{route.code.name, commit_.version.value_or(route.code.version)};
      const std::int64_t number = tx_.route_number(code, commit_.build.value_or(route.build));
      if (number != instance_->route) change_instance().route = number;
    }
    if (commit_.waits) {
      std::vector<Address> sorted = *commit_.waits;
      std::ranges::sort(sorted);
      std::string waits = sorted.empty() ? std::string() : store::to_bytes(sorted);
      if (waits != instance_->waits) change_instance().waits = std::move(waits);
    }
    if (commit_.status && *commit_.status != instance_->status && !has_ended(instance_->status)) {
      if (instance_->status == InstanceStatus::parked) {
        tx_.run(tx_.sql.set_parked_because, commit_.key, nullptr);
      }
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
    if (left.messages) drop_answers(tx_, *instance_);
    Instance& instance = change_instance();
    ++instance.execution.value;
    instance.waits.clear();
    seen_ = {};  // the new frame was given nothing
    const Route& route = tx_.route(instance.route);
    instance.route = tx_.route_number({route.code.name, next.version}, route.build);
    deliver(tx_, *instance_,
            {.kind = store::MessageKind::start, .execution = instance.execution, .body = next.body});
    touch();
  }

  void end_instance(const store::InstanceEnd& ended) {
    const Leftovers left = look_for_leftovers();
    end_execution(left, reason_of_end(ended.status));
    if (left.sessions) leave_sessions(tx_, commit_.key);
    if (left.messages) drop_unread(tx_, *instance_);
    if (left.delayed) tx_.run(tx_.sql.drop_delayed, commit_.key);
    instance_->status = ended.status;
    instance_->waits.clear();
    touch();
    output_ = &ended.output;
  }

  struct Leftovers {
    bool activities = false;
    bool timers = false;
    bool messages = false;
    bool delayed = false;
    bool sessions = false;
  };
  Leftovers look_for_leftovers() {
    if (instance_->bare && instance_->running && instance_->messages) {
      return {.activities = !instance_->running->empty(), .messages = !instance_->messages->empty()};
    }
    Cursor row = tx_.rows(tx_.sql.leftovers, commit_.key);
    if (!row.next()) return {};
    return {.activities = row->truth(0) || row->truth(1) || row->truth(7),
            .timers = row->truth(2),
            .messages = row->truth(3),
            .delayed = row->truth(4),
            .sessions = row->truth(5) || row->truth(6)};
  }

  void end_execution(const Leftovers& left, CancelReason reason) {
    if (left.activities) cancel_all_activities(tx_, commit_.key, reason);
    if (left.timers) tx_.run(tx_.sql.drop_timers, commit_.key);
  }

  void settle_lock() {
    if (std::exchange(instance_->woken, false)) changed_ = true;
    out_.ready = needs_turn(tx_, *instance_, seen_);
    instance_->ready_at.reset();
    if (!commit_.keep_lock || output_ != nullptr) {
      tx_.run(tx_.sql.unhold, commit_.key);
      instance_->held.reset();
      if (std::exchange(instance_->delivery, 0) != 0) changed_ = true;
      const MessageId seen = seen_to_keep();
      if (std::exchange(instance_->seen, seen) != seen) changed_ = true;
      place(tx_, *instance_, out_.ready);
    } else if (lapsed_) {
      instance_->held->lapsed = true;
      instance_->seen = {};  // as when the lease ends while nothing happens
      place(tx_, *instance_, needs_turn(tx_, *instance_, {}));
    } else {
      instance_->ready_at = place_in_row_;  // of no meaning
    }
    if (instance_->ready_at != place_in_row_) changed_ = true;
    if (output_ != nullptr) {
      const auto stamp = instance_->stamp.empty() ? std::nullopt : std::optional(instance_->stamp);
      tx_.run(tx_.sql.end_instance, commit_.key, instance_->route, to_row(instance_->status),
              instance_->ready_at, stamp, to_row(instance_->updated_at), Blob{*output_});
    } else if (changed_) {
      save_instance(tx_, *instance_);
    }
  }

  // Nearly always 0: the frame received what it was given and waits for.
  MessageId seen_to_keep() {
    if (instance_->waits.empty()) return {};
    if (seen_.value > tx_.counters().messages) return seen_;
    return has_awaited_delivery(tx_, *instance_, {}) ? seen_ : MessageId{};
  }

  // ---- helpers --------------------------------------------------------------------------------

  store::ActivityId id_of(EventId event) const { return {commit_.key, commit_.execution, event}; }
  Instance& change_instance() {
    changed_ = true;
    return *instance_;
  }
  void touch() {
    change_instance().updated_at = tx_.calendar_now;
    tx_.news.instances.push_back(commit_.key);
  }

  Transaction& tx_;
  const store::CommitRequest& request_;
  const TurnCommit& commit_;
  Instance* instance_ = nullptr;
  bool changed_ = false;
  const std::string* output_ = nullptr;  // set when the instance ends
  std::optional<LeaseTime> place_in_row_{};
  bool lapsed_ = false;
  MessageId seen_{};
  std::vector<std::pair<EventId, store::SessionAnswer::Kind>> session_answers_{};
  bool pack_is_over_ = false;  // all its activities have ended, and it is still there
  Pack pack_{};                // of those that this commit hands off
  std::optional<bool> worker_may_take_{};
  store::Committed out_{};
};

}  // namespace

StoreResult<store::Committed> commit_turn(Transaction& tx, const store::CommitRequest& request,
                                          const TurnCommit& commit) {
  return Commit(tx, request, commit).run();
}

}  // namespace holdfast::sqlite_store
