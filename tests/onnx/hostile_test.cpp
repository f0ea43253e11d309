// SPDX-License-Identifier: MIT
// Damaged models are refused with a reason, or read as what they then state.
#include <doctest/doctest.h>

#include "tests/onnx/model_text.hpp"
#include "tests/onnx/mutation.hpp"

namespace tyto::onnx_tests {

TEST_CASE("damaged models are read or refused, whatever was done to them") {
  Message function;
  function.text(1, "Twice");
  function.text(4, "a");
  function.text(5, "b");
  function.message(7, node("Add", {"a", "a"}, {"b"}));
  function.text(10, "local");
  const Message body = graph({.nodes = {node("Neg", {"h"}, {"i"})}, .outputs = {value("i", {"n"})}});
  const Message iteration =
      graph({.nodes = {node("Add", {"z", "h"}, {"zn"}), node("Identity", {"go"}, {"goes"})},
             .inputs = {value("i", {}, DType::i64), value("go", {}, DType::boolean), value("z", {})},
             .outputs = {value("goes", {}, DType::boolean), value("zn", {}), value("zn", {})}});
  const Message row = graph({.nodes = {node("Mul", {"s", "r"}, {"sn"})},
                             .inputs = {value("s", {}), value("r", {})},
                             .outputs = {value("sn", {})}});
  const Message whole = graph(
      {.nodes = {node("Constant", {}, {"k"}, {attribute("value_int", std::int64_t{3})}),
                 node("Twice", {"x"}, {"h"}, {}, "local"),
                 node("If", {"c"}, {"y"}, {graph_attribute("then_branch", body), graph_attribute("else_branch", body)}),
                 node("Loop", {"k", "", "x"}, {"l", "rows"}, {graph_attribute("body", iteration)}),
                 node("Scan", {"x", "w"}, {"m"},
                      {graph_attribute("body", row), attribute("num_scan_inputs", std::int64_t{1})}),
                 node("Conv", {"x", "w"}, {"z"},
                      {attribute("pads", std::vector<std::int64_t>{1, 1}), attribute("group", std::int64_t{1})})},
       .inputs = {value("x", {"1", "1", "n"}), value("c", {}, DType::boolean)},
       .outputs = {value("y", {"n"}), value("z", {"1", "1", "n"})},
       .initialisers = {raw_tensor<float>("w", {1, 1, 3}, {1, 2, 3}), external_tensor("v", {2}, "v.bin")}});
  const std::string bytes = model(whole, 17, {function});
  std::mt19937_64 draw(1);
  int refused = 0;
  constexpr int files = 20'000;
  for (int i = 0; i < files; ++i) {
    try {
      read<Tensor<Lazy>>(mutated(bytes, draw));
    } catch (const IoError&) {
      ++refused;
    }
  }
  // The whole one is refused for its file of weights alone, so nearly all are; none may end otherwise.
  CHECK(refused > files / 2);
}

}  // namespace tyto::onnx_tests
