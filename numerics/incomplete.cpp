// SPDX-License-Identifier: MIT
// The incomplete gamma and beta functions as sums of positive terms along an axis of their own, in f64: a series where
// the parameter on the side of the tail is small, quadrature where it is not. Both begin at the height of the integrand
// at x, Loader's saddle point, and go away from the mean: nothing cancels, whatever the parameters are, and gradients
// with respect to every operand come from the sums.
#include "numerics/incomplete.hpp"

#include <cmath>

#include "numerics/count_probabilities.hpp"
#include "numerics/quadrature.hpp"
#include "ops/define.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"
#include "tyto/special.hpp"

namespace tyto::core {

namespace {

using T = AnyTensor;

// Terms of a series, whose factors are below x, which is at most a half, or fall like 8 / j.
constexpr std::int64_t terms = 128;
// From here on the integrand fades soon enough for quadrature in the logarithm.
constexpr double smooth_shape = 8;
// The logarithm of what the integrand may have faded to.
constexpr double faded = 40;

T as_f64(const T& x) { return cast(x, DType::f64); }
T last_axis(const T& x) { return expand_dims(x, -1); }

T counted(const T& beside) {
  return emit(mode_like(beside), OpId::arange, RangeAttributes{{terms}, DType::f64, Scalar(0.0), Scalar(1.0)});
}

/// The sum of coefficients[i] x^i.
template <std::size_t count>
T polynomial(const T& x, const double (&coefficients)[count]) {
  T found = x * coefficients[count - 1] + coefficients[count - 2];
  for (std::size_t i = count - 2; i-- > 0;) found = found * x + coefficients[i];
  return found;
}

constexpr double short_exponent = 0.1;

/// e^v - 1 - v.
T exponential_rest(const T& v) {
  constexpr double coefficients[] = {1.0 / 2,    1.0 / 6,     1.0 / 24,     1.0 / 120,    1.0 / 720,
                                     1.0 / 5040, 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800};
  const T near = abs(v) < short_exponent, s = where(near, v, 0.0), l = where(near, 1.0, v);
  return where(near, s * s * polynomial(s, coefficients), expm1(l) - l);
}

/// log(1 + w (e^v - 1)) - w v, of w up to a half.
T mixture_rest(const T& w, const T& v) {
  constexpr double coefficients[] = {-1.0 / 2, 1.0 / 3, -1.0 / 4,  1.0 / 5,  -1.0 / 6,  1.0 / 7,
                                     -1.0 / 8, 1.0 / 9, -1.0 / 10, 1.0 / 11, -1.0 / 12, 1.0 / 13};
  const T near = abs(v) < short_exponent, s = where(near, v, 0.0), l = where(near, 1.0, v), z = w * expm1(s);
  return where(near, z * z * polynomial(z, coefficients) + w * exponential_rest(s), log1p(w * expm1(l)) - w * l);
}

/// The integral of e^fall(s) over s from 0 on. `fall` is concave, and has `slope`; `guess` is about where it has come
/// down to -`faded`, which Newton's steps find from above, whatever the first one does.
template <class F, class G>
T tail_area(const T& guess, const F& fall, const G& slope) {
  T end = guess;
  for (int newton = 0; newton < 4; ++newton) end = maximum(end - (fall(end) + faded) / slope(end), 0.25 * end);
  end = exp2(ceil(16.0 * log2(end)) / 16.0);  // a step function: the area does not depend on where it ends
  return end * sum(exp(fall(last_axis(end) * quadrature_places<T>(), true)) * quadrature_weights<T>(), -1);
}

enum class Side { below, above };

T incomplete_gamma(const T& given_a, const T& given_x, Side asked) {
  const T wide_a = as_f64(given_a), wide_x = as_f64(given_x);
  const T inside = wide_a > 0.0 && isfinite(wide_a) && wide_x > 0.0 && isfinite(wide_x);
  const T a = where(inside, wide_a, 1.0), x = where(inside, wide_x, 1.0);
  const T height = a * exp(log_poisson<T>(a, x, a - x));  // x^a e^-x / Gamma(a)
  const T low = x < maximum(a, 1.0), summed = low && a < smooth_shape;

  const T b = where(summed, a, 1.0), factors = last_axis(where(summed, x, 1.0)) / (last_axis(b) + 1.0 + counted(x));
  const T series = (1.0 + sum(cumprod(factors, -1), -1)) / b;

  const T y = where(summed, 8.0, x), sign = where(low, -1.0, 1.0), distance = where(summed, 0.0, (x - a) * sign);
  const T broad = 2 * faded / (distance + sqrt(distance * distance + 2 * faded * y));
  const T area = tail_area(
      where(low, broad, minimum(broad, 1.0 + log1p(faded / y))),
      [&](const T& s, bool along = false) {
        const auto at = [&](const T& v) { return along ? last_axis(v) : v; };
        return -at(distance) * s - at(y) * exponential_rest(at(sign) * s);
      },
      [&](const T& s) { return -distance - y * abs(expm1(sign * s)); });

  const T tail = clip(height * where(summed, series, area), 0.0, 1.0);
  const T found = where(asked == Side::below ? low : !low, tail, 1.0 - tail);
  const T beyond = where(asked == Side::below ? wide_x > 0.0 : !(wide_x > 0.0), 1.0, 0.0);  // infinity, and zero
  return where(isnan(wide_a + wide_x) || !(wide_a > 0.0 && isfinite(wide_a)) || wide_x < 0.0, NAN,
               where(inside, found, beyond));
}

T incomplete_beta(const T& given_a, const T& given_b, const T& given_x, const T& given_y) {
  const T wide_a = as_f64(given_a), wide_b = as_f64(given_b), wide_x = as_f64(given_x), wide_y = as_f64(given_y);
  const T possible = wide_a > 0.0 && wide_b > 0.0 && isfinite(wide_a + wide_b);
  const T inside = possible && wide_x > 0.0 && wide_y > 0.0;
  const T a = where(inside, wide_a, 1.0), b = where(inside, wide_b, 1.0);
  const T x = where(inside, wide_x, 0.5), y = where(inside, wide_y, 0.5);
  const T height = exp(log_split<T>(a, b, x, y)) * (a / (a + b)) * b;  // x^a y^b / B(a, b)
  const T from_mean = split_excess<T>(a, b, x, y);                     // a - (a + b) x
  const T low = from_mean >= 0.0;
  // Where the other parameter is below one, the integrand begins with a plateau, and the series is short.
  const T integrated = where(low, a, b) >= smooth_shape && (a + b) * where(low, y, x) >= 1.0;

  // From the end that is nearer. The factors begin below 8 and fall to x.
  const T upper = x > 0.5, p = where(integrated, 1.0, where(upper, b, a)),
          q = where(integrated, 1.0, where(upper, a, b));
  const T step = counted(x), start = where(integrated, 0.5, where(upper, y, x));
  const T factors = last_axis(start) * (last_axis(p + q) + step) / (last_axis(p) + 1.0 + step);
  const T series = (1.0 + sum(cumprod(factors, -1), -1)) / p;

  // In s = log((1 - t) / t), of which the smaller of x and 1 - x tells the steps without a loss.
  const T n = where(integrated, a + b, 32.0), distance = where(integrated, where(low, from_mean, -from_mean), 0.0);
  const T u = where(integrated, x, 0.5), v = where(integrated, y, 0.5), w = where(u <= 0.5, u, v);
  const T sign = where(equal(low, u <= 0.5), -1.0, 1.0), spread = n * u * v;
  const T area = tail_area(
      minimum(2 * faded / (distance + sqrt(distance * distance + 2 * faded * spread)), 1.0 + log1p(faded / spread)),
      [&](const T& s, bool along = false) {
        const auto at = [&](const T& value) { return along ? last_axis(value) : value; };
        return -at(distance) * s - at(n) * mixture_rest(at(w), at(sign) * s);
      },
      [&](const T& s) {
        const T e = expm1(sign * s);
        return -distance - spread * abs(e) / (1.0 + w * e);
      });

  const T tail = clip(height * where(integrated, area, series), 0.0, 1.0);
  const T found = where(where(integrated, low, !upper), tail, 1.0 - tail);
  const T valid = possible && wide_x >= 0.0 && wide_y >= 0.0;
  return where(inside, found, where(valid, where(wide_y > 0.0, 0.0, 1.0), NAN));
}

}  // namespace

T gamma_above(const Value& a, const Value& x) { return incomplete_gamma(a, x, Side::above); }
T beta_below(const Value& a, const Value& b, const Value& x, const Value& complement) {
  return incomplete_beta(a, b, x, complement);
}

}  // namespace tyto::core

namespace tyto TYTO_API {

template <class M>
Tensor<M> gammainc(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& x) {
  TYTO_ONCE(gammainc, a, x);
  const Value operands[] = {core::as_floating(core::given("gammainc", a)),
                            core::as_floating(core::given("gammainc", x))};
  return core::cast_to(core::incomplete_gamma(operands[0], operands[1], core::Side::below),
                       core::common_type(operands));
}
template <class M>
Tensor<M> betainc(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b,
                  const std::type_identity_t<Tensor<M>>& x) {
  TYTO_ONCE(betainc, a, b, x);
  const Value operands[] = {core::as_floating(core::given("betainc", a)), core::as_floating(core::given("betainc", b)),
                            core::as_floating(core::given("betainc", x))};
  const core::AnyTensor wide = core::as_f64(operands[2]);
  return core::cast_to(core::incomplete_beta(operands[0], operands[1], wide, 1.0 - wide), core::common_type(operands));
}
TYTO_INSTANTIATE(gammainc)
TYTO_INSTANTIATE(betainc)

}  // namespace TYTO_API
