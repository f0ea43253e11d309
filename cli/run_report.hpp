// SPDX-License-Identifier: MIT
// The report of `tyto run`: as lines, or as one JSON object.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include <tyto/memory.hpp>
#include <tyto/tensor.hpp>

#include "cli/comparison.hpp"

namespace tyto::cli {

/// An output in figures, or in words where it is text; of one without elements there are none.
struct OutputSummary {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  struct Figures {
    double smallest, largest, mean;
  };
  std::optional<Figures> figures = {};
  std::optional<std::vector<std::string>> words = {};
};
OutputSummary summary_of(const std::string& name, const Tensor<Lazy>& value);
/// Summarises an output of text, whose elements are `words`.
OutputSummary summary_of_text(const std::string& name, const Shape& shape, std::vector<std::string> words);

/// Times of runs, in milliseconds.
struct RunTimes {
  double first = 0;  // result, reading and compiling included
  std::int64_t warm_up = 0;
  std::vector<double> runs = {};  // in ascending order

  /// The least that so many in a hundred do not exceed.
  double percentile(double hundredths) const;
};

struct RunReport {
  std::string model, device;
  std::vector<OutputSummary> outputs = {};
  std::vector<Comparison> comparisons = {};
  std::optional<RunTimes> times = {};
  const MemoryPlan* plan = nullptr;
};

void print_lines(std::ostream& out, const RunReport& report);
void print_json(std::ostream& out, const RunReport& report);

}  // namespace tyto::cli
