// SPDX-License-Identifier: MIT
// Differences, slopes, areas and straight lines between samples of a function.
#pragma once

#include <numbers>

#include "tyto/tensor.hpp"

namespace tyto TYTO_API {

/// Differences of neighbours along `axis`, taken `order` times; of bool, where they differ.
template <class M>
Tensor<M> diff(const Tensor<M>& x, std::int64_t order = 1, std::int64_t axis = -1);
/// Angles along `axis` moved by whole periods, so that neighbours lie no more than half of one apart.
template <class M>
Tensor<M> unwrap(const Tensor<M>& x, std::int64_t axis = -1, double period = 2 * std::numbers::pi);
/// The slope along `axis` by second-order differences, at the ends by differences of `edge_order` 1 or 2. `spacing` is
/// the distance of samples, or a vector of where they stand.
template <class M>
Tensor<M> gradient(const Tensor<M>& x, std::int64_t axis = -1, const std::type_identity_t<Tensor<M>>& spacing = 1.0,
                   int edge_order = 1);
/// The area under y along `axis` by the trapezoidal rule; `spacing` as for gradient.
template <class M>
Tensor<M> trapezoid(const Tensor<M>& y, std::int64_t axis = -1, const std::type_identity_t<Tensor<M>>& spacing = 1.0);
/// The area up to each sample but the first.
template <class M>
Tensor<M> cumulative_trapezoid(const Tensor<M>& y, std::int64_t axis = -1,
                               const std::type_identity_t<Tensor<M>>& spacing = 1.0);
/// Values at x of the straight lines between the points (at, values), `at` ascending; outside of them the first or last
/// value, or `left` and `right`.
template <class M>
Tensor<M> interp(const Tensor<M>& x, const std::type_identity_t<Tensor<M>>& at,
                 const std::type_identity_t<Tensor<M>>& values, std::optional<double> left = {},
                 std::optional<double> right = {});

}  // namespace TYTO_API
