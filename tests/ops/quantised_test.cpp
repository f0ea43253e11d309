// SPDX-License-Identifier: MIT
// Products with quantised weights: the kernels for few and for many rows against unpacked weights, rounding to few
// bits, gradients, saved graphs, and errors.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <limits>

#include "tests/support/temporary_folder.hpp"
#include "tyto/io.hpp"
#include "tyto/tyto.hpp"

namespace tyto {
namespace {

using T = Tensor<Eager>;
using L = Tensor<Lazy>;

enum class Zeros { none, packed, floating };

struct Sizes {
  std::int64_t bits, block, columns, depth;
  std::int64_t blocks() const { return (depth + block - 1) / block; }
};

QuantisedWeights<Eager> drawn(const Sizes& s, Zeros zeros, DType dtype) {
  const auto bytes = [](const Shape& shape) { return cast(T::uniform(shape, {.low = 0, .high = 255.99}), DType::u8); };
  QuantisedWeights<Eager> w{bytes({s.columns, s.blocks(), s.block * s.bits / 8}),
                            cast(T::uniform({s.columns, s.blocks()}, {.low = 0.1, .high = 1}), dtype),
                            {},
                            s.bits};
  if (zeros == Zeros::packed) w.zero_points = bytes({s.columns, (s.blocks() * s.bits + 7) / 8});
  if (zeros == Zeros::floating) w.zero_points = cast(T::normal({s.columns, s.blocks()}) + 7, dtype);
  return w;
}

/// The number of `bits` bits in place `i` of bytes.
int number(const std::vector<std::uint8_t>& bytes, std::int64_t from, std::int64_t i, std::int64_t bits) {
  const std::int64_t in_byte = 8 / bits;
  return bytes[static_cast<std::size_t>(from + i / in_byte)] >> (i % in_byte * bits) & ((1 << bits) - 1);
}

/// The weights (columns, depth), one by one.
std::vector<double> numbers_of(const Sizes& s, const QuantisedWeights<Eager>& w) {
  const std::vector<std::uint8_t> bytes = w.numbers.to_vector<std::uint8_t>();
  const std::vector<double> scales = cast(w.scales, DType::f64).to_vector<double>();
  const bool packed = w.zero_points.defined() && w.zero_points.dtype() == DType::u8;
  std::vector<std::uint8_t> packed_zeros;
  std::vector<double> zeros;
  if (packed) packed_zeros = w.zero_points.to_vector<std::uint8_t>();
  else if (w.zero_points.defined()) zeros = cast(w.zero_points, DType::f64).to_vector<double>();
  std::vector<double> all;
  for (std::int64_t j = 0; j < s.columns; ++j) {
    for (std::int64_t k = 0; k < s.depth; ++k) {
      const std::int64_t block = k / s.block, at = j * s.blocks() + block;
      double zero = static_cast<double>(1 << (s.bits - 1));
      if (packed) zero = number(packed_zeros, j * ((s.blocks() * s.bits + 7) / 8), block, s.bits);
      else if (!zeros.empty()) zero = zeros[static_cast<std::size_t>(at)];
      const int q = number(bytes, j * s.blocks() * s.block * s.bits / 8, k, s.bits);
      all.push_back((q - zero) * scales[static_cast<std::size_t>(at)]);
    }
  }
  return all;
}

/// The largest difference from the product in double precision, relative to the sum of magnitudes.
double difference(const T& a, const T& got, const std::vector<double>& weights, std::int64_t columns) {
  const std::vector<double> rows = cast(a, DType::f64).to_vector<double>(),
                            y = cast(got, DType::f64).to_vector<double>();
  const std::int64_t depth = a.shape().back(), count = a.size() / std::max<std::int64_t>(depth, 1);
  double worst = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      double sum = 0, size = 1e-30;
      for (std::int64_t k = 0; k < depth; ++k) {
        const double product =
            rows[static_cast<std::size_t>(i * depth + k)] * weights[static_cast<std::size_t>(j * depth + k)];
        sum += product;
        size += std::abs(product);
      }
      worst = std::max(worst, std::abs(y[static_cast<std::size_t>(i * columns + j)] - sum) / size);
    }
  }
  return worst;
}

