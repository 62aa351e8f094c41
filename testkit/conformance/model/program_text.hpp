// Programs as text, one step per line, and back: `12 fetch_turns {"who":"bob","max":2}`. What has its default
// is not written.
#pragma once

#include "testkit/conformance/model/operations.hpp"

#include <string>
#include <string_view>

namespace holdfast::testing::model {

std::string to_text(const Step& step);
/// What its operation is called.
std::string name_of(const Step& step);
std::string to_text(const Program& program);

/// Lines that are empty are skipped. Throws std::invalid_argument with the line that can't be read.
Program program_of(std::string_view text);

}  // namespace holdfast::testing::model
