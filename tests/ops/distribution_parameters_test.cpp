// SPDX-License-Identifier: MIT
// Invalid parameters of distributions: refused where they are known, NaN in what graphs draw.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tyto/distributions.hpp"
#include "tyto/graph.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"
#include "tyto/vmap.hpp"

using namespace tyto;
namespace d = tyto::distributions;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN(),
                 infinity = std::numeric_limits<double>::infinity();

/// Samples with one parameter left open, what the message says that it needs, numbers that are refused besides NaN,
/// and numbers that are drawn of; the first of them is no end of the limits.
template <class T>
struct Row {
  std::string needs;
  std::function<T(const T&)> sample;
  std::vector<double> refused, drawn;
};

#define SAMPLE(...) [](const T& p) -> T { return d::__VA_ARGS__.sample(p.shape()); }

template <class T>
std::vector<Row<T>> rows() {
  return {
      {"Normal needs stddev >= 0", SAMPLE(Normal<T>{1.0, p}), {-1}, {2, 0}},
      {"LogNormal needs stddev >= 0", SAMPLE(LogNormal<T>{1.0, p}), {-1}, {2, 0}},
      {"HalfNormal needs scale >= 0", SAMPLE(HalfNormal<T>{p}), {-1}, {2, 0}},
      {"Uniform needs high - low in [0, inf)", SAMPLE(Uniform<T>{0.0, p}), {-1, infinity}, {2, 0}},
      {"Exponential needs rate > 0", SAMPLE(Exponential<T>{p}), {-1, 0}, {2}},
      {"Laplace needs scale >= 0", SAMPLE(Laplace<T>{1.0, p}), {-1}, {2, 0}},
      {"Logistic needs scale >= 0", SAMPLE(Logistic<T>{1.0, p}), {-1}, {2, 0}},
      {"Gumbel needs scale >= 0", SAMPLE(Gumbel<T>{1.0, p}), {-1}, {2, 0}},
      {"Cauchy needs scale >= 0", SAMPLE(Cauchy<T>{1.0, p}), {-1}, {2, 0}},
      {"Weibull needs shape > 0", SAMPLE(Weibull<T>{p, 1.0}), {-1, 0}, {2}},
      {"Weibull needs scale >= 0", SAMPLE(Weibull<T>{1.0, p}), {-1}, {2, 0}},
      {"Pareto needs shape > 0", SAMPLE(Pareto<T>{p, 1.0}), {-1, 0}, {2}},
      {"Pareto needs scale >= 0", SAMPLE(Pareto<T>{1.0, p}), {-1}, {2, 0}},
      {"Gamma needs shape >= 0", SAMPLE(Gamma<T>{p, 1.0}), {-1}, {2, 0}},
      {"Gamma needs rate > 0", SAMPLE(Gamma<T>{1.0, p}), {-1, 0}, {2}},
      {"ChiSquared needs freedom > 0", SAMPLE(ChiSquared<T>{p}), {-1, 0}, {2}},
      {"Beta needs a > 0", SAMPLE(Beta<T>{p, 1.0}), {-1, 0}, {2}},
      {"Beta needs b > 0", SAMPLE(Beta<T>{1.0, p}), {-1, 0}, {2}},
      {"StudentT needs freedom > 0", SAMPLE(StudentT<T>{p}), {-1, 0}, {2}},
      {"StudentT needs scale >= 0", SAMPLE(StudentT<T>{3.0, 0.0, p}), {-1}, {2, 0}},
      {"FisherF needs numerator > 0", SAMPLE(FisherF<T>{p, 2.0}), {-1, 0}, {2}},
      {"FisherF needs denominator > 0", SAMPLE(FisherF<T>{2.0, p}), {-1, 0}, {2}},
      {"Rayleigh needs scale >= 0", SAMPLE(Rayleigh<T>{p}), {-1}, {2, 0}},
      {"Power needs shape > 0", SAMPLE(Power<T>{p}), {-1, 0}, {2}},
      {"Triangular needs mode - low >= 0", SAMPLE(Triangular<T>{0.0, p, 2.0}), {-1}, {1, 0, 2}},
      {"Triangular needs high - mode >= 0", SAMPLE(Triangular<T>{0.0, 1.0, p}), {-1, 0.5}, {2, 1}},
      {"Wald needs mean > 0", SAMPLE(Wald<T>{p, 1.0}), {-1, 0}, {2}},
      {"Wald needs scale > 0", SAMPLE(Wald<T>{1.0, p}), {-1, 0}, {2}},
      {"VonMises needs concentration >= 0", SAMPLE(VonMises<T>{0.0, p}), {-1}, {2, 0}},
      {"NoncentralChiSquared needs freedom > 0", SAMPLE(NoncentralChiSquared<T>{p, 1.0}), {-1, 0}, {2}},
      {"NoncentralChiSquared needs noncentrality in [0, 2^62]",
       SAMPLE(NoncentralChiSquared<T>{1.0, p}),
       {-1, 1e19},
       {2, 0}},
      {"NoncentralF needs numerator > 0", SAMPLE(NoncentralF<T>{p, 2.0, 1.0}), {-1, 0}, {2}},
      {"NoncentralF needs denominator > 0", SAMPLE(NoncentralF<T>{2.0, p, 1.0}), {-1, 0}, {2}},
      {"NoncentralF needs noncentrality in [0, 2^62]", SAMPLE(NoncentralF<T>{2.0, 2.0, p}), {-1, 1e19}, {2, 0}},
      {"Bernoulli needs probability in [0, 1]", SAMPLE(Bernoulli<T>{p}), {-0.5, 1.5}, {0.5, 0, 1}},
      {"Binomial needs count an integer in [0, 2^53]", SAMPLE(Binomial<T>{p, 0.5}), {-1, 2.5, 1e17}, {3, 0}},
      {"Binomial needs probability in [0, 1]", SAMPLE(Binomial<T>{9, p}), {-0.5, 1.5}, {0.5, 0, 1}},
      {"Geometric needs probability in (0, 1]", SAMPLE(Geometric<T>{p}), {-0.5, 0, 1.5}, {0.5, 1}},
      {"NegativeBinomial needs count in [0, 2^62]", SAMPLE(NegativeBinomial<T>{p, 0.5}), {-1}, {2.5, 0}},
      {"NegativeBinomial needs probability in (0, 1]", SAMPLE(NegativeBinomial<T>{2, p}), {-1, 0, 1.5}, {0.5, 1}},
      {"Poisson needs rate in [0, 2^62]", SAMPLE(Poisson<T>{p}), {-3, 1e19}, {2, 0}},
      {"Hypergeometric needs good an integer in [0, 2^53]", SAMPLE(Hypergeometric<T>{p, 5, 2}), {-1, 2.5}, {3, 0}},
      {"Hypergeometric needs bad an integer in [0, 2^53]", SAMPLE(Hypergeometric<T>{5, p, 2}), {-1, 2.5}, {3, 0}},
      {"Hypergeometric needs drawn an integer in [0, 2^53]", SAMPLE(Hypergeometric<T>{5, 5, p}), {-1, 2.5}, {3, 0, 10}},
      {"Zipf needs exponent > 1", SAMPLE(Zipf<T>{p}), {-1, 1}, {2}},
      {"LogSeries needs probability in [0, 1)", SAMPLE(LogSeries<T>{p}), {-0.5, 1}, {0.5, 0}},
      {"Dirichlet needs concentration > 0",
       [](const T& p) -> T {
         return sum(d::Dirichlet<T>{stack({p + zeros_like(p), ones_like(p)}, -1)}.sample(p.shape()), -1);
       },
       {-1, 0},
       {2}},
  };
}

