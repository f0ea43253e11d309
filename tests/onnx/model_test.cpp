// SPDX-License-Identifier: MIT
// Models as functions: inputs and outputs by name, signatures, bindings, branches, functions, parts.
#include <doctest/doctest.h>
#include <tyto/subnormals.hpp>
#include <tyto/tyto.hpp>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "tests/onnx/model_text.hpp"
#include "tests/support/both_modes.hpp"
#include "tests/support/temporary_folder.hpp"

namespace tyto::onnx_tests {
namespace {

using L = Tensor<Lazy>;

std::string sum_of_rows() {
  return model({.nodes = {node("ReduceSum", {"x", "axes"}, {"y"}, {attribute("keepdims", std::int64_t{0})})},
                .inputs = {value("x", {"rows", "3"}), value("axes", {"1"}, DType::i64)},
                .outputs = {value("y", {"rows"})}});
}

// y = if c then x + 1 else -x, of values outside of the branches.
std::string branches() {
  const Message one = graph({.nodes = {node("Add", {"x", "one"}, {"then_y"})}, .outputs = {value("then_y", {"n"})}});
  const Message other = graph({.nodes = {node("Neg", {"x"}, {"else_y"})}, .outputs = {value("else_y", {"n"})}});
  return model({.nodes = {node("If", {"c"}, {"y"},
                               {graph_attribute("then_branch", one), graph_attribute("else_branch", other)})},
                .inputs = {value("x", {"n"}), value("c", {}, DType::boolean)},
                .outputs = {value("y", {"n"})},
                .initialisers = {raw_tensor<float>("one", {1}, {1})}});
}

}  // namespace

BOTH_MODES("a model takes tensors by name and gives tensors by name and number") {
  using T = Tensor<Mode>;
  OnnxModel<T> f = read<T>(model({.nodes = {node("Sub", {"a", "b"}, {"c"}), node("Mul", {"c", "a"}, {"d"})},
                                  .inputs = {value("a", {"n", "2"}), value("b", {"2"})},
                                  .outputs = {value("d", {"n", "2"}), value("c", {"n", "2"})}}));
  const NamedList<T> out = f({{"b", T{1.0, 2.0}}, {"a", T{{5.0, 7.0}}}});
  CHECK(out.size() == 2);
  CHECK(out["c"].template to_vector<float>() == std::vector<float>{4, 5});
  CHECK(out[0].value.template to_vector<float>() == std::vector<float>{20, 35});
  CHECK(f({{"b", T{1.0, 2.0}}, {"a", T{{5.0, 7.0}, {1.0, 1.0}}}})["c"].shape() == Shape{2, 2});
  CHECK_THROWS_WITH_AS(out["e"], "nothing is called 'e' among d, c", IndexError);
  CHECK_THROWS_WITH_AS(f({{"a", T{{5.0, 7.0}}}}), "m.onnx: no value is given for b f32 (2)", GraphError);
  CHECK_THROWS_WITH_AS(f({{"q", T{1.0}}}), "m.onnx: there is no input 'q'; there are 'a', 'b'", IndexError);
  CHECK_THROWS_WITH_AS(f({{"a", T{1.0}}, {"b", T{1.0, 2.0}}}), "m.onnx: the value given for a f32 (n,2) has shape (1,)",
                       ShapeError);
  CHECK_THROWS_WITH_AS(f({{"a", T{{1, 2}}}, {"b", T{1.0, 2.0}}}),
                       "m.onnx: the value given for a f32 (n,2) has elements of type i64", TypeError);
}

BOTH_MODES("large weights are the same in each call, for each shape and where a model gives them out") {
  using T = Tensor<Mode>;
  constexpr std::int64_t rows = 130, columns = 200;
  std::vector<float> w;
  std::vector<float> sums(columns, 0);
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    w.push_back(static_cast<float>(i % 7));
    sums[static_cast<std::size_t>(i % columns)] += w.back();
  }
  OnnxModel<T> f = read<T>(model({.nodes = {node("MatMul", {"x", "w"}, {"y"})},
                                  .inputs = {value("x", {"n", "130"})},
                                  .outputs = {value("y", {"n", "200"}), value("w", {"130", "200"})},
                                  .initialisers = {raw_tensor<float>("w", {rows, columns}, w)}}));
  CHECK(f.info().parameters == rows * columns);
  CHECK(f.info().parameter_bytes == rows * columns * 4);
  for (const std::int64_t n : {1, 3, 1, 2}) {
    const NamedList<T> out = f({{"x", T::ones({n, rows})}});
    CHECK(out["w"].template to_vector<float>() == w);
    for (std::int64_t i = 0; i < n; ++i) CHECK(out["y"].get({i}).template to_vector<float>() == sums);
  }
}

