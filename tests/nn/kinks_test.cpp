// SPDX-License-Identifier: MIT
// Gradients at kinks that differ from PyTorch's, as docs/semantics.md states them.
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

namespace tyto::nn::kinks_test {

template <class T, class F>
std::vector<double> gradients(const F& f, const T& x) {
  return tyto::grad([&](const T& v) { return sum(f(v)); })(x).astype(DType::f64).template to_vector<double>();
}
template <class T, class F>
double curvature(const F& f, double at) {
  const auto gradient = [&](const T& v) { return sum(tyto::grad([&](const T& u) { return sum(f(u)); })(v)); };
  return tyto::grad(gradient)(T::full({1}, at, DType::f64)).template item<double>();
}

TEST_CASE_TEMPLATE("gradients at kinks are those that the page on semantics states", M, Eager, Lazy) {
  using T = Tensor<M>;
  using Gradients = std::vector<double>;
  CHECK(gradients([](const T& x) { return hard_tanh(x); }, T{-1.0, 1.0, -2.0, 0.5, 2.0}) ==
        Gradients{0.5, 0.5, 0, 1, 0});
  CHECK(gradients([](const T& x) { return relu6(x); }, T{0.0, 6.0, 7.0, 3.0}) == Gradients{0, 0.5, 0, 1});
  CHECK(curvature<T>([](const T& x) { return elu(x, 0.75); }, 0) == 0.75);
  CHECK(curvature<T>([](const T& x) { return celu(x, 0.5); }, 0) == 2);
  CHECK(curvature<T>([](const T& x) { return selu(x); }, 0) ==
        doctest::Approx(1.0507009873554805 * 1.6732632423543772));
  const T nan{NAN};
  CHECK(gradients([](const T& x) { return maximum(x, 0.0); }, nan) == Gradients{0});
  CHECK(gradients([](const T& x) { return minimum(x, 0.0); }, nan) == Gradients{0});
  CHECK(gradients([](const T& x) { return relu6(x); }, nan) == Gradients{0});
  CHECK(gradients([](const T& x) { return soft_shrink(x); }, nan) == Gradients{0});
}

}  // namespace tyto::nn::kinks_test
