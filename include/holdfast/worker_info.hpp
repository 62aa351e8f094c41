// WorkerInfo: a worker as clients see it. client.workers() gives all that are registered in the store.
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/ids.hpp>
#include <holdfast/options.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

/// Judged by its last sign of life: a worker that was killed is shown as dead even before others remove it.
enum class WorkerStatus : std::uint8_t {
  alive,
  draining,  ///< alive, finishes what it has, and takes nothing new
  dead,      ///< no sign of life for its RuntimeOptions::worker_stale_after: killed, stopped or cut off
  replaced,  ///< a newer start of the same node is registered
};
std::string_view to_string(WorkerStatus status) noexcept;

/// One started Runtime.
struct WorkerInfo {
  struct Orchestration {
    std::string name{};
    std::string version{};
    friend bool operator==(const Orchestration&, const Orchestration&) = default;
  };

  std::string node{};  ///< RuntimeOptions::node_id, or a random name
  WorkerKey worker{};  ///< of this start; a later one has a higher number
  WorkerStatus status = WorkerStatus::alive;
  std::string host{};
  std::uint64_t pid = 0;
  std::uint64_t build = 0;
  CalendarTime started_at{};
  Duration last_seen{};  ///< how long ago it gave its last sign of life

  bool any_queue = false;             ///< it serves all queues
  std::vector<std::string> queues{};  ///< those that it serves otherwise; the empty name is the default queue
  std::vector<std::string> activities{};
  std::vector<Orchestration> orchestrations{};
  std::vector<std::string> capabilities{};
  std::uint32_t slots = 0;     ///< activities that it runs at once
  std::uint32_t sessions = 0;  ///< that it holds
  std::uint32_t session_limit = 0;
};

}  // namespace holdfast
