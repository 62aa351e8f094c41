#include "runtime/outgoing.hpp"

#include "base/moments.hpp"
#include "client/bodies.hpp"
#include "runtime/settings.hpp"
#include "runtime/unborn.hpp"

#include <holdfast/codec.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace holdfast::runtime {
namespace {

store::Outgoing answer_to(const history::Parent& parent, bodies::Outcome outcome) {
  return {.key = parent.key,
          .instance = parent.key.value == 0 ? parent.instance : "",
          .message = {.kind = store::MessageKind::outcome,
                      .execution = parent.execution,
                      .source = parent.event,
                      .body = bodies::to_bytes(outcome)}};
}

/// Turns what the code did into rows.
class Builder {
 public:
  Builder(store::TurnCommit& commit, const CachedInstance& instance, const Surroundings& around)
      : commit_(commit), instance_(instance), around_(around) {}

  void add(engine::Action&& action) {
    std::visit(
        [&](auto& operation) {
          if constexpr (requires { this->act(action.id, action.key, operation); }) {
            this->act(action.id, action.key, operation);
          } else {
            this->act(action.id, operation);
          }
        },
        action.operation);
  }

  void add(const engine::Cancel& cancel) {
    using detail::kind_of_operation;
    if (cancel.kind == kind_of_operation<detail::ActivityScheduled>) {
      commit_.cancelled.push_back({cancel.source, cancel.reason});
    } else if (cancel.kind == kind_of_operation<detail::TimerStarted>) {
      commit_.cancelled_timers.push_back(cancel.source);
    } else if (cancel.kind == kind_of_operation<detail::ChildStarted>) {
      close_child(cancel);
    } else if (cancel.kind == kind_of_operation<detail::EndAwaited>) {
      commit_.cancelled_end_requests.push_back({cancel.source, cancel.label});
    }
  }

  /// When all that the turn started and cancelled was added.
  void take_out_unborn() {
    runtime::take_out_unborn(commit_.activities, commit_.cancelled, &store::NewActivity::event,
                             &store::CancelledActivity::event);
    runtime::take_out_unborn(commit_.timers, commit_.cancelled_timers, &store::NewTimer::event,
                             std::identity());
    runtime::take_out_unborn(commit_.end_requests, commit_.cancelled_end_requests, &store::EndRequest::source,
                             &store::EndRequest::source);
  }

  void add(engine::End&& end) {
    std::visit([&](auto& how) { this->finish(how); }, end);
  }

  /// Of the actions that are about to be added.
  void expect_activities(std::size_t count) {
    commit_.activities.reserve(count);
    scheduled_.reserve(count);
  }
  std::vector<ScheduledActivity> take_scheduled() { return std::move(scheduled_); }

 private:
  // ---- what the code started --------------------------------------------------------------------

