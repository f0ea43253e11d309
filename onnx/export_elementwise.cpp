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

// Bools are added and multiplied as truths are.
Names with_word_for_truths(const ExportedNode& n, const char* op, const char* of_truths) {
  return {n.add(n.result().dtype == DType::boolean ? of_truths : op, all_as_result(n))};
}
/// Of integers, which are whole already.
Names unless_whole(const ExportedNode& n, const char* op) {
  const std::string x = n.as_result(0);
  return {is_floating(n.result().dtype) ? n.add(op, {x}) : x};
}
/// Of numbers that cannot be so.
std::string never(const ExportedNode& n) {
  const std::string no = n.out().constant(Tensor<Eager>::full({}, false, DType::boolean));
  return n.add("Expand", {no, n.out().integers(n.result().shape)});
}
std::string asked_of_floats(const ExportedNode& n, const char* op) {
  return is_floating(n.input(0).dtype) ? n.add(op, {n[0]}) : never(n);
}
// Truths are compared by their numbers.
Names ordered(const ExportedNode& n, const char* op) {
  Names inputs = all_in_common(n);
  if (promote(n.input(0).dtype, n.input(1).dtype) == DType::boolean) {
    for (std::string& input : inputs) input = n.out().cast(input, DType::boolean, DType::i32);
  }
  return {n.add(op, inputs)};
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

// clang-format off
const ExportRow elementwise_export_table[] = {
    TYTO_SAME(acos, "Acos"), TYTO_SAME(acosh, "Acosh"), TYTO_SAME(asin, "Asin"),
    TYTO_SAME(asinh, "Asinh"), TYTO_SAME(atan, "Atan"), TYTO_SAME(atanh, "Atanh"),     TYTO_SAME(cos, "Cos"), TYTO_SAME(cosh, "Cosh"), TYTO_SAME(erf, "Erf"), TYTO_SAME(exp, "Exp"),
    TYTO_SAME(gelu, "Gelu"), TYTO_SAME(log, "Log"), 
    TYTO_SAME(reciprocal, "Reciprocal"), TYTO_SAME(sigmoid, "Sigmoid"),
    TYTO_SAME(sin, "Sin"), TYTO_SAME(sinh, "Sinh"), TYTO_SAME(softplus, "Softplus"),
    TYTO_SAME(softsign, "Softsign"), TYTO_SAME(sqrt, "Sqrt"), TYTO_SAME(tan, "Tan"), TYTO_SAME(tanh, "Tanh"),
        TYTO_SAME(divide, "Div"), 
    TYTO_SAME(power, "Pow"), TYTO_SAME(subtract, "Sub"),
    TYTO_COMPARED(equal, "Equal"),
    {"greater", [](const ExportedNode& n) { return ordered(n, "Greater"); }},
    {"greater_equal", [](const ExportedNode& n) { return ordered(n, "GreaterOrEqual"); }},
    {"less", [](const ExportedNode& n) { return ordered(n, "Less"); }},
    {"less_equal", [](const ExportedNode& n) { return ordered(n, "LessOrEqual"); }},
    {"isnan", [](const ExportedNode& n) -> Names { return {asked_of_floats(n, "IsNaN")}; }},
    {"isinf", [](const ExportedNode& n) -> Names { return {asked_of_floats(n, "IsInf")}; }},
    {"bitwise_and", [](const ExportedNode& n) { return with_word_for_truths(n, "BitwiseAnd", "And"); }},
    {"bitwise_or", [](const ExportedNode& n) { return with_word_for_truths(n, "BitwiseOr", "Or"); }},
    {"bitwise_xor", [](const ExportedNode& n) { return with_word_for_truths(n, "BitwiseXor", "Xor"); }},
    {"bitwise_not", [](const ExportedNode& n) { return with_word_for_truths(n, "BitwiseNot", "Not"); }},
    {"add", [](const ExportedNode& n) { return with_word_for_truths(n, "Add", "Or"); }},
    {"multiply", [](const ExportedNode& n) { return with_word_for_truths(n, "Mul", "And"); }},
    {"maximum", [](const ExportedNode& n) { return with_word_for_truths(n, "Max", "Or"); }},
    {"minimum", [](const ExportedNode& n) { return with_word_for_truths(n, "Min", "And"); }},
    {"ceil", [](const ExportedNode& n) { return unless_whole(n, "Ceil"); }},
    {"floor", [](const ExportedNode& n) { return unless_whole(n, "Floor"); }},
    {"round", [](const ExportedNode& n) { return unless_whole(n, "Round"); }},
    {"abs", [](const ExportedNode& n) -> Names { return {n.result().dtype == DType::boolean ? n[0] : n.add("Abs", {n.as_result(0)})}; }},
    {"sign", [](const ExportedNode& n) -> Names { return {n.result().dtype == DType::boolean ? n[0] : n.add("Sign", {n.as_result(0)})}; }},
    {"negate", [](const ExportedNode& n) -> Names { const bool plain = is_floating(n.result().dtype) || (is_integer(n.result().dtype) && !is_unsigned(n.result().dtype));
                                                    return {plain ? n.add("Neg", {n.as_result(0)}) : n.add("Sub", {n.number(0), n.as_result(0)})}; }},
    {"relu", [](const ExportedNode& n) -> Names { return is_floating(n.result().dtype) ? Names{n.add("Relu", {n.as_result(0)})} : Names{n.add("Max", {n[0], n.number(0)})}; }},
    TYTO_LOGICAL(logical_and, "And"), TYTO_LOGICAL(logical_not, "Not"), TYTO_LOGICAL(logical_or, "Or"), TYTO_LOGICAL(logical_xor, "Xor"),
    {"square", [](const ExportedNode& n) -> Names { return {n.result().dtype == DType::boolean ? n[0] : n.add("Mul", {n.as_result(0), n.as_result(0)})}; }},
    TYTO_OF_X(rsqrt, n.add("Reciprocal", {n.add("Sqrt", {x})})),
    TYTO_OF_X(exp2, n.add("Pow", {n.number(2), x})),
    TYTO_OF_X(exp10, n.add("Pow", {n.number(10), x})),
    TYTO_OF_X(log2, n.add("Mul", {n.add("Log", {x}), n.number(std::numbers::log2e)})),
    TYTO_OF_X(log10, n.add("Mul", {n.add("Log", {x}), n.number(std::numbers::log10e)})),
    TYTO_OF_X(log_sigmoid, n.add("Neg", {n.add("Softplus", {n.add("Neg", {x})})})),
    TYTO_OF_X(silu, n.add("Mul", {x, n.add("Sigmoid", {x})})),
    {"trunc", [](const ExportedNode& n) -> Names {
       const std::string x = n.as_result(0);
       if (!is_floating(n.result().dtype)) return {x};
       return {n.add("Where", {n.add("Less", {x, n.number(0)}), n.add("Ceil", {x}), n.add("Floor", {x})})};
     }},
    {"isfinite", [](const ExportedNode& n) -> Names { return {n.add("Not", {n.add("Or", {asked_of_floats(n, "IsNaN"), asked_of_floats(n, "IsInf")})})}; }},
    {"not_equal", [](const ExportedNode& n) -> Names { return {n.add("Not", {n.add("Equal", all_in_common(n))})}; }},
    {"where", [](const ExportedNode& n) -> Names { return {n.add("Where", {n.as(0, DType::boolean), n.as_result(1), n.as_result(2)})}; }},
    {"clip", [](const ExportedNode& n) -> Names { return {n.add("Min", {n.add("Max", {n.as_result(0), n.as_result(1)}), n.as_result(2)})}; }},
};
// clang-format on

#undef TYTO_SAME
#undef TYTO_COMPARED
#undef TYTO_LOGICAL
#undef TYTO_OF_X

}  // namespace

std::span<const ExportRow> elementwise_exports() { return elementwise_export_table; }

}  // namespace tyto::onnx
