// Element-wise operators in ONNX's words: most by name, the rest as short compositions.
#include <cmath>
#include <numbers>

#include "onnx/export.hpp"

namespace tyto::onnx {

namespace {

using Names = std::vector<std::string>;

// Operators of ONNX take operands of one type; ours meet in the result's.
Names all_as_result(const ExportedNode& n) {
  Names inputs;
  for (std::size_t i = 0; i < n.inputs().size(); ++i) inputs.push_back(n.as_result(i));
  return inputs;
}

// Comparisons: operands meet in their own common type.
Names all_in_common(const ExportedNode& n) {
  DType common = n.input(0).dtype;
  for (std::size_t i = 1; i < n.inputs().size(); ++i) common = promote(common, n.input(i).dtype);
  Names inputs;
  for (std::size_t i = 0; i < n.inputs().size(); ++i) inputs.push_back(n.as(i, common));
  return inputs;
}
Names all_as_bool(const ExportedNode& n) {
  Names inputs;
  for (std::size_t i = 0; i < n.inputs().size(); ++i) inputs.push_back(n.as(i, DType::boolean));
  return inputs;
}

/// An operator of the same meaning.
#define TYTO_SAME(name, onnx_name)                                                             \
  {                                                                                            \
#name, [](const ExportedNode& n) -> Names { return {n.add(onnx_name, all_as_result(n))}; } \
  }
#define TYTO_COMPARED(name, onnx_name)                                                         \
  {                                                                                            \
#name, [](const ExportedNode& n) -> Names { return {n.add(onnx_name, all_in_common(n))}; } \
  }
#define TYTO_LOGICAL(name, onnx_name)                                                        \
  {                                                                                          \
#name, [](const ExportedNode& n) -> Names { return {n.add(onnx_name, all_as_bool(n))}; } \
  }
/// An expression of x, the operand in the result's type.
#define TYTO_OF_X(name, expression)                                                                      \
  {                                                                                                      \
#name, [](const ExportedNode& n) -> Names { const std::string x = n.as_result(0); return {expression}; } \
  }
#define TYTO_OF_AB(name, expression)                                              \
  {                                                                               \
#name, [](const ExportedNode& n) -> Names {                                     \
      const std::string a = n.as_result(0), b = n.as_result(1);                     \
      return {expression};                                                          \
    } \
  }

// clang-format off
const ExportRow elementwise_export_table[] = {
    TYTO_SAME(abs, "Abs"), TYTO_SAME(acos, "Acos"), TYTO_SAME(acosh, "Acosh"), TYTO_SAME(asin, "Asin"),
    TYTO_SAME(asinh, "Asinh"), TYTO_SAME(atan, "Atan"), TYTO_SAME(atanh, "Atanh"), TYTO_SAME(bitwise_not, "BitwiseNot"),
    TYTO_SAME(ceil, "Ceil"), TYTO_SAME(cos, "Cos"), TYTO_SAME(cosh, "Cosh"), TYTO_SAME(erf, "Erf"), TYTO_SAME(exp, "Exp"),
    TYTO_SAME(floor, "Floor"), TYTO_SAME(gelu, "Gelu"), TYTO_SAME(log, "Log"), TYTO_SAME(negate, "Neg"),
    TYTO_SAME(reciprocal, "Reciprocal"), TYTO_SAME(relu, "Relu"), TYTO_SAME(round, "Round"), TYTO_SAME(sigmoid, "Sigmoid"),
    TYTO_SAME(sign, "Sign"), TYTO_SAME(sin, "Sin"), TYTO_SAME(sinh, "Sinh"), TYTO_SAME(softplus, "Softplus"),
    TYTO_SAME(softsign, "Softsign"), TYTO_SAME(sqrt, "Sqrt"), TYTO_SAME(tan, "Tan"), TYTO_SAME(tanh, "Tanh"),
    TYTO_SAME(add, "Add"), TYTO_SAME(bitwise_and, "BitwiseAnd"), TYTO_SAME(bitwise_or, "BitwiseOr"),
    TYTO_SAME(bitwise_xor, "BitwiseXor"), TYTO_SAME(divide, "Div"), TYTO_SAME(maximum, "Max"), TYTO_SAME(minimum, "Min"),
    TYTO_SAME(multiply, "Mul"), TYTO_SAME(power, "Pow"), TYTO_SAME(subtract, "Sub"),
    TYTO_COMPARED(equal, "Equal"), TYTO_COMPARED(greater, "Greater"), TYTO_COMPARED(greater_equal, "GreaterOrEqual"),
    TYTO_COMPARED(less, "Less"), TYTO_COMPARED(less_equal, "LessOrEqual"), TYTO_COMPARED(isnan, "IsNaN"), TYTO_COMPARED(isinf, "IsInf"),
    TYTO_LOGICAL(logical_and, "And"), TYTO_LOGICAL(logical_not, "Not"), TYTO_LOGICAL(logical_or, "Or"), TYTO_LOGICAL(logical_xor, "Xor"),
    TYTO_OF_X(square, n.add("Mul", {x, x})),
    TYTO_OF_X(rsqrt, n.add("Reciprocal", {n.add("Sqrt", {x})})),
    TYTO_OF_X(exp2, n.add("Pow", {n.number(2), x})),
    TYTO_OF_X(exp10, n.add("Pow", {n.number(10), x})),
    TYTO_OF_X(expm1, n.add("Sub", {n.add("Exp", {x}), n.number(1)})),
    TYTO_OF_X(log1p, n.add("Log", {n.add("Add", {x, n.number(1)})})),
    TYTO_OF_X(log2, n.add("Mul", {n.add("Log", {x}), n.number(std::numbers::log2e)})),
    TYTO_OF_X(log10, n.add("Mul", {n.add("Log", {x}), n.number(std::numbers::log10e)})),
    TYTO_OF_X(cbrt, n.add("Mul", {n.add("Sign", {x}), n.add("Pow", {n.add("Abs", {x}), n.number(1.0 / 3)})})),
    TYTO_OF_X(log_sigmoid, n.add("Neg", {n.add("Softplus", {n.add("Neg", {x})})})),
    TYTO_OF_X(silu, n.add("Mul", {x, n.add("Sigmoid", {x})})),
    TYTO_OF_X(erfc, n.add("Sub", {n.number(1), n.add("Erf", {x})})),
    TYTO_OF_X(trunc, n.add("Mul", {n.add("Sign", {x}), n.add("Floor", {n.add("Abs", {x})})})),
    {"isfinite", [](const ExportedNode& n) -> Names { return {n.add("Not", {n.add("Or", {n.add("IsNaN", {n[0]}), n.add("IsInf", {n[0]})})})}; }},
    {"not_equal", [](const ExportedNode& n) -> Names { return {n.add("Not", {n.add("Equal", all_in_common(n))})}; }},
    {"where", [](const ExportedNode& n) -> Names { return {n.add("Where", {n.as(0, DType::boolean), n.as_result(1), n.as_result(2)})}; }},
    {"clip", [](const ExportedNode& n) -> Names { return {n.add("Min", {n.add("Max", {n.as_result(0), n.as_result(1)}), n.as_result(2)})}; }},
    {"fma", [](const ExportedNode& n) -> Names { return {n.add("Add", {n.add("Mul", {n.as_result(0), n.as_result(1)}), n.as_result(2)})}; }},
    TYTO_OF_AB(fmod, n.add("Mod", {a, b}, {{"fmod", std::int64_t{1}}})),
    TYTO_OF_AB(remainder, is_floating(n.result().dtype) ? n.add("Sub", {a, n.add("Mul", {b, n.add("Floor", {n.add("Div", {a, b})})})}) : n.add("Mod", {a, b})),
    TYTO_OF_AB(hypot, n.add("Sqrt", {n.add("Add", {n.add("Mul", {a, a}), n.add("Mul", {b, b})})})),
    TYTO_OF_AB(logaddexp, n.add("Add", {n.add("Max", {a, b}), n.add("Softplus", {n.add("Neg", {n.add("Abs", {n.add("Sub", {a, b})})})})})),
};
// clang-format on

#undef TYTO_SAME
#undef TYTO_COMPARED
#undef TYTO_LOGICAL
#undef TYTO_OF_X
#undef TYTO_OF_AB

}  // namespace

std::span<const ExportRow> elementwise_exports() { return elementwise_export_table; }

}  // namespace tyto::onnx
