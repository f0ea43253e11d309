// SPDX-License-Identifier: MIT
// Losses of numbers and pairs: how far a prediction is from its target. Those of classes are in class_losses.hpp.
#pragma once

#include "tyto/nn/modes.hpp"

namespace tyto {
namespace nn TYTO_API {

/// The reduction of the losses of all elements: their mean, their sum, or none.
enum class Reduction : std::uint8_t { mean, sum, none };

/// Options of losses with a margin.
struct MarginOptions {
  double margin = 0;                      ///< how far apart scores have to be
  Reduction reduction = Reduction::mean;  ///< how the losses of all elements are reduced
};
/// Options of `triplet_margin`.
struct TripletOptions {
  double margin = 1;                      ///< how far apart scores have to be
  double p = 2;                           ///< of the norm that distances are lengths in
  bool swap = false;                      ///< the distance of positive and negative counts where it is smaller
  Reduction reduction = Reduction::mean;  ///< how the losses of all elements are reduced
};
/// Options of `poisson_nll`.
struct PoissonOptions {
  bool log_input = true;                  ///< whether the prediction is the logarithm of the rate
  bool full = false;                      ///< with Stirling's approximation of log(target!)
  double epsilon = 1e-8;                  ///< added to a rate before its logarithm is taken
  Reduction reduction = Reduction::mean;  ///< how the losses of all elements are reduced
};
/// Options of `gaussian_nll`.
struct GaussianOptions {
  bool full = false;                      ///< with the constant 0.5 log(2 pi)
  double epsilon = 1e-6;                  ///< the least variance
  Reduction reduction = Reduction::mean;  ///< how the losses of all elements are reduced
};

namespace detail {
Tensor<Any> squared_error(const Tensor<Any>& x, const Tensor<Any>& t, Reduction reduction);
Tensor<Any> absolute_error(const Tensor<Any>& x, const Tensor<Any>& t, Reduction reduction);
Tensor<Any> huber(const Tensor<Any>& x, const Tensor<Any>& t, double delta, Reduction reduction);
Tensor<Any> smooth_l1(const Tensor<Any>& x, const Tensor<Any>& t, double beta, Reduction reduction);
Tensor<Any> poisson_nll(const Tensor<Any>& x, const Tensor<Any>& t, const PoissonOptions& options);
Tensor<Any> gaussian_nll(const Tensor<Any>& x, const Tensor<Any>& t, const Tensor<Any>& variance,
                         const GaussianOptions& options);
Tensor<Any> hinge(const Tensor<Any>& x, const Tensor<Any>& t, const MarginOptions& options);
Tensor<Any> hinge_embedding(const Tensor<Any>& x, const Tensor<Any>& t, const MarginOptions& options);
Tensor<Any> margin_ranking(const Tensor<Any>& a, const Tensor<Any>& b, const Tensor<Any>& t,
                           const MarginOptions& options);
Tensor<Any> cosine_embedding(const Tensor<Any>& a, const Tensor<Any>& b, const Tensor<Any>& t,
                             const MarginOptions& options);
Tensor<Any> triplet_margin(const Tensor<Any>& anchor, const Tensor<Any>& positive, const Tensor<Any>& negative,
                           const TripletOptions& options);
Tensor<Any> cosine_similarity(const Tensor<Any>& a, const Tensor<Any>& b, std::int64_t axis, double epsilon);
Tensor<Any> pairwise_distance(const Tensor<Any>& a, const Tensor<Any>& b, double epsilon, double p);
}  // namespace detail

/// Squares of differences.
template <class M>
Tensor<M> squared_error(const Tensor<M>& prediction, const std::type_identity_t<Tensor<M>>& target,
                        Reduction reduction = Reduction::mean) {
  return detail::with_mode<M>(detail::squared_error(detail::modeless(prediction), detail::modeless(target), reduction));
}
/// Absolute differences.
template <class M>
Tensor<M> absolute_error(const Tensor<M>& prediction, const std::type_identity_t<Tensor<M>>& target,
                         Reduction reduction = Reduction::mean) {
  return detail::with_mode<M>(
      detail::absolute_error(detail::modeless(prediction), detail::modeless(target), reduction));
}
/// Half the square of differences up to delta, beyond it delta times (difference - delta / 2).
template <class M>
Tensor<M> huber(const Tensor<M>& prediction, const std::type_identity_t<Tensor<M>>& target, double delta = 1,
                Reduction reduction = Reduction::mean) {
  return detail::with_mode<M>(detail::huber(detail::modeless(prediction), detail::modeless(target), delta, reduction));
}
/// huber divided by its bend: half the square over beta, beyond it difference - beta / 2.
template <class M>
Tensor<M> smooth_l1(const Tensor<M>& prediction, const std::type_identity_t<Tensor<M>>& target, double beta = 1,
                    Reduction reduction = Reduction::mean) {
  return detail::with_mode<M>(
      detail::smooth_l1(detail::modeless(prediction), detail::modeless(target), beta, reduction));
}

/// -log of the probability of a count `target` at a predicted rate.
template <class M>
Tensor<M> poisson_nll(const Tensor<M>& prediction, const std::type_identity_t<Tensor<M>>& target,
                      const PoissonOptions& options = {}) {
  return detail::with_mode<M>(detail::poisson_nll(detail::modeless(prediction), detail::modeless(target), options));
}
/// -log of the density of `target` under a normal law of predicted mean and variance, which may lack the last axis.
template <class M>
Tensor<M> gaussian_nll(const Tensor<M>& prediction, const std::type_identity_t<Tensor<M>>& target,
                       const std::type_identity_t<Tensor<M>>& variance, const GaussianOptions& options = {}) {
  return detail::with_mode<M>(detail::gaussian_nll(detail::modeless(prediction), detail::modeless(target),
                                                   detail::modeless(variance), options));
}

/// max(0, margin - target * prediction) for targets 1 and -1.
template <class M>
Tensor<M> hinge(const Tensor<M>& prediction, const std::type_identity_t<Tensor<M>>& target,
                const MarginOptions& options = {.margin = 1}) {
  return detail::with_mode<M>(detail::hinge(detail::modeless(prediction), detail::modeless(target), options));
}
/// The distance itself where the target is 1, max(0, margin - distance) where it is -1.
template <class M>
Tensor<M> hinge_embedding(const Tensor<M>& distance, const std::type_identity_t<Tensor<M>>& target,
                          const MarginOptions& options = {.margin = 1}) {
  return detail::with_mode<M>(detail::hinge_embedding(detail::modeless(distance), detail::modeless(target), options));
}
/// max(0, margin - target * (a - b)): target 1 says that a is to be the larger one, -1 that b is.
template <class M>
Tensor<M> margin_ranking(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b,
                         const std::type_identity_t<Tensor<M>>& target, const MarginOptions& options = {}) {
  return detail::with_mode<M>(
      detail::margin_ranking(detail::modeless(a), detail::modeless(b), detail::modeless(target), options));
}
/// 1 - cos(a, b) where the target is 1, max(0, cos(a, b) - margin) where it is -1; vectors lie along the last axis.
template <class M>
Tensor<M> cosine_embedding(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b,
                           const std::type_identity_t<Tensor<M>>& target, const MarginOptions& options = {}) {
  return detail::with_mode<M>(
      detail::cosine_embedding(detail::modeless(a), detail::modeless(b), detail::modeless(target), options));
}
/// max(0, margin + |anchor - positive| - |anchor - negative|).
template <class M>
Tensor<M> triplet_margin(const Tensor<M>& anchor, const std::type_identity_t<Tensor<M>>& positive,
                         const std::type_identity_t<Tensor<M>>& negative, const TripletOptions& options = {}) {
  return detail::with_mode<M>(detail::triplet_margin(detail::modeless(anchor), detail::modeless(positive),
                                                     detail::modeless(negative), options));
}

/// Cosine of the angle of vectors along an axis; `epsilon` is the least length of each.
template <class M>
Tensor<M> cosine_similarity(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b, std::int64_t axis = -1,
                            double epsilon = 1e-8) {
  return detail::with_mode<M>(detail::cosine_similarity(detail::modeless(a), detail::modeless(b), axis, epsilon));
}
/// Length of a - b along the last axis, in the norm of this p (infinity: the largest difference); `epsilon` is added to
/// each difference, which keeps its gradient finite.
template <class M>
Tensor<M> pairwise_distance(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b, double epsilon = 1e-6,
                            double p = 2) {
  return detail::with_mode<M>(detail::pairwise_distance(detail::modeless(a), detail::modeless(b), epsilon, p));
}

}  // namespace TYTO_API
}  // namespace tyto
