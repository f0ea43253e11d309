// SPDX-License-Identifier: MIT
// Probability distributions with tensors as parameters: samples, logarithms of densities, and distribution functions.
#pragma once

#include "tyto/indexing.hpp"
#include "tyto/tensor.hpp"

namespace tyto TYTO_API {

/// Parameters broadcast with each other and with what is asked of them; a sample has the shape that is given, or that
/// of the parameters. Densities are differentiable in all parameters, as are distribution functions.
///
/// `sample` throws ValueError for parameters of which a distribution cannot draw, where it sees them: numbers, and
/// tensors of eager mode. NaN is refused save as a mean or location, a scale may be 0, rates and degrees of freedom may
/// not. A graph draws NaN of such elements, and -1 where it draws integers. Densities and distribution functions do not
/// ask: they are what the formula gives.
///
///     const distributions::Normal<Tensor> noise{.mean = 0.0, .stddev = sigma};
///     const Tensor x = noise.sample({1000}), likelihood = sum(noise.log_prob(x));
namespace distributions {

// Members of each distribution. Beyond its support and at infinities the density is 0, its logarithm minus infinity; at
// the edge it is the limit from within, which may be infinite. Of NaN everything is NaN.
#define TYTO_DISTRIBUTION_MEMBERS                                                          \
  T sample(const std::optional<Shape>& shape = {}, const DrawOptions& options = {}) const; \
  /** The logarithm of the density, or of the probability of an integer. */                \
  T log_prob(const T& x) const;                                                            \
  /** The probability of x or less. */                                                     \
  T cdf(const T& x) const;

/// The normal distribution.
template <class T>
struct Normal {
  T mean = 0.0, stddev = 1.0;  ///< of the normal distribution
  TYTO_DISTRIBUTION_MEMBERS
};
/// The log-normal distribution: its logarithm is normal.
template <class T>
struct LogNormal {
  T mean = 0.0, stddev = 1.0;  ///< of the normal distribution
  TYTO_DISTRIBUTION_MEMBERS
};
/// The half-normal distribution: the absolute value of a normal with mean zero.
template <class T>
struct HalfNormal {
  T scale = 1.0;  ///< scale, above 0
  TYTO_DISTRIBUTION_MEMBERS
};
/// Numbers in [low, high), all equally likely.
template <class T>
struct Uniform {
  T low = 0.0, high = 1.0;  ///< its ends
  TYTO_DISTRIBUTION_MEMBERS
};
/// Time to the next of events that happen at a constant rate.
template <class T>
struct Exponential {
  T rate = 1.0;  ///< events per unit
  TYTO_DISTRIBUTION_MEMBERS
};
/// Exponential to both sides of the mean.
template <class T>
struct Laplace {
  T mean = 0.0, scale = 1.0;  ///< mean, and scale
  TYTO_DISTRIBUTION_MEMBERS
};
/// The distribution whose cdf is the logistic function.
template <class T>
struct Logistic {
  T mean = 0.0, scale = 1.0;  ///< mean, and scale
  TYTO_DISTRIBUTION_MEMBERS
};
/// The Gumbel distribution: the largest of many.
template <class T>
struct Gumbel {
  T location = 0.0, scale = 1.0;  ///< location and scale
  TYTO_DISTRIBUTION_MEMBERS
};
/// The quotient of two normals: it has no mean.
template <class T>
struct Cauchy {
  T location = 0.0, scale = 1.0;  ///< location and scale
  TYTO_DISTRIBUTION_MEMBERS
};
/// A power of an exponential: times to failure.
template <class T>
struct Weibull {
  T shape = 1.0, scale = 1.0;  ///< its form, and how wide it is
  TYTO_DISTRIBUTION_MEMBERS
};
/// The Pareto distribution: numbers from `scale` on, whose density falls by a power.
template <class T>
struct Pareto {
  T shape = 1.0, scale = 1.0;  ///< its form, and how wide it is
  TYTO_DISTRIBUTION_MEMBERS
};
/// The gamma distribution; for a whole `shape` the time to so many events.
template <class T>
struct Gamma {
  T shape = 1.0, rate = 1.0;  ///< its form, and events per unit
  TYTO_DISTRIBUTION_MEMBERS
};
/// The sum of so many squared standard normals.
template <class T>
struct ChiSquared {
  T freedom = 1.0;  ///< degrees of freedom
  TYTO_DISTRIBUTION_MEMBERS
};
/// In [0, 1], with a density in proportion to x^(a - 1) (1 - x)^(b - 1).
template <class T>
struct Beta {
  T a = 1.0, b = 1.0;  ///< powers of x and of 1 - x, plus one
  TYTO_DISTRIBUTION_MEMBERS
};
/// Student's t.
template <class T>
struct StudentT {
  T freedom = 1.0, mean = 0.0, scale = 1.0;  ///< degrees of freedom, where it is, and how wide
  TYTO_DISTRIBUTION_MEMBERS
};
/// Fisher's F: the quotient of two chi-squareds over their degrees of freedom.
template <class T>
struct FisherF {
  T numerator = 1.0, denominator = 1.0;  ///< degrees of freedom
  TYTO_DISTRIBUTION_MEMBERS
};
/// The length of two normals with mean zero.
template <class T>
struct Rayleigh {
  T scale = 1.0;  ///< scale, above 0
  TYTO_DISTRIBUTION_MEMBERS
};
/// In [0, 1], with a density in proportion to the power `shape` - 1.
template <class T>
struct Power {
  T shape = 1.0;  ///< its form
  TYTO_DISTRIBUTION_MEMBERS
};
/// A density that rises in a straight line to `mode` and falls in one to `high`.
template <class T>
struct Triangular {
  T low = 0.0, mode = 0.5, high = 1.0;  ///< its ends, and the peak between them
  TYTO_DISTRIBUTION_MEMBERS
};
/// The inverse Gaussian distribution.
template <class T>
struct Wald {
  T mean = 1.0, scale = 1.0;  ///< mean, and scale
  TYTO_DISTRIBUTION_MEMBERS
};
/// An angle: samples lie in [-pi, pi], from where `cdf` counts; the density repeats beyond.
template <class T>
struct VonMises {
  T mean = 0.0, concentration = 1.0;  ///< where it is, and how narrow
  TYTO_DISTRIBUTION_MEMBERS
};
/// The sum of squares of normals whose squared means add up to `noncentrality`, above 2,000 of which log_prob and cdf
/// are NaN.
template <class T>
struct NoncentralChiSquared {
  T freedom = 1.0, noncentrality = 1.0;  ///< degrees of freedom, and the squared distance of the means from zero
  TYTO_DISTRIBUTION_MEMBERS
};
/// The quotient of such a sum and a central one, each over its degrees of freedom; likewise up to 2,000.
template <class T>
struct NoncentralF {
  T numerator = 1.0, denominator = 1.0;  ///< degrees of freedom
  T noncentrality = 1.0;                 ///< the squared distance of the means from zero
  TYTO_DISTRIBUTION_MEMBERS
};
// Probabilities of integers are computed in f64, whatever their type, and have its digits for counts up to 2^53 too.
/// 1 with a probability, else 0. Samples of integers are i64.
template <class T>
struct Bernoulli {
  T probability = 0.5;  ///< of a success
  TYTO_DISTRIBUTION_MEMBERS
};
// Samples of the next four, and of Hypergeometric, are exact for counts up to 2^53 and rates up to 2^62, beyond which
// they are refused; so is a NegativeBinomial of which (count + 1) * (1 - probability) / probability is above 2^57.
/// Successes among `count` trials.
template <class T>
struct Binomial {
  T count = 1, probability = 0.5;  ///< of trials or successes, and the probability of a success
  TYTO_DISTRIBUTION_MEMBERS
};
/// Trials up to the first success, from 1 on.
template <class T>
struct Geometric {
  T probability = 0.5;  ///< of a success
  TYTO_DISTRIBUTION_MEMBERS
};
/// Failures before the success number `count`.
template <class T>
struct NegativeBinomial {
  T count = 1, probability = 0.5;  ///< of trials or successes, and the probability of a success
  TYTO_DISTRIBUTION_MEMBERS
};
/// How many of independent events happen in a unit.
template <class T>
struct Poisson {
  T rate = 1.0;  ///< events per unit
  TYTO_DISTRIBUTION_MEMBERS
};
/// Good ones among `drawn` that are taken, and not put back, from so many good and bad ones.
template <class T>
struct Hypergeometric {
  T good = 1, bad = 1, drawn = 1;  ///< items of both kinds, and how many are drawn
  TYTO_DISTRIBUTION_MEMBERS
};
/// From 1 on, with probabilities in proportion to the power -`exponent`, which is above 1. Samples end at 2^62.
template <class T>
struct Zipf {
  T exponent = 2.0;  ///< of the number, with a minus
  TYTO_DISTRIBUTION_MEMBERS
};
/// k from 1 on, with probabilities in proportion to probability^k / k.
template <class T>
struct LogSeries {
  T probability = 0.5;  ///< of a success
  TYTO_DISTRIBUTION_MEMBERS
};
/// Class numbers with probabilities softmax(logits) along the last axis; a sample's shape comes before the logits'
/// other axes.
template <class T>
struct Categorical {
  T logits;  ///< logarithms of weights along the last axis
  TYTO_DISTRIBUTION_MEMBERS
};

#undef TYTO_DISTRIBUTION_MEMBERS

// Members of distributions of vectors. Vectors lie along the last axis, before which a sample has the shape that is
// given, or that of the parameters.
#define TYTO_VECTOR_DISTRIBUTION_MEMBERS                                                   \
  T sample(const std::optional<Shape>& shape = {}, const DrawOptions& options = {}) const; \
  T log_prob(const T& x) const;

/// How often each class comes up in `count` draws. Probabilities add up to 1, to a thousandth or to two epsilons of
/// their type (f16: 0.002, bf16: 0.016), whichever is more.
template <class T>
struct Multinomial {
  T count, probabilities;  ///< of trials, and of each outcome along the last axis
  TYTO_VECTOR_DISTRIBUTION_MEMBERS
};
/// How many of each kind are among `drawn` that are taken, and not put back, from `counts` of each.
template <class T>
struct MultivariateHypergeometric {
  T counts, drawn;  ///< items of each kind along the last axis, and how many are drawn
  TYTO_VECTOR_DISTRIBUTION_MEMBERS
};
/// Positive numbers that add up to 1, to a millionth or to 16 epsilons of their type, whichever is more: others have no
/// density.
template <class T>
struct Dirichlet {
  T concentration;  ///< one for each part, along the last axis
  TYTO_VECTOR_DISTRIBUTION_MEMBERS
};
/// Vectors of which every linear combination is normal.
template <class T>
struct MultivariateNormal {
  T mean, covariance;  ///< a vector, and a matrix that is symmetric and positive definite
  TYTO_VECTOR_DISTRIBUTION_MEMBERS
};

#undef TYTO_VECTOR_DISTRIBUTION_MEMBERS

}  // namespace distributions
}  // namespace TYTO_API
