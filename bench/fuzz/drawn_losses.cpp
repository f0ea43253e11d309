// SPDX-License-Identifier: MIT
// Losses by their names: values, and gradients of what is predicted.
#include <functional>

#include "bench/fuzz/drawn_case.hpp"

namespace tyto::oracle {

namespace {

template <class M>
using List = std::vector<Tensor<M>>;
template <class M>
using Loss = std::function<Tensor<M>(const List<M>& in)>;

nn::Reduction reduction_of(const DrawnCase& c) {
  if (c.text("reduction") == "sum") return nn::Reduction::sum;
  return c.text("reduction") == "none" ? nn::Reduction::none : nn::Reduction::mean;
}

template <class M>
nn::CrossEntropyOptions<M> cross_entropy_options(const DrawnCase& c) {
  nn::CrossEntropyOptions<M> o{.smoothing = c.real("smoothing", 0), .reduction = reduction_of(c)};
  if (c.has_array("weights")) o.weights = c.array<M>("weights");
  if (c.has("ignored")) o.ignored = c.integer("ignored");
  return o;
}
template <class M>
nn::BinaryOptions<M> binary_options(const DrawnCase& c) {
  nn::BinaryOptions<M> o{.reduction = reduction_of(c)};
  if (c.has_array("weights")) o.weights = c.array<M>("weights");
  if (c.has_array("positive_weights")) o.positive_weights = c.array<M>("positive_weights");
  return o;
}

/// Of "a", "b" and "c" in this order; those behind the options' `predictions` are targets.
template <class M>
Loss<M> loss_of(const DrawnCase& c) {
  using L = const List<M>&;
  const std::string& kind = c.kind();
  const nn::Reduction r = reduction_of(c);
  const double number = c.real("number", 1);
  const nn::MarginOptions margin{.margin = c.real("margin", 0), .reduction = r};
  if (kind == "squared_error") return [=](L in) { return nn::squared_error(in[0], in[1], r); };
  if (kind == "absolute_error") return [=](L in) { return nn::absolute_error(in[0], in[1], r); };
  if (kind == "huber") return [=](L in) { return nn::huber(in[0], in[1], number, r); };
  if (kind == "smooth_l1") return [=](L in) { return nn::smooth_l1(in[0], in[1], number, r); };
  if (kind == "poisson_nll") {
    const nn::PoissonOptions o{
        .log_input = c.flag("log_input"), .full = c.flag("full"), .epsilon = c.real("epsilon", 1e-8), .reduction = r};
    return [=](L in) { return nn::poisson_nll(in[0], in[1], o); };
  }
  if (kind == "gaussian_nll") {
    const nn::GaussianOptions o{.full = c.flag("full"), .epsilon = c.real("epsilon", 1e-6), .reduction = r};
    return [=](L in) { return nn::gaussian_nll(in[0], in[2], in[1], o); };
  }
  if (kind == "hinge_embedding") return [=](L in) { return nn::hinge_embedding(in[0], in[1], margin); };
  if (kind == "margin_ranking") return [=](L in) { return nn::margin_ranking(in[0], in[1], in[2], margin); };
  if (kind == "cosine_embedding") return [=](L in) { return nn::cosine_embedding(in[0], in[1], in[2], margin); };
  if (kind == "triplet_margin") {
    const nn::TripletOptions o{
        .margin = c.real("margin", 1), .p = c.real("p", 2), .swap = c.flag("swap"), .reduction = r};
    return [=](L in) { return nn::triplet_margin(in[0], in[1], in[2], o); };
  }
  if (kind == "cosine_similarity") {
    const std::int64_t axis = c.integer("axis", -1);
    return [=](L in) { return nn::cosine_similarity(in[0], in[1], axis, number); };
  }
  if (kind == "pairwise_distance") {
    const double p = c.real("p", 2);
    return [=](L in) { return nn::pairwise_distance(in[0], in[1], number, p); };
  }
  if (kind == "cross_entropy") {
    const nn::CrossEntropyOptions<M> o = cross_entropy_options<M>(c);
    return [=](L in) { return nn::cross_entropy(in[0], in[1], o); };
  }
  if (kind == "nll") {
    const nn::CrossEntropyOptions<M> o = cross_entropy_options<M>(c);
    return [=](L in) { return nn::nll(in[0], in[1], o); };
  }
  if (kind == "binary_cross_entropy") {
    const nn::BinaryOptions<M> o = binary_options<M>(c);
    return [=](L in) { return nn::binary_cross_entropy(in[0], in[1], o); };
  }
  if (kind == "binary_with_logits") {
    const nn::BinaryOptions<M> o = binary_options<M>(c);
    return [=](L in) { return nn::binary_cross_entropy_with_logits(in[0], in[1], o); };
  }
  if (kind == "kl_divergence") {
    const nn::DivergenceOptions o{
        .log_target = c.flag("log_target"), .batch_mean = c.flag("batch_mean"), .reduction = r};
    return [=](L in) { return nn::kl_divergence(in[0], in[1], o); };
  }
  if (kind == "soft_margin") return [=](L in) { return nn::soft_margin(in[0], in[1], r); };
  if (kind == "multi_label_soft_margin") {
    nn::MultiLabelSoftMarginOptions<M> o{.reduction = r};
    if (c.has_array("weights")) o.weights = c.array<M>("weights");
    return [=](L in) { return nn::multi_label_soft_margin(in[0], in[1], o); };
  }
  if (kind == "multi_margin") {
    nn::MultiMarginOptions<M> o{.margin = c.real("margin", 1), .squared = c.flag("squared"), .reduction = r};
    if (c.has_array("weights")) o.weights = c.array<M>("weights");
    return [=](L in) { return nn::multi_margin(in[0], in[1], o); };
  }
  if (kind == "multi_label_margin") {
    return [=](L in) { return nn::multi_label_margin(in[0], in[1], {.reduction = r}); };
  }
  if (kind == "ctc") {
    const nn::CtcOptions o{.blank = c.integer("blank"), .zero_infinity = c.flag("zero_infinity"), .reduction = r};
    const Tensor<M> times = c.array<M>("times"), lengths = c.array<M>("lengths");
    return [=](L in) { return nn::ctc(log_softmax(in[0]), in[1], times, lengths, o); };
  }
  return {};
}

}  // namespace

template <class M>
bool run_loss(DrawnCase& drawn) {
  const Loss<M> loss = loss_of<M>(drawn);
  if (!loss) return false;
  List<M> given;
  for (const char* name : {"a", "b", "c"}) {
    if (drawn.has_array(name)) given.push_back(drawn.array<M>(name));
  }
  const auto predictions = static_cast<std::ptrdiff_t>(drawn.integer("predictions", 1));
  const List<M> predicted(given.begin(), given.begin() + predictions);
  const auto of_predictions = [&](const List<M>& in) {
    List<M> all = given;
    std::copy(in.begin(), in.end(), all.begin());
    return loss(all);
  };
  drawn.keep("y", of_predictions(predicted));
  const auto total = [&](const List<M>& in) { return sum(of_predictions(in)); };
  const List<M> slopes = vjp(total, predicted, Tensor<M>::ones({}, drawn.dtype())).second;
  for (std::size_t i = 0; i < slopes.size(); ++i) drawn.keep("gradient" + std::to_string(i), slopes[i]);
  return true;
}

template bool run_loss<Eager>(DrawnCase&);
template bool run_loss<Lazy>(DrawnCase&);

}  // namespace tyto::oracle