BOTH_MODES("subnormal numbers count as zeros where weights hold some, unless they are to be kept") {
  using T = Tensor<Mode>;
  static constexpr std::int64_t length = 400'000;  // for more than one thread
  const auto product_with = [](float weight, bool kept) {
    OnnxModel<T> f = read<T>(
        model({.nodes = {node("Mul", {"x", "w"}, {"y"}), node("Mul", {"x", "half"}, {"z"})},
               .inputs = {value("x", {"n"})},
               .outputs = {value("y", {"n"}), value("z", {"n"})},
               .initialisers = {raw_tensor<float>("w", {2, 1}, {1, weight}), raw_tensor<float>("half", {1}, {0.5f})}}),
        {.keep_subnormals = kept});
    const NamedList<T> out = f({{"x", T::full({length}, 0x1p-126f, DType::f32)}});
    CHECK(out["y"].shape() == Shape{2, length});
    const std::vector<float> z = out["z"].template to_vector<float>();
    CHECK(std::ranges::count(z, z[0]) == length);
    return z[0];
  };
  CHECK(product_with(0x1p-130f, false) == 0);
  CHECK(product_with(0x1p-130f, true) == 0x1p-127f);
  CHECK(product_with(0x1p-126f, false) == 0x1p-127f);  // the least that is normal
  CHECK(product_with(0, false) == 0x1p-127f);
  const T x = T::full({length}, 0x1p-126f, DType::f32);
  const T before = x * 0.5;
  CHECK(max(before).template item<float>() == 0x1p-127f);
  {
    const SubnormalsAsZeros scope;
    const T there = x * 0.25;
    CHECK(max(there).template item<float>() == 0);
  }
  const T behind = x * 0.125;
  CHECK(min(behind).template item<float>() == 0x1p-129f);  // for all threads again
}

TEST_CASE("subnormal weights are found wherever a file holds them") {
  using T = Tensor<Eager>;
  const testing::TemporaryFolder folder;
  const auto write = [&](const std::string& name, const std::string& bytes) {
    std::ofstream(folder / name, std::ios::binary) << bytes;
  };
  const auto listed = [](std::string_view name, float number) {
    Message m;
    m.integer(1, 1);
    m.integer(2, 1);
    m.text(8, name);
    m.single(4, number);
    return m;
  };
  const auto value_of = [](const Message& tensor) { return tensor_attribute("value", tensor); };
  const auto half_of = [&](std::vector<Message> nodes, std::vector<Message> more = {}) {
    nodes.push_back(node("Mul", {"x", "half"}, {"y"}));
    more.push_back(raw_tensor<float>("half", {1}, {0.5f}));
    more.push_back(raw_tensor<std::uint8_t>("k", {1}, {1}));
    write("m.onnx",
          model({.nodes = nodes, .inputs = {value("x", {"n"})}, .outputs = {value("y", {"n"})}, .initialisers = more}));
    OnnxModel<T> f = read_onnx<T>(folder / "m.onnx");
    return f({{"x", T::full({1}, 0x1p-126f, DType::f32)}})["y"].template item<float>();
  };
  const auto branch = [&](const GraphParts& arm) {
    return std::vector{node("Cast", {"k"}, {"c"}, {attribute("to", std::int64_t{9})}), node("Squeeze", {"c"}, {"d"}),
                       node("If", {"d"}, {"unused"},
                            {graph_attribute("then_branch", graph(arm)), graph_attribute("else_branch", graph(arm))})};
  };
  for (const float weight : {0x1p-130f, 1.0f}) {
    CAPTURE(weight);
    const float want = weight == 1 ? 0x1p-127f : 0;
    CHECK(half_of({}, {listed("w", weight)}) == want);
    CHECK(half_of({node("Constant", {}, {"w"}, {value_of(listed("", weight))})}) == want);
    CHECK(half_of({node("Constant", {}, {"w"}, {attribute("value_float", weight)})}) == want);
    const GraphParts constant{.nodes = {node("Constant", {}, {"w"}, {value_of(raw_tensor<float>("", {1}, {weight}))})},
                              .outputs = {value("w", {"1"})}};
    CHECK(half_of(branch(constant)) == want);
    const GraphParts stored{.nodes = {node("Identity", {"w"}, {"v"})},
                            .outputs = {value("v", {"1"})},
                            .initialisers = {listed("w", weight)}};
    CHECK(half_of(branch(stored)) == want);

    // In another file, behind a number that is not the tensor's.
    const float numbers[] = {0x1p-140f, weight};
    write("w.bin", std::string(reinterpret_cast<const char*>(numbers), sizeof numbers));
    const auto elsewhere = [](std::string_view name) { return external_tensor(name, {1}, "w.bin", {{"offset", "4"}}); };
    CHECK(half_of({}, {elsewhere("w")}) == want);
    CHECK(half_of({node("Constant", {}, {"w"}, {value_of(elsewhere(""))})}) == want);
    const GraphParts constant_elsewhere{.nodes = {node("Constant", {}, {"w"}, {value_of(elsewhere(""))})},
                                        .outputs = {value("w", {"1"})}};
    CHECK(half_of(branch(constant_elsewhere)) == want);
    const GraphParts stored_elsewhere{
        .nodes = {node("Identity", {"w"}, {"v"})}, .outputs = {value("v", {"1"})}, .initialisers = {elsewhere("w")}};
    CHECK(half_of(branch(stored_elsewhere)) == want);
  }
}

