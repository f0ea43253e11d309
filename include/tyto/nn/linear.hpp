// SPDX-License-Identifier: MIT
// Layers that multiply by a matrix: linear and bilinear.
#pragma once

#include "tyto/nn/initial.hpp"
#include "tyto/nn/layer.hpp"

namespace tyto {
namespace nn TYTO_API {

/// Options of `Linear`.
struct LinearOptions {
  std::int64_t in = 0;                   ///< features of the input
  std::int64_t out = 0;                  ///< features of the result
  bool bias = true;                      ///< whether a bias is added
  Initialiser initial = glorot_uniform;  ///< how weights are drawn
  DType dtype = DType::f32;              ///< element type
};
/// x (..., in) times weight (in, out), plus bias.
struct TYTO_API Linear : Layer {
  Tensor<Any> weight;  ///< the trained matrix, (in, out)
  Tensor<Any> bias;    ///< (out,), or an undefined tensor

  explicit Linear(const LinearOptions& options);  // Linear({.in = 3, .out = 4})
  Tensor<Any> forward(const Tensor<Any>& x, Phase phase) const override;
  Members members() const override;
};

/// Options of `Bilinear`.
struct BilinearOptions {
  std::int64_t left = 0;                 ///< features of the first input
  std::int64_t right = 0;                ///< features of the second input
  std::int64_t out = 0;                  ///< features of the result
  bool bias = true;                      ///< whether a bias is added
  Initialiser initial = glorot_uniform;  ///< how weights are drawn
  DType dtype = DType::f32;              ///< element type
};
/// Bilinear form of two inputs a (..., left) and b (..., right): result k is a weight[k] b, plus bias.
struct TYTO_API Bilinear : Module {
  Tensor<Any> weight;  ///< (out, left, right)
  Tensor<Any> bias;    ///< (out,), or an undefined tensor

  explicit Bilinear(const BilinearOptions& options);
  template <class M>
  Tensor<M> operator()(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b) const {
    return detail::with_mode<M>(product(detail::modeless(a), detail::modeless(b)));
  }
  Members members() const override;

 private:
  Tensor<Any> product(const Tensor<Any>& a, const Tensor<Any>& b) const;
};

}  // namespace TYTO_API
}  // namespace tyto
