// SPDX-License-Identifier: MIT
// The running sums and products of the array API standard, which may begin with those of nothing.
#include "tyto/array_api.hpp"

#include "ops/define.hpp"

namespace tyto TYTO_API {

namespace {

template <class M, class F>
Tensor<M> running(std::string_view function, const Tensor<M>& x, std::optional<std::int64_t> axis, bool include_initial,
                  const F& scan, std::int64_t of_nothing) {
  const Tensor<M> given = core::given(function, x);
  if (!axis && given.ndim() != 1) {
    core::throw_error<ShapeError>(function, ": needs an axis, as shape ", given.shape(), " is not that of a vector");
  }
  const int along = core::normalise_axis(function, axis.value_or(0), given.ndim());
  const Tensor<M> scanned = scan(given, along);
  if (!include_initial) return scanned;
  IntList one(given.shape().size(), 0);
  one[static_cast<std::size_t>(along)] = 1;
  return pad(scanned, one, IntList(one.size(), 0), PaddingMode::constant, of_nothing);
}

}  // namespace

template <class M>
Tensor<M> cumulative_sum(const Tensor<M>& x, std::optional<std::int64_t> axis, Flag include_initial) {
  TYTO_ONCE(cumulative_sum, x, axis, include_initial);
  return running(
      "cumulative_sum", x, axis, include_initial, [](const Tensor<M>& v, int along) { return cumsum(v, along); }, 0);
}
template <class M>
Tensor<M> cumulative_prod(const Tensor<M>& x, std::optional<std::int64_t> axis, Flag include_initial) {
  TYTO_ONCE(cumulative_prod, x, axis, include_initial);
  return running(
      "cumulative_prod", x, axis, include_initial, [](const Tensor<M>& v, int along) { return cumprod(v, along); }, 1);
}

TYTO_INSTANTIATE(cumulative_sum)
TYTO_INSTANTIATE(cumulative_prod)

}  // namespace TYTO_API
