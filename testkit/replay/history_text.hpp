// History for people: one line for each event.
#pragma once

#include "codec/history.hpp"

#include <holdfast/testing/replay.hpp>

#include <string>
#include <vector>

namespace holdfast::testing {

HistoryLine to_line(const history::Event& event);

/// Aligned: id, kind, what.
std::string to_text(const std::vector<HistoryLine>& lines);

}  // namespace holdfast::testing
