// SPDX-License-Identifier: MIT
// Reductions and scans along axes: one, sum(x, 0), or several in braces, sum(x, {0, 1}). Without axes they take all;
// `keepdims` leaves reduced axes with length one.
#pragma once

#include "tyto/tensor.hpp"

namespace tyto TYTO_API {

/// Sum; integers and bool add up in i64.
template <class M>
Tensor<M> sum(const Tensor<M>& x, const Axes& axes = {}, KeepDims keepdims = false);
/// Product; integers and bool multiply in i64.
template <class M>
Tensor<M> prod(const Tensor<M>& x, const Axes& axes = {}, KeepDims keepdims = false);
/// Arithmetic mean; integers give f32.
template <class M>
Tensor<M> mean(const Tensor<M>& x, const Axes& axes = {}, KeepDims keepdims = false);
/// Variance; the sum of squares is divided by the count less `ddof`.
template <class M>
Tensor<M> var(const Tensor<M>& x, const Axes& axes = {}, KeepDims keepdims = false, std::int64_t ddof = 0);
/// Standard deviation, the square root of var.
template <class M>
Tensor<M> stddev(const Tensor<M>& x, const Axes& axes = {}, KeepDims keepdims = false, std::int64_t ddof = 0);
/// Smallest element; NaN if there is one.
template <class M>
Tensor<M> min(const Tensor<M>& x, const Axes& axes = {}, KeepDims keepdims = false);
/// Largest element; NaN if there is one.
template <class M>
Tensor<M> max(const Tensor<M>& x, const Axes& axes = {}, KeepDims keepdims = false);
/// Position of the (first) smallest element along `axis`, of the flattened tensor without one.
template <class M>
Tensor<M> argmin(const Tensor<M>& x, std::optional<std::int64_t> axis = {}, KeepDims keepdims = false);
/// Position of the (first) largest element along `axis`, of the flattened tensor without one.
template <class M>
Tensor<M> argmax(const Tensor<M>& x, std::optional<std::int64_t> axis = {}, KeepDims keepdims = false);
/// True where any element along `axes` is non-zero. (Its counterpart `all` is declared with the indices.)
template <class M>
Tensor<M> any(const Tensor<M>& x, const Axes& axes = {}, KeepDims keepdims = false);
/// log(sum(exp(x))), without overflow.
template <class M>
Tensor<M> logsumexp(const Tensor<M>& x, const Axes& axes = {}, KeepDims keepdims = false);
/// Sum of absolute values.
template <class M>
Tensor<M> l1_norm(const Tensor<M>& x, const Axes& axes = {}, KeepDims keepdims = false);
/// Square root of the sum of squares.
template <class M>
Tensor<M> l2_norm(const Tensor<M>& x, const Axes& axes = {}, KeepDims keepdims = false);
/// Sum of squares.
template <class M>
Tensor<M> l2_norm_sqr(const Tensor<M>& x, const Axes& axes = {}, KeepDims keepdims = false);

/// How a scan runs: from the end with `reverse`; `exclusive` leaves the element itself out.
struct ScanOptions {
  bool exclusive = false;  ///< leaves out the element itself
  bool reverse = false;    ///< from the end
};

/// Running sum along `axis`; of the flattened tensor without one.
template <class M>
Tensor<M> cumsum(const Tensor<M>& x, std::optional<std::int64_t> axis = {}, const ScanOptions& options = {});
/// Running product along `axis`; of the flattened tensor without one.
template <class M>
Tensor<M> cumprod(const Tensor<M>& x, std::optional<std::int64_t> axis = {}, const ScanOptions& options = {});
/// Running minimum along `axis`.
template <class M>
Tensor<M> cummin(const Tensor<M>& x, std::int64_t axis, Flag reverse = false);
/// Running maximum along `axis`.
template <class M>
Tensor<M> cummax(const Tensor<M>& x, std::int64_t axis, Flag reverse = false);

/// Scan with a user's function: y[0] = x[0], y[i] = f(y[i-1], x[i]) along `axis`.
template <class M>
Tensor<M> scan(const Tensor<M>& x, std::int64_t axis,
               const std::type_identity_t<std::function<Tensor<M>(const Tensor<M>&, const Tensor<M>&)>>& f);
/// Fold with a user's function along `axis`: f(f(f(start, x[0]), x[1]), ...).
template <class M>
Tensor<M> fold(const Tensor<M>& x, std::int64_t axis, const std::type_identity_t<Tensor<M>>& start,
               const std::type_identity_t<std::function<Tensor<M>(const Tensor<M>&, const Tensor<M>&)>>& f);

/// exp(x) over its sum along `axis`.
template <class M>
Tensor<M> softmax(const Tensor<M>& x, std::int64_t axis = -1);
/// Logarithm of softmax, without overflow.
template <class M>
Tensor<M> log_softmax(const Tensor<M>& x, std::int64_t axis = -1);
namespace detail {
/// The element of each row of x at the row's label. No class is counted from the end: a label below zero is refused.
template <class M>
Tensor<M> at_labels(std::string_view loss, const Tensor<M>& x, const Tensor<M>& labels);
}  // namespace detail

/// Mean over rows of -log softmax(logits)[label]; labels are class numbers (integers) or distributions (as logits).
template <class M>
Tensor<M> cross_entropy(const Tensor<M>& logits, const std::type_identity_t<Tensor<M>>& labels);
/// Mean of squared differences.
template <class M>
Tensor<M> mean_squared_error(const Tensor<M>& prediction, const std::type_identity_t<Tensor<M>>& target);

/// True when shapes agree and every element is equal.
template <class M>
bool array_equal(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b);
/// True when |a - b| <= absolute + relative * |b| everywhere.
template <class M>
bool allclose(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b, double relative = 1e-5,
              double absolute = 1e-8);

}  // namespace TYTO_API
