// SPDX-License-Identifier: MIT
// Finds the first NaN: the element of a tensor, the state of a module, the layer of a call.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>

#include "tyto/named.hpp"
#include "tyto/nn/layer.hpp"

namespace tyto {
namespace nn TYTO_API {

/// A tensor that holds NaN.
struct FoundNan {
  std::string where;  ///< "weight 'encoder.0.weight'", "the input", "the output of Linear 'encoder.0'"
  Shape index;        ///< of the first NaN in row-major order
  Shape shape;        ///< of the tensor
};

/// "the output of Linear 'encoder.0', of shape (4,8), is NaN first at (2,1)".
std::ostream& operator<<(std::ostream& out, const FoundNan& found);
/// The same, or "no NaN".
std::ostream& operator<<(std::ostream& out, const std::optional<FoundNan>& found);

/// The first NaN of the tensor.
std::optional<FoundNan> find_nan(const Tensor<Any>& x);
template <class M>
std::optional<FoundNan> find_nan(const Tensor<M>& x) {
  return find_nan(detail::modeless(x));
}
/// The first tensor of the list that holds NaN, such as gradients named as their parameters are.
std::optional<FoundNan> find_nan(const NamedList<Tensor<Any>>& tensors);
/// The first parameter or buffer that holds NaN.
std::optional<FoundNan> find_nan(const Module& module);

/// Calls the model and looks at its states, at x, and at the result of each layer, an inner one before what is around
/// it. Nothing is found where all is free of NaN.
///
///     std::cout << nn::find_nan(model, x) << '\n';
std::optional<FoundNan> find_nan(const Layer& model, const Tensor<Any>& x, Phase phase = inference);
template <class M>
std::optional<FoundNan> find_nan(const Layer& model, const Tensor<M>& x, Phase phase = inference) {
  return find_nan(model, detail::modeless(x), phase);
}

}  // namespace TYTO_API
}  // namespace tyto