bool says(const std::string& message, const std::string& needs) { return message.starts_with("sample: " + needs); }

template <class F>
void check_refused(const std::string& needs, const F& draw) {
  try {
    draw();
    FAIL("drew");
  } catch (const ValueError& error) {
    CAPTURE(error.what());
    CHECK(says(error.what(), needs));
  }
}

}  // namespace

TEST_CASE_TEMPLATE("numbers of which a distribution cannot draw are refused in both modes", M, Eager, Lazy) {
  using T = Tensor<M>;
  for (const Row<T>& row : rows<T>()) {
    CAPTURE(row.needs);
    std::vector<double> refused = row.refused;
    refused.push_back(not_a_number);
    for (const double x : refused) {
      CAPTURE(x);
      if (!row.needs.starts_with("Dirichlet"))
        check_refused(row.needs.substr(0, row.needs.find(" needs")), [&] { row.sample(T(x)); });
    }
    if (!row.needs.starts_with("Dirichlet")) check_refused(row.needs, [&] { row.sample(T(row.refused[0])); });
    for (const double x : row.drawn) {
      CAPTURE(x);
      CHECK(bool(all(isfinite(row.sample(T::full({4}, x, DType::f64))))));
      CHECK(bool(isfinite(row.sample(T(x)))));
    }
  }
}

