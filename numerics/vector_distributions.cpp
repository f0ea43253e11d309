// SPDX-License-Identifier: MIT
// Distributions of vectors: counts of several classes, parts of a whole, and normals that depend on each other.
#include <cmath>
#include <numbers>

#include "numerics/count_laws.hpp"
#include "ops/define.hpp"
#include "tyto/distributions.hpp"
#include "tyto/linalg.hpp"
#include "tyto/reduce.hpp"

namespace tyto TYTO_API {
namespace distributions {

using core::common_float;
using core::drawn_type;
using core::split_options;
using core::wide;

namespace {

/// The shape before the vectors' axis: the one asked for, or that in which the parameters meet.
template <class T>
Shape stack_shape(const std::optional<Shape>& asked, const T& vectors, const Shape& other) {
  core::length_of("sample", "vectors", vectors);
  const auto& shape = vectors.shape();
  const Shape parameters = core::broadcast("sample", Shape(std::span(shape.begin(), shape.end() - 1)), other);
  if (asked && !core::broadcastable(parameters, *asked)) {
    core::throw_error<ShapeError>("sample: parameters of shape ", parameters,
                                  " do not broadcast to the sample's shape ", *asked);
  }
  return asked.value_or(parameters);
}

Shape joined(Shape shape, std::initializer_list<std::int64_t> more) {
  for (const std::int64_t length : more) shape.push_back(length);
  return shape;
}

/// Shares a count out among classes: halves of them first, then halves of these. `draw(count, left, right, level)` says
/// how many go left, where weights are sums over the classes of each side.
template <class T, class F>
T shared_out(const T& count, const T& weights, const F& draw) {
  const Shape stack = count.shape();
  const std::int64_t classes = weights.shape().back();
  std::int64_t width = 1;
  while (width < classes) width *= 2;
  std::vector<T> levels = {concat(
      {broadcast_to(weights, joined(stack, {classes})), T::zeros(joined(stack, {width - classes}), DType::f64)}, -1)};
  while (levels.back().shape().back() > 1) {
    levels.push_back(sum(reshape(levels.back(), joined(stack, {levels.back().shape().back() / 2, 2})), -1));
  }
  T counts = expand_dims(count, -1);
  for (std::size_t level = levels.size() - 1; level-- > 0;) {
    const std::int64_t pairs = counts.shape().back();
    const T sides = reshape(levels[level], joined(stack, {pairs, 2}));
    const T first = draw(counts, T(sides(ellipsis, 0)), T(sides(ellipsis, 1)), level);
    counts = reshape(tyto::stack({first, counts - first}, -1), joined(stack, {2 * pairs}));
  }
  return counts(ellipsis, slice(0, classes));
}

template <class T>
T are_counts(const T& x) {
  return all(x >= 0.0 && equal(x, floor(x)), -1);
}

}  // namespace

TYTO_SAMPLE(Multinomial) {
  core::require("sample", count, probabilities);
  const Shape shape = stack_shape(asked, probabilities, count.shape());
  const T n = TYTO_CHECKED_WIDE(Multinomial, count, count);
  const T p = TYTO_CHECKED_WIDE(Multinomial, probabilities, probability);
  const T whole = core::checked<T>("Multinomial", "sum(probabilities, -1)", sum(p, -1),
                                   core::limits::near_one(probabilities.dtype()));
  const auto draw = [&](const T& counts, const T& left, const T& right, std::uint64_t level) {
    const T both = left + right, first = where(both > 0.0, left / where(both > 0.0, both, 1.0), 0.0);
    return core::binomial_draws<T>(counts.shape(), counts, first, split_options(options, level));
  };
  return core::marked<T>({expand_dims(n, -1), expand_dims(whole, -1)}, shared_out<T>(broadcast_to(n, shape), p, draw));
}
TYTO_VECTOR_LOG_PROB(Multinomial) {
  const auto& [count, probabilities] = distribution;
  core::length_of("log_prob", "vectors", probabilities);
  const T k = wide(x), n = wide(count), p = wide(probabilities), inside = are_counts(k) && equal(sum(k, -1), n);
  const T safe = where(expand_dims(inside, -1), k, 0.0);
  // Probabilities that do not quite add up to 1 are no more than factors.
  const T each = expand_dims(n, -1), excess = core::excess<T>(safe, each, p);
  const T found =
      sum(core::log_poisson<T>(safe, each * p, excess), -1) - sum(excess, -1) - core::log_poisson_at_mean<T>(n);
  return where(inside, found, core::log_of_zero).astype(common_float(x, probabilities));
}

TYTO_SAMPLE(MultivariateHypergeometric) {
  core::require("sample", counts, drawn);
  const Shape shape = stack_shape(asked, counts, drawn.shape());
  const T each = TYTO_CHECKED_WIDE(MultivariateHypergeometric, counts, count);
  const T n = TYTO_CHECKED_WIDE(MultivariateHypergeometric, drawn, count);
  const T every = core::checked<T>("MultivariateHypergeometric", "sum(counts, -1)", sum(each, -1), core::limits::count);
  const T rest =
      core::checked<T>("MultivariateHypergeometric", "sum(counts, -1) - drawn", every - n, core::limits::not_negative);
  const auto draw = [&](const T& taken, const T& left, const T& right, std::uint64_t level) {
    return core::hypergeometric_draws<T>(taken.shape(), left, right, taken, split_options(options, level));
  };
  return core::marked<T>({expand_dims(rest, -1)}, shared_out<T>(broadcast_to(n, shape), each, draw));
}
TYTO_VECTOR_LOG_PROB(MultivariateHypergeometric) {
  const auto& [counts, drawn] = distribution;
  core::length_of("log_prob", "vectors", counts);
  const T k = wide(x), each = wide(counts), n = wide(drawn);
  const T inside = are_counts(k) && all(k <= each, -1) && equal(sum(k, -1), n);
  const T safe = where(expand_dims(inside, -1), k, 0.0);
  const T all = sum(each, -1), p = n / maximum(all, 1.0);
  const T found = sum(core::log_binomial<T>(safe, each, expand_dims(p, -1)), -1) - core::log_binomial<T>(n, all, p);
  return where(inside, found, core::log_of_zero).astype(common_float(x, counts));
}

TYTO_SAMPLE(Dirichlet) {
  if (const auto found = core::rounded_draws<T>(*this, asked, options)) return *found;
  const Shape shape =
      joined(stack_shape(asked, concentration, {}), {core::length_of("sample", "vectors", concentration)});
  const DType type = drawn_type(concentration);
  // Logarithms of gamma draws: for small parameters the draws themselves would vanish.
  const T given = T(TYTO_CHECKED(Dirichlet, concentration, positive)).astype(type);
  const T gamma = core::gamma_draws<T>(shape, given + 1.0, split_options(options, 0));
  const T u = core::uniform_draws<T>(shape, type, split_options(options, 1));
  return softmax(log(gamma) + log1p(-u) / given, -1);
}
TYTO_VECTOR_LOG_PROB(Dirichlet) {
  const auto& [concentration] = distribution;
  core::length_of("log_prob", "vectors", concentration);
  // Parts add up to 1, to a millionth or to 16 epsilons of their type, whichever is more.
  const DType type = common_float(x);
  const double off = std::max(1e-6, 16 * core::format_of(type).epsilon());
  const T inside = all(x >= 0.0, -1) && abs(sum(wide(x), -1) - 1.0) <= off,
          safe = where(expand_dims(inside, -1), x, 1.0);
  const auto density = [](const T& parts, const T& parameters) {
    return T(sum(core::times_log<T>(parameters - 1.0, parts) - lgamma(parameters), -1) + lgamma(sum(parameters, -1)));
  };
  const auto found = core::in_f32(density, safe, concentration);
  return where(inside, found ? *found : density(safe, concentration), core::log_of_zero);
}

TYTO_SAMPLE(MultivariateNormal) {
  if (const auto found = core::rounded_draws<T>(*this, asked, options)) return *found;
  core::require("sample", mean, covariance);
  const std::int64_t length = core::length_of("sample", "vectors", mean);
  const auto& matrices = covariance.shape();
  const Shape before = matrices.size() > 2 ? Shape(std::span(matrices.begin(), matrices.end() - 2)) : Shape{};
  const Shape shape = joined(stack_shape(asked, mean, before), {length});
  const T z = core::normal_draws<T>(shape, drawn_type(mean, covariance), options);
  return mean + squeeze(matmul(linalg::cholesky(covariance), expand_dims(z, -1)), -1);
}
TYTO_VECTOR_LOG_PROB(MultivariateNormal) {
  const auto& [mean, covariance] = distribution;
  const auto length = static_cast<double>(core::length_of("log_prob", "vectors", mean));
  const auto again = [](const T& m, const T& c, const T& at) { return log_density(MultivariateNormal<T>{m, c}, at); };
  if (const auto found = core::in_f32(again, mean, covariance, x)) return *found;
  const T factor = linalg::cholesky(covariance);
  const T solved = squeeze(linalg::triangular_solve(factor, expand_dims(x - mean, -1)), -1);
  const double constant = -0.5 * std::log(2 * std::numbers::pi) * length;
  return constant - 0.5 * sum(square(solved), -1) - sum(log(linalg::diagonal(factor)), -1);
}

TYTO_INSTANTIATE_DISTRIBUTION(Multinomial)
TYTO_INSTANTIATE_DISTRIBUTION(MultivariateHypergeometric)
TYTO_INSTANTIATE_DISTRIBUTION(Dirichlet)
TYTO_INSTANTIATE_DISTRIBUTION(MultivariateNormal)

}  // namespace distributions
}  // namespace TYTO_API
