// SPDX-License-Identifier: MIT
// Adaptive average pooling, whose windows may divide an axis, cover it, overlap, or be longer than it.
#include <doctest/doctest.h>

#include <tyto/nn/pooling.hpp>
#include <tyto/tyto.hpp>
#include <vector>

namespace tyto::nn {
namespace {

/// Means over [floor(i n / size), ceil((i + 1) n / size)) along both axes of x (h, w), by loops.
std::vector<float> means(const std::vector<float>& x, std::int64_t h, std::int64_t w, std::int64_t rows,
                         std::int64_t columns) {
  std::vector<float> out;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      double sum = 0, count = 0;
      for (std::int64_t a = i * h / rows; a < ((i + 1) * h + rows - 1) / rows; ++a) {
        for (std::int64_t b = j * w / columns; b < ((j + 1) * w + columns - 1) / columns; ++b, ++count) {
          sum += static_cast<double>(x[static_cast<std::size_t>(a * w + b)]);
        }
      }
      out.push_back(static_cast<float>(sum / count));
    }
  }
  return out;
}

}  // namespace

TEST_CASE_TEMPLATE("adaptive average pooling takes means of windows that divide an axis or do not", M, Eager, Lazy) {
  using T = Tensor<M>;
  constexpr std::int64_t h = 6, w = 8;
  std::vector<float> numbers;
  for (int i = 0; i < h * w; ++i) numbers.push_back(static_cast<float>(i * i % 37));
  for (const auto& [rows, columns] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {1, 1}, {3, 4}, {6, 8}, {1, 8}, {6, 1}, {2, 3}, {5, 4}, {4, 2}, {7, 1}, {12, 16}}) {
    CAPTURE(rows);
    CAPTURE(columns);
    const std::vector<float> expected = means(numbers, h, w, rows, columns);
    for (const Layout layout : {nhwc, nchw}) {
      const bool last = layout == nhwc;
      const T x = T::from(numbers, last ? Shape{1, h, w, 1} : Shape{1, 1, h, w});
      const T y = adaptive_average_pool(x, {rows, columns}, layout);
      CHECK(y.shape() == (last ? Shape{1, rows, columns, 1} : Shape{1, 1, rows, columns}));
      CHECK(max(abs(y.reshape({rows * columns}) - T::from(expected, {rows * columns}))).template item<float>() <=
            4e-6F);
    }
  }
}

TEST_CASE("adaptive pooling to one place, or of windows that divide the axes, is one reduction that copies nothing") {
  const Tensor<Lazy> x = Tensor<Lazy>::placeholder({2, 8, 8, 16});
  for (const int size : {1, 4}) {
    Graph graph({.inputs = {x}, .outputs = {AdaptiveAveragePool(size)(x)}});
    CHECK(graph.report().steps == 1);
    CHECK(graph.plan().naive < 1024);  // x takes 8 KiB
  }
}

}  // namespace tyto::nn
