// SPDX-License-Identifier: MIT
// Reductions over the elements that are not NaN: what stands in for NaN changes nothing.
#include <limits>

#include "ops/define.hpp"
#include "ops/once.hpp"
#include "tyto/complex.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"
#include "tyto/statistics.hpp"

namespace tyto::core {

namespace {

using T = AnyTensor;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// x with another number for NaN, in x's own type. A complex number is NaN where one of its parts is.
T with_nan_as(double stand_in, const T& x) { return is_inexact(x.dtype()) ? where(isnan(x), stand_in, x) : x; }

/// Refuses complex numbers, which have no order.
T ordered(std::string_view function, const Value& x) {
  const T numbers = given(function, x);
  if (!is_complex(numbers.dtype())) return numbers;
  throw_error<TypeError>(function, ": elements of type ", numbers.dtype(),
                         " have no order; take real, imag or abs of them first");
}

/// Squares of real numbers, squared distances from zero of complex ones.
T squared_size(const T& x) { return is_complex(x.dtype()) ? square(real(x)) + square(imag(x)) : square(x); }

T numbers_among(const T& x, const Axes& axes, bool keepdims) { return cast(sum(!isnan(x), axes, keepdims), x.dtype()); }

T mean_of_numbers(const T& x, const Axes& axes, bool keepdims) {
  return sum(with_nan_as(0, x), axes, keepdims) / numbers_among(x, axes, keepdims);
}

T variance_of_numbers(const T& x, const Axes& axes, bool keepdims, std::int64_t ddof) {
  const T off = where(isnan(x), 0.0, x - mean_of_numbers(x, axes, true));  // of infinities it is NaN
  const T count = cast(sum(!isnan(x), axes, keepdims), real_type(x.dtype()));
  const T freedom = count - static_cast<double>(ddof);
  return sum(squared_size(off), axes, keepdims) / where(freedom > 0, freedom, not_a_number);
}

// Infinities are found even among NaN: only where there is nothing else is the result NaN.
T extreme_of_numbers(bool largest, const T& x, const Axes& axes, bool keepdims) {
  if (!is_floating(x.dtype())) return largest ? max(x, axes, keepdims) : min(x, axes, keepdims);
  const T filled = with_nan_as(largest ? -infinity : infinity, x);
  const T extreme = largest ? max(filled, axes, keepdims) : min(filled, axes, keepdims);
  return where(all(isnan(x), axes, keepdims), not_a_number, extreme);
}

}  // namespace

}  // namespace tyto::core

namespace tyto TYTO_API {

template <class M>
Tensor<M> nansum(const Tensor<M>& x, const Axes& axes, KeepDims keepdims) {
  TYTO_ONCE(nansum, x, axes, keepdims);
  return sum(core::with_nan_as(0, core::given("nansum", x)), axes, keepdims).value();
}
template <class M>
Tensor<M> nanprod(const Tensor<M>& x, const Axes& axes, KeepDims keepdims) {
  TYTO_ONCE(nanprod, x, axes, keepdims);
  return prod(core::with_nan_as(1, core::given("nanprod", x)), axes, keepdims).value();
}
template <class M>
Tensor<M> nanmean(const Tensor<M>& x, const Axes& axes, KeepDims keepdims) {
  TYTO_ONCE(nanmean, x, axes, keepdims);
  if (const auto found = core::in_f32(&nanmean<M>, x, axes, keepdims)) return *found;
  const core::AnyTensor given = core::given("nanmean", x);
  if (!is_inexact(given.dtype())) return mean(given, axes, keepdims).value();
  return core::mean_of_numbers(given, axes, keepdims).value();
}
template <class M>
Tensor<M> nanvar(const Tensor<M>& x, const Axes& axes, KeepDims keepdims, std::int64_t ddof) {
  TYTO_ONCE(nanvar, x, axes, keepdims, ddof);
  if (const auto found = core::in_f32(&nanvar<M>, x, axes, keepdims, ddof)) return *found;
  const core::AnyTensor given = core::given("nanvar", x);
  if (!is_inexact(given.dtype())) return var(given, axes, keepdims, ddof).value();
  return core::variance_of_numbers(given, axes, keepdims, ddof).value();
}
template <class M>
Tensor<M> nanstd(const Tensor<M>& x, const Axes& axes, KeepDims keepdims, std::int64_t ddof) {
  TYTO_ONCE(nanstd, x, axes, keepdims, ddof);
  if (const auto found = core::in_f32(&nanstd<M>, x, axes, keepdims, ddof)) return *found;
  const core::AnyTensor given = core::given("nanstd", x);
  if (!is_inexact(given.dtype())) return stddev(given, axes, keepdims, ddof).value();
  return sqrt(core::variance_of_numbers(given, axes, keepdims, ddof)).value();
}
template <class M>
Tensor<M> nanmin(const Tensor<M>& x, const Axes& axes, KeepDims keepdims) {
  TYTO_ONCE(nanmin, x, axes, keepdims);
  return core::extreme_of_numbers(false, core::ordered("nanmin", x), axes, keepdims).value();
}
template <class M>
Tensor<M> nanmax(const Tensor<M>& x, const Axes& axes, KeepDims keepdims) {
  TYTO_ONCE(nanmax, x, axes, keepdims);
  return core::extreme_of_numbers(true, core::ordered("nanmax", x), axes, keepdims).value();
}
template <class M>
Tensor<M> nanargmin(const Tensor<M>& x, std::optional<std::int64_t> axis, KeepDims keepdims) {
  TYTO_ONCE(nanargmin, x, axis, keepdims);
  return argmin(core::with_nan_as(core::infinity, core::ordered("nanargmin", x)), axis, keepdims).value();
}
template <class M>
Tensor<M> nanargmax(const Tensor<M>& x, std::optional<std::int64_t> axis, KeepDims keepdims) {
  TYTO_ONCE(nanargmax, x, axis, keepdims);
  return argmax(core::with_nan_as(-core::infinity, core::ordered("nanargmax", x)), axis, keepdims).value();
}
template <class M>
Tensor<M> nancumsum(const Tensor<M>& x, std::optional<std::int64_t> axis) {
  TYTO_ONCE(nancumsum, x, axis);
  return cumsum(core::with_nan_as(0, core::given("nancumsum", x)), axis).value();
}
template <class M>
Tensor<M> nancumprod(const Tensor<M>& x, std::optional<std::int64_t> axis) {
  TYTO_ONCE(nancumprod, x, axis);
  return cumprod(core::with_nan_as(1, core::given("nancumprod", x)), axis).value();
}

TYTO_INSTANTIATE(nansum)
TYTO_INSTANTIATE(nanprod)
TYTO_INSTANTIATE(nanmean)
TYTO_INSTANTIATE(nanvar)
TYTO_INSTANTIATE(nanstd)
TYTO_INSTANTIATE(nanmin)
TYTO_INSTANTIATE(nanmax)
TYTO_INSTANTIATE(nanargmin)
TYTO_INSTANTIATE(nanargmax)
TYTO_INSTANTIATE(nancumsum)
TYTO_INSTANTIATE(nancumprod)

}  // namespace TYTO_API
