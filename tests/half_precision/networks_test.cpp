// SPDX-License-Identifier: MIT
// Losses, activations, layers and clipping of gradients in half precision.
#include <doctest/doctest.h>

#include <tyto/nn.hpp>

#include "tests/half_precision/composed_case.hpp"

namespace half_precision {

namespace {

constexpr nn::Reduction none = nn::Reduction::none;

/// A pair of vectors given to a loss, at all scales.
template <class F>
Case of_pair(const char* name, const F& f, Terms terms = {}) {
  return of(name, {any({3, 4}), any({3, 4})}, f, std::move(terms));
}
template <class F>
Case of_elements(const char* name, const F& f, Terms terms = {.scales = {1}}) {
  return of(name, {between(-7, 7, {24})}, f, std::move(terms));
}

std::vector<Case> losses() {
  return {
      of_pair("squared_error", [](const auto& x) { return nn::squared_error(x[0], x[1]); }),
      of_pair("squared_error", [](const auto& x) { return nn::squared_error(x[0], x[1], none); }),
      of_pair("absolute_error", [](const auto& x) { return nn::absolute_error(x[0], x[1]); }),
      of_pair("huber", [](const auto& x) { return nn::huber(x[0], x[1], 0.7); }),
      of_pair("huber", [](const auto& x) { return nn::huber(x[0], x[1], 500); }),
      of_pair("smooth_l1", [](const auto& x) { return nn::smooth_l1(x[0], x[1], 0.7); }),
      of_pair("poisson_nll", [](const auto& x) { return nn::poisson_nll(x[0], x[1], {.full = true}); },
              {.scales = {1, 8, 1e-4}}),
      of("poisson_nll", {positive({3, 4}), positive({3, 4})},
         [](const auto& x) { return nn::poisson_nll(x[0], x[1], {.log_input = false, .full = true}); }),
      of("gaussian_nll", {any({3, 4}), any({3, 4}), positive({3, 4})},
         [](const auto& x) { return nn::gaussian_nll(x[0], x[1], x[2], {.full = true, .reduction = none}); }),
      of("hinge", {any({12}), between(-1, 1, {12})}, [](const auto& x) { return nn::hinge(x[0], sign(x[1])); }),
      of("hinge_embedding", {positive({12}), between(-1, 1, {12})},
         [](const auto& x) { return nn::hinge_embedding(x[0], sign(x[1]), {.margin = 2}); }),
      of("margin_ranking", {any({12}), any({12}), between(-1, 1, {12})},
         [](const auto& x) { return nn::margin_ranking(x[0], x[1], sign(x[2]), {.margin = 0.1}); }),
      of("cosine_embedding", {any({4, 6}), any({4, 6}), between(-1, 1, {4})},
         [](const auto& x) { return nn::cosine_embedding(x[0], x[1], sign(x[2]), {.margin = -0.9}); },
         {.condition = 256, .scales = {1, 300, 60000}}),
      of("triplet_margin", {any({4, 6}), any({4, 6}), any({4, 6})},
         [](const auto& x) { return nn::triplet_margin(x[0], x[1], x[2], {.swap = true, .reduction = none}); },
         {.condition = 256}),
      of_pair("cosine_similarity", [](const auto& x) { return nn::cosine_similarity(x[0], x[1]); }, {.condition = 256}),
      of_pair("pairwise_distance", [](const auto& x) { return nn::pairwise_distance(x[0], x[1]); }),
      of_pair("pairwise_distance", [](const auto& x) { return nn::pairwise_distance(x[0], x[1], 1e-6, 3); }),
      of("cross_entropy", {any({3, 5}), labels(5, {3})},
         [](const auto& x) { return nn::cross_entropy(x[0], x[1], {.smoothing = 0.1}); }, {.scales = {1, 20, 1e-4}}),
      of("cross_entropy", {any({3, 5}), between(0, 1, {3, 5}), positive({5})},
         [](const auto& x) { return nn::cross_entropy(x[0], x[1], {.weights = x[2], .smoothing = 0.1}); },
         {.scales = {1, 20}}),
      of("nll", {any({3, 5}), labels(5, {3}), between(0.5, 2, {5})},
         [](const auto& x) { return nn::nll(x[0], x[1], {.weights = x[2], .smoothing = 0.1}); }),
      of("binary_cross_entropy", {between(0.01, 0.99, {12}), between(0, 1, {12}), positive({12})},
         [](const auto& x) { return nn::binary_cross_entropy(x[0], x[1], {.weights = x[2]}); }, {.condition = 256}),
      of("binary_cross_entropy_with_logits", {any({12}), between(0, 1, {12}), positive({12})},
         [](const auto& x) { return nn::binary_cross_entropy_with_logits(x[0], x[1], {.positive_weights = x[2]}); }),
      of("kl_divergence", {any({3, 4}), between(0.01, 1, {3, 4})},
         [](const auto& x) { return nn::kl_divergence(x[0], x[1], {.batch_mean = true}); }),
      of("kl_divergence", {between(-3, 0, {3, 4}), between(-3, 0, {3, 4})},
         [](const auto& x) { return nn::kl_divergence(x[0], x[1], {.log_target = true}); }),
      of("soft_margin", {any({12}), between(-1, 1, {12})},
         [](const auto& x) { return nn::soft_margin(x[0], sign(x[1])); }, {.scales = {1, 1e-4}}),
      of("multi_label_soft_margin", {any({3, 4}), between(0, 1, {3, 4}), between(0.5, 2, {4})},
         [](const auto& x) { return nn::multi_label_soft_margin(x[0], x[1], {.weights = x[2]}); }, {.scales = {1}}),
      of("multi_label_soft_margin", {any({3, 4}), between(0, 1, {3, 4}), between(0.5, 2, {4})},
         [](const auto& x) { return nn::multi_label_soft_margin(x[0], x[1], {.weights = x[2]}); },
         {.scales = {300, 60000}, .derivatives = 1}),
      of("multi_margin", {any({3, 5}), labels(5, {3}), between(0.5, 2, {5})},
         [](const auto& x) { return nn::multi_margin(x[0], x[1], {.weights = x[2], .squared = true}); }),
      of("multi_label_margin", {any({3, 5}), labels(5, {3, 5})},
         [](const auto& x) { return nn::multi_label_margin(x[0], x[1]); }),
      of("ctc", {any({2, 6, 4}), labels(3, {2, 2})},
         [](const auto& x) {
           using T = std::decay_t<decltype(x[0])>;
           return nn::ctc(log_softmax(x[0]), x[1] + 1, T{6, 5}, T{2, 1});
         },
         {.condition = 1024, .scales = {1, 4}, .derivatives = 0}),
  };
}

std::vector<Case> activations() {
  return {
      of_elements("selu", [](const auto& x) { return nn::selu(x[0]); }),
      of_elements("celu", [](const auto& x) { return nn::celu(x[0], 1.3); }),
      of_elements("mish", [](const auto& x) { return nn::mish(x[0]); }),
      of_elements("gelu_tanh", [](const auto& x) { return nn::gelu_tanh(x[0]); }, {.condition = 1024, .scales = {1}}),
      of_elements("hard_sigmoid", [](const auto& x) { return nn::hard_sigmoid(x[0]); }),
      of_elements("hard_swish", [](const auto& x) { return nn::hard_swish(x[0]); }),
      of_elements("soft_shrink", [](const auto& x) { return nn::soft_shrink(x[0], 0.3); }),
      of_elements("tanh_shrink", [](const auto& x) { return nn::tanh_shrink(x[0]); }),
      of_elements("softplus", [](const auto& x) { return nn::Softplus(1.7)(x[0]); }),
      of_elements("glu", [](const auto& x) { return nn::glu(x[0], 0); }),
      of("gelu_tanh", {any({12})}, [](const auto& x) { return nn::gelu_tanh(x[0]); }),
      of("softplus", {any({12})}, [](const auto& x) { return nn::Softplus(1.7)(x[0]); }, {.derivatives = 1}),
      of("mish", {any({12})}, [](const auto& x) { return nn::mish(x[0]); }),
      of("hard_swish", {any({12})}, [](const auto& x) { return nn::hard_swish(x[0]); }),
  };
}

std::vector<Case> layers() {
  const Terms of_statistics{.condition = 1024};
  return {
      of("PowerPool", {positive({1, 4, 4, 2})}, [](const auto& x) { return nn::PowerPool(2, 2)(x[0]); }),
      of("PowerPool", {positive({1, 4, 4, 2})}, [](const auto& x) { return nn::PowerPool(3, 2)(x[0]); }),
      of("AdaptiveAveragePool", {any({1, 5, 5, 2})},
         [](const auto& x) {
           return nn::AdaptiveAveragePool({2, 2})(x[0]);
         }),
      of(
          "LayerNorm", {any({3, 8})}, [](const auto& x) { return nn::LayerNorm({.shape = {8}})(x[0]); }, of_statistics),
      of(
          "GroupNorm", {any({2, 3, 4})},
          [](const auto& x) { return nn::GroupNorm({.channels = 4, .groups = 2})(x[0]); }, of_statistics),
      of(
          "InstanceNorm", {any({2, 6, 3})}, [](const auto& x) { return nn::InstanceNorm({.channels = 3})(x[0]); },
          of_statistics),
      of(
          "BatchNorm1d", {any({6, 3})},
          [](const auto& x) { return nn::BatchNorm1d({.channels = 3, .track = false})(x[0]); }, of_statistics),
      of("BatchNorm1d", {any({6, 3})},
         [](const auto& x) { return nn::BatchNorm1d({.channels = 3})(x[0], nn::inference); }),
      of(
          "BatchNorm2d", {any({2, 2, 2, 3})},
          [](const auto& x) { return nn::BatchNorm2d({.channels = 3, .track = false})(x[0]); }, of_statistics),
      of(
          "BatchNorm3d", {any({2, 2, 2, 1, 3})},
          [](const auto& x) { return nn::BatchNorm3d({.channels = 3, .track = false})(x[0]); }, of_statistics),
      of("LocalResponseNorm", {any({2, 3, 6})}, [](const auto& x) { return nn::LocalResponseNorm({.size = 3})(x[0]); }),
      of(
          "RMSNorm", {any({3, 8})}, [](const auto& x) { return nn::RMSNorm({.shape = {8}, .epsilon = 1e-6})(x[0]); },
          of_statistics),
  };
}

/// Layers whose weights are the operands.
std::vector<Case> weighted_layers() {
  const auto any_mode = [](const auto& x) { return Tensor<Any>(x.value()); };
  return {
      of("Embedding", {any({5, 4}), labels(5, {6})},
         [=](const auto& x) {
           nn::Embedding layer({.count = 5, .features = 4, .max_norm = 0.7, .p = 3});
           layer.weight = any_mode(x[0]);
           return layer(x[1]);
         },
         {.scales = {300, 60000}, .derivatives = 0}),
      // Six elements of five rows: one at least is taken twice, and its gradients are added up in f32.
      of("EmbeddingBag", {any({5, 4}), labels(5, {2, 3})},
         [=](const auto& x) {
           nn::EmbeddingBag bag({.count = 5, .features = 4, .mode = nn::BagMode::sum});
           bag.weight = any_mode(x[0]);
           return bag(x[1]);
         }),
      // With weights what is added up are products, each of which is rounded: here no row is taken twice.
      of("EmbeddingBag", {any({200, 4}), labels(200, {2, 3}), between(0.5, 2, {2, 3})},
         [=](const auto& x) {
           nn::EmbeddingBag bag({.count = 200, .features = 4, .mode = nn::BagMode::sum});
           bag.weight = any_mode(x[0]);
           return bag(x[1], {.weights = x[2]});
         }),
      of("WeightNorm", {any({4, 3}), any({3}), positive({2, 4})},
         [=](const auto& x) {
           nn::WeightNorm layer(nn::Linear({.in = 4, .out = 3, .bias = false}));
           layer.direction = any_mode(x[0]);
           layer.length = any_mode(x[1].reshape(layer.length.shape()));
           // One row at a time of the identity shows the weight.
           return layer(std::decay_t<decltype(x[0])>::eye(4, 4, 0, x[0].dtype()));
         }),
      of("SpectralNorm", {any({4, 3})},
         [=](const auto& x) {
           nn::SpectralNorm layer(nn::Linear({.in = 4, .out = 3, .bias = false}));
           layer.original = any_mode(x[0]);
           layer.left = Tensor<Any>::full({3}, 0.5).astype(x[0].dtype());
           layer.right = Tensor<Any>::full({4}, 0.5).astype(x[0].dtype());
           return layer(std::decay_t<decltype(x[0])>::eye(4, 4, 0, x[0].dtype()), nn::inference);
         },
         {.condition = 1024}),
  };
}

std::vector<Case> clipping() {
  const auto both = []<class T>(const std::vector<T>& parts) { return concat({ravel(parts[0]), ravel(parts[1])}); };
  return {
      of("clip_by_norm", {any({6}), any({2, 3})}, [=](const auto& x) { return both(nn::clip_by_norm(x, 0.3)); }),
      of("clip_by_global_norm", {any({6}), any({2, 3})},
         [=](const auto& x) { return both(nn::clip_by_global_norm(x, 0.3)); }),
      // The factor is no number of f16, its product with the gradients is one.
      of("clip_by_global_norm", {any({6}), any({2, 3})},
         [=](const auto& x) { return both(nn::clip_by_global_norm(x, 1e-3)); }),
  };
}

/// Lower corners from 0 to 1 and upper ones from 1.5 to 3.
template <class T>
T box_of(const T& low, const T& high) {
  return concat({low, high}, -1);
}

std::vector<Case> boxes() {
  const Operand low = between(0, 1, {3, 2}), high = between(1.5, 3, {3, 2});
  const Terms terms{.scales = {1}};
  return {
      of(
          "box_iou", {low, high, low, high},
          [](const auto& x) { return nn::box_iou(box_of(x[0], x[1]), box_of(x[2], x[3])); }, terms),
      of(
          "encode_boxes", {low, high, low, high},
          [](const auto& x) { return nn::encode_boxes(box_of(x[0], x[1]), box_of(x[2], x[3])); }, terms),
      of("decode_boxes", {any({3, 4}), low, high},
         [](const auto& x) { return nn::decode_boxes(x[0], box_of(x[1], x[2])); }, {.scales = {1, 1e-4}}),
      of(
          "clip_boxes", {low, high}, [](const auto& x) { return nn::clip_boxes(box_of(x[0], x[1]), 2, 1); }, terms),
      of(
          "mask_iou", {positive({2, 3, 3}), positive({4, 3, 3})},
          [](const auto& x) { return nn::mask_iou(x[0], x[1]); }, terms),
      of("paste_masks", {positive({3, 3, 3}), low, high},
         [](const auto& x) { return nn::paste_masks(x[0], box_of(x[1], x[2]), 3, 3); },
         {.condition = 256, .scales = {1}}),
      of("average_precision", {any({12}), labels(2, {12})},
         [](const auto& x) { return nn::average_precision(x[0], x[1], 9); }, {.derivatives = 0}),
  };
}

}  // namespace

std::vector<Case> cases_of_networks() {
  std::vector<Case> all;
  for (const auto& family : {losses(), activations(), layers(), weighted_layers(), clipping(), boxes()}) {
    all.insert(all.end(), family.begin(), family.end());
  }
  return all;
}

TEST_CASE("losses, activations, layers and clipping round to half precision once") {
  for (const Case& each : cases_of_networks()) check(each);
}

}  // namespace half_precision
