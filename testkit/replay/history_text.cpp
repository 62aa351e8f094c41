#include "testkit/replay/history_text.hpp"

#include "codec/history_text.hpp"

#include <algorithm>

namespace holdfast::testing {

namespace {

std::string padded(std::string part, std::size_t width) {
  part.resize(std::max(part.size(), width), ' ');
  return part;
}

}  // namespace

HistoryLine to_line(const history::Event& event) {
  return {event.id, std::string(history::kind_name(event.body)), history::summary(event.body)};
}

std::string to_text(const std::vector<HistoryLine>& lines) {
  std::size_t widest = 0;
  for (const HistoryLine& line : lines) widest = std::max(widest, line.kind.size());
  std::string all;
  for (const HistoryLine& line : lines) {
    const std::string id = to_string(line.id);
    all += std::string(4 - std::min<std::size_t>(id.size(), 4), ' ') + id + "  ";
    all += line.what.empty() ? line.kind : padded(line.kind, widest) + "  " + line.what;
    all += '\n';
  }
  return all;
}

}  // namespace holdfast::testing
