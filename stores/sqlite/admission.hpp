// Who may take what. Fetches and hand-offs ask the same questions.
#pragma once

#include "activities.hpp"
#include "sessions.hpp"

#include <cstdint>

namespace holdfast::sqlite_store {

enum class Admission : std::uint8_t {
  no,
  full,  ///< no, and no other of its session either
  yes,
  by_claim,  ///< if its session may be claimed: below the worker's limit, within its share
};

/// Whether the worker may take an item that is ready.
Admission admit(Transaction& tx, WorkerKey worker, const store::Abilities& abilities,
                const Activity& activity);

}  // namespace holdfast::sqlite_store
