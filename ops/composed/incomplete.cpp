// The incomplete gamma and beta functions as sums of positive terms along an axis of their own, in f64: nothing
// cancels, and gradients with respect to every operand come from the sums.
#include <cmath>

#include "ops/composed/quadrature.hpp"
#include "ops/define.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"
#include "tyto/special.hpp"

namespace tyto::core {

namespace {

using T = AnyTensor;

// As many as parameters up to some 2,000 ask for.
constexpr std::int64_t terms = 400;
// From here on the integrand is smooth enough for quadrature, and the series too long.
constexpr double smooth_shape = 100;
constexpr double longest_series = 200;

T as_f64(const T& x) { return cast(x, DType::f64); }
T last_axis(const T& x) { return expand_dims(x, -1); }

T counted(const T& beside) {
  return emit(mode_beside(beside), OpId::arange, RangeAttributes{{terms}, DType::f64, Scalar(0.0), Scalar(1.0)});
}

/// The series e^-x x^a / Gamma(a + 1) (1 + x / (a + 1) + x^2 / ((a + 1)(a + 2)) + ...).
T gamma_series(const T& a, const T& x) {
  const T factors = last_axis(x) / (last_axis(a) + 1.0 + counted(x));
  return exp(a * log(x) - x - lgamma(a + 1.0)) * (1.0 + sum(cumprod(factors, -1), -1));
}

/// What lies between x and where the integrand has faded away, by quadrature round its peak at a - 1.
T gamma_quadrature(const T& a, const T& x) {
  const T peak = a - 1.0, width = sqrt(peak);
  const T above = maximum(peak + 11.5 * width, x + 6.0 * width),
          below = maximum(minimum(peak - 9 * width, x - 7 * width), 0.0);
  const T end = where(x > peak, above, below);
  const T t = last_axis(x) + last_axis(end - x) * quadrature_places<T>();
  const T height = exp(last_axis(peak) * log(maximum(t, 1e-300)) - t - last_axis(lgamma(a)));
  const T area = sum(height * quadrature_weights<T>(), -1) * (end - x);
  return where(x > peak, 1.0 - area, -area);
}

T lower_gamma(const T& given_a, const T& given_x) {
  const T a = as_f64(given_a), x = as_f64(given_x);
  const T inside = a > 0.0 && x > 0.0 && isfinite(x);
  const T safe_a = where(inside, a, 1.0), safe_x = where(inside, x, 1.0);
  const T small = safe_a < smooth_shape;
  const T series = gamma_series(where(small, safe_a, 1.0), where(small, minimum(safe_x, longest_series), 1.0));
  const T area = gamma_quadrature(where(small, smooth_shape, safe_a), where(small, smooth_shape, safe_x));
  const T found = clip(where(small, where(safe_x < longest_series, series, 1.0), area), 0.0, 1.0);
  const T beyond = where(x > 0.0, 1.0, 0.0);  // infinity, and zero
  return where(isnan(a + x) || !(a > 0.0) || x < 0.0, NAN, where(inside, found, beyond));
}

/// x^a (1 - x)^b / (a B(a, b)) (1 + x (a + b) / (a + 1) + ...), which falls fast where x is small or below the mean.
T beta_series(const T& a, const T& b, const T& x) {
  const T step = counted(x);
  const T factors = last_axis(x) * (last_axis(a + b) + step) / (last_axis(a) + 1.0 + step);
  const T front = a * log(x) + b * log1p(-x) - (lgamma(a) + lgamma(b) - lgamma(a + b)) - log(a);
  return exp(front) * (1.0 + sum(cumprod(factors, -1), -1));
}

T lower_beta(const T& given_a, const T& given_b, const T& given_x) {
  const T a = as_f64(given_a), b = as_f64(given_b), x = as_f64(given_x);
  const T inside = a > 0.0 && b > 0.0 && x > 0.0 && x < 1.0;
  const T p = where(inside, a, 1.0), q = where(inside, b, 1.0), y = where(inside, x, 0.5);
  // From the other end where this one's terms fall too slowly.
  const T other = y > 0.9 || (y >= 0.1 && y > p / (p + q));
  const T near = beta_series(where(other, q, p), where(other, p, q), where(other, 1.0 - y, y));
  const T found = clip(where(other, 1.0 - near, near), 0.0, 1.0);
  const T valid = a > 0.0 && b > 0.0 && x >= 0.0 && x <= 1.0;
  return where(inside, found, where(valid, where(x >= 1.0, 1.0, 0.0), NAN));
}

}  // namespace

}  // namespace tyto::core

namespace tyto TYTO_API {

template <class M>
Tensor<M> gammainc(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& x) {
  const Value operands[] = {core::as_floating(core::given("gammainc", a)),
                            core::as_floating(core::given("gammainc", x))};
  return core::cast_to(core::lower_gamma(operands[0], operands[1]), core::common_type(operands));
}
template <class M>
Tensor<M> betainc(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b,
                  const std::type_identity_t<Tensor<M>>& x) {
  const Value operands[] = {core::as_floating(core::given("betainc", a)), core::as_floating(core::given("betainc", b)),
                            core::as_floating(core::given("betainc", x))};
  return core::cast_to(core::lower_beta(operands[0], operands[1], operands[2]), core::common_type(operands));
}
TYTO_INSTANTIATE(gammainc)
TYTO_INSTANTIATE(betainc)

}  // namespace TYTO_API
