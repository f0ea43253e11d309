// SPDX-License-Identifier: MIT
// Recorded expressions as mathematics: written out, simplified, and with other operands.
#pragma once

#include <string>
#include <vector>

#include "tyto/graph.hpp"
#include "tyto/tensor.hpp"

namespace tyto TYTO_API {

/// Writes the computation of x as mathematics. Placeholders and states appear by their names, numbers as they are.
///
///     const auto x = Tensor::placeholder({2}, DType::f32, "x");
///     formula(sum(square(x) * 3.0));  // "y = sum(x^2 * 3; axes=(0) keepdims=0)\n"
std::string formula(const Value& x, FormulaStyle style = FormulaStyle::text);

/// The same tensor by fewer operators: constants folded, identities applied, equal parts computed once. `passes`
/// chooses among graph_passes() as CompileOptions::passes does; "+fast_math" takes numbers for real ones, so that
/// x + 0 is x and 0 * x is 0. What is computed already, draws random numbers, or is being differentiated stays as it
/// is.
///
///     formula(simplify(x * 1.0 + 0.0, "+fast_math"));  // "y = x\n"
Tensor<Lazy> simplify(const Tensor<Lazy>& x, const std::string& passes = {});

/// A tensor of an expression, and what replaces it.
struct Substitution {
  Tensor<Lazy> from;  ///< a placeholder, a state, or any tensor that an expression is made of
  Tensor<Lazy> to;    ///< of the same type and shape
};

/// x computed from other operands: all substitutions are made at once, replacements are left as they are, and a state
/// is replaced in all its versions. Throws TypeError or ShapeError where a type or shape differs, and GraphError where
/// a part of x that may depend on what is replaced is computed already: reading a tensor forgets what it was made of.
/// Nothing that depends on a placeholder is ever computed.
///
///     formula(substitute(square(x) + x, {{x, sin(x)}}));  // "let t1 = sin(x)\ny = t1^2 + t1\n"
Tensor<Lazy> substitute(const Tensor<Lazy>& x, const std::vector<Substitution>& substitutions);

}  // namespace TYTO_API