  void act(EventId id, OperationKey key, detail::ActivityScheduled& activity) {
    const detail::ActivitySettings& settings = *activity.settings;
    store::NewActivity row{.event = id,
                           .name = activity.name,
                           .queue = settings.queue,
                           .priority = settings.priority,
                           .start_within = settings.schedule_to_start.value_or(never),
                           .total = settings.retry.total_deadline.value_or(never)};
    if (settings.session) {
      row.session = store::SessionUse{settings.session->id, policy_of(*settings.session)};
      if (refuse(id, "activity ", activity.name, *row.session)) return;
    }
    ScheduledActivity& scheduled = scheduled_.emplace_back(id, bodies::Activity{std::move(activity), key});
    row.body = bodies::to_bytes(scheduled.body);
    commit_.activities.push_back(std::move(row));
  }
  void act(EventId id, const detail::TimerStarted& timer) { commit_.timers.push_back({id, timer.due}); }
  void act(EventId id, OperationKey key, detail::ChildStarted& child) {
    bodies::Start start{.started = begin(child, key)};
    start.started.parent = self(id);
    if (child.retry->max_attempts.value_or(1) > 1) start.started.retrying = history::Retrying{*child.retry};
    commit_.starts.push_back({child.id,
                              {child.name, child.version},
                              bodies::to_bytes(start),
                              instance_.key,
                              std::move(start.started.attributes)});
  }
  void act(EventId id, OperationKey key, detail::DetachedStarted& detached) {
    bodies::Start start{.started = begin(detached, key)};
    if (detached.launched) {
      start.launched_by = instance_.id;
    } else {
      start.announce = self(id);
    }
    commit_.starts.push_back({detached.id,
                              {detached.name, detached.version},
                              bodies::to_bytes(start),
                              {},
                              std::move(start.started.attributes)});
  }
  void act(EventId id, const detail::SessionOpened& opened) {
    store::SessionPolicy policy = policy_of(*opened.settings);
    policy.on_record = true;
    if (!opened.settings->allow_reacquire_after_failure)
      policy.when_lost = store::SessionPolicy::WhenLost::fail;
    if (!policy.idle_timeout) policy.idle_timeout = never;
    if (!policy.lease) policy.lease = std::chrono::seconds(30);
    store::SessionUse use{opened.settings->id, std::move(policy)};
    if (refuse(id, "session ", use.id, use)) return;
    commit_.open_sessions.push_back({id, std::move(use.id), std::move(use.policy)});
  }
  void act(EventId id, const detail::SessionClosing& closing) {
    commit_.close_sessions.push_back({id, closing.id});
  }
  void act(EventId /*id*/, const detail::SessionEventAwaited& awaited) {
    commit_.watch_sessions.push_back(awaited.id);
  }
  void act(EventId id, const detail::ValueRead& read) {
    commit_.value_reads.push_back({id, read.instance, read.key});
  }
  void act(EventId /*id*/, const detail::ValueSet& set) {
    const auto [found, is_new] = values_.try_emplace(set.key, commit_.values.size());
    if (is_new) commit_.values.push_back({.key = set.key});
    store::ValueChange& change = commit_.values[found->second];
    change.value.reset();
    if (set.value) change.value = bodies::to_bytes(*set.value);
  }
  void act(EventId /*id*/, detail::AttributeSet& set) {
    commit_.attributes.push_back({std::move(set.name), set.type, std::move(set.value)});
  }
  void act(EventId /*id*/, const detail::MessageSent& sent) {
    commit_.messages.push_back({.instance = sent.instance,
                                .message = {.kind = store::MessageKind::delivery,
                                            .address = {sent.channel, sent.name},
                                            .body = bodies::to_bytes(sent.value)},
                                .keep_early = sent.keep_for,
                                .after_starts = commit_.starts.size()});
  }
  void act(EventId /*id*/, const detail::CancelSent& sent) {
    ask_to_stop(sent.instance, {.kind = bodies::Control::Kind::cancel, .reason = sent.reason});
  }
  void act(EventId /*id*/, const detail::TerminateSent& sent) {
    ask_to_stop(sent.instance, {.kind = bodies::Control::Kind::terminate, .reason = sent.reason});
  }
  void act(EventId id, const detail::EndAwaited& awaited) {
    commit_.end_requests.push_back({id, awaited.instance});
  }
  void ask_to_stop(const std::string& instance, const bodies::Control& control) {
    commit_.messages.push_back(
        {.instance = instance,
         .message = {.kind = bodies::kind_of(control.kind), .body = bodies::to_bytes(control)},
         .cancels = control.kind == bodies::Control::Kind::cancel,
         .after_starts = commit_.starts.size()});
  }
  // These wait for messages, or had their outcome at once: nothing to do for anybody.
  void act(EventId /*id*/, const detail::EventAwaited& /*awaited*/) {}
  void act(EventId /*id*/, const detail::MessageAwaited& /*awaited*/) {}
  void act(EventId /*id*/, const detail::MessageTried& /*tried*/) {}
  void act(EventId /*id*/, const detail::SideEffectRecorded& /*effect*/) {}

