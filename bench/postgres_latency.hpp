// How fast a cancel and a hand-over get from one store handle to another, by way of the server.
#pragma once

#include <holdfast/store.hpp>

#include <functional>
#include <memory>
#include <vector>

namespace holdfast::bench {

/// Milliseconds from before a client asks for a cancel to the stop token of the activity, which runs at a
/// worker whose store is another one. `open` gives one more handle of the same database.
std::vector<double> cancel_ms(const std::function<std::shared_ptr<Store>()>& open, int rounds);

}  // namespace holdfast::bench