double allowed(DType dtype) {
  if (dtype == DType::f64) return 1e-14;
  return dtype == DType::f32 ? 1e-6 : dtype == DType::f16 ? 6e-4 : 5e-3;
}

struct ThreadsAtEnd {
  int before = tyto::threads();
  ~ThreadsAtEnd() { tyto::threads(before); }
};

}  // namespace

TEST_CASE("products with weights of few bits are those with the numbers that they stand for") {
  seed(4);
  const ThreadsAtEnd reset;
  for (const std::int64_t bits : {2, 4, 8}) {
    for (const auto& sizes : std::vector<std::array<std::int64_t, 3>>{{16, 1, 5},
                                                                      {32, 70, 96},
                                                                      {32, 5, 97},
                                                                      {64, 33, 64},
                                                                      {128, 131, 300},
                                                                      {256, 3, 1030},
                                                                      {16, 37, 16},
                                                                      {32, 131, 32},
                                                                      {16, 3, 32},
                                                                      {32, 46, 64}}) {
      const std::int64_t block = sizes[0], columns = sizes[1],
                         depth = sizes[2];  // clang 14 captures no structured binding
      const Sizes s{bits, block, columns, depth};
      for (const Zeros zeros : {Zeros::none, Zeros::packed, Zeros::floating}) {
        for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
          const QuantisedWeights<Eager> w = drawn(s, zeros, dtype);
          const std::vector<double> weights = numbers_of(s, w);
          for (const std::int64_t rows : {1, 2, 7, 17, 64}) {
            CAPTURE(bits);
            CAPTURE(block);
            CAPTURE(columns);
            CAPTURE(depth);
            CAPTURE(static_cast<int>(zeros));
            CAPTURE(name_of(dtype));
            CAPTURE(rows);
            const T a = T::normal({rows, depth}, {.dtype = dtype});
            const T y = quantised_matmul(a, w);
            CHECK(y.dtype() == dtype);
            CHECK(y.shape() == Shape{rows, columns});
            CHECK(difference(a, y, weights, columns) < allowed(dtype));
          }
        }
      }
    }
  }
}

TEST_CASE("the number of threads does not change a bit of a product with weights of few bits") {
  seed(5);
  const ThreadsAtEnd reset;
  for (const Sizes& s : {Sizes{4, 32, 1030, 1000}, Sizes{4, 32, 9999, 64}}) {
    for (const Zeros zeros : {Zeros::none, Zeros::packed}) {
      for (const DType dtype : {DType::f32, DType::bf16}) {
        const QuantisedWeights<Eager> w = drawn(s, zeros, dtype);
        for (const std::int64_t rows : {1, 2, 7, 64}) {
          const T a = T::normal({rows, s.depth}, {.dtype = dtype});
          threads(1);
          const T one = quantised_matmul(a, w);
          for (const int count : {2, 3}) {
            threads(count);
            CHECK(array_equal(quantised_matmul(a, w), one));
          }
        }
      }
    }
  }
}

TEST_CASE("threads share out the rows of a product with few columns of weights of few bits") {
  seed(9);
  const ThreadsAtEnd reset;
  const Sizes s{4, 32, 40, 70};
  const QuantisedWeights<Eager> w = drawn(s, Zeros::packed, DType::f32);
  const T a = T::normal({1999, s.depth});
  threads(1);
  const T one = quantised_matmul(a, w);
  CHECK(difference(a, one, numbers_of(s, w), s.columns) < allowed(DType::f32));
  for (const int count : {2, 3, 4}) {
    threads(count);
    CHECK(array_equal(quantised_matmul(a, w), one));
  }
}

