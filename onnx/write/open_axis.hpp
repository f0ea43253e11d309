// SPDX-License-Identifier: MIT
// Finds the symbolic length of a written model by writing graphs of several lengths: what differs between them and is
// linear in the length is computed in the model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tyto/graph_listing.hpp"

namespace tyto::onnx {

/// offset + factor * n.
struct LinearLength {
  std::int64_t offset = 0;
  std::int64_t factor = 0;

  bool is_open() const { return factor != 0; }
};

/// The parts written for a graph of one length, in order: a line for each node, constants, and the shapes of what
/// graphs take and give.
struct WrittenParts {
  std::int64_t length = 0;
  std::vector<std::string> nodes;
  std::vector<Tensor<Eager>> constants;
  std::vector<std::string> uses;  // what each constant is for: an operator of the graph
  std::vector<Shape> shapes;
};

/// A constant that depends on the length: integers, one number in all places of a shape, or counted numbers.
struct OpenConstant {
  enum class Kind : std::uint8_t { integers, fill, range };

  Kind kind = Kind::integers;
  std::vector<LinearLength> lengths;  // the integers, or the shape
};

/// The constants and shapes of a model as they depend on the length, in the order of WrittenParts.
struct OpenAxis {
  std::string symbol;
  std::vector<std::optional<OpenConstant>> constants;
  std::vector<std::vector<LinearLength>> shapes;
};

/// Throws GraphError naming what depends on the length in a way that ONNX's graph cannot say.
OpenAxis open_axis_of(const std::string& symbol, const std::vector<WrittenParts>& parts);

}  // namespace tyto::onnx
