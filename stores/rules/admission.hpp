// Who may do what: which workers are listened to, and which activities each of them may take. Fetches and
// hand-offs ask the same questions.
#pragma once

#include "transaction.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace holdfast::rules {

/// Why this worker's call is refused, if it is. One that drains may go on with what it has when a newer
/// incarnation of its node has joined: that is what it drains for.
enum class Call : std::uint8_t { takes_work, keeps_what_it_has };
std::optional<StoreError> refusal(const Transaction& tx, WorkerKey worker, Call call);

/// A worker that may take new work.
[[nodiscard]] bool is_live(const Worker& worker);
/// One that may, and has given a sign of life in time: who looks at workers is not misled by those that died,
/// and that no sweep has removed yet.
[[nodiscard]] bool is_present(const Transaction& tx, const Worker& worker);
[[nodiscard]] bool can_run(const Abilities& abilities, const Activity& activity);
/// How many present workers in the space can run such activities.
[[nodiscard]] std::uint32_t workers_for(const Transaction& tx, std::string_view queue, std::string_view name);
[[nodiscard]] bool covers(const Abilities& abilities, const SessionPolicy& policy);

enum class Admission : std::uint8_t {
  no,
  yes,
  by_claim,  ///< if its session may be claimed: below the worker's limit, within its share
};
[[nodiscard]] Admission admit(const Transaction& tx, WorkerKey worker, const Abilities& abilities,
                              const Activity& activity);

/// Whether a new activity, which is queued already, may be locked in the commit that scheduled it.
[[nodiscard]] bool may_hand_off(const Transaction& tx, WorkerKey worker, const Abilities& abilities,
                                const Activity& activity);

}  // namespace holdfast::rules
