// SPDX-License-Identifier: MIT
// vmap: a batch of examples gives what one after the other gives.
#include <doctest/doctest.h>

#include <cmath>
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>
#include <utility>
#include <vector>

using namespace tyto;

namespace {

template <class M>
Tensor<M> numbered(const Shape& shape) {
  return sin(reshape(Tensor<M>::arange(0, element_count(shape), 1, DType::f64) * 0.7, shape));
}

/// f on every example, stacked.
template <class M, class F>
Tensor<M> one_by_one(F f, const Tensor<M>& x) {
  std::vector<Tensor<M>> each;
  for (const Tensor<M>& row : x) each.push_back(f(row));
  return stack(each);
}

template <class M, class F>
void check(const char* what, F f, const Tensor<M>& x) {
  CAPTURE(what);
  const Tensor<M> got = vmap(f)(x), want = one_by_one<M>(f, x);
  CHECK(got.shape() == want.shape());
  CHECK(got.dtype() == want.dtype());
  CHECK(allclose(got.astype(DType::f64), want.astype(DType::f64), 1e-12, 1e-12));
}

}  // namespace

TEST_CASE_TEMPLATE("vmap does for all examples what its function does for one", M, Eager, Lazy) {
  using T = Tensor<M>;
  const T x = numbered<M>({4, 3, 5}), w = numbered<M>({5, 2}), row = numbered<M>({5}), column = numbered<M>({3, 1});
  check(
      "elements", [&](const T& v) { return exp(v) * 2 + row; }, x);
  check(
      "elements of lower rank", [&](const T& v) { return v * sum(v, 1, true) - column; }, x);
  check(
      "an example beside a wider constant",
      [&](const T& v) {
        return sum(v) + numbered<M>({2, 3});
      },
      x);
  check(
      "sum", [](const T& v) { return sum(v, 0); }, x);
  check(
      "repeat", [](const T& v) { return repeat(v, 3, 0); }, x);
  check(
      "repeat along the last axis", [](const T& v) { return repeat(v, 2, -1); }, x);
  check(
      "all axes", [](const T& v) { return mean(v); }, x);
  check(
      "variance", [](const T& v) { return stddev(v, 1, false, 1); }, x);
  check(
      "argmax", [](const T& v) { return argmax(v, -1); }, x);
  check(
      "softmax", [](const T& v) { return softmax(v, 0); }, x);
  check(
      "sort", [](const T& v) { return sort(v, 0, true); }, x);
  check(
      "running sum", [](const T& v) { return cumsum(v, 1); }, x);
  check(
      "product", [&](const T& v) { return matmul(v, w); }, x);
  check(
      "product of two", [](const T& v) { return matmul(v, v.T()); }, x);
  check(
      "vector product", [&](const T& v) { return matmul(v, row); }, x);
  check(
      "views",
      [](const T& v) {
        return flip(v.T().reshape({-1, 3}), 1)(slice(1, 4), newaxis);
      },
      x);
  check(
      "writing",
      [](T v) {
        v(0) = 1.0;
        return v;
      },
      x);
  check(
      "joining",
      [&](const T& v) {
        return concat({v, broadcast_to(column, {3, 2})}, 1);
      },
      x);
  check(
      "padding",
      [](const T& v) {
        return pad(v, {1, 0}, {0, 2}, PaddingMode::wrap);
      },
      x);
  check(
      "taking",
      [](const T& v) {
        return take(v, Tensor<M>{2, 0}, 1);
      },
      x);
  check(
      "taking by examples", [](const T& v) { return take(v, argsort(v(0)), 1); }, x);
  check(
      "topk", [](const T& v) { return topk(v, 2).values; }, x);
  check(
      "masks", [](const T& v) { return where(v > 0, v, -v); }, x);
  check(
      "determinants", [](const T& v) { return linalg::det(matmul(v, v.T())); }, x);
  check(
      "a convolution",
      [](const T& v) {
        return conv1d(reshape(v, {1, 15, 1}), numbered<M>({3, 1, 2}));
      },
      x);
  check(
      "what does not depend on the example", [&](const T&) { return row * 2; }, x);
  check(
      "diagonals", [](const T& v) { return diagonal(matmul(v, v.T())) + tril(matmul(v, v.T())); }, x);
}

TEST_CASE_TEMPLATE("vmap takes several arguments along any axes, and gives several results", M, Eager, Lazy) {
  using T = Tensor<M>;
  const T x = numbered<M>({4, 3}), y = numbered<M>({3, 4}), shared = numbered<M>({3});
  const auto f = [](const T& a, const T& b, const T& c) { return std::pair(dot(a, b), a + c); };
  const auto [products, sums] = vmap(f, {0, 1, std::nullopt})(x, y, shared);
  CHECK(allclose(products, sum(x * y.T(), 1)));
  CHECK(allclose(sums, x + shared));
  const T nested = vmap([&](const T& row) { return vmap([&](const T& e) { return e * sum(row); })(row); })(x);
  CHECK(allclose(nested, x * sum(x, 1, true)));
}

