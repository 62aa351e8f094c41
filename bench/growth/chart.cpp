#include "bench/growth/chart.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string_view>

namespace holdfast::bench {

namespace {

// The canvas, and on it the field between the axes. Its top is below the legend.
constexpr double kWidth = 640;
constexpr double kHeight = 380;
constexpr double kLeft = 76;
constexpr double kRight = kWidth - 36;
constexpr double kBottom = kHeight - 52;

constexpr std::size_t kColours = 6;
// With more points than this on a line, dots would hide it.
constexpr std::size_t kMostDots = 24;
// About how wide a letter is.
constexpr double kLetter = 6.6;

// The page behind the chart has a colour of its own, so the chart brings its background. The colours of lines
// can be told apart by people who see few of them; lines differ in their dashes, too.
constexpr std::string_view kStyle = R"(<style>
.back { fill: #ffffff } .grid { stroke: #e3e5e8 } .axis { stroke: #6b7280 } .mark { stroke: #6b7280; stroke-dasharray: 2 4 }
text { fill: #24292f; font: 12px system-ui, sans-serif } .title { font-size: 14px; font-weight: 600 } .small { font-size: 11px; fill: #57606a }
.line { fill: none; stroke-width: 2; stroke-linejoin: round }
.c0 { color: #0067a5 } .c1 { color: #c94f00 } .c2 { color: #007a5a } .c3 { color: #a8457d } .c4 { color: #7a6000 } .c5 { color: #555b63 }
.line { stroke: currentColor } .dot { fill: currentColor }
.c1 .line { stroke-dasharray: 7 3 } .c2 .line { stroke-dasharray: 2 3 } .c3 .line { stroke-dasharray: 9 3 2 3 } .c4 .line { stroke-dasharray: 4 4 } .c5 .line { stroke-dasharray: 12 3 }
@media (prefers-color-scheme: dark) {
.back { fill: #14171c } .grid { stroke: #2b3038 } .axis, .mark { stroke: #8b949e } text { fill: #e6edf3 } .small { fill: #9da7b3 }
.c0 { color: #58b0f0 } .c1 { color: #ff9a57 } .c2 { color: #3fcf9f } .c3 { color: #e58bbd } .c4 { color: #e3c044 } .c5 { color: #b6bec8 }
}
</style>
)";

std::string escaped(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

// A place on the canvas.
std::string at(double pixels) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", pixels);
  return text;
}

// The number at a tick: 0.5, 20, 1,000,000.
std::string tick_label(double value) {
  char text[32];
  std::snprintf(text, sizeof text, value < 10 ? "%.3g" : "%.0f", value);
  std::string label = text;
  if (value < 1000) return label;
  for (std::size_t end = label.size(); end > 3;) label.insert(end -= 3, ",");
  return label;
}

/// From the values on an axis to places on the canvas.
class Ruler {
 public:
  Ruler(Scale scale, std::vector<double> values, double from, double to)
      : scale_(scale), from_(from), to_(to) {
    std::erase_if(values, [&](double value) { return scale == Scale::logarithmic && value <= 0; });
    if (values.empty()) values = {1};
    const auto [least, most] = std::ranges::minmax(values);
    scale == Scale::linear ? make_linear(most) : make_logarithmic(least, most);
  }

  /// Makes room for 0, which has no logarithm.
  void place_zero() {
    if (scale_ == Scale::linear) return;
    low_ -= 1;
    ticks_.insert(ticks_.begin(), 0);
  }

  [[nodiscard]] const std::vector<double>& ticks() const noexcept { return ticks_; }
  [[nodiscard]] double place(double value) const {
    double height = value;
    if (scale_ == Scale::logarithmic) height = value > 0 ? std::max(std::log10(value), low_) : low_;
    return from_ + (height - low_) / (high_ - low_) * (to_ - from_);
  }

 private:
  // Four to eight ticks at round numbers.
  void make_linear(double most) {
    if (most <= 0) most = 1;
    const double decade = std::pow(10, std::floor(std::log10(most)));
    double step = decade / 5;
    for (const double larger : {decade / 2, decade, 2 * decade}) {
      if (most / step > 8) step = larger;
    }
    // What is a hair above a tick needs no further one: the last second ends a little late.
    const auto count = static_cast<int>(std::ceil(most / step - 0.02));
    for (int i = 0; i <= count; ++i) ticks_.push_back(i * step);
    high_ = ticks_.back();
  }
  void make_logarithmic(double least, double most) {
    low_ = std::floor(std::log10(least) + 1e-9);
    high_ = std::max(std::ceil(std::log10(most) - 1e-9), low_ + 1);
    for (double decade = low_; decade <= high_; ++decade) ticks_.push_back(std::pow(10, decade));
  }

  Scale scale_;
  double from_;
  double to_;
  double low_ = 0;
  double high_ = 1;
  std::vector<double> ticks_;
};

std::string text_at(double x, double y, std::string_view anchor, std::string_view kind,
                    std::string_view text) {
  return "<text x=\"" + at(x) + "\" y=\"" + at(y) + "\" text-anchor=\"" + std::string(anchor) +
         "\" class=\"" + std::string(kind) + "\">" + escaped(text) + "</text>\n";
}

std::string stroke(std::string_view kind, double x1, double y1, double x2, double y2) {
  return "<line class=\"" + std::string(kind) + "\" x1=\"" + at(x1) + "\" y1=\"" + at(y1) + "\" x2=\"" +
         at(x2) + "\" y2=\"" + at(y2) + "\"/>\n";
}

struct Legend {
  std::string svg{};
  double bottom = 46;
};
Legend make_legend(const std::vector<Line>& lines) {
  Legend legend;
  double x = kLeft;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const double width = 34 + kLetter * static_cast<double>(lines[i].name.size());
    if (x > kLeft && x + width > kWidth) {
      x = kLeft;
      legend.bottom += 20;
    }
    const double y = legend.bottom;
    legend.svg += "<g class=\"c" + std::to_string(i % kColours) + "\">" + stroke("line", x, y, x + 28, y) +
                  "</g>\n" + text_at(x + 34, y + 4, "start", "", lines[i].name);
    x += width + 18;
  }
  return legend;
}

std::string curve(const Line& line, std::size_t colour, const Ruler& x, const Ruler& y) {
  std::string places;
  std::string dots;
  for (const Point& point : line.points) {
    const std::string px = at(x.place(point.x));
    const std::string py = at(y.place(point.y));
    places += (places.empty() ? "" : " ") + px + "," + py;
    if (line.points.size() <= kMostDots) {
      dots += "<circle class=\"dot\" cx=\"" + px + "\" cy=\"" + py + "\" r=\"3\"/>\n";
    }
  }
  return "<g class=\"c" + std::to_string(colour % kColours) + "\">\n<polyline class=\"line\" points=\"" +
         places + "\"/>\n" + dots + "</g>\n";
}

std::string axes(const Chart& chart, const Ruler& x, const Ruler& y, double top) {
  std::string svg;
  for (const double tick : y.ticks()) {
    svg += stroke("grid", kLeft, y.place(tick), kRight, y.place(tick)) +
           text_at(kLeft - 8, y.place(tick) + 4, "end", "small", tick_label(tick));
  }
  for (const double tick : x.ticks()) {
    svg += stroke("axis", x.place(tick), kBottom, x.place(tick), kBottom + 5) +
           text_at(x.place(tick), kBottom + 19, "middle", "small", tick_label(tick));
  }
  const std::string middle = at((top + kBottom) / 2);
  return svg + stroke("axis", kLeft, kBottom, kRight, kBottom) +
         text_at((kLeft + kRight) / 2, kHeight - 12, "middle", "", chart.x.label) +
         "<text transform=\"translate(18 " + middle + ") rotate(-90)\" text-anchor=\"middle\">" +
         escaped(chart.y.label) + "</text>\n";
}

}  // namespace

std::string to_svg(const Chart& chart) {
  std::vector<double> xs;
  std::vector<double> ys;
  for (const Line& line : chart.lines) {
    for (const Point& point : line.points) {
      xs.push_back(point.x);
      ys.push_back(point.y);
    }
  }
  for (const Mark& mark : chart.marks) ys.push_back(mark.y);
  Ruler x(chart.x.scale, xs, kLeft, kRight);
  if (std::ranges::count(xs, 0) > 0) x.place_zero();
  const Legend legend = make_legend(chart.lines);
  const double top = legend.bottom + 20;
  const Ruler y(chart.y.scale, ys, kBottom, top);

  const std::string size = "width=\"" + tick_label(kWidth) + "\" height=\"" + tick_label(kHeight) + "\"";
  std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + tick_label(kWidth) + " " +
                    tick_label(kHeight) + "\" " + size + " role=\"img\">\n<title>" + escaped(chart.title) +
                    "</title>\n" + std::string(kStyle) + "<rect class=\"back\" " + size + " rx=\"6\"/>\n" +
                    text_at(kLeft, 24, "start", "title", chart.title) + legend.svg + axes(chart, x, y, top);
  for (const Mark& mark : chart.marks) {
    const double height = y.place(mark.y);
    const double text = height < top + 16 ? height + 14 : height - 5;  // not in the legend
    svg += stroke("mark", kLeft, height, kRight, height) +
           text_at(kLeft + 6, text, "start", "small", mark.label);
  }
  for (std::size_t i = 0; i < chart.lines.size(); ++i) svg += curve(chart.lines[i], i, x, y);
  return svg + "</svg>\n";
}

}  // namespace holdfast::bench
