// SPDX-License-Identifier: MIT
// Limits for untrusted models: a node that takes more bytes or iterations than allowed is refused by name, before it
// runs.
#include <algorithm>

#include <doctest/doctest.h>
#include <tyto/device.hpp>
#include <tyto/tyto.hpp>

#include "core/device/allocation_limit.hpp"
#include "tests/onnx/model_text.hpp"
#include "tests/support/both_modes.hpp"

namespace tyto::onnx_tests::limits_test {
namespace {

/// The message of the LimitError that reading or calling a model throws; empty where it throws none.
template <class T>
std::string limited(const std::string& bytes, const OnnxOptions& options, const NamedList<T>& given) {
  try {
    for (const Named<T>& output : read<T>(bytes, options)(given)) (void)output.value.bytes();
  } catch (const LimitError& error) {
    return error.what();
  }
  return "";
}

Message integers(std::string_view name, const std::vector<std::int64_t>& values) {
  return raw_tensor<std::int64_t>(name, {std::ssize(values)}, values);
}

/// y of one node, which reads x of shape (1, 1, 8, 8) and constants.
std::string of(const Message& one, const std::vector<Message>& constants) {
  return model({.nodes = {one},
                .inputs = {value("x", {"1", "1", "8", "8"})},
                .outputs = {value("y", {"a", "b", "c", "d"})},
                .initialisers = constants},
               18);
}

Message counter() { return value("i", {}, DType::i64); }
Message going(const char* name) { return value(name, {}, DType::boolean); }

/// Loop over h of two numbers, which its body doubles, or runs `inner` on.
Message body(const std::vector<Message>& nodes) {
  GraphParts parts{.nodes = nodes,
                   .inputs = {counter(), going("go"), value("h", {"2"})},
                   .outputs = {going("goes"), value("hn", {"2"})}};
  parts.nodes.push_back(node("Identity", {"go"}, {"goes"}));
  return graph(parts);
}
Message doubling() { return body({node("Add", {"h", "h"}, {"hn"})}); }

std::string loops(const Message& of_body, const std::vector<std::string>& operands = {"n", "", "x"}) {
  return model({.nodes = {node("Loop", operands, {"y"}, {graph_attribute("body", of_body)})},
                .inputs = {value("x", {"2"}), value("n", {}, DType::i64)},
                .outputs = {value("y", {"2"})},
                .initialisers = {raw_tensor<std::int64_t>("m", {}, {20})}});
}

/// Four values as long as x that are alive before they are joined.
std::string sums() {
  std::vector<Message> nodes;
  std::vector<std::string> parts;
  for (int i = 0; i < 4; ++i) {
    parts.push_back("h" + std::to_string(i));
    nodes.push_back(node("CumSum", {i == 0 ? "x" : parts[static_cast<std::size_t>(i) - 1], "axis"}, {parts.back()}));
  }
  nodes.push_back(node("Concat", {"h3", "h2", "h1", "h0"}, {"y"}, {attribute("axis", std::int64_t{0})}));
  return model({.nodes = nodes,
                .inputs = {value("x", {"n"})},
                .outputs = {value("y", {"m"})},
                .initialisers = {raw_tensor<std::int64_t>("axis", {}, {0})}});
}

}  // namespace

BOTH_MODES("a node whose result has more bytes than a model may take is refused by name") {
  using T = Tensor<Mode>;
  const std::int64_t far = 40'000;
  const Message scales = raw_tensor<float>("s", {4}, {1, 1, 1000, 1000});
  const NamedList<T> x{{"x", T::ones({1, 1, 8, 8})}};
  const std::vector<std::string> models{
      of(node("Pad", {"x", "p"}, {"y"}), {integers("p", {0, 0, 0, 0, 0, 0, far, far})}),
      of(node("Resize", {"x", "", "s"}, {"y"}), {scales}),
      of(node("Resize", {"x", "", "s"}, {"y"},
              {text_attribute("mode", "cubic"), attribute("antialias", std::int64_t{1})}),
         {scales}),
      of(node("Expand", {"x", "e"}, {"y"}), {integers("e", {far, far, 8, 8})}),
      of(node("Tile", {"x", "t"}, {"y"}), {integers("t", {1, far, 1, 1})}),
      of(node("ConstantOfShape", {"e"}, {"y"}), {integers("e", {far, far, 1, 1})}),
      of(node("CenterCropPad", {"x", "e"}, {"y"}), {integers("e", {1, 1, far, far})}),
      of(node("OneHot", {"x", "d", "v"}, {"y"}), {integers("d", {far * far}), raw_tensor<float>("v", {2}, {0, 1})}),
      of(node("Range", {"a", "b", "c"}, {"y"}),
         {raw_tensor<std::int64_t>("a", {}, {0}), raw_tensor<std::int64_t>("b", {}, {far * far}),
          raw_tensor<std::int64_t>("c", {}, {1})}),
      of(node("HannWindow", {"n"}, {"y"}), {raw_tensor<std::int64_t>("n", {}, {far * far})}),
      of(node("RandomNormal", {}, {"y"}, {attribute("shape", std::vector<std::int64_t>{far, far})}), {}),
  };
  for (const std::string& bytes : models) {
    const std::string told = limited<T>(bytes, {.max_bytes = 1 << 20}, x);
    CHECK_MESSAGE(told.starts_with("m.onnx: node 'y' ("), told);
    CHECK_MESSAGE(told.ends_with("; max_bytes is 1048576"), told);
  }
  CHECK(limited<T>(models[3], {.max_bytes = 1 << 20}, x) ==
        "m.onnx: node 'y' (Expand): a result of shape (40000,40000,8,8) has 409600000000 bytes; max_bytes is 1048576");
}

BOTH_MODES("values that are alive together count together, and what fits is computed") {
  using T = Tensor<Mode>;
  const std::string bytes = sums();
  const NamedList<T> x{{"x", T::ones({1000})}};
  const std::string told = limited<T>(bytes, {.max_bytes = 15'000}, x);
  CHECK_MESSAGE(told.starts_with("m.onnx: node '"), told);
  CHECK_MESSAGE(told.ends_with("; max_bytes is 15000"), told);
  OnnxModel<T> f = read<T>(bytes, {.max_bytes = 100'000});
  for (int i = 0; i < 3; ++i) CHECK(f(x)["y"].get({3999}).template item<float>() == 1000);
  // The limit holds while the model runs, and what comes after it is free.
  CHECK(T::ones({100'000}).size() == 100'000);
}

TEST_CASE("values count on the OpenCL device as on the CPU") {
  using L = Tensor<Lazy>;
  const std::vector<DeviceInfo> known = devices();
  if (std::none_of(known.begin(), known.end(), [](const DeviceInfo& each) { return each.name == "opencl:0"; })) return;
  const DeviceScope device("opencl");
  const NamedList<L> x{{"x", L::ones({1000})}};
  CHECK(limited<L>(sums(), {.max_bytes = 15'000}, x).ends_with("; max_bytes is 15000"));
  CHECK(limited<L>(sums(), {.max_bytes = 200'000}, x).empty());
}

BOTH_MODES("weights count before they are read") {
  using T = Tensor<Mode>;
  const std::string bytes = model({.nodes = {node("Add", {"x", "v"}, {"h"}), node("Add", {"h", "w"}, {"y"})},
                                   .inputs = {value("x", {"n"})},
                                   .outputs = {value("y", {"n"})},
                                   .initialisers = {raw_tensor<float>("v", {50}, std::vector<float>(50, 1)),
                                                    raw_tensor<float>("w", {200}, std::vector<float>(200, 1))}});
  const NamedList<T> x{{"x", T::ones({1})}};
  CHECK(limited<T>(bytes, {.max_bytes = 900}, x) ==
        "m.onnx: initialiser 'w' has 800 bytes where weights before it have 200; max_bytes is 900");
  Message packed;  // of four bits in the file, of eight in memory
  packed.integer(1, 1000);
  packed.integer(2, 22);
  packed.text(8, "w");
  packed.text(9, std::string(500, '\0'));
  CHECK(limited<T>(model({.nodes = {node("Cast", {"w"}, {"y"}, {attribute("to", std::int64_t{1})})},
                          .outputs = {value("y", {"n"})},
                          .initialisers = {packed}},
                         21),
                   {.max_bytes = 900},
                   {}) == "m.onnx: initialiser 'w' has 1000 bytes where weights before it have 0; max_bytes is 900");
}

BOTH_MODES("iterations of a loop are counted, whoever decides how many there are") {
  using T = Tensor<Mode>;
  const auto run = [](const std::string& bytes, std::int64_t n, std::int64_t most) {
    return limited<T>(bytes, {.max_iterations = most}, {{"x", T{1.0, 2.0}}, {"n", T::full({}, n, DType::i64)}});
  };
  const std::string by_data = loops(doubling()), by_constant = loops(doubling(), {"m", "", "x"});
  CHECK(run(by_data, 10, 10).empty());
  CHECK(run(by_data, 11, 10) == "m.onnx: node 'y' (Loop): 1 iteration behind 10 of this call; max_iterations is 10");
  CHECK(run(by_data, INT64_MAX - 1, 10).ends_with("max_iterations is 10"));
  CHECK(run(by_constant, 0, 20).empty());
  CHECK(run(by_constant, 0, 19).starts_with("m.onnx: node 'y' (Loop): "));
  // While the sum is below a number that it never reaches.
  const Message endless = graph({.nodes = {node("ReduceSum", {"h"}, {"s"}, {attribute("keepdims", std::int64_t{0})}),
                                           node("Less", {"s", "far"}, {"goes"}), node("Identity", {"h"}, {"hn"}),
                                           node("Constant", {}, {"far"}, {attribute("value_float", 1e9F)})},
                                 .inputs = {counter(), going("go"), value("h", {"2"})},
                                 .outputs = {going("goes"), value("hn", {"2"})}});
  CHECK(run(loops(endless, {"", "", "x"}), 0, 1000) ==
        "m.onnx: node 'y' (Loop): 1 iteration behind 1000 of this call; max_iterations is 1000");
  // And one that reaches it: 3 times 2^n.
  const Message reaches = graph({.nodes = {node("ReduceSum", {"hn"}, {"s"}, {attribute("keepdims", std::int64_t{0})}),
                                           node("Less", {"s", "far"}, {"goes"}), node("Add", {"h", "h"}, {"hn"}),
                                           node("Constant", {}, {"far"}, {attribute("value_float", 90.0F)})},
                                 .inputs = {counter(), going("go"), value("h", {"2"})},
                                 .outputs = {going("goes"), value("hn", {"2"})}});
  OnnxModel<T> f = read<T>(loops(reaches, {"", "", "x"}), {.max_iterations = 5});
  for (int i = 0; i < 3; ++i) {
    CHECK(f({{"x", T{1.0, 2.0}}, {"n", T::full({}, 0, DType::i64)}})["y"].template to_vector<float>() ==
          std::vector<float>{32, 64});
  }
}

BOTH_MODES("iterations of loops within loops add up, and begin anew with each call") {
  using T = Tensor<Mode>;
  const Message nested = body(
      {node("Loop", {"m", "", "h"}, {"hn"},
            {graph_attribute("body", graph({.nodes = {node("Neg", {"k"}, {"kn"}), node("Identity", {"gi"}, {"gn"})},
                                            .inputs = {value("j", {}, DType::i64), going("gi"), value("k", {"2"})},
                                            .outputs = {going("gn"), value("kn", {"2"})}}))})});
  for (const bool constant : {true, false}) {
    CAPTURE(constant);
    const std::string bytes = loops(nested, {constant ? "m" : "n", "", "x"});
    const NamedList<T> given{{"x", T{1.0, 2.0}}, {"n", T::full({}, 20, DType::i64)}};
    CHECK(limited<T>(bytes, {.max_iterations = 419}, given).ends_with("; max_iterations is 419"));
    OnnxModel<T> f = read<T>(bytes, {.max_iterations = 420});
    for (int i = 0; i < 3; ++i) CHECK(f(given)["y"].template to_vector<float>() == std::vector<float>{1, 2});
  }
}

BOTH_MODES("rows of a Scan and elements of a SequenceMap are iterations") {
  using T = Tensor<Mode>;
  const Message sum = graph({.nodes = {node("Add", {"s", "r"}, {"sn"})},
                             .inputs = {value("s", {}), value("r", {})},
                             .outputs = {value("sn", {})}});
  const std::string scan =
      model({.nodes = {node("Scan", {"z", "x"}, {"y"},
                            {graph_attribute("body", sum), attribute("num_scan_inputs", std::int64_t{1})})},
             .inputs = {value("x", {"n"})},
             .outputs = {value("y", {})},
             .initialisers = {raw_tensor<float>("z", {}, {0})}});
  CHECK(limited<T>(scan, {.max_iterations = 30}, {{"x", T::ones({30})}}).empty());
  CHECK(limited<T>(scan, {.max_iterations = 29}, {{"x", T::ones({30})}}) ==
        "m.onnx: node 'y' (Scan): 30 iterations behind 0 of this call; max_iterations is 29");
  const Message negative =
      graph({.nodes = {node("Neg", {"e"}, {"f"})}, .inputs = {value("e", {})}, .outputs = {value("f", {})}});
  const std::string map =
      model({.nodes = {node("SplitToSequence", {"x"}, {"s"}),
                       node("SequenceMap", {"s"}, {"t"}, {graph_attribute("body", negative)}),
                       node("ConcatFromSequence", {"t"}, {"y"}, {attribute("axis", std::int64_t{0})})},
             .inputs = {value("x", {"n"})},
             .outputs = {value("y", {"n"})}});
  CHECK(limited<T>(map, {.max_iterations = 8}, {{"x", T::ones({8})}}).empty());
  CHECK(
      limited<T>(map, {.max_iterations = 7}, {{"x", T::ones({8})}}).starts_with("m.onnx: node 't' (SequenceMap): 8 "));
}

TEST_CASE("the graph of a model keeps to the limits") {
  using L = Tensor<Lazy>;
  const std::string loop = loops(doubling(), {"m", "", "x"});
  CHECK_THROWS_AS(read<L>(loop, {.max_iterations = 19}).graph({{"n", {}}}), LimitError);
  Graph graph = read<L>(loop, {.max_iterations = 20}).graph({{"n", {}}});
  graph.set(graph.inputs()[0], L{1.0, 2.0});
  graph.set(graph.inputs()[1], L::full({}, 0, DType::i64));
  graph.run();
  CHECK(graph.output(0).to_vector<float>() == std::vector<float>{1 << 20, 2 << 20});
  const std::string tile = of(node("Tile", {"x", "t"}, {"y"}), {integers("t", {1, 1000, 1, 1})});
  CHECK_THROWS_AS(read<L>(tile, {.max_bytes = 100'000}).graph(), LimitError);
}

TEST_CASE("an allocation beyond a limit of the thread takes nothing") {
  using E = Tensor<Eager>;
  const std::size_t before = devices()[0].allocated;
  {
    const core::AllocationLimit limit(10'000);
    const E kept = E::ones({2048}, DType::f32);
    CHECK_THROWS_WITH_AS(E::ones({600}, DType::f32), "needs 2400 bytes where 8192 of at most 10000 are taken",
                         core::AllocationRefused);
    const std::size_t held = devices()[0].allocated;
    CHECK_THROWS_AS(E::ones({1 << 28}, DType::f32), core::AllocationRefused);
    CHECK(devices()[0].allocated == held);
    {
      const core::AllocationLimit inner(1000);
      CHECK_THROWS_AS(E::ones({300}, DType::f32), core::AllocationRefused);
      CHECK(E::ones({200}, DType::f32).size() == 200);
    }
    CHECK(E::ones({400}, DType::f32).size() == 400);  // what was given back is free again
  }
  CHECK(devices()[0].allocated == before);
  CHECK(E::ones({4000}, DType::f32).size() == 4000);
}

}  // namespace tyto::onnx_tests::limits_test
