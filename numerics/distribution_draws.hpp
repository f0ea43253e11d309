// SPDX-License-Identifier: MIT
// Sampling for tensors of parameters, which distributions are made of: rejection in a fixed number of rounds, so that
// graphs have one shape and no loop.
#pragma once

#include <limits>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/graph/in_f32.hpp"
#include "ops/define.hpp"
#include "ops/distribution_parameters.hpp"
#include "ops/once.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/indexing.hpp"
#include "tyto/shaping.hpp"
#include "tyto/tensor.hpp"

namespace tyto::core {

/// The logarithm of a density outside its support.
inline constexpr double log_of_zero = -std::numeric_limits<double>::infinity();

/// The shape asked for, or that in which the parameters meet.
template <class... T>
Shape drawn_shape(const std::optional<Shape>& asked, const T&... parameters) {
  Shape shape;
  ((require("sample", parameters), shape = broadcast("sample", shape, parameters.shape())), ...);
  if (!asked) return shape;
  if (!broadcastable(shape, *asked)) {
    throw_error<ShapeError>("sample: parameters of shape ", shape, " do not broadcast to the sample's shape ", *asked);
  }
  return *asked;
}

/// The length of the last axis, along which a distribution's vectors lie, or its classes.
template <class T>
std::int64_t length_of(std::string_view op, std::string_view what, const T& parameter) {
  require(op, parameter);
  if (parameter.ndim() != 0) return parameter.shape().back();
  throw_error<ShapeError>(op, ": a distribution of ", what, " needs a parameter with an axis");
}

/// The floating type of the parameters; f32 where they are plain numbers.
template <class... T>
DType drawn_type(const T&... parameters) {
  const Value operands[] = {resolve(parameters)...};
  const DType type = common_type(operands);
  return is_floating(type) ? type : DType::f32;
}

/// The floating type in which x and parameters meet.
template <class... T>
DType common_float(const T&... operands) {
  const Value values[] = {as_floating(resolve(operands))...};
  return common_type(values);
}

template <class T>
T wide(const T& x) {
  return x.astype(DType::f64);
}

template <class T>
T is_count(const T& x) {
  return x >= 0.0 && equal(x, floor(x));
}

/// Applies `f` to the parameters of a distribution.
template <class T, class D, class F>
auto with_parameters(const D& distribution, const F& f) {
  if constexpr (requires(T x) { D{x, x, x}; }) {
    const auto& [a, b, c] = distribution;
    return f(a, b, c);
  } else if constexpr (requires(T x) { D{x, x}; }) {
    const auto& [a, b] = distribution;
    return f(a, b);
  } else {
    const auto& [a] = distribution;
    return f(a);
  }
}

/// Applies `f` to a distribution and x as tensors of any mode, so that densities are compiled once; see TYTO_ONCE.
template <template <class> class Distribution, class M, class F>
Tensor<M> once(std::string_view name, const Distribution<Tensor<M>>& distribution, const Tensor<M>& x, const F& f) {
  try {
    const AnyTensor found = with_parameters<Tensor<M>>(distribution, [&](const auto&... parameters) {
      return f(Distribution<AnyTensor>{parameters.value()...}, AnyTensor(x.value()));
    });
    return found.value();
  } catch (const Error&) {
    rethrow_named(name);
  }
}

/// A distribution's parameters in a list, and a distribution of such.
template <class D>
std::vector<AnyTensor> parameters_of(const D& distribution) {
  return with_parameters<AnyTensor>(distribution,
                                    [](const auto&... parameters) { return std::vector<AnyTensor>{parameters...}; });
}
template <class D>
D made_of(std::span<const AnyTensor> parameters) {
  using T = AnyTensor;
  if constexpr (requires(T x) { D{x, x, x}; }) return {parameters[0], parameters[1], parameters[2]};
  else if constexpr (requires(T x) { D{x, x}; }) return {parameters[0], parameters[1]};
  else return {parameters[0]};
}

/// Parameters that are plain numbers as tensors of x's type: a function of a number alone would be computed in f32.
inline std::vector<AnyTensor> typed_as(const AnyTensor& x, std::vector<AnyTensor> parameters) {
  require("x", x);
  const DType type = as_floating(x).dtype();
  for (AnyTensor& each : parameters) {
    require("parameter", each);
    if (result_of(resolve(each)).type.weak) each = cast_to(resolve(each), type);
  }
  return parameters;
}

/// A density or distribution function of x and parameters of x's type, all of which are f32 where they are of half
/// precision.
using Density = AnyTensor (*)(const AnyTensor& x, std::span<const AnyTensor> parameters);
inline AnyTensor in_own_type(const AnyTensor& x, const std::vector<AnyTensor>& parameters, Density density) {
  if (const auto found = in_f32(&in_own_type, x, parameters, density)) return *found;
  return density(x, typed_as(x, parameters));
}

/// `f` of a distribution and x, computed in f64: counts are exact there, as are parameters that are plain numbers. The
/// result is of the type in which parameters and x meet.
template <class T, class D>
T in_wide(const T& x, const D& distribution, T (*f)(const D&, const T&)) {
  require("x", x);
  return with_parameters<T>(distribution, [&](const auto&... parameters) {
    (require("parameter", parameters), ...);
    const Value operands[] = {as_floating(resolve(x)), resolve(parameters)...};
    return f(D{wide(parameters)...}, wide(x)).astype(common_type(operands));
  });
}

// Every log_prob and cdf passes its result through these, so that NaN is never taken for a number beyond the support,
// and infinities never meet in a formula.

/// The logarithm of a density: minus infinity of an infinite x, NaN of NaN.
template <class T>
T density_at(const T& x, const T& found) {
  return is_floating(x.dtype()) ? where(isfinite(x), found, -abs(x)) : found;
}
/// The same of vectors along the last axis.
template <class T>
T vector_density_at(const T& x, const T& found) {
  return is_floating(x.dtype()) ? where(all(isfinite(x), -1), found, sum(-abs(x), -1)) : found;
}
/// The probability of x or less: 0 or 1 of an infinite x, NaN of NaN.
template <class T>
T probability_at(const T& x, const T& found) {
  return is_floating(x.dtype()) ? where(isfinite(x), found, clip(x, 0.0, 1.0)) : found;
}

/// A function of x that a distribution has by the formula F, which is computed in the operands' own type.
template <class D, class F>
AnyTensor density(const D& distribution, const AnyTensor& x, F) {
  return in_own_type(x, parameters_of(distribution), [](const AnyTensor& y, std::span<const AnyTensor> given) {
    return density_at(y, F()(made_of<D>(given), y));
  });
}
template <class D, class F>
AnyTensor probability(const D& distribution, const AnyTensor& x, F) {
  return in_own_type(x, parameters_of(distribution), [](const AnyTensor& y, std::span<const AnyTensor> given) {
    return probability_at(y, F()(made_of<D>(given), y));
  });
}
template <class D, class F>
AnyTensor vector_density(const D& distribution, const AnyTensor& x, F formula) {
  return vector_density_at(x, formula(made_of<D>(typed_as(x, parameters_of(distribution))), x));
}
/// The same in f64.
template <class D, class F>
AnyTensor wide_density(const D& distribution, const AnyTensor& x, F) {
  return in_wide(
      x, distribution, +[](const D& given, const AnyTensor& y) { return density_at(y, F()(given, y)); });
}
template <class D, class F>
AnyTensor wide_probability(const D& distribution, const AnyTensor& x, F) {
  return in_wide(
      x, distribution, +[](const D& given, const AnyTensor& y) { return probability_at(y, F()(given, y)); });
}

/// Draws number `index` of those that one sample takes, of a key of their own if one is given.
inline DrawOptions split_options(const DrawOptions& options, std::uint64_t index) {
  return options.key ? DrawOptions{.key = options.key->split(index)} : options;
}

/// Even in [0, 1).
template <class T>
T uniform_draws(const Shape& shape, DType type, const DrawOptions& options) {
  return T::uniform(shape, {.dtype = type, .key = options.key});
}
/// The same away from both ends, where logarithms are infinite.
template <class T>
T open_draws(const Shape& shape, DType type, const DrawOptions& options) {
  return clip(uniform_draws<T>(shape, type, options), 0x1p-25, 1 - 0x1p-24);
}
template <class T>
T normal_draws(const Shape& shape, DType type, const DrawOptions& options) {
  return T::normal(shape, {.dtype = type, .key = options.key});
}

/// Draws of a distribution with parameters of half precision: numbers of f32, each rounded once. Even draws of f16 are
/// few, and one in thousands is 0 or 1, where the logarithms in samples are infinite.
///
///     if (const auto found = core::rounded_draws<T>(*this, asked, options)) return *found;
template <class T, class D>
std::optional<T> rounded_draws(const D& distribution, const std::optional<Shape>& asked, const DrawOptions& options) {
  return with_parameters<T>(distribution, [&](const auto&... parameters) {
    return in_f32([&](const auto&... given) { return D{given...}.sample(asked, options); }, parameters...);
  });
}

/// Gamma draws of rate one, by Marsaglia and Tsang: of each round 95 of 100 are accepted, so that after eight rounds
/// one in 10^10 is left with the middle of the distribution.
template <class T>
T gamma_draws(const std::optional<Shape>& asked, const T& shape_parameter, const DrawOptions& options) {
  constexpr std::uint64_t rounds = 8;
  const Shape shape = drawn_shape(asked, shape_parameter);
  const DType type = drawn_type(shape_parameter);
  const T given = shape_parameter.astype(type), raised = where(given < 1.0, given + 1.0, given);
  const T d = raised - 1.0 / 3.0, c = rsqrt(9.0 * d);
  T drawn = broadcast_to(d, shape);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const T z = normal_draws<T>(shape, type, split_options(options, 2 * round));
    const T u = open_draws<T>(shape, type, split_options(options, 2 * round + 1));
    const T base = 1.0 + c * z, v = base * base * base, positive = v > 0.0;
    const T accepted = positive && log(u) < 0.5 * square(z) + d - d * v + d * log(where(positive, v, 1.0));
    drawn = where(accepted, d * v, drawn);
  }
  const T u = open_draws<T>(shape, type, split_options(options, 2 * rounds));
  return where(given < 1.0, drawn * power(u, 1.0 / given), drawn);
}

