// SPDX-License-Identifier: MIT
// Gradients of operators that move or pick elements: indices, parts, broadcasts, ties, windows; against finite
// differences in f64 and, where there is a choice, against the choice that is documented here.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <tyto/tyto.hpp>

#include "tests/support/both_modes.hpp"
#include "tests/support/numbers.hpp"

using tyto::all;
using tyto::DType;
using tyto::grad;
using tyto::slice;
using tyto_test::finite_differences;
using tyto_test::Numbers;
using tyto_test::numbers;

namespace {

// Twelve numbers without ties, of both signs.
const Numbers sample{0.31, -1.2, 0.77, 2.1, -0.45, 1.3, -2.2, 0.9, 1.71, -0.66, 0.12, -1.9};

// Weights that make every result element count differently.
template <class T>
T weighed(const T& y) {
  return (y * cos(T::arange(y.size()).astype(DType::f64).reshape(y.shape()))).sum();
}

template <class Mode>
void check_gradient(const std::function<tyto::Tensor<Mode>(tyto::Tensor<Mode>)>& f, const tyto::Shape& shape,
                    const Numbers& at = sample) {
  using T = tyto::Tensor<Mode>;
  const auto scalar = [&](T v) { return weighed(f(v)); };
  const Numbers found = numbers(grad(scalar)(tyto_test::doubles<T>(at, shape)));
  const Numbers expected = finite_differences<T>(scalar, at, shape);
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i);
    CHECK(std::abs(found[i] - expected[i]) <= 1e-8 * std::max(1.0, std::abs(expected[i])));
  }
}

}  // namespace

BOTH_MODES("parts read and written hand their gradients to the places they came from") {
  using T = tyto::Tensor<Mode>;
  const T index{2, 0, 2};
  check_gradient<Mode>([](T v) { return v(slice({}, {}, -2), all); }, {3, 4});
  check_gradient<Mode>([](T v) { return v(1, tyto::newaxis, slice(1, 3)) * v(0, 0); }, {3, 4});
  check_gradient<Mode>([](T v) { return set(v, {all, slice(0, 4, 2)}, v(all, slice(1, 3)) * 2.0); }, {3, 4});
  check_gradient<Mode>(
      [](T v) {
        T y = v * v;
        y(0) = v(1);
        y(all, 1) *= v(all, 2);
        return y;
      },
      {3, 4});
  check_gradient<Mode>([index](T v) { return v(index); }, {3, 4});
  check_gradient<Mode>([index](T v) { return v(all, index); }, {3, 4});
  check_gradient<Mode>([index](T v) { return set(v, {index}, v(slice(0, 3)) * v(1, 1)); }, {3, 4});
  check_gradient<Mode>([index](T v) { return take(v, index, 1); }, {3, 4});
  check_gradient<Mode>([](T v) { return take_along_axis(v, argsort(v, 1), 1); }, {3, 4});
  check_gradient<Mode>([index](T v) { return scatter_add(v, std::vector<T>{index}, v * v); }, {3, 4});
  check_gradient<Mode>([index](T v) { return scatter(v, std::vector<T>{index}, v * v); }, {3, 4});
  check_gradient<Mode>([index](T v) { return gather(v, std::vector<T>{index, T{3, 3, 1}}); }, {3, 4});
}

BOTH_MODES("shapes changed on the way change back") {
  using T = tyto::Tensor<Mode>;
  check_gradient<Mode>([](T v) { return concat(std::vector<T>{v, v.T().reshape({3, 4}) * 2.0}, 1); }, {3, 4});
  check_gradient<Mode>([](T v) { return stack(std::vector<T>{v, v * v}, 1); }, {3, 4});
  check_gradient<Mode>([](T v) { return split(v, 2, 1)[0] * split(v, 2, 1)[1]; }, {3, 4});
  check_gradient<Mode>([](T v) { return broadcast_to(v.reshape({3, 1, 4}), {2, 3, 5, 4}); }, {3, 4});
  check_gradient<Mode>([](T v) { return v + v(0) + v(all, slice(0, 1)); }, {3, 4});
  check_gradient<Mode>([](T v) { return tile(v, {2, 3}); }, {3, 4});
  check_gradient<Mode>([](T v) { return repeat(v, 3, 1); }, {3, 4});
  check_gradient<Mode>([](T v) { return roll(flip(v, 0), {1, -1}, {0, 1}); }, {3, 4});
  check_gradient<Mode>([](T v) { return pad(v, {1, 0}, {0, 2}, tyto::PaddingMode::reflect); }, {3, 4});
  check_gradient<Mode>([](T v) { return diag(v(0)) + diagonal(v, 1)(0); }, {3, 4});
  check_gradient<Mode>([](T v) { return tril(v) * triu(v, -1); }, {3, 4});
}

