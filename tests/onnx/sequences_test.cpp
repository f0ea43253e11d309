// SPDX-License-Identifier: MIT
// Sequences and optionals in a model: passed tensor by tensor, with lengths known when it is recorded.
#include <sstream>

#include <doctest/doctest.h>
#include <tyto/tyto.hpp>

#include "tests/onnx/model_text.hpp"
#include "tests/support/both_modes.hpp"
#include "tests/support/message.hpp"

namespace tyto::onnx_tests::sequences {
namespace {

using E = Tensor<Eager>;
using L = Tensor<Lazy>;
using tyto_test::message_of;

Message number(std::string_view name) { return value(name, {}, DType::i64); }

std::string one_node(const Message& n, const std::vector<Message>& inputs, const std::vector<Message>& outputs) {
  return model({.nodes = {n}, .inputs = inputs, .outputs = outputs});
}

/// s with x put in before position n of it.
std::string insertion() {
  return one_node(node("SequenceInsert", {"s", "x", "n"}, {"t"}), {sequence("s"), value("x", {"2"}), number("n")},
                  {sequence("t")});
}

/// The sequence of n tensors x, 2x, 3x and so on.
std::string collecting() {
  const Message body = graph({.nodes = {node("Identity", {"go"}, {"goes"}), node("Add", {"i", "one"}, {"j"}),
                                        node("Cast", {"j"}, {"f"}, {attribute("to", std::int64_t{1})}),
                                        node("Mul", {"x", "f"}, {"m"}), node("SequenceInsert", {"s", "m"}, {"t"})},
                              .inputs = {number("i"), value("go", {}, DType::boolean), sequence("s")},
                              .outputs = {value("goes", {}, DType::boolean), sequence("t")},
                              .initialisers = {raw_tensor<std::int64_t>("one", {}, {1})}});
  return model({.nodes = {node("SequenceEmpty", {}, {"none"}),
                          node("Loop", {"n", "", "none"}, {"all"}, {graph_attribute("body", body)})},
                .inputs = {value("x", {"2"}), number("n")},
                .outputs = {sequence("all")}});
}

/// Both or just one of x and 2x, as data says.
std::string choosing() {
  const Message both = graph({.nodes = {node("SequenceConstruct", {"x", "d"}, {"t"})}, .outputs = {sequence("t")}});
  const Message one = graph({.nodes = {node("SequenceConstruct", {"x"}, {"e"})}, .outputs = {sequence("e")}});
  return model(
      {.nodes = {node("Add", {"x", "x"}, {"d"}),
                 node("If", {"c"}, {"y"}, {graph_attribute("then_branch", both), graph_attribute("else_branch", one)})},
       .inputs = {value("x", {"2"}), value("c", {}, DType::boolean)},
       .outputs = {sequence("y")}});
}

}  // namespace

TEST_CASE("inputs and outputs say whether they are sequences or optionals") {
  const OnnxModel<E> f = read<E>(model({.nodes = {node("Identity", {"s"}, {"t"})},
                                        .inputs = {sequence("s"), optional("o")},
                                        .outputs = {sequence("t")}}));
  std::ostringstream text;
  text << f.inputs()[0] << "; " << f.inputs()[1] << "; " << f.outputs()[0];
  CHECK(text.str() == "s[] f32 (2); o? f32 (2); t[] f32 (2)");
}

BOTH_MODES("the tensors of a sequence are given and come back one by one") {
  using T = Tensor<Mode>;
  OnnxModel<T> f = read<T>(insertion());
  const auto run = [&](NamedList<T> given, std::int64_t at) {
    given.push_back({"x", T{5.0, 6.0}});
    given.push_back({"n", T::full({}, at, DType::i64)});
    return f(given);
  };
  const NamedList<T> three = run({{"s[0]", T{1.0, 2.0}}, {"s[1]", T{3.0, 4.0}}}, -1);
  REQUIRE(three.size() == 3);
  CHECK(three["t[0]"].template to_vector<float>() == std::vector<float>{1, 2});
  CHECK(three["t[1]"].template to_vector<float>() == std::vector<float>{5, 6});
  CHECK(three["t[2]"].template to_vector<float>() == std::vector<float>{3, 4});
  CHECK(run({}, 0).size() == 1);
  CHECK(message_of([&] {
          run({{"s[0]", T{1.0, 2.0}}}, 2);
        }).find("position 2 in a sequence of 1; they go from -1 to 1") != std::string::npos);
  CHECK(run({{"s[0]", T{1.0, 2.0}}}, 1)["t[1]"].template to_vector<float>() == std::vector<float>{5, 6});
}

BOTH_MODES("a loop collects a sequence, as long as the data of each call says") {
  using T = Tensor<Mode>;
  OnnxModel<T> f = read<T>(collecting());
  const auto run = [&](std::int64_t n) { return f({{"x", T{1.0, -2.0}}, {"n", T::full({}, n, DType::i64)}}); };
  const NamedList<T> three = run(3);
  REQUIRE(three.size() == 3);
  CHECK(three["all[2]"].template to_vector<float>() == std::vector<float>{3, -6});
  CHECK(run(1).size() == 1);
  CHECK(run(0).size() == 0);
}

TEST_CASE("a sequence is a part of the graph where its length is known") {
  OnnxModel<L> f = read<L>(collecting(), {.bind = {{"n", Tensor<Any>::full({}, 2, DType::i64)}}});
  Graph graph = f.graph({{"x", {2}}});
  REQUIRE(graph.output_count() == 2);
  graph.set(graph.inputs()[0], L{1.0, -2.0});
  graph.run();
  CHECK(graph.output(1).to_vector<float>() == std::vector<float>{2, -4});
}

TEST_CASE("a sequence whose length data decides is refused where there must be one graph") {
  OnnxModel<L> loop = read<L>(collecting());
  CHECK(message_of([&] {
          loop.graph({{"x", {2}}, {"n", {}}});
        }) ==
        "m.onnx: node 'all' (Loop): a shape depends on the elements of its input 1, 'n', which are not known while the "
        "graph is recorded; bind a value to the input of the model that they come from, or work in eager mode");
  OnnxModel<L> branch = read<L>(choosing());
  CHECK(message_of([&] {
          branch.graph({{"x", {2}}, {"c", {}}});
        }) ==
        "m.onnx: node 'y' (If): data decides what it does, and a graph cannot hold it: its arms yield sequences of "
        "several lengths");
}

BOTH_MODES("a branch yields sequences of several lengths, as the data of each call says") {
  using T = Tensor<Mode>;
  OnnxModel<T> f = read<T>(choosing());
  const auto run = [&](bool c) { return f({{"x", T{1.0, -2.0}}, {"c", T::full({}, c, DType::boolean)}}); };
  CHECK(run(true)["y[1]"].template to_vector<float>() == std::vector<float>{2, -4});
  CHECK(run(false).size() == 1);
  CHECK(run(true).size() == 2);
}

BOTH_MODES("an optional input need not be given") {
  using T = Tensor<Mode>;
  const Message there = graph({.nodes = {node("OptionalGetElement", {"o"}, {"t"})}, .outputs = {value("t", {"2"})}});
  const Message absent = graph({.nodes = {node("Neg", {"x"}, {"e"})}, .outputs = {value("e", {"2"})}});
  OnnxModel<T> f =
      read<T>(model({.nodes = {node("OptionalHasElement", {"o"}, {"c"}),
                               node("If", {"c"}, {"y"},
                                    {graph_attribute("then_branch", there), graph_attribute("else_branch", absent)})},
                     .inputs = {value("x", {"2"}), optional("o")},
                     .outputs = {value("y", {"2"})}},
                    18));
  const T x{1.0, 2.0};
  CHECK(f({{"x", x}})["y"].template to_vector<float>() == std::vector<float>{-1, -2});
  CHECK(f({{"x", x}, {"o", T{7.0, 8.0}}})["y"].template to_vector<float>() == std::vector<float>{7, 8});
  CHECK(f({{"x", x}})["y"].template to_vector<float>() == std::vector<float>{-1, -2});
}

TEST_CASE("an optional output may hold nothing") {
  OnnxModel<L> f = read<L>(model({.nodes = {node("Optional", {}, {"o"}), node("Neg", {"x"}, {"y"})},
                                  .inputs = {value("x", {"2"})},
                                  .outputs = {optional("o"), value("y", {"2"})}}));
  const NamedList<L> results = f({{"x", L{1.0, 2.0}}});
  REQUIRE(results.size() == 1);
  CHECK(results["y"].to_vector<float>() == std::vector<float>{-1, -2});
}

TEST_CASE("a map runs its body for each tensor, and wants sequences of one length") {
  const Message body = graph({.nodes = {node("Sub", {"p", "q"}, {"r"})},
                              .inputs = {value("p", {"2"}), value("q", {"2"})},
                              .outputs = {value("r", {"2"})}});
  OnnxModel<L> f = read<L>(one_node(node("SequenceMap", {"s", "o"}, {"t"}, {graph_attribute("body", body)}),
                                    {sequence("s"), sequence("o")}, {sequence("t")}));
  const L a{5.0, 6.0}, b{1.0, 2.0};
  const NamedList<L> results = f({{"s[0]", a}, {"s[1]", b}, {"o[0]", b}, {"o[1]", a}});
  REQUIRE(results.size() == 2);
  CHECK(results["t[0]"].to_vector<float>() == std::vector<float>{4, 4});
  CHECK(results["t[1]"].to_vector<float>() == std::vector<float>{-4, -4});
  CHECK(message_of([&] {
          f({{"s[0]", a}, {"s[1]", b}, {"o[0]", b}});
        }) == "m.onnx: node 't' (SequenceMap): sequences of 2 and 1 tensors; all must be of one length");
}

TEST_CASE("misuse of sequences and optionals is told by node and input") {
  const E x{1.0, 2.0};
  const auto at = [](const char* op, const std::vector<std::string>& inputs,
                     const std::vector<Message>& attributes = {}) {
    return read<E>(one_node(node(op, inputs, {"y"}, attributes),
                            {sequence("s"), value("x", {"2"}), number("n"), optional("o")}, {value("y", {"?"})}),
                   {});
  };
  const auto refusal = [&](OnnxModel<E> f, std::int64_t n = 0) {
    return message_of([&] { f({{"s[0]", x}, {"s[1]", x}, {"x", x}, {"n", E::full({}, n, DType::i64)}}); });
  };
  CHECK(refusal(at("SequenceAt", {"s", "n"}), 2) ==
        "m.onnx: node 'y' (SequenceAt): position 2 in a sequence of 2; they go from -2 to 1");
  CHECK(refusal(at("SequenceAt", {"x", "n"})) ==
        "m.onnx: node 'y' (SequenceAt): input 1 is a tensor, expected a sequence");
  CHECK(refusal(at("Neg", {"s"})) == "m.onnx: node 'y' (Neg): input 1 is a sequence, expected a tensor");
  CHECK(refusal(at("OptionalGetElement", {"o"})) ==
        "m.onnx: node 'y' (OptionalGetElement): the optional holds nothing");
  CHECK(refusal(at("SplitToSequence", {"x", "n"})) ==
        "m.onnx: node 'y' (SplitToSequence): pieces of length 0; it must be positive");
  OnnxModel<E> joined = at("ConcatFromSequence", {"s"}, {attribute("axis", std::int64_t{0})});
  const E n = E::full({}, 0, DType::i64);
  CHECK(joined({{"s[0]", x}, {"s[1]", x}, {"x", x}, {"n", n}})["y"].shape() == Shape{4});
  CHECK(message_of([&] {
          joined({{"x", x}, {"n", n}});
        }) == "m.onnx: node 'y' (ConcatFromSequence): the sequence is empty: its tensors would have no shape");
  CHECK(message_of([&] {
          joined({{"s[1]", x}, {"x", x}, {"n", n}});
        }) == "m.onnx: input 's[1]' is given without 's[0]'");
  CHECK(message_of([&] {
          joined({{"s", x}, {"x", x}, {"n", n}});
        }) == "m.onnx: there is no input 's'; there are 's[0]', ..., 'x', 'n', 'o'");
  CHECK(message_of([&] {
          at("SequenceErase", {"s"})({{"x", x}, {"n", n}});
        }) == "m.onnx: node 'y' (SequenceErase): the sequence is empty: there is nothing to erase");
}

}  // namespace tyto::onnx_tests::sequences
