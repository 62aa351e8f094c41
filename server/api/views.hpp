// What the API shows of instances, sessions and workers.
#pragma once

#include "server/api/json.hpp"
#include "server/api/schema.hpp"

#include <holdfast/client.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::server {

/// A payload: `{"encoding":"json","value":...}`; what is no JSON as `{"encoding":"bytes","base64":"..."}`.
struct PayloadView {
  Payload payload{};
};

struct FailureView {
  Category category = Category::application;
  std::string type{};
  std::string message{};
  std::string source{};
  std::uint64_t event = 0;
  int attempt = 0;
  bool retryable = true;
  PayloadView details{};
  std::shared_ptr<FailureView> cause{};
};
[[nodiscard]] FailureView view(const Failure& failure);

struct InstanceView {
  std::string id{};
  std::string orchestration{};
  std::string version{};
  std::uint64_t execution = 0;
  Status status = Status::running;
  std::optional<std::string> parent{};
  CalendarTime created_at{};
  CalendarTime updated_at{};
  std::optional<CalendarTime> cancel_requested_at{};
  std::optional<PayloadView> output{};
  std::optional<FailureView> failure{};
  std::optional<std::string> parked_because{};
  std::optional<PayloadView> custom_status{};
  std::uint64_t custom_status_version = 0;
  std::vector<Attribute> attributes{};  ///< by which it is found
};
[[nodiscard]] InstanceView view(const RunInfo& info);

struct InstanceListView {
  std::vector<InstanceView> instances{};
  std::optional<std::string> next{};
};

struct WaitView {
  RunWait::Kind kind = RunWait::Kind::activity;
  std::string name{};
  std::string state{};
  bool served = true;
  std::optional<CalendarTime> since{};
  std::optional<CalendarTime> due{};
  std::vector<WaitView> waits{};
  std::string queue{};
  std::string running_on{};
  int attempt = 0;
  int delivery = 0;
  std::optional<Duration> gives_up_in{};
  std::optional<FailureView> last_failure{};
  std::optional<PayloadView> last_heartbeat{};
};
struct CancelView {
  std::string name{};
  std::uint64_t execution = 0;
  std::uint64_t event = 0;
  std::string reason{};
  std::string state{};
  std::string running_on{};
  Duration since{};
};
struct InstanceDetailView {
  InstanceView instance{};
  std::string running_on{};
  std::vector<WaitView> waits{};
  std::uint64_t more_children = 0;
  std::vector<CancelView> cancels{};
  std::uint64_t unread_messages = 0;
  std::vector<std::string> value_keys{};
};
[[nodiscard]] InstanceDetailView view(const RunDetail& detail);

struct SessionPolicyView {
  std::string queue{};
  std::string connection{};
  std::vector<std::string> requirements{};
  std::optional<Duration> lease{};
  std::optional<Duration> idle_timeout{};
  std::optional<Duration> ttl{};
  std::uint32_t max_concurrent = 0;
  SessionPolicy::WhenLost when_lost = SessionPolicy::WhenLost::reclaim;
  bool create_if_missing = true;
  bool outlives_opener = false;
  bool on_record = false;
};
struct SessionView {
  std::string id{};
  std::string status{};
  SessionReason reason = SessionReason::none;
  std::string note{};
  std::string owner{};
  std::uint64_t generation = 0;
  std::optional<std::string> wanted{};
  Duration kept_for{};
  SessionPolicyView policy{};
  Duration lease_left{};
  std::optional<Duration> ttl_left{};
  Duration quiet_for{};
  std::string opened_by{};
  std::uint64_t queued = 0;
  std::uint64_t in_flight = 0;
  std::optional<std::uint64_t> saved_size{};
  std::uint64_t saved_version = 0;
  CalendarTime created_at{};
  CalendarTime updated_at{};
};
[[nodiscard]] SessionView view(const SessionInfo& session);

struct SessionLogView {
  std::uint64_t number = 0;
  std::string session{};
  SessionLogEntry::Kind kind = SessionLogEntry::Kind::claimed;
  SessionReason reason = SessionReason::none;
  std::string owner{};
  std::string previous_owner{};
  std::uint64_t generation = 0;
  CalendarTime at{};
  Duration quiet_for{};
  std::string text{};
};
[[nodiscard]] SessionLogView view(const SessionLogEntry& entry);

struct WorkerView {
  std::string node{};
  std::uint64_t worker = 0;
  WorkerStatus status = WorkerStatus::alive;
  std::string host{};
  std::uint64_t pid = 0;
  std::uint64_t build = 0;
  CalendarTime started_at{};
  Duration last_seen{};
  bool any_queue = false;
  std::vector<std::string> queues{};
  std::vector<std::string> activities{};
  std::vector<WorkerInfo::Orchestration> orchestrations{};
  std::vector<std::string> capabilities{};
  std::uint32_t slots = 0;
  std::uint32_t sessions = 0;
  std::uint32_t session_limit = 0;
};
[[nodiscard]] WorkerView view(const WorkerInfo& worker);

HOLDFAST_GIVEN(RefusalView, "Refusal");
HOLDFAST_GIVEN(FailureView, "Failure");
HOLDFAST_GIVEN(InstanceView, "Instance");
HOLDFAST_GIVEN(InstanceListView, "InstanceList");
HOLDFAST_GIVEN(WaitView, "Wait");
HOLDFAST_GIVEN(CancelView, "Cancel");
HOLDFAST_GIVEN(InstanceDetailView, "InstanceDetail");
HOLDFAST_GIVEN(SessionPolicyView, "SessionPolicy");
HOLDFAST_GIVEN(SessionView, "Session");
HOLDFAST_GIVEN(SessionLogView, "SessionLogEntry");
HOLDFAST_GIVEN(WorkerInfo::Orchestration, "WorkerOrchestration");
HOLDFAST_GIVEN(WorkerView, "Worker");

template <>
struct SchemaName<PayloadView> {
  static constexpr std::string_view name = "Payload";
  static std::string write(SchemaTable& table);
};
namespace detail_schema {
template <>
inline std::string write<std::shared_ptr<FailureView>>(SchemaTable& table) {
  return R"({"anyOf":[)" + write<FailureView>(table) + R"(,{"type":"null"}]})";
}
}  // namespace detail_schema

}  // namespace holdfast::server

template <>
struct holdfast::Codec<holdfast::server::PayloadView> {
  static void write(JsonWriter& out, const server::PayloadView& view);
};
