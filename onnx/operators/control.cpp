// Branches whose condition is known; loops and branches that data decides are not read yet.
#include "onnx/operators.hpp"

namespace tyto::onnx {

namespace {

Outputs branch(const OperatorCall& call) {
  const bool taken = call.integer_in(0) != 0;
  call.ignore("then_branch");
  call.ignore("else_branch");
  return call.run(taken ? "then_branch" : "else_branch");
}

constexpr OperatorRow control_table[] = {
    {"If", 1, branch},
};

}  // namespace

std::span<const OperatorRow> control_rows() { return control_table; }

}  // namespace tyto::onnx
