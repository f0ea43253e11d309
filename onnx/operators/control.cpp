// Branches, and optional inputs.
#include "onnx/operators.hpp"
#include "onnx/regions.hpp"

namespace tyto::onnx {

namespace {

Outputs branch(const OperatorCall& call) {
  call.ignore("then_branch");
  call.ignore("else_branch");
  if (call.known(0)) return call.body(call.integer_in(0) != 0 ? "then_branch" : "else_branch").run({}, call.lazy());
  return recorded(call, [&] {
    const auto arm = [&](std::string_view attribute) {
      return [body = call.body(attribute)] { return values_of(body.run({}, true)); };
    };
    const std::vector<Value> results = detail::run_branch("If", detail::RegionMode::lazy, call[0].value(), true,
                                                          {arm("then_branch"), arm("else_branch")});
    return Outputs(results.begin(), results.end());
  });
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
