// Where a row stands in the indexes. A change of what its place depends on goes between unplace() and
// place().
#pragma once

#include "transaction.hpp"

namespace holdfast::rules {

void place(Transaction& tx, Instance& instance);
void unplace(Transaction& tx, Instance& instance);

void place(Transaction& tx, const Activity& activity);
void unplace(Transaction& tx, const Activity& activity);

}  // namespace holdfast::rules
