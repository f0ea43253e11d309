// SPDX-License-Identifier: MIT
// Small graphs for tests of passes: written node by node or as text, run as they are, compared number by number.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.hpp"
#include "optimiser/passes/optimise.hpp"

namespace tyto::testing {

/// A graph in the making. Inputs are numbered as they are asked for.
class Sketch {
 public:
  core::Port input(const Shape& shape, DType dtype = DType::f32);
  core::Port number(const Scalar& value, DType dtype = DType::f32, const Shape& shape = {});
  core::Port constant(const std::vector<double>& values, const Shape& shape, DType dtype = DType::f32);
  core::Port add(core::OpId op, std::initializer_list<core::Port> inputs, core::Attributes attributes = {}) {
    return builder_.add(op, std::move(attributes), inputs);
  }
  core::GraphBuilder& builder() { return builder_; }
  /// The finished graph with these outputs.
  core::Graph graph(const std::vector<core::Port>& outputs);

 private:
  core::GraphBuilder builder_;
};

/// The contents of the outputs, widened to double, for inputs filled from a fixed sequence within [low, high]. The
/// graph is run as it is: no pass touches it.
std::vector<std::vector<double>> results_of(const core::Graph& graph, double low = -2, double high = 2);
/// The same for given inputs.
std::vector<std::vector<double>> results_of(const core::Graph& graph, const std::vector<std::vector<double>>& inputs);

/// Optimised by these passes only, constants folded on the CPU.
core::Graph optimised(const core::Graph& graph, const std::string& passes, PassReport* report = nullptr);

/// Nodes of an operator in a graph.
std::size_t count(const core::Graph& graph, core::OpId op);

/// The tolerance of numbers: a part of the larger's size and, where terms of a sum cancel each other, the error by
/// which the terms were rounded.
struct Tolerance {
  double relative, absolute;
  Tolerance(double of_size = 0, double of_terms = 0) : relative(of_size), absolute(of_terms) {}
};

/// True when the graphs compute the same numbers: NaN with NaN, zeros of one sign unless something is tolerated, the
/// rest as near as it says.
bool agree(const std::vector<std::vector<double>>& a, const std::vector<std::vector<double>>& b,
           const Tolerance& tolerance = {});

}  // namespace tyto::testing
