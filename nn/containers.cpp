// SPDX-License-Identifier: MIT
// Layers made of layers.
#include "tyto/nn/containers.hpp"

#include "core/value/text.hpp"
#include "nn/running_call.hpp"
#include "tyto/shaping.hpp"

namespace tyto TYTO_API {
namespace nn {

namespace {

/// A function without states as a layer.
struct FunctionLayer final : Layer {
  Step::PhasedFunction function;

  explicit FunctionLayer(Step::PhasedFunction f) : function(std::move(f)) {}
  Tensor<Any> forward(const Tensor<Any>& x, Phase phase) const override {
    const CallsUnchecked unchecked;  // a function has no members() to list what it calls
    return function(x, phase);
  }
};

Members members_of(const std::vector<Step>& steps) {
  Members list;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    list.emplace_back(steps[i].name().empty() ? std::to_string(i) : steps[i].name(), steps[i].layer());
  }
  return list;
}

void copy_layers(std::vector<Step>& steps) {
  for (Step& step : steps) step.copy_layer();
}

}  // namespace

Step::Step(Tensor<Any> (*function)(const Tensor<Any>&)) : Step(Function(function)) {}

Step::Step(Function function)
    : Step(PhasedFunction([f = std::move(function)](const Tensor<Any>& x, Phase) { return f(x); })) {}

Step::Step(PhasedFunction function) : Step(FunctionLayer(std::move(function))) {}

void Step::copy_layer() {
  if (copy_ == nullptr) throw ValueError("clone: a step is of a class that cannot be copied");
  layer_ = copy_(*layer_);
}

const Layer& Sequential::operator[](std::size_t i) const {
  if (i >= steps.size()) core::throw_error<IndexError>("Sequential: step ", i, " of ", steps.size());
  return steps[i].layer();
}

Tensor<Any> Sequential::forward(const Tensor<Any>& x, Phase phase) const {
  Tensor<Any> y = x;
  for (const Step& step : steps) y = step.layer()(y, phase);
  return y;
}

Members Sequential::members() const { return members_of(steps); }

void Sequential::copy_pointed_to() { copy_layers(steps); }

Residual::Residual(Step function) : body(std::move(function)), shortcut(Identity()) {}

Tensor<Any> Residual::forward(const Tensor<Any>& x, Phase phase) const {
  const Tensor<Any> change = body.layer()(x, phase);
  const Tensor<Any> kept = shortcut.layer()(x, phase);
  if (change.shape() != kept.shape()) {
    core::throw_error<ShapeError>("Residual: the body makes ", change.shape(), " of x ", x.shape(), ", the shortcut ",
                                  kept.shape(), "; they must be equal");
  }
  return kept + change;
}

Members Residual::members() const { return {{"body", body.layer()}, {"shortcut", shortcut.layer()}}; }

void Residual::copy_pointed_to() {
  body.copy_layer();
  shortcut.copy_layer();
}

Parallel::Parallel(std::vector<Step> list, Combine function) : branches(std::move(list)), combine(std::move(function)) {
  if (branches.empty()) throw ValueError("Parallel: at least one branch is needed");
}

Tensor<Any> Parallel::forward(const Tensor<Any>& x, Phase phase) const {
  std::vector<Tensor<Any>> results;
  for (const Step& branch : branches) results.push_back(branch.layer()(x, phase));
  return combine(results);
}

Members Parallel::members() const { return members_of(branches); }

void Parallel::copy_pointed_to() { copy_layers(branches); }

Concatenate::Concatenate(std::vector<Step> list, std::int64_t axis)
    : Parallel(std::move(list), [axis](const std::vector<Tensor<Any>>& results) { return concat(results, axis); }) {}

Sum::Sum(std::vector<Step> list)
    : Parallel(std::move(list), [](const std::vector<Tensor<Any>>& results) {
        Tensor<Any> total = results[0];
        for (std::size_t i = 1; i < results.size(); ++i) total = total + results[i];
        return total;
      }) {}

Tensor<Any> Flatten::forward(const Tensor<Any>& x, Phase) const {
  return flatten(order == nchw && x.ndim() > 2 ? moveaxis(x, -1, 1) : x, 1);
}

Tensor<Any> Reshape::forward(const Tensor<Any>& x, Phase) const {
  if (x.ndim() < 1) core::throw_error<ShapeError>("Reshape: x ", x.shape(), " has no axis of samples");
  Shape whole{x.shape()[0]};
  for (const std::int64_t length : shape) whole.push_back(length);
  return reshape(x, whole);
}

}  // namespace nn
}  // namespace TYTO_API
