// Any text as a filter of instances, and as a cron text: what can't be read is refused with a reason, and
// what can be read names times that fit it.
#include "schedules/pattern.hpp"
#include "tests/fuzz/target.hpp"

#include <holdfast/client.hpp>
#include <holdfast/errors.hpp>

#include <algorithm>
#include <chrono>
#include <string>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

void read_filter(std::string_view text) {
  try {
    const ListFilter filter = parse_filter(text, CalendarTime(1'000'000h));
    fuzz::require(filter.limit == ListFilter{}.limit, "a text does not change the size of pages");
    const bool served =
        filter.order.attribute.empty()
            ? filter.order.descending
            : std::ranges::any_of(filter.attributes, [&](const AttributeCondition& condition) {
                return condition.name == filter.order.attribute &&
                       type_of(condition.value) == filter.order.type;
              });
    fuzz::require(served, "a condition says the type of what a list is ordered by");
    for (const AttributeCondition& condition : filter.attributes) {
      fuzz::require(!condition.name.empty(), "an attribute has a name");
      fuzz::require(type_of(condition.value) != AttributeType::keywords,
                    "one keyword is asked for at a time");
      static_cast<void>(to_string(condition.value));
    }
  } catch (const Error& e) {
    fuzz::require(e.failure().type == "invalid_filter", "a filter is refused as one");
  }
}

void read_cron(std::string_view text) {
  try {
    const schedules::Pattern pattern = schedules::parse_cron(std::string(text), schedules::Use::times);
    const schedules::LocalTime start{500'000h};
    if (const auto first = schedules::next_match(pattern, start)) {
      fuzz::require(*first >= start && pattern.takes(*first), "the next time is one of the pattern's");
      fuzz::require(schedules::next_match(pattern, *first) == first, "and the first one from there on");
    }
  } catch (const Error& e) {
    fuzz::require(e.failure().type == "invalid_schedule", "a cron text is refused as one");
  }
}

}  // namespace
}  // namespace holdfast

void holdfast::fuzz::run(std::string_view input) {
  read_filter(input);
  read_cron(input);
}
