// What an instance waits for, in words.
#include "base/versions.hpp"
#include "client/bodies.hpp"
#include "client/core.hpp"
#include "client/seconds_text.hpp"
#include "client/wait_times.hpp"

#include <holdfast/detail/enum_names.hpp>
#include <holdfast/run.hpp>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast {
namespace {

using client::seconds_text;

/// Why an activity of a session waits, where it is the session's fault; looks at the store only if there is
/// such an activity.
class SessionObstacles {
 public:
  explicit SessionObstacles(detail::ClientCore& core) : core_(core) {}

  struct Obstacle {
    std::string text{};   ///< empty when nothing is in its way
    bool passes = false;  ///< by itself
  };
  Obstacle of(const store::ActivityView& activity) {
    if (activity.session.empty() || activity.running || activity.workers == 0) return {};
    const auto session = core_.store().session(activity.session);
    if (!session && session.error().kind == StoreError::Kind::not_found) {
      return {.text = "session missing: it waits until a worker acquires the session"};
    }
    if (!session) return {};
    if (std::string lack = what_is_missing(*session, activity); !lack.empty()) {
      return {.text = std::move(lack)};
    }
    return {.text = wish_for(*session), .passes = true};
  }

 private:
  static bool can_run(const store::WorkerView& worker, const store::ActivityView& activity) {
    const store::Abilities& abilities = worker.info.abilities;
    return abilities.handlers.contains(activity.name) && abilities.queues.serve(activity.queue);
  }
  std::string what_is_missing(const store::SessionView& session, const store::ActivityView& activity) {
    if (std::string stranded = stranded_with_owner(session, activity); !stranded.empty()) return stranded;
    const std::vector<std::string>& requirements = session.policy.requirements;
    std::uint32_t capable = 0;
    std::uint32_t with_room = 0;
    for (const store::WorkerView& worker : workers()) {
      const store::Abilities& abilities = worker.info.abilities;
      if (worker.draining || !worker.is_alive() || !can_run(worker, activity)) continue;
      const bool covers = std::ranges::all_of(
          requirements, [&](const std::string& one) { return abilities.capabilities.contains(one); });
      capable += covers ? 1 : 0;
      with_room += covers && worker.sessions_owned < abilities.session_limit ? 1 : 0;
    }
    if (capable == 0) return "requirements not met by any live worker: " + joined(requirements);
    const bool is_free = session.state == store::SessionStatus::unclaimed ||
                         (session.state == store::SessionStatus::lapsed &&
                          session.policy.when_lost == store::SessionPolicy::WhenLost::reclaim);
    if (is_free && with_room == 0) return "no session capacity: all workers that could hold it are full";
    return {};
  }
  /// Somebody wants the session to be elsewhere; nothing of it begins until it is.
  static std::string wish_for(const store::SessionView& session) {
    if (session.kept_for > Duration::zero()) {
      const std::string node = session.wanted ? "node '" + *session.wanted + "'" : "the node that held it";
      return "session kept for " + node + ", " + seconds_text(session.kept_for) + " more";
    }
    if (!session.wanted || session.state != store::SessionStatus::active) return {};
    return "session asked for: '" + session.owner + "' gives it up when nothing of it runs there";
  }
  /// It may go nowhere else without its state, and where it is nobody can run the activity.
  std::string stranded_with_owner(const store::SessionView& session, const store::ActivityView& activity) {
    if (session.policy.when_lost != store::SessionPolicy::WhenLost::fail) return {};
    const auto owner = std::ranges::find(workers(), session.worker, &store::WorkerView::key);
    if (owner == workers().end() || can_run(*owner, activity)) return {};
    return "session owner has no code for it: '" + session.owner +
           "' holds the session and can't hand it over unless its state can be saved; close the session to "
           "end this wait";
  }
  const std::vector<store::WorkerView>& workers() {
    if (!workers_) workers_ = core_.store().workers().value_or(std::vector<store::WorkerView>());
    return *workers_;
  }
  static std::string joined(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
  }

