// Branches whose condition is known, and optional inputs; loops and branches that data decides are not read yet.
#include "onnx/operators.hpp"

namespace tyto::onnx {

namespace {

Outputs branch(const OperatorCall& call) {
  const bool taken = call.integer_in(0) != 0;
  call.ignore("then_branch");
  call.ignore("else_branch");
  return call.run(taken ? "then_branch" : "else_branch");
}

// Of optionals there are just tensors: one that is there, or an input that was left out.
Outputs is_there(const OperatorCall& call) {
  return {Operand(Array::full({}, call.has(std::size_t{0}), DType::boolean), true)};
}
Outputs what_is_there(const OperatorCall& call) { return {call[0]}; }

constexpr OperatorRow control_table[] = {
    {"If", 1, branch},
    {"OptionalGetElement", 15, what_is_there},
    {"OptionalHasElement", 15, is_there},
};

}  // namespace

std::span<const OperatorRow> control_rows() { return control_table; }

}  // namespace tyto::onnx