BOTH_MODES("a branch that never runs may hold a constant of a file that is not there") {
  using T = Tensor<Mode>;
  const testing::TemporaryFolder folder;
  const Message tensor = tensor_attribute("value", external_tensor("", {1}, "none.bin"));
  const Message one = graph({.nodes = {node("Neg", {"x"}, {"then_y"})}, .outputs = {value("then_y", {"1"})}});
  const Message other =
      graph({.nodes = {node("Constant", {}, {"else_y"}, {tensor})}, .outputs = {value("else_y", {"1"})}});
  std::ofstream(folder / "m.onnx", std::ios::binary)
      << model({.nodes = {node("If", {"c"}, {"y"},
                               {graph_attribute("then_branch", one), graph_attribute("else_branch", other)})},
                .inputs = {value("x", {"1"}), value("c", {}, DType::boolean)},
                .outputs = {value("y", {"1"})}});
  OnnxModel<T> f = read_onnx<T>(folder / "m.onnx", {.bind = {{"c", true}}});
  for (const float x : {2.0f, 3.0f}) CHECK(f({{"x", T::full({1}, x)}})["y"].template item<float>() == -x);
  OnnxModel<T> refused = read_onnx<T>(folder / "m.onnx");
  for (int i = 0; i < 2; ++i) {
    CHECK_THROWS_WITH_AS(refused({{"x", T::ones({1})}, {"c", T(false)}})["y"].template item<float>(),
                         doctest::Contains("none.bin"), IoError);
  }
}

TEST_CASE("n-grams may share a place, however many they are") {
  using T = Tensor<Eager>;
  std::vector<std::int64_t> pool(200), places(200, 1);
  for (std::size_t i = 0; i < pool.size(); ++i) pool[i] = static_cast<std::int64_t>(i);
  places[7] = 0;
  const Message grams =
      node("TfIdfVectorizer", {"x"}, {"y"},
           {text_attribute("mode", "TF"), attribute("min_gram_length", std::int64_t{1}),
            attribute("max_gram_length", std::int64_t{1}), attribute("max_skip_count", std::int64_t{0}),
            attribute("ngram_counts", std::vector<std::int64_t>{0}), attribute("ngram_indexes", places),
            attribute("pool_int64s", pool)});
  OnnxModel<T> f = read<T>(
      model({.nodes = {grams}, .inputs = {value("x", {"n", "m"}, DType::i64)}, .outputs = {value("y", {"n", "k"})}}));
  const T x{{0, 7, 199, 7}, {200, -1, 5, 5}};
  CHECK(f({{"x", cast(x, DType::i64)}})["y"].to_vector<float>() == std::vector<float>{2, 2, 0, 2});
}

TEST_CASE("a model says what it takes, gives and consists of") {
  const OnnxModel<L> f = read<L>(branches());
  std::ostringstream text;
  for (const ModelTensor& input : f.inputs()) text << input << ";";
  for (const ModelTensor& output : f.outputs()) text << output << ";";
  CHECK(text.str() == "x f32 (n);c bool ();y f32 (n);");
  CHECK(f.info().producer == "a test");
  CHECK(f.info().ir_version == 8);
  CHECK(f.info().operator_sets[0] == std::pair<std::string, std::int64_t>("", 17));
  CHECK(f.info().parameters == 1);
  REQUIRE(f.info().operators.size() == 3);
  CHECK(f.info().operators[1].name == "If");
}

