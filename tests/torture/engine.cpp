#include "program.hpp"
#include "roles.hpp"

#include <holdfast/errors.hpp>
#include <holdfast/runtime.hpp>

#include <signal.h>

#include <chrono>
#include <iostream>
#include <optional>

namespace holdfast::torture {

using namespace std::chrono_literals;

namespace {

RuntimeOptions engine_options(const std::string& node, std::shared_ptr<Logger> logger) {
  return {.node_id = node,
          .activity_slots = 4,
          .activity_lease = 500ms,
          .instance_lease = 500ms,
          .cancel_grace = 2s,
          .worker_stale_after = 2s,
          .poison_after = 1'000'000,  // it is not the fault of the activities
          .session_lease = 500ms,
          .session_idle_timeout = 1s,
          .session_record_retention = 2s,
          .logger = std::move(logger)};
}

}  // namespace

int run_engine(const Place& place, const std::string& node) {
  sigset_t end;
  sigemptyset(&end);
  sigaddset(&end, SIGTERM);
  const auto logger = stderr_logger();
  std::optional<Runtime> runtime;
  try {
    runtime.emplace(place.open(logger.get()), engine_options(node, logger));
    add_program(*runtime);
    runtime->start();
  } catch (const StoreOpenError& e) {
    std::cerr << e.what() << "\n";
    if (e.kind() == StoreOpenError::Kind::unavailable) return kNoStore;
    throw;
  } catch (const ClientError& e) {
    std::cerr << e.what() << "\n";
    if (e.kind() == ClientError::Kind::unavailable) return kNoStore;
    throw;
  }
  int signal = 0;
  sigwait(&end, &signal);
  runtime->stop();
  return 0;
}

}  // namespace holdfast::torture
