// SPDX-License-Identifier: MIT
// Loop, Scan and If in a model: parts of its graph where they can be, computed at their place where they cannot.
#include <doctest/doctest.h>
#include <tyto/tyto.hpp>

#include "tests/onnx/model_text.hpp"
#include "tests/support/both_modes.hpp"
#include "tests/support/message.hpp"

namespace tyto::onnx_tests {
namespace {

using L = Tensor<Lazy>;
using tyto_test::message_of;

Message counter() { return value("i", {}, DType::i64); }
Message going(const char* name) { return value(name, {}, DType::boolean); }

GraphParts body_of(const std::vector<Message>& nodes, const std::vector<Message>& more_outputs = {}) {
  GraphParts parts{.nodes = {node("Identity", {"go"}, {"goes"})},
                   .inputs = {counter(), going("go"), value("h", {"3"})},
                   .outputs = {going("goes"), value("hn", {"3"})}};
  parts.nodes.insert(parts.nodes.end(), nodes.begin(), nodes.end());
  parts.outputs.insert(parts.outputs.end(), more_outputs.begin(), more_outputs.end());
  return parts;
}

/// y = loop of n iterations over a body, from x; `a` is there to be captured.
std::string loop_model(const Message& body, const std::vector<std::string>& results = {"y"},
                       const std::vector<std::string>& operands = {"n", "", "x"}) {
  std::vector<Message> outputs;
  for (const std::string& result : results) outputs.push_back(value(result, {"?"}));
  return model({.nodes = {node("Loop", operands, results, {graph_attribute("body", body)})},
                .inputs = {value("x", {"3"}), value("a", {"3"}), value("n", {}, DType::i64)},
                .outputs = outputs});
}

std::string growth() { return loop_model(graph(body_of({node("Mul", {"h", "a"}, {"hn"})}))); }

std::string doubling_rows() {
  return loop_model(
      graph(body_of({node("Add", {"h", "h"}, {"hn"}), node("Neg", {"hn"}, {"row"})}, {value("row", {"3"})})),
      {"y", "rows"});
}

}  // namespace

TEST_CASE("a loop whose count comes with the data is planned once and runs as often as each call says") {
  OnnxModel<L> f = read<L>(growth());
  const auto run = [&](std::int64_t n) {
    return f({{"x", L{1.0, 2.0, 3.0}}, {"a", L{2.0, 1.0, 3.0}}, {"n", L::full({}, n, DType::i64)}})["y"]
        .to_vector<float>();
  };
  CHECK(run(3) == std::vector<float>{8, 2, 81});
  CHECK(run(0) == std::vector<float>{1, 2, 3});
  CHECK(run(1) == std::vector<float>{2, 2, 9});
  REQUIRE(f.reports().size() == 1);
  CHECK(f.reports()[0].unplanned_allocations == 0);
}

TEST_CASE("a model with a loop can be saved as a graph, and has gradients where its count is known") {
  OnnxModel<L> f = read<L>(growth());
  Graph again = Graph::from_bytes(f.graph({{"x", {3}}, {"a", {3}}, {"n", {}}}).to_bytes());
  again.set(again.inputs()[0], L{1.0, 2.0, 3.0});
  again.set(again.inputs()[1], L{2.0, 1.0, 3.0});
  again.set(again.inputs()[2], L::full({}, 2, DType::i64));
  again.run();
  CHECK(again.output(0).to_vector<float>() == std::vector<float>{4, 2, 27});

  OnnxModel<L> cube = read<L>(growth(), {.bind = {{"n", Tensor<Any>::full({}, 3, DType::i64)}}});
  const L x{1.0, 2.0, 3.0};
  const L gradient = grad([&](L a) { return sum(cube({{"x", x}, {"a", a}})["y"]); })(L{2.0, 1.0, 3.0});
  CHECK(gradient.to_vector<float>() == std::vector<float>{12, 6, 81});
}

BOTH_MODES("rows of a loop are as many as it ran, also none") {
  using T = Tensor<Mode>;
  OnnxModel<T> f = read<T>(doubling_rows());
  const auto run = [&](std::int64_t n) {
    return f({{"x", T{1.0, 2.0, 3.0}}, {"a", T{0.0, 0.0, 0.0}}, {"n", T::full({}, n, DType::i64)}});
  };
  CHECK(run(2)["rows"].template to_vector<float>() == std::vector<float>{-2, -4, -6, -4, -8, -12});
  CHECK(run(3)["rows"].shape() == Shape{3, 3});
  CHECK(run(0)["rows"].shape() == Shape{0, 3});
  CHECK(run(0)["y"].template to_vector<float>() == std::vector<float>{1, 2, 3});
}

TEST_CASE("a loop that draws random numbers draws the same in both modes") {
  const std::string bytes =
      loop_model(graph(body_of({node("RandomNormalLike", {"a"}, {"r"}), node("Add", {"h", "r"}, {"hn"})})));
  const auto drawn = [&]<class T>(T x) {
    seed(5);
    OnnxModel<T> f = read<T>(bytes);
    return f({{"x", x}, {"a", x}, {"n", T::full({}, 2, DType::i64)}})["y"].template to_vector<float>();
  };
  const std::vector<float> numbers = drawn(L{0.0, 0.0, 0.0});
  CHECK(numbers == drawn(Tensor<Eager>{0.0, 0.0, 0.0}));
  CHECK(numbers[0] != numbers[1]);
}

TEST_CASE("a branch that data decides is a part of the graph") {
  const Message one = graph({.nodes = {node("Add", {"x", "x"}, {"t"})}, .outputs = {value("t", {"3"})}});
  const Message other = graph({.nodes = {node("Neg", {"x"}, {"e"})}, .outputs = {value("e", {"3"})}});
  OnnxModel<L> f = read<L>(model(
      {.nodes = {node("ReduceSum", {"x"}, {"s"}, {attribute("keepdims", std::int64_t{0})}),
                 node("Greater", {"s", "zero"}, {"c"}),
                 node("If", {"c"}, {"v"}, {graph_attribute("then_branch", one), graph_attribute("else_branch", other)}),
                 node("Abs", {"v"}, {"y"})},
       .inputs = {value("x", {"3"})},
       .outputs = {value("y", {"3"})},
       .initialisers = {raw_tensor<float>("zero", {}, {0})}}));
  CHECK(f({{"x", L{1.0, 2.0, 3.0}}})["y"].to_vector<float>() == std::vector<float>{2, 4, 6});
  CHECK(f({{"x", L{1.0, -2.0, -3.0}}})["y"].to_vector<float>() == std::vector<float>{1, 2, 3});
  CHECK(f.reports().size() == 1);
}

TEST_CASE("what a graph cannot hold is computed at its place, and refused by name where there must be one graph") {
  OnnxModel<L> rows = read<L>(doubling_rows());
  CHECK(message_of([&] {
          rows.graph({{"x", {3}}, {"a", {3}}, {"n", {}}});
        }) ==
        "m.onnx: node 'y' (Loop): data decides how often it runs, and so how many rows its output 2 has; work in eager "
        "mode");
  GraphParts growing = body_of({node("Concat", {"h", "a"}, {"hn"}, {attribute("axis", std::int64_t{0})})});
  OnnxModel<L> longer = read<L>(loop_model(graph(growing)));
  CHECK(message_of([&] {
          longer.graph({{"x", {3}}, {"a", {3}}, {"n", {}}});
        }) ==
        "m.onnx: node 'y' (Loop): data decides what it does, and a graph cannot hold it: Loop: carry 0 is f32(3,), the "
        "body yields f32(6,); what a loop carries keeps its shape");
  const auto run = [&](std::int64_t n) {
    return longer({{"x", L{1.0, 2.0, 3.0}}, {"a", L{4.0, 5.0, 6.0}}, {"n", L::full({}, n, DType::i64)}})["y"].shape();
  };
  CHECK(run(2) == Shape{9});
  CHECK(run(4) == Shape{15});
}

BOTH_MODES("a step that reads elements leaves what it reads to later steps, also when it throws") {
  using T = Tensor<Mode>;
  // From element `from` on up to `to`, every `from`th.
  OnnxModel<T> f = read<T>(model(
      {.nodes = {node("Add", {"x", "x"}, {"twice"}), node("Slice", {"twice", "from", "to", "axis", "from"}, {"part"}),
                 node("Reshape", {"part", "dims"}, {"block"}), node("Add", {"twice", "x"}, {"thrice"}),
                 node("Neg", {"block"}, {"y"})},
       .inputs = {value("x", {"6"}), value("from", {"1"}, DType::i64), value("to", {"1"}, DType::i64),
                  value("dims", {"n"}, DType::i64)},
       .outputs = {value("y", {"?"}), value("thrice", {"6"}), value("part", {"?"})},
       .initialisers = {raw_tensor<std::int64_t>("axis", {1}, {0})}}));
  using Integers = std::vector<std::int64_t>;
  using Floats = std::vector<float>;
  const T x = T::from(Floats{1, 2, 3, 4, 5, 6}, {6});
  const auto called = [&](std::int64_t from, std::int64_t to, const Integers& dims) {
    return f({{"x", x}, {"from", T(Integers{from})}, {"to", T(Integers{to})}, {"dims", T(dims)}});
  };
  for (int round = 0; round < 2; ++round) {
    const NamedList<T> block = called(1, 5, {2, 2});
    CHECK(block["y"].shape() == Shape{2, 2});
    CHECK(block["y"].template to_vector<float>() == Floats{-4, -6, -8, -10});
    CHECK(block["thrice"].template to_vector<float>() == Floats{3, 6, 9, 12, 15, 18});
    CHECK(block["part"].template to_vector<float>() == Floats{4, 6, 8, 10});
    const std::string refused = message_of([&] { called(1, 5, {3, 3}); });
    CHECK(refused.starts_with("m.onnx: node 'block' (Reshape): "));
    CHECK(refused.find("node", 10) == std::string::npos);
    const NamedList<T> row = called(2, 6, {2});
    CHECK(row["y"].template to_vector<float>() == Floats{-6, -10});
    CHECK(row["thrice"].template to_vector<float>() == Floats{3, 6, 9, 12, 15, 18});
    CHECK(row["part"].template to_vector<float>() == Floats{6, 10});
  }
}

TEST_CASE("loops and scans that contradict themselves are refused") {
  using E = Tensor<Eager>;
  const auto refusal = [](const std::string& bytes) {
    return message_of([&] {
      read<E>(bytes)({{"x", E{1.0, 2.0, 3.0}}, {"a", E{1.0, 1.0, 1.0}}, {"n", E::full({}, 2, DType::i64)}});
    });
  };
  const Message body = graph(body_of({node("Mul", {"h", "a"}, {"hn"})}));
  CHECK(refusal(loop_model(body, {"y"}, {"n", "", "x", "x"})) ==
        "m.onnx: node 'y' (Loop): its body takes 3 tensors and yields 2; with 2 carries it must take 4 and yield 3 or "
        "more");
  CHECK(refusal(loop_model(body, {"y"}, {"", "", "x"})) == "m.onnx: node 'y' (Loop): nothing ends it");
  const Message pair = graph({.nodes = {node("Add", {"h", "r"}, {"hn"})},
                              .inputs = {value("h", {}), value("r", {})},
                              .outputs = {value("hn", {})}});
  const auto scan = [&](std::int64_t rows, std::vector<Message> more) {
    more.push_back(graph_attribute("body", pair));
    more.push_back(attribute("num_scan_inputs", rows));
    return model({.nodes = {node("Scan", {"n", "x"}, {"y"}, more)},
                  .inputs = {value("x", {"3"}), value("a", {"3"}), value("n", {}, DType::i64)},
                  .outputs = {value("y", {})}});
  };
  CHECK(refusal(scan(3, {})) == "m.onnx: node 'y' (Scan): 3 of its 2 inputs are to be read row by row");
  CHECK(refusal(scan(1, {attribute("scan_input_axes", std::vector<std::int64_t>{0, 0})})) ==
        "m.onnx: node 'y' (Scan): attribute 'scan_input_axes' has 2 numbers, expected 1");
}

TEST_CASE("what the body of a loop holds and is not read is listed with the rest of the file") {
  const Message body = graph(body_of({node("StringNormalizer", {"h"}, {"hn"})}));
  CHECK(message_of([&] { read<L>(loop_model(body)); }) ==
        "m.onnx: 1 thing is unsupported:\n  node 'hn' (StringNormalizer): no such operator here in version 17");
}

}  // namespace tyto::onnx_tests
