// SPDX-License-Identifier: MIT
// Counts, prints and exports profiles.
#include "engine/show/profile.hpp"

#include <algorithm>
#include <iomanip>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>

#include "core/graph/op_ids.hpp"
#include "optimiser/storage/storages.hpp"

namespace tyto::run {

namespace {

std::int64_t elements_of(const core::Graph& graph, core::Port port) { return element_count(graph.type(port).shape); }

/// Sums a count over a region's nodes, times the runs of the region: once for a loop whose count is not known, the
/// costliest arm for a branch.
template <class F>
std::int64_t count_in_regions(const core::Attributes& attributes, const F& count) {
  std::int64_t most = 0;
  for (const core::Region& region : core::regions_of(attributes)) {
    std::int64_t sum = 0;
    for (const core::GraphNode& node : region.graph().nodes()) {
      if (!core::definition(node.op).is(core::Traits::leaf)) sum += count(region.graph(), node);
    }
    most = std::max(most, sum);
  }
  const auto* loop = std::get_if<core::IterationAttributes>(&attributes);
  std::int64_t all = most;
  const bool known = loop != nullptr && loop->trips >= 0 && !__builtin_mul_overflow(most, loop->trips, &all);
  return known ? all : most;
}

std::int64_t multiply_adds_of(const core::Graph& graph, const core::GraphNode& node) {
  const auto inputs = graph.inputs_of(node);
  const std::int64_t results = elements_of(graph, node.first_result);
  switch (node.op) {
    case core::OpId::matmul:
    case core::OpId::quantised_matmul:
    case core::OpId::matmul_epilogue: return results * graph.type(inputs[0]).shape.back();
    // Per element of the result: the kernel's window times the channels that one group reads.
    case core::OpId::convolution:
    case core::OpId::convolution_epilogue: {
      const auto* product = std::get_if<core::ProductAttributes>(&graph.attributes(node));
      const Shape& kernel = product != nullptr && product->packed ? product->weights : graph.type(inputs[1]).shape;
      return kernel.back() == 0 ? 0 : results * (element_count(kernel) / kernel.back());
    }
    // The number of the forward operator's products: one for each element of g and of a kernel's slice.
    case core::OpId::convolution_input_gradient: {
      const Shape& kernel = graph.type(inputs[1]).shape;
      return kernel.back() == 0 ? 0 : elements_of(graph, inputs[0]) * (element_count(kernel) / kernel.back());
    }
    case core::OpId::convolution_kernel_gradient: {
      const Shape& kernel = graph.type(node.first_result).shape;
      return kernel.back() == 0 ? 0 : elements_of(graph, inputs[1]) * (element_count(kernel) / kernel.back());
    }
    // Scores, and sums of values; the gradient computes the scores again and four products more.
    case core::OpId::attention:
    case core::OpId::attention_gradient: {
      const Shape& keys = graph.type(inputs[1]).shape;
      const std::int64_t length = keys[keys.size() - 2], of_queries = length * elements_of(graph, inputs[0]);
      return node.op == core::OpId::attention ? of_queries + length * results
                                              : 3 * of_queries + 2 * length * elements_of(graph, inputs[5]);
    }
    case core::OpId::branch:
    case core::OpId::loop: return count_in_regions(graph.attributes(node), multiply_adds_of);
    default: return 0;
  }
}

// Multiplications and additions of the sums of products; for everything else one operation an element.
std::int64_t operations_of(const core::Graph& graph, const core::GraphNode& node) {
  if (node.op == core::OpId::branch || node.op == core::OpId::loop) {
    return count_in_regions(graph.attributes(node), operations_of);
  }
  if (const std::int64_t products = multiply_adds_of(graph, node); products != 0) return 2 * products;
  std::int64_t most = elements_of(graph, node.first_result);
  for (const core::Port input : graph.inputs_of(node)) most = std::max(most, elements_of(graph, input));
  return most;
}

}  // namespace

GraphProfile profile_of(const Executable& executable, std::span<const double> milliseconds, double whole) {
  const core::Graph& graph = executable.graph();
  GraphProfile profile;
  profile.milliseconds = whole;
  for (std::size_t i = 0; i < executable.steps().size(); ++i) {
    const ExecutableStep& step = executable.steps()[i];
    const core::GraphNode& node = graph.nodes()[step.node];
    StepProfile row{step.name, node.label ? *node.label : std::string(), core::members_of(graph, node),
                    milliseconds[i]};
    if (core::definition(node.op).name != step.name) {
      // Steps that the executable adds to a node (copies, transfers) read as many bytes as they write, densely.
      const std::uint32_t written = executable.operands()[step.first_operand + step.input_count];
      row.bytes = 2 * static_cast<std::int64_t>(executable.storages()[written].bytes);
    } else {
      for (std::uint32_t r = 0; r < node.result_count; ++r) {
        row.bytes += static_cast<std::int64_t>(optimiser::bytes_of(graph, node.first_result + r));
      }
      for (const core::Port input : graph.inputs_of(node)) {
        row.bytes += elements_of(graph, input) * static_cast<std::int64_t>(size_of(graph.type(input).dtype));
      }
      row.operations = operations_of(graph, node);
      row.multiply_adds = multiply_adds_of(graph, node);
    }
    profile.steps.push_back(std::move(row));
  }
  return profile;
}

}  // namespace tyto::run