BOTH_MODES("reductions and scans spread their gradients") {
  using T = tyto::Tensor<Mode>;
  check_gradient<Mode>([](T v) { return v.sum(0) * v.mean(1, true); }, {3, 4});
  check_gradient<Mode>([](T v) { return prod(v, 1); }, {3, 4});
  check_gradient<Mode>([](T v) { return var(v, 0, false, 1) + stddev(v, {0, 1}); }, {3, 4});
  check_gradient<Mode>([](T v) { return logsumexp(v, 1) + l2_norm(v, 1); }, {3, 4});
  check_gradient<Mode>([](T v) { return max(v, 1) * min(v, {0, 1}); }, {3, 4});
  check_gradient<Mode>([](T v) { return cumsum(v, 1, {.exclusive = true, .reverse = true}); }, {3, 4});
  check_gradient<Mode>([](T v) { return cumprod(v, 0); }, {3, 4});
  check_gradient<Mode>([](T v) { return cummax(v, 1); }, {3, 4});
  check_gradient<Mode>([](T v) { return softmax(v, 0) * log_softmax(v, 1); }, {3, 4});
  check_gradient<Mode>([](T v) { return sort(v, 1) * topk(v, 2, 0).values.sum(); }, {3, 4});
  check_gradient<Mode>([](T v) { return scan(v, 0, [](const T& a, const T& b) { return a * b + sin(b); }); }, {3, 4});
}

BOTH_MODES("products and windows") {
  using T = tyto::Tensor<Mode>;
  check_gradient<Mode>([](T v) { return matmul(v, v.T()); }, {3, 4});
  check_gradient<Mode>([](T v) { return matmul(v.reshape({2, 2, 3}), v.reshape({3, 4})(slice(0, 3), 1)); }, {3, 4});
  check_gradient<Mode>([](T v) { return tyto::einsum("ij,kj->ik", std::vector<T>{v, v * v}); }, {3, 4});
  const T kernel = tyto_test::doubles<T>({0.2, -0.4, 0.7, 1.1, 0.5, -0.3}, {3, 1, 2});
  check_gradient<Mode>([kernel](T v) { return conv1d(v, kernel, {.stride = 2, .padding = tyto::same}); }, {2, 6, 1});
  const T image = tyto_test::doubles<T>(sample, {1, 3, 4, 1});
  check_gradient<Mode>([image](T v) { return conv2d(image, v, {.padding = 1, .dilation = 2}); }, {2, 2, 1, 3});
  check_gradient<Mode>([](T v) { return max_pool(v, {2, 2}, {.stride = 1}); }, {1, 3, 4, 1});
  check_gradient<Mode>([](T v) { return average_pool(v, {2, 3}, {.stride = 1, .padding = tyto::same}); }, {1, 3, 4, 1});
  check_gradient<Mode>([](T v) { return upsample(v, 2, tyto::Resampling::bilinear); }, {1, 3, 4, 1});
}

BOTH_MODES("second derivatives agree with differences of first ones") {
  using T = tyto::Tensor<Mode>;
  const std::vector<std::function<T(T)>> functions{
      [](T v) { return softmax(v, 1); },
      [](T v) { return prod(v, 0); },
      [](T v) { return set(v * v, {0}, v(1) * v(2)); },
      [](T v) { return var(v * v, 1); },
      [](T v) {
        return v(T{0, 2, 0}) * v;
      },
      [](T v) {
        return conv2d(v.reshape({1, 3, 4, 1}), v.reshape({3, 2, 1, 2}), {.padding = tyto::same});
      },
  };
  for (std::size_t i = 0; i < functions.size(); ++i) {
    CAPTURE(i);
    check_gradient<Mode>([&](T v) { return grad([&](T u) { return weighed(functions[i](u)); })(v); }, {3, 4});
  }
}

