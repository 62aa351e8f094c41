// Instances: starting, messaging, listing and describing them, and housekeeping.
#pragma once

#include <holdfast/attributes.hpp>
#include <holdfast/clock.hpp>
#include <holdfast/ids.hpp>
#include <holdfast/options.hpp>
#include <holdfast/status.hpp>
#include <holdfast/store/activities.hpp>
#include <holdfast/store/messages.hpp>
#include <holdfast/store/turns.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::store {

struct StartRequest {
  std::string instance{};
  CodeVersion code{};
  std::string body{};         ///< of the start message
  RequestId request{};        ///< of one call for one id: a repeated one gets the answer of the first
  Fingerprint fingerprint{};  ///< of orchestration, version and input: equal ones ask for the same
  Reuse reuse = Reuse::never;
  Duration delay{};                     ///< of the start message
  std::vector<Attribute> attributes{};  ///< sorted by name and type
};

struct StartAnswer {
  InstanceKey key{};
  bool is_new = false;
  friend bool operator==(const StartAnswer&, const StartAnswer&) = default;
};

struct ClientMessage {
  std::string instance{};
  /// For this life of the id only: `gone` when another life has it, `not_found` when none has. Empty: any
  /// life.
  InstanceKey life{};
  NewMessage message{};  ///< control or delivery
  /// Of one call for one id: a repeated one gets the answer of the first, and takes effect once.
  RequestId request{};
  Duration delay{};
  Duration keep_early = std::chrono::hours(24);  ///< a delivery for an id that doesn't exist yet
  bool cancels = false;                          ///< the instance shows "cancel requested" from now on
};

/// A wish to suspend an instance, or to resume it.
struct Suspension {
  std::string instance{};
  InstanceKey life{};  ///< as in ClientMessage
  bool resume = false;
  /// As in ClientMessage.
  RequestId request{};
};

struct Deletion {
  std::string instance{};
  InstanceKey life{};  ///< `not_found` when another one has the id; 0: whichever has it
  bool force = false;  ///< also one that has not ended
};

struct InstanceView {
  InstanceKey key{};
  std::string instance{};
  CodeVersion code{};
  ExecutionNumber execution{};
  InstanceStatus status = InstanceStatus::running;
  std::string output{};  ///< once it has ended
  std::string parked_because{};
  std::optional<std::string> custom_status{};
  std::uint64_t custom_status_version = 0;  ///< grows with each change
  InstanceKey parent{};
  std::uint64_t build = 0;
  CalendarTime created_at{};
  CalendarTime updated_at{};  ///< of its last status change, start included
  std::optional<CalendarTime> cancel_requested_at{};
  std::vector<Attribute> attributes{};  ///< sorted by name and type
  friend bool operator==(const InstanceView&, const InstanceView&) = default;
};

/// An instance, what it waits for, and how many workers could go on with it.
struct InstanceDetail {
  InstanceView view{};
  std::string locked_by{};  ///< node; empty when it is not locked
  std::uint32_t delivery = 0;
  std::vector<Address> waits{};
  std::vector<ActivityView> activities{};
  std::vector<CancelRecord> cancels{};  ///< its activities that were cancelled while they ran
  std::vector<NewTimer> timers{};
  std::uint64_t unread = 0;              ///< messages that no turn has consumed, starts aside
  std::optional<Duration> starts_in{};   ///< of one whose start is delayed: until then; 0 once it is due
  std::uint32_t workers = 0;             ///< live ones that have its code, and may go on with its build
  std::vector<InstanceView> children{};  ///< those that have not ended, oldest first, at most kMaxChildren
  static constexpr std::size_t kMaxChildren = 100;
  std::uint64_t more_children = 0;        ///< how many more there are
  std::vector<std::string> value_keys{};  ///< of the values that it keeps, sorted
  Fingerprint fingerprint{};              ///< of the wish that started it; empty when another instance did
  friend bool operator==(const InstanceDetail&, const InstanceDetail&) = default;
};

struct InstanceFilter {
  std::set<InstanceStatus> statuses{};  ///< empty: any
  std::string orchestration{};          ///< empty: any
  std::string version{};                ///< of the code; empty: any
  std::string prefix{};                 ///< of the instance's id
  std::optional<InstanceKey> parent{};
  std::optional<CalendarTime> created_from{};
  std::optional<CalendarTime> created_before{};
  std::vector<AttributeCondition> attributes{};  ///< all of them
  /// Without an attribute: by key, the highest (newest) first. By an attribute: only those that have it; of
  /// those with equal values, the newest first when it ascends, and the oldest first when it descends.
  ListOrder order{};
  ListPlace after{};  ///< InstancePage::next of the page before
  std::size_t limit = 100;
};

/// There is more if, and only if, `next` is set; a page with fewer than `limit` instances is the last one.
struct InstancePage {
  std::vector<InstanceView> instances{};
  std::optional<ListPlace> next{};
};

/// How many instances match a filter.
struct InstanceCount {
  static constexpr std::uint64_t kMost = 10'000;
  std::uint64_t count = 0;
  bool at_least = false;  ///< there are more than `count`, which is kMost
  friend bool operator==(const InstanceCount&, const InstanceCount&) = default;
};

/// How many instances have each status; none for those that no instance has.
using StatusCounts = std::map<InstanceStatus, std::uint64_t>;

struct ExecutionView {
  ExecutionNumber execution{};
  std::uint64_t segments = 0;
  std::uint64_t bytes = 0;
  friend bool operator==(const ExecutionView&, const ExecutionView&) = default;
};

/// A row or message that could not be decoded, and was set aside.
struct SetAsideRow {
  std::uint64_t number = 0;
  InstanceKey key{};
  std::string what{};  ///< "message 17 (outcome)", "activity 3/1/8 (charge)"
  std::string problem{};
  std::string bytes{};
  CalendarTime at{};
  friend bool operator==(const SetAsideRow&, const SetAsideRow&) = default;
};

struct SweepRequest {
  WorkerKey worker{};
  Duration worker_stale_after = std::chrono::seconds(60);  ///< for workers without a NewWorker::stale_after
  Duration session_state_retention = std::chrono::hours(24);
  Duration session_record_retention = std::chrono::hours(24);
  Duration session_log_retention = std::chrono::hours(7 * 24);  ///< in calendar time
  Duration request_retention = std::chrono::hours(24);          ///< of requests that took effect
  std::size_t max = 1000;  ///< rows of each kind: keeps the transaction short
};

struct Swept {
  std::uint64_t activities_timed_out = 0;
  std::uint64_t sessions_expired = 0;
  std::uint64_t sessions_lost = 0;
  std::uint64_t sessions_removed = 0;
  std::uint64_t workers_removed = 0;
  std::uint64_t early_dropped = 0;  ///< early deliveries past their time
  /// Rows of deleted instances, old requests, cancel records, lines of the session log.
  std::uint64_t remains_removed = 0;
  Duration next_due = never;
  friend bool operator==(const Swept&, const Swept&) = default;
};

}  // namespace holdfast::store
