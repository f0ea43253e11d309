// SPDX-License-Identifier: MIT
// Preprocessing of features, and probabilities by class: the operators of ai.onnx.ml beside models.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "onnx/operators/class_scores.hpp"
#include "onnx/program/operators.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/indexing.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"

namespace tyto::onnx {

namespace {

/// One number for all features or one for each, in a type.
Array by_feature(const OperatorCall& call, const char* attribute, const Array& numbers, const Array& x, DType type) {
  const std::int64_t features = x.ndim() == 0 ? 1 : axis_length(x, static_cast<std::size_t>(x.ndim() - 1));
  if (numbers.size() != 1 && numbers.size() != features) {
    call.refuse("attribute '", attribute, "' has ", numbers.size(), " elements, expected 1 or ", features);
  }
  return cast(numbers.size() == 1 ? reshape(numbers, {}) : numbers, type);
}

Outputs scaled_features(const OperatorCall& call) {
  const Array& x = call[0];
  const DType type = x.dtype() == DType::f64 ? DType::f64 : DType::f32;
  const Array offset = by_feature(call, "offset", vector_of(call.numbers("offset", {0})), x, type);
  const Array scale = by_feature(call, "scale", vector_of(call.numbers("scale", {1})), x, type);
  return {cast((cast(x, type) - offset) * scale, DType::f32)};
}

// Rows whose norm is zero stay as they are.
Outputs normalised_rows(const OperatorCall& call) {
  const Array x = cast(call[0], DType::f32);
  if (x.ndim() != 1 && x.ndim() != 2) call.refuse("input of shape ", x.shape(), "; expected one row or a matrix");
  const std::string_view name = call.text("norm", "MAX");
  Array norm;
  if (name == "MAX") {
    // The largest number, not that of the largest magnitude; NaN does not count.
    norm = max(where(isnan(x), std::numeric_limits<float>::lowest(), x), -1, true);
  } else if (name == "L1") {
    norm = l1_norm(x, -1, true);
  } else if (name == "L2") {
    norm = l2_norm(x, -1, true);
  } else {
    call.refuse("norm '", name, "'; known are MAX, L1 and L2");
  }
  return {x / where(equal(norm, 0.0), 1.0, norm)};
}

Outputs binarised(const OperatorCall& call) {
  return {cast(greater(call[0], call.number("threshold", 0)), call[0].dtype())};
}

Outputs imputed(const OperatorCall& call) {
  const Array& x = call[0];
  call.ignore(is_integer(x.dtype()) ? "replaced_value_float" : "replaced_value_int64");
  const char* attribute = is_integer(x.dtype()) ? "imputed_value_int64s" : "imputed_value_floats";
  if (!call.has(attribute))
    call.refuse("attribute '", attribute, "' is missing for elements of type ", name_of(x.dtype()));
  if (is_integer(x.dtype())) {
    call.ignore("imputed_value_floats");
    const Array values = by_feature(call, attribute, vector_of(call.integers(attribute)), x, x.dtype());
    return {where(equal(x, Array::full({}, call.integer("replaced_value_int64", 0), x.dtype())), values, x)};
  }
  call.ignore("imputed_value_int64s");
  const Array values = by_feature(call, attribute, vector_of(call.numbers(attribute)), x, x.dtype());
  const double replaced = call.number("replaced_value_float", 0);
  return {where(std::isnan(replaced) ? isnan(x) : equal(x, replaced), values, x)};
}

// The last axis at the places that the second input lists; a vector counts as a matrix of one row.
Outputs extracted(const OperatorCall& call) {
  const Array& x = call[0];
  if (x.ndim() == 0) call.refuse("input of no axes; expected one at least");
  return {take(x.ndim() == 1 ? expand_dims(x, 0) : x, reshape(call[1], {-1}), -1)};
}

// Each input has a number of columns: what it has too many is left out, what it lacks is zero.
Outputs joined_features(const OperatorCall& call) {
  std::vector<std::int64_t> widths = call.integers("inputdimensions");
  call.require_bounded("inputdimensions", widths);
  if (widths.size() != call.input_count()) {
    call.refuse("inputdimensions has ", widths.size(), " elements for ", call.input_count(), " inputs");
  }
  std::vector<Array> parts;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    const Array& x = call[i];
    if (x.ndim() == 0 || widths[i] < 0)
      call.refuse("input ", i + 1, " of shape ", x.shape(), " for ", widths[i], " columns");
    const std::int64_t rows = x.ndim() == 1 ? 1 : axis_length(x, 0);
    const std::int64_t has = rows == 0 ? widths[i] : x.size() / rows;
    const Array row = cast(reshape(x, {rows, has}), DType::f32);
    parts.push_back(has > widths[i] ? part_of(row, 1, 0, widths[i]) : row);
    if (has < widths[i]) parts.push_back(Array::zeros({rows, widths[i] - has}));
  }
  if (parts.empty()) call.refuse("it has no inputs");
  return {concat(parts, 1)};
}

// The map from classes to probabilities that each row becomes in ONNX is a row of a tensor here.
Outputs zipped(const OperatorCall& call) {
  const ClassLabels labels = class_labels(call, "classlabels_int64s", "classlabels_strings");
  const Array& x = call[0];
  if (x.ndim() == 0 || x.ndim() > 2) call.refuse("input of shape ", x.shape(), "; expected one row or a matrix");
  const std::int64_t columns = axis_length(x, static_cast<std::size_t>(x.ndim() - 1));
  if (columns != static_cast<std::int64_t>(labels.count())) {
    call.refuse("classlabels_int64s and classlabels_strings list ", labels.count(), " classes for ", columns,
                " columns");
  }
  return {call.operand(0)};
}

// Numbers of all types are looked up as integers; of a category that is listed twice the last place counts.
Outputs one_hot_of_categories(const OperatorCall& call) {
  const char* const list = call.is_text(0) ? "cats_strings" : "cats_int64s";
  std::vector<std::int64_t> categories = call.integers("cats_int64s");
  if (call.is_text(0)) categories.clear();
  const std::vector<std::string> words = call.texts("cats_strings");
  for (std::size_t i = 0; call.is_text(0) && i < words.size(); ++i) categories.push_back(call.code_of(words[i]));
  if (categories.empty()) call.refuse("attribute '", list, "' is missing");
  std::vector<std::uint8_t> counts(categories.size());
  for (std::size_t i = 0; i < categories.size(); ++i) {
    counts[i] = std::find(categories.begin() + static_cast<std::ptrdiff_t>(i) + 1, categories.end(), categories[i]) ==
                categories.end();
  }
  const Array hot =
      logical_and(equal(expand_dims(cast(call[0], DType::i64), -1), vector_of(categories)), vector_of(counts));
  if (call.integer("zeros", 1) != 0) return {cast(hot, DType::f32)};
  // A value that is no category is an error then: it has no row among the unit vectors.
  const std::int64_t count = std::ssize(categories);
  const Array place = where(any(hot, -1), argmax(cast(hot, DType::i8), -1), Array::full({}, count, DType::i64));
  return {take(Array::eye(count), place, 0)};
}

constexpr OperatorRow feature_table[] = {
    {"ArrayFeatureExtractor", 1, extracted},
    {"Binarizer", 1, binarised},
    {"FeatureVectorizer", 1, joined_features},
    {"Imputer", 1, imputed},
    {"Normalizer", 1, normalised_rows},
    {"OneHotEncoder", 1, one_hot_of_categories},
    {"Scaler", 1, scaled_features},
    {"ZipMap", 1, zipped},
};

}  // namespace

std::span<const OperatorRow> feature_rows() { return feature_table; }

}  // namespace tyto::onnx