BOTH_MODES("a branch that is known beforehand is the only one that runs") {
  using T = Tensor<Mode>;
  OnnxModel<T> one = read<T>(branches(), {.bind = {{"c", true}}}),
               other = read<T>(branches(), {.bind = {{"c", false}}});
  CHECK(one.inputs().size() == 1);
  CHECK(one({{"x", T{1.0, 2.0}}})["y"].template to_vector<float>() == std::vector<float>{2, 3});
  CHECK(other({{"x", T{1.0, 2.0}}})["y"].template to_vector<float>() == std::vector<float>{-1, -2});
  CHECK_THROWS_WITH_AS(read<T>(branches(), {.bind = {{"d", true}}}),
                       "m.onnx: there is no input 'd'; there are 'x', 'c'", IndexError);
}

BOTH_MODES("values that decide shapes or branches may come with each call") {
  using T = Tensor<Mode>;
  OnnxModel<T> f = read<T>(branches());
  CHECK(f({{"x", T{1.0, 2.0}}, {"c", true}})["y"].template to_vector<float>() == std::vector<float>{2, 3});
  CHECK(f({{"x", T{1.0, 2.0}}, {"c", false}})["y"].template to_vector<float>() == std::vector<float>{-1, -2});
  OnnxModel<T> rows = read<T>(sum_of_rows());
  const T x{{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}};
  CHECK(rows({{"x", x}, {"axes", T{1}}})["y"].template to_vector<float>() == std::vector<float>{6, 15});
  CHECK(rows({{"x", x}, {"axes", T{0}}})["y"].template to_vector<float>() == std::vector<float>{5, 7, 9});
}

BOTH_MODES("what has a shape that its elements decide is computed at its place") {
  using T = Tensor<Mode>;
  OnnxModel<T> f = read<T>(
      model({.nodes = {node("Relu", {"x"}, {"r"}), node("NonZero", {"r"}, {"p"}), node("Squeeze", {"p", "zero"}, {"q"}),
                       node("Gather", {"x", "q"}, {"g"}), node("Mul", {"g", "g"}, {"y"})},
             .inputs = {value("x", {"n"})},
             .outputs = {value("y", {"m"})},
             .initialisers = {raw_tensor<std::int64_t>("zero", {1}, {0})}}));
  CHECK(f({{"x", T{1.0, -2.0, 3.0}}})["y"].template to_vector<float>() == std::vector<float>{1, 9});
  CHECK(f({{"x", T{-1.0, -2.0, 3.0}}})["y"].template to_vector<float>() == std::vector<float>{9});
  CHECK(f({{"x", T{-1.0, -2.0, -3.0}}})["y"].shape() == Shape{0});
}

BOTH_MODES("indices that are refused when they are looked at name the node") {
  using T = Tensor<Mode>;
  OnnxModel<T> f = read<T>(
      model({.nodes = {node("Relu", {"x"}, {"r"}), node("Gather", {"r", "i"}, {"g"}), node("Exp", {"g"}, {"y"})},
             .inputs = {value("x", {"n"}), value("i", {"m"}, DType::i64)},
             .outputs = {value("y", {"m"})}}));
  const T x{1.0, 2.0, 3.0};
  CHECK(f({{"x", x}, {"i", T{2, 0}}})["y"].shape() == Shape{2});
  CHECK_THROWS_WITH_AS(eval({f({{"x", x}, {"i", T{2, 7}}})["y"]}),
                       doctest::Contains(std::is_same_v<Mode, Eager> ? "m.onnx: node 'g' (Gather): take: index 7"
                                                                     : "[-3, 2] (in node 'g' (Gather))"),
                       IndexError);
}

TEST_CASE("in lazy mode a model is compiled once for each signature, and runs in planned memory") {
  OnnxModel<L> f = read<L>(sum_of_rows(), {.shapes = {{"x", {8, 3}}}, .bind = {{"axes", Tensor<Any>{1}}}});
  CHECK(f.reports().size() == 1);  // made ready when it was read
  CHECK(f({{"x", L::ones({8, 3})}})["y"].to_vector<float>() == std::vector<float>(8, 3));
  CHECK(f({{"x", L::ones({5, 3})}})["y"].shape() == Shape{5});
  for (const GraphReport& report : f.reports()) CHECK(report.unplanned_allocations == 0);
  CHECK(f.plan().height == f.plan().bound);
}