  detail::ClientCore& core_;
  std::optional<std::vector<store::WorkerView>> workers_;
};

RunWait to_wait(const store::ActivityView& activity, SessionObstacles& obstacles) {
  RunWait wait{.kind = RunWait::Kind::activity,
               .name = activity.name,
               .served = activity.running || activity.workers > 0,
               .queue = activity.queue,
               .running_on = activity.owner,
               .attempt = static_cast<int>(activity.attempt),
               .delivery = static_cast<int>(activity.delivery)};
  const std::string queue = activity.queue.empty() ? "the default queue" : "queue '" + activity.queue + "'";
  const SessionObstacles::Obstacle obstacle = obstacles.of(activity);
  if (!obstacle.text.empty() && !obstacle.passes) wait.served = false;
  if (activity.running) {
    wait.state = "running on " + activity.owner;
  } else if (!obstacle.text.empty()) {
    wait.state = obstacle.text;
  } else if (!wait.served) {
    wait.state = "no live worker has it and serves " + queue;
  } else if (activity.due_in > Duration::zero()) {
    wait.state = "next in " + seconds_text(activity.due_in);
  } else {
    wait.state = "queued in " + queue;
  }
  wait.state += ", attempt " + std::to_string(activity.attempt);
  if (!activity.session.empty()) wait.state += ", session '" + activity.session + "'";
  if (!activity.running && activity.gives_up_in != never) {
    wait.gives_up_in = activity.gives_up_in;
    wait.state += ", gives up in " + seconds_text(activity.gives_up_in);
  }
  if (!activity.last_failure.empty()) wait.last_failure = bodies::read<Failure>(activity.last_failure);
  if (!activity.progress.empty()) wait.last_heartbeat = bodies::read<Payload>(activity.progress);
  return wait;
}

// "activity 'charge'"
std::string name_of(const RunWait& wait) {
  std::string text(detail::enum_name(wait.kind));
  if (!wait.name.empty()) text += " '" + wait.name + "'";
  return text;
}

// What it waits for most likely: the first that nobody can serve, or else the first.
const RunWait& foremost(const std::vector<RunWait>& waits) {
  const auto stuck = std::ranges::find_if(waits, [](const RunWait& wait) { return !wait.served; });
  return stuck == waits.end() ? waits.front() : *stuck;
}

// ", waits for activity 'charge' (queued in the default queue, attempt 1) and 2 more"
std::string waits_in_words(const std::vector<RunWait>& waits) {
  if (waits.empty()) return {};
  const RunWait& first = foremost(waits);
  return ", waits for " + name_of(first) + " (" + first.state + ")" +
         (waits.size() == 1 ? "" : " and " + std::to_string(waits.size() - 1) + " more");
}

std::string parked_in_words(const store::InstanceView& view) {
  return "parked: " + view.parked_because +
         "; it is tried again when a worker starts that has its code, and can be terminated";
}

RunWait to_wait(const Address& address) {
  static_assert(static_cast<int>(RunWait::Kind::session) - static_cast<int>(RunWait::Kind::event) ==
                static_cast<int>(Address::Kind::session));
  const auto kind =
      static_cast<RunWait::Kind>(static_cast<int>(RunWait::Kind::event) + static_cast<int>(address.kind));
  return {.kind = kind, .name = address.name, .state = "nothing has come yet"};
}

/// Looks at an instance, its children, their children, ..., as far as its budget goes: each costs a call.
class Describer {
 public:
  explicit Describer(detail::ClientCore& core) : core_(core), obstacles_(core) {}

  RunDetail describe(const store::InstanceDetail& found) {
    RunDetail detail{.info = core_.to_infos({&found.view, 1}).front(),
                     .running_on = found.locked_by,
                     .more_children = found.more_children,
                     .unread_messages = found.unread,
                     .value_keys = found.value_keys};
    for (const store::CancelRecord& cancel : found.cancels) {
      detail.cancels.push_back({.name = cancel.name,
                                .execution = cancel.id.execution,
                                .event = cancel.id.event,
                                .reason = cancel.reason,
                                .state = cancel.state,
                                .running_on = cancel.owner,
                                .since = cancel.age});
    }
    detail.waits = waits_of(found);
    return detail;
  }

