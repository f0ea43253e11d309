// SPDX-License-Identifier: MIT
// Leaves and operators that pass their input on: constants, states, copies, gradient barriers, user functions.
#include "core/graph/custom.hpp"
#include "core/graph/op_ids.hpp"
#include "ops/define.hpp"
#include "ops/samples.hpp"
#include "tyto/shaping.hpp"

namespace tyto::core {

namespace {

std::vector<TensorType> infer_constant(const Attributes& attributes, std::span<const TensorType>) {
  const Array& array = get<ConstantAttributes>(attributes).array;
  return one(array.dtype, array.view.shape);
}

std::vector<TensorType> infer_state(const Attributes& attributes, std::span<const TensorType>) {
  return {get<StateAttributes>(attributes).state->type()};
}

std::vector<TensorType> infer_read(const Attributes& attributes, std::span<const TensorType> inputs) {
  return inputs.empty() ? std::vector<TensorType>{get<VersionAttributes>(attributes).state.lock()->type()}
                        : std::vector<TensorType>{inputs[0]};
}

std::vector<TensorType> infer_custom(const Attributes& attributes, std::span<const TensorType>) {
  return get<CustomAttributes>(attributes).op->results;
}

std::vector<Value> pass_gradient(const GradientContext& c) { return {c.gradients[0]}; }

std::vector<Value> custom_gradient(const GradientContext& c) {
  const CustomOperator& op = *get<CustomAttributes>(c.attributes).op;
  if (!op.gradient) throw_error<GraphError>("grad: '", op.name, "' is a user's function without a gradient");
  std::vector<Value> gradients = op.gradient(c.inputs, c.results, c.gradients);
  if (gradients.size() != c.inputs.size()) {
    throw_error<GraphError>("grad: the gradient of '", op.name, "' yields ", gradients.size(), " values for ",
                            c.inputs.size(), " inputs");
  }
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (gradients[i] && gradients[i].shape() != c.inputs[i].shape()) {
      throw_error<ShapeError>("grad: gradient ", i, " of '", op.name, "' has shape ", gradients[i].shape(),
                              ", its input ", c.inputs[i].shape());
    }
  }
  return gradients;
}

// The first input is the value; the user's rule gives the gradients of the others.
std::vector<Value> given_gradient(const GradientContext& c) {
  const CustomOperator& op = *get<CustomAttributes>(c.attributes).op;
  std::vector<Value> gradients = op.gradient(c.inputs.subspan(1), c.results, c.gradients);
  if (gradients.size() + 1 != c.inputs.size()) {
    throw_error<GraphError>("custom_gradient: the rule yields ", gradients.size(), " gradients for ",
                            c.inputs.size() - 1, " inputs");
  }
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (gradients[i] && gradients[i].shape() != c.inputs[i + 1].shape()) {
      throw_error<ShapeError>("custom_gradient: gradient ", i + 1, " has shape ", gradients[i].shape(), ", its input ",
                              c.inputs[i + 1].shape());
    }
  }
  gradients.insert(gradients.begin(), Value());
  return gradients;
}

std::optional<View> same_view(const Attributes&, const View& input) { return input; }

}  // namespace

std::span<const OpDef> control_operators() {
  static const OpDef rows[] = {
      {.id = OpId::constant,
       .doc = "Contents known when the node is made.",
       .min_inputs = 0,
       .max_inputs = 0,
       .traits = traits(Traits::leaf | Traits::takes_complex),
       .infer = infer_constant},
      {.id = OpId::state,
       .doc = "Storage that outlives a run.",
       .min_inputs = 0,
       .max_inputs = 0,
       .traits = traits(Traits::leaf | Traits::takes_complex),
       .infer = infer_state},
      {.id = OpId::read,
       .doc = "One version of a state.",
       .min_inputs = 0,
       .max_inputs = 1,
       .traits = traits(Traits::view | Traits::linear | Traits::takes_complex),
       .infer = infer_read,
       .view = same_view,
       .gradient = pass_gradient},
      {.id = OpId::copy,
       .doc = "A dense copy.",
       .traits = traits(Traits::linear | Traits::takes_complex),
       .in_place = InPlace::same_index,
       .infer = infer_same,
       .gradient = pass_gradient,
       .sample = [](DType t) -> Value { return copy(samples::line(t)); }},
      {.id = OpId::stop_gradient,
       .doc = "The value as a constant: no gradient flows through it.",
       .traits = traits(Traits::view | Traits::takes_complex),
       .infer = infer_same,
       .view = same_view,
       .sample = [](DType t) -> Value { return stop_gradient(samples::line(t)); }},
      {.id = OpId::alias,
       .doc = "The value as a node of its own, with respect to which gradients are taken.",
       .traits = traits(Traits::view | Traits::linear | Traits::takes_complex),
       .infer = infer_same,
       .view = same_view,
       .gradient = pass_gradient},
      {.id = OpId::with_gradient,
       .doc = "The first input, with a user's gradient rule for the others.",
       .min_inputs = 1,
       .max_inputs = 1 << 20,
       .traits = traits(Traits::view | Traits::takes_complex),
       .infer = infer_same,
       .view = same_view,
       .gradient = given_gradient},
      {.id = OpId::custom,
       .doc = "A user's function.",
       .min_inputs = 0,
       .max_inputs = 1 << 20,
       .traits = traits(Traits::takes_complex),
       .infer = infer_custom,
       .gradient = custom_gradient},
  };
  return rows;
}

}  // namespace tyto::core

namespace tyto TYTO_API {

template <class M>
Tensor<M> copy(const Tensor<M>& x) {
  return core::emit(core::OpId::copy, core::NoAttributes{}, {x});
}
TYTO_INSTANTIATE(copy)

}  // namespace TYTO_API