BOTH_MODES("equal extremes share the gradient evenly") {
  using T = tyto::Tensor<Mode>;
  const T x = tyto_test::doubles<T>({3, 1, 3, 3, 1, 1}, {2, 3});
  CHECK(numbers(grad([](T v) { return max(v, 1).sum(); })(x)) == Numbers{0.5, 0, 0.5, 1, 0, 0});
  CHECK(numbers(grad([](T v) { return min(v); })(x)) ==
        numbers(tyto_test::doubles<T>({0, 1, 0, 0, 1, 1}, {2, 3}) / 3.0));
  CHECK(numbers(grad([](T v) { return maximum(v, 3.0).sum(); })(x)) == Numbers{0.5, 0, 0.5, 0.5, 0, 0});
}

BOTH_MODES("corners have the gradient that users of PyTorch expect") {
  using T = tyto::Tensor<Mode>;
  const T x = tyto_test::doubles<T>({-1, 0, 2}, {3});
  CHECK(numbers(grad([](T v) { return relu(v).sum(); })(x)) == Numbers{0, 0, 1});
  CHECK(numbers(grad([](T v) { return abs(v).sum(); })(x)) == Numbers{-1, 0, 1});
  CHECK(numbers(grad([](T v) { return clip(v, 0.0, 2.0).sum(); })(x)) == Numbers{0, 1, 1});
  CHECK(numbers(grad([](T v) { return power(v, 2.0).sum(); })(x)) == Numbers{-2, 0, 4});
  CHECK(numbers(grad([](T v) { return power(v, 0.0).sum(); })(x)) == Numbers{0, 0, 0});
  const auto gradient_of_power = [](T exponent) {
    return [=](T v) { return grad([=](T u) { return power(u, exponent).sum(); })(v).sum(); };
  };
  const T exponents = tyto_test::doubles<T>({0, 0, 3}, {3});
  CHECK(numbers(grad(gradient_of_power(exponents))(x)) == Numbers{0, 0, 12});
  const auto gradient_by_exponent = [=](T b) { return grad([=](T c) { return power(T{0.0}, c).sum(); })(b).sum(); };
  CHECK(numbers(grad(gradient_by_exponent)(tyto_test::doubles<T>({1, 2, 3}, {3}))) == Numbers{0, 0, 0});
}

// As in PyTorch and JAX: the branch that is not chosen gets a gradient of zero, and zero times an infinite or undefined
// derivative is NaN. Choosing the operand before the function that is undefined avoids it.
BOTH_MODES("a branch of where that is not chosen still spoils the gradient if its derivative is not finite") {
  using T = tyto::Tensor<Mode>;
  const T x = tyto_test::doubles<T>({-1, 0, 4}, {3});
  const Numbers spoilt = numbers(grad([](T v) { return where(v > 0.0, sqrt(v), 0.0).sum(); })(x));
  CHECK(std::isnan(spoilt[0]));
  CHECK(std::isnan(spoilt[1]));
  CHECK(spoilt[2] == 0.25);
  const auto safe = [](T v) { return where(v > 0.0, sqrt(where(v > 0.0, v, 1.0)), 0.0).sum(); };
  CHECK(numbers(grad(safe)(x)) == Numbers{0, 0, 0.25});
  // A NaN in the values of the branch not chosen does no harm.
  const T holes = tyto_test::doubles<T>({std::numeric_limits<double>::quiet_NaN(), 2}, {2});
  CHECK(numbers(grad([](T v) { return where(isnan(v), 0.0, v * 3.0).sum(); })(holes)) == Numbers{0, 3});
}

TEST_CASE("gradients are the same to the last bit in both modes") {
  const auto run = []<class Mode>(Mode) {
    using T = tyto::Tensor<Mode>;
    const auto f = [](T v) {
      T h = tanh(matmul(v, v.T()));
      h(0) = softmax(h(1)) * 3.0;
      const T c = conv1d(h.reshape({1, 3, 3}), T::ones({2, 3, 2}) * 0.1, {.padding = tyto::same});
      return (logsumexp(c, 1) * max(h, 0)(slice(0, 2))).sum() + var(v) + prod(v(0));
    };
    const T x = T::from(sample, {3, 4}).astype(DType::f32);
    Numbers out = numbers(grad(f)(x));
    for (const double each : numbers(tyto::hessian(f)(x))) out.push_back(each);
    return out;
  };
  CHECK(run(tyto::Eager()) == run(tyto::Lazy()));
}