TEST_CASE("tensors with an element of which a distribution cannot draw are refused in eager mode") {
  using T = Tensor<Eager>;
  for (const Row<T>& row : rows<T>()) {
    CAPTURE(row.needs);
    const std::string name = row.needs.substr(0, row.needs.find(" needs"));
    for (const double x : row.refused) {
      CAPTURE(x);
      check_refused(name, [&] { row.sample(T::from(std::vector<double>{row.drawn[0], x, row.drawn[0]}, {3})); });
    }
    check_refused(row.needs, [&] { row.sample(T::full({3}, row.refused[0], DType::f64)); });
    check_refused(name, [&] { row.sample(T::from(std::vector<double>{row.drawn[0], not_a_number}, {2})); });
    CHECK(row.sample(T::zeros({0}, DType::f64)).shape() == Shape{0});
  }
}

TEST_CASE("graphs draw NaN or -1 of parameters of which a distribution cannot draw, and no other element changes") {
  using T = Tensor<Lazy>;
  for (const Row<T>& row : rows<T>()) {
    CAPTURE(row.needs);
    std::vector<double> refused = row.refused;
    refused.push_back(not_a_number);
    for (const double x : refused) {
      CAPTURE(x);
      const T drawn = row.sample(T::from(std::vector<double>{row.drawn[0], x, row.drawn[0]}, {3}));
      const std::vector<double> found = drawn.astype(DType::f64).to_vector<double>();
      if (is_floating(drawn.dtype())) CHECK(std::isnan(found[1]));
      else CHECK(found[1] == -1);
      for (const double other : {found[0], found[2]}) {
        CHECK(std::isfinite(other));
        if (!is_floating(drawn.dtype())) CHECK(other >= 0);
      }
    }
  }
}

TEST_CASE("errors of distributions state the number that was found") {
  using T = Tensor<Eager>;
  CHECK_THROWS_WITH_AS((d::Normal<T>{0.0, -1.5}.sample(Shape{3})), "sample: Normal needs stddev >= 0, not -1.5",
                       ValueError);
  CHECK_THROWS_WITH_AS((d::Bernoulli<T>{T{0.5, 2.0}}.sample()), "sample: Bernoulli needs probability in [0, 1], not 2",
                       ValueError);
  CHECK_THROWS_WITH_AS((d::Binomial<T>{T{2.0, 2.5}, 0.5}.sample()),
                       "sample: Binomial needs count an integer in [0, 2^53], not 2.5", ValueError);
  CHECK_THROWS_WITH_AS((d::Hypergeometric<T>{3, 5, 9}.sample(Shape{2})),
                       "sample: Hypergeometric needs good + bad - drawn >= 0, not -1", ValueError);
  CHECK_THROWS_WITH_AS((d::Hypergeometric<T>{5e15, 5e15, 2}.sample(Shape{2})),
                       "sample: Hypergeometric needs good + bad an integer in [0, 2^53], not 1e+16", ValueError);
  CHECK_THROWS_WITH_AS((d::NegativeBinomial<T>{1.0, T::full({}, 0x1p-60, DType::f64)}.sample()),
                       "sample: NegativeBinomial needs (count + 1) * (1 - probability) / probability in [0, 2^57], not "
                       "2.30584e+18",
                       ValueError);
  CHECK_THROWS_WITH_AS((d::Triangular<T>{1.0, 1.0, 1.0}.sample(Shape{2})),
                       "sample: Triangular needs high - low > 0, not 0", ValueError);
  CHECK_THROWS_WITH_AS((d::Uniform<T>{T{0.0, 3.0}, 1.0}.sample()),
                       "sample: Uniform needs high - low in [0, inf), not -2", ValueError);
}