TEST_CASE("weights of few bits behind the last column are not multiplied by anything") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (const std::int64_t blocks : {2, 65}) {
    // Of the last block one column counts, whose number 9 stands for 1.
    T numbers = T::full({1, blocks, 8}, 0x88, DType::u8), scales = T::ones({1, blocks});
    numbers(0, -1, 0) = T::full({}, 0x89, DType::u8);
    scales(0, -1) = T::full({}, infinity);
    for (const std::int64_t rows : {1, 20}) {
      const T y = quantised_matmul(T::ones({rows, 16 * blocks - 15}), {numbers, scales});
      CHECK(array_equal(y, T::full({rows, 1}, infinity)));
    }
  }
}

TEST_CASE("columns of few numbers do not mix, whatever they hold") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (const std::int64_t depth : {16, 32, 64}) {
    CAPTURE(depth);
    // Number 9 stands for 1. Scales are infinite in column 2, and in the others the column's number.
    T scales = T::arange(7) + T::zeros({depth / 16, 7});
    scales = copy(transpose(scales));
    scales(2) = T::full({depth / 16}, infinity);
    const QuantisedWeights<Eager> w{T::full({7, depth / 16, 8}, 0x99, DType::u8), scales, {}, 4};
    const auto n = static_cast<float>(depth);
    CHECK(array_equal(quantised_matmul(T::ones({1, depth}), w), T{{0, n, infinity, 3 * n, 4 * n, 5 * n, 6 * n}}));
  }
}

TEST_CASE_TEMPLATE("rows of any rank are multiplied by weights of few bits", M, Eager, Lazy) {
  using X = Tensor<M>;
  const QuantisedWeights<M> w = quantise(reshape(X::arange(-24, 24, 1, DType::f32), {3, 16}), {.bits = 8, .block = 16});
  const X a = reshape(X::arange(0, 96, 1, DType::f32), {2, 3, 16}), want = matmul(a, transpose(dequantise(w, 16)));
  CHECK(allclose(quantised_matmul(a, w), want, 1e-6, 1e-4));
  CHECK(allclose(quantised_matmul(X(a(1, 2)), w), X(want(1, 2)), 1e-6, 1e-4));
  CHECK(quantised_matmul(X::zeros({0, 16}), w).shape() == Shape{0, 3});
  CHECK(array_equal(quantised_matmul(X::zeros({2, 0}), {X::zeros({3, 0, 8}, DType::u8), X::zeros({3, 0})}),
                    X::zeros({2, 3})));
}

TEST_CASE_TEMPLATE("weights are rounded to few bits by the block's largest magnitude", M, Eager, Lazy) {
  using X = Tensor<M>;
  // The scale is 8 / -8 = -1, so 8 becomes number 0 and 3.4 number 5.
  X weights = X::zeros({1, 20}, DType::f32);
  weights(0, 0) = 8.0;
  weights(0, 1) = 3.4;
  weights(0, 2) = -7.0;
  weights(0, 17) = -16.0;
  const QuantisedWeights<M> w = quantise(weights, {.bits = 4, .block = 16});
  CHECK(array_equal(w.scales, X{{-1, 2}}));
  CHECK(!w.zero_points.defined());
  const std::vector<std::uint8_t> bytes = w.numbers.template to_vector<std::uint8_t>();
  CHECK(bytes == std::vector<std::uint8_t>{0x50, 0x8f, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88,  //
                                           0x08, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88, 0x88});
  const X again = dequantise(w, 20);
  CHECK(again.shape() == Shape{1, 20});
  CHECK(again(0, 0).template item<float>() == 8);
  CHECK(again(0, 1).template item<float>() == 3);
  CHECK(again(0, 2).template item<float>() == -7);
  CHECK(again(0, 17).template item<float>() == -16);
  CHECK(quantise(X::zeros({3, 0})).numbers.shape() == Shape{3, 0, 16});
  CHECK(array_equal(dequantise(quantise(X::zeros({2, 5})), 5), X::zeros({2, 5})));
}

