// SPDX-License-Identifier: MIT
// If: a branch of the graph, or the one arm that is taken where the condition is known beforehand.
#include "onnx/program/operators.hpp"
#include "onnx/program/regions.hpp"

namespace tyto::onnx {

namespace {

Outputs branch(const OperatorCall& call) {
  call.ignore("then_branch");
  call.ignore("else_branch");
  if (call.known(0)) return call.body(call.integer_in(0) != 0 ? "then_branch" : "else_branch").run({}, call.lazy());
  return recorded(call, [&] {
    std::optional<Layout> layout;
    const auto arm = [&](const char* attribute) {
      return [&, body = call.body(attribute)] {
        const Outputs outputs = body.run({}, true);
        if (layout && *layout != layout_of(outputs)) throw ShapeError("its arms yield sequences of several lengths");
        layout = layout_of(outputs);
        return values_of(outputs);
      };
    };
    const std::vector<Value> results = detail::run_branch("If", detail::RegionMode::lazy, call[0].value(), true,
                                                          {arm("then_branch"), arm("else_branch")});
    return operands_from(*layout, results, false);
  });
}

constexpr OperatorRow control_table[] = {{"If", 1, branch}};

}  // namespace

std::span<const OperatorRow> control_rows() { return control_table; }

}  // namespace tyto::onnx