TEST_CASE("a model in a compiled function is a part of its graph, and has gradients") {
  OnnxModel<L> f = read<L>(model({.nodes = {node("Mul", {"x", "x"}, {"s"}), node("Mul", {"s", "w"}, {"y"})},
                                  .inputs = {value("x", {"n"})},
                                  .outputs = {value("y", {"n"})},
                                  .initialisers = {raw_tensor<float>("w", {1}, {0.5F})}}));
  auto gradient = compile([&](L x) { return grad([&](L in) { return sum(f({{"x", in}})["y"]); })(x); });
  CHECK(gradient(L{1.0, 2.0, 3.0}).to_vector<float>() == std::vector<float>{1, 2, 3});
}

TEST_CASE("a model as a graph can be saved, and needs every shape") {
  OnnxModel<L> f = read<L>(sum_of_rows(), {.bind = {{"axes", Tensor<Any>{1}}}});
  CHECK_THROWS_WITH_AS(f.graph(), "m.onnx: graph: the file leaves lengths of x f32 (rows,3) open; say them in `shapes`",
                       ShapeError);
  Graph graph = f.graph({{"x", {2, 3}}});
  Graph again = Graph::from_bytes(graph.to_bytes());
  again.set(again.inputs()[0], L{{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}});
  again.run();
  CHECK(again.output(0).to_vector<float>() == std::vector<float>{6, 15});
  OnnxModel<L> open = read<L>(sum_of_rows());
  CHECK_THROWS_WITH_AS(
      open.graph({{"x", {2, 3}}, {"axes", {1}}}),
      "m.onnx: node 'y' (ReduceSum): a shape depends on the elements of its input 2, 'axes', which are "
      "not known while the graph is recorded; bind a value to the input of the model that they come "
      "from, or work in eager mode",
      GraphError);
}

BOTH_MODES("functions of a file are applied with the attributes of each call") {
  using T = Tensor<Mode>;
  Message function;
  function.text(1, "Leak");
  function.text(4, "a");
  function.text(5, "b");
  function.message(7, node("LeakyRelu", {"a"}, {"c"}, {reference_attribute("alpha", "slope", 1)}));
  function.message(7, node("Neg", {"c"}, {"b"}));
  function.message(9, operator_set("", 17));
  function.text(10, "local");
  function.message(11, attribute("slope", 0.5F));
  const Message calls = graph({.nodes = {node("Leak", {"x"}, {"y"}, {attribute("slope", 0.25F)}, "local"),
                                         node("Leak", {"x"}, {"z"}, {}, "local")},
                               .inputs = {value("x", {"n"})},
                               .outputs = {value("y", {"n"}), value("z", {"n"})}});
  OnnxModel<T> f = read<T>(model(calls, 17, {function}));
  const NamedList<T> out = f({{"x", T{-4.0, 4.0}}});
  CHECK(out["y"].template to_vector<float>() == std::vector<float>{1, -4});
  CHECK(out["z"].template to_vector<float>() == std::vector<float>{2, -4});
}

TEST_CASE("functions that call one another without an end, or too often, are refused") {
  const auto calling = [](std::string name, std::string other) {
    Message function;
    function.text(1, name);
    function.text(4, "a");
    function.text(5, "b");
    function.message(7, node(other, {"a"}, {"c"}, {}, "local"));
    function.message(7, node(other, {"c"}, {"b"}, {}, "local"));
    function.message(9, operator_set("", 17));
    function.text(10, "local");
    return function;
  };
  const Message call = graph({.nodes = {node("f0", {"x"}, {"y"}, {}, "local")},
                              .inputs = {value("x", {"n"})},
                              .outputs = {value("y", {"n"})}});
  CHECK_THROWS_AS(read<L>(model(call, 17, {calling("f0", "f0")})), IoError);
  std::vector<Message> doubling;
  for (int i = 0; i < 40; ++i) doubling.push_back(calling("f" + std::to_string(i), "f" + std::to_string(i + 1)));
  CHECK_THROWS_WITH_AS(read<L>(model(call, 17, doubling)),
                       "m.onnx: its functions call one another so often that they make more nodes than the file has "
                       "bytes",
                       IoError);
}

}  // namespace tyto::onnx_tests
