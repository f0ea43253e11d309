// SPDX-License-Identifier: MIT
// Linear models and support vector machines.
#include <algorithm>
#include <string_view>

#include "onnx/operators/class_scores.hpp"
#include "onnx/program/operators.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/flow.hpp"
#include "tyto/indexing.hpp"
#include "tyto/products.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"

namespace tyto::onnx {

namespace {

Array singles(const std::vector<double>& numbers) { return cast(vector_of(numbers), DType::f32); }

/// An attribute's numbers as a matrix of so many columns.
Array matrix_of(const OperatorCall& call, const char* attribute, const std::vector<double>& numbers, std::int64_t rows,
                std::int64_t columns) {
  if (rows < 1 || std::ssize(numbers) % rows != 0 || std::ssize(numbers) / rows != columns) {
    call.refuse("attribute '", attribute, "' has ", numbers.size(), " elements, expected ", rows, " rows of ", columns,
                " features");
  }
  return reshape(singles(numbers), {rows, columns});
}

std::vector<double> required_numbers(const OperatorCall& call, const char* attribute) {
  std::vector<double> numbers = call.numbers(attribute);
  if (numbers.empty()) call.refuse("attribute '", attribute, "' is missing");
  return numbers;
}

Array single_rows(const OperatorCall& call) { return cast(rows_of_features(call), DType::f32); }

Outputs linear_regressor(const OperatorCall& call) {
  const Array x = single_rows(call);
  const std::int64_t targets = call.integer("targets", 1);
  const std::vector<double> intercepts = call.numbers("intercepts");
  const Array weights =
      matrix_of(call, "coefficients", required_numbers(call, "coefficients"), targets, axis_length(x, 1));
  Array y = matmul(x, transpose(weights));
  if (std::ssize(intercepts) == targets) y = y + singles(intercepts);
  const PostTransform transform = post_transform_of(call);
  return {targets == 1 ? transformed_column(y, transform) : transformed(y, transform)};
}

Outputs linear_classifier(const OperatorCall& call) {
  const Array x = single_rows(call);
  call.ignore("multi_class");  // scores do not depend on it
  const PostTransform transform = post_transform_of(call);
  ClassLabels labels = class_labels(call, "classlabels_ints", "classlabels_strings");
  const std::vector<double> coefficients = required_numbers(call, "coefficients"),
                            intercepts = call.numbers("intercepts");
  const std::int64_t width = axis_length(x, 1);
  const std::int64_t count =
      !intercepts.empty() || width == 0 ? std::ssize(intercepts) : std::ssize(coefficients) / width;
  const Array weights = matrix_of(call, "coefficients", coefficients, count, width);
  Array scores = matmul(x, transpose(weights));
  if (!intercepts.empty()) scores = scores + singles(intercepts);
  if (count == 1) {
    const bool second = labels.count() == 2;
    if (labels.count() == 0) labels.numbers = {0, 1};
    if (labels.count() != 2) call.refuse(labels.count(), " classes for one score, expected 2");
    const Array score = at_position(scores, 1, 0);
    return labelled(call, labels, cast(greater(score, 0.0), DType::i64),
                    second ? pair_of(score, transform, true) : transformed_column(scores, transform));
  }
  if (std::ssize(labels.numbers) + std::ssize(labels.texts) != count) {
    call.refuse("classlabels_ints and classlabels_strings list ", labels.count(), " classes, intercepts ", count);
  }
  return labelled(call, labels, argmax(scores, 1), transformed(scores, transform));
}

/// The kernel function of a support vector machine between rows and vectors, with its parameters gamma, coef0 and
/// degree.
Array kernel_values(const OperatorCall& call, std::string_view kernel, const Array& x, const Array& vectors) {
  const std::vector<double> parameters = call.numbers("kernel_params", {0, 0, 0});
  if (parameters.size() != 3) call.refuse("kernel_params has ", parameters.size(), " elements, expected 3");
  const double gamma = parameters[0], coefficient = parameters[1], degree = parameters[2];
  if (kernel == "RBF") {
    return exp(sum(square(expand_dims(x, 1) - expand_dims(vectors, 0)), 2) * -gamma);
  }
  const Array product = matmul(x, transpose(vectors));
  if (kernel == "LINEAR") return product;
  if (kernel == "POLY") return power(product * gamma + coefficient, degree);
  if (kernel == "SIGMOID") return tanh(product * gamma + coefficient);
  call.refuse("kernel_type '", kernel, "'; known are LINEAR, POLY, RBF and SIGMOID");
}

/// Without support vectors the machine is linear, whatever its kernel is said to be.
Array linear_scores(const OperatorCall& call, const Array& x, std::int64_t count) {
  call.ignore("kernel_type");
  call.ignore("kernel_params");
  call.ignore("support_vectors");
  const Array weights =
      matrix_of(call, "coefficients", required_numbers(call, "coefficients"), count, axis_length(x, 1));
  return matmul(x, transpose(weights)) + required_numbers(call, "rho").front();
}

Array support_values(const OperatorCall& call, const Array& x, std::int64_t count) {
  const Array vectors = matrix_of(call, "support_vectors", call.numbers("support_vectors"), count, axis_length(x, 1));
  return kernel_values(call, call.text("kernel_type", "LINEAR"), x, vectors);
}

Outputs support_vector_regressor(const OperatorCall& call) {
  const Array x = single_rows(call);
  const std::int64_t count = call.integer("n_supports", 0);
  call.ignore("post_transform");  // ONNX Runtime applies none
  Array y;
  if (count <= 0) {
    y = linear_scores(call, x, 1);
  } else {
    const std::vector<double> weights = required_numbers(call, "coefficients");
    if (std::ssize(weights) != count)
      call.refuse("coefficients has ", weights.size(), " elements, expected n_supports, ", count);
    y = matmul(support_values(call, x, count), expand_dims(singles(weights), 1)) +
        required_numbers(call, "rho").front();
  }
  return {call.integer("one_class", 0) != 0 ? where(greater(y, 0.0), cast(ones_like(y), DType::f32), -1.0) : y};
}

/// Wu, Lin and Weng's estimates of the probabilities of classes (rows, classes) from those of pairs (rows, classes,
/// classes), with the steps and the end of ONNX Runtime's iteration. That ends where errors are below 0.005 over the
/// number of classes, so that a row close to it may take one step more or fewer than there.
Array class_probabilities(const Array& of_pairs, std::int64_t classes) {
  const Array unit = Array::eye(classes);
  const Array mirrored = transpose(of_pairs, {0, 2, 1});
  const Array diagonal = sum(square(mirrored), 2);  // of_pairs has zeros on its diagonal
  const Array q = where(cast(unit, DType::boolean), expand_dims(diagonal, 2), -(mirrored * of_pairs));
  // Made from an operand, so that the loop is recorded where that is.
  const Array start = full_like(diagonal, 1.0 / static_cast<double>(classes));
  const auto products = [&](const Array& p) { return squeeze(matmul(q, expand_dims(p, 2)), 2); };
  const double tolerance = 0.005 / static_cast<double>(classes);
  const auto unfinished = [&](const Array& p) {
    const Array each = products(p);
    return greater_equal(max(abs(each - sum(p * each, 1, true)), 1, true), tolerance);
  };
  return while_loop(
      start, [&](const Array& p) { return any(unfinished(p)); },
      [&](const Array& p) {
        const Array each = products(p);
        const std::vector<Array> swept = fori_loop(
            0, classes, std::vector<Array>{p, each, sum(p * each, 1, true)},
            [&](const Array& i, const std::vector<Array>& carries) {
              const Array at = expand_dims(take(unit, i, 0), 0);
              const Array own = sum(carries[1] * at, 1, true), weight = sum(diagonal * at, 1, true);
              const Array step = (carries[2] - own) / weight, scale = 1.0 + step;
              const Array total = (carries[2] + step * (step * weight + own * 2.0)) / scale / scale;
              const Array column = take(q, i, 2);
              return std::vector<Array>{(carries[0] + step * at) / scale, (carries[1] + step * column) / scale, total};
            });
        return where(unfinished(p), swept[0], p);
      },
      {.most = 100});
}

/// The scores of a machine for each pair of classes (rows, pairs), in the order of the first class, then the second.
Array pairwise_scores(const OperatorCall& call, const Array& x, const std::vector<std::int64_t>& counts) {
  const std::int64_t classes = std::ssize(counts);
  std::int64_t vectors = 0;
  for (const std::int64_t count : counts) {
    if (count < 0) call.refuse("vectors_per_class has ", count);
    call.require_bounded("vectors_per_class", count);
    vectors += count;
  }
  const std::vector<double> coefficients = required_numbers(call, "coefficients"), rho = required_numbers(call, "rho");
  const std::int64_t pairs = classes * (classes - 1) / 2;
  if (std::ssize(coefficients) != (classes - 1) * vectors) {
    call.refuse("coefficients has ", coefficients.size(), " elements, expected ", classes - 1, " rows of ", vectors);
  }
  if (std::ssize(rho) != pairs) call.refuse("rho has ", rho.size(), " elements for ", pairs, " pairs of classes");
  const Array values = support_values(call, x, vectors);
  // Row j - 1 has the weights of class i's vectors against class j, and row i those of class j's against i.
  std::vector<float> weights(static_cast<std::size_t>(pairs * vectors), 0);
  std::vector<std::int64_t> begins(1, 0);
  for (const std::int64_t count : counts) begins.push_back(begins.back() + count);
  const auto copy_class = [&](std::int64_t pair, std::int64_t which, std::int64_t row) {
    const auto at = static_cast<std::size_t>(which);
    for (std::int64_t k = begins[at]; k < begins[at + 1]; ++k) {
      weights[static_cast<std::size_t>(pair * vectors + k)] =
          static_cast<float>(coefficients[static_cast<std::size_t>(row * vectors + k)]);
    }
  };
  std::int64_t pair = 0;
  for (std::int64_t i = 0; i < classes; ++i) {
    for (std::int64_t j = i + 1; j < classes; ++j, ++pair) {
      copy_class(pair, i, j - 1);
      copy_class(pair, j, i);
    }
  }
  // Weights of both signs nearly cancel one another.
  const Array sums =
      matmul(cast(values, DType::f64), transpose(cast(Array::from(weights, {pairs, vectors}), DType::f64)));
  return cast(sums + vector_of(rho), DType::f32);
}

/// Values of pairs of classes (rows, pairs), and their opposites, as matrices (rows, classes, classes): `first` above
/// the diagonal, `second` below, zeros on it.
Array matrices_of_pairs(const Array& first, const Array& second, std::int64_t classes) {
  const std::int64_t pairs = axis_length(first, 1);
  const Array all = concat<Any>({first, second, Array::zeros({axis_length(first, 0), 1})}, 1);
  std::vector<std::int64_t> places(static_cast<std::size_t>(classes * classes), 2 * pairs);
  std::int64_t pair = 0;
  for (std::int64_t i = 0; i < classes; ++i) {
    for (std::int64_t j = i + 1; j < classes; ++j, ++pair) {
      places[static_cast<std::size_t>(i * classes + j)] = pair;
      places[static_cast<std::size_t>(j * classes + i)] = pairs + pair;
    }
  }
  return take(all, Array::from(places, {classes, classes}), 1);
}

Array class_of_most_votes(const Array& scores, std::int64_t classes) {
  const Array first = cast(greater(scores, 0.0), DType::f32);
  return argmax(sum(matrices_of_pairs(first, 1.0 - first, classes), 2), 1);
}

Array probabilities_of_pairs(const OperatorCall& call, const Array& scores, std::int64_t classes,
                             const std::vector<double>& a, const std::vector<double>& b) {
  const std::int64_t pairs = axis_length(scores, 1);
  if (std::ssize(a) != pairs || std::ssize(b) != pairs) {
    call.refuse("prob_a and prob_b have ", a.size(), " and ", b.size(), " elements for ", pairs, " pairs of classes");
  }
  const Array won = clip(1.0 - sigmoid(scores * singles(a) + singles(b)), 1e-7, 1 - 1e-7);
  return matrices_of_pairs(won, 1.0 - won, classes);
}

Outputs support_vector_classifier(const OperatorCall& call) {
  const Array x = single_rows(call);
  const ClassLabels labels = class_labels(call, "classlabels_ints", "classlabels_strings");
  const auto classes = static_cast<std::int64_t>(labels.count());
  if (classes == 0) call.refuse("neither classlabels_ints nor classlabels_strings lists classes");
  const PostTransform transform = post_transform_of(call);
  const std::vector<std::int64_t>& counts = call.integers("vectors_per_class");
  const std::vector<double> a = call.numbers("prob_a"), b = call.numbers("prob_b");
  const bool linear = std::all_of(counts.begin(), counts.end(), [](std::int64_t count) { return count == 0; });
  if (linear) {
    const Array scores = linear_scores(call, x, classes);
    Array best = argmax(scores, 1);
    if (classes == 2) {
      // Whichever class it is of, a score that says yes means the second, in ONNX Runtime.
      const std::vector<double> weights = call.numbers("coefficients");
      const bool positive = std::all_of(weights.begin(), weights.end(), [](double weight) { return weight >= 0; });
      const Array largest = max(scores, 1);
      const Array yes = positive ? greater_equal(largest, 0.5) : greater(largest, 0.0);
      if (a.empty()) best = where(yes, 1, best);
    }
    return labelled(call, labels, best,
                    classes == 1 ? transformed_column(scores, transform) : transformed(scores, transform));
  }
  if (std::ssize(counts) != classes)
    call.refuse("vectors_per_class has ", counts.size(), " elements for ", classes, " classes");
  if (classes == 1) call.refuse("one class; machines of support vectors tell two or more apart");
  const Array scores = pairwise_scores(call, x, counts);
  const Array best = class_of_most_votes(scores, classes);
  if (!a.empty()) {
    const Array of_pairs = probabilities_of_pairs(call, scores, classes, a, b);
    return labelled(call, labels, best, transformed(class_probabilities(of_pairs, classes), transform));
  }
  if (classes > 2) return labelled(call, labels, best, transformed(scores, transform));
  return labelled(call, labels, best, pair_of(at_position(scores, 1, 0), transform, transform != PostTransform::none));
}

constexpr OperatorRow linear_model_table[] = {
    {"LinearClassifier", 1, linear_classifier},
    {"LinearRegressor", 1, linear_regressor},
    {"SVMClassifier", 1, support_vector_classifier},
    {"SVMRegressor", 1, support_vector_regressor},
};

}  // namespace

std::span<const OperatorRow> linear_model_rows() { return linear_model_table; }

}  // namespace tyto::onnx