TEST_CASE("a block with an infinity or NaN keeps no finite number, the others keep theirs") {
  for (const float odd : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                          std::numeric_limits<float>::quiet_NaN()}) {
    T weights = T::ones({1, 32});
    weights(0, 3) = T::full({}, odd);
    const std::vector<float> again = dequantise(quantise(weights, {.block = 16}), 32).to_vector<float>();
    for (std::size_t i = 0; i < 16; ++i) CHECK(!std::isfinite(again[i]));
    CHECK(std::isnan(again[0]));
    for (std::size_t i = 16; i < 32; ++i) CHECK(again[i] == 1);
  }
}

TEST_CASE(
    "a compiled product holds no copy in f32 of weights of few bits, known or given, and comes back from a file") {
  seed(6);
  const std::int64_t columns = 512, depth = 512;
  const Sizes s{4, 32, columns, depth};
  const QuantisedWeights<Eager> w = drawn(s, Zeros::packed, DType::f32);
  const auto lazy = [](const T& x) { return L::from_bytes(x.bytes().data(), x.size(), x.shape(), x.dtype()); };
  for (const std::int64_t rows : {1, 40}) {
    const L x = L::placeholder({rows, depth}, DType::f32, "x");
    const QuantisedWeights<Lazy> known{lazy(w.numbers), lazy(w.scales), lazy(w.zero_points)};
    const L y = quantised_matmul(x, known);
    Graph graph{{.inputs = {x}, .outputs = {relu(y) + 1}}};
    const T a = T::normal({rows, depth});
    graph.set(x, lazy(a));
    graph.run();
    CHECK(graph.report().constant_bytes < columns * depth);
    CHECK(graph.plan().height < columns * depth * 4);
    Graph written_out{{.inputs = {x}, .outputs = {matmul(x, transpose(dequantise(known, depth)))}}};
    written_out.prepare();
    CHECK(written_out.report().constant_bytes >= columns * depth * 4);
    const T want = relu(quantised_matmul(a, w)) + 1;
    CHECK(graph.output(0).to_vector<float>() == want.to_vector<float>());
    const testing::TemporaryFolder folder;
    save_graph(folder / "product.tyto", graph);
    Graph loaded = load_graph(folder / "product.tyto");
    loaded.set(loaded.inputs()[0], lazy(a));
    loaded.run();
    CHECK(loaded.output(0).to_vector<float>() == want.to_vector<float>());
  }
}

TEST_CASE("weights of few bits that are given at each run are multiplied as they are") {
  seed(8);
  const std::int64_t columns = 512, depth = 512;
  const QuantisedWeights<Eager> w = drawn({4, 32, columns, depth}, Zeros::packed, DType::f32);
  const auto placeholder = [](const T& like, const char* name) {
    return L::placeholder(like.shape(), like.dtype(), name);
  };
  const auto lazy = [](const T& x) { return L::from_bytes(x.bytes().data(), x.size(), x.shape(), x.dtype()); };
  for (const std::int64_t rows : {1, 40}) {
    const T a = T::normal({rows, depth});
    const L x = placeholder(a, "x"), numbers = placeholder(w.numbers, "numbers"),
            scales = placeholder(w.scales, "scales"), zeros = placeholder(w.zero_points, "zeros");
    const QuantisedWeights<Lazy> given{numbers, scales, zeros};
    Graph graph{{.inputs = {x, numbers, scales, zeros}, .outputs = {quantised_matmul(x, given)}}};
    graph.set(x, lazy(a));
    graph.set(numbers, lazy(w.numbers));
    graph.set(scales, lazy(w.scales));
    graph.set(zeros, lazy(w.zero_points));
    graph.run();
    CHECK(graph.plan().height < columns * depth * 4);
    CHECK(graph.output(0).to_vector<float>() == quantised_matmul(a, w).to_vector<float>());
    const L product = matmul(x, transpose(dequantise(given, depth)));
    Graph written_out{{.inputs = {x, numbers, scales, zeros}, .outputs = {product}}};
    written_out.prepare();
    CHECK(written_out.plan().height >= columns * depth * 4);
  }
}