template <class T>
T chi_squared_draws(const std::optional<Shape>& asked, const T& freedom, const DrawOptions& options) {
  return 2.0 * gamma_draws<T>(asked, T(freedom * 0.5), options);
}

}  // namespace tyto::core

// Opens the definition of a member: `asked` and `options`, or `distribution` (with the types of `x`) and `x`.
#define TYTO_SAMPLE(Name) \
  template <class T>      \
  T Name<T>::sample(const std::optional<Shape>& asked, const DrawOptions& options) const
#define TYTO_OF_X(Name, member, formula, computed)                                                 \
  template <class T>                                                                               \
  static T formula(const Name<T>&, const T& x);                                                    \
  template <class T>                                                                               \
  T Name<T>::member(const T& x) const {                                                            \
    return core::once(#Name "::" #member, *this, x, [](const auto& of, const auto& at) {           \
      return computed(of, at, [](const auto& given, const auto& y) { return formula(given, y); }); \
    });                                                                                            \
  }                                                                                                \
  template <class T>                                                                               \
  static T formula(const Name<T>& distribution, const T& x)
#define TYTO_LOG_PROB(Name) TYTO_OF_X(Name, log_prob, log_density, core::density)
#define TYTO_CDF(Name) TYTO_OF_X(Name, cdf, probability_below, core::probability)
#define TYTO_WIDE_LOG_PROB(Name) TYTO_OF_X(Name, log_prob, log_density, core::wide_density)
#define TYTO_WIDE_CDF(Name) TYTO_OF_X(Name, cdf, probability_below, core::wide_probability)
#define TYTO_VECTOR_LOG_PROB(Name) TYTO_OF_X(Name, log_prob, log_density, core::vector_density)

#define TYTO_INSTANTIATE_DISTRIBUTION(Name) \
  template struct Name<Tensor<Eager>>;      \
  template struct Name<Tensor<Lazy>>;       \
  template struct Name<Tensor<Any>>;
