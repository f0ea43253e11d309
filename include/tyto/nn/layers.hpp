// The layers: linear, convolution, pooling, dropout, flatten, and layers one after the other.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "tyto/nn/initial.hpp"
#include "tyto/nn/layer.hpp"
#include "tyto/windows.hpp"

namespace tyto {
namespace nn TYTO_API {

struct LinearOptions {
  std::int64_t in = 0;
  std::int64_t out = 0;
  bool bias = true;
  Initialiser initial = glorot_uniform;
  DType dtype = DType::f32;
};
/// x (..., in) times weight (in, out), plus bias.
struct TYTO_API Linear : Layer {
  Tensor<Any> weight;
  Tensor<Any> bias;  ///< (out,), or an empty handle

  explicit Linear(const LinearOptions& options);
  Tensor<Any> forward(const Tensor<Any>& x, Phase phase) const override;
  NamedList<Tensor<Any>> named_parameters() const override;
};

struct ConvolutionLayerOptions {
  std::int64_t in = 0;   ///< channels
  std::int64_t out = 0;  ///< channels
  PerAxis window = 3;
  PerAxis stride = 1;
  Border padding = valid;
  PerAxis dilation = 1;
  std::int64_t groups = 1;
  bool bias = true;
  Initialiser initial = glorot_uniform;
  DType dtype = DType::f32;
};
/// Convolution of x (batch, spatial..., in) with as many spatial axes as the derived layer names.
struct TYTO_API Convolution : Layer {
  Tensor<Any> weight;          ///< (window..., in / groups, out)
  Tensor<Any> bias;            ///< (out,), or an empty handle
  ConvolutionOptions options;  ///< layout stays channels last

  Tensor<Any> forward(const Tensor<Any>& x, Phase phase) const override;
  NamedList<Tensor<Any>> named_parameters() const override;

 protected:
  Convolution(int spatial_axes, const ConvolutionLayerOptions& options);
};
struct Conv1d : Convolution {
  explicit Conv1d(const ConvolutionLayerOptions& given) : Convolution(1, given) {}
};
struct Conv2d : Convolution {
  explicit Conv2d(const ConvolutionLayerOptions& given) : Convolution(2, given) {}
};
struct Conv3d : Convolution {
  explicit Conv3d(const ConvolutionLayerOptions& given) : Convolution(3, given) {}
};

/// Largest element of each window.
struct TYTO_API MaxPool : Layer {
  PerAxis window;
  PoolOptions options;

  explicit MaxPool(PerAxis size, PoolOptions given = {}) : window(std::move(size)), options(std::move(given)) {}
  Tensor<Any> forward(const Tensor<Any>& x, Phase phase) const override;
};
/// Mean of each window.
struct TYTO_API AveragePool : Layer {
  PerAxis window;
  PoolOptions options;

  explicit AveragePool(PerAxis size, PoolOptions given = {}) : window(std::move(size)), options(std::move(given)) {}
  Tensor<Any> forward(const Tensor<Any>& x, Phase phase) const override;
};

/// In training each element is 0 with probability `rate` and scaled up otherwise, drawn anew each time; else nothing.
struct TYTO_API Dropout : Layer {
  double rate;

  explicit Dropout(double probability);
  Tensor<Any> forward(const Tensor<Any>& x, Phase phase) const override;
};

/// All axes but the first made one.
struct TYTO_API Flatten : Layer {
  Tensor<Any> forward(const Tensor<Any>& x, Phase phase) const override;
};

/// One of the steps of a Sequential: a layer, or any function of a tensor, such as `tyto::relu`.
class TYTO_API Step {
 public:
  template <class L>
  requires std::is_base_of_v<Layer, L> Step(L layer) : layer_(std::make_shared<const L>(std::move(layer))) {}
  template <class F>
  requires(!std::is_base_of_v<Layer, F> && std::is_invocable_r_v<Tensor<Any>, const F&, const Tensor<Any>&>)
      Step(F function)
      : Step(std::function<Tensor<Any>(const Tensor<Any>&)>(std::move(function))) {}
  /// What lets the name of an element-wise function stand for a step.
  Step(Tensor<Any> (*function)(const Tensor<Any>&));
  Step(std::function<Tensor<Any>(const Tensor<Any>&)> function);

  const Layer& layer() const { return *layer_; }

 private:
  std::shared_ptr<const Layer> layer_;
};

/// One step after the other. Parameters are named by the step's place: "0.weight".
///
///     nn::Sequential model{nn::Linear({.in = 4, .out = 8}), tyto::relu, nn::Linear({.in = 8, .out = 1})};
struct TYTO_API Sequential : Layer {
  std::vector<Step> steps;

  Sequential(std::initializer_list<Step> list) : steps(list) {}
  Tensor<Any> forward(const Tensor<Any>& x, Phase phase) const override;
  NamedList<Tensor<Any>> named_parameters() const override;
};

}  // namespace TYTO_API
}  // namespace tyto