TEST_CASE_TEMPLATE("draws with options refuse the numbers that NumPy refuses, and NaN", M, Eager, Lazy) {
  using T = Tensor<M>;
  struct Draw {
    const char* needs;
    std::function<T(double)> draw;
    std::vector<double> refused, drawn;
  };
  const Draw draws[] = {
      {"uniform: high - low must be in [0, inf), not ",
       [](double x) { return T::uniform({3}, {.low = 1, .high = x}); },
       {0.5},
       {1, 2}},
      {"normal: stddev must be >= 0, not ", [](double x) { return T::normal({3}, {.stddev = x}); }, {-1}, {0, 2}},
      {"truncated_normal: stddev must be >= 0, not ",
       [](double x) { return T::truncated_normal({3}, {.stddev = x}); },
       {-1},
       {0, 2}},
      {"bernoulli: probability must be in [0, 1], not ",
       [](double x) { return T::bernoulli({3}, {.probability = x}).astype(DType::f32); },
       {-0.1, 1.1},
       {0, 0.5, 1}},
      {"gamma: shape must be in [0, inf), not ",
       [](double x) { return T::gamma({3}, {.shape = x}); },
       {-1, infinity},
       {0, 0.3, 2}},
      {"gamma: scale must be >= 0, not ", [](double x) { return T::gamma({3}, {.scale = x}); }, {-1}, {0, 2}},
      {"exponential: rate must be > 0, not ", [](double x) { return T::exponential({3}, {.rate = x}); }, {-1, 0}, {2}},
  };
  for (const Draw& row : draws) {
    CAPTURE(row.needs);
    for (const double x : row.refused) {
      CAPTURE(x);
      try {
        row.draw(x);
        FAIL_CHECK("drew");
      } catch (const ValueError& error) {
        CAPTURE(error.what());
        CHECK(std::string(error.what()).starts_with(row.needs));
      }
    }
    CHECK_THROWS_AS(row.draw(not_a_number), ValueError);
    for (const double x : row.drawn) CHECK(bool(all(isfinite(row.draw(x)))));
  }
  // As NumPy's: no width, and no time.
  CHECK(T::gamma({2}, {.shape = 0}).template to_vector<float>() == std::vector<float>{0, 0});
  CHECK(T::exponential({2}, {.rate = infinity}).template to_vector<float>() == std::vector<float>{0, 0});
  CHECK(T::uniform({2}, {.low = 3, .high = 3}).template to_vector<float>() == std::vector<float>{3, 3});
}

