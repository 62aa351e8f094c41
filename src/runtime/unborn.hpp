// What a turn starts and drops again: it never becomes a row.
#pragma once

#include <holdfast/ids.hpp>

#include <algorithm>
#include <functional>
#include <vector>

namespace holdfast::runtime {

/// Takes the rows out that one of `drops` names by its event, and with them those drops: whoever is left in
/// `drops` names a row of an earlier turn. Looks at each once, however many are dropped. The order of what is
/// left stays.
template <class Row, class Drop, class EventOfRow, class EventOfDrop>
void take_out_unborn(std::vector<Row>& rows, std::vector<Drop>& drops, EventOfRow event_of_row,
                     EventOfDrop event_of_drop) {
  if (rows.empty() || drops.empty()) return;
  std::vector<EventId> dropped;
  dropped.reserve(drops.size());
  for (const Drop& drop : drops) dropped.push_back(std::invoke(event_of_drop, drop));
  std::ranges::sort(dropped);
  std::vector<EventId> unborn;
  std::erase_if(rows, [&](const Row& row) {
    const EventId event = std::invoke(event_of_row, row);
    if (!std::ranges::binary_search(dropped, event)) return false;
    unborn.push_back(event);
    return true;
  });
  std::ranges::sort(unborn);
  std::erase_if(drops, [&](const Drop& drop) {
    return std::ranges::binary_search(unborn, std::invoke(event_of_drop, drop));
  });
}

}  // namespace holdfast::runtime
