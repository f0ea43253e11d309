// SPDX-License-Identifier: MIT
// Layers made of layers: one after the other, side by side, and round a shortcut; and layers that only reshape.
#pragma once

#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "tyto/nn/layer.hpp"
#include "tyto/windows.hpp"

namespace tyto {
namespace nn TYTO_API {

/// One of the steps of a Sequential: a layer, or any function of a tensor, or of a tensor and the phase.
class TYTO_API Step {
 public:
  /// A function as a step, the same in training and use.
  using Function = std::function<Tensor<Any>(const Tensor<Any>&)>;
  /// A function of an input and the phase as a step.
  using PhasedFunction = std::function<Tensor<Any>(const Tensor<Any>&, Phase)>;

  template <class L>
  requires std::is_base_of_v<Layer, L> Step(L layer) : layer_(std::make_shared<L>(std::move(layer))) {
    if constexpr (std::is_copy_constructible_v<L>) {
      copy_ = [](const Layer& other) -> std::shared_ptr<Layer> {
        return std::make_shared<L>(static_cast<const L&>(other));
      };
    }
  }
  template <class F>
  requires(!std::is_base_of_v<Layer, F> && std::is_invocable_r_v<Tensor<Any>, const F&, const Tensor<Any>&>)
      Step(F function)
      : Step(Function(std::move(function))) {}
  template <class F>
  requires(!std::is_base_of_v<Layer, F> && std::is_invocable_r_v<Tensor<Any>, const F&, const Tensor<Any>&, Phase> &&
           !std::is_invocable_r_v<Tensor<Any>, const F&, const Tensor<Any>&>) Step(F function)
      : Step(PhasedFunction(std::move(function))) {}
  /// Accepts the name of an element-wise function as a step.
  Step(Tensor<Any> (*function)(const Tensor<Any>&));
  Step(Function function);
  Step(Tensor<Any> (*)(const Tensor<Any>&, std::int64_t)) = delete;  // write [](auto x) { return softmax(x, -1); }
  template <class T>
  Step(T) = delete;  // a layer, or a function of a tensor itself, not its result
  Step(PhasedFunction function);
  /// A step with a name of its own, the prefix of its states' names: {"stem", nn::Conv2d(...)}.
  Step(std::string name, Step step) : Step(std::move(step)) { name_ = std::move(name); }

  /// The layer that it calls.
  const Layer& layer() const { return *layer_; }
  /// Empty where it is named by its place.
  const std::string& name() const { return name_; }
  /// From now on a copy of the layer, whose states are those of the original.
  void copy_layer();

 private:
  std::shared_ptr<Layer> layer_;
  std::shared_ptr<Layer> (*copy_)(const Layer& layer) = nullptr;
  std::string name_;
};

/// One step after the other. States are named by the step's place, "0.weight", or by its name.
///
///     nn::Sequential model{nn::Linear({.in = 4, .out = 8}), tyto::relu, nn::Linear({.in = 8, .out = 1})};
struct TYTO_API Sequential : Layer {
  std::vector<Step> steps;  ///< called one after the other

  Sequential(std::initializer_list<Step> list) : steps(list) {}
  explicit Sequential(std::vector<Step> list) : steps(std::move(list)) {}
  /// Layers of one kind: nn::Sequential(nn::repeat(2, [] { return nn::Linear({.in = 3, .out = 3}); })).
  template <class L>
  requires std::is_base_of_v<Layer, L>
  explicit Sequential(std::vector<L> list)
      : steps(std::make_move_iterator(list.begin()), std::make_move_iterator(list.end())) {}
  /// The layer of step i.
  const Layer& operator[](std::size_t i) const;
  Tensor<Any> forward(const Tensor<Any>& x, Phase phase) const override;
  Members members() const override;

 protected:
  void copy_pointed_to() override;
};

/// body(x) + x, or body(x) + shortcut(x) where there is one; both terms must have one shape.
///
///     nn::Residual same_size(nn::Conv2d({.in = 8, .out = 8, .window = 3, .padding = same}));
///     nn::Residual wider(nn::Conv2d({.in = 8, .out = 16, .window = 3, .padding = same}),
///                        nn::Conv2d({.in = 8, .out = 16, .window = 1}));
struct TYTO_API Residual : Layer {
  Step body;      ///< what is added to the input
  Step shortcut;  ///< what the input goes through before it is added

  explicit Residual(Step function);
  Residual(Step function, Step other) : body(std::move(function)), shortcut(std::move(other)) {}
  Tensor<Any> forward(const Tensor<Any>& x, Phase phase) const override;
  Members members() const override;

 protected:
  void copy_pointed_to() override;
};

/// Branches that are all given the same input, and a function that makes one tensor of their results.
struct TYTO_API Parallel : Layer {
  /// The function that makes one tensor of those of the branches.
  using Combine = std::function<Tensor<Any>(const std::vector<Tensor<Any>>&)>;
  std::vector<Step> branches;  ///< each is given the input
  Combine combine;             ///< makes one result of theirs

  Parallel(std::vector<Step> list, Combine function);
  Tensor<Any> forward(const Tensor<Any>& x, Phase phase) const override;
  Members members() const override;

 protected:
  void copy_pointed_to() override;
};

/// The results of branches joined along `axis`, by default that of channels.
///
///     nn::Concatenate both({nn::Conv2d({.in = 8, .out = 4, .window = 1}),
///                           nn::MaxPool(3, {.stride = 1, .padding = same})});
struct TYTO_API Concatenate : Parallel {
  explicit Concatenate(std::vector<Step> list, std::int64_t axis = -1);
};
/// The sum of the results of branches.
struct TYTO_API Sum : Parallel {
  explicit Sum(std::vector<Step> list);
};

/// Returns its input.
struct TYTO_API Identity : Layer {
  Tensor<Any> forward(const Tensor<Any>& x, Phase) const override { return x; }
};

/// Merges all axes but the first. Weights from PyTorch that follow expect the order of channels first: Flatten(nchw).
struct TYTO_API Flatten : Layer {
  Layout order;  ///< of the axes of the input

  explicit Flatten(Layout elements = nhwc) : order(elements) {}
  Tensor<Any> forward(const Tensor<Any>& x, Phase phase) const override;
};

/// Reshapes all axes but the first; one length may be -1.
struct TYTO_API Reshape : Layer {
  Shape shape;  ///< of one sample

  explicit Reshape(Shape of_sample) : shape(std::move(of_sample)) {}
  explicit Reshape(std::initializer_list<std::int64_t> of_sample) : shape(of_sample) {}
  Tensor<Any> forward(const Tensor<Any>& x, Phase phase) const override;
};

}  // namespace TYTO_API
}  // namespace tyto
