// Who waits for the end of an instance: the question stands in that one's row, and is answered by whatever
// ends it.
#pragma once

#include "transaction.hpp"

namespace holdfast::rules {

/// `asker` wants to know how another instance ends.
void ask_for_end(Transaction& tx, Instance& asker, const EndRequest& request);
/// It does not want to know any more.
void forget_end_request(Transaction& tx, const Instance& asker, const EndRequest& request);
/// All who have asked are told what became of it.
void answer_end_watchers(Transaction& tx, Instance& instance, EndAnswer::Kind kind);

}  // namespace holdfast::rules
