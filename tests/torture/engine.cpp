#include "program.hpp"
#include "roles.hpp"

#include <holdfast/runtime.hpp>
#include <holdfast/sqlite.hpp>

#include <signal.h>

#include <chrono>

namespace holdfast::torture {

using namespace std::chrono_literals;

int run_engine(const Place& place, const std::string& node) {
  sigset_t end;
  sigemptyset(&end);
  sigaddset(&end, SIGTERM);
  const auto logger = stderr_logger();
  Runtime runtime(sqlite(place.database(), {.logger = logger.get()}),
                  {.node_id = node,
                   .activity_slots = 4,
                   .activity_lease = 500ms,
                   .instance_lease = 500ms,
                   .cancel_grace = 2s,
                   .worker_stale_after = 2s,
                   .poison_after = 1'000'000,  // it is not the fault of the activities
                   .logger = logger});
  add_program(runtime);
  runtime.start();
  int signal = 0;
  sigwait(&end, &signal);
  runtime.stop();
  return 0;
}

}  // namespace holdfast::torture
