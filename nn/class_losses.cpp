// SPDX-License-Identifier: MIT
// Losses of classes and probabilities.
#include "tyto/nn/class_losses.hpp"

#include <cmath>

#include "nn/layer_parts.hpp"
#include "nn/loss_parts.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/indexing.hpp"
#include "tyto/shaping.hpp"

namespace tyto TYTO_API {
namespace nn {
namespace detail {

namespace {

Shape shape_of_rows(const Tensor<Any>& x) { return Shape(std::span(x.shape().data(), x.shape().size() - 1)); }

void check_labels(const char* loss, const Tensor<Any>& x, const Tensor<Any>& labels) {
  if (!is_floating(x.dtype())) {
    core::throw_error<TypeError>(loss, ": the prediction is ", name_of(x.dtype()), "; a floating type is expected");
  }
  if (!is_integer(labels.dtype())) {
    core::throw_error<TypeError>(loss, ": labels are ", name_of(labels.dtype()), "; class numbers are expected");
  }
  if (x.ndim() < 1 || labels.shape() != shape_of_rows(x)) {
    core::throw_error<ShapeError>(loss, ": labels ", labels.shape(), " must have the shape of the prediction ",
                                  x.shape(), " without its last axis");
  }
}

void check_class_weights(const char* loss, const Tensor<Any>& x, const Tensor<Any>& weights) {
  if (weights.defined() && weights.shape() != Shape{x.shape().back()}) {
    core::throw_error<ShapeError>(loss, ": the weights ", weights.shape(), " must be (", x.shape().back(),
                                  ",), a number a class");
  }
}

void check_options(const char* loss, const Tensor<Any>& x, const CrossEntropyOptions<Any>& o) {
  if (!(o.smoothing >= 0 && o.smoothing <= 1)) {
    core::throw_error<ValueError>(loss, ": the smoothing ", o.smoothing, " must be in [0, 1]");
  }
  check_class_weights(loss, x, o.weights);
}

/// The weight of each label's class.
Tensor<Any> at_classes(const char* loss, const Tensor<Any>& weights, const Tensor<Any>& labels, DType dtype) {
  Shape row(static_cast<std::size_t>(labels.ndim()) + 1, 1);
  row[row.size() - 1] = weights.size();
  return cast(tyto::detail::at_labels(loss, reshape(weights, row), labels), dtype);
}

/// Losses of rows over what they weigh: the sum of the weights, which is the count where there are none.
Tensor<Any> weighted(const Tensor<Any>& losses, const Tensor<Any>& weights, Reduction reduction) {
  return reduction == Reduction::mean ? sum(losses) / sum(weights) : reduced(losses, reduction);
}

Tensor<Any> of_labels(const char* loss, const Tensor<Any>& log_p, const Tensor<Any>& given,
                      const CrossEntropyOptions<Any>& o) {
  const Tensor<Any> counts = o.ignored ? not_equal(given, *o.ignored) : Tensor<Any>();
  const Tensor<Any> labels = o.ignored ? where(counts, given, 0) : given;
  const auto only_counting = [&](const Tensor<Any>& x) { return o.ignored ? where(counts, x, 0.0) : x; };
  const bool weighing = o.weights.defined();
  const Tensor<Any> own = only_counting(tyto::detail::at_labels(loss, log_p, labels));
  Tensor<Any> weights = Tensor<Any>::ones(given.shape(), log_p.dtype());
  if (weighing) weights = at_classes(loss, o.weights, labels, log_p.dtype());
  weights = only_counting(weights);
  Tensor<Any> losses = -own * weights;
  if (o.smoothing > 0) {
    const Tensor<Any> all = only_counting(-sum(weighing ? log_p * o.weights : log_p, -1));
    const double share = o.smoothing / static_cast<double>(log_p.shape().back());
    losses = (1 - o.smoothing) * losses + share * all;
  }
  if (o.reduction == Reduction::mean && !weighing && !o.ignored) return mean(losses);
  return weighted(losses, weights, o.reduction);
}

Tensor<Any> of_probabilities(const Tensor<Any>& log_p, const Tensor<Any>& given, const CrossEntropyOptions<Any>& o) {
  if (o.ignored) throw ValueError("cross_entropy: an ignored label needs labels that are class numbers");
  Tensor<Any> target = given;
  if (o.smoothing > 0) target = (1 - o.smoothing) * target + o.smoothing / static_cast<double>(log_p.shape().back());
  if (o.weights.defined()) target = target * o.weights;
  return reduced(-sum(target * log_p, -1), o.reduction);
}

Tensor<Any> weighted_by(const Tensor<Any>& losses, const Tensor<Any>& weights) {
  return !weights.defined() ? losses : losses * weights;
}

}  // namespace

Tensor<Any> cross_entropy(const Tensor<Any>& logits, const Tensor<Any>& labels, const CrossEntropyOptions<Any>& o) {
  const bool distributions = is_floating(labels.dtype());
  if (distributions && logits.ndim() > 0 && labels.shape() == shape_of_rows(logits)) {
    core::throw_error<ShapeError>("cross_entropy: distributions ", labels.shape(), " must have the logits' shape ",
                                  logits.shape(), "; class labels are integers: labels.astype(DType::i64)");
  }
  if (distributions) check_pair("cross_entropy", logits, labels);
  else check_labels("cross_entropy", logits, labels);
  check_options("cross_entropy", logits, o);
  if (const auto found = core::in_f32(&cross_entropy, logits, labels, o)) return *found;
  const Tensor<Any> log_p = log_softmax(logits, -1);
  return distributions ? of_probabilities(log_p, labels, o) : of_labels("cross_entropy", log_p, labels, o);
}

Tensor<Any> nll(const Tensor<Any>& log_p, const Tensor<Any>& labels, const CrossEntropyOptions<Any>& o) {
  check_labels("nll", log_p, labels);
  check_options("nll", log_p, o);
  if (const auto found = core::in_f32(&nll, log_p, labels, o)) return *found;
  return of_labels("nll", log_p, labels, o);
}

Tensor<Any> binary_cross_entropy(const Tensor<Any>& p, const Tensor<Any>& t, const BinaryOptions<Any>& o) {
  check_pair("binary_cross_entropy", p, t);
  if (o.positive_weights.defined()) {
    throw ValueError("binary_cross_entropy: weights of positive targets are for the loss with logits");
  }
  if (const auto found = core::in_f32(&binary_cross_entropy, p, t, o)) return *found;
  // Where a logarithm is held at -100 its gradient is 0: its own, infinite, would make NaN of a factor of zero.
  const double least = -100, least_p = std::exp(least);
  const Tensor<Any> never = less_equal(abs(p), least_p), always = less_equal(abs(1.0 - p), least_p);
  const Tensor<Any> log_p = where(never, least, log(where(never, 1.0, p)));
  const Tensor<Any> log_rest = where(always, least, log1p(-where(always, 0.0, p)));
  const Tensor<Any> losses = -(t * log_p + (1.0 - t) * log_rest);
  return reduced(weighted_by(losses, o.weights), o.reduction);
}

Tensor<Any> binary_cross_entropy_with_logits(const Tensor<Any>& x, const Tensor<Any>& t, const BinaryOptions<Any>& o) {
  check_pair("binary_cross_entropy_with_logits", x, t);
  if (const auto found = core::in_f32(&binary_cross_entropy_with_logits, x, t, o)) return *found;
  const Tensor<Any> positive = weighted_by(t, o.positive_weights);
  const Tensor<Any> losses = positive * softplus(-x) + (1.0 - t) * softplus(x);
  return reduced(weighted_by(losses, o.weights), o.reduction);
}

Tensor<Any> kl_divergence(const Tensor<Any>& log_p, const Tensor<Any>& t, const DivergenceOptions& o) {
  check_pair("kl_divergence", log_p, t);
  if (const auto found = core::in_f32(&kl_divergence, log_p, t, o)) return *found;
  Tensor<Any> losses;
  if (o.log_target) {
    losses = exp(t) * (t - log_p);
  } else {
    // 0 log 0 is 0: the logarithm is taken of what is not 0 alone.
    const Tensor<Any> there = not_equal(t, 0.0);
    losses = where(there, t * log(where(there, t, 1.0)), 0.0) - t * log_p;
  }
  if (!o.batch_mean) return reduced(losses, o.reduction);
  if (log_p.ndim() < 1) throw ShapeError("kl_divergence: a mean of rows needs an axis of rows");
  return sum(losses) / static_cast<double>(log_p.shape()[0]);
}

Tensor<Any> soft_margin(const Tensor<Any>& x, const Tensor<Any>& t, Reduction reduction) {
  check_pair("soft_margin", x, t);
  if (const auto found = core::in_f32(&soft_margin, x, t, reduction)) return *found;
  return reduced(softplus(-t * x), reduction);
}

Tensor<Any> multi_label_soft_margin(const Tensor<Any>& x, const Tensor<Any>& t,
                                    const MultiLabelSoftMarginOptions<Any>& o) {
  check_pair("multi_label_soft_margin", x, t);
  if (const auto found = core::in_f32(&multi_label_soft_margin, x, t, o)) return *found;
  const BinaryOptions<Any> each{.weights = o.weights, .reduction = Reduction::none};
  return reduced(mean(binary_cross_entropy_with_logits(x, t, each), -1), o.reduction);
}

Tensor<Any> multi_margin(const Tensor<Any>& x, const Tensor<Any>& labels, const MultiMarginOptions<Any>& o) {
  check_labels("multi_margin", x, labels);
  check_class_weights("multi_margin", x, o.weights);
  if (const auto found = core::in_f32(&multi_margin, x, labels, o)) return *found;
  const std::int64_t classes = x.shape().back();
  const Tensor<Any> own = expand_dims(tyto::detail::at_labels("multi_margin", x, labels), -1);
  Tensor<Any> excess = relu(o.margin - own + x);
  if (o.squared) excess = square(excess);
  const Tensor<Any> others = equal(one_hot(labels, classes, x.dtype()), 0.0);
  Tensor<Any> losses = sum(where(others, excess, 0.0), -1) / static_cast<double>(classes);
  if (o.weights.defined()) losses = losses * at_classes("multi_margin", o.weights, labels, x.dtype());
  return reduced(losses, o.reduction);
}

Tensor<Any> multi_label_margin(const Tensor<Any>& x, const Tensor<Any>& labels, const MultiLabelMarginOptions& o) {
  if (!is_floating(x.dtype())) {
    core::throw_error<TypeError>("multi_label_margin: the prediction is ", name_of(x.dtype()),
                                 "; a floating type is expected");
  }
  if (!is_integer(labels.dtype()) || x.ndim() < 1 || labels.ndim() != x.ndim() ||
      shape_of_rows(labels) != shape_of_rows(x)) {
    core::throw_error<ShapeError>("multi_label_margin: labels ", labels.shape(), " of ", name_of(labels.dtype()),
                                  " must be class numbers for the rows of the prediction ", x.shape());
  }
  if (const auto found = core::in_f32(&multi_label_margin, x, labels, o)) return *found;
  const std::int64_t classes = x.shape().back();
  const Tensor<Any> ends = cumsum(cast(less(labels, 0), DType::i64), -1);
  const Tensor<Any> counts = equal(ends, 0);
  const Tensor<Any> safe =
      check_bounds(where(counts, as_index(labels), 0), {0, classes - 1, "multi_label_margin", "label", "classes"});
  // (..., labels, classes): one row of classes for each label.
  const Tensor<Any> own = expand_dims(take_along_axis(x, safe, -1), {-1}), each = expand_dims(counts, {-1});
  const Tensor<Any> hits = where(each, one_hot(safe, classes, x.dtype()), 0.0);
  const Tensor<Any> no_label = equal(max(hits, {-2}, true), 0.0);
  const Tensor<Any> excess = relu(o.margin - own + expand_dims(x, {-2}));
  const Tensor<Any> losses = sum(where(each && no_label, excess, 0.0), {-2, -1}) / static_cast<double>(classes);
  return reduced(losses, o.reduction);
}

}  // namespace detail
}  // namespace nn
}  // namespace TYTO_API
