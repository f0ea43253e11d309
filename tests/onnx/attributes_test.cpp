// SPDX-License-Identifier: MIT
// Extreme attributes, and inputs that give shapes, are refused by name, without a crash, overflow or allocation of more
// than memory holds.
#include <doctest/doctest.h>
#include <tyto/tyto.hpp>

#include <limits>

#include "tests/onnx/model_text.hpp"

namespace tyto::onnx_tests {
namespace {

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max(),
                       least = std::numeric_limits<std::int64_t>::min();

struct Given {
  std::string name;
  Shape shape;
  std::vector<std::int64_t> integers = {};  // of what says a shape; the others are zeros of f32
};

template <class T>
std::string outcome(const Message& one, const std::vector<Given>& inputs, int version) {
  GraphParts parts{.nodes = {one}, .inputs = {}, .outputs = {value("y", {"n"})}, .initialisers = {}};
  NamedList<T> given;
  for (const Given& each : inputs) {
    if (!each.integers.empty()) {
      parts.initialisers.push_back(raw_tensor<std::int64_t>(
          each.name, std::vector<std::int64_t>(each.shape.begin(), each.shape.end()), each.integers));
      continue;
    }
    std::vector<std::string> lengths;
    for (const std::int64_t length : each.shape) lengths.push_back(std::to_string(length));
    parts.inputs.push_back(value(each.name, lengths));
    given.push_back({each.name, T::zeros(each.shape)});
  }
  try {
    // Lengths of 0 are open ones in a file, and the output has another rank: both are what the call makes them.
    for (const Named<T>& output : read<T>(model(parts, version))(given)) (void)output.value.bytes();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

void refuses(const std::string& phrase, const Message& one, const std::vector<Given>& inputs, int version = 23) {
  for (const std::string& text :
       {outcome<Tensor<Eager>>(one, inputs, version), outcome<Tensor<Lazy>>(one, inputs, version)}) {
    CAPTURE(phrase);
    CHECK_MESSAGE(text.find(phrase) != std::string::npos, text);
  }
}

const Given image{"x", {1, 2, 5, 5}};

Message of(std::string_view op, const std::vector<std::string>& inputs, const std::vector<Message>& attributes = {}) {
  return node(op, inputs, {"y"}, attributes);
}

}  // namespace

TEST_CASE("windows with padding, steps or dilations beyond every axis are refused") {
  const Message kernel = attribute("kernel_shape", std::vector<std::int64_t>{2, 2});
  for (const std::int64_t far : {most, least, (std::int64_t{1} << 31) + 1}) {
    refuses("no axis is so long", of("AveragePool", {"x"}, {kernel, attribute("pads", {0, far, 0, 0})}), {image});
    refuses("no axis is so long", of("AveragePool", {"x"}, {kernel, attribute("dilations", {far, 1})}), {image});
    refuses("no axis is so long", of("MaxPool", {"x"}, {kernel, attribute("strides", {1, far})}), {image});
    refuses("no axis is so long", of("MaxPool", {"x"}, {attribute("kernel_shape", {far, 2})}), {image});
    refuses("no axis is so long", of("Conv", {"x", "w"}, {attribute("pads", {far, 0, 0, 0})}),
            {image, {"w", {1, 2, 2, 2}}});
    refuses("no axis is so long", of("Pad", {"x", "pads"}), {{"x", {2}}, {"pads", {2}, {far, 0}}});
    refuses("no axis is so long", of("DepthToSpace", {"x"}, {attribute("blocksize", far)}), {image});
  }
  refuses("no axis is so long", of("SpaceToDepth", {"x"}, {attribute("blocksize", std::int64_t{1} << 32)}), {image});
}

TEST_CASE("blocks, groups and heads that divide nothing are refused") {
  const Given columns{"x", {1, 4, 9}}, size{"size", {2}, {4, 4}};
  for (const std::vector<std::int64_t>& block : {std::vector<std::int64_t>{0, 2}, {least, 2}, {most, most}, {3, 1}}) {
    refuses("blocks of", of("Col2Im", {"x", "size", "block"}), {columns, size, {"block", {2}, block}});
  }
  const Given q{"q", {1, 4, 3, 8}}, k{"k", {1, 2, 3, 8}}, none{"v", {1, 0, 3, 8}};
  refuses("heads", of("Attention", {"q", "k", "v"}), {q, k, none});
  refuses("groups", of("DeformConv", {"x", "w", "o"}, {attribute("group", std::int64_t{0})}),
          {image, {"w", {1, 2, 2, 2}}, {"o", {1, 8, 4, 4}}});
  refuses("of offsets", of("DeformConv", {"x", "w", "o"}, {attribute("offset_group", std::int64_t{0})}),
          {image, {"w", {1, 2, 2, 2}}, {"o", {1, 8, 4, 4}}});
  refuses("num_outputs", of("Split", {"x"}, {attribute("num_outputs", most)}), {{"x", {4}}});
}

// Rows times one column of 30 weights that are all (9 - 8) * 1, in two blocks of 16; the padding behind them says 7.
template <class T>
std::string outcome_of_few_bits(const Shape& rows, const std::vector<Message>& zero_points) {
  std::vector<std::uint8_t> numbers(16, 0x99);
  numbers.back() = 0xff;
  std::vector<std::string> inputs{"a", "b", "s"};
  GraphParts parts{
      .outputs = {value("y", {"n"})},
      .initialisers = {raw_tensor<std::uint8_t>("b", {1, 2, 8}, numbers), raw_tensor<float>("s", {1, 2}, {1, 1})}};
  for (const Message& each : zero_points) {
    inputs.emplace_back("z");
    parts.initialisers.push_back(each);
  }
  parts.nodes = {node("MatMulNBits", inputs, {"y"},
                      {attribute("K", std::int64_t{30}), attribute("N", std::int64_t{1}),
                       attribute("bits", std::int64_t{4}), attribute("block_size", std::int64_t{16})},
                      "com.microsoft")};
  std::vector<std::string> lengths;
  for (const std::int64_t length : rows) lengths.push_back(std::to_string(length));
  parts.inputs = {value("a", lengths)};
  Message microsoft;
  microsoft.message(8, operator_set("com.microsoft", 1));
  try {
    const auto y = read<T>(model(parts) + microsoft.bytes())({{"a", T::ones(rows)}});
    return std::to_string(cast(sum(y[0].value), DType::i64).template item<std::int64_t>());
  } catch (const Error& error) {
    return error.what();
  }
}

TEST_CASE_TEMPLATE(
    "products with weights of few bits refuse rows of another length than K, and zero points of other types", T,
    Tensor<Eager>, Tensor<Lazy>) {
  CHECK(outcome_of_few_bits<T>({2, 30}, {}) == "60");
  CHECK(outcome_of_few_bits<T>({30}, {}) == "30");
  // As many blocks of 16 as 30 are.
  for (const Shape& rows : {Shape{1, 32}, Shape{31}, Shape{2, 17}, Shape{2, 29}}) {
    CAPTURE(rows.back());
    CHECK(outcome_of_few_bits<T>(rows, {}).find("the last axis must be K long") != std::string::npos);
  }
  CHECK(outcome_of_few_bits<T>({}, {}).find("the last axis must be K long") != std::string::npos);

  CHECK(outcome_of_few_bits<T>({1, 30}, {raw_tensor<std::uint8_t>("z", {1, 1}, {0x78})}) == "44");
  CHECK(outcome_of_few_bits<T>({1, 30}, {raw_tensor<float>("z", {1, 2}, {8, 7})}) == "44");
  const auto refused = [](const Message& zeros) {
    return outcome_of_few_bits<T>({1, 30}, {zeros}).find("zero points of") != std::string::npos;
  };
  CHECK(refused(raw_tensor<std::int8_t>("z", {1, 2}, {8, 7})));
  CHECK(refused(raw_tensor<std::int32_t>("z", {1, 2}, {8, 7})));
  CHECK(refused(raw_tensor<double>("z", {1, 2}, {8, 7})));
}

TEST_CASE("inputs with fewer axes than an operator reads are refused") {
  refuses("has too few axes", of("GatherND", {"x", "i"}), {{"x", {2}}, {"i", {}, {0}}});
  refuses("a signal of shape", of("STFT", {"x", "step", "", "length"}),
          {{"x", {8}}, {"step", {}, {1}}, {"length", {}, {4}}});
  refuses("axes", of("RotaryEmbedding", {"x", "c", "s"}), {{"x", {4}}, {"c", {2, 2}}, {"s", {2, 2}}});
  refuses("axes", of("GRU", {"x", "w", "r"}), {{"x", {2, 1, 3}}, {"w", {1, 6, 3}}, {"r", {6}}});
}

TEST_CASE("boxes in parts of which there are none are refused before any is computed") {
  for (const std::int64_t none : {std::int64_t{0}, std::int64_t{-3}}) {
    refuses("lengths must be positive",
            of("MaxRoiPool", {"x", "boxes"},
               {attribute("pooled_shape", std::vector<std::int64_t>{std::int64_t{1} << 31, none})}),
            {image, {"boxes", {1, 5}}});
  }
}

TEST_CASE("outputs that an operator does not have are refused, of constants, too") {
  const Message one = node("Mul", {"x", "x"}, {"y", "more"});
  refuses("it has no output 2, which the file names 'more'", one, {{"x", {2}}});
  refuses("it has no output 2, which the file names 'more'", one, {{"x", {2}, {3, 4}}});
}

TEST_CASE("limits of Clip are one number each, known or not") {
  refuses("input 2 has 3 elements, expected one", of("Clip", {"x", "low"}), {{"x", {2, 3}}, {"low", {3}}});
  refuses("input 3 has 3 elements, expected one", of("Clip", {"x", "low", "high"}),
          {{"x", {2, 3}}, {"low", {}}, {"high", {3}}});
}

TEST_CASE("lengths that memory cannot hold are refused before they are filled") {
  refuses("memory", of("HannWindow", {"size"}), {{"size", {}, {most}}});
  refuses("no axis is so long", of("DFT", {"x", "length"}), {{"x", {1, 4, 1}}, {"length", {}, {most}}});
  refuses("a size with the length", of("AffineGrid", {"x", "size"}),
          {{"x", {1, 2, 3}}, {"size", {4}, {1, 1, least, 4}}});
  refuses("memory", of("MelWeightMatrix", {"bins", "length", "rate", "low", "high"}),
          {{"bins", {}, {std::int64_t{1} << 31}},
           {"length", {}, {1 << 30}},
           {"rate", {}, {8000}},
           {"low", {}, {0}},
           {"high", {}, {4000}}});
  refuses("a length of", of("CenterCropPad", {"x", "size"}), {{"x", {4}}, {"size", {1}, {-1}}});
}

TEST_CASE("products of lengths that 64 bits do not hold are refused") {
  refuses("ngram_indexes",
          of("TfIdfVectorizer", {"x"},
             {text_attribute("mode", "TF"), attribute("min_gram_length", std::int64_t{1}),
              attribute("max_gram_length", std::int64_t{1}), attribute("max_skip_count", std::int64_t{0}),
              attribute("ngram_counts", std::vector<std::int64_t>{0}),
              attribute("ngram_indexes", std::vector<std::int64_t>{0, most}),
              attribute("pool_int64s", std::vector<std::int64_t>{1, 2})}),
          {{"x", {4}}});
  for (const std::int64_t hidden : {std::int64_t{1} << 62, most, least, std::int64_t{3}}) {
    refuses("hidden_size", of("LSTM", {"x", "w", "r", "b"}, {attribute("hidden_size", hidden)}),
            {{"x", {2, 1, 3}}, {"w", {1, 8, 3}}, {"r", {1, 8, 2}}, {"b", {1, 16}}});
  }
  const GraphParts parts{
      .nodes = {node("ConstantOfShape", {"s"}, {"x"}), of("Flatten", {"x"})},
      .inputs = {},
      .outputs = {value("y", {"n", "m"})},
      .initialisers = {raw_tensor<std::int64_t>("s", {4}, {0, std::int64_t{1} << 40, std::int64_t{1} << 40, 2})}};
  CHECK_THROWS_AS(read<Tensor<Eager>>(model(parts))({}), Error);
  CHECK_THROWS_AS(read<Tensor<Lazy>>(model(parts))({}), Error);
}

// The memory of tensors without elements may be nowhere.
TEST_CASE("classes of which there are none, and identities without columns, have no elements") {
  const auto size = [](const Message& one, const Message& numbers) {
    const GraphParts parts{.nodes = {one},
                           .inputs = {value("i", {"n"}, DType::i64)},
                           .outputs = {value("y", {"n", "m"})},
                           .initialisers = {numbers, raw_tensor<float>("v", {2}, {0, 1})}};
    NamedList<Tensor<Lazy>> y = read<Tensor<Lazy>>(model(parts))({{"i", Tensor<Lazy>::zeros({3}, DType::i64)}});
    CHECK(y[0].value.bytes().empty());
    return y[0].value.shape();
  };
  CHECK(size(of("OneHot", {"i", "d", "v"}), raw_tensor<std::int64_t>("d", {}, {0})) == Shape{3, 0});
  CHECK(size(of("EyeLike", {"e"}), raw_tensor<float>("e", {3, 0}, {})) == Shape{3, 0});
}

TEST_CASE("numbers that are none are refused where integers are made of them") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  refuses("seed", of("Bernoulli", {"x"}, {attribute("seed", nan)}), {{"x", {4}}});
  refuses("a scale of", of("Resize", {"x", "", "scales"}), {image, {"scales", {4}, {0, 1, 1, 1}}});
  refuses("seed", of("RandomNormalLike", {"x"}, {attribute("seed", 1e30F)}), {{"x", {4}}});
}

}  // namespace tyto::onnx_tests
