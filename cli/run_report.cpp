// SPDX-License-Identifier: MIT
// The report of `tyto run` as lines and as JSON, with the same contents.
#include "cli/run_report.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <ostream>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include <tyto/graph.hpp>
#include <tyto/reduce.hpp>
#include <tyto/shaping.hpp>

namespace tyto::cli {

namespace {

using nlohmann::ordered_json;

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::vector<std::int64_t> lengths_of(const Shape& shape) { return {shape.begin(), shape.end()}; }

std::string_view type_of(const OutputSummary& output) { return output.words ? "string" : name_of(output.dtype); }

/// The first words in quotes, as JSON writes them, so that a word of several lines stays on one.
void print_words(std::ostream& out, const std::vector<std::string>& words) {
  constexpr std::size_t most = 10;
  for (std::size_t i = 0; i < std::min(words.size(), most); ++i) {
    out << (i == 0 ? "  " : ", ")
        << ordered_json(words[i]).dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  }
  if (words.size() > most) out << " and " << words.size() - most << " more";
}

ordered_json json_of(const OutputSummary& output) {
  ordered_json json{{"name", output.name}, {"dtype", type_of(output)}, {"shape", lengths_of(output.shape)}};
  if (output.words) json["words"] = *output.words;
  if (output.figures) {
    json["smallest"] = output.figures->smallest;
    json["largest"] = output.figures->largest;
    json["mean"] = output.figures->mean;
  }
  return json;
}

ordered_json json_of(const Comparison& comparison) {
  ordered_json json{{"name", comparison.name}, {"agrees", comparison.agrees()}};
  if (!comparison.other_kind.empty()) {
    json["reason"] = comparison.other_kind;
    return json;
  }
  json["elements"] = comparison.elements;
  json["differing"] = comparison.differing;
  json["largest_difference"] = comparison.largest;
  if (!comparison.agrees()) {
    json["worst"] = {{"index", lengths_of(comparison.place)},
                     {"value", comparison.value},
                     {"expected", comparison.expected},
                     {"allowed", comparison.allowed}};
  }
  return json;
}

ordered_json json_of(const RunTimes& times) {
  ordered_json json{{"first", times.first}, {"warm_up", times.warm_up}, {"runs", times.runs.size()}};
  json["shortest"] = times.runs.front();
  json["median"] = times.percentile(50);
  json["percentile_90"] = times.percentile(90);
  json["percentile_99"] = times.percentile(99);
  json["longest"] = times.runs.back();
  json["mean"] = mean_of(times.runs);
  return json;
}

}  // namespace

OutputSummary summary_of(const std::string& name, const Tensor<Lazy>& value) {
  OutputSummary summary{name, value.dtype(), value.shape()};
  if (value.size() > 0) {
    const Tensor<Lazy> numbers = cast(value, DType::f64);
    summary.figures = {numbers.min().item<double>(), numbers.max().item<double>(), numbers.mean().item<double>()};
  }
  return summary;
}

OutputSummary summary_of_text(const std::string& name, const Shape& shape, std::vector<std::string> words) {
  return {.name = name, .shape = shape, .words = std::move(words)};
}

double RunTimes::percentile(double hundredths) const {
  const auto rank = static_cast<std::size_t>(std::ceil(hundredths / 100 * static_cast<double>(runs.size())));
  return runs[std::clamp<std::size_t>(rank, 1, runs.size()) - 1];
}

void print_lines(std::ostream& out, const RunReport& report) {
  for (const OutputSummary& output : report.outputs) {
    out << output.name << " " << type_of(output) << " " << to_string(output.shape);
    if (output.words) print_words(out, *output.words);
    if (const auto& figures = output.figures) {
      out << "  smallest " << figures->smallest << ", largest " << figures->largest << ", mean " << figures->mean;
    }
    out << "\n";
  }
  for (const Comparison& comparison : report.comparisons) {
    if (comparison.agrees()) out << in_words(comparison) << "\n";
  }
  if (const auto& times = report.times) {
    out << "first result, reading and compiling included: " << times->first << " ms\n"
        << "time of " << times->runs.size() << " runs: shortest " << times->runs.front() << " ms, median "
        << times->percentile(50) << ", 90 % within " << times->percentile(90) << ", 99 % within "
        << times->percentile(99) << ", longest " << times->runs.back() << "\n";
  }
  if (report.plan != nullptr) out << *report.plan;
}

void print_json(std::ostream& out, const RunReport& report) {
  ordered_json json{{"model", report.model}, {"device", report.device}, {"outputs", ordered_json::array()}};
  for (const OutputSummary& output : report.outputs) json["outputs"].push_back(json_of(output));
  if (!report.comparisons.empty()) json["expected"] = ordered_json::array();
  for (const Comparison& comparison : report.comparisons) json["expected"].push_back(json_of(comparison));
  if (report.times) json["milliseconds"] = json_of(*report.times);
  if (report.plan != nullptr) {
    json["memory"] = {
        {"peak", report.plan->height}, {"bound", report.plan->bound}, {"without_reuse", report.plan->naive}};
  }
  out << json.dump(-1, ' ', false, ordered_json::error_handler_t::replace) << "\n";
}

}  // namespace tyto::cli
