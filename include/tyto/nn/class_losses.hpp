// SPDX-License-Identifier: MIT
// Losses of classes and probabilities: cross entropy and its relatives. Classes lie along the last axis.
#pragma once

#include <optional>

#include "tyto/nn/losses.hpp"
#include "tyto/reduce.hpp"

namespace tyto {
namespace nn TYTO_API {

/// Options of `cross_entropy` and `nll`.
template <class M>
struct CrossEntropyOptions {
  Tensor<M> weights = {};                    ///< (classes,)
  double smoothing = 0;                      ///< the share of a target that is spread over all classes alike
  std::optional<std::int64_t> ignored = {};  ///< the label of places that do not count
  Reduction reduction = Reduction::mean;     ///< the mean divides by the weights of all labels
};
/// Options of `binary_cross_entropy` and `binary_cross_entropy_with_logits`.
template <class M>
struct BinaryOptions {
  Tensor<M> weights = {};                 ///< of elements, broadcast
  Tensor<M> positive_weights = {};        ///< of targets 1, broadcast; with logits only
  Reduction reduction = Reduction::mean;  ///< how the losses of all elements are reduced
};
/// Options of `kl_divergence`.
struct DivergenceOptions {
  bool log_target = false;                ///< whether targets are logarithms of probabilities too
  bool batch_mean = false;                ///< the sum divided by the first axis, which is what the divergence is
  Reduction reduction = Reduction::mean;  ///< how the losses of all elements are reduced
};
/// Options of `multi_margin`.
template <class M>
struct MultiMarginOptions {
  Tensor<M> weights = {};                 ///< (classes,): what the loss of a label of each class counts
  double margin = 1;                      ///< how far apart scores have to be
  bool squared = false;                   ///< whether what is missing to the margin is squared
  Reduction reduction = Reduction::mean;  ///< how the losses of all elements are reduced
};
/// Options of `multi_label_soft_margin`.
template <class M>
struct MultiLabelSoftMarginOptions {
  Tensor<M> weights = {};                 ///< of classes, broadcast
  Reduction reduction = Reduction::mean;  ///< how the losses of all elements are reduced
};
/// Options of `multi_label_margin`.
struct MultiLabelMarginOptions {
  double margin = 1;                      ///< how far apart scores have to be
  Reduction reduction = Reduction::mean;  ///< how the losses of all elements are reduced
};
/// Options of `ctc`.
struct CtcOptions {
  std::int64_t blank = 0;                 ///< number of the class that means no label
  bool zero_infinity = false;             ///< 0 instead of infinity for targets that do not fit into their time
  Reduction reduction = Reduction::mean;  ///< the mean divides each loss by its target's length first
};

namespace detail {
Tensor<Any> cross_entropy(const Tensor<Any>& logits, const Tensor<Any>& labels, const CrossEntropyOptions<Any>& o);
Tensor<Any> nll(const Tensor<Any>& log_p, const Tensor<Any>& labels, const CrossEntropyOptions<Any>& o);
Tensor<Any> binary_cross_entropy(const Tensor<Any>& p, const Tensor<Any>& t, const BinaryOptions<Any>& o);
Tensor<Any> binary_cross_entropy_with_logits(const Tensor<Any>& x, const Tensor<Any>& t, const BinaryOptions<Any>& o);
Tensor<Any> kl_divergence(const Tensor<Any>& log_p, const Tensor<Any>& t, const DivergenceOptions& o);
Tensor<Any> soft_margin(const Tensor<Any>& x, const Tensor<Any>& t, Reduction reduction);
Tensor<Any> multi_label_soft_margin(const Tensor<Any>& x, const Tensor<Any>& t,
                                    const MultiLabelSoftMarginOptions<Any>& o);
Tensor<Any> multi_margin(const Tensor<Any>& x, const Tensor<Any>& labels, const MultiMarginOptions<Any>& o);
Tensor<Any> multi_label_margin(const Tensor<Any>& x, const Tensor<Any>& labels, const MultiLabelMarginOptions& o);
Tensor<Any> ctc(const Tensor<Any>& log_p, const Tensor<Any>& targets, const Tensor<Any>& input_lengths,
                const Tensor<Any>& target_lengths, const CtcOptions& o);

template <class M>
CrossEntropyOptions<Any> modeless(const CrossEntropyOptions<M>& o) {
  return {modeless(o.weights), o.smoothing, o.ignored, o.reduction};
}
template <class M>
BinaryOptions<Any> modeless(const BinaryOptions<M>& o) {
  return {modeless(o.weights), modeless(o.positive_weights), o.reduction};
}
template <class M>
MultiMarginOptions<Any> modeless(const MultiMarginOptions<M>& o) {
  return {modeless(o.weights), o.margin, o.squared, o.reduction};
}
template <class M>
MultiLabelSoftMarginOptions<Any> modeless(const MultiLabelSoftMarginOptions<M>& o) {
  return {modeless(o.weights), o.reduction};
}
}  // namespace detail

/// The mean without options, nn::cross_entropy(logits, labels).
using tyto::cross_entropy;
/// -log softmax(logits)[label]; labels are class numbers, or probabilities in the shape of the logits.
///
///     auto loss = nn::cross_entropy(logits, labels, {.smoothing = 0.1, .ignored = -100});
template <class M>
Tensor<M> cross_entropy(const Tensor<M>& logits, const std::type_identity_t<Tensor<M>>& labels,
                        const std::type_identity_t<CrossEntropyOptions<M>>& options) {
  return detail::with_mode<M>(
      detail::cross_entropy(detail::modeless(logits), detail::modeless(labels), detail::modeless(options)));
}
/// -log_probabilities[label]: cross_entropy of what log_softmax has been applied to; labels are class numbers.
template <class M>
Tensor<M> nll(const Tensor<M>& log_probabilities, const std::type_identity_t<Tensor<M>>& labels,
              const std::type_identity_t<CrossEntropyOptions<M>>& options = {}) {
  return detail::with_mode<M>(
      detail::nll(detail::modeless(log_probabilities), detail::modeless(labels), detail::modeless(options)));
}
/// -target log p - (1 - target) log(1 - p), no logarithm below -100.
template <class M>
Tensor<M> binary_cross_entropy(const Tensor<M>& probabilities, const std::type_identity_t<Tensor<M>>& target,
                               const std::type_identity_t<BinaryOptions<M>>& options = {}) {
  return detail::with_mode<M>(detail::binary_cross_entropy(detail::modeless(probabilities), detail::modeless(target),
                                                           detail::modeless(options)));
}
/// binary_cross_entropy of sigmoid(x), exact for large x.
template <class M>
Tensor<M> binary_cross_entropy_with_logits(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& target,
                                           const std::type_identity_t<BinaryOptions<M>>& options = {}) {
  return detail::with_mode<M>(detail::binary_cross_entropy_with_logits(detail::modeless(x), detail::modeless(target),
                                                                       detail::modeless(options)));
}
/// target * (log target - log_probabilities): how far a predicted distribution is from another.
template <class M>
Tensor<M> kl_divergence(const Tensor<M>& log_probabilities, const std::type_identity_t<Tensor<M>>& target,
                        const DivergenceOptions& options = {}) {
  return detail::with_mode<M>(
      detail::kl_divergence(detail::modeless(log_probabilities), detail::modeless(target), options));
}
/// log(1 + exp(-target * prediction)) for targets 1 and -1.
template <class M>
Tensor<M> soft_margin(const Tensor<M>& prediction, const std::type_identity_t<Tensor<M>>& target,
                      Reduction reduction = Reduction::mean) {
  return detail::with_mode<M>(detail::soft_margin(detail::modeless(prediction), detail::modeless(target), reduction));
}
/// The mean over classes of binary_cross_entropy_with_logits.
template <class M>
Tensor<M> multi_label_soft_margin(const Tensor<M>& prediction, const std::type_identity_t<Tensor<M>>& target,
                                  const std::type_identity_t<MultiLabelSoftMarginOptions<M>>& options = {}) {
  return detail::with_mode<M>(detail::multi_label_soft_margin(detail::modeless(prediction), detail::modeless(target),
                                                              detail::modeless(options)));
}
/// The mean over all classes but the label's of max(0, margin - x[label] + x[class]); (batch, classes) and (batch,).
template <class M>
Tensor<M> multi_margin(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& labels,
                       const std::type_identity_t<MultiMarginOptions<M>>& options = {}) {
  return detail::with_mode<M>(
      detail::multi_margin(detail::modeless(x), detail::modeless(labels), detail::modeless(options)));
}
/// Multi-label margin loss, for samples that belong to several classes: the mean over classes of the sums over labels
/// of max(0, margin - x[label] + x[class]), for the classes that are no labels. Labels (..., count) are class numbers;
/// the first negative one ends them.
template <class M>
Tensor<M> multi_label_margin(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& labels,
                             const MultiLabelMarginOptions& options = {}) {
  return detail::with_mode<M>(detail::multi_label_margin(detail::modeless(x), detail::modeless(labels), options));
}
/// Connectionist temporal classification (Graves et al. 2006): -log of the probability that log_probabilities (batch,
/// time, classes) spell targets (batch, length), of which each sample has so many times and letters.
template <class M>
Tensor<M> ctc(const Tensor<M>& log_probabilities, const std::type_identity_t<Tensor<M>>& targets,
              const std::type_identity_t<Tensor<M>>& input_lengths,
              const std::type_identity_t<Tensor<M>>& target_lengths, const CtcOptions& options = {}) {
  return detail::with_mode<M>(detail::ctc(detail::modeless(log_probabilities), detail::modeless(targets),
                                          detail::modeless(input_lengths), detail::modeless(target_lengths), options));
}

}  // namespace TYTO_API
}  // namespace tyto
