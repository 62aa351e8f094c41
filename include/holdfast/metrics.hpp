// Metrics: counters, gauges and histograms that any thread may update, and their text in Prometheus' format.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast {

/// A number that only grows. Updates are lock-free, from any thread.
class Counter {
 public:
  void add(std::uint64_t by = 1) noexcept { value_.fetch_add(by, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t value() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

/// A number that goes up and down. Updates are lock-free, from any thread.
class Gauge {
 public:
  void set(double to) noexcept { value_.store(to, std::memory_order_relaxed); }
  /// `by` may be negative.
  void add(double by) noexcept { value_.fetch_add(by, std::memory_order_relaxed); }
  [[nodiscard]] double value() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_{0};
};

/// Counts values by the bucket that they fall into. Updates are lock-free, from any thread.
class Histogram {
 public:
  /// `buckets` are inclusive upper bounds: one or more, finite, each above the one before, or it throws
  /// std::invalid_argument. Values above the last bound are counted in a bucket of their own.
  explicit Histogram(std::vector<double> buckets);

  /// A NaN is dropped, since the sum would be NaN from then on.
  void observe(double value) noexcept;

  [[nodiscard]] const std::vector<double>& buckets() const noexcept { return buckets_; }
  /// How many values fell into each bucket; the last is for those above all bounds. While other threads
  /// observe values, the counts and the sum may be of slightly different moments.
  [[nodiscard]] std::vector<std::uint64_t> counts() const;
  [[nodiscard]] double sum() const noexcept { return sum_.load(std::memory_order_relaxed); }

 private:
  std::vector<double> buckets_;
  std::vector<std::atomic<std::uint64_t>> counts_;
  std::atomic<double> sum_{0};
};

/// Buckets for durations in seconds: 50 microseconds to one minute, each about twice the one before.
std::vector<double> latency_buckets();

/// The labels of a metric, names and values. The order doesn't matter.
using MetricLabels = std::vector<std::pair<std::string, std::string>>;

/// A registry of metrics. Thread-safe. References that it returns are valid as long as the registry: look a
/// metric up once, keep the reference, and update it without a lock.
///
/// The same name and labels give the same object. The first registration of a name settles its kind, help
/// and buckets. All of these throw std::invalid_argument: another kind, other help or other buckets for a
/// known name; a name that is not [a-zA-Z_:][a-zA-Z0-9_:]*, or that a histogram's _bucket, _sum or _count
/// has; a label that is not [a-zA-Z_][a-zA-Z0-9_]*, is there twice, begins with "__", or is a histogram's
/// "le"; a help or label value that is no UTF-8.
class Metrics {
 public:
  Metrics();
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  Counter& counter(std::string_view name, std::string_view help, MetricLabels labels = {});
  Gauge& gauge(std::string_view name, std::string_view help, MetricLabels labels = {});
  /// See Histogram on `buckets`.
  Histogram& histogram(std::string_view name, std::string_view help, const std::vector<double>& buckets,
                       MetricLabels labels = {});

  /// Everything in Prometheus' text exposition format 0.0.4, sorted by name and labels.
  [[nodiscard]] std::string prometheus() const;

 private:
  class Registry;
  std::unique_ptr<Registry> registry_;
};

}  // namespace holdfast
