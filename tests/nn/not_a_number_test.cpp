// SPDX-License-Identifier: MIT
// NaN propagates through every activation and every loss, as it does in PyTorch.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

namespace tyto::nn::not_a_number_test {

template <class T>
using Named = std::vector<std::pair<const char*, std::function<T(const T&)>>>;

template <class T>
std::vector<double> numbers_of(const T& x) {
  return x.astype(DType::f64).template to_vector<double>();
}

/// Each element by itself; of {NaN, 1, NaN, -2} the first and the third become NaN, and no other.
template <class M>
Named<Tensor<M>> element_wise() {
  using T = Tensor<M>;
  const auto layer = [](auto made) { return [made](const T& x) { return made(x, inference); }; };
  return {{"relu6", [](const T& x) { return relu6(x); }},
          {"selu", [](const T& x) { return selu(x); }},
          {"celu", [](const T& x) { return celu(x, 0.7); }},
          {"mish", [](const T& x) { return mish(x); }},
          {"gelu_tanh", [](const T& x) { return gelu_tanh(x); }},
          {"hard_sigmoid", [](const T& x) { return hard_sigmoid(x); }},
          {"hard_swish", [](const T& x) { return hard_swish(x); }},
          {"hard_tanh", [](const T& x) { return hard_tanh(x); }},
          {"hard_shrink", [](const T& x) { return hard_shrink(x); }},
          {"soft_shrink", [](const T& x) { return soft_shrink(x); }},
          {"tanh_shrink", [](const T& x) { return tanh_shrink(x); }},
          {"threshold", [](const T& x) { return threshold(x, 0, 5); }},
          {"ReLU", layer(ReLU())},
          {"ReLU6", layer(ReLU6())},
          {"SELU", layer(SELU())},
          {"SiLU", layer(SiLU())},
          {"Mish", layer(Mish())},
          {"Sigmoid", layer(Sigmoid())},
          {"LogSigmoid", layer(LogSigmoid())},
          {"Tanh", layer(Tanh())},
          {"Softsign", layer(Softsign())},
          {"Hardsigmoid", layer(Hardsigmoid())},
          {"Hardswish", layer(Hardswish())},
          {"Tanhshrink", layer(Tanhshrink())},
          {"LeakyReLU", layer(LeakyReLU())},
          {"ELU", layer(ELU())},
          {"CELU", layer(CELU())},
          {"GELU", layer(GELU())},
          {"GELU, by tanh", layer(GELU(GeluFormula::tanh))},
          {"Softplus", layer(Softplus())},
          {"Softplus, beta", layer(Softplus(3))},
          {"Hardtanh", layer(Hardtanh())},
          {"Hardshrink", layer(Hardshrink())},
          {"Softshrink", layer(Softshrink())},
          {"Threshold", layer(Threshold(0, 5))},
          {"PReLU", layer(PReLU())},
          {"RReLU", layer(RReLU())}};
}

TEST_CASE_TEMPLATE("activations keep NaN, and their gradients", M, Eager, Lazy) {
  using T = Tensor<M>;
  for (const DType type : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    CAPTURE(type);
    const T x = T{NAN, 1.0, NAN, -2.0}.astype(type);
    for (const auto& [name, function] : element_wise<M>()) {
      CAPTURE(std::string(name));
      const std::vector<double> found = numbers_of(function(x));
      for (std::size_t i = 0; i < found.size(); ++i) CHECK(std::isnan(found[i]) == (i % 2 == 0));
    }
  }
  const T rows{{1.0, NAN, 2.0, 0.5}, {1.0, -1.0, 2.0, 0.5}};
  const Named<T> of_rows = {{"softmax", [](const T& x) { return Softmax()(x); }},
                            {"log_softmax", [](const T& x) { return LogSoftmax()(x); }},
                            {"softmin", [](const T& x) { return softmin(x); }},
                            {"Softmin", [](const T& x) { return Softmin()(x); }}};
  for (const auto& [name, function] : of_rows) {
    CAPTURE(std::string(name));
    const std::vector<double> found = numbers_of(function(rows));
    for (std::size_t i = 0; i < found.size(); ++i) CHECK(std::isnan(found[i]) == (i < 4));
  }
  const std::vector<double> gated = numbers_of(glu(rows));
  CHECK(!std::isnan(gated[0]));
  CHECK(std::isnan(gated[1]));
  CHECK(std::isnan(numbers_of(glu(flip(rows)))[2]));
  // Where it is shrunk or replaced, nothing goes back; of NaN the gradient is one, as PyTorch's.
  const auto gradients = [&](const std::function<T(const T&)>& f) {
    return numbers_of(tyto::grad([&](const T& x) { return sum(f(x)); })(T{NAN, 1.0, -0.25}));
  };
  CHECK(gradients([](const T& x) { return hard_shrink(x); }) == std::vector<double>{1, 1, 0});
  CHECK(gradients([](const T& x) { return threshold(x, 0, 5); }) == std::vector<double>{1, 1, 0});
}

TEST_CASE_TEMPLATE("losses of NaN are NaN, whichever operand it is in", M, Eager, Lazy) {
  using T = Tensor<M>;
  const T number = T{0.3, 0.6, 0.2, 0.9}, broken = T{0.3, NAN, 0.2, 0.9}, sides = T{1.0, -1.0, -1.0, 1.0};
  const T rows = reshape(concat({number, number}), {2, 4}), broken_rows = reshape(concat({number, broken}), {2, 4});
  const T labels{1, 2}, which{1.0, -1.0}, other = flip(rows, 1);
  const Named<T> of_elements = {
      {"squared_error", [&](const T& x) { return squared_error(x, number); }},
      {"squared_error, target", [&](const T& t) { return squared_error(number, t); }},
      {"absolute_error", [&](const T& x) { return absolute_error(x, number); }},
      {"absolute_error, target", [&](const T& t) { return absolute_error(number, t); }},
      {"huber", [&](const T& x) { return huber(x, number); }},
      {"huber, target", [&](const T& t) { return huber(number, t); }},
      {"smooth_l1", [&](const T& x) { return smooth_l1(x, number); }},
      {"smooth_l1, target", [&](const T& t) { return smooth_l1(number, t); }},
      {"poisson_nll", [&](const T& x) { return poisson_nll(x, number); }},
      {"poisson_nll, full", [&](const T& x) { return poisson_nll(x, number, {.full = true}); }},
      {"poisson_nll, rate", [&](const T& x) { return poisson_nll(x, number, {.log_input = false}); }},
      {"poisson_nll, target", [&](const T& t) { return poisson_nll(number, t); }},
      {"poisson_nll, full, target", [&](const T& t) { return poisson_nll(number, t, {.full = true}); }},
      {"gaussian_nll", [&](const T& x) { return gaussian_nll(x, number, number); }},
      {"gaussian_nll, target", [&](const T& t) { return gaussian_nll(number, t, number); }},
      {"gaussian_nll, variance", [&](const T& v) { return gaussian_nll(number, number + 1.0, v); }},
      {"hinge", [&](const T& x) { return hinge(x, sides); }},
      {"hinge_embedding", [&](const T& x) { return hinge_embedding(x, sides); }},
      {"hinge_embedding, near", [&](const T& x) { return hinge_embedding(x, ones_like(sides)); }},
      {"margin_ranking", [&](const T& x) { return margin_ranking(x, number, sides, {.margin = 0.5}); }},
      {"margin_ranking, second", [&](const T& x) { return margin_ranking(number, x, sides); }},
      {"soft_margin", [&](const T& x) { return soft_margin(x, sides); }},
      {"kl_divergence", [&](const T& x) { return kl_divergence(x, number); }},
      {"kl_divergence, target", [&](const T& t) { return kl_divergence(number, t); }},
      {"kl_divergence, log target", [&](const T& t) { return kl_divergence(number, t, {.log_target = true}); }},
      {"binary_cross_entropy", [&](const T& x) { return binary_cross_entropy(x, number); }},
      {"binary_cross_entropy, target", [&](const T& t) { return binary_cross_entropy(number, t); }},
      {"binary_cross_entropy_with_logits", [&](const T& x) { return binary_cross_entropy_with_logits(x, number); }},
      {"binary_cross_entropy_with_logits, target",
       [&](const T& t) { return binary_cross_entropy_with_logits(number, t); }}};
  for (const auto& [name, loss] : of_elements) {
    CAPTURE(std::string(name));
    CHECK(std::isfinite(loss(number).template item<float>()));
    CHECK(std::isnan(loss(broken).template item<float>()));
  }
  const Named<T> of_rows = {
      {"cosine_embedding", [&](const T& x) { return cosine_embedding(x, other, which); }},
      {"cosine_embedding, second", [&](const T& x) { return cosine_embedding(other, x, which); }},
      {"triplet_margin", [&](const T& x) { return triplet_margin(x, other, rows + 1.0); }},
      {"triplet_margin, positive", [&](const T& x) { return triplet_margin(other, x, rows + 1.0); }},
      {"triplet_margin, negative", [&](const T& x) { return triplet_margin(other, rows + 1.0, x); }},
      {"triplet_margin, swap", [&](const T& x) { return triplet_margin(other, x, rows + 1.0, {.swap = true}); }},
      {"triplet_margin, largest", [&](const T& x) { return triplet_margin(x, other, rows, {.p = INFINITY}); }},
      {"cosine_similarity", [&](const T& x) { return sum(cosine_similarity(x, other)); }},
      {"pairwise_distance", [&](const T& x) { return sum(pairwise_distance(x, other)); }},
      {"cross_entropy", [&](const T& x) { return nn::cross_entropy(x, labels, {}); }},
      {"cross_entropy, smoothing", [&](const T& x) { return nn::cross_entropy(x, labels, {.smoothing = 0.1}); }},
      {"cross_entropy, probabilities", [&](const T& x) { return nn::cross_entropy(x, rows, {}); }},
      {"cross_entropy, target", [&](const T& t) { return nn::cross_entropy(rows, t, {}); }},
      {"nll",
       [&](const T& x) {
         return nll(x, T{1, 1});
       }},
      {"multi_margin", [&](const T& x) { return multi_margin(x, labels); }},
      {"multi_margin, the label's",
       [&](const T& x) {
         return multi_margin(x, T{1, 1});
       }},
      {"multi_label_margin",
       [&](const T& x) {
         return multi_label_margin(x, T{{1, -1, -1, -1}, {0, 2, -1, -1}});
       }},
      {"multi_label_soft_margin", [&](const T& x) { return multi_label_soft_margin(x, rows); }}};
  for (const auto& [name, loss] : of_rows) {
    CAPTURE(std::string(name));
    CHECK(std::isfinite(loss(rows).template item<float>()));
    CHECK(std::isnan(loss(broken_rows).template item<float>()));
  }
  const auto temporal = [](const T& x) { return ctc(log_softmax(x), T{{1, 2}}, T{4}, T{2}); };
  CHECK(std::isfinite(temporal(T::zeros({1, 4, 3})).template item<float>()));
  CHECK(std::isnan(temporal(T::full({1, 4, 3}, NAN)).template item<float>()));
  CHECK(std::isnan(temporal(set(T::zeros({1, 4, 3}), {0, 1, 1}, NAN)).template item<float>()));
}

}  // namespace tyto::nn::not_a_number_test
