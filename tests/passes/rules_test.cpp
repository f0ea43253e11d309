// SPDX-License-Identifier: MIT
// Every rule on a match and on a near miss for each of its conditions, both against the graph as written.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <set>

#include "core/graph/op_ids.hpp"
#include "optimiser/passes/families.hpp"
#include "tests/passes/expression.hpp"

namespace rules_test {

using namespace tyto;
using namespace tyto::testing;

namespace {

constexpr DType f32 = DType::f32, f64 = DType::f64, f16 = DType::f16, u8 = DType::u8, i32 = DType::i32,
                i64 = DType::i64;
constexpr double exact = 0;
constexpr double rounded = 4e-7;  // a few units in the last place of f32

struct Case {
  const char* rule;
  const char* expression;
  bool fires = true;
  DType dtype = f32;
  bool fast = false;
  double tolerance = exact;
  double low = -2, high = 2;
};

constexpr bool fires = true, stays = false, fast = true, honest = false;

// Ordinary values, and at the ends both zeros, NaN and the infinities where fast_math is off.
std::vector<std::vector<double>> inputs_for(const core::Graph& graph, const Case& c) {
  std::vector<std::vector<double>> inputs;
  double next = 0.37;
  for (const core::GraphInput& input : graph.inputs()) {
    const core::TensorType& type = graph.type(input.port);
    std::vector<double>& values = inputs.emplace_back();
    for (int i = 0; i < 6; ++i) {
      next = std::fmod(next + 0.6180339887498949, 1.0);
      values.push_back(c.low + (c.high - c.low) * next);
    }
    const double infinity = std::numeric_limits<double>::infinity();
    if (type.dtype == DType::boolean) {
      values = {1, 0, 0, 1, 1, 0};
    } else if (!is_floating(type.dtype)) {
      for (double& value : values) value = std::floor(4 * value);
      values[1] = 0;
    } else if (!c.fast) {
      const bool odd = inputs.size() % 2 == 1;
      values[0] = odd ? -0.0 : 0.0;
      values[1] = odd ? 0.0 : infinity;
      values[2] = odd ? std::numeric_limits<double>::quiet_NaN() : 1.5;
      values[3] = odd ? -infinity : 0.75;
    }
  }
  return inputs;
}

void check(const Case& c) {
  const std::string what = std::string(c.rule) + " on " + c.expression;
  CAPTURE(what);
  const core::Graph graph = graph_of(c.expression, c.dtype);
  PassReport report;
  const std::string passes = "views,constants,stability,algebra,reductions,fma";
  const core::Graph out = optimised(graph, c.fast ? passes + ",fast_math" : passes, &report);
  CHECK((report.fired(c.rule) != 0) == c.fires);
  const auto inputs = inputs_for(graph, c);
  const auto before = results_of(graph, inputs);
  const auto after = results_of(out, inputs);
  for (std::size_t i = 0; i < before[0].size(); ++i) {
    CAPTURE(before[0][i]);
    CAPTURE(after[0][i]);
    CHECK(agree({{before[0][i]}}, {{after[0][i]}}, c.tolerance));
  }
  PassReport again;
  (void)optimised(out, c.fast ? passes + ",fast_math" : passes, &again);
  CHECK(again.fired() == 0);
}

const Case algebra[] = {
    {"identity_element", "add(x, -0)"},
    {"identity_element", "multiply(x, 1)"},
    {"identity_element", "multiply(1, x)"},
    {"identity_element", "divide(x, 1)"},
    {"identity_element", "subtract(x, 0)"},
    {"identity_element", "power(x, 1)"},
    {"identity_element", "bitwise_or(x, 0)", fires, i32},
    {"identity_element", "left_shift(x, 0)", fires, i32},
    {"identity_element", "add(x, 0)", fires, i32},
    {"identity_element", "divide(1, x)", stays},
    {"identity_element", "subtract(0, x)", stays},
    {"identity_element", "multiply(x, 2)", stays},
    {"identity_element", "add(x, 0)", stays},
    {"absorbing_element", "multiply(x, 0)", fires, i32},
    {"absorbing_element", "multiply(x, 0)", fires, f32, fast, rounded},
    {"absorbing_element", "multiply(x, 0)", stays},
    {"absorbing_element", "multiply(bool x, bool 0)", fires, DType::boolean},
    {"idempotent_pair", "maximum(x, x)"},
    {"idempotent_pair", "fmin(x, x)"},
    {"idempotent_pair", "bitwise_and(x, x)", fires, i32},
    {"idempotent_pair", "maximum(x, y)", stays},
    {"idempotent_pair", "add(x, x)", stays},
    {"idempotent_twice", "abs(abs(x))"},
    {"idempotent_twice", "floor(floor(x))"},
    {"idempotent_twice", "relu(relu(x))"},
    {"idempotent_twice", "floor(ceil(x))", stays},
    {"idempotent_twice", "exp(exp(x))", stays},
    {"involution", "negate(negate(x))"},
    {"involution", "bitwise_not(bitwise_not(x))", fires, i32},
    {"involution", "reciprocal(reciprocal(x))", stays},
    {"involution", "reciprocal(reciprocal(x))", fires, f32, fast, rounded},
    {"involution", "negate(abs(x))", stays},
    {"odd_of_negated", "erf(negate(x))"},
    {"odd_of_negated", "tanh(negate(x))", fires, DType::f64},
    {"odd_of_negated", "round(negate(x))", fires, DType::f16},
    {"odd_of_negated", "round(negate(x))", stays, i32},
    {"odd_of_negated", "exp(negate(x))", stays},
    {"odd_of_multiple", "erf(multiply(x, -0.5))"},
    {"odd_of_multiple", "erf(multiply(x, 0.5))", stays},
    {"even_of_negated", "cos(negate(x))"},
    {"even_of_negated", "sin(negate(x))", stays},
    {"even_of_multiple", "cosh(multiply(x, -3))"},
    {"even_of_multiple", "cosh(multiply(x, 3))", stays},
    {"add_zero", "add(abs(x), 0)"},
    {"add_zero", "add(square(x), 0)"},
    {"add_zero", "add(x, 0)", stays},
    {"add_zero", "add(x, 0)", fires, f32, fast},
    {"add_zero", "add(abs(x), -0)", stays},
    {"subtract_minus_zero", "subtract(x, -0)", stays},
    {"subtract_minus_zero", "subtract(exp(x), -0)", fires},
    {"zero_minus", "subtract(-0, x)"},
    {"zero_minus", "subtract(0, x)", stays},
    {"zero_minus_integer", "subtract(0, x)", fires, i32},
    {"zero_minus_integer", "subtract(0, x)", stays},
    {"zero_minus_integer", "subtract(0, x)", fires, f32, fast},
    {"add_negated", "add(x, negate(y))"},
    {"add_negated", "add(negate(y), x)"},
    {"add_negated", "add(x, abs(y))", stays},
    {"subtract_negated", "subtract(x, negate(y))"},
    {"subtract_negated", "subtract(negate(x), y)", stays},
    {"negate_difference", "negate(subtract(x, y))", fires, i32},
    {"negate_difference", "negate(subtract(x, y))", stays},
    {"negate_difference", "negate(subtract(x, y))", fires, f32, fast},
    {"negate_difference", "negate(subtract(x, y)!)", stays, i32},
    {"multiply_negated", "multiply(negate(x), negate(y))"},
    {"multiply_negated", "multiply(negate(x), y)", stays},
    {"divide_negated", "divide(negate(x), negate(y))"},
    {"divide_negated", "divide(negate(x), y)", stays},
    {"times_minus_one", "multiply(x, -1)"},
    {"times_minus_one", "multiply(x, -1)", fires, i32},
    {"times_minus_one", "multiply(x, -2)", stays},
    {"over_minus_one", "divide(x, -1)"},
    {"over_minus_one", "divide(-1, x)", stays},
    {"negated_times_number", "multiply(negate(x), 3)"},
    {"negated_times_number", "multiply(negate(x), y)", stays},
    {"negate_scaled", "negate(multiply(x, 3))"},
    {"negate_scaled", "negate(multiply(x, 3)!)", stays},
    {"negate_scaled", "negate(multiply(x, y))", stays},
    {"abs_of_negated", "abs(negate(x))"},
    {"abs_of_negated", "abs(sin(x))", stays},
    {"abs_of_negated", "abs(negate(x))", stays, u8},
    {"square_of_negated", "square(negate(x))"},
    {"square_of_abs", "square(abs(x))"},
    {"abs_of_square", "abs(square(x))"},
    {"abs_of_square", "abs(square(x))", stays, i32},
    {"self_difference", "subtract(x, x)", fires, i32},
    {"self_difference", "subtract(x, x)", stays},
    {"self_difference", "subtract(x, x)", fires, f32, fast},
    {"self_difference", "subtract(x, y)", stays, i32},
    {"self_quotient", "divide(x, x)", fires, f32, fast},
    {"self_quotient", "divide(x, x)", stays},
    {"self_xor", "bitwise_xor(x, x)", fires, i32},
    {"self_xor", "bitwise_xor(x, y)", stays, i32},
    {"multiply_self", "multiply(x, x)"},
    {"multiply_self", "multiply(x, y)", stays},
    {"one_over", "divide(1, x)"},
    {"one_over", "divide(2, x)", stays},
    {"divide_by_power_of_two", "divide(x, 8)"},
    {"divide_by_power_of_two", "divide(x, -0.25)"},
    {"divide_by_power_of_two", "divide(x, 4)", fires, f16},
    {"divide_by_power_of_two", "divide(x, 3)", stays},
    {"divide_by_power_of_two", "divide(x, 16384)", stays, f16},
    {"divide_by_number", "divide(x, 3)", fires, f32, fast, rounded},
    {"divide_by_number", "divide(x, 3)", stays},
    {"divide_by_number", "divide(x, 1e-39)", stays, f32, fast},
    {"divide_by_number", "divide(x, 3e38)", stays, f32, fast},
    {"power_zero", "power(x, 0)"},
    {"power_zero", "power(x, 0)", fires, i32},
    {"power_minus_zero", "power(x, -0)"},
    {"power_minus_zero", "power(x, -0)", stays, i32},
    {"power_of_one", "power(1, x)"},
    {"power_of_one", "power(1, x)", stays, i32},
    {"power_of_one", "power(2, x)", stays},
    {"power_two", "power(x, 2)", fires, i32},
    {"power_two", "power(x, 2)", stays},
    {"power_two", "power(x, 4)", stays, i32},
    {"real_power_two", "power(x, 2)", fires, f32, honest, rounded},
    {"real_power_two", "power(x, 2)", stays, i32},
    {"real_power_two", "power(x, 4)", stays},
    {"power_minus_one", "power(x, -1)", fires, f32, honest, rounded},
    {"power_minus_one", "power(x, -2)", stays},
    {"power_half", "power(x, 0.5)", stays},
    {"power_half", "power(x, 0.5)", fires, f32, fast, rounded, 0.1, 4},
    {"power_minus_half", "power(x, -0.5)", stays},
    {"power_minus_half", "power(x, -0.5)", fires, f32, fast, rounded, 0.1, 4},
    {"power_three", "power(x, 3)", fires, i32},
    {"power_three", "power(x, 3)", stays},
    {"power_three", "power(x, 3)", fires, f32, fast, rounded},
    {"power_of_two_base", "power(2, x)", fires, f32, fast, rounded},
    {"power_of_two_base", "power(2, x)", stays},
    {"square_of_sqrt", "square(sqrt(x))", fires, f32, fast, rounded, 0.1, 4},
    {"square_of_sqrt", "square(sqrt(x))", stays},
    {"sqrt_of_square", "sqrt(square(x))", fires, f32, fast, rounded},
    {"sqrt_of_square", "sqrt(square(x))", stays},
    {"reciprocal_of_sqrt", "reciprocal(sqrt(x))", fires, f32, fast, rounded, 0.1, 4},
    {"reciprocal_of_sqrt", "reciprocal(sqrt(x))", stays},
    {"divide_by_sqrt", "divide(x, sqrt(y))", fires, f32, fast, rounded, 0.1, 4},
    {"divide_by_sqrt", "divide(x, sqrt(y))", stays},
    {"exp_of_log", "exp(log(x))", fires, f32, fast, rounded, 0.1, 4},
    {"exp_of_log", "exp(log(x))", stays},
    {"log_of_exp", "log(exp(x))", fires, f32, fast, 1e-5, 0.5, 4},
    {"log_of_exp", "log(exp(x))", stays},
    {"log_of_scaled_exp", "log(divide(exp(x), y))", fires, f32, fast, 1e-4, 2, 4},
    {"log_of_scaled_exp", "log(divide(exp(x), y))", stays},
    {"log_of_power", "log(power(x, 2.5))", fires, f64, fast, 1e-12, 1.5, 4},
    {"log_of_power", "log(power(x, 2.5))", stays, f64},
    {"log_of_power", "log(power(x, 5))", fires, f64, fast, 1e-12, 1.5, 4},
    {"log_of_power", "log(power(x, 2))", stays, f64, fast, exact, -4, -1.5},
    {"log_of_power", "log(power(x, -4))", stays, f64, fast, exact, -4, -1.5},
    {"add_add", "add(add(x, 3), 4)", fires, i32},
    {"add_add", "add(add(x, 3), 4)", stays},
    {"add_add", "add(add(x, 3), 4)", fires, f32, fast, rounded},
    {"add_add", "add(add(x, y), 4)", stays, i32},
    {"add_add", "add(add(x, 3)!, 4)", stays, i32},
    {"add_subtract", "add(subtract(x, 3), 4)", fires, i32},
    {"add_subtract", "add(subtract(x, 3), 4)", stays},
    {"add_subtract", "add(subtract(x, 3)!, 4)", stays, i32},
    {"subtract_add", "subtract(add(x, 3), 4)", fires, i32},
    {"subtract_add", "subtract(add(x, 3), 4)", stays},
    {"subtract_add", "subtract(add(x, 3)!, 4)", stays, i32},
    {"subtract_subtract", "subtract(subtract(x, 3), 4)", fires, i32},
    {"subtract_subtract", "subtract(subtract(x, 3), 4)", stays},
    {"subtract_subtract", "subtract(subtract(x, 3)!, 4)", stays, i32},
    {"multiply_multiply", "multiply(multiply(x, 3), 5)", fires, i32},
    {"multiply_multiply", "multiply(multiply(x, 3), 5)", stays},
    {"multiply_multiply", "multiply(multiply(x, 3), 5)", fires, f32, fast, rounded},
    {"multiply_multiply", "multiply(multiply(x, 3)!, 5)", stays, i32},
    {"multiply_multiply", "multiply(multiply(x, 1e-20), 1e-20)", stays, f32, fast},
    {"multiply_multiply", "multiply(multiply(x, 1e20), 1e20)", stays, f32, fast},
    {"where_same", "where(bool c, x, x)"},
    {"where_same", "where(bool c, x, y)", stays},
    {"where_true", "where(bool 1, x, y)"},
    {"where_true", "where(bool 1, x, 2)", stays},
    {"where_false", "where(bool 0, x, y)"},
    {"where_false", "where(bool 0, 2, y)", stays},
    {"where_not", "where(logical_not(bool c), x, y)"},
    {"where_not", "where(bool c, x, y)", stays},
    {"not_equal", "logical_not(equal(x, y))"},
    {"not_equal", "logical_not(less(x, y))", stays},
    {"not_equal", "logical_not(equal(x, y)!)", stays},
    {"not_not_equal", "logical_not(not_equal(x, y))"},
    {"not_not_equal", "logical_not(not_equal(x, y)!)", stays},
    {"not_less", "logical_not(less(x, y))", fires, i32},
    {"not_less", "logical_not(less(x, y))", stays},
    {"not_less", "logical_not(less(x, y)!)", stays, i32},
    {"not_less_equal", "logical_not(less_equal(x, y))", fires, i32},
    {"not_less_equal", "logical_not(less_equal(x, y))", stays},
    {"not_less_equal", "logical_not(less_equal(x, y)!)", stays, i32},
    {"not_greater", "logical_not(greater(x, y))", fires, i32},
    {"not_greater", "logical_not(greater(x, y))", stays},
    {"not_greater", "logical_not(greater(x, y)!)", stays, i32},
    {"not_greater_equal", "logical_not(greater_equal(x, y))", fires, i32},
    {"not_greater_equal", "logical_not(greater_equal(x, y))", stays},
    {"not_greater_equal", "logical_not(greater_equal(x, y)!)", stays, i32},
    {"maximum_zero", "maximum(x, 0)"},
    {"maximum_zero", "maximum(x, -0)", stays},
    {"maximum_zero", "maximum(x, 1)", stays},
    {"clip_from_below", "minimum(maximum(x, -1), 1)"},
    {"clip_from_below", "maximum(minimum(x, 1), -1)", stays},
    {"clip_from_below", "minimum(maximum(x, y), 1)", stays},
    {"clip_from_below", "minimum(maximum(x, -1)!, 1)", stays},
    {"log_of_sigmoid", "log(sigmoid(x))", fires, f32, honest, rounded},
    {"log_of_one_plus_exp", "log(add(exp(x), 1))", fires, f32, honest, rounded},
    {"log_of_one_plus_exp", "log(add(exp(x), 2))", stays},
    {"log_of_one_plus_exp", "log(add(exp(x), 1)!)", stays},
    {"log_of_one_plus", "log(add(x, 1))", fires, f32, honest, rounded, 0.5, 3},
    {"log_of_one_plus", "log(add(x, 2))", stays},
    {"log_of_one_plus", "log(add(x, 1)!)", stays},
    {"log1p_of_exp", "log1p(exp(x))", fires, f32, honest, rounded},
    {"exp_minus_one", "subtract(exp(x), 1)", fires, f32, honest, rounded, 1, 3},
    {"exp_minus_one", "subtract(exp(x), 2)", stays},
    {"exp_minus_one", "subtract(exp(x)!, 1)", stays},
    {"sigmoid_spelled_out", "reciprocal(add(exp(negate(x)), 1))", fires, f32, honest, rounded},
    {"sigmoid_spelled_out", "reciprocal(add(exp(x), 1))", stays},
    {"sigmoid_spelled_out", "reciprocal(add(exp(negate(x)), 1)!)", stays},
    {"sigmoid_as_quotient", "divide(1, add(exp(negate(x)), 1))", fires, f32, honest, rounded},
    {"sigmoid_as_quotient", "divide(2, add(exp(negate(x)), 1))", stays},
    {"sigmoid_as_quotient", "divide(1, add(exp(negate(x)!), 1))", stays},
    {"multiply_add", "add(multiply(x, y), z)", fires, f32, honest, rounded},
    {"multiply_add", "add(z, multiply(x, y))", fires, f32, honest, rounded},
    {"multiply_add", "add(multiply(x, y), z)", fires, i32},
    {"multiply_add", "add(divide(x, y), z)", stays},
    {"multiply_add", "add(multiply(bool x, bool y), bool z)", stays, DType::boolean},
    {"multiply_add", "add(multiply(x, y)!, z)", stays},
    {"square_add", "add(square(x), z)", fires, f32, honest, rounded},
    {"square_add", "add(abs(x), z)", stays},
    {"square_add", "add(square(x)!, z)", stays},
    {"subtract_scaled", "subtract(z, multiply(x, 3))", fires, f32, honest, rounded},
    {"subtract_scaled", "subtract(z, multiply(x, y))", stays},
    {"subtract_scaled", "subtract(z, multiply(x, 3)!)", stays},
    {"multiply_subtract_number", "subtract(multiply(x, y), 3)", fires, f32, honest, rounded},
    {"multiply_subtract_number", "subtract(multiply(x, y), z)", stays},
    {"multiply_subtract_number", "subtract(multiply(x, y)!, 3)", stays},
};

}  // namespace

TEST_CASE("each rule of algebra fires where it should, stays where it should, and changes no result") {
  for (const Case& c : algebra) check(c);
}

TEST_CASE("zero is added to what was cast from floating types, which may be -0, and not to what were integers") {
  struct Cast {
    DType from, to;
    bool fires;
  };
  const Cast casts[] = {{f32, f64, stays}, {f64, f32, stays}, {f16, f32, stays}, {DType::bf16, f32, stays},
                        {i32, f32, fires}, {i64, f64, fires}, {u8, f16, fires},  {DType::boolean, f32, fires}};
  for (const auto& [from, to, goes] : casts) {
    CAPTURE(name_of(from));
    Sketch s;
    const core::Port wide = s.add(core::OpId::cast, {s.input({2, 3}, from)}, core::CastAttributes{to});
    const core::Graph graph = s.graph({s.add(core::OpId::add, {wide, s.number(0.0, to)})});
    PassReport report;
    const core::Graph out = optimised(graph, "algebra", &report);
    CHECK((report.fired("add_zero") != 0) == goes);
    const std::vector<std::vector<double>> inputs{{-0.0, 0.0, 1, -0.0, 1, 1}};
    const std::vector<double> sums = results_of(out, inputs)[0];
    CHECK(sums == std::vector<double>{0, 0, 1, 0, 1, 1});
    CHECK_FALSE(std::signbit(sums[0]));
    CHECK_FALSE(std::signbit(sums[3]));
  }
}

TEST_CASE("each rule on expressions has a match and, where it has a condition, a near miss") {
  std::set<std::string_view> matched, missed;
  for (const Case& c : algebra) (c.fires ? matched : missed).insert(c.rule);
  const std::set<std::string_view> tested_elsewhere{"cast_to_own_type", "cast_of_widening_cast", "log_of_softmax",
                                                    "log_of_sum_of_exp"};
  for (const optimiser::RuleFamily& family : optimiser::rule_families()) {
    if (family.pass != "stability" && family.pass != "algebra" && family.pass != "fma") continue;
    for (const optimiser::Rule& rule : family.rules) {
      if (tested_elsewhere.contains(rule.name)) continue;
      const std::string name(rule.name);
      CHECK_MESSAGE(matched.contains(rule.name), name,
                    ": add an expression that it rewrites to the tables of this file");
      if (rule.when[0] != nullptr || rule.pattern.find('!') != std::string_view::npos)
        CHECK_MESSAGE(missed.contains(rule.name), name, ": add an expression that a condition keeps (`stays`)");
    }
  }
}

}  // namespace rules_test
