#include "testkit/conformance/model/commit.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace holdfast::testing::model {

namespace {

/// Makes one turn after the other. What a step makes is numbered over all its turns.
class Maker {
 public:
  Maker(const Space& space, CalendarTime now, std::uint32_t step) : space_(space), now_(now), step_(step) {}

  store::TurnCommit make(const TurnSpec& spec) {
    spec_ = &spec;
    turn_ = {};
    turn_.key = space_.key(spec.id, spec.life);
    row_ = space_.row(turn_.key);
    turn_.token = space_.token(turn_.key, spec.token);
    turn_.expected = space_.stamp(turn_.key, spec.expected);
    turn_.stamp = stamp_of(step_);
    turn_.execution = row_ != nullptr ? row_->view.execution : ExecutionNumber{1};
    turn_.first_event = first_event_of(step_);
    turn_.segment = std::string(spec.segment, 'h');
    turn_.activity_token = token_of(step_);
    turn_.keep_lock = spec.keep_lock;
    add_messages_taken();
    add_activities();
    add_timers();
    add_sent();
    add_sessions();
    add_status();
    return std::move(turn_);
  }

 private:
  void add_messages_taken() {
    std::vector<MessageId> there;
    if (row_ != nullptr) {
      for (const store::Message& message : row_->messages) there.push_back(message.id);
    }
    std::vector<MessageId> given = space_.memory(turn_.key).given;
    std::erase_if(given, [&](MessageId id) { return !std::binary_search(there.begin(), there.end(), id); });
    turn_.consumed = consumed_of(given, there);
    if (spec_->first_set_aside && !turn_.consumed.empty()) {
      turn_.set_aside.push_back(turn_.consumed.front());
      turn_.consumed.erase(turn_.consumed.begin());
    }
    if (spec_->strange_messages) add_strange_messages();
    turn_.seen = seen_of(there);
    if (!spec_->waits) return;
    std::set<Address> waits;
    for (const At at : *spec_->waits) waits.insert(address(at));
    turn_.waits.emplace(waits.begin(), waits.end());
  }

  [[nodiscard]] std::vector<MessageId> consumed_of(const std::vector<MessageId>& given,
                                                   const std::vector<MessageId>& there) const {
    std::vector<MessageId> some;
    switch (spec_->consumed) {
      case Consumed::given:
        return given;
      case Consumed::all_there:
        return there;
      case Consumed::none:
        break;
      case Consumed::first:
        some.assign(given.begin(), given.begin() + (given.empty() ? 0 : 1));
        break;
      case Consumed::last:
        some.assign(given.end() - (given.empty() ? 0 : 1), given.end());
        break;
      case Consumed::every_other:
        for (std::size_t i = 0; i < given.size(); i += 2) some.push_back(given[i]);
        break;
      case Consumed::unread_kept:
        for (const MessageId id : given) {
          if (!waits_for_code(kind_of(id))) some.push_back(id);
        }
        break;
    }
    return some;
  }

  [[nodiscard]] store::MessageKind kind_of(MessageId id) const {
    for (const store::Message& message : row_->messages) {
      if (message.id == id) return message.kind;
    }
    return store::MessageKind::outcome;
  }

