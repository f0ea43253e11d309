// SPDX-License-Identifier: MIT
// Layer: a module that is called with one tensor, in the mode of that tensor.
#pragma once

#include <optional>
#include <string_view>
#include <type_traits>

#include "tyto/nn/modes.hpp"
#include "tyto/nn/module.hpp"

namespace tyto {
namespace nn TYTO_API {

/// Base of layers and of networks made of them. A layer is neither eager nor lazy: it records when its input is lazy.
///
///     struct Residual : nn::Layer {
///       nn::Linear first{{.in = 8, .out = 8}}, second{{.in = 8, .out = 8}};
///       tyto::Tensor<Any> forward(const tyto::Tensor<Any>& x, nn::Phase) const override {
///         return x + second(relu(first(x)));  // in the phase of this call
///       }
///       nn::Members members() const override { return {{"first", first}, {"second", second}}; }
///     };
class TYTO_API Layer : public Module {
  struct SecondTensor {
    template <class M>
    SecondTensor(const Tensor<M>&) {}
  };

 public:
  /// Computes the layer's result; callers use the parentheses.
  virtual Tensor<Any> forward(const Tensor<Any>& x, Phase phase) const = 0;

  /// Without a phase the call has that of the call around it. An outermost one is inference; it throws ValueError where
  /// a gradient is taken through a layer that drops elements, adds noise or takes statistics in training.
  template <class M>
  Tensor<M> operator()(const Tensor<M>& x) const {
    return detail::with_mode<M>(run(detail::modeless(x), {}));
  }
  template <class M>
  Tensor<M> operator()(const Tensor<M>& x, Phase phase) const {
    return detail::with_mode<M>(run(detail::modeless(x), phase));
  }
  template <class M, class B>
  requires(std::is_same_v<B, bool> || std::is_convertible_v<B, std::string_view>) Tensor<M>
  operator()(const Tensor<M>& x, B) const {
    static_assert(tyto::detail::always_false<M>, "the phase of a call is nn::training or nn::inference");
    return x;
  }
  template <class M>
  Tensor<M> operator()(const Tensor<M>& x, const SecondTensor&) const {
    static_assert(tyto::detail::always_false<M>, "a layer takes one tensor; lstm.run(x, state) is given a state");
    return x;
  }

 private:
  Tensor<Any> run(const Tensor<Any>& x, std::optional<Phase> phase) const;
};

/// Whether a layer that differs between the phases, of this name, trains. Throws ValueError where a gradient is taken
/// through it in a call without a phase: who trains may have forgotten it.
bool is_training(std::string_view layer, Phase phase);

namespace detail {

/// Observes each call of a module on this thread while it is alive. Observers do not nest.
class TYTO_API CallObserver {
 public:
  CallObserver();
  virtual ~CallObserver();
  CallObserver(const CallObserver&) = delete;
  CallObserver& operator=(const CallObserver&) = delete;
  /// Calls `function` and yields its result, which is undefined where the call yields no single tensor. `x` is
  /// undefined where it takes more than that.
  virtual Tensor<Any> call(const Module& module, const Tensor<Any>& x,
                           const std::function<Tensor<Any>()>& function) = 0;
};

}  // namespace detail

}  // namespace TYTO_API
}  // namespace tyto
