// SPDX-License-Identifier: MIT
// Factorisations of matrices on the OpenCL device: the CPU computes them, with planned copies, and reports say so.
#if defined(TYTO_HAVE_OPENCL)

#include <doctest/doctest.h>

#include <cmath>
#include <set>
#include <string>
#include <tyto/linalg.hpp>
#include <tyto/tyto.hpp>

#include "tests/opencl/on_device.hpp"

namespace matrices_test {

using namespace tyto;

namespace {

/// With 2 added to each element of {{2, 0}, {0, 1}}: {{4, 2}, {2, 3}}, whose determinant is 8.
template <class M>
Tensor<M> computed(const Tensor<M>& x) {
  const Tensor<M> a = x + 2;
  return concat<M>({linalg::inv(a).ravel(), linalg::cholesky(a).ravel(), linalg::eigvalsh(a), linalg::svdvals(a),
                    linalg::det(a).reshape({1})},
                   0) *
         2;
}

template <class M>
std::vector<double> numbers(const Tensor<M>& x) {
  return x.astype(DType::f64).template to_vector<double>();
}

}  // namespace

TEST_CASE("factorisations on the OpenCL device are computed by the CPU, in graphs and eagerly") {
  if (opencl::test::first_device() == nullptr) return;
  const DeviceScope scope("opencl");
  const double less = (7 - std::sqrt(17.0)) / 2, more = (7 + std::sqrt(17.0)) / 2;
  const std::vector<double> expected = {3 / 8.0,        -2 / 8.0, -2 / 8.0, 4 / 8.0, 2,    0, 1,
                                        std::sqrt(2.0), less,     more,     more,    less, 8};
  const auto check = [&](const std::vector<double>& found) {
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == doctest::Approx(2 * expected[i]).epsilon(1e-5));
  };
  check(numbers(computed(Tensor<Eager>{{2.0F, 0.0F}, {0.0F, 1.0F}})));
  auto in_a_graph = compile([](Tensor<Lazy> x) { return computed(x); });
  const Tensor<Lazy> x{{2.0F, 0.0F}, {0.0F, 1.0F}};
  for (int run = 0; run < 2; ++run) check(numbers(in_a_graph(x)));
  const auto& fallbacks = in_a_graph.report().fallbacks;
  CHECK(std::set<std::string>(fallbacks.begin(), fallbacks.end()) ==
        std::set<std::string>{"inv", "cholesky", "eigvalsh", "svdvals", "det"});
  CHECK(in_a_graph.report().unplanned_allocations == 0);
}

}  // namespace matrices_test

#endif
