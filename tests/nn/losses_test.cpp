// SPDX-License-Identifier: MIT
// Losses against PyTorch under every reduction, with gradients, in both modes; and what they refuse.
#include <tyto/nn.hpp>

#include "tests/nn/goldens_of.hpp"

namespace tyto::nn {
namespace {

using goldens::array;
using goldens::check_near;
using goldens::losses_file;

/// A loss of the inputs in the order of their names; the first ones are predictions.
template <class M>
using Loss = std::function<Tensor<M>(const std::vector<Tensor<M>>& inputs, Reduction reduction)>;

template <class M>
void check_loss(const std::string& name, const std::vector<const char*>& inputs, std::size_t predictions,
                const Loss<M>& loss) {
  using T = Tensor<M>;
  CAPTURE(name);
  const auto golden = [&](const std::string& what) { return array<Eager>(losses_file, name + "/" + what); };
  std::vector<T> given;
  for (const char* input : inputs) given.push_back(array<M>(losses_file, name + "/" + input));
  check_near(loss(given, Reduction::none), golden("none"), "of each element");
  check_near(loss(given, Reduction::sum), golden("sum"), "the sum");
  check_near(loss(given, Reduction::mean), golden("mean"), "the mean");
  const std::vector<T> predicted(given.begin(), given.begin() + static_cast<std::ptrdiff_t>(predictions));
  const auto of_predictions = [&](const std::vector<T>& in) {
    std::vector<T> all = given;
    std::copy(in.begin(), in.end(), all.begin());
    return loss(all, Reduction::mean);
  };
  const std::vector<T> gradients = vjp(of_predictions, predicted, T::ones({}, DType::f64)).second;
  for (std::size_t i = 0; i < predictions; ++i) {
    check_near(gradients[i], golden(std::string("gradient_") + inputs[i]), "the gradient");
  }
}

template <class M>
using Inputs = const std::vector<Tensor<M>>&;

}  // namespace

TEST_CASE_TEMPLATE("losses of numbers give PyTorch's values and gradients", M, Eager, Lazy) {
  using I = Inputs<M>;
  const auto check = [](const char* name, const Loss<M>& loss) { check_loss<M>(name, {"x", "t"}, 1, loss); };
  check("squared_error", [](I in, Reduction r) { return squared_error(in[0], in[1], r); });
  check("absolute_error", [](I in, Reduction r) { return absolute_error(in[0], in[1], r); });
  check("huber", [](I in, Reduction r) { return huber(in[0], in[1], 0.75, r); });
  check("smooth_l1", [](I in, Reduction r) { return smooth_l1(in[0], in[1], 0.5, r); });
  // Without a bend it is the distance.
  CHECK(smooth_l1(Tensor<M>{1.5, -2.0}, Tensor<M>{1.0, 2.0}, 0, Reduction::sum).template item<double>() == 4.5);
  check("poisson_nll", [](I in, Reduction r) { return poisson_nll(in[0], in[1], {.reduction = r}); });
  check("poisson_nll_full",
        [](I in, Reduction r) { return poisson_nll(in[0], in[1], {.full = true, .reduction = r}); });
  check("poisson_nll_rate",
        [](I in, Reduction r) { return poisson_nll(in[0], in[1], {.log_input = false, .reduction = r}); });
  check("hinge_embedding",
        [](I in, Reduction r) { return hinge_embedding(in[0], in[1], {.margin = 0.8, .reduction = r}); });
  check("soft_margin", [](I in, Reduction r) { return soft_margin(in[0], in[1], r); });
  check_loss<M>("gaussian_nll", {"x", "v", "t"}, 2, [](I in, Reduction r) {
    return gaussian_nll(in[0], in[2], in[1], {.epsilon = 0.125, .reduction = r});
  });
  check_loss<M>("gaussian_nll_full", {"x", "v", "t"}, 2,
                [](I in, Reduction r) { return gaussian_nll(in[0], in[2], in[1], {.full = true, .reduction = r}); });
}

TEST_CASE_TEMPLATE("losses of pairs and triplets give PyTorch's values and gradients", M, Eager, Lazy) {
  using I = Inputs<M>;
  check_loss<M>("margin_ranking", {"a", "b", "t"}, 2,
                [](I in, Reduction r) { return margin_ranking(in[0], in[1], in[2], {.margin = 0.3, .reduction = r}); });
  check_loss<M>("cosine_embedding", {"a", "b", "t"}, 2, [](I in, Reduction r) {
    return cosine_embedding(in[0], in[1], in[2], {.margin = -0.2, .reduction = r});
  });
  check_loss<M>("triplet_margin", {"a", "b", "c"}, 3,
                [](I in, Reduction r) { return triplet_margin(in[0], in[1], in[2], {.reduction = r}); });
  check_loss<M>("triplet_margin_swap", {"a", "b", "c"}, 3, [](I in, Reduction r) {
    return triplet_margin(in[0], in[1], in[2], {.margin = 0.5, .swap = true, .reduction = r});
  });
  const auto check_norm = [](const char* name, double p) {
    check_loss<M>(name, {"a", "b", "c"}, 3,
                  [p](I in, Reduction r) { return triplet_margin(in[0], in[1], in[2], {.p = p, .reduction = r}); });
  };
  check_norm("triplet_margin_one", 1);
  check_norm("triplet_margin_three", 3);
  check_norm("triplet_margin_largest", INFINITY);
  const Tensor<M> a = array<M>(losses_file, "distances/a"), b = array<M>(losses_file, "distances/b");
  check_near(cosine_similarity(a, b), array<Eager>(losses_file, "distances/cosine_similarity"), "cosine");
  check_near(pairwise_distance(a, b), array<Eager>(losses_file, "distances/pairwise_distance"), "distance");
  CHECK(hinge(Tensor<M>{0.5, -2.0, 3.0}, Tensor<M>{1, 1, -1}, {.margin = 1, .reduction = Reduction::none})
            .template to_vector<float>() == std::vector<float>{0.5, 3, 4});
}

TEST_CASE_TEMPLATE("losses of classes give PyTorch's values and gradients", M, Eager, Lazy) {
  using I = Inputs<M>;
  const auto check = [](const char* name, const Loss<M>& loss) { check_loss<M>(name, {"x", "t"}, 1, loss); };
  const Tensor<M> w = array<M>(losses_file, "class_weights/w");
  check("cross_entropy", [](I in, Reduction r) { return nn::cross_entropy(in[0], in[1], {.reduction = r}); });
  check("cross_entropy_weights",
        [&](I in, Reduction r) { return nn::cross_entropy(in[0], in[1], {.weights = w, .reduction = r}); });
  check("cross_entropy_smoothing",
        [](I in, Reduction r) { return nn::cross_entropy(in[0], in[1], {.smoothing = 0.2, .reduction = r}); });
  check("cross_entropy_ignored",
        [](I in, Reduction r) { return nn::cross_entropy(in[0], in[1], {.ignored = -100, .reduction = r}); });
  check("cross_entropy_all", [&](I in, Reduction r) {
    return nn::cross_entropy(in[0], in[1], {.weights = w, .smoothing = 0.2, .ignored = -100, .reduction = r});
  });
  check("cross_entropy_picture", [](I in, Reduction r) { return nn::cross_entropy(in[0], in[1], {.reduction = r}); });
  check("cross_entropy_probabilities",
        [](I in, Reduction r) { return nn::cross_entropy(in[0], in[1], {.reduction = r}); });
  check("cross_entropy_probabilities_all", [&](I in, Reduction r) {
    return nn::cross_entropy(in[0], in[1], {.weights = w, .smoothing = 0.2, .reduction = r});
  });
  check("nll", [](I in, Reduction r) { return nll(in[0], in[1], {.reduction = r}); });
  check("nll_all",
        [&](I in, Reduction r) { return nll(in[0], in[1], {.weights = w, .ignored = -100, .reduction = r}); });
  check("multi_margin", [](I in, Reduction r) { return multi_margin(in[0], in[1], {.reduction = r}); });
  check("multi_margin_squared",
        [](I in, Reduction r) { return multi_margin(in[0], in[1], {.margin = 0.7, .squared = true, .reduction = r}); });
  check("multi_margin_weights",
        [&](I in, Reduction r) { return multi_margin(in[0], in[1], {.weights = w, .squared = true, .reduction = r}); });
}

TEST_CASE_TEMPLATE("losses of probabilities give PyTorch's values and gradients", M, Eager, Lazy) {
  using I = Inputs<M>;
  const auto check = [](const char* name, const Loss<M>& loss) { check_loss<M>(name, {"x", "t"}, 1, loss); };
  check("multi_label_margin", [](I in, Reduction r) { return multi_label_margin(in[0], in[1], {.reduction = r}); });
  check("kl_divergence", [](I in, Reduction r) { return kl_divergence(in[0], in[1], {.reduction = r}); });
  check("kl_divergence_zero", [](I in, Reduction r) { return kl_divergence(in[0], in[1], {.reduction = r}); });
  check("kl_divergence_log",
        [](I in, Reduction r) { return kl_divergence(in[0], in[1], {.log_target = true, .reduction = r}); });
  const auto given = [](const char* what) { return array<M>(losses_file, what); };
  check_near(kl_divergence(given("kl_divergence/x"), given("kl_divergence/t"), {.batch_mean = true}),
             array<Eager>(losses_file, "kl_divergence/rows"), "the mean of rows");
  const Tensor<M> w = given("binary_weights/w"), v = given("binary_weights/v");
  check("binary_cross_entropy_weights",
        [&](I in, Reduction r) { return binary_cross_entropy(in[0], in[1], {.weights = w, .reduction = r}); });
  check_near(binary_cross_entropy(given("binary_cross_entropy_limit/x"), given("binary_cross_entropy_limit/t"),
                                  {.reduction = Reduction::none}),
             array<Eager>(losses_file, "binary_cross_entropy_limit/none"), "limited logarithms");
  // Certain and right, certain and wrong: PyTorch limits logarithms to -100.
  const Tensor<M> certain = Tensor<M>{1.0, 0.0, 1.0, 0.0}, truth = Tensor<M>{1.0, 0.0, 0.0, 1.0};
  check_near(binary_cross_entropy(certain, truth, {.reduction = Reduction::none}),
             Tensor<Eager>{0.0, 0.0, 100.0, 100.0}, "certainties");
  check("binary_cross_entropy_with_logits",
        [](I in, Reduction r) { return binary_cross_entropy_with_logits(in[0], in[1], {.reduction = r}); });
  check("binary_cross_entropy_with_logits_weights", [&](I in, Reduction r) {
    return binary_cross_entropy_with_logits(in[0], in[1], {.weights = v, .positive_weights = w * 2.0, .reduction = r});
  });
  check("multi_label_soft_margin",
        [](I in, Reduction r) { return multi_label_soft_margin(in[0], in[1], {.reduction = r}); });
  const Tensor<M> classes = given("class_weights/w");
  check("multi_label_soft_margin_weights",
        [&](I in, Reduction r) { return multi_label_soft_margin(in[0], in[1], {.weights = classes, .reduction = r}); });
}

TEST_CASE_TEMPLATE("temporal classification gives PyTorch's values and gradients", M, Eager, Lazy) {
  using I = Inputs<M>;
  check_loss<M>("ctc", {"x", "t", "times", "lengths"}, 1, [](I in, Reduction r) {
    return ctc(log_softmax(in[0]), in[1], in[2], in[3], {.zero_infinity = true, .reduction = r});
  });
  check_loss<M>("ctc_blank", {"x", "t", "times", "lengths"}, 1, [](I in, Reduction r) {
    return ctc(log_softmax(in[0]), in[1], in[2], in[3], {.blank = 3, .zero_infinity = true, .reduction = r});
  });
  // Three equal letters need five times.
  const Tensor<M> x = Tensor<M>::zeros({1, 4, 2});
  const Tensor<M> loss = ctc(log_softmax(x), Tensor<M>{{1, 1, 1}}, Tensor<M>{4}, Tensor<M>{3});
  CHECK(std::isinf(loss.template item<float>()));
}

TEST_CASE_TEMPLATE("what is ignored counts for nothing, whatever its logits are", M, Eager, Lazy) {  // as PyTorch
  using T = Tensor<M>;
  const double infinity = std::numeric_limits<double>::infinity();
  const T x{{-infinity, 0.0, 0.0}, {1.0, 2.0, 3.0}};
  const auto loss = [](const T& logits, const T& labels) {
    return nn::cross_entropy(logits, labels, {.ignored = -100});
  };
  const auto [value, gradients] = value_and_grad(loss)(x, T{-100, 1});
  CHECK(value.template item<float>() == doctest::Approx(1.407606));
  CHECK(allclose(gradients[0], T{{0.0, 0.0, 0.0}, {0.09003057, -0.75527153, 0.66524096}}));
  const auto [none, zeros] = value_and_grad(loss)(x, T{-100, -100});
  CHECK(std::isnan(none.template item<float>()));
  CHECK(array_equal(zeros[0], T::zeros({2, 3})));
}

TEST_CASE_TEMPLATE("labels and indices may be integers of any type", M, Eager, Lazy) {
  using T = Tensor<M>;
  const T x{{1.0, 2.0, 3.0}, {3.0, 2.0, 1.0}}, labels{2, 1};
  const float expected = nn::cross_entropy(x, labels, {.ignored = 9}).template item<float>();
  const Embedding embedding({.count = 3, .features = 2});
  for (const DType type : {DType::u8, DType::i16, DType::i32}) {
    const T typed = labels.astype(type);
    CHECK(nn::cross_entropy(x, typed, {.ignored = 9}).template item<float>() == expected);
    CHECK(nll(x, typed, {.weights = T::ones({3})}).template item<float>() == -2.5f);
    CHECK(multi_margin(x, typed).template item<float>() == multi_margin(x, labels).template item<float>());
    CHECK(array_equal(embedding(typed), embedding(labels)));
    // Labels 2 and 0: (0.0 + 2.0) + (0.0) for class 1; label 1 alone: 3.0 above it, and nothing below.
    CHECK(multi_label_margin(x, T{{2, 0}, {1, 1}}.astype(type), {.reduction = Reduction::none})
              .template to_vector<float>() == std::vector<float>{2.0f / 3, 4.0f / 3});
  }
}

TEST_CASE("losses refuse what does not fit, by name, shape and type") {
  using T = Tensor<Eager>;
  const T x = T::zeros({2, 3}), whole = T::zeros({2}, DType::i64);
  CHECK_THROWS_WITH_AS(huber(x, T::zeros({3})), "huber: the prediction (2,3) and the target (3,) must have one shape",
                       ShapeError);
  CHECK_THROWS_WITH_AS(huber(x, x, 0), "huber: delta = 0 must be positive", ValueError);
  CHECK_THROWS_WITH_AS(smooth_l1(x, x, -1), "smooth_l1: beta = -1 must be positive", ValueError);
  CHECK_THROWS_WITH_AS(squared_error(whole, whole), "squared_error: the prediction is i64; a floating type is expected",
                       TypeError);
  CHECK_THROWS_WITH_AS(cosine_embedding(x, x, x),
                       "cosine_embedding: the target (2,3) must be (2,), a number for each of the vectors (2,3)",
                       ShapeError);
  CHECK_THROWS_WITH_AS(nn::cross_entropy(x, T::zeros({3}, DType::i64), {}),
                       "cross_entropy: labels (3,) must have the shape of the prediction (2,3) without its last axis",
                       ShapeError);
  CHECK_THROWS_WITH_AS(nn::cross_entropy(x, T{true, false}, {}),
                       "cross_entropy: labels are bool; class numbers are expected", TypeError);
  CHECK_THROWS_WITH_AS(nn::cross_entropy(x, whole, {.weights = T::ones({2})}),
                       "cross_entropy: the weights (2,) must be (3,), a number a class", ShapeError);
  CHECK_THROWS_WITH_AS(multi_margin(x, whole, {.weights = T::ones({2})}),
                       "multi_margin: the weights (2,) must be (3,), a number a class", ShapeError);
  CHECK_THROWS_WITH_AS(nn::cross_entropy(x, whole, {.smoothing = 2}),
                       "cross_entropy: the smoothing 2 must be in [0, 1]", ValueError);
  CHECK_THROWS_WITH_AS(nn::cross_entropy(x, x, {.ignored = 0}),
                       "cross_entropy: an ignored label needs labels that are class numbers", ValueError);
  if constexpr (std::is_same_v<T, Tensor<Eager>>) {
    const T below = where(equal(whole, whole), -1, whole);
    CHECK_THROWS_WITH_AS(nn::cross_entropy(x, below, {.smoothing = 0.1}),
                         "cross_entropy: label -1 is out of range; the classes are 0 to 2", IndexError);
    CHECK_THROWS_WITH_AS(nll(x, below), "nll: label -1 is out of range; the classes are 0 to 2", IndexError);
    CHECK_THROWS_WITH_AS(multi_margin(x, below), "multi_margin: label -1 is out of range; the classes are 0 to 2",
                         IndexError);
  }
  CHECK_THROWS_WITH_AS(nll(x, x), "nll: labels are f32; class numbers are expected", TypeError);
  CHECK_THROWS_WITH_AS(binary_cross_entropy(x, x, {.positive_weights = x}),
                       "binary_cross_entropy: weights of positive targets are for the loss with logits", ValueError);
  CHECK_THROWS_WITH_AS(
      multi_label_margin(x, whole),
      "multi_label_margin: labels (2,) of i64 must be class numbers for the rows of the prediction (2,3)", ShapeError);
  CHECK_THROWS_WITH_AS(ctc(x, whole, whole, whole), "ctc: log_probabilities (2,3) must be (batch, time, classes)",
                       ShapeError);
  const T log_p = T::zeros({2, 4, 3});
  CHECK_THROWS_WITH_AS(
      ctc(log_p, whole, whole, whole),
      "ctc: targets (2,), input_lengths (2,) and target_lengths (2,) must be (batch, length), (batch,) and (batch,) "
      "for log_probabilities (2,4,3)",
      ShapeError);
  CHECK_THROWS_WITH_AS(ctc(log_p, x, whole, whole),
                       "ctc: targets, input_lengths and target_lengths must be integers, not f32", TypeError);
  CHECK_THROWS_WITH_AS(ctc(log_p, T::zeros({2, 2}, DType::i64), whole, whole, {.blank = 3}),
                       "ctc: the blank 3 is none of 3 classes", IndexError);
}

// The number is PyTorch 2.13's.
TEST_CASE_TEMPLATE("a variance without the last axis holds for all of a row, of square predictions too", M, Eager,
                   Lazy) {
  using T = Tensor<M>;
  const T x{{1.0, 2.0, 3.0}, {0.0, -1.0, 0.5}}, t{{0.5, 2.0, 1.0}, {1.0, 0.0, 0.0}};
  CHECK(gaussian_nll(x, t, T{0.5, 2.0}).template item<float>() == doctest::Approx(0.8020833333333334));
  const T y = x(all, slice(0, 2)), u = t(all, slice(0, 2)), v{0.5, 2.0};
  CHECK(gaussian_nll(y, u, v).template item<float>() == gaussian_nll(y, u, reshape(v, {2, 1})).template item<float>());
}

// By hand: half a square has the curvature 1, and over a bend its reciprocal.
TEST_CASE_TEMPLATE("losses are curved where the prediction is the target", M, Eager, Lazy) {
  using T = Tensor<M>;
  using Numbers = std::vector<double>;
  const T x = T{0.5, -1.0, 2.0, -2.0}.astype(DType::f64), t = T{0.5, -1.0, 1.75, 3.0}.astype(DType::f64);
  const auto curvatures = [&](const auto& loss) {
    const auto gradient = [&](const T& v) { return sum(grad([&](const T& u) { return loss(u); })(v)); };
    return grad(gradient)(x).template to_vector<double>();
  };
  CHECK(curvatures([&](const T& v) { return huber(v, t, 0.75, Reduction::sum); }) == Numbers{1, 1, 1, 0});
  CHECK(curvatures([&](const T& v) { return smooth_l1(v, t, 0.5, Reduction::sum); }) == Numbers{2, 2, 2, 0});
}

TEST_CASE_TEMPLATE("certain probabilities have gradients, flat where the logarithm is limited", M, Eager, Lazy) {
  using T = Tensor<M>;
  using Numbers = std::vector<float>;
  const T t{1.0, 0.0, 0.0, 1.0};
  const auto loss = [&](const T& p) { return binary_cross_entropy(p, t, {.reduction = Reduction::sum}); };
  const T certain{1.0, 0.0, 1.0, 0.0};
  // Certain and right: -1 / p and 1 / (1 - p). Certain and wrong: 100, which does not change.
  CHECK(grad(loss)(certain).template to_vector<float>() == Numbers{-1, 1, 0, 0});
  const auto of_list = [&](const std::vector<T>& in) { return loss(in[0]); };
  const std::vector<T> at{certain}, along{T::ones({4})};
  CHECK(jvp(of_list, at, along).second.template item<float>() == 0);
  // A sigmoid of logits beyond f32's digits is such a probability; what is wrong by so much teaches nothing.
  const T far = grad([&](const T& x) { return loss(sigmoid(x)); })(T{200.0, -200.0, 200.0, -200.0});
  CHECK(far.template to_vector<float>() == Numbers{0, 0, 0, 0});
  const auto of = [](double p) { return binary_cross_entropy(T{p}, T{1.0}).template item<float>(); };
  CHECK(std::isnan(of(NAN)));
  CHECK(std::isnan(of(-0.5)));
  CHECK(std::isnan(of(1.5)));
}

TEST_CASE_TEMPLATE("a target below zero is no probability, and has no divergence", M, Eager, Lazy) {
  using T = Tensor<M>;
  const std::vector<float> found =
      kl_divergence(T{-1.0, -1.0, -1.0}, T{-0.5, 0.0, NAN}, {.reduction = Reduction::none}).template to_vector<float>();
  CHECK(std::isnan(found[0]));
  CHECK(found[1] == 0);
  CHECK(std::isnan(found[2]));
}

TEST_CASE_TEMPLATE("the distance of equal vectors has the gradient zero in every norm", M, Eager, Lazy) {
  using T = Tensor<M>;
  const T a{{1.0, 2.0}, {3.0, 1.0}}, b{{1.0, 2.0}, {3.0, 3.0}};
  for (const double p : {1.0, 1.5, 2.0, 3.0, double(INFINITY)}) {
    CAPTURE(p);
    const auto total = [&](const T& x) { return sum(pairwise_distance(x, b, 0, p)); };
    CHECK(total(a).template item<float>() == doctest::Approx(2));
    const std::vector<float> gradients = grad(total)(a).template to_vector<float>();
    for (std::size_t i = 0; i < 3; ++i) CHECK(gradients[i] == 0);
    CHECK(gradients[3] == doctest::Approx(-1));
  }
}

}  // namespace tyto::nn
