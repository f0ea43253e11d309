// Gradients of single operators that are made of several, and read no result that was rounded.
#include <doctest/doctest.h>

#include "tests/half_precision/composed_case.hpp"

namespace half_precision {

TEST_CASE("gradients of element-wise operators round to half precision once") {
  const Shape s{24};
  const Terms first{.condition = 256, .scales = {1, 300, 60000, 1e-4}, .derivatives = 1};
  const Terms middle{.condition = 1024, .scales = {1}, .derivatives = 1};
  const std::vector<Case> cases{
      of(
          "asinh", {any(s)}, [](const auto& x) { return asinh(x[0]); }, first),
      of(
          "atan", {any(s)}, [](const auto& x) { return atan(x[0]); }, first),
      of(
          "softsign", {any(s)}, [](const auto& x) { return softsign(x[0]); }, first),
      of(
          "log", {positive(s)}, [](const auto& x) { return log(x[0]); }, first),
      of(
          "log2", {positive(s)}, [](const auto& x) { return log2(x[0]); }, first),
      of(
          "log10", {positive(s)}, [](const auto& x) { return log10(x[0]); }, first),
      of(
          "log1p", {positive(s)}, [](const auto& x) { return log1p(x[0]); }, first),
      of(
          "softplus", {any(s)}, [](const auto& x) { return softplus(x[0]); }, first),
      of(
          "log_sigmoid", {any(s)}, [](const auto& x) { return log_sigmoid(x[0]); }, first),
      of(
          "logaddexp", {any(s), any(s)}, [](const auto& x) { return logaddexp(x[0], x[1]); }, first),
      of(
          "atan2", {any(s), any(s)}, [](const auto& x) { return atan2(x[0], x[1]); }, first),
      of(
          "gelu", {between(-4, 4, s)}, [](const auto& x) { return gelu(x[0]); }, middle),
      of(
          "silu", {between(-9, 9, s)}, [](const auto& x) { return silu(x[0]); }, middle),
      of(
          "sin", {between(-9, 9, s)}, [](const auto& x) { return sin(x[0]); }, middle),
      of(
          "asin", {between(-0.98, 0.98, s)}, [](const auto& x) { return asin(x[0]); }, middle),
      of(
          "acos", {between(-0.98, 0.98, s)}, [](const auto& x) { return acos(x[0]); }, middle),
      of(
          "acosh", {between(1.1, 300, s)}, [](const auto& x) { return acosh(x[0]); }, middle),
      of(
          "atanh", {between(-0.98, 0.98, s)}, [](const auto& x) { return atanh(x[0]); }, middle),
      of(
          "erf", {between(-3, 3, s)}, [](const auto& x) { return erf(x[0]); }, middle),
      of(
          "lgamma", {between(0.2, 300, s)}, [](const auto& x) { return lgamma(x[0]); }, middle),
      of(
          "power", {between(0.3, 30, s)}, [](const auto& x) { return power(x[0], 2.5); }, middle),
  };
  for (const Case& each : cases) check(each);
}

}  // namespace half_precision
