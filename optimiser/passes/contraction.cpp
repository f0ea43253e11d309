// SPDX-License-Identifier: MIT
// Contraction: a product and the sum that takes it become one multiply-add, which writes no product and rounds once.
#include "optimiser/passes/families.hpp"
#include "optimiser/passes/rule.hpp"

namespace tyto::optimiser {

namespace {

// A smaller product that the sum stretches would be computed again for each copy.
const Condition product_of_full_shape{"the product has the sum's shape", [](const Match& m) {
                                        return m.editor.shape(m.editor.node(m.node(1)).first_result) == m.shape();
                                      }};
const Condition numeric{"not bool", [](const Match& m) { return m.dtype() != DType::boolean; }};

// clang-format off
const Rule contraction_table[] = {
    {"multiply_add",            "add(multiply(x, y)!, z)",      "fma(x, y, z)",         {&numeric, &product_of_full_shape}},
    {"square_add",              "add(square(x)!, z)",           "fma(x, x, z)",         {&numeric, &product_of_full_shape}},
    {"subtract_scaled",         "subtract(z, multiply(x, C)!)", "fma(x, negate(C), z)", {&numeric, &product_of_full_shape}},
    {"multiply_subtract_number", "subtract(multiply(x, y)!, C)", "fma(x, y, negate(C))", {&numeric, &product_of_full_shape}},
};
// clang-format on

}  // namespace

std::span<const Rule> contraction_rules() { return contraction_table; }

}  // namespace tyto::optimiser
