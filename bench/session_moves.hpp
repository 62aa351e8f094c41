// How long sessions are with nobody: when their worker drains, and when it is killed.
#pragma once

#include "bench/disk.hpp"

#include <holdfast/options.hpp>
#include <holdfast/store.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::bench {

/// One more handle of the same database.
using OpenStore = std::function<std::shared_ptr<Store>()>;

/// Milliseconds from the release of a session by a worker that drains to the next activity of it, which
/// begins at another worker; one for each session and round. Both workers are runtimes of this process, with
/// a store each, which `open` gives.
std::vector<double> hand_over_ms(const OpenStore& open, std::size_t sessions, int rounds);

/// Milliseconds from `kill -9` of the process that holds the sessions to the next activity of each. The
/// process is this program, started with the arguments that be_worker() takes.
std::vector<double> recovery_ms(const DiskFolder& folder, std::size_t sessions, Duration lease);

/// What main() does first: when the arguments say that this process is a worker, it is one until it is
/// killed.
void be_worker(int argc, char** argv);

}  // namespace holdfast::bench
