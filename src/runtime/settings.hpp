// Settings: what a worker is and has: its store, its options, its code, and where its lines and numbers go.
#pragma once

#include "engine/code_log.hpp"
#include "runtime/counters.hpp"
#include "runtime/frame_homes.hpp"
#include "runtime/registry.hpp"
#include "runtime/store_gate.hpp"
#include "runtime/worker_log.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/log.hpp>
#include <holdfast/metrics.hpp>
#include <holdfast/random.hpp>
#include <holdfast/runtime.hpp>
#include <holdfast/store.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::runtime {

/// Set up before the first step, and constant from then on. Any thread.
struct Settings {
  /// `random` makes the name of a node that was given none.
  Settings(std::shared_ptr<Store> store, RuntimeOptions options, Registry registry, Random& random);
  Settings(const Settings&) = delete;
  Settings& operator=(const Settings&) = delete;

  [[nodiscard]] BootTime now() const noexcept { return store->clock().boot_now(); }
  /// Handed out so often that it may be what kills its workers, or was beside it. A process runs one such
  /// activity and one such turn at a time, so that this shows.
  [[nodiscard]] bool is_suspect(std::uint32_t delivery) const noexcept {
    return delivery > options.poison_after / 2 + 1 && delivery <= options.poison_after;
  }
  /// Says that something in the store can't be read, if that is what the error is.
  void note_damage(std::string_view what, const StoreError& error) const;

  const std::shared_ptr<StoreGate> store;
  const RuntimeOptions options;
  const std::string node;
  const std::size_t slots;
  const Registry registry;
  const FrameHomes homes;
  const store::Abilities abilities;
  const store::Code code;
  const std::shared_ptr<Metrics> metrics;
  const Counters counters;
  const std::shared_ptr<Logger> user_logger;  ///< the one of the options, or its default
  const std::shared_ptr<WorkerLog> logger;    ///< for the lines of this worker
  const engine::CodeLog code_log;             ///< for the lines of orchestrations
};

/// Throws std::invalid_argument when options don't go together, naming both values.
void check_options(const RuntimeOptions& options);

/// Why a session with this policy could be lost by a worker with this lease of activities while an activity
/// runs in it, naming both values; nothing when it could not.
std::optional<std::string> problem_of(const store::SessionPolicy& policy, Duration activity_lease);

}  // namespace holdfast::runtime
