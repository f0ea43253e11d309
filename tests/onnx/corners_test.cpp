// SPDX-License-Identifier: MIT
// Corner cases of the standard that its own node tests leave out; values are worked by hand, sums in i64.
#include <doctest/doctest.h>
#include <tyto/tyto.hpp>

#include <cmath>

#include "tests/onnx/model_text.hpp"
#include "tests/support/both_modes.hpp"
#include "tests/support/numbers.hpp"

namespace tyto::onnx_tests::corners {
namespace {

using E = Tensor<Eager>;
using Integers = std::vector<std::int64_t>;
using tyto_test::Numbers;
using tyto_test::numbers;

/// The results of a model whose only constants are `constants` for `inputs`; its outputs are of rank `rank`.
template <class Mode>
NamedList<Tensor<Mode>> given_by(const std::vector<Message>& nodes, const NamedList<E>& inputs,
                                 const std::vector<Message>& constants, const std::vector<Message>& outputs,
                                 std::int64_t version = 21) {
  GraphParts parts{.nodes = nodes, .inputs = {}, .outputs = outputs, .initialisers = constants};
  NamedList<Tensor<Mode>> given;
  for (const Named<E>& input : inputs) {
    std::vector<std::string> lengths;
    for (const std::int64_t length : input.value.shape()) lengths.push_back(std::to_string(length));
    parts.inputs.push_back(value(input.name, lengths, input.value.dtype()));
    given.push_back({input.name, Tensor<Mode>::from_bytes(input.value.bytes().data(), input.value.size(),
                                                          input.value.shape(), input.value.dtype())});
  }
  OnnxModel<Tensor<Mode>> f = read<Tensor<Mode>>(model(parts, version));
  return f(given);
}

E integers(const Numbers& elements, const Shape& shape, DType dtype) { return E::from(elements, shape).astype(dtype); }

}  // namespace

BOTH_MODES("Split into pieces that are not even makes the last one shorter") {
  const Message split = node("Split", {"x"}, {"a", "b", "c"}, {attribute("num_outputs", std::int64_t{3})});
  const auto parts = given_by<Mode>({split}, {{"x", E::arange(0, 7, 1, DType::f32)}}, {},
                                    {value("a", {"n"}), value("b", {"n2"}), value("c", {"n3"})});
  CHECK(numbers(parts["a"]) == Numbers{0, 1, 2});
  CHECK(numbers(parts["b"]) == Numbers{3, 4, 5});
  CHECK(numbers(parts["c"]) == Numbers{6});
}

BOTH_MODES("SplitToSequence keeps the axis where lengths are given, whatever keepdims says") {
  const std::vector<Message> nodes{
      node("SplitToSequence", {"x", "lengths"}, {"s"}, {attribute("keepdims", std::int64_t{0})}),
      node("SequenceAt", {"s", "first"}, {"y"})};
  const auto found =
      given_by<Mode>(nodes, {{"x", E{{1.0, 2.0}, {3.0, 4.0}, {5.0, 6.0}}}},
                     {raw_tensor<std::int64_t>("lengths", {2}, {1, 2}), raw_tensor<std::int64_t>("first", {}, {0})},
                     {value("y", {"n", "m"})});
  CHECK(found["y"].shape() == Shape{1, 2});
  CHECK(numbers(found["y"]) == Numbers{1, 2});
}

BOTH_MODES("the extremes of nothing are the ends of the type") {
  struct Ends {
    DType dtype;
    double low, high;
  };
  for (const auto& [dtype, low, high] : {Ends{DType::u8, 0, 255}, Ends{DType::i8, -128, 127},
                                         Ends{DType::u16, 0, 65535}, Ends{DType::i16, -32768, 32767}}) {
    for (const bool largest : {true, false}) {
      const Message reduced =
          node(largest ? "ReduceMax" : "ReduceMin", {"x", "axes"}, {"y"}, {attribute("keepdims", std::int64_t{0})});
      const auto found = given_by<Mode>({reduced}, {{"x", E::zeros({0, 2}, dtype)}},
                                        {raw_tensor<std::int64_t>("axes", {1}, {0})}, {value("y", {"n"}, dtype)});
      CHECK(numbers(found["y"]) == Numbers(2, largest ? low : high));
    }
  }
}

BOTH_MODES("CenterCropPad leaves the odd element behind") {
  const auto centred = [](const E& x, std::int64_t length) {
    return numbers(given_by<Mode>({node("CenterCropPad", {"x", "shape"}, {"y"})}, {{"x", x}},
                                  {raw_tensor<std::int64_t>("shape", {1}, {length})}, {value("y", {"n"})})["y"]);
  };
  CHECK(centred(E{1.0, 2.0}, 5) == Numbers{0, 1, 2, 0, 0});
  CHECK(centred(E{1.0, 2.0, 3.0, 4.0, 5.0}, 2) == Numbers{2, 3});
}

BOTH_MODES("LpNormalization of zeros is zeros") {
  for (const std::int64_t p : {1, 2}) {
    const auto found = given_by<Mode>({node("LpNormalization", {"x"}, {"y"}, {attribute("p", p)})},
                                      {{"x", E{{0.0, 0.0}, {3.0, 4.0}}}}, {}, {value("y", {"n", "m"})});
    const Numbers got = numbers(found["y"]), expected{0, 0, p == 1 ? 3.0 / 7 : 0.6, p == 1 ? 4.0 / 7 : 0.8};
    for (std::size_t i = 0; i < 4; ++i) CHECK(std::abs(got[i] - expected[i]) < 1e-6);
  }
}

BOTH_MODES("MatMulInteger adds integers exactly, whatever types, zero points and numbers of terms, and wraps round") {
  constexpr std::int64_t rows = 3, columns = 5;
  const auto drawn = [](std::int64_t count, DType dtype, std::int64_t step) {
    Integers all;
    const std::int64_t lowest = dtype == DType::i8 ? -128 : 0;
    for (std::int64_t i = 0; i < count; ++i) all.push_back(lowest + (i * step + i / 7 + step) % 256);
    return all;
  };
  const auto tensor = [](const Integers& all, const Shape& shape, DType dtype) {
    return integers(Numbers(all.begin(), all.end()), shape, dtype);
  };
  for (const auto& [left, right] : {std::pair{DType::u8, DType::i8}, std::pair{DType::i8, DType::u8},
                                    std::pair{DType::u8, DType::u8}, std::pair{DType::i8, DType::i8}}) {
    for (const std::int64_t terms : {0, 1, 256, 257, 1301}) {
      for (const bool each : {false, true}) {
        const Integers a = drawn(rows * terms, left, 89), b = drawn(terms * columns, right, 167);
        const Integers a_zero = drawn(each ? rows : 1, left, each ? 53 : 0),
                       b_zero = drawn(each ? columns : 1, right, each ? 211 : 0);
        Numbers expected;
        for (std::int64_t i = 0; i < rows * columns; ++i) {
          const std::int64_t row = i / columns, column = i % columns;
          std::int64_t sum = 0;
          for (std::int64_t l = 0; l < terms; ++l) {
            const auto at = [](const Integers& all, std::int64_t place) {
              return all[static_cast<std::size_t>(place)];
            };
            sum += (at(a, row * terms + l) - at(a_zero, each ? row : 0)) *
                   (at(b, l * columns + column) - at(b_zero, each ? column : 0));
          }
          expected.push_back(static_cast<double>(sum));
        }
        const auto product = [&](const Shape& a_shape, const Shape& a_zeros, const Shape& b_zeros) {
          return numbers(given_by<Mode>({node("MatMulInteger", {"a", "b", "az", "bz"}, {"y"})},
                                        {{"a", tensor(a, a_shape, left)},
                                         {"b", tensor(b, {terms, columns}, right)},
                                         {"az", tensor(a_zero, a_zeros, left)},
                                         {"bz", tensor(b_zero, b_zeros, right)}},
                                        {}, {value("y", {"n", "m"}, DType::i32)})["y"]);
        };
        const std::int64_t a_zeros = each ? rows : 1, b_zeros = each ? columns : 1;
        CHECK(product({rows, terms}, {a_zeros}, {b_zeros}) == expected);
        CHECK(product({1, rows, terms}, {1, a_zeros, 1}, {1, b_zeros}) == expected);
      }
    }
  }
  const auto square = [&](std::int64_t terms) {
    Numbers all(static_cast<std::size_t>(terms), 255);
    if (terms > 0) all[0] = 254;  // for a sum that is odd
    const E a = integers(all, {terms}, DType::u8);
    return numbers(given_by<Mode>({node("MatMulInteger", {"a", "b"}, {"y"})}, {{"a", a}, {"b", a}}, {},
                                  {value("y", {}, DType::i32)})["y"]);
  };
  CHECK(square(0) == Numbers{0});
  CHECK(square(300) == Numbers{19506991});
  CHECK(square(40000) == Numbers{2600999491.0 - 4294967296.0});
}

BOTH_MODES("MatMulInteger by constant weights of either sign adds extreme bytes exactly, in batches and for one row") {
  for (const DType left : {DType::u8, DType::i8}) {
    for (const DType right : {DType::u8, DType::i8}) {
      for (const std::int64_t rows : {0, 1, 2, 40}) {
        constexpr std::int64_t terms = 200, columns = 48;
        const std::int64_t from = left == DType::i8 ? -128 : 0, to = from + 255;
        const std::int64_t least = right == DType::i8 ? -128 : 0, most = least + 255;
        std::vector<std::uint8_t> weights;
        for (std::int64_t i = 0; i < terms * columns; ++i) {
          weights.push_back(static_cast<std::uint8_t>(i % 3 == 0 ? least : most));
        }
        Numbers a, expected;
        for (std::int64_t i = 0; i < rows * terms; ++i) a.push_back(static_cast<double>(i % 5 < 2 ? from : to));
        for (std::int64_t i = 0; i < rows * columns; ++i) {
          std::int64_t sum = 0;
          for (std::int64_t l = 0; l < terms; ++l) {
            const std::int64_t weight = (l * columns + i % columns) % 3 == 0 ? least : most;
            sum += (static_cast<std::int64_t>(a[static_cast<std::size_t>(i / columns * terms + l)]) - (from + 7)) *
                   (weight - (most - 1));
          }
          expected.push_back(static_cast<double>(sum));
        }
        const bool one = rows == 1;
        const Shape shape = one ? Shape{1, terms} : Shape{2, rows / 2, terms};
        const auto found = given_by<Mode>(
            {node("MatMulInteger", {"a", "b", "az", "bz"}, {"y"})},
            {{"a", integers(a, shape, left)}, {"az", integers({static_cast<double>(from + 7)}, {}, left)}},
            {right == DType::i8 ? raw_tensor<std::int8_t>("b", {terms, columns}, {weights.begin(), weights.end()})
                                : raw_tensor<std::uint8_t>("b", {terms, columns}, weights),
             right == DType::i8 ? raw_tensor<std::int8_t>("bz", {}, {static_cast<std::int8_t>(most - 1)})
                                : raw_tensor<std::uint8_t>("bz", {}, {static_cast<std::uint8_t>(most - 1)})},
            {one ? value("y", {"n", "m"}, DType::i32) : value("y", {"k", "n", "m"}, DType::i32)});
        CAPTURE(rows);
        CHECK(numbers(found["y"]) == expected);
      }
    }
  }
}

TEST_CASE("MatMulIntegerToFloat takes one scale of its left operand") {
  const Message product = node("MatMulIntegerToFloat", {"a", "b", "as", "bs"}, {"y"}, {}, "com.microsoft");
  CHECK_THROWS_WITH_AS(given_by<Eager>({product},
                                       {{"a", E::ones({2, 3}, DType::u8)},
                                        {"b", E::ones({3, 2}, DType::i8)},
                                        {"as", E{1.0, 2.0, 3.0}},
                                        {"bs", E::ones({})}},
                                       {}, {value("y", {"n", "m"})}),
                       doctest::Contains("scales of shape (3,) of the left operand; one is expected"), Error);
}

BOTH_MODES("QLinearMatMul of rows with their own scales by a vector is a vector") {
  for (const std::int64_t terms : {2, 300}) {
    const Numbers b(static_cast<std::size_t>(terms), -3);
    Numbers a(2 * b.size(), 11);
    a[0] = 21;
    const auto found = given_by<Mode>({node("QLinearMatMul", {"a", "as", "az", "b", "bs", "bz", "ys", "yz"}, {"y"})},
                                      {{"a", integers(a, {2, terms}, DType::u8)},
                                       {"as", E{0.5, 2.0}},
                                       {"az", integers({11, 10}, {2}, DType::u8)},
                                       {"b", integers(b, {terms}, DType::i8)},
                                       {"bs", E::full({}, 0.25)},
                                       {"bz", integers({-4}, {}, DType::i8)},
                                       {"ys", E::full({}, static_cast<double>(terms) / 8)},
                                       {"yz", integers({100}, {}, DType::u8)}},
                                      {}, {value("y", {"n"}, DType::u8)});
    // Sums of 10 and terms in steps of 0.125 and 0.5, over terms / 8.
    CHECK(found["y"].shape() == Shape{2});
    CHECK(numbers(found["y"]) == Numbers{terms == 2 ? 105.0 : 100.0, 104});
  }
}

BOTH_MODES("QGemm adds its bias to sums that f32 does not hold") {
  Numbers all(600, 255);
  all[0] = 254;
  const E a = integers(all, {1, 600}, DType::u8), zero = integers({0}, {}, DType::u8);
  const auto found = given_by<Mode>(
      {node("QGemm", {"a", "s", "z", "a", "s", "z", "bias"}, {"y"}, {attribute("transB", std::int64_t{1})},
            "com.microsoft")},
      {{"a", a}, {"s", E::ones({})}, {"z", zero}, {"bias", integers({3.0 - 39014491.0}, {1}, DType::i32)}}, {},
      {value("y", {"n", "m"})});
  CHECK(numbers(found["y"]) == Numbers{3});
}

BOTH_MODES("Conv multiplies the bytes that its operands stand for, whatever their types, zero points and groups") {
  // Scales are powers of two, so sums in f32 are exact.
  constexpr std::int64_t channels = 4, filters = 6, size = 5, window = 3;
  for (const DType type : {DType::u8, DType::i8}) {
    for (const double zero : {0.0, 3.0}) {
      for (const std::int8_t w_zero : {std::int8_t{0}, std::int8_t{1}}) {
        for (const std::int64_t groups : {1, 2}) {
          CAPTURE(static_cast<int>(type));
          CAPTURE(zero);
          CAPTURE(w_zero);
          CAPTURE(groups);
          const std::int64_t group_in = channels / groups;
          Numbers x, sums;
          for (std::int64_t i = 0; i < channels * size * size; ++i)
            x.push_back(static_cast<double>(i * 37 % 256 - (type == DType::i8 ? 128 : 0)));
          std::vector<std::int8_t> w;
          for (std::int64_t i = 0; i < filters * group_in * window * window; ++i)
            w.push_back(static_cast<std::int8_t>(i * 61 % 255 - 127));
          const std::vector<float> scales{0.5f, 1, 2, 0.25f, 4, 0.125f}, bias{1, -2, 3, -4, 5, -6};
          // Padding of 1 above, 2 to the left and 1 to the right; strides 1 and 2: 4 by 3 results.
          for (std::int64_t o = 0; o < filters; ++o) {
            for (std::int64_t y = 0; y < 4; ++y) {
              for (std::int64_t column = 0; column < 3; ++column) {
                double sum = 0;
                for (std::int64_t i = 0; i < group_in * window * window; ++i) {
                  const std::int64_t channel = o / (filters / groups) * group_in + i / (window * window);
                  const std::int64_t row = y + i / window % window - 1, place = column * 2 + i % window - 2;
                  if (row < 0 || row >= size || place < 0 || place >= size) continue;
                  const double number = x[static_cast<std::size_t>((channel * size + row) * size + place)] - zero;
                  sum += number * (w[static_cast<std::size_t>(o * group_in * window * window + i)] - w_zero);
                }
                sums.push_back(sum * 0.25 * scales[static_cast<std::size_t>(o)] + bias[static_cast<std::size_t>(o)]);
              }
            }
          }
          const auto found =
              given_by<Mode>({node("DequantizeLinear", {"xq", "xs", "xz"}, {"x"}),
                              node("DequantizeLinear", {"wq", "ws", "wz"}, {"w"}, {attribute("axis", std::int64_t{0})}),
                              node("Conv", {"x", "w", "b"}, {"y"},
                                   {attribute("pads", Integers{1, 2, 0, 1}), attribute("strides", Integers{1, 2}),
                                    attribute("group", groups)})},
                             {{"xq", integers(x, {1, channels, size, size}, type)}},
                             {raw_tensor<float>("xs", {}, {0.25f}),
                              type == DType::u8 ? raw_tensor<std::uint8_t>("xz", {}, {static_cast<std::uint8_t>(zero)})
                                                : raw_tensor<std::int8_t>("xz", {}, {static_cast<std::int8_t>(zero)}),
                              raw_tensor<std::int8_t>("wq", {filters, group_in, window, window}, w),
                              raw_tensor<float>("ws", {filters}, scales),
                              raw_tensor<std::int8_t>("wz", {filters}, std::vector<std::int8_t>(filters, w_zero)),
                              raw_tensor<float>("b", {filters}, bias)},
                             {value("y", {"n", "c", "h", "w"})});
          CHECK(found["y"].shape() == Shape{1, filters, 4, 3});
          CHECK(numbers(found["y"]) == sums);
        }
      }
    }
  }
}

BOTH_MODES("Conv of bytes keeps small sums exact where f32 does not hold those of all filters") {
  // One element of 1 among zeros, which bytes without a sign hold as 129 among 128.
  constexpr std::int64_t channels = 512, count = channels * 9;
  Numbers x(count);
  x[1000] = 1;
  const std::vector<std::int8_t> w(count, 121);
  const std::vector<Message> constants{raw_tensor<float>("s", {}, {1}),
                                       raw_tensor<std::int8_t>("w", {1, channels, 3, 3}, w)};
  const std::vector<Message> nodes{node("DequantizeLinear", {"x", "s"}, {"x1"}),
                                   node("DequantizeLinear", {"w", "s"}, {"w1"}), node("Conv", {"x1", "w1"}, {"y"})};
  const auto found = given_by<Mode>(nodes, {{"x", integers(x, {1, channels, 3, 3}, DType::i8)}}, constants,
                                    {value("y", {"n", "c", "h", "w"})});
  CHECK(numbers(found["y"]) == Numbers{121});
}

BOTH_MODES("an RNN whose batch comes first takes its first state by batch, too") {
  const std::vector<Message> constants{raw_tensor<float>("w", {1, 2, 1}, {0, 0}),
                                       raw_tensor<float>("r", {1, 2, 2}, {1, 0, 0, 1})};
  const E first = E{0.1, 0.2, 0.3, 0.4}.reshape({2, 1, 2});
  const auto found = given_by<Mode>(
      {node("RNN", {"x", "w", "r", "", "", "h"}, {"y"},
            {attribute("layout", std::int64_t{1}), attribute("hidden_size", std::int64_t{2})})},
      {{"x", E::ones({2, 1, 1})}, {"h", first}}, constants, {value("y", {"batch", "time", "directions", "hidden"})});
  CHECK(found["y"].shape() == Shape{2, 1, 1, 2});
  const Numbers got = numbers(found["y"]);
  for (std::size_t i = 0; i < 4; ++i) CHECK(std::abs(got[i] - std::tanh(0.1 * static_cast<double>(i + 1))) < 1e-6);
}

BOTH_MODES("Expand, GatherElements and Pad take shapes that do not match axis by axis") {
  const auto expanded = given_by<Mode>({node("Expand", {"x", "shape"}, {"y"})}, {{"x", E{1.0, 2.0}.reshape({2, 1, 1})}},
                                       {raw_tensor<std::int64_t>("shape", {2}, {2, 1})}, {value("y", {"a", "b", "c"})});
  CHECK(expanded["y"].shape() == Shape{2, 2, 1});
  CHECK(numbers(expanded["y"]) == Numbers{1, 1, 2, 2});
  const auto gathered = given_by<Mode>(
      {node("GatherElements", {"x", "i"}, {"y"}, {attribute("axis", std::int64_t{0})})},
      {{"x", E::arange(0, 9, 1, DType::f32).reshape({3, 3})}, {"i", integers({0, 1, 2, 0}, {2, 2}, DType::i64)}}, {},
      {value("y", {"n", "m"})});
  CHECK(numbers(gathered["y"]) == Numbers{0, 4, 6, 1});
  const auto padded = given_by<Mode>({node("Pad", {"x", "pads"}, {"y"})}, {{"x", E{1.0, 2.0, 3.0, 4.0}}},
                                     {raw_tensor<std::int64_t>("pads", {2}, {1, -2})}, {value("y", {"n"})});
  CHECK(numbers(padded["y"]) == Numbers{0, 1, 2});
}

BOTH_MODES("MaxPool counts places down the columns where it is told to") {
  for (const std::int64_t order : {0, 1}) {
    const auto found =
        given_by<Mode>({node("MaxPool", {"x"}, {"y", "places"},
                             {attribute("kernel_shape", Integers{2, 3}), attribute("storage_order", order)})},
                       {{"x", E{1.0, 2.0, 3.0, 4.0, 9.0, 6.0}.reshape({1, 1, 2, 3})}}, {},
                       {value("y", {"n", "c", "h", "w"}), value("places", {"n", "c", "h", "w"}, DType::i64)});
    CHECK(numbers(found["y"]) == Numbers{9});
    CHECK(numbers(found["places"]) == Numbers{order == 0 ? 4.0 : 3.0});
  }
}

BOTH_MODES("Resize by corners to one element takes the first") {
  for (const char* mode : {"linear", "nearest", "cubic"}) {
    CAPTURE(std::string(mode));
    const Message resized =
        node("Resize", {"x", "", "", "sizes"}, {"y"},
             {text_attribute("mode", mode), text_attribute("coordinate_transformation_mode", "align_corners")});
    const auto found =
        given_by<Mode>({resized}, {{"x", E{5.0, 7.0, 9.0}.reshape({1, 1, 1, 3})}},
                       {raw_tensor<std::int64_t>("sizes", {4}, {1, 1, 1, 1})}, {value("y", {"n", "c", "h", "w"})});
    CHECK(numbers(found["y"]) == Numbers{5});
  }
}

BOTH_MODES("Resize multiplies lengths and scales in f32") {  // 13 by ONNX's shape inference, ONNX Runtime and PyTorch
  const auto found = given_by<Mode>(
      {node("Resize", {"x", "", "scales"}, {"y"})}, {{"x", E{1.0, 2.0, 3.0, 4.0, 5.0}.reshape({1, 1, 1, 5})}},
      {raw_tensor<float>("scales", {4}, {1, 1, 1, 2.6F})}, {value("y", {"n", "c", "h", "w"})});
  CHECK(numbers(found["y"]) == Numbers{1, 1, 1, 2, 2, 3, 3, 3, 4, 4, 5, 5, 5});
}

}  // namespace tyto::onnx_tests::corners
