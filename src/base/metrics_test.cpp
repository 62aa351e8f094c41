#include <holdfast/metrics.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <thread>

namespace holdfast {
namespace {

// What `f` says when it refuses its arguments.
template <class F>
std::string refusal(F f) {
  try {
    f();
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "(not refused)";
}

template <class F>
void run_in_four_threads(F f) {
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(f);
}

TEST(Metrics, AreEmptyTextAtFirst) { EXPECT_EQ(Metrics().prometheus(), ""); }

TEST(Metrics, RenderFamiliesAndLabelsInOrderWhateverTheOrderOfRegistration) {
  Metrics metrics;
  metrics.gauge("sessions", "Open sessions.").set(2.5);
  metrics.counter("activities_total", "Activities run.", {{"queue", "gpu"}, {"outcome", "ok"}}).add(7);
  metrics.counter("activities_total", "Activities run.", {{"outcome", "failed"}, {"queue", "gpu"}}).add();
  metrics.counter("activities_total", "Activities run.");
  EXPECT_EQ(metrics.prometheus(), R"(# HELP activities_total Activities run.
# TYPE activities_total counter
activities_total 0
activities_total{outcome="failed",queue="gpu"} 1
activities_total{outcome="ok",queue="gpu"} 7
# HELP sessions Open sessions.
# TYPE sessions gauge
sessions 2.5
)");
}

TEST(Metrics, RenderAHistogramWithCumulativeBuckets) {
  Metrics metrics;
  Histogram& plain = metrics.histogram("turn_seconds", "Time of a turn.", {0.00005, 0.1, 1});
  for (const double value : {0.05, 0.1, 0.25, 2.0, 3.0}) plain.observe(value);
  metrics.histogram("turn_seconds", "Time of a turn.", {0.00005, 0.1, 1}, {{"store", "memory"}}).observe(1);
  EXPECT_EQ(metrics.prometheus(), R"(# HELP turn_seconds Time of a turn.
# TYPE turn_seconds histogram
turn_seconds_bucket{le="5e-05"} 0
turn_seconds_bucket{le="0.1"} 2
turn_seconds_bucket{le="1"} 3
turn_seconds_bucket{le="+Inf"} 5
turn_seconds_sum 5.4
turn_seconds_count 5
turn_seconds_bucket{store="memory",le="5e-05"} 0
turn_seconds_bucket{store="memory",le="0.1"} 0
turn_seconds_bucket{store="memory",le="1"} 1
turn_seconds_bucket{store="memory",le="+Inf"} 1
turn_seconds_sum{store="memory"} 1
turn_seconds_count{store="memory"} 1
)");
}

TEST(Metrics, EscapeHelpAndLabelValues) {
  Metrics metrics;
  metrics.counter("a", "Say \"hi\",\nback\\slash.", {{"path", "C:\\dir\n\"x\" caf\xc3\xa9"}});
  metrics.counter("no_help", "");
  EXPECT_EQ(metrics.prometheus(),
            "# HELP a Say \"hi\",\\nback\\\\slash.\n"
            "# TYPE a counter\n"
            "a{path=\"C:\\\\dir\\n\\\"x\\\" caf\xc3\xa9\"} 0\n"
            "# TYPE no_help counter\n"
            "no_help 0\n");
}

TEST(Metrics, SpellNumbersAsTheFormatWantsThem) {
  Metrics metrics;
  metrics.counter("c", "", {}).add(std::numeric_limits<std::uint64_t>::max());
  metrics.gauge("g", "", {{"is", "inf"}}).set(std::numeric_limits<double>::infinity());
  metrics.gauge("g", "", {{"is", "less"}}).set(-std::numeric_limits<double>::infinity());
  metrics.gauge("g", "", {{"is", "nan"}}).set(-std::numeric_limits<double>::quiet_NaN());
  metrics.gauge("g", "", {{"is", "small"}}).set(-1e-300);
  EXPECT_EQ(metrics.prometheus(),
            "# TYPE c counter\n"
            "c 18446744073709551615\n"
            "# TYPE g gauge\n"
            "g{is=\"inf\"} +Inf\n"
            "g{is=\"less\"} -Inf\n"
            "g{is=\"nan\"} NaN\n"
            "g{is=\"small\"} -1e-300\n");
}

TEST(Metrics, GiveTheSameObjectForTheSameNameAndLabels) {
  Metrics metrics;
  Counter& counter = metrics.counter("c", "Help.", {{"a", "1"}, {"b", "2"}});
  EXPECT_EQ(&metrics.counter("c", "Help.", {{"b", "2"}, {"a", "1"}}), &counter);
  EXPECT_NE(&metrics.counter("c", "Help.", {{"a", "1"}}), &counter);
  EXPECT_EQ(&metrics.gauge("g", ""), &metrics.gauge("g", ""));
  EXPECT_EQ(&metrics.histogram("h", "", {1, 2}), &metrics.histogram("h", "", {1, 2}));
}

TEST(Metrics, KeepReferencesValidWhileOthersAreAdded) {
  Metrics metrics;
  Counter& counter = metrics.counter("c", "");
  for (int i = 0; i < 1000; ++i) metrics.counter("c", "", {{"n", std::to_string(i)}});
  for (int i = 0; i < 1000; ++i) metrics.gauge("g" + std::to_string(i), "");
  counter.add(3);
  EXPECT_EQ(metrics.counter("c", "").value(), 3U);
}

TEST(Metrics, RefuseAnotherMeaningForAKnownNameAndNameBoth) {
  Metrics metrics;
  metrics.counter("c", "Turns.");
  metrics.histogram("h", "Latency.", {0.1, 1});
  EXPECT_EQ(refusal([&] { metrics.gauge("c", "Turns.", {{"a", "1"}}); }),
            "metric 'c' is a counter with help \"Turns.\"; it can't be registered again as a gauge with help "
            "\"Turns.\"");
  EXPECT_EQ(
      refusal([&] { metrics.counter("c", "Other."); }),
      "metric 'c' is a counter with help \"Turns.\"; it can't be registered again as a counter with help "
      "\"Other.\"");
  EXPECT_EQ(
      refusal([&] { metrics.histogram("h", "Latency.", {0.1, 2}); }),
      "metric 'h' is a histogram with help \"Latency.\" and buckets 0.1, 1; it can't be registered again "
      "as a histogram with help \"Latency.\" and buckets 0.1, 2");
}

TEST(Metrics, RefuseNamesOutsideTheRule) {
  Metrics metrics;
  for (const char* name : {"", "1st", "a-b", "a b", "caf\xc3\xa9", "a{", "a\n"}) {
    EXPECT_THROW(metrics.counter(name, ""), std::invalid_argument) << name;
  }
  EXPECT_EQ(refusal([&] { metrics.gauge("a-b", ""); }), "metric name 'a-b' is not [a-zA-Z_:][a-zA-Z0-9_:]*");
  EXPECT_EQ(refusal([&] { metrics.gauge("g", "\xff"); }), "the help of metric 'g' is not UTF-8");
  EXPECT_EQ(metrics.prometheus(), "");
  EXPECT_NO_THROW(metrics.counter("job:_Turns:2_total", ""));
}

TEST(Metrics, RefuseLabelsOutsideTheRule) {
  Metrics metrics;
  for (const char* name : {"", "1st", "a-b", "a:b", "caf\xc3\xa9"}) {
    EXPECT_THROW(metrics.counter("c", "", {{name, "v"}}), std::invalid_argument) << name;
  }
  EXPECT_EQ(refusal([&] { metrics.counter("c", "", {{"a:b", "v"}}); }),
            "label 'a:b' of metric 'c' is not [a-zA-Z_][a-zA-Z0-9_]*");
  EXPECT_EQ(refusal([&] { metrics.counter("c", "", {{"__a", "v"}}); }),
            "label '__a' of metric 'c' begins with \"__\", which Prometheus keeps for itself");
  EXPECT_EQ(refusal([&] { metrics.counter("c", "", {{"a", "1"}, {"b", "2"}, {"a", "3"}}); }),
            "label 'a' of metric 'c' is given twice");
  EXPECT_EQ(refusal([&] { metrics.counter("c", "", {{"a", "\xc3"}}); }),
            "the value of label 'a' of metric 'c' is not UTF-8");
  EXPECT_EQ(refusal([&] { metrics.histogram("h", "", {1}, {{"le", "1"}}); }),
            "label 'le' of metric 'h' is the one that names its buckets");
  EXPECT_EQ(metrics.prometheus(), "");
  EXPECT_NO_THROW(metrics.counter("c", "", {{"le", ""}, {"_A1", "anything at all"}}));
}

TEST(Metrics, RefuseBucketsThatDoNotGrow) {
  Metrics metrics;
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const std::vector<double>& buckets :
       {std::vector<double>{}, {1, 1}, {2, 1}, {1, infinity}, {-infinity, 1}, {nan}, {1, nan, 2}}) {
    EXPECT_THROW(metrics.histogram("h", "", buckets), std::invalid_argument);
    EXPECT_THROW(Histogram{buckets}, std::invalid_argument);
  }
  EXPECT_EQ(metrics.prometheus(), "");
}

TEST(Metrics, RefuseNamesThatTheSeriesOfAHistogramHave) {
  Metrics metrics;
  metrics.histogram("h", "", {1});
  EXPECT_EQ(refusal([&] { metrics.counter("h_count", ""); }),
            "metric 'h_count' has the name of a series of histogram 'h'");
  metrics.counter("turns_sum", "");
  EXPECT_EQ(refusal([&] { metrics.histogram("turns", "", {1}); }),
            "histogram 'turns' would write the series of metric 'turns_sum'");
  EXPECT_NO_THROW(metrics.counter("turns", ""));
  EXPECT_NO_THROW(metrics.counter("turns_count", ""));
}

TEST(Histogram, CountsABoundInItsOwnBucketAndDropsNaN) {
  Histogram histogram({1, 2});
  for (const double value : {-5.0, 1.0, 1.5, 2.0, 2.5}) histogram.observe(value);
  histogram.observe(std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(histogram.counts(), (std::vector<std::uint64_t>{2, 2, 1}));
  EXPECT_EQ(histogram.sum(), 2.0);
}

TEST(Gauge, GoesUpAndDown) {
  Gauge gauge;
  gauge.set(5);
  gauge.add(2);
  gauge.add(-4);
  EXPECT_EQ(gauge.value(), 3.0);
}

TEST(LatencyBuckets, GrowFromFiftyMicrosecondsToAMinute) {
  const std::vector<double> buckets = latency_buckets();
  EXPECT_EQ(buckets.front(), 0.00005);
  EXPECT_EQ(buckets.back(), 60.0);
  EXPECT_NO_THROW(Histogram{buckets});
}

TEST(Metrics, LoseNoUpdateOfManyThreads) {
  Metrics metrics;
  constexpr int kRounds = 2000;
  run_in_four_threads([&metrics] {
    Counter& counter = metrics.counter("c", "");
    Gauge& gauge = metrics.gauge("g", "");
    Histogram& histogram = metrics.histogram("h", "", {1, 2});
    for (int i = 0; i < kRounds; ++i) {
      counter.add();
      gauge.add(1);
      histogram.observe(i % 3 + 1);
    }
  });
  EXPECT_EQ(metrics.counter("c", "").value(), 8000U);
  EXPECT_EQ(metrics.gauge("g", "").value(), 8000.0);
  const Histogram& histogram = metrics.histogram("h", "", {1, 2});
  EXPECT_EQ(histogram.counts(), (std::vector<std::uint64_t>{2668, 2668, 2664}));
  EXPECT_EQ(histogram.sum(), 4.0 * (667 * 1 + 667 * 2 + 666 * 3));
}

TEST(Metrics, RenderWhileThreadsRegisterAndUpdate) {
  Metrics metrics;
  run_in_four_threads([&metrics] {
    for (int i = 0; i < 50; ++i) {
      metrics.counter("c", "", {{"n", std::to_string(i)}}).add();
      metrics.histogram("h", "", {1}).observe(i);
      EXPECT_NE(metrics.prometheus().find("c{n=\"0\"}"), std::string::npos);
    }
  });
  for (int i = 0; i < 50; ++i) EXPECT_EQ(metrics.counter("c", "", {{"n", std::to_string(i)}}).value(), 4U);
}

}  // namespace
}  // namespace holdfast