TEST_CASE("the element that is refused is found wherever it lies, in every layout and type") {
  using T = Tensor<Eager>;
  const auto refused = [](const T& p) {
    CHECK_THROWS_WITH_AS(d::Bernoulli<T>{p}.sample(), "sample: Bernoulli needs probability in [0, 1], not 2",
                         ValueError);
  };
  for (const std::int64_t length : {2, 255, 256, 257, 1000}) {
    for (const std::int64_t at : {std::int64_t{0}, length / 2, length - 1}) {
      const T p = where(equal(T::arange(length), at), 2.0, 0.5);
      for (const DType type : {DType::f16, DType::bf16, DType::f32, DType::f64}) refused(p.astype(type));
      refused(flip(p));
      refused(broadcast_to(expand_dims(p, 1), {length, 3}));
    }
  }
  refused(T{0, 1, 2});
  CHECK(d::Bernoulli<T>{T::full({1000}, 0.5)(slice(0, 1000, 3))}.sample().size() == 334);
}

TEST_CASE("variables of eager mode are seen, examples of a batch are marked") {
  using T = Tensor<Eager>;
  const T sigma = T::variable(T{1.0, -2.0});
  CHECK_THROWS_WITH_AS((d::Normal<T>{0.0, sigma}.sample()), "sample: Normal needs stddev >= 0, not -2", ValueError);
  const DrawOptions options{.key = Key{1, 1}};
  const T drawn = vmap([&](const T& rate) { return d::Exponential<T>{rate}.sample(Shape{2}, options); })(T{-1.0, 1.0});
  CHECK(bool(all(isnan(drawn(0)))));
  CHECK(bool(all(drawn(1) > 0.0)));
}

TEST_CASE_TEMPLATE("classes and vectors of counts are refused by their row", M, Eager, Lazy) {
  using T = Tensor<M>;
  constexpr bool eager = std::is_same_v<M, Eager>;
  const auto refused = [&](const char* message, const auto& draw) {
    CAPTURE(message);
    if constexpr (eager) CHECK_THROWS_WITH_AS(draw(), message, ValueError);
    else CHECK(draw()(0).template to_vector<int>()[0] == -1);
  };
  refused("sample: Multinomial needs probabilities in [0, 1], not -0.5", [] {
    return d::Multinomial<T>{T{4}, T{{-0.5, 1.5}}.astype(DType::f64)}.sample();
  });
  refused("sample: Multinomial needs sum(probabilities, -1) within a thousandth of 1, not 1.25", [] {
    return d::Multinomial<T>{T{4}, T{{0.75, 0.5}}}.sample();
  });
  refused("sample: Multinomial needs sum(probabilities, -1) within two epsilons of 1, not 1.03125", [] {
    return d::Multinomial<T>{T{4}, T{{0.53125, 0.5}}.astype(DType::bf16)}.sample();
  });
  refused("sample: Multinomial needs count an integer in [0, 2^53], not -4", [] {
    return d::Multinomial<T>{T{-4}, T{{0.5, 0.5}}}.sample();
  });
  refused("sample: MultivariateHypergeometric needs counts an integer in [0, 2^53], not -3", [] {
    return d::MultivariateHypergeometric<T>{T{{-3, 8}}, T{4}}.sample();
  });
  refused("sample: MultivariateHypergeometric needs sum(counts, -1) - drawn >= 0, not -1", [] {
    return d::MultivariateHypergeometric<T>{T{{3, 8}}, T{12}}.sample();
  });
  const T logits{{0.0, not_a_number, 0.0}, {0.0, -infinity, 1.0}}, none{{-infinity, -infinity}};
  if constexpr (eager) {
    CHECK_THROWS_WITH_AS(d::Categorical<T>{logits}.sample(Shape{5}), "sample: Categorical needs logits finite, not nan",
                         ValueError);
    CHECK_THROWS_WITH_AS(d::Categorical<T>{none}.sample(), "sample: Categorical needs logits finite, not -inf",
                         ValueError);
  } else {
    const T drawn = d::Categorical<T>{logits}.sample(Shape{5});
    CHECK(bool(all(equal(drawn(all, 0), -1))));
    CHECK(bool(all(drawn(all, 1) >= 0)));
    CHECK(d::Categorical<T>{none}.sample().template to_vector<int>() == std::vector<int>{-1});
  }
  CHECK(d::Multinomial<T>{3, T{0.0, 1.0}}.sample().template to_vector<int>() == std::vector<int>{0, 3});
}