BOTH_MODES("the norm of nothing and the deviation of equals have a gradient of zero") {
  using T = tyto::Tensor<Mode>;
  // torch.linalg.norm and torch.std give the same.
  CHECK(numbers(grad([](T v) { return l2_norm(v); })(T{0.0, 0.0})) == Numbers{0, 0});
  CHECK(numbers(grad([](T v) { return sum(l2_norm(v, 1)); })(T{{0.0, 0.0}, {3.0, 4.0}})) ==
        Numbers{0, 0, double{0.6F}, double{0.8F}});
  CHECK(numbers(grad([](T v) { return stddev(v); })(T{2.0, 2.0, 2.0})) == Numbers{0, 0, 0});
  CHECK(std::isnan(l2_norm(T{NAN, 1.0}).template item<float>()));
  CHECK(std::isinf(l2_norm(T{INFINITY, 1.0}).template item<float>()));
}

// Gradients of PyTorch 2.13, but for hypot at the origin and logsumexp of large numbers (NaN and 2 there).
BOTH_MODES("gradients hold for numbers so large that their difference, or their square, is lost") {
  using T = tyto::Tensor<Mode>;
  const auto gradients = [](auto f, const T& at) { return numbers(grad([&](T v) { return f(v).sum(); })(at)); };
  // The two gradients of one operand add up to 1.
  CHECK(gradients([](T v) { return logaddexp(v, v); }, T{1e8f, -1e8f, 1e30f, 0.0f}) == Numbers{1, 1, 1, 1});
  CHECK(gradients([](T v) { return logaddexp(v, v - 64.0f); }, T{1e8f}) == Numbers{1});
  CHECK(gradients([](T v) { return logaddexp(v, T(0.0f)); }, T{1e8f, -1e8f, 0.0f}) == Numbers{1, 0, 0.5});
  CHECK(gradients([](T v) { return logsumexp(v); }, T{1e8f, 1e8f, -1e8f, 1e8f, 1e8f}) ==
        Numbers{0.25, 0.25, 0, 0.25, 0.25});
  CHECK(gradients([](T v) { return logsumexp(v, 1); }, T{{1e30f, 1e30f}, {2.0f, 2.0f}}) == Numbers{0.5, 0.5, 0.5, 0.5});
  CHECK(gradients([](T v) { return silu(v); }, T{100.0f, 1e8f, 1e30f, 0.0f, -1e30f}) == Numbers{1, 1, 1, 0.5, 0});
}

BOTH_MODES("the direction of a point has a gradient however near or far the point is, and gradient 0 at the origin") {
  using T = tyto::Tensor<Mode>;
  const auto gradients = [](auto f, double a, double b) {
    const auto [y, found] = tyto::value_and_grad([&](T u, T v) { return f(u, v); }, {0, 1})(T::full({}, a, DType::f64),
                                                                                            T::full({}, b, DType::f64));
    return Numbers{numbers(found[0])[0], numbers(found[1])[0]};
  };
  const auto angle = [](const T& a, const T& b) { return atan2(a, b); };
  const auto length = [](const T& a, const T& b) { return hypot(a, b); };
  const auto near = [](const Numbers& found, const Numbers& expected) {
    for (std::size_t i = 0; i < 2; ++i) {
      CHECK(found[i] == doctest::Approx(expected[i]).epsilon(1e-14));
    }
  };
  CHECK(gradients(angle, 0, 0) == Numbers{0, 0});
  CHECK(gradients(length, 0, 0) == Numbers{0, 0});
  near(gradients(angle, 3, 4), {4 / 25.0, -3 / 25.0});
  near(gradients(length, 3, 4), {3 / 5.0, 4 / 5.0});
  // The square of the distance is infinite, or zero.
  near(gradients(angle, 3e200, 4e200), {4e-200 / 25, -3e-200 / 25});
  near(gradients(angle, -3e-200, 4e-200), {4e200 / 25, 3e200 / 25});
  near(gradients(length, 3e200, 4e200), {3 / 5.0, 4 / 5.0});
  near(gradients(angle, 0, -2), {-0.5, 0});
}
