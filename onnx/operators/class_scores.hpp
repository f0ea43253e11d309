// SPDX-License-Identifier: MIT
// Shared by the classifiers and regressors of ai.onnx.ml: rows of features, transforms of scores, labels of classes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "onnx/program/operator_call.hpp"
#include "tyto/tensor.hpp"

namespace tyto::onnx {

/// The final transform of scores, by the numbers that TreeEnsemble has for them.
enum class PostTransform : std::uint8_t { none = 0, softmax = 1, logistic = 2, softmax_zero = 3, probit = 4 };

/// The one that the attribute `post_transform` names.
PostTransform post_transform_of(const OperatorCall& call);

/// Transformed scores (rows, columns).
Array transformed(const Array& scores, PostTransform transform);
/// Where a column alone is only transformed by PROBIT, as ONNX Runtime does it.
Array transformed_column(const Array& scores, PostTransform transform);
/// Two columns of the scores (rows) of the second of two classes: 1 - s and s where they are probabilities, else
/// -s and s. Of PROBIT ONNX Runtime computes one column, the first.
Array pair_of(const Array& scores, PostTransform transform, bool probabilities);

/// The first input as a matrix (rows, features); a vector is one row.
Array rows_of_features(const OperatorCall& call);
/// The same in the type that models compute in: f64 for f64, else f32.
Array floating_rows(const OperatorCall& call);

/// Classes as a classifier lists them: numbers or texts, or none at all.
struct ClassLabels {
  std::vector<std::int64_t> numbers;
  std::vector<std::string> texts;

  std::size_t count() const { return texts.empty() ? numbers.size() : texts.size(); }
};

/// Throws IoError where both attributes list some.
ClassLabels class_labels(const OperatorCall& call, const char* numbers, const char* texts);

/// The labels of classes by number, and scores.
Outputs labelled(const OperatorCall& call, const ClassLabels& labels, const Array& classes, const Array& scores);

template <class E>
Array vector_of(const std::vector<E>& numbers) {
  return Array::from(numbers, {std::ssize(numbers)});
}

}  // namespace tyto::onnx
