// SPDX-License-Identifier: MIT
// Inspecting a model: its nodes, the types and shapes of their results, values inside of it, tensors beside it.
#include <fstream>
#include <sstream>

#include <doctest/doctest.h>
#include <tyto/onnx.hpp>
#include <tyto/tyto.hpp>

#include "tests/onnx/model_text.hpp"
#include "tests/support/temporary_folder.hpp"

namespace onnx_inspection_test {

using namespace tyto;
using namespace tyto::onnx_tests;

namespace {

// p = x w, q = -p, y = sum of q; parts are of a sequence.
std::string written() {
  return model({.nodes = {node("MatMul", {"x", "w"}, {"p"}), node("Neg", {"p"}, {"q"}),
                          node("ReduceSum", {"q"}, {"y"}, {attribute("keepdims", std::int64_t{0})}),
                          node("SequenceConstruct", {"p", "q"}, {"parts"})},
                .inputs = {value("x", {"rows", "2"})},
                .outputs = {value("y", {}), sequence("parts")},
                .initialisers = {raw_tensor<float>("w", {2, 3}, {1, 2, 3, 4, 5, 6})}});
}

std::string in_words(const std::vector<ModelTensor>& tensors) {
  std::ostringstream out;
  for (const ModelTensor& each : tensors) out << each << "; ";
  return out.str();
}

}  // namespace

TEST_CASE_TEMPLATE("values inside of a model are given behind its outputs", M, Eager, Lazy) {
  using T = Tensor<M>;
  auto model = read<T>(written(), {.outputs = {"q", "y", "w", "parts[1]", "x"}});
  CHECK(model.outputs().size() == 5);
  for (int round = 0; round < 2; ++round) {
    const NamedList<T> results = model({{"x", T{{1.0, 0.0}, {0.0, 1.0}}}});
    CHECK(results["y"].template item<float>() == -21);
    CHECK(results["q"].template to_vector<float>() == std::vector<float>{-1, -2, -3, -4, -5, -6});
    CHECK(results["w"].template to_vector<float>() == std::vector<float>{1, 2, 3, 4, 5, 6});
    CHECK(results["x"].template to_vector<float>() == std::vector<float>{1, 0, 0, 1});
    CHECK(results["parts[1]"].shape() == Shape{2, 3});
  }
  CHECK_THROWS_WITH_AS(read<T>(written(), {.outputs = {"r"}}), "m.onnx: there is no value 'r' in its graph",
                       IndexError);
  CHECK_THROWS_AS(read<T>(written(), {.outputs = {""}}), IndexError);
  CHECK_THROWS_AS(read<T>(written(), {.outputs = {"y[0]"}}), IndexError);
}

TEST_CASE_TEMPLATE("nodes are listed, and what they give in types and shapes, before a model runs and behind", M, Eager,
                   Lazy) {
  using T = Tensor<M>;
  auto model = read<T>(written());
  REQUIRE(model.info().nodes.size() == 4);
  CHECK(model.info().nodes[0].op == "MatMul");
  CHECK(model.info().nodes[0].inputs == std::vector<std::string>{"x", "w"});
  CHECK(model.info().nodes[2].outputs == std::vector<std::string>{"y"});
  for (int round = 0; round < 2; ++round) {
    CHECK(in_words(model.values({{"x", {5, 2}}})) == "p f32 (5,3); q f32 (5,3); y f32 (); parts[] f32 (...); ");
    model({{"x", T::ones({4, 2})}});
  }
  CHECK_THROWS_AS(model.values(), ShapeError);
}

TEST_CASE("what follows from elements has no type and shape before they are known") {
  using L = Tensor<Lazy>;
  const std::string bytes = model({.nodes = {node("NonZero", {"x"}, {"places"}), node("Neg", {"places"}, {"y"}),
                                             node("Reshape", {"x", "shape"}, {"z"})},
                                   .inputs = {value("x", {"2", "3"}), value("shape", {"2"}, DType::i64)},
                                   .outputs = {value("y", {"2", "n"}, DType::i64), value("z", {"a", "b"})}});
  CHECK(in_words(read<L>(bytes).values()) == "places ? (...); y ? (...); z ? (...); ");
  auto bound = read<L>(bytes, {.bind = {{"shape", Tensor<Any>{std::int64_t{3}, std::int64_t{2}}}}});
  CHECK(in_words(bound.values()) == "places ? (...); y ? (...); z f32 (3,2); ");
}

TEST_CASE_TEMPLATE("tensors are read from files of their own", M, Eager, Lazy) {
  using T = Tensor<M>;
  const testing::TemporaryFolder folder;
  const auto written_to = [&](const char* name, const std::string& bytes) {
    std::ofstream(folder / name, std::ios::binary) << bytes;
    return std::string(folder / name);
  };
  const Message x = raw_tensor<float>("x", {2}, {1.5F, -2}), y = raw_tensor<float>("y", {1}, {7});
  Message both, some;
  both.message(3, x);
  both.message(3, y);
  some.message(5, both);
  const ModelTensor one{.name = "x", .dtype = {}, .shape = {}};
  const ModelTensor several{.name = "x", .sequence = true, .dtype = {}, .shape = {}};
  const auto read_one = read_onnx_tensors<T>(written_to("one.pb", x.bytes()), one);
  REQUIRE(read_one.size() == 1);
  CHECK(read_one[0].template to_vector<float>() == std::vector<float>{1.5F, -2});
  for (const std::string& bytes : {both.bytes(), some.bytes()}) {
    const auto read = read_onnx_tensors<T>(written_to("both.pb", bytes), several);
    REQUIRE(read.size() == 2);
    CHECK(read[1].template to_vector<float>() == std::vector<float>{7});
  }
  CHECK(read_onnx_tensors<T>(written_to("none.pb", ""), several).empty());
  Message words;
  words.integer(1, 1);
  words.integer(2, 8);
  words.text(6, "a word");
  CHECK_THROWS_WITH_AS(
      read_onnx_tensors<T>(written_to("words.pb", words.bytes()), one),
      ((folder / "words.pb") + ": holds text, which each model has numbers of its own for; see OnnxModel::encode_text")
          .c_str(),
      IoError);
  CHECK_THROWS_AS(read_onnx_tensors<T>(written_to("rubbish.pb", "\xff\xff\xff"), one), IoError);
  CHECK_THROWS_AS(read_onnx_tensors<T>(folder / "missing.pb", one), IoError);
}

}  // namespace onnx_inspection_test
