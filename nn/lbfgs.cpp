// SPDX-License-Identifier: MIT
// L-BFGS: the last steps and differences of gradients stand in for the inverse of the matrix of second derivatives.
#include "core/value/text.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/flow.hpp"
#include "tyto/nn/rules.hpp"
#include "tyto/products.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"

namespace tyto TYTO_API {
namespace nn {

namespace {

using Array = Tensor<Any>;

// Below it a pair says nothing of the curvature: the matrix would not stay positive.
constexpr double smallest_curvature = 1e-10;

/// The optimiser state of the rule, its tensors as they stand behind one another.
struct OptimiserState {
  explicit OptimiserState(std::span<Array> state)
      : steps(state[0]),
        differences(state[1]),
        gradient(state[2]),
        direction(state[3]),
        rate(state[4]),
        scale(state[5]),
        iterations(state[6]) {}

  Array &steps, &differences;          ///< one pair a row, the newest last; zeros where there is none yet
  Array &gradient, &direction, &rate;  ///< of the iteration before
  Array& scale;                        ///< of the first matrix
  Array& iterations;
};

/// Rows with `row` as the last one and without the first.
Array pushed(const Array& rows, const Array& row) {
  return concat({std::as_const(rows)(slice(1, rows.shape()[0])), expand_dims(row, 0)}, 0);
}

/// The matrix times the negative gradient, by the two loops of Nocedal (1980).
Array direction_of(const Array& gradient, const OptimiserState& own) {
  const Array curvatures = sum(own.steps * own.differences, {1});
  const Array known = greater(curvatures, smallest_curvature);
  const Array inverse = where(known, 1.0 / where(known, curvatures, 1.0), 0.0);
  const auto back = [](const Array& q, const std::tuple<Array, Array, Array>& pair) {
    const auto& [step, difference, weight] = pair;
    const Array share = weight * dot(step, q);
    return std::pair(q - share * difference, share);
  };
  const auto pairs = std::tuple(own.steps, own.differences, inverse);
  const auto [q, shares] = scan(back, -gradient, pairs, {.reverse = true});
  const auto forth = [](const Array& r, const std::tuple<Array, Array, Array, Array>& pair) {
    const auto& [step, difference, weight, share] = pair;
    return std::pair(r + (share - weight * dot(difference, r)) * step, std::vector<Array>{});
  };
  return scan(forth, q * own.scale, std::tuple(own.steps, own.differences, inverse, shares)).first;
}

}  // namespace

Descent lbfgs(const LbfgsOptions& o) {
  if (o.history < 1) core::throw_error<ValueError>("lbfgs: history = ", o.history, " must be at least 1");
  const auto change = [o](const UpdateContext& context) {
    const OptimiserState own(context.state);
    const Array& gradient = context.gradient;
    const Array goes_on = greater(max(abs(gradient)), o.smallest_gradient);
    const Array first = less(own.iterations, 0.5);
    const Array difference = gradient - own.gradient, step = own.rate * own.direction;
    const Array curvature = dot(difference, step);
    const Array learns = goes_on && !first && greater(curvature, smallest_curvature);
    own.steps = where(learns, pushed(own.steps, step), own.steps);
    own.differences = where(learns, pushed(own.differences, difference), own.differences);
    const Array squares = where(learns, dot(difference, difference), 1.0);
    own.scale = where(first, 1.0, where(learns, curvature / squares, own.scale));
    own.direction = where(goes_on, direction_of(gradient, own), own.direction);
    own.gradient = where(goes_on, gradient, own.gradient);
    const Array careful = minimum(1.0, 1.0 / sum(abs(gradient))) * context.rate;
    own.rate = where(goes_on, where(first, careful, context.rate), own.rate);
    own.iterations = own.iterations + cast(goes_on, own.iterations.dtype());
    const Array descends = goes_on && less_equal(dot(gradient, own.direction), -o.smallest_descent);
    return where(descends, -own.rate * own.direction, 0.0);
  };
  const auto state_shapes = [rows = o.history](const Shape& all) {
    const Shape pairs{rows, all[0]};
    return NamedList<Shape>{{"steps", pairs}, {"differences", pairs}, {"gradient", all}, {"direction", all}};
  };
  return Descent({.name = "lbfgs",
                  .state_names = {},
                  .rate = o.rate,
                  .change = change,
                  .numbers = {"rate", "scale", "iterations"},
                  .shaped = state_shapes,
                  .joint = true});
}

}  // namespace nn
}  // namespace TYTO_API
