#include "schedules/zone.hpp"

#include "schedules/invalid.hpp"

#include <cctz/civil_time.h>
#include <cctz/time_zone.h>

#include <algorithm>
#include <cctype>
#include <string_view>

namespace holdfast::schedules {

namespace {

constexpr cctz::civil_second kEpoch{1970, 1, 1};

// A name becomes the path of a file: nothing outside of the database may be reached by it.
bool looks_like_a_zone(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '+' || c == '-' || c == '/';
  };
  return !name.empty() && name.size() <= 64 && name.front() != '/' && std::ranges::all_of(name, allowed);
}

cctz::time_zone load(const std::string& name) {
  cctz::time_zone zone;
  if (looks_like_a_zone(name) && cctz::load_time_zone(name, &zone)) return zone;
  const bool no_database = !cctz::load_time_zone("Europe/London", &zone);
  refuse("the time zone '" + name + "' is not in this machine's database" +
         (no_database ? ", which seems to be missing: install the package tzdata"
                      : "; zones are named by a region and a place, such as Europe/Berlin, or UTC"));
}

cctz::civil_second civil(LocalTime time) { return kEpoch + time.time_since_epoch().count(); }

Instant instant(const cctz::time_point<cctz::seconds>& time) { return Instant(time.time_since_epoch()); }

}  // namespace

struct Zone::Rules {
  cctz::time_zone zone;
};

Zone::Zone(const std::string& name) : rules_(std::make_shared<const Rules>(Rules{load(name)})) {}

LocalTime Zone::local(Instant instant) const {
  return LocalTime(std::chrono::seconds(rules_->zone.lookup(instant).cs - kEpoch));
}

Instant Zone::first_showing(LocalTime time) const {
  const cctz::time_zone::civil_lookup found = rules_->zone.lookup(civil(time));
  return instant(found.kind == cctz::time_zone::civil_lookup::SKIPPED ? found.trans : found.pre);
}

std::optional<Instant> Zone::next_change(Instant after) const {
  cctz::time_zone::civil_transition change;
  while (rules_->zone.next_transition(after, &change)) {
    after = instant(rules_->zone.lookup(change.to).trans);
    if (change.from != change.to) return after;  // otherwise only the zone's abbreviation changed
  }
  return std::nullopt;
}

}  // namespace holdfast::schedules
