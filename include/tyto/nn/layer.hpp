// What every layer is: a function of a tensor with named parameters. Works in the mode of what it is given.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "tyto/named.hpp"
#include "tyto/tensor.hpp"

namespace tyto {
namespace nn TYTO_API {

/// Whether a layer is being trained or used: it decides what dropout does. Using is the default everywhere.
enum class Phase : std::uint8_t { inference, training };
inline constexpr Phase inference = Phase::inference;
inline constexpr Phase training = Phase::training;

/// Base of layers and of networks made of them. A layer is neither eager nor lazy: it records when its input is lazy.
///
///     struct Block : nn::Layer {
///       nn::Linear first{{.in = 8, .out = 8}}, second{{.in = 8, .out = 8}};
///       Tensor<Any> forward(const Tensor<Any>& x, nn::Phase p) const override { return x + second(relu(first(x, p)),
///       p); } NamedList<Tensor<Any>> named_parameters() const override {
///         return nn::join({{"first", first}, {"second", second}});
///       }
///     };
class TYTO_API Layer {
 public:
  virtual ~Layer();
  virtual Tensor<Any> forward(const Tensor<Any>& x, Phase phase) const = 0;
  /// The variables that are trained, each under a name of its own.
  virtual NamedList<Tensor<Any>> named_parameters() const;

  /// The same variables in the same order, as value_and_grad and Descent::update take them.
  std::vector<Tensor<Any>> parameters() const;

  template <class M>
  Tensor<M> operator()(const Tensor<M>& x, Phase phase = inference) const {
    return Tensor<M>(forward(Tensor<Any>(x.value()), phase).value());
  }

 protected:
  Layer() = default;
  Layer(const Layer&) = default;
  Layer(Layer&&) = default;
  Layer& operator=(const Layer&) = default;
  Layer& operator=(Layer&&) = default;
};

struct NamedLayer {
  std::string name;
  const Layer& layer;
};
/// The parameters of several layers, each name behind its layer's and a point: "first.weight".
NamedList<Tensor<Any>> join(std::initializer_list<NamedLayer> layers);

}  // namespace TYTO_API
}  // namespace tyto