 private:
  static constexpr int kMaxLooks = 100;

  std::vector<RunWait> waits_of(const store::InstanceDetail& found) {
    std::vector<RunWait> waits;
    const auto add = [&](RunWait wait, std::optional<CalendarTime> since) {
      wait.since = since;
      waits.push_back(std::move(wait));
    };
    client::WaitTimes times(core_.store(), found.view.key, found.view.execution);
    for (const store::ActivityView& activity : found.activities)
      add(to_wait(activity, obstacles_), times.of(activity.id.event));
    for (const store::NewTimer& timer : found.timers)
      add({.kind = RunWait::Kind::timer, .state = "not due yet", .due = timer.due}, times.of(timer.event));
    for (const Address& address : found.waits) add(to_wait(address), times.of(address));
    for (const store::InstanceView& child : found.children) waits.push_back(wait_for_child(child));
    if (!has_ended(found.view.status)) add_wait_for_worker(found, waits);
    return waits;
  }

  RunWait wait_for_child(const store::InstanceView& child) {
    RunWait wait{.kind = RunWait::Kind::child, .name = child.instance, .since = child.created_at};
    wait.state = std::string(to_string(child.status)) + ", orchestration '" + child.code.name + "'";
    wait.served = child.status == Status::running;
    if (!child.parked_because.empty()) {
      wait.state += ": " + child.parked_because;
    } else if (looks_++ < kMaxLooks) {
      const auto found = core_.store().describe(child.instance);
      if (found && found->view.key == child.key) wait.waits = waits_of(*found);
      wait.state += waits_in_words(wait.waits);
      wait.served = wait.served && std::ranges::all_of(wait.waits, &RunWait::served);
    }
    return wait;
  }

  // "; workers have 1, 1.10"
  [[nodiscard]] std::string versions_there(const std::string& name) const {
    std::set<std::string, bool (*)(std::string_view, std::string_view)> versions(&detail::older_version);
    for (const store::WorkerView& worker :
         core_.store().workers().value_or(std::vector<store::WorkerView>())) {
      for (const store::CodeVersion& code : worker.info.code.orchestrations) {
        if (worker.is_alive() && code.name == name && !code.version.empty()) versions.insert(code.version);
      }
    }
    std::string text;
    for (const std::string& version : versions) text += (text.empty() ? "; workers have " : ", ") + version;
    return text;
  }

  // Without its code nothing that it waits for can reach it.
  void add_wait_for_worker(const store::InstanceDetail& found, std::vector<RunWait>& waits) {
    const bool has_code = found.workers > 0;
    const bool parked = found.view.status == Status::parked;
    const bool suspended = found.view.status == Status::suspended;
    const bool delayed = found.starts_in && *found.starts_in > Duration::zero();
    const bool idle = waits.empty() && found.locked_by.empty();
    if (has_code && !parked && !suspended && !idle) return;
    std::string state;
    if (parked) {
      state = parked_in_words(found.view);
    } else if (suspended) {
      state = "suspended: what comes for it waits until it is resumed";
    } else if (delayed) {
      state = "starts in " + seconds_text(*found.starts_in);
    } else if (has_code) {
      state = "no worker has taken it yet";
    }
    if (!has_code) {
      const std::string version =
          found.view.code.version.empty() ? "" : " version " + found.view.code.version;
      state += (state.empty() ? "" : "; ") +
               ("no live worker has the code of '" + found.view.code.name + "'" + version) +
               versions_there(found.view.code.name);
    }
    waits.push_back({.kind = RunWait::Kind::worker,
                     .name = found.view.code.name,
                     .state = std::move(state),
                     .served = has_code && !parked && !suspended,
                     .since = suspended ? std::optional(found.view.updated_at) : std::nullopt});
  }

  detail::ClientCore& core_;
  SessionObstacles obstacles_;
  int looks_ = 0;
};

}  // namespace

RunDetail Run::describe() const {
  const store::InstanceDetail found = core().call([&] { return core().store().describe(id_); });
  if (found.view.key != key_) detail::refuse_as_gone(core().store(), id_);
  return Describer(core()).describe(found);
}

}  // namespace holdfast
