// SPDX-License-Identifier: MIT
// Prints a plan: the summary on a stream, and the heap map as an SVG picture.
#include <algorithm>
#include <cstdio>
#include <ostream>
#include <string>

#include <tyto/memory.hpp>

#include "core/value/text.hpp"
#include "optimiser/memory/problem.hpp"

namespace tyto TYTO_API {
namespace {

std::string in_words(std::int64_t bytes) { return core::bytes_in_words(static_cast<std::uint64_t>(bytes)); }

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", value);
  return text;
}

std::string escaped(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '&': safe += "&amp;"; break;
      case '<': safe += "&lt;"; break;
      case '>': safe += "&gt;"; break;
      case '"': safe += "&quot;"; break;
      default:
        // Control characters are not allowed in XML, not even escaped.
        if (static_cast<unsigned char>(c) >= 0x20 || c == '\t' || c == '\n') safe += c;
    }
  }
  return safe;
}

constexpr double width = 1000;
constexpr double height = 500;
constexpr double margin = 40;

}  // namespace

std::ostream& operator<<(std::ostream& out, const MemoryPlan& plan) {
  out << "memory plan: " << plan.height << " bytes (" << in_words(plan.height) << ")";
  if (plan.arena_heights.size() > 1) out << " in " << plan.arena_heights.size() << " arenas";
  out << ", by " << (plan.strategy.empty() ? "unknown" : plan.strategy) << " in " << number(plan.milliseconds)
      << " ms\n";
  out << "  lower bound " << plan.bound << " bytes, ratio " << number(plan.ratio())
      << (plan.proven_optimal ? ", proven optimal" : "") << "\n";
  out << "  without reuse " << plan.naive << " bytes (" << in_words(plan.naive) << ")\n";
  if (!plan.top_at_peak.empty()) {
    out << "  largest at step " << plan.peak_step << ":\n";
    for (const PeakBlock& consumer : plan.top_at_peak) {
      out << "    " << in_words(consumer.size) << "  " << consumer.label << "\n";
    }
  }
  return out;
}

std::string memory_map_svg(std::span<const Block> blocks, const MemoryPlan& plan) {
  if (plan.offsets.size() != blocks.size()) {
    core::throw_error<ValueError>("memory_map_svg: the plan is of ", plan.offsets.size(), " blocks, not of ",
                                  blocks.size());
  }
  double begin = 0;
  double end = 1;
  bool any = false;
  for (const Block& block : blocks) {
    if (block.size == 0 || block.lower == block.upper) continue;
    const double lower = static_cast<double>(block.lower);
    const double upper = static_cast<double>(block.upper);
    begin = any ? std::min(begin, lower) : lower;
    end = any ? std::max(end, upper) : upper;
    any = true;
  }
  // Arenas lie one above the other, each from its own zero.
  std::vector<double> base{0};
  for (const std::int64_t arena : plan.arena_heights) base.push_back(base.back() + static_cast<double>(arena));
  const double top = std::max(base.back(), 1.0);
  const auto x = [&](double step) { return margin + (step - begin) / (end - begin) * width; };
  const auto y = [&](double address) { return margin + (1 - address / top) * height; };

  std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + number(width + 2 * margin) + " " +
                    number(height + 2 * margin) + "\" font-family=\"sans-serif\" font-size=\"12\">\n";
  svg += "<title>" + std::to_string(plan.height) + " bytes by " + escaped(plan.strategy) + "</title>\n";
  svg += "<rect x=\"" + number(margin) + "\" y=\"" + number(margin) + "\" width=\"" + number(width) + "\" height=\"" +
         number(height) + "\" fill=\"#f4f4f4\"/>\n";
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const Block& block = blocks[i];
    if (block.size == 0 || block.lower == block.upper) continue;
    const std::size_t arena = plan.arenas.empty() ? 0 : static_cast<std::size_t>(plan.arenas[i]);
    const double bottom = base[arena] + static_cast<double>(plan.offsets[i]);
    const double upper = y(bottom + static_cast<double>(block.size));
    // The golden angle keeps neighbours in number apart in colour.
    const double hue = static_cast<double>((i * 137508) % 360000) / 1000;
    std::string steps;
    memory::for_each_span(block, [&](std::int64_t first, std::int64_t last) {
      steps += (steps.empty() ? ", steps " : ", ") + std::to_string(first) + " to " + std::to_string(last);
    });
    // One rectangle a span: what lies in a hole of another block shows there.
    memory::for_each_span(block, [&](std::int64_t first, std::int64_t last) {
      const double left = x(static_cast<double>(first));
      svg += "<rect x=\"" + number(left) + "\" y=\"" + number(upper) + "\" width=\"" +
             number(x(static_cast<double>(last)) - left) + "\" height=\"" + number(y(bottom) - upper) +
             "\" fill=\"hsl(" + number(hue) + ",60%,70%)\" stroke=\"#333\" stroke-width=\"0.3\"><title>" +
             (block.label.empty() ? "block " + std::to_string(block.id) : escaped(block.label)) + ": " +
             std::to_string(block.size) + " bytes at " + std::to_string(plan.offsets[i]) +
             (plan.arenas.empty() ? "" : " of arena " + std::to_string(arena)) + steps + "</title></rect>\n";
    });
  }
  for (std::size_t arena = 1; arena + 1 < base.size(); ++arena) {
    svg += "<line x1=\"" + number(margin) + "\" x2=\"" + number(margin + width) + "\" y1=\"" + number(y(base[arena])) +
           "\" y2=\"" + number(y(base[arena])) + "\" stroke=\"#000\"/>\n";
  }
  if (plan.arena_heights.size() <= 1 && plan.bound > 0 && static_cast<double>(plan.bound) <= top) {
    const double level = y(static_cast<double>(plan.bound));
    svg += "<line x1=\"" + number(margin) + "\" x2=\"" + number(margin + width) + "\" y1=\"" + number(level) +
           "\" y2=\"" + number(level) +
           "\" stroke=\"#c00\" stroke-dasharray=\"6 4\"><title>lower bound: " + std::to_string(plan.bound) +
           " bytes</title></line>\n";
  }
  svg += "<text x=\"" + number(margin) + "\" y=\"" + number(margin - 10) + "\">" + in_words(plan.height) + ", " +
         number(plan.ratio()) + " of the lower bound, by " + escaped(plan.strategy) + "</text>\n";
  svg += "<text x=\"" + number(margin + width) + "\" y=\"" + number(margin + height + 20) +
         "\" text-anchor=\"end\">steps, address upwards</text>\n</svg>\n";
  return svg;
}

}  // namespace TYTO_API
