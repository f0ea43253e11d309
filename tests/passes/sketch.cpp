// SPDX-License-Identifier: MIT
// Builds, runs and compares the graphs of pass tests.
#include "tests/passes/sketch.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/graph/op_ids.hpp"
#include "core/value/element_types.hpp"
#include "engine/prepare/graph_passes.hpp"
#include "engine/run/devices.hpp"
#include "engine/run/session.hpp"
#include "tyto/tensor.hpp"

namespace tyto::testing {

namespace {

core::Array array_of(const std::vector<double>& values, const Shape& shape, DType dtype) {
  if (is_complex(dtype)) {
    // Each value as real part, the next one as imaginary part.
    std::vector<double> parts;
    for (std::size_t i = 0; i < values.size(); ++i) {
      parts.push_back(values[i]);
      parts.push_back(values[(i + 1) % values.size()]);
    }
    core::Array array = array_of(parts, {static_cast<std::int64_t>(parts.size())}, real_type(dtype));
    array.dtype = dtype;
    array.view = core::View::dense(shape);
    return array;
  }
  core::Array array{run::cpu_device().allocate(values.size() * size_of(dtype) + 1), dtype, core::View::dense(shape)};
  std::byte* out = static_cast<std::byte*>(array.buffer->memory());
  core::with_element_type(dtype, [&]<class E>() {
    for (const double value : values) {
      const E element = core::element_from<E>(value);
      std::memcpy(out, &element, sizeof element);
      out += sizeof element;
    }
  });
  return array;
}

std::vector<double> contents_of(const core::Array& array) {
  std::vector<double> values;
  const auto count = static_cast<std::size_t>(array.view.count()) * (is_complex(array.dtype) ? 2 : 1);
  const std::byte* in = static_cast<const std::byte*>(array.buffer->memory()) +
                        array.view.offset * static_cast<std::int64_t>(size_of(array.dtype));
  core::with_element_type(real_type(array.dtype), [&]<class E>() {
    for (std::size_t i = 0; i < count; ++i) {
      E element;
      std::memcpy(&element, in + i * sizeof element, sizeof element);
      values.push_back(core::number_from<double>(element));
    }
  });
  return values;
}

// Weyl's sequence: spread evenly, never twice the same.
double spread(std::size_t i, double low, double high) {
  const double turns = 0.6180339887498949 * static_cast<double>(i + 1);
  return low + (high - low) * (turns - std::floor(turns));
}

}  // namespace

core::Port Sketch::input(const Shape& shape, DType dtype) {
  return builder_.add_input({dtype, shape, false}, {.port = 0, .name = "input", .state = nullptr, .generator = false});
}

core::Port Sketch::number(const Scalar& value, DType dtype, const Shape& shape) {
  return builder_.add(core::OpId::fill, core::RangeAttributes{shape, dtype, value, 0}, {});
}

core::Port Sketch::constant(const std::vector<double>& values, const Shape& shape, DType dtype) {
  return builder_.add_constant(array_of(values, shape, dtype));
}

core::Graph Sketch::graph(const std::vector<core::Port>& outputs) {
  for (const core::Port output : outputs) builder_.add_output(output);
  return builder_.finish();
}

std::vector<std::vector<double>> results_of(const core::Graph& graph, double low, double high) {
  std::vector<std::vector<double>> inputs;
  std::size_t next = 0;
  for (const core::GraphInput& input : graph.inputs()) {
    std::vector<double>& values = inputs.emplace_back();
    const auto count = static_cast<std::size_t>(element_count(graph.type(input.port).shape));
    for (std::size_t i = 0; i < count; ++i) values.push_back(spread(next++, low, high));
  }
  return results_of(graph, inputs);
}

std::vector<std::vector<double>> results_of(const core::Graph& graph, const std::vector<std::vector<double>>& inputs) {
  CompileOptions options;
  options.passes = run::as_recorded;
  run::Session session(std::make_shared<const run::Executable>(graph, run::cpu_device(), options));
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    const core::TensorType& type = graph.type(graph.inputs()[i].port);
    session.bind(static_cast<std::uint32_t>(i), array_of(inputs.at(i), type.shape, type.dtype));
  }
  session.run();
  std::vector<std::vector<double>> results;
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) results.push_back(contents_of(session.output(i)));
  return results;
}

core::Graph optimised(const core::Graph& graph, const std::string& passes, PassReport* report) {
  CompileOptions options;
  options.passes = passes;
  PassReport kept;
  return run::optimised(graph, run::cpu_device(), options, report != nullptr ? *report : kept);
}

std::size_t count(const core::Graph& graph, core::OpId op) {
  return static_cast<std::size_t>(
      std::ranges::count_if(graph.nodes(), [op](const core::GraphNode& node) { return node.op == op; }));
}

bool agree(const std::vector<std::vector<double>>& a, const std::vector<std::vector<double>>& b,
           const Tolerance& tolerance) {
  const bool exact = tolerance.relative == 0 && tolerance.absolute == 0;
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].size() != b[i].size()) return false;
    for (std::size_t k = 0; k < a[i].size(); ++k) {
      const double x = a[i][k];
      const double y = b[i][k];
      if (std::isnan(x) != std::isnan(y)) return false;
      if (std::isnan(x)) continue;
      const double most = tolerance.relative * std::max(std::abs(x), std::abs(y)) + tolerance.absolute;
      if (x == y ? exact && std::signbit(x) != std::signbit(y) : !(std::abs(x - y) <= most)) return false;
    }
  }
  return true;
}

}  // namespace tyto::testing
