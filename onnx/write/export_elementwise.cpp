// SPDX-License-Identifier: MIT
// Exports element-wise operators to ONNX: most by name, the rest as short compositions.
#include <numbers>

#include "onnx/write/export.hpp"

namespace tyto::onnx {

namespace {

// Operators of ONNX take operands of one type; ours meet in the result's.
Names all_as(const ExportedNode& n, DType dtype) {
  Names inputs;
  for (std::size_t i = 0; i < n.inputs().size(); ++i) inputs.push_back(n.as(i, dtype));
  return inputs;
}
/// The type in which operands of a comparison meet.
DType common_type(const ExportedNode& n) {
  DType common = n.input(0).dtype;
  for (std::size_t i = 1; i < n.inputs().size(); ++i) common = promote(common, n.input(i).dtype);
  return common;
}
bool is_truth(const ExportedNode& n) { return n.result().dtype == DType::boolean; }

/// The row's word has the same meaning.
Names same_word(const ExportedNode& n) { return {n.add(n.word_of_row(), all_as(n, n.computed_in()))}; }
Names compared(const ExportedNode& n) { return {n.add(n.word_of_row(), all_as(n, common_type(n)))}; }
Names logical(const ExportedNode& n) { return {n.add(n.word_of_row(), all_as(n, DType::boolean))}; }

/// Bools are added and multiplied as truths are.
struct Words {
  const char* of_numbers;
  const char* of_booleans;
};
constexpr Words words_of_both[] = {{"Add", "Or"},         {"Mul", "And"},        {"Max", "Or"},
                                   {"Min", "And"},        {"BitwiseAnd", "And"}, {"BitwiseOr", "Or"},
                                   {"BitwiseXor", "Xor"}, {"BitwiseNot", "Not"}};
Names word_or_truths(const ExportedNode& n) {
  const char* word = n.word_of_row();
  for (const Words& words : words_of_both) {
    if (is_truth(n) && std::string_view(words.of_numbers) == word) word = words.of_booleans;
  }
  return {n.add(word, all_as(n, n.computed_in()))};
}
/// Integers are their own floor, ceiling and nearest integer.
Names if_floating(const ExportedNode& n) {
  const Name x = n.as_result(0);
  return {is_floating(n.result().dtype) ? n.add(n.word_of_row(), {x}) : x};
}
/// Truths are themselves what the word would make of them.
Names unless_truth(const ExportedNode& n) { return {is_truth(n) ? n[0] : n.add(n.word_of_row(), {n.as_result(0)})}; }
/// False for each element: integers are never NaN or infinite.
Name never(const ExportedNode& n) {
  return n.add("Expand", {n.out().number(false, DType::boolean), n.out().integers(n.result().shape)});
}
Name asked_of_floats(const ExportedNode& n, const char* op) {
  return is_floating(n.input(0).dtype) ? n.add(op, {n[0]}) : never(n);
}
Names asked(const ExportedNode& n) { return {asked_of_floats(n, n.word_of_row())}; }
Names is_finite(const ExportedNode& n) {
  return {n.add("Not", {n.add("Or", {asked_of_floats(n, "IsNaN"), asked_of_floats(n, "IsInf")})})};
}
// Truths are compared by their numbers.
Names ordered(const ExportedNode& n) {
  const DType common = common_type(n);
  Names inputs = all_as(n, common);
  if (common == DType::boolean) {
    for (Name& input : inputs) input = n.out().cast(input, DType::boolean, DType::i32);
  }
  return {n.add(n.word_of_row(), inputs)};
}
Names unequal(const ExportedNode& n) { return {n.add("Not", {n.add("Equal", all_as(n, common_type(n)))})}; }
Names chosen(const ExportedNode& n) {
  return {n.add("Where", {n.as(0, DType::boolean), n.as_result(1), n.as_result(2)})};
}
Names limited(const ExportedNode& n) {
  return {n.add("Min", {n.add("Max", {n.as_result(0), n.as_result(1)}), n.as_result(2)})};
}

Names negated(const ExportedNode& n) {
  const DType type = n.result().dtype;
  const bool plain = is_floating(type) || (is_integer(type) && !is_unsigned(type));
  return {plain ? n.add("Neg", {n.as_result(0)}) : n.add("Sub", {n.number(0), n.as_result(0)})};
}
Names rectified(const ExportedNode& n) {
  return {is_floating(n.result().dtype) ? n.add("Relu", {n.as_result(0)}) : n.add("Max", {n[0], n.number(0)})};
}
Names squared(const ExportedNode& n) { return {is_truth(n) ? n[0] : n.add("Mul", {n.as_result(0), n.as_result(0)})}; }
Names truncated(const ExportedNode& n) {
  const Name x = n.as_result(0);
  if (!is_floating(n.result().dtype)) return {x};
  return {n.add("Where", {n.add("Less", {x, n.number(0)}), n.add("Ceil", {x}), n.add("Floor", {x})})};
}
Names reciprocal_root(const ExportedNode& n) { return {n.add("Reciprocal", {n.add("Sqrt", {n.as_result(0)})})}; }
Names power_of(const ExportedNode& n, double base) { return {n.add("Pow", {n.number(base), n.as_result(0)})}; }
Names power_of_two(const ExportedNode& n) { return power_of(n, 2); }
Names power_of_ten(const ExportedNode& n) { return power_of(n, 10); }
Names logarithm(const ExportedNode& n, double factor) {
  return {n.add("Mul", {n.add("Log", {n.as_result(0)}), n.number(factor)})};
}
Names logarithm_of_two(const ExportedNode& n) { return logarithm(n, std::numbers::log2e); }
Names logarithm_of_ten(const ExportedNode& n) { return logarithm(n, std::numbers::log10e); }
Names log_sigmoid(const ExportedNode& n) {
  return {n.add("Neg", {n.add("Softplus", {n.add("Neg", {n.as_result(0)})})})};
}
Names silu(const ExportedNode& n) {
  const Name x = n.as_result(0);
  return {n.add("Mul", {x, n.add("Sigmoid", {x})})};
}

constexpr ExportRow elementwise_export_table[] = {
    {"abs", unless_truth, "Abs"},
    {"acos", same_word, "Acos"},
    {"acosh", same_word, "Acosh"},
    {"add", word_or_truths, "Add"},
    {"asin", same_word, "Asin"},
    {"asinh", same_word, "Asinh"},
    {"atan", same_word, "Atan"},
    {"atanh", same_word, "Atanh"},
    {"bitwise_and", word_or_truths, "BitwiseAnd"},
    {"bitwise_not", word_or_truths, "BitwiseNot"},
    {"bitwise_or", word_or_truths, "BitwiseOr"},
    {"bitwise_xor", word_or_truths, "BitwiseXor"},
    {"ceil", if_floating, "Ceil"},
    {"clip", limited},
    {"cos", same_word, "Cos"},
    {"cosh", same_word, "Cosh"},
    {"divide", same_word, "Div"},
    {"equal", compared, "Equal"},
    {"erf", same_word, "Erf"},
    {"exp", same_word, "Exp"},
    {"exp10", power_of_ten},
    {"exp2", power_of_two},
    {"floor", if_floating, "Floor"},
    {"gelu", same_word, "Gelu"},
    {"greater", ordered, "Greater"},
    {"greater_equal", ordered, "GreaterOrEqual"},
    {"isfinite", is_finite},
    {"isinf", asked, "IsInf"},
    {"isnan", asked, "IsNaN"},
    {"less", ordered, "Less"},
    {"less_equal", ordered, "LessOrEqual"},
    {"log", same_word, "Log"},
    {"log10", logarithm_of_ten},
    {"log2", logarithm_of_two},
    {"log_sigmoid", log_sigmoid},
    {"logical_and", logical, "And"},
    {"logical_not", logical, "Not"},
    {"logical_or", logical, "Or"},
    {"logical_xor", logical, "Xor"},
    {"maximum", word_or_truths, "Max"},
    {"minimum", word_or_truths, "Min"},
    {"multiply", word_or_truths, "Mul"},
    {"negate", negated},
    {"not_equal", unequal},
    {"power", same_word, "Pow"},
    {"reciprocal", same_word, "Reciprocal"},
    {"relu", rectified},
    {"round", if_floating, "Round"},
    {"rsqrt", reciprocal_root},
    {"sigmoid", same_word, "Sigmoid"},
    {"sign", unless_truth, "Sign"},
    {"silu", silu},
    {"sin", same_word, "Sin"},
    {"sinh", same_word, "Sinh"},
    {"softplus", same_word, "Softplus"},
    {"softsign", same_word, "Softsign"},
    {"sqrt", same_word, "Sqrt"},
    {"square", squared},
    {"subtract", same_word, "Sub"},
    {"tan", same_word, "Tan"},
    {"tanh", same_word, "Tanh"},
    {"trunc", truncated},
    {"where", chosen},
};

}  // namespace

std::span<const ExportRow> elementwise_exports() { return elementwise_export_table; }

}  // namespace tyto::onnx
