// The history of a run, page by page.
#include "client/core.hpp"
#include "client/history_events.hpp"
#include "client/stored_turns.hpp"

#include <holdfast/history.hpp>
#include <holdfast/run.hpp>

namespace holdfast {

HistoryPage Run::history(HistoryOptions options) const {
  detail::ClientCore::check_limit(options.max_bytes);
  if (options.execution.value == 0) options.execution = info().execution;
  client::StoredTurns turns(own_core(), id_, key_, options.execution, options.after);
  HistoryPage page{.execution = options.execution};
  for (const store::Segment& segment : turns.next(options.max_bytes)) {
    if (const auto added = history::append_events(segment.bytes, page.events); !added)
      turns.refuse_damaged(segment.first_event, added.error());
  }
  if (page.events.empty() || !turns.has_more()) return page;
  options.after = turns.last_event();
  page.next = options;
  return page;
}

std::vector<ExecutionInfo> Run::executions() const {
  const auto views = core().call([&] {
    auto found = core().store().executions(key_);
    if (!found && found.error().kind == StoreError::Kind::not_found)
      detail::refuse_as_gone(core().store(), id_);
    return found;
  });
  std::vector<ExecutionInfo> infos;
  infos.reserve(views.size());
  for (const store::ExecutionView& view : views)
    infos.push_back({.execution = view.execution, .turns = view.segments, .bytes = view.bytes});
  return infos;
}

}  // namespace holdfast
