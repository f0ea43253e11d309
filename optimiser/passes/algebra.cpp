// SPDX-License-Identifier: MIT
// Algebra: identities that hold bit for bit for every input, and, under fast_math, those that hold for real numbers.
//
// "Bit for bit" counts NaN as one value, 0 and -0 as two. So 0 * x stays (x may be NaN or infinite) and so does x + 0
// (it makes 0 of -0), while x + -0, x - 0, x * 1 and x / 1 are x. Of a maximum of 0 and -0 a device may give either
// zero, but a rule must keep the one that the CPU gives.
#include <cmath>

#include "core/graph/op_ids.hpp"
#include "core/value/floating_format.hpp"
#include "optimiser/passes/families.hpp"
#include "optimiser/passes/magnitude.hpp"
#include "optimiser/passes/rule.hpp"

namespace tyto::optimiser {

namespace {

bool has_identity(const OpDef& def) {
  return def.is(Traits::elementwise) && (def.traits.identity_element || def.traits.right_identity_element);
}
bool has_absorbing(const OpDef& def) { return def.is(Traits::elementwise) && def.traits.absorbing_element.has_value(); }
bool is_idempotent_of_two(const OpDef& def) { return def.is(Traits::is_idempotent) && def.min_inputs == 2; }
bool is_idempotent_of_one(const OpDef& def) { return def.is(Traits::is_idempotent) && def.min_inputs == 1; }
bool is_involution(const OpDef& def) { return def.is(Traits::is_involution); }
bool is_odd(const OpDef& def) { return def.is(Traits::is_odd); }
bool is_even(const OpDef& def) { return def.is(Traits::is_even); }

// The floating domain rounds: 1 / (1 / x) need not be x.
const Condition unrounded{"not rounded, or fast_math", [](const Match& m) {
                            return m.editor.definition(m.root).domain != core::Domain::floating || m.context.fast_math;
                          }};

bool never_minus_zero(GraphEditor& editor, Port x) {
  const GraphEditor::Index producer = editor.producer(x);
  if (editor.node(producer).op == OpId::cast) return !is_floating(editor.dtype(editor.input(producer, 0)));
  return editor.definition(producer).is(core::Traits::is_nonnegative);
}
const Condition zero_of_either_sign{"integers, x is never -0, or fast_math", [](const Match& m) {
                                      return !m.is_floating() || m.context.fast_math ||
                                             never_minus_zero(m.editor, m.tensor('x'));
                                    }};
const Condition integral_operand{"x holds integers",
                                 [](const Match& m) { return !is_floating(m.editor.dtype(m.tensor('x'))); }};
// The negative of an unsigned number is another positive one.
const Condition signed_operand{"x has a sign", [](const Match& m) {
                                 const DType dtype = m.editor.dtype(m.tensor('x'));
                                 return !is_unsigned(dtype) && dtype != DType::boolean;
                               }};

const Condition negative{"C is negative", [](const Match& m) { return m.number('C').as_double() < 0; }};
// Scaling by a power of two is exact both ways as long as its reciprocal is a normal number.
const Condition power_of_two{"C is a power of two with a normal reciprocal", [](const Match& m) {
                               int exponent = 0;
                               const double fraction = std::frexp(std::abs(m.number('C').as_double()), &exponent);
                               const int range = m.dtype() == DType::f64 ? 1000 : m.dtype() == DType::f16 ? 13 : 120;
                               return fraction == 0.5 && std::abs(exponent) < range;
                             }};
// Without infinities in them, numbers made ahead of the run add none to it, nor NaN as their products with zero.
bool is_normal(double number, DType dtype) {
  const core::FloatingFormat format = core::format_of(dtype);
  return std::abs(number) <= format.largest() && std::abs(number) >= format.smallest_normal();
}
const Condition normal_reciprocal{"1 / C is a normal number",
                                  [](const Match& m) { return is_normal(1.0 / m.number('C').as_double(), m.dtype()); }};
const Condition normal_product{"integers, or C D is a normal number", [](const Match& m) {
                                 return !m.is_floating() ||
                                        is_normal(m.number('C').as_double() * m.number('D').as_double(), m.dtype());
                               }};
// Even powers of negative numbers have a logarithm, the numbers themselves have none.
const Condition no_even_power{"C is no even number",
                              [](const Match& m) { return std::fmod(m.number('C').as_double(), 2.0) != 0; }};
Port by_reciprocal(Match& m) {
  const Port factor = m.editor.add_scalar(m.root, 1.0 / m.number('C').as_double(), m.dtype());
  return m.editor.add(m.root, OpId::multiply, {}, {m.tensor('x'), factor});
}

const Condition same_shapes{"x and y fill the result's shape", [](const Match& m) {
                              return m.editor.shape(m.tensor('x')) == m.shape() &&
                                     m.editor.shape(m.tensor('y')) == m.shape();
                            }};

/// Whether every value of `from` is one of `to`.
bool holds_all(DType from, DType to) {
  if (from == to || from == DType::boolean) return true;
  if (is_complex(from) || is_complex(to)) return false;
  if (is_floating(from))
    return is_floating(to) && promote(from, to) == to && !(from == DType::bf16 && to == DType::f16);
  if (to == DType::boolean) return false;
  const auto bits = [](DType type) { return static_cast<int>(8 * size_of(type)) - (is_unsigned(type) ? 0 : 1); };
  if (is_floating(to)) {
    const int digits = to == DType::f64 ? 53 : to == DType::f32 ? 24 : to == DType::f16 ? 11 : 8;
    return bits(from) <= digits;
  }
  return (is_unsigned(from) || !is_unsigned(to)) && bits(from) <= bits(to);
}

DType cast_type(GraphEditor& editor, GraphEditor::Index index) {
  return editor.attributes_as<core::CastAttributes>(index).dtype;
}

const Condition type_it_has{"to the type it has",
                            [](const Match& m) { return m.editor.dtype(m.tensor('x')) == m.dtype(); }};
Port operand(Match& m) { return m.tensor('x'); }
const Condition widening_first{"the inner type holds every value of x", [](const Match& m) {
                                 return holds_all(m.editor.dtype(m.tensor('x')), cast_type(m.editor, m.node(1)));
                               }};
// Between integers a cast wraps round, from floating ones it stops at the end of the range.
const Condition wraps_as_before{"no integer passes through a floating type into a narrower one", [](const Match& m) {
                                  const DType from = m.editor.dtype(m.tensor('x'));
                                  return !is_integer(from) || !is_floating(cast_type(m.editor, m.node(1))) ||
                                         !is_integer(m.dtype()) || holds_all(from, m.dtype());
                                }};
Port single_cast(Match& m) {
  if (m.editor.dtype(m.tensor('x')) == m.dtype()) return m.tensor('x');
  return m.editor.add(m.root, OpId::cast, core::CastAttributes{m.dtype()}, {m.tensor('x')});
}

// clang-format off
const Rule algebra_table[] = {
    // Rules from operators' traits.
    {"identity_element",       "op(x, identity)",                       "x",                     {}, nullptr, has_identity},
    {"absorbing_element",      "op(x, absorbing)",                      "absorbing",             {&integral_or_fast}, nullptr, has_absorbing},
    {"idempotent_pair",        "op(x, x)",                              "x",                     {}, nullptr, is_idempotent_of_two},
    {"idempotent_twice",       "op(op(x))",                             "op(x)",                 {}, nullptr, is_idempotent_of_one},
    {"involution",             "op(op(x))",                             "x",                     {&unrounded}, nullptr, is_involution},
    {"odd_of_negated",         "op(negate(x))",                         "negate(op(x))",         {&floating}, nullptr, is_odd},
    {"odd_of_multiple",        "op(multiply(x, C)!)",                   "negate(op(multiply(x, negate(C))))", {&floating, &negative}, nullptr, is_odd},
    {"even_of_negated",        "op(negate(x))",                         "op(x)",                 {&floating}, nullptr, is_even},
    {"even_of_multiple",       "op(multiply(x, C)!)",                   "op(multiply(x, negate(C)))", {&floating, &negative}, nullptr, is_even},

    // Zeros, signs.
    {"add_zero",               "add(x, 0)",                             "x",                     {&zero_of_either_sign}},
    {"subtract_minus_zero",    "subtract(x, -0)",                       "x",                     {&zero_of_either_sign}},
    {"zero_minus",             "subtract(-0, x)",                       "negate(x)",             {&floating}},
    {"zero_minus_integer",     "subtract(0, x)",                        "negate(x)",             {&integral_or_fast}},
    {"add_negated",            "add(x, negate(y))",                     "subtract(x, y)",        {}},
    {"subtract_negated",       "subtract(x, negate(y))",                "add(x, y)",             {}},
    {"negate_difference",      "negate(subtract(x, y)!)",               "subtract(y, x)",        {&integral_or_fast}},
    {"multiply_negated",       "multiply(negate(x), negate(y))",        "multiply(x, y)",        {}},
    {"divide_negated",         "divide(negate(x), negate(y))",          "divide(x, y)",          {}},
    {"times_minus_one",        "multiply(x, -1)",                       "negate(x)",             {}},
    {"over_minus_one",         "divide(x, -1)",                         "negate(x)",             {}},
    {"negated_times_number",   "multiply(negate(x), C)",                "multiply(x, negate(C))", {}},
    {"negate_scaled",          "negate(multiply(x, C)!)",               "multiply(x, negate(C))", {}},
    {"abs_of_negated",         "abs(negate(x))",                        "abs(x)",                {&signed_operand}},
    {"square_of_negated",      "square(negate(x))",                     "square(x)",             {}},
    {"square_of_abs",          "square(abs(x))",                        "square(x)",             {}},
    {"abs_of_square",          "abs(square(x))",                        "square(x)",             {&floating}},
    {"self_difference",        "subtract(x, x)",                        "0",                     {&integral_or_fast}},
    {"self_quotient",          "divide(x, x)",                          "1",                     {&fast_math}},
    {"self_xor",               "bitwise_xor(x, x)",                     "0",                     {}},

    // Products, quotients and powers.
    {"multiply_self",          "multiply(x, x)",                        "square(x)",             {}},
    {"one_over",               "divide(1, x)",                          "reciprocal(x)",         {}},
    {"divide_by_power_of_two", "divide(x, C)",                          "multiply(x, 1 / C)",    {&power_of_two}, by_reciprocal},
    {"divide_by_number",       "divide(x, C)",                          "multiply(x, 1 / C)",    {&fast_math, &normal_reciprocal}, by_reciprocal},
    {"power_zero",             "power(x, 0)",                           "1",                     {}},
    {"power_minus_zero",       "power(x, -0)",                          "1",                     {&floating}},
    {"power_of_one",           "power(1, x)",                           "1",                     {&floating}},
    {"power_two",              "power(x, 2)",                           "square(x)",             {&integral_or_fast}},
    {"power_half",             "power(x, 0.5)",                         "sqrt(x)",               {&floating, &fast_math}},
    {"power_minus_half",       "power(x, -0.5)",                        "rsqrt(x)",              {&floating, &fast_math}},
    {"power_three",            "power(x, 3)",                           "multiply(square(x), x)", {&integral_or_fast}},
    {"power_of_two_base",      "power(2, x)",                           "exp2(x)",               {&floating, &fast_math}},
    {"square_of_sqrt",         "square(sqrt(x))",                       "x",                     {&fast_math}},
    {"sqrt_of_square",         "sqrt(square(x))",                       "abs(x)",                {&floating, &fast_math}},
    {"reciprocal_of_sqrt",     "reciprocal(sqrt(x))",                   "rsqrt(x)",              {&fast_math}},
    {"divide_by_sqrt",         "divide(x, sqrt(y))",                    "multiply(x, rsqrt(y))", {&fast_math}},
    {"exp_of_log",             "exp(log(x))",                           "x",                     {&fast_math}},
    {"log_of_exp",             "log(exp(x))",                           "x",                     {&fast_math}},
    {"log_of_scaled_exp",      "log(divide(exp(x), y))",                "subtract(x, log(y))",   {&fast_math}},
    {"log_of_power",           "log(power(x, C))",                      "multiply(C, log(x))",   {&fast_math, &no_even_power}},

    // Chains with numbers; the numbers meet and are folded.
    {"add_add",                "add(add(x, C)!, D)",                    "add(x, add(C, D))",     {&integral_or_fast}},
    {"add_subtract",           "add(subtract(x, C)!, D)",               "add(x, subtract(D, C))", {&integral_or_fast}},
    {"subtract_add",           "subtract(add(x, C)!, D)",               "add(x, subtract(C, D))", {&integral_or_fast}},
    {"subtract_subtract",      "subtract(subtract(x, C)!, D)",          "subtract(x, add(C, D))", {&integral_or_fast}},
    {"multiply_multiply",      "multiply(multiply(x, C)!, D)",          "multiply(x, multiply(C, D))", {&integral_or_fast, &normal_product}},

    // Choices and comparisons.
    {"where_same",             "where(c, x, x)",                        "x",                     {}},
    {"where_true",             "where(1, x, y)",                        "x",                     {&same_shapes}},
    {"where_false",            "where(0, x, y)",                        "y",                     {&same_shapes}},
    {"where_not",              "where(logical_not(c), x, y)",           "where(c, y, x)",        {}},
    {"not_equal",              "logical_not(equal(x, y)!)",             "not_equal(x, y)",       {}},
    {"not_not_equal",          "logical_not(not_equal(x, y)!)",         "equal(x, y)",           {}},
    {"not_less",               "logical_not(less(x, y)!)",              "greater_equal(x, y)",   {&integral_operand}},
    {"not_less_equal",         "logical_not(less_equal(x, y)!)",        "greater(x, y)",         {&integral_operand}},
    {"not_greater",            "logical_not(greater(x, y)!)",           "less_equal(x, y)",      {&integral_operand}},
    {"not_greater_equal",      "logical_not(greater_equal(x, y)!)",     "less(x, y)",            {&integral_operand}},
    {"maximum_zero",           "maximum(x, 0)",                         "relu(x)",               {}},
    {"clip_from_below",        "minimum(maximum(x, C)!, D)",            "clip(x, C, D)",         {}},

    // Element types.
    {"cast_to_own_type",       "cast(x)",                               "x",                     {&type_it_has}, operand},
    {"cast_of_widening_cast",  "cast(cast(x))",                         "cast(x)",               {&widening_first, &wraps_as_before}, single_cast},
};
// clang-format on

}  // namespace

std::span<const Rule> algebra_rules() { return algebra_table; }

}  // namespace tyto::optimiser
