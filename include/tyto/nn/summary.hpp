// SPDX-License-Identifier: MIT
// Summarises a model: its layers with output shapes, parameters, planned memory and multiplications.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "tyto/nn/layer.hpp"

namespace tyto {
namespace nn TYTO_API {

/// One call of a layer. Numbers are those of all that is inside of it as well.
struct LayerSummary {
  std::string name;                ///< the path of its states, "" for the model itself
  std::string kind;                ///< the name of its type
  int depth = 0;                   ///< number of calls of layers around it
  std::optional<Shape> output;     ///< shape of its result; none where that is no single tensor
  std::int64_t parameters = 0;     ///< how many numbers are trained
  std::int64_t multiply_adds = 0;  ///< of products and convolutions
  /// The memory plan of this layer alone, without states and its input; none of a call with several inputs.
  std::optional<std::size_t> planned_bytes = {};
};

/// Layers, parameters and operations of a model.
struct Summary {
  std::vector<LayerSummary> layers;     ///< in the order of their calls, the model itself first
  std::int64_t parameters = 0;          ///< how many numbers are trained
  std::int64_t trained_parameters = 0;  ///< those that are not frozen
  std::size_t state_bytes = 0;          ///< of parameters and buffers
  std::int64_t multiply_adds = 0;       ///< multiplications with an addition, of one call
  std::size_t planned_bytes = 0;        ///< the peak of the memory plan of the whole model in inference
  std::size_t bound_bytes = 0;          ///< no plan is lower
};

/// Runs the model once in inference on zeros of this shape (the axis of samples included) and looks at what it does.
/// Where a layer throws, the error ends with the table of the calls up to it.
///
///     std::cout << nn::summary(model, {1, 224, 224, 3});
Summary summary(const Layer& model, const Shape& input, DType dtype = DType::f32);

/// A table with a line a layer, and the totals.
std::ostream& operator<<(std::ostream& out, const Summary& summary);

/// A line for each layer of a model: its path, its class, and its states with their shapes.
std::ostream& operator<<(std::ostream& out, const Module& model);

}  // namespace TYTO_API
}  // namespace tyto
