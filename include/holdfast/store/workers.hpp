// Workers: the started runtimes, as the store knows them.
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/ids.hpp>
#include <holdfast/options.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace holdfast::store {

using NameSet = std::set<std::string, std::less<>>;

/// Which queues a worker serves.
struct Queues {
  bool any = false;
  NameSet names{""};  ///< the empty name is the default queue; no names = none
  [[nodiscard]] bool serve(std::string_view queue) const { return any || names.contains(queue); }
  friend bool operator==(const Queues&, const Queues&) = default;
};

/// What a worker can run. It alone decides about fetches, claims and hand-offs, so a worker passes to each of
/// them what it registered with.
struct Abilities {
  NameSet handlers{};  ///< names of activities
  Queues queues{};
  NameSet capabilities{};            ///< what sessions may require
  std::uint32_t session_limit = 10;  ///< sessions it may own at once; 0 = takes no session work
  Duration session_lease = std::chrono::seconds(30);  ///< for sessions whose policy has none
  Duration session_idle = std::chrono::minutes(5);    ///< likewise; `never` = none
  friend bool operator==(const Abilities&, const Abilities&) = default;
};

/// One version of an orchestration. An instance whose version is not decided yet has the empty one.
struct CodeVersion {
  std::string name{};
  std::string version{};
  friend auto operator<=>(const CodeVersion&, const CodeVersion&) = default;
};

/// The orchestrations that a worker can run, and the builds whose instances it may go on with. An instance of
/// build 0 may be run by any.
struct Code {
  std::set<CodeVersion> orchestrations{};
  std::uint64_t oldest_build = 0;
  std::uint64_t newest_build = ~std::uint64_t{0};
  friend bool operator==(const Code&, const Code&) = default;
};

/// A process that joins: one started runtime.
struct NewWorker {
  std::string node{};  ///< the user's name for it, or 128 random bits in hexadecimal digits
  std::uint64_t build = 0;
  std::string host{};
  std::uint64_t pid = 0;
  std::uint32_t slots = 0;
  Abilities abilities{};
  Code code{};
  /// After this long without a sign of life it counts as dead; the worker itself begins no activity of its
  /// sessions by then. Unset: SweepRequest::worker_stale_after.
  std::optional<Duration> stale_after{};
  /// How long only it may claim the sessions of older incarnations of its node.
  Duration take_back_within{};
  /// `stale_after` for views.
  [[nodiscard]] Duration shown_stale_after() const { return stale_after.value_or(std::chrono::seconds(60)); }
  friend bool operator==(const NewWorker&, const NewWorker&) = default;
};

/// A worker as others see it.
struct WorkerView {
  WorkerKey key{};  ///< also its incarnation: grows with every join to the store
  NewWorker info{};
  bool draining = false;
  bool superseded = false;  ///< a newer incarnation of its node has joined
  std::uint32_t sessions_owned = 0;
  CalendarTime joined_at{};
  Duration last_seen{};  ///< how long ago
  /// By its last sign of life, whether a sweep has removed it or not.
  [[nodiscard]] bool is_alive() const { return !superseded && last_seen < info.shown_stale_after(); }
  friend bool operator==(const WorkerView&, const WorkerView&) = default;
};

}  // namespace holdfast::store
