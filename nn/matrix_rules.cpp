// SPDX-License-Identifier: MIT
// Rules of descent that treat a parameter as a matrix: Adafactor and Muon.
#include <cmath>
#include <limits>

#include "nn/layer_parts.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/nn/rules.hpp"
#include "tyto/products.hpp"
#include "tyto/reduce.hpp"

namespace tyto TYTO_API {
namespace nn {

namespace {

using Array = Tensor<Any>;

Array root_mean_square(const Array& x) { return sqrt(mean(square(x))); }

/// average + share * (x - average), which the average is from now on.
const Array& enter(Array& average, const Array& x, const Array& share) {
  average = average + share * (x - average);
  return average;
}

/// The nearest matrix whose singular values are all about 1: each iteration takes them through an odd polynomial that
/// is steepest at 0, by products alone (Jordan 2024).
Array orthogonalised(const Array& x, std::int64_t iterations, double epsilon) {
  constexpr double a = 3.4445, b = -4.7750, c = 2.0315;
  const bool tall = x.shape()[0] > x.shape()[1];  // the smaller Gram matrix is the cheaper one
  Array y = tall ? transpose(x) : x;
  y = y / maximum(l2_norm(y), epsilon);
  for (std::int64_t i = 0; i < iterations; ++i) {
    const Array gram = matmul(y, transpose(y));
    y = a * y + matmul(b * gram + c * matmul(gram, gram), y);
  }
  return tall ? transpose(y) : y;
}

}  // namespace

Descent adafactor(const AdafactorOptions& o) {
  if (!(o.decay_power <= 0)) {
    core::throw_error<ValueError>("adafactor: decay_power = ", o.decay_power, " must be at most 0");
  }
  if (!(o.clip >= 1)) core::throw_error<ValueError>("adafactor: clip = ", o.clip, " must be at least 1");
  if (!(o.epsilon1.value_or(0) >= 0 && o.epsilon2 >= 0 && o.weight_decay >= 0)) {
    core::throw_error<ValueError>("adafactor: epsilon1 = ", o.epsilon1.value_or(0), ", epsilon2 = ", o.epsilon2,
                                  " and weight_decay = ", o.weight_decay, " must be at least 0");
  }
  const auto change = [o](const UpdateContext& context) {
    const Array &gradient = context.gradient, squares = square(gradient);
    const double spacing =
        gradient.dtype() == DType::f64 ? std::numeric_limits<double>::epsilon() : std::ldexp(1.0, -23);
    const double least = o.epsilon1.value_or(spacing);
    const Array share = power(context.count, o.decay_power);
    Array estimate;
    if (gradient.ndim() > 1) {
      const Array rows = enter(context.state[0], mean(squares, -1, true), share);
      const Array columns = enter(context.state[1], mean(squares, -2, true), share);
      estimate = rows * columns / maximum(mean(rows, -2, true), least);
    } else {
      estimate = enter(context.state[0], squares, share);
    }
    const Array direction = gradient * rsqrt(maximum(estimate, least * least));
    const Array relative = minimum(context.rate, rsqrt(context.count));
    const Array step = maximum(root_mean_square(context.parameter), o.epsilon2) * relative /
                       maximum(root_mean_square(direction) / o.clip, 1.0);
    const Array own = step * direction;
    return o.weight_decay == 0 ? own : own + context.rate * o.weight_decay * context.parameter;
  };
  const auto state_shapes = [](const Shape& parameter) {
    if (parameter.size() < 2) return NamedList<Shape>{{"square_mean", parameter}};
    Shape rows = parameter, columns = parameter;
    rows[parameter.size() - 1] = 1;
    columns[parameter.size() - 2] = 1;
    return NamedList<Shape>{{"row_square_mean", rows}, {"column_square_mean", columns}};
  };
  return Descent({.name = "adafactor",
                  .state_names = {},
                  .rate = o.rate,
                  .change = change,
                  .shaped = state_shapes,
                  .counted = true});
}

Descent muon(const MuonOptions& o) {
  if (!(o.momentum >= 0 && o.momentum < 1)) {
    core::throw_error<ValueError>("muon: momentum = ", o.momentum, " must be in [0, 1)");
  }
  if (!(o.weight_decay >= 0))
    core::throw_error<ValueError>("muon: weight_decay = ", o.weight_decay, " must be at least 0");
  if (o.iterations < 1) core::throw_error<ValueError>("muon: iterations = ", o.iterations, " must be at least 1");
  const auto change = [o](const UpdateContext& context) {
    const Shape& shape = context.parameter.shape();
    if (shape.size() < 2) {
      core::throw_error<ShapeError>("muon: a parameter of shape ", shape,
                                    " is no matrix; give it another rule by Descent::use");
    }
    Array& mean = context.state[0];
    mean = o.momentum * mean + (1 - o.momentum) * context.gradient;
    const Array ahead = o.nesterov ? o.momentum * mean + (1 - o.momentum) * context.gradient : mean;
    const std::int64_t out = shape.back(), in = element_count(shape) / std::max<std::int64_t>(out, 1);
    const Array direction = reshape(orthogonalised(reshape(ahead, {in, out}), o.iterations, o.epsilon), shape);
    const auto rows = static_cast<double>(in), columns = static_cast<double>(out);
    const double factor = o.scale == MuonScale::shape ? std::sqrt(std::max(1.0, columns / rows))
                                                      : 0.2 * std::sqrt(std::max(rows, columns));
    return context.rate * (factor * direction + o.weight_decay * context.parameter);
  };
  return Descent({.name = "muon", .state_names = {"mean"}, .rate = o.rate, .change = change});
}

}  // namespace nn
}  // namespace TYTO_API
