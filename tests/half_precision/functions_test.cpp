// SPDX-License-Identifier: MIT
// Norms, statistics, calculus, polynomials and products in half precision.
#include <doctest/doctest.h>

#include "tests/half_precision/composed_case.hpp"

namespace half_precision {

std::vector<Case> cases_of_functions() {
  const Shape vector{12}, square{3, 4};
  std::vector<Case> all{
      // Norms: the root of a sum of powers.
      of("l2_norm", {any(square)}, [](const auto& x) { return l2_norm(x[0], 1); }),
      of("l2_norm_sqr", {any(square)}, [](const auto& x) { return l2_norm_sqr(x[0], 1); }),
      of("norm", {any(square)}, [](const auto& x) { return linalg::norm(x[0]); }),
      of("norm", {any(square)},
         [](const auto& x) {
           return linalg::norm(x[0], 1, {0, 1});
         }),
      of("norm", {any(square)}, [](const auto& x) { return linalg::norm(x[0], 3, 1, true); }),
      of("vector_norm", {any(square)}, [](const auto& x) { return linalg::vector_norm(x[0], 2, 0); }),
      of("vector_norm", {any(square)}, [](const auto& x) { return linalg::vector_norm(x[0], 3, 0); }),
      of("vector_norm", {any(square)}, [](const auto& x) { return linalg::vector_norm(x[0], 6); }, {.derivatives = 1}),
      of("vector_norm", {any(square)}, [](const auto& x) { return linalg::vector_norm(x[0], 6); },
         {.scales = {1, 300}}),
      of("vector_norm", {any(square)}, [](const auto& x) { return linalg::vector_norm(x[0], 0.5, 1); }),
      of("vector_norm", {any(square)}, [](const auto& x) { return linalg::vector_norm(x[0], -2, 1); }),
      of("vector_norm", {any(square)}, [](const auto& x) { return linalg::vector_norm(x[0], 1, 1); }),
      of("matrix_norm", {any({2, 3, 4})}, [](const auto& x) { return linalg::matrix_norm(x[0]); }),
      of("cross", {any({4, 3}), any({4, 3})}, [](const auto& x) { return linalg::cross(x[0], x[1]); }),
      of("cov", {any(square)}, [](const auto& x) { return linalg::cov(x[0]); }),
      of("corrcoef", {any({3, 8})}, [](const auto& x) { return linalg::corrcoef(x[0]); }, {.condition = 256}),
      of("multi_dot", {any({2, 3}), any({3, 4}), any({4, 2})},
         [](const auto& x) {
           return linalg::multi_dot({x[0], x[1], x[2]});
         }),
      of("matrix_power", {any({3, 3})}, [](const auto& x) { return linalg::matrix_power(x[0], 3); }),
      of("einsum", {any({2, 3}), any({3, 4}), any({4})},
         [](const auto& x) {
           return einsum("ij,jk,k->i", {x[0], x[1], x[2]});
         }),
      of("einsum", {any({2, 3}), any({4})},
         [](const auto& x) {
           return einsum("ij,k->jk", {x[0], x[1]});
         }),
      of("polar", {positive(vector), between(-3, 3, vector)},
         [](const auto& x) { return view_as_real(polar(x[0], x[1])); }),
      // Several elements at one place.
      of("scatter_add", {any({3, 4}), any({9, 4}), labels(3, {9})},
         [](const auto& x) { return scatter_add(x[0], {x[2]}, x[1]); }),
      of("scatter_multiply", {any({3, 4}), between(0.5, 1.5, {9, 4}), labels(3, {9})},
         [](const auto& x) { return scatter_multiply(x[0], {x[2]}, x[1]); }, {.derivatives = 0}),
      of("take", {any({3, 4}), labels(3, {9})}, [](const auto& x) { return take(x[0], x[1], 0); }),
      of("take_along_axis", {any({3, 4}), labels(3, {9, 4})},
         [](const auto& x) { return take_along_axis(x[0], x[1], 0); }),
      of("gather", {any({3, 4}), labels(3, {9})}, [](const auto& x) { return gather(x[0], std::vector{x[1]}); }),
      // Statistics.
      of("stddev", {any(square)}, [](const auto& x) { return stddev(x[0], 1); }, {.condition = 512}),
      of("var", {any(square)}, [](const auto& x) { return var(x[0], 1, false, 1); }),
      of("average", {any(square), positive(square)}, [](const auto& x) { return average(x[0], x[1]); }),
      of("average", {any(square), positive({4})}, [](const auto& x) { return average(x[0], x[1], 1); }),
      of("median", {any({3, 6})}, [](const auto& x) { return median(x[0], 1); }),
      of("quantile", {any({3, 6})}, [](const auto& x) { return quantile(x[0], 0.3, 1); }),
      of("percentile", {any({3, 6})}, [](const auto& x) { return percentile(x[0], 77, 1); }),
      of("nanmedian", {any({3, 6})}, [](const auto& x) { return nanmedian(x[0], 1); }),
      of("nanquantile", {any({3, 6})}, [](const auto& x) { return nanquantile(x[0], 0.3, 1); }),
      of("nanmean", {any(square)}, [](const auto& x) { return nanmean(x[0], 1); }),
      of("nanvar", {any(square)}, [](const auto& x) { return nanvar(x[0], 1); }),
      of("nanstd", {any(square)}, [](const auto& x) { return nanstd(x[0], 1); }, {.condition = 512}),
      of("moving_sum", {any({3, 9})}, [](const auto& x) { return moving_sum(x[0], 2, 1); }),
      of("bincount", {labels(4, {20}), any({20})}, [](const auto& x) { return bincount(x[0], 4, x[1]); }),
      // Operators whose gradients are made of several.
      of("var", {between(99, 101, square)}, [](const auto& x) { return var(x[0], 1); }, {.derivatives = 1}),
      of("logsumexp", {any(square)}, [](const auto& x) { return logsumexp(x[0], 1); }),
      of("prod", {between(-3, 3, square)}, [](const auto& x) { return prod(x[0], 1); }),
      of("cumprod", {between(-3, 3, square)}, [](const auto& x) { return cumprod(x[0], 1); }),
      // Losses of the core.
      of("cross_entropy", {any({3, 5}), labels(5, {3})}, [](const auto& x) { return cross_entropy(x[0], x[1]); },
         {.scales = {1, 10}}),
      of("cross_entropy", {any({3, 5}), between(0, 1, {3, 5})}, [](const auto& x) { return cross_entropy(x[0], x[1]); },
         {.scales = {1, 10}}),
      of("mean_squared_error", {any(square), any(square)},
         [](const auto& x) { return mean_squared_error(x[0], x[1]); }),
      // Elements.
      of("elu", {any(vector)}, [](const auto& x) { return elu(x[0], 1.7); }),
      of("logaddexp2", {any(vector), any(vector)}, [](const auto& x) { return logaddexp2(x[0], x[1]); }),
      of("sinc", {any(vector)}, [](const auto& x) { return sinc(x[0]); },
         {.condition = 40000, .scales = {1, 8, 1e-2, 1e-4}}),
      of("i0", {any(vector)}, [](const auto& x) { return i0(x[0]); }, {.scales = {1, 10, 1e-4}}),
      of("gammainc", {positive(vector), positive(vector)}, [](const auto& x) { return gammainc(x[0], x[1]); },
         {.scales = {1, 10}, .derivatives = 1}),
      of("betainc", {positive(vector), positive(vector), between(0.1, 0.9, vector)},
         [](const auto& x) { return betainc(x[0], x[1], x[2]); }, {.scales = {1, 10}, .derivatives = 1}),
      // Differences and areas.
      of("diff", {any({3, 7})}, [](const auto& x) { return diff(x[0], 3); }),
      of("unwrap", {any({3, 7})}, [](const auto& x) { return unwrap(x[0]); }, {.scales = {1, 5, 1e-4}}),
      of("gradient", {any({3, 7})}, [](const auto& x) { return gradient(x[0], 1, 3.0, 2); }),
      of("gradient", {any({7})},
         [](const auto& x) {
           using T = std::decay_t<decltype(x[0])>;
           return gradient(x[0], 0, T{0.0, 1.0, 2.5, 3.0, 4.25, 6.0, 7.5}.astype(x[0].dtype()), 2);
         }),
      of("trapezoid", {any({3, 7})}, [](const auto& x) { return trapezoid(x[0], -1, 0.3); }),
      of("cumulative_trapezoid", {any({3, 7})}, [](const auto& x) { return cumulative_trapezoid(x[0], -1, 0.3); }),
      of("interp", {between(0, 8, vector), any({8})},
         [](const auto& x) {
           return interp(x[0], std::decay_t<decltype(x[0])>::arange(8).astype(x[1].dtype()), x[1]);
         }),
      // Polynomials.
      of("polyval", {any({5}), between(-3, 3, vector)}, [](const auto& x) { return polyval(x[0], x[1]); }),
      of("polyval", {between(-1, 1, {3}), any(vector)}, [](const auto& x) { return polyval(x[0], x[1]); },
         {.scales = {1, 100, 1e-4}}),
      of("polyfit", {between(-1, 1, vector), any(vector)}, [](const auto& x) { return polyfit(x[0], x[1], 2); },
         {.derivatives = 0}),
      of("polydiv", {any({6}), between(1, 2, {3})}, [](const auto& x) { return polydiv(x[0], x[1]).quotient; },
         {.condition = 512}),
      of("polydiv", {any({6}), between(1, 2, {3})}, [](const auto& x) { return polydiv(x[0], x[1]).remainder; },
         {.condition = 2048}),
      of("poly", {any({5})}, [](const auto& x) { return poly(x[0]); }, {.scales = {1, 10, 1e-2}}),
      of("roots", {between(1, 2, {4})}, [](const auto& x) { return view_as_real(roots(x[0])); }, {.derivatives = 0}),
      of("polyder", {any({6})}, [](const auto& x) { return polyder(x[0], 2); }),
      of("polyint", {any({6})}, [](const auto& x) { return polyint(x[0], 0.3); }),
      of("polymul", {any({6}), between(-1, 1, {3})}, [](const auto& x) { return polymul(x[0], x[1]); }),
      of("fftconvolve", {any({6}), between(-1, 1, {3})}, [](const auto& x) { return fft::fftconvolve(x[0], x[1]); }),
      of("convolve", {any({6}), between(-1, 1, {3})}, [](const auto& x) { return convolve(x[0], x[1]); }),
      of("correlate", {any({6}), between(-1, 1, {3})}, [](const auto& x) { return correlate(x[0], x[1]); }),
      // Images.
      of("resize", {any({1, 3, 3, 2})},
         [](const auto& x) {
           return resize(x[0], {5, 4});
         }),
      of("resize", {any({1, 4, 4, 1})},
         [](const auto& x) {
           return resize(x[0], {7, 5}, {.method = Interpolation::cubic});
         }),
      of("grid_sample", {any({1, 4, 4, 2}), between(-0.9, 0.9, {1, 3, 2, 2})},
         [](const auto& x) { return grid_sample(x[0], x[1]); }, {.condition = 512}),
      of("roi_align", {any({1, 6, 6, 1})},
         [](const auto& x) {
           using T = std::decay_t<decltype(x[0])>;
           return roi_align(x[0], T{{0.5, 0.5, 4.0, 5.0}}, T{0}, {.size = {2, 2}});
         }),
      of("adaptive_average_pool", {any({1, 5, 5, 2})},
         [](const auto& x) {
           return adaptive_average_pool(x[0], {2, 3});
         }),
  };
  return all;
}

TEST_CASE("functions made of several operators round to half precision once") {
  for (const Case& each : cases_of_functions()) check(each);
}

}  // namespace half_precision
