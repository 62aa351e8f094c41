#include "base/mutex.hpp"
#include "base/utf8.hpp"

#include <holdfast/metrics.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <stdexcept>
#include <variant>

namespace holdfast {

namespace {

using Instrument = std::variant<Counter, Gauge, Histogram>;

// The order is that of the alternatives of Instrument.
enum class Kind : std::uint8_t { counter, gauge, histogram };
constexpr std::array<std::string_view, 3> kKindNames = {"counter", "gauge", "histogram"};
constexpr std::array<std::string_view, 3> kHistogramSuffixes = {"_bucket", "_sum", "_count"};

// All members of one metric name, and what they share.
struct Family {
  Kind kind = Kind::counter;
  std::string help{};
  std::vector<double> buckets{};  // of histograms
  std::map<MetricLabels, Instrument> members{};

  [[nodiscard]] bool agrees_with(const Family& other) const {
    return kind == other.kind && help == other.help && buckets == other.buckets;
  }
};

// ---- text ---------------------------------------------------------------------------------------

void append_number(std::string& text, double number) {
  if (std::isnan(number)) {
    text.append("NaN");
  } else if (std::isinf(number)) {
    text.append(number < 0 ? "-Inf" : "+Inf");
  } else {
    std::array<char, 32> digits{};  // the longest has 24
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    text.append(digits.data(), end);
  }
}

// Backslashes and newlines are always escaped; quotes only in label values.
void append_escaped(std::string& text, std::string_view raw, bool quoted) {
  for (const char c : raw) {
    if (c == '\n') {
      text.append("\\n");
    } else {
      if (c == '\\' || (quoted && c == '"')) text.push_back('\\');
      text.push_back(c);
    }
  }
}

void append_label(std::string& text, std::string_view name, std::string_view value) {
  text.append(text.back() == '{' ? "" : ",").append(name).append("=\"");
  append_escaped(text, value, true);
  text.push_back('"');
}

// "name{labels} ", where `bound` is the upper bound of a bucket.
void append_series(std::string& text, std::string_view name, std::string_view suffix,
                   const MetricLabels& labels, const double* bound = nullptr) {
  text.append(name).append(suffix);
  if (!labels.empty() || bound != nullptr) {
    text.push_back('{');
    for (const auto& [label, value] : labels) append_label(text, label, value);
    if (bound != nullptr) {
      std::string number;
      append_number(number, *bound);
      append_label(text, "le", number);
    }
    text.push_back('}');
  }
  text.push_back(' ');
}

void append_member(std::string& text, std::string_view name, const MetricLabels& labels,
                   const Counter& counter) {
  append_series(text, name, "", labels);
  text.append(std::to_string(counter.value())).push_back('\n');
}

void append_member(std::string& text, std::string_view name, const MetricLabels& labels, const Gauge& gauge) {
  append_series(text, name, "", labels);
  append_number(text, gauge.value());
  text.push_back('\n');
}

void append_member(std::string& text, std::string_view name, const MetricLabels& labels,
                   const Histogram& histogram) {
  std::vector<double> bounds = histogram.buckets();
  bounds.push_back(std::numeric_limits<double>::infinity());
  // In the text each bucket includes those below it. The total is taken from the same reading, so that it
  // always equals the last bucket.
  std::vector<std::uint64_t> counts = histogram.counts();
  std::partial_sum(counts.begin(), counts.end(), counts.begin());
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    append_series(text, name, "_bucket", labels, &bounds[i]);
    text.append(std::to_string(counts[i])).push_back('\n');
  }
  append_series(text, name, "_sum", labels);
  append_number(text, histogram.sum());
  text.push_back('\n');
  append_series(text, name, "_count", labels);
  text.append(std::to_string(counts.back())).push_back('\n');
}

void append_family(std::string& text, std::string_view name, const Family& family) {
  if (!family.help.empty()) {
    text.append("# HELP ").append(name).append(" ");
    append_escaped(text, family.help, false);
    text.push_back('\n');
  }
  const std::string_view kind = kKindNames.at(static_cast<std::size_t>(family.kind));
  text.append("# TYPE ").append(name).append(" ").append(kind).append("\n");
  for (const auto& member : family.members) {
    std::visit([&](const auto& instrument) { append_member(text, name, member.first, instrument); },
               member.second);
  }
}

// "counter with help "Turns."", "histogram with help "Latency." and buckets 0.1, 1".
std::string describe(const Family& family) {
  std::string text(kKindNames.at(static_cast<std::size_t>(family.kind)));
  text.append(" with help \"").append(family.help).append("\"");
  std::string_view separator = " and buckets ";
  for (const double bound : family.buckets) {
    text.append(separator);
    append_number(text, bound);
    separator = ", ";
  }
  return text;
}

// ---- rules --------------------------------------------------------------------------------------

[[noreturn]] void refuse(const std::string& what) { throw std::invalid_argument(what); }

std::string quoted(std::string_view name) { return "'" + std::string(name) + "'"; }

// Whether `name` has only letters, digits, underscores and what is in `more`, and doesn't begin with a digit.
bool is_name(std::string_view name, std::string_view more) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto may_stand = [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' ||
           more.find(c) != std::string_view::npos;
  };
  return !name.empty() && !is_digit(name[0]) && std::all_of(name.begin(), name.end(), may_stand);
}

void check_metric(std::string_view name, std::string_view help) {
  if (!is_name(name, ":")) refuse("metric name " + quoted(name) + " is not [a-zA-Z_:][a-zA-Z0-9_:]*");
  if (!detail::is_utf8(help)) refuse("the help of metric " + quoted(name) + " is not UTF-8");
}

