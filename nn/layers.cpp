// What each layer computes.
#include "tyto/nn/layers.hpp"

#include <cmath>

#include "nn/complain.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/indexing.hpp"
#include "tyto/products.hpp"
#include "tyto/shaping.hpp"

namespace tyto TYTO_API {
namespace nn {

namespace {

void check_sizes(const char* layer, std::int64_t in, std::int64_t out) {
  if (in < 1 || out < 1) throw ValueError(text(layer, ": in = ", in, " and out = ", out, " must be at least 1"));
}

Tensor<Any> zero_bias(std::int64_t count, DType dtype) {
  return Tensor<Any>::variable(Tensor<Any>::zeros({count}, dtype), "bias");
}

void list_parameters(NamedList<Tensor<Any>>& list, const Tensor<Any>& weight, const Tensor<Any>& bias) {
  list.push_back({"weight", weight});
  if (!bias.empty_handle()) list.push_back({"bias", bias});
}

/// A function with no parameters as a layer.
struct Function final : Layer {
  std::function<Tensor<Any>(const Tensor<Any>&)> function;

  explicit Function(std::function<Tensor<Any>(const Tensor<Any>&)> f) : function(std::move(f)) {}
  Tensor<Any> forward(const Tensor<Any>& x, Phase) const override { return function(x); }
};

}  // namespace

Layer::~Layer() = default;

NamedList<Tensor<Any>> Layer::named_parameters() const { return {}; }

std::vector<Tensor<Any>> Layer::parameters() const {
  std::vector<Tensor<Any>> list;
  for (Named<Tensor<Any>>& parameter : named_parameters()) list.push_back(std::move(parameter.value));
  return list;
}

NamedList<Tensor<Any>> join(std::initializer_list<NamedLayer> layers) {
  NamedList<Tensor<Any>> all;
  for (const NamedLayer& part : layers) {
    for (Named<Tensor<Any>>& parameter : part.layer.named_parameters()) {
      all.push_back({part.name + "." + parameter.name, std::move(parameter.value)});
    }
  }
  return all;
}

Linear::Linear(const LinearOptions& options) {
  check_sizes("Linear", options.in, options.out);
  const Fans fans{static_cast<double>(options.in), static_cast<double>(options.out)};
  weight = Tensor<Any>::variable(options.initial({options.in, options.out}, fans, options.dtype), "weight");
  if (options.bias) bias = zero_bias(options.out, options.dtype);
}

Tensor<Any> Linear::forward(const Tensor<Any>& x, Phase) const {
  if (x.ndim() < 1 || x.shape().back() != weight.shape()[0]) {
    throw ShapeError(text("Linear: the last axis of x ", x.shape(), " must be ", weight.shape()[0]));
  }
  const Tensor<Any> product = matmul(x, weight);
  return bias.empty_handle() ? product : product + bias;
}

NamedList<Tensor<Any>> Linear::named_parameters() const {
  NamedList<Tensor<Any>> list;
  list_parameters(list, weight, bias);
  return list;
}

Convolution::Convolution(int spatial_axes, const ConvolutionLayerOptions& given)
    : options{.stride = given.stride, .padding = given.padding, .dilation = given.dilation, .groups = given.groups} {
  check_sizes("Convolution", given.in, given.out);
  const std::int64_t groups = given.groups;
  if (groups < 1 || given.in % groups != 0 || given.out % groups != 0) {
    throw ValueError(text("Convolution: groups = ", groups, " must divide in = ", given.in, " and out = ", given.out));
  }
  const auto axes = static_cast<std::size_t>(spatial_axes);
  if (given.window.size() != 1 && given.window.size() != axes) {
    throw ShapeError(text("Convolution: the window ", given.window, " must have 1 or ", axes, " lengths"));
  }
  Shape shape = given.window.size() == axes ? Shape(given.window) : Shape(axes, given.window[0]);
  double window = 1;
  for (const std::int64_t length : shape) {
    if (length < 1) throw ValueError(text("Convolution: the window ", given.window, " must have lengths from 1 on"));
    window *= static_cast<double>(length);
  }
  shape.push_back(given.in / groups);
  shape.push_back(given.out);
  const Fans fans{window * static_cast<double>(given.in / groups), window * static_cast<double>(given.out / groups)};
  weight = Tensor<Any>::variable(given.initial(shape, fans, given.dtype), "weight");
  if (given.bias) bias = zero_bias(given.out, given.dtype);
}

Tensor<Any> Convolution::forward(const Tensor<Any>& x, Phase) const {
  const Shape& kernel = weight.shape();
  const std::int64_t channels = kernel[kernel.size() - 2] * options.groups;
  if (x.ndim() != weight.ndim() || x.shape().back() != channels) {
    throw ShapeError(
        text("Convolution: x ", x.shape(), " must have ", weight.ndim(), " axes, the last of ", channels, " channels"));
  }
  const Tensor<Any> result = convolution(x, weight, options);
  return bias.empty_handle() ? result : result + bias;
}

NamedList<Tensor<Any>> Convolution::named_parameters() const {
  NamedList<Tensor<Any>> list;
  list_parameters(list, weight, bias);
  return list;
}

Tensor<Any> MaxPool::forward(const Tensor<Any>& x, Phase) const { return max_pool(x, window, options); }

Tensor<Any> AveragePool::forward(const Tensor<Any>& x, Phase) const { return average_pool(x, window, options); }

Dropout::Dropout(double probability) : rate(probability) {
  if (!(rate >= 0 && rate < 1)) throw ValueError(text("Dropout: the rate ", rate, " must be in [0, 1)"));
}

Tensor<Any> Dropout::forward(const Tensor<Any>& x, Phase phase) const {
  return phase == Phase::training && rate > 0 ? x * dropout_mask(x, rate) : x;
}

Tensor<Any> Flatten::forward(const Tensor<Any>& x, Phase) const { return flatten(x, 1); }

Step::Step(Tensor<Any> (*function)(const Tensor<Any>&))
    : Step(std::function<Tensor<Any>(const Tensor<Any>&)>(function)) {}

Step::Step(std::function<Tensor<Any>(const Tensor<Any>&)> function)
    : layer_(std::make_shared<const Function>(std::move(function))) {}

Tensor<Any> Sequential::forward(const Tensor<Any>& x, Phase phase) const {
  Tensor<Any> y = x;
  for (const Step& step : steps) y = step.layer().forward(y, phase);
  return y;
}

NamedList<Tensor<Any>> Sequential::named_parameters() const {
  NamedList<Tensor<Any>> all;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (Named<Tensor<Any>>& parameter : steps[i].layer().named_parameters()) {
      all.push_back({text(i, ".", parameter.name), std::move(parameter.value)});
    }
  }
  return all;
}

}  // namespace nn
}  // namespace TYTO_API
