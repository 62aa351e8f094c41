// What a fuzz target is written with. A target is a file that defines run(); holdfast_fuzz_target() in
// CMakeLists.txt makes programs of it.
#pragma once

#include <string_view>

namespace holdfast::fuzz {

/// Feeds `input` to the code under test. Crashes, leaks, hangs and exceptions are findings.
void run(std::string_view input);

/// Ends the program with a message when `holds` is false: a finding.
void require(bool holds, std::string_view what);

}  // namespace holdfast::fuzz