TEST_CASE_TEMPLATE("vmap of a gradient gives a gradient for each example, and has a gradient itself", M, Eager, Lazy) {
  using T = Tensor<M>;
  const T x = numbered<M>({5, 3}), w = numbered<M>({3});
  const auto loss = [](const T& v, const T& e) { return square(sum(v * e)); };
  const T each = vmap(grad(loss), {std::nullopt, 0})(w, x);
  CHECK(allclose(each, 2.0 * matmul(x, w).reshape({5, 1}) * x));
  const T total = grad([&](const T& v) { return sum(vmap([&](const T& e) { return square(sum(v * e)); })(x)); })(w);
  CHECK(allclose(total, sum(each, 0)));
}

TEST_CASE("vmap in a compiled function is part of its graph") {
  using T = Tensor<Lazy>;
  auto f = compile([](const T& x) { return vmap([](const T& row) { return row / l2_norm(row); })(x); });
  const T x = numbered<Lazy>({3, 4});
  CHECK(allclose(f(x), x / l2_norm(x, 1, true)));
  CHECK(allclose(f(x * 2), x / l2_norm(x, 1, true)));
}

TEST_CASE_TEMPLATE("vmap of a loop or branch goes by each example's own values", M, Eager, Lazy) {
  using T = Tensor<M>;
  const T divisors = vmap([](const T& a, const T& b) { return gcd(a, b); })(T{12, 35, 144}, T{18, 64, 233});
  CHECK(divisors.template to_vector<std::int64_t>() == std::vector<std::int64_t>{6, 1, 1});
  const auto halve = [](const T& x) {
    return while_loop(
        x, [](const T& y) { return y > 1; }, [](const T& y) { return y / 2; });
  };
  CHECK(vmap(halve)(T{1.0, 3.0, 16.0}).template to_vector<float>() == std::vector<float>{1, 0.75F, 1});
  const auto size = [](const T& x) {
    return cond(
        x < 0, [&] { return -x; }, [&] { return x * 10; });
  };
  CHECK(vmap(size)(T{-2.0, 3.0}).template to_vector<float>() == std::vector<float>{2, 30});
}

TEST_CASE_TEMPLATE("apply_along_axis puts what a function of vectors gives in the axis' place", M, Eager, Lazy) {
  using T = Tensor<M>;
  const T x = numbered<M>({2, 4, 3});
  CHECK(allclose(apply_along_axis([](const T& v) { return sort(v); }, x, 1), sort(x, 1)));
  CHECK(allclose(apply_along_axis([](const T& v) { return sum(v); }, x, 0), sum(x, 0)));
  CHECK(apply_along_axis([](const T& v) { return outer(v, v); }, x, 1).shape() == Shape{2, 4, 4, 3});
  CHECK(apply_along_axis([](const T& v) { return narrow(v, 0, 0, 2); }, x, -1).shape() == Shape{2, 4, 2});
}

TEST_CASE_TEMPLATE("vmap says what it cannot do", M, Eager, Lazy) {
  using T = Tensor<M>;
  const auto first = [](const T& a) { return a; };
  const auto both = [](const T& a, const T& b) { return a + b; };
  CHECK_THROWS_WITH_AS(vmap(first)(T(1.0)), "vmap: argument 0 of shape () has no examples", ShapeError);
  CHECK_THROWS_WITH_AS(vmap(first)(T::zeros({0, 2})), "vmap: there are no examples", ShapeError);
  CHECK_THROWS_WITH_AS(vmap(both)(T::zeros({2}), T::zeros({3})), "vmap: argument 1 has 3 examples, those before it 2",
                       ShapeError);
  CHECK_THROWS_WITH_AS(vmap(both, {0})(T::zeros({2}), T::zeros({2})), "vmap: 1 axes for 2 arguments", ValueError);
  CHECK_THROWS_WITH_AS(vmap(first, {std::nullopt})(T::zeros({2})),
                       "vmap: no argument has an axis along which examples lie", ValueError);
  CHECK_THROWS_AS(vmap([](const T& a) { return a.sum().template item<float>() > 0 ? a : -a; })(T::ones({2, 2})),
                  GraphError);
}

