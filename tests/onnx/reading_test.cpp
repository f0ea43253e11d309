// SPDX-License-Identifier: MIT
// Contents of ONNX files that are read, and those that are refused.
#include <sstream>

#include <doctest/doctest.h>
#include <tyto/tyto.hpp>

#include "tests/onnx/model_text.hpp"
#include "tests/support/both_modes.hpp"
#include "tests/support/temporary_folder.hpp"

namespace tyto::onnx_tests {
namespace {

using E = Tensor<Eager>;

std::vector<float> sum_with(const Message& weights, const std::vector<float>& x) {
  OnnxModel<E> read_model = read<E>(model(adding(weights)));
  return read_model({{"x", E::from(x, {static_cast<std::int64_t>(x.size())})}})["y"].to_vector<float>();
}

}  // namespace

TEST_CASE("weights are read from raw bytes and from lists of numbers") {
  CHECK(sum_with(raw_tensor<float>("w", {2}, {1, 2}), {10, 20}) == std::vector<float>{11, 22});
  Message listed;
  listed.integer(1, 2);
  listed.integer(2, 1);
  listed.text(8, "w");
  listed.single(4, 1.5F);
  listed.single(4, 2.5F);
  CHECK(sum_with(listed, {10, 20}) == std::vector<float>{11.5F, 22.5F});
  Message packed;
  packed.text(1, "\x02");  // one length, packed
  packed.integer(2, 1);
  packed.text(8, "w");
  packed.text(4, std::string_view("\0\0\x80\x3f\0\0\0\x40", 8));
  CHECK(sum_with(packed, {10, 20}) == std::vector<float>{11, 22});
}

TEST_CASE("halves and bool are listed as integers") {
  Message half, truth;
  half.integer(1, 1);
  half.integer(2, 10);
  half.text(8, "w");
  half.integer(5, 0x3e00);  // 1.5
  truth.integer(1, 1);
  truth.integer(2, 9);
  truth.text(8, "b");
  truth.integer(5, 7);
  const std::string bytes = model({.nodes = {node("Cast", {"w"}, {"y"}, {attribute("to", std::int64_t{1})}),
                                             node("Cast", {"b"}, {"z"}, {attribute("to", std::int64_t{7})})},
                                   .outputs = {value("y", {"1"}), value("z", {"1"}, DType::i64)},
                                   .initialisers = {half, truth}});
  OnnxModel<E> read_model = read<E>(bytes);
  const NamedList<E> out = read_model({});
  CHECK(out["y"].item<float>() == 1.5F);
  CHECK(out["z"].item<std::int64_t>() == 1);
}

TEST_CASE("a file that is damaged is refused with a reason") {
  const std::string whole = model(adding(raw_tensor<float>("w", {2}, {1, 2})));
  CHECK(refusal(whole) == "");
  CHECK(refusal("") == "m.onnx: is no ONNX model: it holds no graph");
  CHECK(refusal(whole.substr(0, whole.size() - 1)).find("m.onnx: ends inside of a message: ") == 0);
  CHECK(refusal("\x0b") ==
        "m.onnx: is no ONNX model, or damaged: field 1 has the wire type 3; known are 0, 1, 2 and 5");
  CHECK(refusal(std::string("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 11)) ==
        "m.onnx: holds an integer of more than 64 bits");
  CHECK(refusal(std::string("\x38\x01", 2)) == "m.onnx: field 7 has the wire type 0, expected 2");
  Message deep = graph({});
  for (int i = 0; i < 40; ++i)
    deep = graph({.nodes = {node("If", {"c"}, {"y"}, {graph_attribute("then_branch", deep)})}});
  CHECK(refusal(model(deep)) == "m.onnx: messages nest more than 64 deep");
}

TEST_CASE("shapes, types and bytes of weights must agree") {
  const auto with = [](const Message& weights) { return refusal(model(adding(weights))); };
  CHECK(with(raw_tensor<float>("w", {3}, {1, 2})) == "m.onnx: 'w': has 8 bytes, its shape (3,) of f32 needs 12");
  CHECK(with(raw_tensor<float>("w", {-1}, {1, 2})) == "m.onnx: 'w': has the length -1; lengths must not be negative");
  CHECK(with(raw_tensor<float>("w", {1LL << 40, 1LL << 40, 0}, {})) ==
        "m.onnx: 'w': has shape (1099511627776,1099511627776,0), too large for memory");
  Message listed;
  listed.integer(1, 2);
  listed.integer(2, 1);
  listed.text(8, "w");
  listed.single(4, 1);
  CHECK(with(listed) == "m.onnx: 'w': has 1 numbers for shape (2,)");
}

TEST_CASE("names of values are defined once, somewhere") {
  CHECK(refusal(model({.nodes = {node("Add", {"x", "q"}, {"z"}), node("Neg", {"z"}, {"y"})},
                       .inputs = {value("x", {"n"})},
                       .outputs = {value("y", {"n"})}})) ==
        "m.onnx: node 'z' (Add): its input 'q' is computed nowhere");
  CHECK(refusal(model({.nodes = {node("Neg", {"x"}, {"y"}), node("Abs", {"x"}, {"y"})},
                       .inputs = {value("x", {"n"})},
                       .outputs = {value("y", {"n"})}})) == "m.onnx: two values are named 'y'");
  CHECK(refusal(model({.inputs = {value("x", {"n"})}, .outputs = {value("y", {"n"})}})) ==
        "m.onnx: the graph's output 'y' is computed nowhere");
}

TEST_CASE("all that is unsupported is listed at once") {
  Message complex_tensor;
  complex_tensor.integer(1, 1);
  complex_tensor.integer(2, 14);
  complex_tensor.text(8, "waves");
  const std::string bytes = model({.nodes = {node("StringNormalizer", {"x"}, {"a"}), node("Neg", {"x"}, {"b"}),
                                             node("Sort", {"b"}, {"y"}, {}, "elsewhere")},
                                   .inputs = {value("x", {"n"})},
                                   .outputs = {value("y", {"n"})},
                                   .initialisers = {complex_tensor}});
  CHECK(refusal(bytes) ==
        "m.onnx: 3 things are unsupported:\n"
        "  initialiser 'waves': elements of type complex64\n"
        "  node 'a' (StringNormalizer): no such operator here in version 17\n"
        "  node 'y' (elsewhere.Sort): the file imports no operator set of its domain");
  CHECK(refusal(model(GraphParts(), 99)) == "m.onnx: imports operator set 99; the newest known is 28");
}

TEST_CASE("an attribute that nobody knows is not disregarded") {
  OnnxModel<E> read_model = read<E>(model({.nodes = {node("Neg", {"x"}, {"y"}, {attribute("twice", std::int64_t{1})})},
                                           .inputs = {value("x", {"n"})},
                                           .outputs = {value("y", {"n"})}}));
  CHECK_THROWS_WITH_AS(read_model({{"x", E{1.0}}}),
                       "m.onnx: node 'y' (Neg): attribute 'twice' is not known in version 17", IoError);
}

TEST_CASE("an axis that is resized to one element by its corners is its first element") {
  OnnxModel<E> read_model =
      read<E>(model({.nodes = {node("Resize", {"x", "", "", "sizes"}, {"y"},
                                    {text_attribute("coordinate_transformation_mode", "align_corners"),
                                     text_attribute("mode", "cubic"), attribute("exclude_outside", std::int64_t{1})})},
                     .inputs = {value("x", {"1", "1", "3", "4"})},
                     .outputs = {value("y", {"1", "1", "1", "4"})},
                     .initialisers = {raw_tensor<std::int64_t>("sizes", {4}, {1, 1, 1, 4})}}));
  const E x = E::arange(12).astype(DType::f32).reshape({1, 1, 3, 4});
  CHECK(read_model({{"x", x}})["y"].template to_vector<float>() == std::vector<float>{0, 1, 2, 3});
}

TEST_CASE("defaults that exporters write out are accepted where they say nothing") {
  const Message activations = texts("activations", {"Tanh", "Tanh"});
  using Floats = std::vector<float>;
  const auto y_of = [](const std::string& bytes, const E& x) {
    return read<E>(bytes)({{"x", x}})["y"].template to_vector<float>();
  };
  CHECK(y_of(model({.nodes = {node("Resize", {"x", "", "scales"}, {"y"},
                                   {text_attribute("keep_aspect_ratio_policy", "stretch")})},
                    .inputs = {value("x", {"1", "1", "1", "2"})},
                    .outputs = {value("y", {"1", "1", "1", "4"})},
                    .initialisers = {raw_tensor("scales", {4}, Floats{1, 1, 1, 2})}},
                   18),
             E{{{{1.0, 2.0}}}}) == Floats{1, 1, 2, 2});
  const Floats state = y_of(
      model(
          {.nodes = {node("RNN", {"x", "w", "r"}, {"", "y"}, {attribute("hidden_size", std::int64_t{1}), activations})},
           .inputs = {value("x", {"1", "1", "1"})},
           .outputs = {value("y", {"1", "1", "1"})},
           .initialisers = {raw_tensor("w", {1, 1, 1}, Floats{1}), raw_tensor("r", {1, 1, 1}, Floats{1})}}),
      E{{{0.5}}});
  CHECK(state[0] == doctest::Approx(0.46211716));  // tanh(0.5)
  CHECK(y_of(model({.nodes = {node("Range", {"start", "x", "step"}, {"y"}, {attribute("stash_type", std::int64_t{1})})},
                    .inputs = {value("x", {})},
                    .outputs = {value("y", {"n"})},
                    .initialisers = {raw_tensor("start", {}, Floats{0}), raw_tensor("step", {}, Floats{1})}},
                   27),
             E(3.0)) == Floats{0, 1, 2});
}

TEST_CASE("errors of operators name file, node and operator") {
  OnnxModel<E> read_model = read<E>(model({.nodes = {node("MatMul", {"a", "b"}, {"c"})},
                                           .inputs = {value("a", {"i", "j"}), value("b", {"k", "l"})},
                                           .outputs = {value("c", {"i", "l"})}}));
  CHECK_THROWS_WITH_AS(read_model({{"a", E::ones({2, 3})}, {"b", E::ones({4, 5})}}),
                       "m.onnx: node 'c' (MatMul): matmul: inner sizes differ: (2,3) x (4,5)", ShapeError);
}

TEST_CASE("an axis that a tensor has not is refused, however far off it is") {
  const E x = E::ones({2, 3});
  const auto refused = [&](const char* op, std::int64_t axis, std::size_t further) {
    std::vector<std::string> inputs{"x", "s", "s"};
    inputs.resize(1 + further);
    OnnxModel<E> read_model = read<E>(model({.nodes = {node(op, inputs, {"y"}, {attribute("axis", axis)})},
                                             .inputs = {value("x", {"2", "3"}), value("s", {"3"})},
                                             .outputs = {value("y", {"2", "3"})}},
                                            24));
    try {
      read_model({{"x", x}, {"s", E::ones({3})}});
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  for (const std::int64_t axis : {INT64_MIN, std::int64_t{-1'000'000}, std::int64_t{-3}, std::int64_t{2}, INT64_MAX}) {
    const std::string stated = "axis " + std::to_string(axis) + " of 2 axes";
    CHECK(refused("QuantizeLinear", axis, 1).find(stated) != std::string::npos);
    CHECK(refused("LayerNormalization", axis, 1).find(stated) != std::string::npos);
    CHECK(refused("RMSNormalization", axis, 1).find(stated) != std::string::npos);
  }
  CHECK(refused("QuantizeLinear", 1, 1).empty());
  CHECK(refused("LayerNormalization", -1, 2).empty());
}

TEST_CASE("a causal query sees the keys up to its place, the last one all, as in ONNX Runtime") {
  OnnxModel<E> read_model = read<E>(
      model({.nodes = {node("MultiHeadAttention", {"q", "k", "v"}, {"y"},
                            {attribute("num_heads", std::int64_t{1}), attribute("unidirectional", std::int64_t{1})},
                            "com.microsoft")},
             .inputs = {value("q", {"1", "3", "1"}), value("k", {"1", "4", "1"}), value("v", {"1", "4", "1"})},
             .outputs = {value("y", {"1", "3", "1"})}}));
  // Queries of zero weigh what they see alike.
  const E v = E::from(std::vector<float>{1, 3, 8, 16}, {1, 4, 1});
  CHECK(read_model({{"q", E::zeros({1, 3, 1})}, {"k", E::ones({1, 4, 1})}, {"v", v}})["y"].to_vector<float>() ==
        std::vector<float>{1, 2, 7});
}

TEST_CASE("operators of attention refuse inputs of other ranks than theirs") {
  const auto called = [&](std::string_view op, const std::vector<Shape>& shapes,
                          const std::vector<Message>& attributes) {
    GraphParts parts;
    std::vector<std::string> names;
    NamedList<E> given;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      names.push_back("x" + std::to_string(i));
      std::vector<std::string> lengths;
      for (const std::int64_t length : shapes[i]) lengths.push_back(std::to_string(length));
      parts.inputs.push_back(value(names.back(), lengths));
      given.emplace_back(names.back(), E::ones(shapes[i]));
    }
    parts.nodes = {node(op, names, {"y"}, attributes, "com.microsoft")};
    parts.outputs = {value("y", {"n"})};
    read<E>(model(parts))(given);
  };
  CHECK_THROWS_WITH_AS(called("Attention", {{2, 6}, {6, 18}, {18}}, {attribute("num_heads", std::int64_t{2})}),
                       doctest::Contains("(com.microsoft.Attention): input 0 of shape (2,6), expected 3 axes"),
                       IoError);
  CHECK_THROWS_WITH_AS(called("RotaryEmbedding", {{1, 2, 4}, {1}, {8}, {8, 2}}, {}),
                       doctest::Contains("(com.microsoft.RotaryEmbedding): input 2 of shape (8,), expected 2 axes"),
                       IoError);
}

TEST_CASE("a file that is not there, or no file, is refused") {
  const testing::TemporaryFolder folder;
  CHECK(refused_file(folder / "m.onnx") == folder / "m.onnx" + ": cannot be opened: No such file or directory");
  CHECK(refused_file(folder / "") == folder / "" + ": is no regular file");
  write(folder / "empty.onnx", "");
  CHECK(refused_file(folder / "empty.onnx") == folder / "empty.onnx" + ": is no ONNX model: it holds no graph");
}

TEST_CASE("integers of four and two bits are unpacked, and their bytes are counted") {
  const auto packed = [](std::int64_t element_type, std::int64_t count, std::string_view bytes) {
    Message m;
    m.integer(1, count);
    m.integer(2, element_type);
    m.text(8, "w");
    m.text(9, bytes);
    return model(GraphParts{.nodes = {node("Cast", {"w"}, {"y"}, {attribute("to", std::int64_t{6})})},
                            .outputs = {value("y", {std::to_string(count)}, DType::i32)},
                            .initialisers = {m}},
                 25);
  };
  using Numbers = std::vector<std::int32_t>;
  const auto numbers = [&](const std::string& bytes) {
    return read<Tensor<Eager>>(bytes)(NamedList<Tensor<Eager>>{})["y"].to_vector<std::int32_t>();
  };
  constexpr std::int64_t uint4 = 21, int4 = 22, uint2 = 25, int2 = 26;
  CHECK(numbers(packed(int4, 3, "\x87\x0f")) == Numbers{7, -8, -1});
  CHECK(numbers(packed(uint4, 3, "\x87\x0f")) == Numbers{7, 8, 15});
  CHECK(numbers(packed(int2, 5, "\xe4\x02")) == Numbers{0, 1, -2, -1, -2});
  CHECK(numbers(packed(uint2, 5, "\xe4\x02")) == Numbers{0, 1, 2, 3, 2});
  CHECK_THROWS_WITH_AS(read<Tensor<Eager>>(packed(int4, 5, "\x87\x0f")),
                       "m.onnx: 'w': has 2 bytes, its shape (5,) of int4 needs 3", IoError);
}

BOTH_MODES("numbers that are given for an input of 8 bits are rounded once, from what they are") {
  using T = Tensor<Mode>;
  Message shape, dimension, tensor, type;
  dimension.integer(1, 4);
  shape.message(1, dimension);
  tensor.integer(1, 17);  // E4M3FN: 3 digits behind the first
  tensor.message(2, shape);
  type.message(1, tensor);
  OnnxModel<T> f = read<T>(model(GraphParts{.nodes = {node("Cast", {"x"}, {"y"}, {attribute("to", std::int64_t{1})})},
                                            .inputs = {typed("x", type)},
                                            .outputs = {value("y", {"4"})}},
                                 19));
  std::ostringstream described;
  described << f.inputs()[0];
  CHECK(described.str() == "x float8e4m3fn (4)");
  // f16 would round the second to the tie between 1 and 1.125.
  CHECK(f({{"x", T{1.0625, 1.0625 + 0x1p-13, -1000.0, 0.3}}})["y"].template to_vector<float>() ==
        std::vector<float>{1, 1.125, -448, 0.3125});
}

TEST_CASE("values of four bits are known as such when they are given to a model, too") {
  constexpr std::int64_t int4 = 22, int32 = 6;
  Message shape, dimension, tensor, type;
  dimension.integer(1, 1);
  shape.message(1, dimension);
  tensor.integer(1, int4);
  tensor.message(2, shape);
  type.message(1, tensor);
  const std::string bytes = model(
      GraphParts{.nodes = {node("CastLike", {"x", "k"}, {"z"}), node("Cast", {"z"}, {"y"}, {attribute("to", int32)})},
                 .inputs = {value("x", {"n"}), typed("k", type)},
                 .outputs = {value("y", {"n"}, DType::i32)}},
      21);
  const auto numbers = [&]<class T>(const T& x) {
    return read<T>(bytes)({{"x", x}, {"k", T::zeros({1}, DType::i8)}})["y"].template to_vector<std::int32_t>();
  };
  CHECK(numbers(E{9, -9, 7.5, -8.5}) == std::vector<std::int32_t>{-7, 7, 7, -8});
  CHECK(numbers(Tensor<Lazy>{9, -9, 7.5, -8.5}) == std::vector<std::int32_t>{-7, 7, 7, -8});
}

}  // namespace tyto::onnx_tests
