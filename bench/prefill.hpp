// Databases that are full of what a worker has nothing to do with: it must not pay for that.
#pragma once

#include <holdfast/store.hpp>

#include <cstddef>
#include <functional>
#include <vector>

namespace holdfast::bench {

/// Instances that sleep, each with a timer that is due in a year.
/// `before`: how many of them there are already.
void fill_with_timers(Store& store, std::size_t count, std::size_t before = 0);
/// Queued activities, a hundred for each instance, with names or queues that no worker serves.
void fill_with_unservable(Store& store, std::size_t count);
/// Instances that have ended; `before` of them are there already.
void fill_with_finished(Store& store, std::size_t count, std::size_t before = 0);

/// Instances with search attributes, by their number; one in a hundred runs, the others have ended.
void fill_with_attributes(Store& store, std::size_t count,
                          const std::function<std::vector<Attribute>(std::size_t)>& attributes);

}  // namespace holdfast::bench