TEST_CASE_TEMPLATE("vmap refuses what assigns an example's own value to a state, and leaves the state", M, Eager,
                   Lazy) {
  using T = Tensor<M>;
  const T x{1.0, 2.0, 3.0}, s = T::persistent(T(5.0), "total");
  const char* const refused =
      "vmap: the function assigns 'total' a value of the example's own; return the value, and assign what vmap makes "
      "of "
      "it";
  const auto total = [&] { return s.template item<float>(); };
  const auto add = [&](const T& a) {
    assign(s, s + a);
    return a + s;
  };
  CHECK_THROWS_WITH_AS(vmap(add)(x), refused, GraphError);
  CHECK(total() == 5);
  CHECK_THROWS_WITH_AS(grad([&](const T& q) { return sum(vmap(add)(q)); })(x), refused, GraphError);
  CHECK(total() == 5);
  CHECK_THROWS_WITH_AS(vmap(grad(add))(x), refused, GraphError);
  CHECK(total() == 5);
  CHECK_THROWS_WITH_AS(compile([&](const T& q) { return vmap(add)(q); })(x), refused, GraphError);
  CHECK(total() == 5);
  const auto in_a_loop = [&](const T& a) {
    return fori_loop(0, 2, a, [&](const T&, const T& c) {
      assign(s, s + c);
      return c;
    });
  };
  CHECK_THROWS_WITH_AS(vmap(in_a_loop)(x), refused, GraphError);
  CHECK(total() == 5);
  const T matrix{{1.0, 2.0}, {3.0, 4.0}};
  CHECK_THROWS_WITH_AS(vmap([&](const T& row) { return vmap(add)(row); })(matrix), refused, GraphError);
  CHECK_THROWS_WITH_AS(
      vmap([&](const T& row) { return vmap([&](const T& a) { return a * add(sum(row)); })(row); })(matrix), refused,
      GraphError);
  CHECK(total() == 5);
  // A function that throws for another reason leaves it, too.
  CHECK_THROWS_AS(vmap([&](const T& a) {
                    assign(s, a);
                    return a + T::ones({2, 2}) + T::ones({3, 3});
                  })(x),
                  ShapeError);
  CHECK(total() == 5);
  assign(s, s + sum(vmap([&](const T& a) { return a * s; })(x)));
  CHECK(total() == 35);
}

TEST_CASE_TEMPLATE("a state that vmap's function assigns another value takes it once", M, Eager, Lazy) {
  using T = Tensor<M>;
  const T x{1.0, 2.0, 3.0}, calls = T::persistent(T(0.0), "calls"), w = T::variable(T(2.0), "w");
  const auto count = [&](const T& a) {
    assign(calls, calls + 1.0);
    return a * w + calls;
  };
  CHECK(vmap(count)(x).template to_vector<float>() == std::vector<float>{3, 5, 7});
  CHECK(calls.template item<float>() == 1);
  auto compiled = compile([&](const T& q) { return vmap(count)(q); });
  CHECK(compiled(x).template to_vector<float>() == std::vector<float>{4, 6, 8});
  CHECK(compiled(x).template to_vector<float>() == std::vector<float>{5, 7, 9});
  CHECK(calls.template item<float>() == 3);
  // The value that a gradient outside goes to: w becomes w^2, by which the second sum is 2 w times that of x.
  const auto [loss, gradients] = value_and_grad(
      [&](const T& q) {
        const T before = vmap([&](const T& a) {
          const T y = a * w;
          assign(w, w * w);
          return y;
        })(q);
        return sum(before) + sum(q * w);
      },
      {w})(x);
  CHECK(loss.template item<float>() == 36);
  CHECK(gradients[0].template item<float>() == 30);
  CHECK(w.template item<float>() == 4);
  // States of a layer that the function makes for itself are nobody else's.
  const T pairs{{{1.0, 2.0}, {3.0, 6.0}}, {{0.0, 1.0}, {4.0, 5.0}}};
  const T normal = vmap([](const T& a) {
    nn::BatchNorm1d own({.channels = 2, .epsilon = 0});
    return T(own(a, nn::training));
  })(pairs);
  CHECK(allclose(normal, T{{{-1.0, -1.0}, {1.0, 1.0}}, {{-1.0, -1.0}, {1.0, 1.0}}}));
}

TEST_CASE_TEMPLATE("vmap of a normalisation in training is refused, and its statistics stay", M, Eager, Lazy) {
  using T = Tensor<M>;
  nn::BatchNorm1d norm({.channels = 2});
  const T x{{{1.0, 2.0}, {3.0, 5.0}}, {{0.0, 1.0}, {4.0, 4.0}}};
  CHECK_THROWS_AS(vmap([&](const T& a) { return T(norm(a, nn::training)); })(x), GraphError);
  CHECK(T(norm.running_mean.value()).template to_vector<float>() == std::vector<float>{0, 0});
  CHECK(T(norm.running_var.value()).template to_vector<float>() == std::vector<float>{1, 1});
  CHECK(allclose(vmap([&](const T& a) { return T(norm(a)); })(x), x / std::sqrt(1 + 1e-5)));
}
