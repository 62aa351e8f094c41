// Several processes on one schema: each is this program, started with arguments that be_process() takes.
#pragma once

#include "bench/workload.hpp"

#include <chrono>
#include <cstddef>
#include <string>

namespace holdfast::bench {

/// What main() does first: when the arguments say what this process is to be, it is that, and ends.
void be_process(int argc, char** argv);

/// Steps per second of so many processes together. Each is a runtime with its clients, which keep `in_flight`
/// instances of their own going.
double processes_steps_per_s(const std::string& uri, const std::string& schema, std::size_t processes,
                             Shape shape, std::size_t in_flight, std::chrono::milliseconds length);

/// The same with two processes that share the work: one has the clients and runs orchestrations, but no
/// activity, which all go through the queue to the other.
double shared_steps_per_s(const std::string& uri, const std::string& schema, Shape shape,
                          std::size_t in_flight, std::chrono::milliseconds length);

}  // namespace holdfast::bench
