// SPDX-License-Identifier: MIT
// Finite differences in f64, the expected gradients where no library's values are at hand.
#pragma once

#include <functional>
#include <vector>

#include "tests/golden/computation.hpp"
#include "tests/support/placed_tensor.hpp"

namespace tyto::golden {

/// Half of the distance between neighbouring points of the difference. Its fourth power is the error's order.
inline constexpr double step = 0x1p-11;

/// The derivative at zero of a function of one number, by five points, the outer ones two widths away. Exact up to
/// rounding for polynomials of the fourth degree.
double derivative(const std::function<double(double)>& f, double width = step);

/// The same at every place of vectors at once: f(t) holds the values of independent functions.
std::vector<double> derivatives(const std::function<std::vector<double>(double)>& f, double width);

/// Values of either sign, none nearer to another or to zero than many steps: kinks and ties are far. In random order.
std::vector<double> apart(placed::Dice& dice, std::int64_t count);

/// Tensors of f64 with the lengths and the integers of a case's inputs, where the case has floats new values.
Tensors<Eager> inputs_for_differences(const Case& one, placed::Dice& dice);

/// x + t * direction for each of the tensors.
Tensors<Eager> moved(const Tensors<Eager>& x, const Tensors<Eager>& direction, double t);

/// Random numbers of [-1, 1) in the shape of each tensor.
template <class M>
Tensors<M> random_like(const Tensors<M>& tensors, placed::Dice& dice);

/// The sum of products of two lists of tensors, element by element.
double inner_product(const Tensors<Eager>& a, const Tensors<Eager>& b);

}  // namespace tyto::golden
