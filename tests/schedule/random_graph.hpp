// SPDX-License-Identifier: MIT
// Random graphs with features that orders depend on: shared values, views, results in place, updates of states.
#pragma once

#include <random>
#include <vector>

#include "core/graph/graph.hpp"
#include "core/graph/op_ids.hpp"

namespace tyto::testing {

/// A graph with `kernels` nodes that run a kernel, and views and inputs besides.
inline core::Graph random_graph(std::mt19937& random, int kernels) {
  using core::OpId;
  using core::Port;
  core::GraphBuilder builder;
  const auto below = [&](std::size_t count) {
    return std::uniform_int_distribution<std::size_t>(0, count - 1)(random);
  };
  const std::int64_t lengths[] = {16, 32, 48, 96};
  std::vector<Port> values;
  std::vector<std::uint32_t> states;
  for (int i = 0; i < 3; ++i) {
    core::GraphInput input;
    input.name = "input";
    values.push_back(builder.add_input({DType::f32, {lengths[below(4)]}, false}, input));
  }
  const auto length = [&](Port port) { return builder.graph().type(port).shape[0]; };
  // Recent values are read more often: long chains with some long-lived values, as in programs.
  const auto pick = [&] {
    const std::size_t back = std::min(below(values.size()), below(values.size()));
    return values[values.size() - 1 - back];
  };
  int made = 0;
  while (made < kernels) {
    const Port a = pick();
    const Port b = pick();
    switch (below(7)) {
      case 0: values.push_back(builder.add(OpId::exp, core::NoAttributes(), {a})), ++made; break;
      case 1: values.push_back(builder.add(OpId::softmax, core::AxisAttributes{0}, {a})), ++made; break;
      case 2:
        if (length(a) != length(b)) break;
        values.push_back(builder.add(OpId::add, core::NoAttributes(), {a, b})), ++made;
        break;
      case 3: values.push_back(builder.add(OpId::cumsum, core::ScanAttributes(), {a})), ++made; break;
      case 4:
        if (length(a) + length(b) > 400) break;
        values.push_back(builder.add(OpId::concat, core::AxisAttributes{0}, {a, b})), ++made;
        break;
      case 5: {
        const core::AxesAttributes all{{0}, true};
        values.push_back(builder.add(OpId::sum, all, {a})), ++made;
        break;
      }
      default: {
        const auto start = static_cast<std::int64_t>(below(4));
        if (length(a) < 16) break;
        values.push_back(builder.add(OpId::slice, core::SliceAttributes{{start}, {length(a) / 2}, {1}}, {a}));
        break;
      }
    }
  }
  for (int i = 0; i < 2; ++i) builder.add_output(pick());
  // New values of inputs that have the same length.
  for (std::uint32_t input = 0; input < 3; ++input) {
    const Port value = pick();
    const Port old = builder.graph().inputs()[input].port;
    if (value != old && length(value) == length(old)) builder.add_update(input, value);
  }
  return builder.finish();
}

}  // namespace tyto::testing