TEST_CASE("vmap multiplies the rows of all examples at once") {
  seed(7);
  const QuantisedWeights<Eager> w = drawn({4, 16, 5, 40}, Zeros::none, DType::f32);
  const T a = T::normal({3, 2, 40});
  CHECK(allclose(vmap([&](const T& x) { return quantised_matmul(x, w); })(a), quantised_matmul(a, w), 1e-5, 1e-5));
}

TEST_CASE_TEMPLATE("invalid quantised weights are refused with what would have been right", M, Eager, Lazy) {
  using X = Tensor<M>;
  const X a = X::ones({2, 40}), numbers = X::zeros({3, 3, 8}, DType::u8), scales = X::ones({3, 3});
  const auto refuses = [&](const std::string& message, auto exception, const X& rows, const QuantisedWeights<M>& w) {
    CHECK_THROWS_WITH_AS(quantised_matmul(rows, w), message.c_str(), decltype(exception));
  };
  refuses("quantised_matmul: 3 bits; 2, 4 or 8 are expected", ValueError(""), a, {numbers, scales, {}, 3});
  refuses("quantised_matmul: the weights' numbers are f32; u8 is expected", TypeError(""), a, {scales, scales});
  refuses("quantised_matmul: the weights' numbers are (3,24); (n, blocks, bytes) is expected", ShapeError(""), a,
          {reshape(numbers, {3, 24}), scales});
  refuses("quantised_matmul: blocks of 24 numbers; a power of two from 16 to 65536 is expected", ValueError(""), a,
          {X::zeros({3, 2, 12}, DType::u8), scales});
  refuses("quantised_matmul: blocks of 70000 bytes; at most 65536 numbers are expected", ValueError(""), a,
          {X::zeros({3, 1, 70000}, DType::u8), X::ones({3, 1}), {}, 8});
  refuses("quantised_matmul: 49 columns are 4 blocks of 16 numbers; given are 3", ShapeError(""), X::ones({2, 49}),
          {numbers, scales});
  refuses("quantised_matmul: the scales are i32; a floating type is expected", TypeError(""), a,
          {numbers, cast(scales, DType::i32)});
  refuses("quantised_matmul: the scales are (3,4); (3,3) is expected", ShapeError(""), a, {numbers, X::ones({3, 4})});
  refuses("quantised_matmul: the zero points are i32; u8 or f32 is expected", TypeError(""), a,
          {numbers, scales, cast(scales, DType::i32)});
  refuses("quantised_matmul: the u8 zero points are (3,3); (3,2) is expected", ShapeError(""), a,
          {numbers, scales, X::zeros({3, 3}, DType::u8)});
  refuses("quantised_matmul: the f32 zero points are (3,2); (3,3) is expected", ShapeError(""), a,
          {numbers, scales, X::zeros({3, 2})});
  refuses("quantised_matmul: the rows are i32; a floating type is expected", TypeError(""), cast(a, DType::i32),
          {numbers, scales});
  refuses("quantised_matmul: the left operand needs at least one axis", ShapeError(""), X::ones({}), {numbers, scales});
  CHECK_THROWS_WITH_AS(quantise(a, {.bits = 5}), "quantise: 5 bits; 2, 4 or 8 are expected", ValueError);
  CHECK_THROWS_WITH_AS(quantise(a, {.block = 20}),
                       "quantise: blocks of 20 numbers; a power of two from 16 to 65536 is expected", ValueError);
  CHECK_THROWS_WITH_AS(quantise(X::ones({4})), "quantise: the weights are (4,); (n, k) is expected", ShapeError);
  CHECK_THROWS_WITH_AS(quantise(cast(a, DType::i32)), "quantise: the weights are i32; a floating type is expected",
                       TypeError);
  CHECK_THROWS_WITH_AS(dequantise(QuantisedWeights<M>{numbers, scales}, -1), "dequantise: -1 columns", ValueError);
}

}  // namespace tyto
