#include "client/conditions.hpp"

#include <holdfast/detail/names.hpp>
#include <holdfast/errors.hpp>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace holdfast::client {

namespace {

using Is = AttributeCondition::Is;

bool is_text(const AttributeValue& value) { return type_of(value) == AttributeType::text; }

[[noreturn]] void makes_no_sense(const std::string& why) {
  throw ClientError(ClientError::Kind::invalid, why);
}

bool is_about(const AttributeCondition& condition, const ListOrder& order) {
  return condition.name == order.attribute && type_asked(condition) == order.type;
}

}  // namespace

AttributeType type_asked(const AttributeCondition& condition) {
  return condition.is == Is::has ? AttributeType::keywords : type_of(condition.value);
}

std::string problem_of(const AttributeCondition& condition) {
  const std::string whose = "the attribute '" + condition.name + "'";
  if (type_of(condition.value) == AttributeType::keywords)
    return "a list of keywords is asked for one of them: " + whose + " has \"...\"";
  if (condition.is == Is::has && !is_text(condition.value))
    return "keywords are texts: " + whose + " has \"...\"";
  if (condition.is == Is::starts_with && !is_text(condition.value))
    return "only texts start with something, and " + whose + " is compared with one of type " +
           std::string(to_string(type_of(condition.value)));
  if (const auto* const real = std::get_if<double>(&condition.value); real != nullptr && std::isnan(*real))
    return whose + " is compared with something that is not a number";
  return {};
}

std::string possible_orders(const ListFilter& filter) {
  std::string words = "created desc";
  std::set<std::string> named;
  for (const AttributeCondition& condition : filter.attributes) {
    if (condition.is == Is::has || !named.insert(condition.name).second) continue;
    words += ", " + condition.name + " asc, " + condition.name + " desc";
  }
  return words;
}

std::vector<AttributeCondition> checked_conditions(const ListFilter& filter) {
  std::vector<AttributeCondition> checked = filter.attributes;
  for (AttributeCondition& condition : checked) {
    static_cast<void>(detail::checked_name("an attribute", condition.name));
    if (const std::string problem = problem_of(condition); !problem.empty()) makes_no_sense(problem);
    if (auto* const real = std::get_if<double>(&condition.value); real != nullptr && *real == 0) *real = 0;
  }
  return checked;
}

ListOrder checked_order(const ListFilter& filter) {
  const ListOrder& order = filter.order;
  if (order.attribute.empty()) {
    if (order.descending) return order;
    makes_no_sense("no index serves a list by created asc; possible are: " + possible_orders(filter));
  }
  const bool served = order.type != AttributeType::keywords &&
                      std::ranges::any_of(filter.attributes, [&](const AttributeCondition& condition) {
                        return is_about(condition, order);
                      });
  if (!served) {
    makes_no_sense("no index serves a list by '" + order.attribute + "' of type " +
                   std::string(to_string(order.type)) +
                   " without a condition on it; possible are: " + possible_orders(filter));
  }
  const bool goes_on = filter.after.key != InstanceKey{};
  if (goes_on && (!filter.after.value || type_of(*filter.after.value) != order.type))
    makes_no_sense("ListFilter::after is of a list in another order: take RunPage::next of the page before");
  return order;
}

}  // namespace holdfast::client
