// SPDX-License-Identifier: MIT
// Softmax and its logarithm as operators of their own, and the losses made of them.
#include "core/graph/op_ids.hpp"
#include "ops/define.hpp"
#include "ops/samples.hpp"
#include "tyto/indexing.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"

namespace tyto::core {

namespace {

using T = AnyTensor;

std::vector<TensorType> infer_softmax(const Attributes& attributes, std::span<const TensorType> inputs) {
  (void)axis_among("softmax", get<AxisAttributes>(attributes).axis, inputs[0].shape);
  if (!is_floating(inputs[0].dtype))
    throw_error<TypeError>("softmax: a floating type is needed, not ", inputs[0].dtype);
  return one(inputs[0].dtype, inputs[0].shape);
}

std::vector<Value> softmax_gradient(const GradientContext& c) {
  const T y = c.results[0], g = c.gradients[0];
  const std::int64_t axis = get<AxisAttributes>(c.attributes).axis;
  return {y * (g - sum(g * y, axis, true))};
}

std::vector<Value> log_softmax_gradient(const GradientContext& c) {
  const T y = c.results[0], g = c.gradients[0];
  const std::int64_t axis = get<AxisAttributes>(c.attributes).axis;
  return {g - exp(y) * sum(g, axis, true)};
}

}  // namespace

std::span<const OpDef> softmax_operators() {
  static const OpDef rows[] = {
      {.id = OpId::softmax,
       .doc = "exp(x) over its sum along an axis.",
       .in_place = InPlace::same_index,  // rows are read before they are written
       .infer = infer_softmax,
       .gradient = rule_in_f32<softmax_gradient>,
       .sample = [](DType t) -> Value { return softmax(samples::line(t)); }},
      {.id = OpId::log_softmax,
       .doc = "Logarithm of softmax.",
       .in_place = InPlace::same_index,
       .infer = infer_softmax,
       .gradient = rule_in_f32<log_softmax_gradient>,
       .sample = [](DType t) -> Value { return log_softmax(samples::line(t)); }},
  };
  return rows;
}

}  // namespace tyto::core

namespace tyto TYTO_API {

template <class M>
Tensor<M> softmax(const Tensor<M>& x, std::int64_t axis) {
  core::require("softmax", x);
  return core::emit(core::OpId::softmax, core::AxisAttributes{core::normalise_axis("softmax", axis, x.ndim())},
                    {core::as_floating(x)});
}

template <class M>
Tensor<M> log_softmax(const Tensor<M>& x, std::int64_t axis) {
  core::require("log_softmax", x);
  return core::emit(core::OpId::log_softmax, core::AxisAttributes{core::normalise_axis("log_softmax", axis, x.ndim())},
                    {core::as_floating(x)});
}

namespace detail {

template <class M>
Tensor<M> at_labels(std::string_view loss, const Tensor<M>& x, const Tensor<M>& labels) {
  TYTO_ONCE(at_labels, loss, x, labels);
  const bool numbers = is_integer(labels.dtype());
  const Tensor<M> places =
      numbers ? check_bounds(
                    cast(labels, DType::i64),
                    {.high = x.shape().back() - 1, .caller = std::string(loss), .subject = "label", .range = "classes"})
              : labels;
  return squeeze(take_along_axis(x, expand_dims(places, -1), -1), -1);
}

}  // namespace detail

template <class M>
Tensor<M> cross_entropy(const Tensor<M>& logits, const std::type_identity_t<Tensor<M>>& labels) {
  TYTO_ONCE(cross_entropy, logits, labels);
  core::require("cross_entropy", logits, labels);
  if (logits.ndim() < 1) throw ShapeError("cross_entropy: logits need a class axis, given a 0-d tensor");
  if (const auto found = core::in_f32(&cross_entropy<M>, logits, labels)) return *found;
  const Tensor<M> scores = log_softmax(logits, -1);
  const Shape rows(std::span<const std::int64_t>(logits.shape().data(), logits.shape().size() - 1));
  if (is_floating(labels.dtype())) {
    if (labels.shape() != logits.shape()) {
      core::throw_error<ShapeError>(
          "cross_entropy: distributions ", labels.shape(), " must have the logits' shape ", logits.shape(),
          labels.shape() == rows ? "; class labels are integers: labels.astype(DType::i64)" : "");
    }
    return negate(mean(sum(scores * labels, -1)));
  }
  if (labels.shape() != rows) {
    core::throw_error<ShapeError>("cross_entropy: labels ", labels.shape(), " for logits ", logits.shape(),
                                  " must have shape ", rows);
  }
  return negate(mean(detail::at_labels("cross_entropy", scores, labels)));
}

template <class M>
Tensor<M> mean_squared_error(const Tensor<M>& prediction, const std::type_identity_t<Tensor<M>>& target) {
  TYTO_ONCE(mean_squared_error, prediction, target);
  core::require("mean_squared_error", prediction, target);
  if (prediction.shape() != target.shape()) {
    core::throw_error<ShapeError>("mean_squared_error: prediction ", prediction.shape(), " and target ", target.shape(),
                                  " differ in shape");
  }
  if (const auto found = core::in_f32(&mean_squared_error<M>, prediction, target)) return *found;
  return mean(square(Tensor<M>(core::as_floating(prediction)) - Tensor<M>(core::as_floating(target))));
}

TYTO_INSTANTIATE(softmax)
TYTO_INSTANTIATE(log_softmax)
namespace detail {
template Tensor<Eager> at_labels(std::string_view, const Tensor<Eager>&, const Tensor<Eager>&);
template Tensor<Lazy> at_labels(std::string_view, const Tensor<Lazy>&, const Tensor<Lazy>&);
template Tensor<Any> at_labels(std::string_view, const Tensor<Any>&, const Tensor<Any>&);
}  // namespace detail
TYTO_INSTANTIATE(cross_entropy)
TYTO_INSTANTIATE(mean_squared_error)

}  // namespace TYTO_API