  void add_strange_messages() {
    for (const store::InstanceRow& row : space_.state().instances) {
      if (row.view.key == turn_.key) continue;
      for (const store::Message& message : row.messages) turn_.consumed.push_back(message.id);
    }
    turn_.consumed.push_back(MessageId{99'999});
    std::sort(turn_.consumed.begin(), turn_.consumed.end());
  }

  [[nodiscard]] MessageId seen_of(const std::vector<MessageId>& there) const {
    const std::vector<MessageId>& given = space_.memory(turn_.key).given;
    switch (spec_->seen) {
      case Seen::given:
        return given.empty() ? MessageId{} : given.back();
      case Seen::all_there:
        return there.empty() ? MessageId{} : there.back();
      case Seen::none:
        break;
    }
    return {};
  }

  void add_activities() {
    for (const ActivitySpec& spec : spec_->activities) {
      const Made made{step_, activities_++};
      store::NewActivity activity{.event = activity_event_of(made),
                                  .name = name(spec.job),
                                  .queue = spec.queue,
                                  .priority = spec.priority,
                                  .start_within = spec.start_within,
                                  .total = spec.total,
                                  .body = body_of(step_, made.nth),
                                  .hand_off = spec.hand_off};
      if (spec.session) activity.session = store::SessionUse{name(*spec.session), spec.policy};
      turn_.activities.push_back(std::move(activity));
    }
    // One that is named twice is one that the engine never names twice.
    std::set<EventId> named;
    for (const CompletionSpec& spec : spec_->completed) {
      const store::ActivityId id = space_.activity(spec.activity);
      if (!named.insert(id.event).second) continue;
      store::LocalCompletion completion{.event = id.event, .token = space_.token(id, spec.token)};
      if (spec.save) completion.save = store::SessionSave{body_of(step_, 0), spec.required};
      if (spec.abort) completion.abort_session = "aborted by step " + std::to_string(step_);
      turn_.completed.push_back(std::move(completion));
    }
    for (const CancelSpec& spec : spec_->cancelled) {
      const EventId event = space_.activity(spec.activity).event;
      if (named.insert(event).second) turn_.cancelled.push_back({.event = event, .reason = spec.reason});
    }
  }

  void add_timers() {
    for (const Duration& in : spec_->timers) {
      const Made made{step_, timers_++};
      turn_.timers.push_back({.event = timer_event_of(made), .due = now_ + in});
    }
    for (const Made& made : spec_->cancelled_timers) turn_.cancelled_timers.push_back(timer_event_of(made));
  }

  void add_sent() {
    for (const OutgoingSpec& spec : spec_->messages) {
      store::Outgoing out{};
      const InstanceKey key = space_.key(spec.to, spec.life);
      if (spec.by_key) {
        out.key = key;
      } else {
        out.instance = name(spec.to);
      }
      out.message.kind = spec.kind;
      if (spec.kind == store::MessageKind::outcome) {
        out.message.execution = ExecutionNumber{1};
        out.message.source = next_event();
      }
      if (spec.kind == store::MessageKind::delivery) out.message.address = address(spec.at);
      out.message.body = body_of(step_, others_++);
      out.keep_early = spec.keep_early;
      out.cancels = spec.cancels;
      if (spec.before_starts) out.after_starts = 0;
      turn_.messages.push_back(std::move(out));
    }
    for (const ChildSpec& spec : spec_->starts) {
      turn_.starts.push_back({.instance = name(spec.id),
                              .code = spec.code,
                              .body = body_of(step_, others_++),
                              .parent = spec.detached ? InstanceKey{} : turn_.key,
                              .attributes = attributes_of(spec.attributes)});
    }
    for (const AttributeSpec& spec : spec_->attributes) {
      store::AttributeChange change{.name = spec.name, .type = spec.type};
      if (!spec.clear) change.value = attribute_value(spec.type, spec.nth);
      turn_.attributes.push_back(std::move(change));
    }
    for (const ValueSpec& spec : spec_->values) {
      store::ValueChange change{.key = spec.key};
      if (!spec.remove) change.value = body_of(step_, others_++);
      turn_.values.push_back(std::move(change));
    }
    for (const ValueReadSpec& spec : spec_->value_reads) {
      turn_.value_reads.push_back({.source = next_event(), .instance = name(spec.id), .key = spec.key});
    }
    for (const Id id : spec_->end_requests)
      turn_.end_requests.push_back({.source = next_event(), .instance = name(id)});
    for (const EndCancelSpec& spec : spec_->cancelled_end_requests)
      turn_.cancelled_end_requests.push_back({.source = asked(spec), .instance = name(spec.id)});
  }

  [[nodiscard]] EventId asked(const EndCancelSpec& spec) const {
    const store::InstanceRow* const target = space_.row(space_.key(spec.id, Life::now));
    std::size_t mine = 0;
    for (const store::EndWatcher& watcher :
         target == nullptr ? std::vector<store::EndWatcher>() : target->end_watchers) {
      if (watcher.key == turn_.key && mine++ == spec.nth) return watcher.source;
    }
    return EventId{99'999};
  }

  void add_sessions() {
    for (const SessionOpenSpec& spec : spec_->open_sessions) {
      turn_.open_sessions.push_back(
          {.source = spec.silent ? EventId{} : next_event(), .id = name(spec.id), .policy = spec.policy});
    }
    for (const SessionCloseSpec& spec : spec_->close_sessions) {
      turn_.close_sessions.push_back({.source = spec.silent ? EventId{} : next_event(), .id = name(spec.id)});
    }
    for (const Sid id : spec_->watch_sessions) turn_.watch_sessions.push_back(name(id));
  }

  void add_status() {
    if (spec_->custom_status) turn_.custom_status = body_of(step_, others_++);
    turn_.version = spec_->version;
    turn_.build = spec_->build;
    using store::InstanceStatus;
    switch (spec_->end) {
      case End::none:
        break;
      case End::completed:
        end_as(InstanceStatus::completed);
        break;
      case End::failed:
        end_as(InstanceStatus::failed);
        break;
      case End::cancelled:
        end_as(InstanceStatus::cancelled);
        break;
      case End::terminated:
        end_as(InstanceStatus::terminated);
        break;
      case End::next_execution:
        turn_.end = store::NextExecution{.version = spec_->next_version, .body = body_of(step_, others_++)};
        break;
    }
  }

  void end_as(store::InstanceStatus status) {
    turn_.end = store::InstanceEnd{.status = status, .output = body_of(step_, others_++)};
  }

  EventId next_event() { return other_event_of({step_, events_++}); }

  const Space& space_;
  CalendarTime now_;
  std::uint32_t step_;
  const TurnSpec* spec_ = nullptr;
  const store::InstanceRow* row_ = nullptr;
  store::TurnCommit turn_{};
  std::uint32_t activities_ = 0;
  std::uint32_t timers_ = 0;
  std::uint32_t events_ = 0;
  std::uint32_t others_ = 0;
};

}  // namespace

std::vector<store::TurnCommit> commits_of(const Space& space, CalendarTime now, std::uint32_t step,
                                          const std::vector<TurnSpec>& turns) {
  Maker maker(space, now, step);
  std::vector<store::TurnCommit> commits;
  std::set<InstanceKey> seen;
  for (const TurnSpec& spec : turns) {
    store::TurnCommit commit = maker.make(spec);
    if (seen.insert(commit.key).second) commits.push_back(std::move(commit));
  }
  return commits;
}

void remember_made(Space& space, std::uint32_t step, const store::TurnCommit& commit) {
  const auto nth = [&](EventId event, EventId first) {
    return Made{step, static_cast<std::uint32_t>(event.value - first.value)};
  };
  for (const store::NewActivity& activity : commit.activities) {
    space.made_activity(nth(activity.event, activity_event_of({step, 0})),
                        {commit.key, commit.execution, activity.event});
  }
  for (const store::NewTimer& timer : commit.timers) {
    space.made_timer(nth(timer.event, timer_event_of({step, 0})),
                     {commit.key, commit.execution, timer.event});
  }
}

}  // namespace holdfast::testing::model
