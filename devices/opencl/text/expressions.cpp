// SPDX-License-Identifier: MIT
// Converts a line of the operator table into OpenCL C on given values.
#include "devices/opencl/text/expressions.hpp"

#include "core/graph/op_ids.hpp"
#include "core/value/text.hpp"
#include "devices/opencl/text/element_types.hpp"
#include "devices/opencl/text/mathematics.hpp"

namespace tyto::opencl {

namespace {

using core::Domain;
using core::OpId;
using core::text;

constexpr Expression expressions[] = {
#define TYTO_UNARY(name, domain, expression, ...) {Domain::domain, 1, #expression},
#define TYTO_BINARY(name, domain, expression, ...) {Domain::domain, 2, #expression},
#define TYTO_TERNARY(name, domain, expression, ...) {Domain::domain, 3, #expression},
#include "tyto/ops/elementwise.def"
#undef TYTO_UNARY
#undef TYTO_BINARY
#undef TYTO_TERNARY
};

// Sums and products of integers wrap, which only unsigned arithmetic promises. Such expressions can be told by their
// text: names and + - * alone.
bool wraps(std::string_view expression) {
  return expression.find_first_of("+-*") != std::string_view::npos &&
         expression.find_first_not_of("abcxy0123456789+-* ") == std::string_view::npos;
}

// The operand names of the expression replaced by values.
std::string with_values(std::string_view expression, int operands, const std::vector<std::string>& values) {
  const std::string_view names = operands == 1 ? "x" : "abc";
  const auto in_name = [](char c) { return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z'); };
  std::string out;
  for (std::size_t at = 0; at < expression.size(); ++at) {
    const char c = expression[at];
    const std::size_t which = names.find(c);
    const bool alone =
        (at == 0 || !in_name(expression[at - 1])) && (at + 1 == expression.size() || !in_name(expression[at + 1]));
    if (which != std::string_view::npos && alone) {
      out += values[which];
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

const Expression* expression_of(OpId op) {
  const auto index = static_cast<std::size_t>(op);
  return index < std::size(expressions) ? &expressions[index] : nullptr;
}

std::string apply(OpId op, DType result, const std::vector<DType>& types, const std::vector<std::string>& values,
                  bool exact) {
  const Expression& line = *expression_of(op);
  // The condition of a choice is a bool beside operands of another type.
  const Compute type = compute_of(types.back());
  // A bool is one bit, though it is held in an int.
  if (op == OpId::bitwise_not && result == DType::boolean) return text("(int)!(", values[0], ")");
  std::string value = with_values(specialise(line.text, type), line.operands, values);
  if (!is_floating(type) && wraps(line.text)) {
    const std::string natural = is_wide(type) ? "ulong" : "uint";
    std::vector<std::string> unsigned_values;
    for (const std::string& operand : values) unsigned_values.push_back(text("(", natural, ")", operand));
    value = text("(", type_name(type), ")(", with_values(line.text, line.operands, unsigned_values), ")");
  }
  const bool truth = line.domain == Domain::comparison || line.domain == Domain::logical;
  if (truth) return text("(int)(", value, ")");  // comparisons yield 0 or 1 already
  return exact || !is_floating(type) ? narrow(result, value) : value;
}

}  // namespace tyto::opencl
