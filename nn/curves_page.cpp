// SPDX-License-Identifier: MIT
// Curves as SVG in HTML, without scripts, fonts or pictures from elsewhere.
#include "nn/curves_page.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "core/value/text.hpp"

namespace tyto::nn {

namespace {

constexpr double chart_width = 560, chart_height = 240, margin_left = 64, margin_right = 12, margin_top = 10,
                 margin_bottom = 28;

constexpr const char* style = R"(
  body { font: 15px/1.5 system-ui, sans-serif; max-width: 1220px; margin: 2em auto; padding: 0 1em; }
  h2 { font-size: 1em; margin: 0; }
  .charts { display: flex; flex-wrap: wrap; gap: 1.5em 2em; }
  svg { display: block; }
  text { font-size: 12px; fill: #555; }
  .grid { stroke: #ddd; }
  .curve { fill: none; stroke: #1666a8; stroke-width: 1.8; }
  circle { fill: #1666a8; }
  table { border-collapse: collapse; margin-top: 2em; }
  th, td { padding: .15em .8em; text-align: right; border-bottom: 1px solid #ddd; }
)";

std::string escaped(const std::string& words) {
  std::string out;
  for (const char letter : words) {
    switch (letter) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += letter;
    }
  }
  return out;
}

std::string digits(double number, int significant = 5) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, number, std::chars_format::general, significant).ptr;
  return {buffer, end};
}

/// The numbers at which lines are drawn: 3 to 6 multiples of 1, 2 or 5 times a power of ten.
std::vector<double> ticks(double low, double high) {
  const double rough = (high - low) / 4;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {5.0, 2.0, 1.0}) {
    if (factor * power >= rough * 0.75) step = factor * power;
  }
  std::vector<double> list;
  for (double at = std::ceil(low / step) * step; at <= high + step * 1e-6; at += step) {
    list.push_back(std::abs(at) < step * 1e-6 ? 0 : at);
  }
  return list;
}

struct Point {
  double x;
  double y;
};

/// The smallest and largest of the points along an axis, moved apart where they meet.
std::pair<double, double> range_of(const std::vector<Point>& points, double Point::*axis) {
  double low = points[0].*axis, high = low;
  for (const Point& point : points) {
    low = std::min(low, point.*axis);
    high = std::max(high, point.*axis);
  }
  if (high - low < 1e-12 * std::max(std::abs(low), 1.0)) {
    low -= 0.5;
    high += 0.5;
  }
  return {low, high};
}

std::string chart(const std::string& name, const std::vector<Point>& points) {
  std::string out = core::text("<section><h2>", escaped(name), "</h2>\n<svg width=\"", chart_width, "\" height=\"",
                               chart_height, "\" role=\"img\" aria-label=\"", escaped(name), "\">\n");
  if (!points.empty()) {
    const auto [left, right] = range_of(points, &Point::x);
    const auto [low, high] = range_of(points, &Point::y);
    const auto across = [first = left, last = right](double x) {
      return margin_left + (x - first) / (last - first) * (chart_width - margin_left - margin_right);
    };
    const auto down = [least = low, most = high](double y) {
      return chart_height - margin_bottom - (y - least) / (most - least) * (chart_height - margin_top - margin_bottom);
    };
    for (const double y : ticks(low, high)) {
      out += core::text("<line class=\"grid\" x1=\"", margin_left, "\" x2=\"", chart_width - margin_right, "\" y1=\"",
                        digits(down(y)), "\" y2=\"", digits(down(y)), "\"/><text x=\"", margin_left - 8, "\" y=\"",
                        digits(down(y) + 4), "\" text-anchor=\"end\">", digits(y), "</text>\n");
    }
    for (const double x : ticks(left, right)) {
      out += core::text("<text x=\"", digits(across(x)), "\" y=\"", chart_height - 8, "\" text-anchor=\"middle\">",
                        digits(x), "</text>\n");
    }
    out += "<polyline class=\"curve\" points=\"";
    for (const Point& point : points) out += core::text(digits(across(point.x)), ",", digits(down(point.y)), " ");
    out += "\"/>\n";
    for (const Point& point : points) {
      out += core::text("<circle cx=\"", digits(across(point.x)), "\" cy=\"", digits(down(point.y)),
                        "\" r=\"2.5\"><title>", "step ", digits(point.x, 12), ": ", digits(point.y, 7),
                        "</title></circle>\n");
    }
  }
  return out + "</svg></section>\n";
}

std::string table(const std::vector<TrainingHistory::Row>& rows) {
  std::string out = "<table><tr><th>epoch</th><th>step</th>";
  for (const Named<double>& figure : rows[0].figures) out += "<th>" + escaped(figure.name) + "</th>";
  out += "</tr>\n";
  for (const TrainingHistory::Row& row : rows) {
    out += core::text("<tr><td>", row.epoch, "</td><td>", row.step, "</td>");
    for (const Named<double>& figure : row.figures) out += "<td>" + digits(figure.value) + "</td>";
    out += "</tr>\n";
  }
  return out + "</table>\n";
}

}  // namespace

std::string curves_page(const std::string& title, const std::vector<TrainingHistory::Row>& rows) {
  std::string out = core::text("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>",
                               escaped(title), "</title><style>", style, "</style></head>\n<body><h1>", escaped(title),
                               "</h1>\n<div class=\"charts\">\n");
  if (rows.empty()) return out + "</div></body></html>\n";
  for (std::size_t figure = 0; figure < rows[0].figures.size(); ++figure) {
    std::vector<Point> points;
    for (const TrainingHistory::Row& row : rows) {
      const double value = row.figures[figure].value;
      if (std::isfinite(value)) points.push_back({static_cast<double>(row.step), value});
    }
    out += chart(rows[0].figures[figure].name, points);
  }
  return out + "</div>\n" + table(rows) + "</body></html>\n";
}

}  // namespace tyto::nn