void check_labels(std::string_view metric, Kind kind, const MetricLabels& sorted) {
  const std::string of_metric = " of metric " + quoted(metric);
  const std::string* last = nullptr;
  for (const auto& [name, value] : sorted) {
    const std::string label = "label " + quoted(name) + of_metric;
    if (!is_name(name, "")) refuse(label + " is not [a-zA-Z_][a-zA-Z0-9_]*");
    if (name.starts_with("__")) refuse(label + " begins with \"__\", which Prometheus keeps for itself");
    if (name == "le" && kind == Kind::histogram) refuse(label + " is the one that names its buckets");
    if (last != nullptr && *last == name) refuse(label + " is given twice");
    if (!detail::is_utf8(value)) refuse("the value of " + label + " is not UTF-8");
    last = &name;
  }
}

void check_buckets(const std::vector<double>& buckets) {
  const bool finite =
      std::all_of(buckets.begin(), buckets.end(), [](double bound) { return std::isfinite(bound); });
  const bool growing =
      std::adjacent_find(buckets.begin(), buckets.end(), std::greater_equal<>()) == buckets.end();
  if (buckets.empty() || !finite || !growing) {
    refuse(
        "the buckets of a histogram are one or more finite numbers, each above the one before; "
        "+Inf is added to them");
  }
}

}  // namespace

// ---- instruments --------------------------------------------------------------------------------

Histogram::Histogram(std::vector<double> buckets)
    : buckets_(std::move(buckets)), counts_(buckets_.size() + 1) {
  check_buckets(buckets_);
}

void Histogram::observe(double value) noexcept {
  if (std::isnan(value)) return;
  const auto bucket = std::lower_bound(buckets_.begin(), buckets_.end(), value) - buckets_.begin();
  counts_[static_cast<std::size_t>(bucket)].fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(value, std::memory_order_relaxed);
}

std::vector<std::uint64_t> Histogram::counts() const {
  std::vector<std::uint64_t> counts(counts_.size());
  std::transform(counts_.begin(), counts_.end(), counts.begin(),
                 [](const auto& count) { return count.load(std::memory_order_relaxed); });
  return counts;
}

std::vector<double> latency_buckets() {
  return {0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
          0.1,     0.25,   0.5,     1,      2.5,   5,      10,    30,   60};
}

// ---- the registry -------------------------------------------------------------------------------

class Metrics::Registry {
 public:
  // `wanted` has no members; `arguments` are those of the instrument's constructor.
  template <class InstrumentType, class... Arguments>
  InstrumentType& find_or_add(std::string_view name, Family wanted, MetricLabels labels,
                              const Arguments&... arguments) {
    check_metric(name, wanted.help);
    std::sort(labels.begin(), labels.end());
    check_labels(name, wanted.kind, labels);
    const MutexLock lock(mutex_);
    Family& family = find_or_add_family(name, std::move(wanted));
    const auto member =
        family.members.try_emplace(std::move(labels), std::in_place_type<InstrumentType>, arguments...).first;
    return std::get<InstrumentType>(member->second);
  }

  [[nodiscard]] std::string text() const {
    const MutexLock lock(mutex_);
    std::string text;
    for (const auto& [name, family] : families_) append_family(text, name, family);
    return text;
  }

 private:
  Family& find_or_add_family(std::string_view name, Family&& wanted) HOLDFAST_REQUIRES(mutex_) {
    const auto found = families_.find(name);
    if (found == families_.end()) {
      check_series(name, wanted.kind);
      return families_.try_emplace(std::string(name), std::move(wanted)).first->second;
    }
    if (!found->second.agrees_with(wanted)) {
      refuse("metric " + quoted(name) + " is a " + describe(found->second) +
             "; it can't be registered again as a " + describe(wanted));
    }
    return found->second;
  }

  // A histogram's series have names of their own, which no other metric may have.
  void check_series(std::string_view name, Kind kind) const HOLDFAST_REQUIRES(mutex_) {
    for (const std::string_view suffix : kHistogramSuffixes) {
      const std::string longer = std::string(name).append(suffix);
      if (kind == Kind::histogram && families_.contains(longer)) {
        refuse("histogram " + quoted(name) + " would write the series of metric " + quoted(longer));
      }
      if (!name.ends_with(suffix)) continue;
      const auto shorter = families_.find(name.substr(0, name.size() - suffix.size()));
      if (shorter != families_.end() && shorter->second.kind == Kind::histogram) {
        refuse("metric " + quoted(name) + " has the name of a series of histogram " + quoted(shorter->first));
      }
    }
  }

  mutable Mutex mutex_;
  std::map<std::string, Family, std::less<>> families_
      HOLDFAST_GUARDED_BY(mutex_);  // its nodes, and those of members, stay where they are
};

Metrics::Metrics() : registry_(std::make_unique<Registry>()) {}
Metrics::~Metrics() = default;

Counter& Metrics::counter(std::string_view name, std::string_view help, MetricLabels labels) {
  return registry_->find_or_add<Counter>(name, {.kind = Kind::counter, .help = std::string(help)},
                                         std::move(labels));
}

Gauge& Metrics::gauge(std::string_view name, std::string_view help, MetricLabels labels) {
  return registry_->find_or_add<Gauge>(name, {.kind = Kind::gauge, .help = std::string(help)},
                                       std::move(labels));
}

Histogram& Metrics::histogram(std::string_view name, std::string_view help,
                              const std::vector<double>& buckets, MetricLabels labels) {
  check_buckets(buckets);
  return registry_->find_or_add<Histogram>(
      name, {.kind = Kind::histogram, .help = std::string(help), .buckets = buckets}, std::move(labels),
      buckets);
}

std::string Metrics::prometheus() const { return registry_->text(); }

}  // namespace holdfast