  template <class Started>
  static history::Started begin(Started& started, OperationKey key) {
    return {.name = started.name,
            .version = started.version,
            .input = std::move(started.input),
            .seed = key.low,
            .seed_high = key.high,
            .attributes = std::move(started.attributes)};
  }
  [[nodiscard]] history::Parent self(EventId event) const {
    return {instance_.id, instance_.execution, event, instance_.key};
  }

  // A policy under which a running activity could lose its session fails what came with it.
  bool refuse(EventId id, std::string_view what, const std::string& name, const store::SessionUse& session) {
    const auto problem = problem_of(session.policy, around_.activity_lease);
    if (!problem) return false;
    Failure failure{.category = Category::limit,
                    .type = "session_policy",
                    .message = "session '" + session.id + "': " + *problem,
                    .source = std::string(what) + name,
                    .event = id,
                    .retryable = false};
    commit_.messages.push_back(answer_to(self(id), {std::move(failure), {}}));
    return true;
  }

  // ---- what ends --------------------------------------------------------------------------------

  void close_child(const engine::Cancel& cancel) {
    // A child that was started in this very turn is started all the same, and asked to stop at once.
    const bool terminate = cancel.on_close == ParentClosePolicy::terminate;
    bodies::Control control{
        .kind = terminate ? bodies::Control::Kind::terminate : bodies::Control::Kind::cancel,
        .reason = std::string(to_string(cancel.reason)),
        .parent = self(cancel.source)};
    commit_.messages.push_back(
        {.instance = cancel.label,
         .message = {.kind = bodies::kind_of(control.kind), .body = bodies::to_bytes(control)}});
  }

  void finish(history::ExecutionCompleted& end) {
    finish_as(store::InstanceStatus::completed, {std::nullopt, std::move(end.output)});
  }
  void finish(history::ExecutionFailed& end) {
    if (!begins_anew()) finish_as(store::InstanceStatus::failed, end.failure);
  }
  void finish(history::ExecutionCancelled& end) { finish_as(store::InstanceStatus::cancelled, end.failure); }
  void finish(const history::ExecutionTerminated& end) {
    finish_as(store::InstanceStatus::terminated, Failure{.category = Category::terminated,
                                                         .type = "terminated",
                                                         .message = end.reason,
                                                         .retryable = false});
  }
  void finish(const history::ContinuedAsNew& end) {
    bodies::Start start{.started = instance_.frame->next_start()};
    commit_.end = store::NextExecution{end.version, bodies::to_bytes(start)};
  }

  // A child that is to be tried again: its next attempt is its next execution.
  bool begins_anew() {
    if (!around_.retry_in) return false;
    bodies::Start start{.started = instance_.frame->next_attempt(after(around_.now, *around_.retry_in))};
    commit_.end = store::NextExecution{start.started.version, bodies::to_bytes(start)};
    return true;
  }

  [[nodiscard]] std::string source() const { return "orchestration " + instance_.id; }

  // A cancellation without a source is one of the code's own; a client and a parent have to be told whose it
  // was.
  void finish_as(store::InstanceStatus status, Failure failure) {
    if (failure.source.empty()) failure.source = source();
    finish_as(status, bodies::Outcome{std::move(failure), {}});
  }
  void finish_as(store::InstanceStatus status, bodies::Outcome outcome) {
    commit_.end = store::InstanceEnd{status, bodies::to_bytes(outcome)};
    const history::Parent* const parent = instance_.frame ? instance_.frame->parent() : around_.parent;
    if (parent == nullptr) return;
    if (outcome.failure) outcome.failure = as_child_failure(*std::move(outcome.failure));
    commit_.messages.push_back(answer_to(*parent, std::move(outcome)));
  }

