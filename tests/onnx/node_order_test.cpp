// SPDX-License-Identifier: MIT
// Nodes in any order are sorted when a file is read, in graphs inside of nodes and in functions too; cycles are
// refused.
#include <doctest/doctest.h>
#include <tyto/tyto.hpp>

#include <algorithm>

#include "tests/onnx/model_text.hpp"
#include "tests/support/both_modes.hpp"

namespace tyto::onnx_tests::node_order_test {
namespace {

std::string of(const std::vector<Message>& nodes) {
  return model({.nodes = nodes, .inputs = {value("x", {"n"})}, .outputs = {value("y", {"n"})}});
}

}  // namespace

BOTH_MODES("nodes may stand in any order") {
  using T = Tensor<Mode>;
  // y = 2 (x - 1)^2 in each order of its four nodes.
  std::vector<Message> nodes{node("Constant", {}, {"one"}, {attribute("value_float", 1.0F)}),
                             node("Sub", {"x", "one"}, {"d"}), node("Mul", {"d", "d"}, {"s"}),
                             node("Add", {"s", "s"}, {"y"})};
  std::vector<std::size_t> order{0, 1, 2, 3};
  do {
    std::vector<Message> turned;
    for (const std::size_t i : order) turned.push_back(nodes[i]);
    OnnxModel<T> f = read<T>(of(turned));
    CHECK(f({{"x", T{3.0, 1.0}}})["y"].template to_vector<float>() == std::vector<float>{8, 0});
  } while (std::ranges::next_permutation(order).found);
}

BOTH_MODES("a node follows what the graphs inside of it read, and names of their own are not taken for others") {
  using T = Tensor<Mode>;
  // The branch reads `a` from outside, two graphs deep; its `y` and `t` are others than those around it.
  const Message inner =
      graph({.nodes = {node("Mul", {"t", "a"}, {"y"}), node("Neg", {"x"}, {"t"})}, .outputs = {value("y", {"n"})}});
  const Message other = graph({.nodes = {node("Identity", {"x"}, {"y"})}, .outputs = {value("y", {"n"})}});
  const Message outer =
      graph({.nodes = {node("If", {"c"}, {"y"},
                            {graph_attribute("then_branch", inner), graph_attribute("else_branch", other)})},
             .outputs = {value("y", {"n"})}});
  OnnxModel<T> f =
      read<T>(model({.nodes = {node("Add", {"y", "a"}, {"t"}),
                               node("If", {"c"}, {"y"},
                                    {graph_attribute("then_branch", outer), graph_attribute("else_branch", other)}),
                               node("Add", {"x", "x"}, {"a"})},
                     .inputs = {value("x", {"n"}), value("c", {}, DType::boolean)},
                     .outputs = {value("t", {"n"})}}));
  // -x 2x + 2x
  CHECK(f({{"x", T{1.0, 3.0}}, {"c", T(true)}})["t"].template to_vector<float>() == std::vector<float>{0, -12});
  CHECK(f({{"x", T{1.0, 3.0}}, {"c", T(false)}})["t"].template to_vector<float>() == std::vector<float>{3, 9});
}

BOTH_MODES("nodes of a function may stand in any order") {
  using T = Tensor<Mode>;
  Message function;
  function.text(1, "Square");
  function.text(4, "a");
  function.text(5, "b");
  function.message(7, node("Neg", {"c"}, {"b"}));
  function.message(7, node("Mul", {"a", "a"}, {"c"}));
  function.message(9, operator_set("", 17));
  function.text(10, "local");
  const Message call = graph({.nodes = {node("Square", {"h"}, {"y"}, {}, "local"), node("Abs", {"x"}, {"h"})},
                              .inputs = {value("x", {"n"})},
                              .outputs = {value("y", {"n"})}});
  OnnxModel<T> f = read<T>(model(call, 17, {function}));
  CHECK(f({{"x", T{-2.0, 3.0}}})["y"].template to_vector<float>() == std::vector<float>{-4, -9});
}

TEST_CASE("nodes that read one another's results are refused by name") {
  CHECK(
      refusal<IoError>(of({node("Add", {"x", "y"}, {"z"}), node("Neg", {"z"}, {"y"})})) ==
      "m.onnx: its nodes form a cycle, of which none can run first: node 'z' (Add), which reads node 'y' (Neg), which "
      "reads node 'z' (Add)");
  CHECK(refusal<IoError>(of({node("Abs", {"x"}, {"a"}), node("Add", {"a", "y"}, {"y"})})) ==
        "m.onnx: its nodes form a cycle, of which none can run first: node 'y' (Add), which reads node 'y' (Add)");
  const Message arm = graph({.nodes = {node("Neg", {"y"}, {"z"})}, .outputs = {value("z", {"n"})}});
  CHECK(refusal<IoError>(of(
            {node("Cast", {"x"}, {"c"}, {attribute("to", std::int64_t{9})}),
             node("If", {"c"}, {"y"}, {graph_attribute("then_branch", arm), graph_attribute("else_branch", arm)})})) ==
        "m.onnx: its nodes form a cycle, of which none can run first: node 'y' (If), which reads node 'y' (If)");
}

TEST_CASE("a long chain in reverse order and a node of many readers are sorted") {
  constexpr int length = 20'000;
  std::vector<Message> nodes;
  for (int i = length; i-- > 0;) {
    const std::string from = i == 0 ? "x" : "h" + std::to_string(i - 1);
    nodes.push_back(node("Add", {from, "one"}, {i + 1 == length ? "y" : "h" + std::to_string(i)}));
  }
  nodes.push_back(node("Constant", {}, {"one"}, {attribute("value_float", 1.0F)}));
  OnnxModel<Tensor<Eager>> f = read<Tensor<Eager>>(of(nodes));
  CHECK(f({{"x", Tensor<Eager>{0.5}}})["y"].to_vector<float>() == std::vector<float>{length + 0.5F});
}

}  // namespace tyto::onnx_tests::node_order_test