TEST_CASE_TEMPLATE("classes and vectors need an axis, and classes one element of it", M, Eager, Lazy) {
  using T = Tensor<M>;
  const T one = T::full({}, 1.0), x = T::full({}, 0.0), three{1.0, 1.0, 1.0};
  const auto refused = [](const std::string& message, const auto& call) {
    CHECK_THROWS_WITH_AS(call(), message.c_str(), ShapeError);
  };
  const std::string classes = ": a distribution of classes needs a parameter with an axis",
                    vectors = ": a distribution of vectors needs a parameter with an axis";
  refused("sample" + classes, [&] { d::Categorical<T>{one}.sample(); });
  refused("log_prob" + classes, [&] { d::Categorical<T>{one}.log_prob(x); });
  refused("cdf" + classes, [&] { d::Categorical<T>{one}.cdf(x); });
  const std::string none = ": no classes, the last axis of (2,0) is empty";
  refused("sample" + none, [] { d::Categorical<T>{T::zeros({2, 0})}.sample(); });
  refused("log_prob" + none, [&] { d::Categorical<T>{T::zeros({2, 0})}.log_prob(x); });
  refused("cdf" + none, [&] { d::Categorical<T>{T::zeros({2, 0})}.cdf(x); });
  refused("sample" + vectors, [&] { d::Multinomial<T>{3, one}.sample(); });
  refused("log_prob" + vectors, [&] { d::Multinomial<T>{3, one}.log_prob(three); });
  refused("sample" + vectors, [&] { d::MultivariateHypergeometric<T>{one, 1}.sample(); });
  refused("log_prob" + vectors, [&] { d::MultivariateHypergeometric<T>{one, 1}.log_prob(three); });
  refused("log_prob" + vectors, [&] { d::Dirichlet<T>{one}.log_prob(three); });
}

TEST_CASE_TEMPLATE("probabilities add up to 1 as far as their type can tell", M, Eager, Lazy) {
  using T = Tensor<M>;
  const DrawOptions options{.key = Key{5, 2}};
  for (const DType type : {DType::bf16, DType::f16, DType::f32, DType::f64}) {
    for (const std::int64_t classes : {3, 7, 100, 999}) {
      CAPTURE(type);
      CAPTURE(classes);
      const T p = T::full({classes}, 1.0 / static_cast<double>(classes), type);
      const T drawn = d::Multinomial<T>{1000, p}.sample({}, options);
      CHECK(bool(all(drawn >= 0)));
      CHECK(bool(equal(sum(drawn), 1000)));
    }
  }
}

TEST_CASE_TEMPLATE("failures before a success that hardly ever comes are drawn or refused, never by luck", M, Eager,
                   Lazy) {
  using T = Tensor<M>;
  // 2^55 failures on average, exponentially distributed: their median is that times log(2).
  const T drawn = d::NegativeBinomial<T>{1, T::full({}, 0x1p-55, DType::f64)}.sample(Shape{4000}, {.key = Key{8, 1}});
  CHECK(bool(all(drawn >= 0)));
  const T units = drawn.astype(DType::f64) * 0x1p-55;
  CHECK(allclose(mean(units), T::full({}, 1.0, DType::f64), 0.0, 0.08));
  CHECK(allclose(mean((units < 0.6931471805599453).astype(DType::f64)), T::full({}, 0.5, DType::f64), 0.0, 0.04));
  const T rare = T::full({2}, 1e-30, DType::f64);
  if constexpr (std::is_same_v<M, Eager>) {
    for (int i = 0; i < 20; ++i)
      check_refused("NegativeBinomial needs (count", [&] { d::NegativeBinomial<T>{1, rare}.sample(); });
  } else {
    CHECK(d::NegativeBinomial<T>{1, rare}.sample().template to_vector<int>() == std::vector<int>{-1, -1});
  }
}