  // What went wrong inside of a child is the cause: to its parent, the child failed.
  [[nodiscard]] Failure as_child_failure(Failure failure) const {
    if (failure.source == source()) return failure;
    Failure outer{.type = failure.type,
                  .message = failure.message,
                  .source = source(),
                  .retryable = failure.retryable,
                  .details = failure.details};
    outer.cause = std::make_shared<const Failure>(std::move(failure));
    return outer;
  }

  store::TurnCommit& commit_;
  const CachedInstance& instance_;
  const Surroundings& around_;
  std::vector<ScheduledActivity> scheduled_;
  std::map<std::string, std::size_t> values_;  // where in the commit the change of a key is
};

Failure id_is_taken(const CachedInstance& instance) {
  return {.type = "id_taken",
          .message = "the id '" + instance.id + "' is taken by another instance",
          .source = "orchestration " + instance.id,
          .retryable = false};
}

}  // namespace

store::SessionPolicy policy_of(const detail::SessionSettings& settings) {
  store::SessionPolicy policy{.queue = settings.queue,
                              .connection = settings.connection,
                              .requirements = settings.requirements,
                              .lease = settings.lease,
                              .idle_timeout = settings.idle_timeout,
                              .ttl = settings.ttl.value_or(never),
                              .outlives_opener = settings.outlives_opener};
  policy.max_concurrent =
      static_cast<std::uint32_t>(std::max(settings.max_concurrent_activities.value_or(0), 0));
  policy.create_if_missing = settings.create_if_missing.value_or(true);
  const bool fails = settings.allow_reacquire_after_failure && !*settings.allow_reacquire_after_failure;
  if (fails) policy.when_lost = store::SessionPolicy::WhenLost::fail;
  detail::SessionSettings only_id;
  only_id.id = settings.id;
  policy.on_record = settings != only_id;
  return policy;
}

std::vector<ScheduledActivity> add_outcome(store::TurnCommit& commit, const CachedInstance& instance,
                                           engine::Outcome&& outcome, const Surroundings& around) {
  commit.first_event = outcome.first_event;
  commit.segment = std::move(outcome.segment);
  for (const MessageId id : outcome.consumed) {
    if (id.value != 0) commit.consumed.push_back(id);
  }
  for (const engine::Unreadable& message : outcome.unreadable) commit.set_aside.push_back(message.id);
  if (!instance.waits || outcome.waits != *instance.waits) commit.waits = std::move(outcome.waits);
  if (outcome.status) commit.custom_status = bodies::to_bytes(*outcome.status);

  Builder builder(commit, instance, around);
  builder.expect_activities(
      static_cast<std::size_t>(std::ranges::count_if(outcome.actions, [](const engine::Action& action) {
        return std::holds_alternative<detail::ActivityScheduled>(action.operation);
      })));
  for (engine::Action& action : outcome.actions) builder.add(std::move(action));
  for (const engine::Cancel& cancel : outcome.cancels) builder.add(cancel);
  builder.take_out_unborn();
  if (outcome.end) builder.add(*std::move(outcome.end));
  return builder.take_scheduled();
}

std::optional<Duration> time_to_retry(const CachedInstance& instance, CalendarTime now) {
  const history::Retrying* const retrying = instance.frame ? instance.frame->retrying() : nullptr;
  if (retrying == nullptr) return std::nullopt;
  const Duration total = retrying->policy.total_deadline.value_or(never);
  return total == never ? never : total - std::min(total, now - retrying->first_start);
}

void add_start_answers(store::TurnCommit& commit, const CachedInstance& instance, const Incoming& incoming) {
  if (incoming.start && incoming.start->announce) {
    commit.messages.push_back(answer_to(*incoming.start->announce, {std::nullopt, encode(instance.id)}));
  }
  for (const bodies::Start& refused : incoming.refused_starts) {
    const auto& waits = refused.announce ? refused.announce : refused.started.parent;
    if (waits) commit.messages.push_back(answer_to(*waits, {id_is_taken(instance), {}}));
  }
}

}  // namespace holdfast::runtime
