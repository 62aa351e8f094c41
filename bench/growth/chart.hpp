// Curves as SVG: a chart with axes, lines and a legend, as the text of a file that a browser shows. The same
// chart gives the same text. Colours follow the reader's choice of a light or a dark page.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::bench {

enum class Scale : std::uint8_t {
  linear,       ///< from 0 on
  logarithmic,  ///< in decades; on the x-axis 0 stands a decade before the smallest other value
};

struct Axis {
  std::string label{};  ///< with the unit: "latency (ms)"
  Scale scale = Scale::linear;
};

struct Point {
  double x = 0;
  double y = 0;
};

struct Line {
  std::string name{};
  std::vector<Point> points{};
};

/// A height that the lines are to be compared with, such as a target.
struct Mark {
  double y = 0;
  std::string label{};
};

struct Chart {
  std::string title{};
  Axis x{};
  Axis y{};
  std::vector<Line> lines{};  ///< in order of their colours, of which there are six
  std::vector<Mark> marks{};
};

std::string to_svg(const Chart& chart);

}  // namespace holdfast::bench