namespace tyto TYTO_API {

namespace {

std::string named(const StepProfile& step) { return step.members.empty() ? step.name : step.name + " " + step.members; }

constexpr std::string_view gradient_mark = "gradient of ";

/// The layer of a label, and whether the step is part of a gradient.
std::pair<std::string, bool> layer_of(const std::string& label) {
  const std::size_t mark = label.find(gradient_mark);
  if (mark == std::string::npos) return {label, false};
  return {label.substr(0, mark == 0 ? 0 : mark - 1), true};
}

void write_layers(std::ostream& text, const GraphProfile& profile) {
  struct Sum {
    double forward = 0, gradient = 0;
    int steps = 0;
    double all() const { return forward + gradient; }
  };
  std::map<std::string, Sum> sums;
  for (const StepProfile& step : profile.steps) {
    const auto [layer, is_gradient] = layer_of(step.label);
    Sum& sum = sums[layer];
    (is_gradient ? sum.gradient : sum.forward) += step.milliseconds;
    ++sum.steps;
  }
  if (sums.size() < 2 && sums.contains("")) return;
  std::vector<std::pair<std::string, Sum>> rows(sums.begin(), sums.end());
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.second.all() > b.second.all(); });
  text << "        us      %   steps   forward  gradient  layer\n";
  for (const auto& [layer, sum] : rows) {
    const double share = profile.milliseconds > 0 ? 100 * sum.all() / profile.milliseconds : 0;
    text << std::setw(10) << std::setprecision(2) << sum.all() * 1000 << std::setw(7) << std::setprecision(1) << share
         << std::setw(8) << sum.steps << std::setprecision(2) << std::setw(10) << sum.forward * 1000 << std::setw(10)
         << sum.gradient * 1000 << "  " << (layer.empty() ? "(no layer)" : layer) << "\n";
  }
}

}  // namespace

std::string GraphProfile::chrome_trace() const {
  nlohmann::ordered_json events = nlohmann::ordered_json::array();
  double start = 0;
  for (const StepProfile& step : steps) {
    events.push_back({{"name", named(step)},
                      {"cat", step.label.empty() ? "step" : step.label},
                      {"ph", "X"},
                      {"ts", start * 1000},
                      {"dur", step.milliseconds * 1000},
                      {"pid", 1},
                      {"tid", 1},
                      {"args", {{"label", step.label}, {"bytes", step.bytes}, {"operations", step.operations}}}});
    start += step.milliseconds;
  }
  return nlohmann::ordered_json{{"traceEvents", events}, {"displayTimeUnit", "ms"}}.dump(
      -1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::ostream& operator<<(std::ostream& out, const GraphProfile& profile) {
  struct Sum {
    double milliseconds = 0;
    std::int64_t bytes = 0;
    std::int64_t operations = 0;
    int steps = 0;
  };
  std::map<std::string, Sum> sums;
  for (const StepProfile& step : profile.steps) {
    Sum& sum = sums[named(step)];
    sum.milliseconds += step.milliseconds;
    sum.bytes += step.bytes;
    sum.operations += step.operations;
    ++sum.steps;
  }
  std::vector<std::pair<std::string, Sum>> rows(sums.begin(), sums.end());
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.second.milliseconds > b.second.milliseconds; });
  std::ostringstream text;
  text << std::fixed << "run: " << std::setprecision(2) << profile.milliseconds * 1000 << " us in "
       << profile.steps.size() << " steps\n"
       << "        us      %   steps     GB/s    Gop/s  operator\n";
  for (const auto& [name, sum] : rows) {
    const double seconds = sum.milliseconds / 1000;
    const double share = profile.milliseconds > 0 ? 100 * sum.milliseconds / profile.milliseconds : 0;
    const auto rate = [&](std::int64_t amount) {
      return seconds > 0 ? static_cast<double>(amount) / seconds / 1e9 : 0.0;
    };
    text << std::setw(10) << std::setprecision(2) << sum.milliseconds * 1000 << std::setw(7) << std::setprecision(1)
         << share << std::setw(8) << sum.steps << std::setw(9) << rate(sum.bytes) << std::setw(9)
         << rate(sum.operations) << "  " << name << "\n";
  }
  write_layers(text, profile);
  return out << text.str();
}

}  // namespace TYTO_API
