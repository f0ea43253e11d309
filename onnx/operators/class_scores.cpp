// SPDX-License-Identifier: MIT
// Transforms scores as ONNX Runtime does, and reads features and labels for the models of ai.onnx.ml.
#include "onnx/operators/class_scores.hpp"

#include <array>
#include <numbers>

#include "onnx/file/element_types.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/indexing.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"

namespace tyto::onnx {

namespace {

constexpr std::array<std::string_view, 5> transform_names = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};

// Winitzki's approximation of the inverse of erf, which is right to 0.002 only: it is what ONNX Runtime computes.
Array probit(const Array& probability) {
  constexpr double a = 0.147;
  const Array x = probability * 2.0 - 1.0;
  const Array logarithm = log((1.0 - x) * (1.0 + x));
  const Array half = logarithm * 0.5 + 2 / (std::numbers::pi * a);
  const Array magnitude = sqrt(sqrt(half * half - logarithm * (1 / a)) - half);
  return where(less(x, 0.0), -magnitude, magnitude) * std::numbers::sqrt2;
}

// Scores of zero stay so and do not count.
Array softmax_of_nonzero(const Array& scores) {
  const Array largest = max(scores, 1, true);
  const Array counts = greater(abs(scores), 1e-7);
  const Array powers = where(counts, exp(scores - largest), 0.0);
  return where(counts, powers, scores * exp(-largest)) / sum(powers, 1, true);
}

}  // namespace

PostTransform post_transform_of(const OperatorCall& call) {
  const std::string_view name = call.text("post_transform", "NONE");
  for (std::size_t i = 0; i < transform_names.size(); ++i) {
    if (name == transform_names[i]) return static_cast<PostTransform>(i);
  }
  call.refuse("post_transform '", name, "'; known are NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO and PROBIT");
}

Array transformed(const Array& scores, PostTransform transform) {
  switch (transform) {
    case PostTransform::softmax: return softmax(scores, 1);
    case PostTransform::logistic: return sigmoid(scores);
    case PostTransform::softmax_zero: return softmax_of_nonzero(scores);
    case PostTransform::probit: return probit(scores);
    case PostTransform::none: break;
  }
  return scores;
}

Array transformed_column(const Array& scores, PostTransform transform) {
  return transform == PostTransform::probit ? probit(scores) : scores;
}

Array pair_of(const Array& scores, PostTransform transform, bool probabilities) {
  if (transform == PostTransform::logistic) return stack<Any>({sigmoid(-scores), sigmoid(scores)}, 1);
  if (transform == PostTransform::probit) return stack<Any>({probit(scores), zeros_like(scores)}, 1);
  return stack<Any>({probabilities ? 1.0 - scores : -scores, scores}, 1);
}

Array rows_of_features(const OperatorCall& call) {
  const Array& x = call[0];
  if (x.ndim() == 1) return expand_dims(x, 0);
  if (x.ndim() != 2) call.refuse("input of shape ", x.shape(), "; expected a matrix (rows, features) or one row");
  return x;
}

Array floating_rows(const OperatorCall& call) {
  return cast(rows_of_features(call), call[0].dtype() == DType::f64 ? DType::f64 : DType::f32);
}

ClassLabels class_labels(const OperatorCall& call, const char* numbers, const char* texts) {
  ClassLabels labels{call.integers(numbers), call.texts(texts)};
  if (!labels.numbers.empty() && !labels.texts.empty()) {
    call.refuse("attributes '", numbers, "' and '", texts, "' both list classes");
  }
  return labels;
}

Outputs labelled(const OperatorCall& call, const ClassLabels& labels, const Array& classes, const Array& scores) {
  std::vector<std::int64_t> numbers = labels.numbers;
  for (const std::string& text : labels.texts) numbers.push_back(call.code_of(text));
  Operand label(take(vector_of(numbers), classes, 0));
  if (!labels.texts.empty()) label.element_type = text_type;
  return Outputs(std::vector<Operand>{label, scores});
}

}  // namespace tyto::onnx
