// The order in which what a commit starts and sends takes effect: that of the code.
#pragma once

#include <holdfast/store/turns.hpp>

#include <cstddef>

namespace holdfast::store {

/// Calls `start(new_instance)` for each of the commit's starts, and `send(index, outgoing)` for each of its
/// messages.
template <class Start, class Send>
void in_code_order(const TurnCommit& commit, Start start, Send send) {
  std::size_t started = 0;
  for (std::size_t i = 0; i < commit.messages.size(); ++i) {
    while (started < commit.starts.size() && started < commit.messages[i].after_starts)
      start(commit.starts[started++]);
    send(i, commit.messages[i]);
  }
  while (started < commit.starts.size()) start(commit.starts[started++]);
}

}  // namespace holdfast::store
