// Another system that does the same work, as a child process of the benchmark.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace holdfast::bench {

/// Runs the command in a process group of its own and gives the first line that it prints. Whatever the group
/// still does then, or when the limit is over, is killed; it also goes when this program does. What the
/// command says on its standard error goes to the file `log`. Throws when there is no line, with the last one
/// of the log; fork() is called here, so no other thread may hold a lock that the child needs.
std::string first_line_of(const std::vector<std::string>& command, const std::filesystem::path& log,
                          std::chrono::seconds limit);

}  // namespace holdfast::bench
