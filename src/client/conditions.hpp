// Conditions on attributes and orders of lists: which of them make sense.
#pragma once

#include <holdfast/attributes.hpp>
#include <holdfast/client.hpp>

#include <optional>
#include <string>
#include <vector>

namespace holdfast::client {

/// Of which type the attribute is that a condition asks for.
AttributeType type_asked(const AttributeCondition& condition);
/// Why a condition makes no sense; empty when it does.
std::string problem_of(const AttributeCondition& condition);
/// In which orders a list can be had, in words: "created desc, cents asc, cents desc".
std::string possible_orders(const ListFilter& filter);

// Throw ClientError (invalid), and Error (invalid_name).
std::vector<AttributeCondition> checked_conditions(const ListFilter& filter);
ListOrder checked_order(const ListFilter& filter);

}  // namespace holdfast::client
