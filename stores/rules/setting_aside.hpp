// What nobody can read is put out of the way, with its bytes.
#pragma once

#include "transaction.hpp"

#include <string>

namespace holdfast::rules {

void set_aside(Transaction& tx, const Instance& instance, const Message& message);
void set_aside(Transaction& tx, const Activity& activity, const std::string& problem);

/// Parks an instance of which something is lost that it waits for, whoever holds it now.
void park_damaged(Transaction& tx, Instance& instance, const std::string& problem);

}  // namespace holdfast::rules
