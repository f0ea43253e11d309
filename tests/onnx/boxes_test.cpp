// SPDX-License-Identifier: MIT
// The largest elements of boxes in parts (MaxRoiPool), against loops over the elements of each part.
#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>
#include <tyto/tyto.hpp>

#include "tests/onnx/model_text.hpp"

namespace tyto::onnx_tests {

TEST_CASE_TEMPLATE("boxes are pooled in few parts and in more than they have elements", T, Tensor<Eager>,
                   Tensor<Lazy>) {
  constexpr std::int64_t high = 9, wide = 7, channels = 2;
  const std::vector<std::vector<double>> boxes = {{0, 1, 1, 6, 8},     {1, 0, 0, 2, 1}, {0, 5, 6, 30, 40},
                                                  {1, 20, 20, 30, 30}, {0, 4, 4, 1, 1}, {1, -5, -3, 3, 3}};
  std::vector<float> picture, corners;
  for (std::int64_t i = 0; i < 2 * channels * high * wide; ++i)
    picture.push_back(static_cast<float>(i * 37 % 101 - 50));
  for (const std::vector<double>& box : boxes) corners.insert(corners.end(), box.begin(), box.end());
  for (const auto& [rows, columns] : std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1}, {3, 2}, {40, 33}}) {
    CAPTURE(rows);
    std::vector<float> want;
    for (const std::vector<double>& box : boxes) {
      const auto part = [&](std::size_t axis, std::int64_t k, std::int64_t count, std::int64_t length) {
        const double from = box[2 - axis], size = std::max(box[4 - axis] - from + 1, 1.0) / static_cast<double>(count);
        const auto within = [&](double place) {
          return static_cast<std::int64_t>(std::min(std::max(from + place, 0.0), static_cast<double>(length)));
        };
        return std::pair(within(std::floor(static_cast<double>(k) * size)),
                         within(std::ceil(static_cast<double>(k + 1) * size)));
      };
      for (std::int64_t c = 0; c < channels; ++c) {
        for (std::int64_t r = 0; r < rows; ++r) {
          for (std::int64_t k = 0; k < columns; ++k) {
            const auto [top, bottom] = part(0, r, rows, high);
            const auto [left, right] = part(1, k, columns, wide);
            float largest = top < bottom && left < right ? -1000.0F : 0.0F;
            for (std::int64_t y = top; y < bottom; ++y) {
              for (std::int64_t x = left; x < right; ++x) {
                const std::int64_t plane = static_cast<std::int64_t>(box[0]) * channels + c;
                largest = std::max(largest, picture[static_cast<std::size_t>((plane * high + y) * wide + x)]);
              }
            }
            want.push_back(largest);
          }
        }
      }
    }
    const std::string bytes =
        model({.nodes = {node("MaxRoiPool", {"x", "boxes"}, {"y"},
                              {attribute("pooled_shape", std::vector<std::int64_t>{rows, columns})})},
               .inputs = {value("x", {"2", "2", "9", "7"})},
               .outputs = {value("y", {"n", "c", "h", "w"})},
               .initialisers = {raw_tensor<float>("boxes", {std::ssize(boxes), 5}, corners)}},
              8);
    const auto y = read<T>(bytes)({{"x", T::from(picture, {2, channels, high, wide})}});
    CHECK(y[0].value.shape() == Shape{std::ssize(boxes), channels, rows, columns});
    CHECK(y[0].value.template to_vector<float>() == want);
  }
}

namespace {

template <class T>
Tensor<Any> mean_of_box(const std::vector<float>& picture, const std::vector<float>& box) {
  const std::string bytes =
      model({.nodes = {node("RoiAlign", {"x", "box", "i"}, {"y"},
                            {text_attribute("coordinate_transformation_mode", "output_half_pixel"),
                             attribute("output_height", std::int64_t{2}), attribute("output_width", std::int64_t{3})})},
             .inputs = {value("x", {"1", "1", "4", "5"})},
             .outputs = {value("y", {"n", "c", "h", "w"})},
             .initialisers = {raw_tensor<float>("box", {1, 4}, box), raw_tensor<std::int64_t>("i", {1}, {0})}},
            16);
  const auto y = read<T>(bytes)({{"x", T::from(picture, {1, 1, 4, 5})}});
  return Tensor<Any>::from_bytes(y[0].value.bytes().data(), 6, {2, 3}, DType::f32);
}

}  // namespace

// As in the standard's reference and in ONNX Runtime 1.32.
TEST_CASE_TEMPLATE("boxes that end where they begin, or before, give zeros", T, Tensor<Eager>, Tensor<Lazy>) {
  std::vector<float> picture;
  for (int i = 1; i <= 16; ++i) picture.push_back(static_cast<float>(i));
  const std::vector<float> corners{3, 3, 1, 1, 0, 0, 3, 3, 1, 1, 1, 3};
  for (const std::string mode : {"avg", "max"}) {
    const std::string bytes = model(
        {.nodes = {node("RoiAlign", {"x", "boxes", "i"}, {"y"},
                        {text_attribute("mode", mode), text_attribute("coordinate_transformation_mode", "half_pixel"),
                         attribute("output_height", std::int64_t{1}), attribute("output_width", std::int64_t{2})})},
         .inputs = {value("x", {"1", "1", "4", "4"})},
         .outputs = {value("y", {"n", "c", "h", "w"})},
         .initialisers = {raw_tensor<float>("boxes", {3, 4}, corners), raw_tensor<std::int64_t>("i", {3}, {0, 0, 0})}},
        16);
    const auto y = read<T>(bytes)({{"x", T::from(picture, {1, 1, 4, 4})}});
    const auto found = y[0].value.template to_vector<float>();
    CAPTURE(mode);
    for (const std::size_t empty : {0, 1, 4, 5}) CHECK(found[empty] == 0);
    CHECK(found[2] == doctest::Approx(mode == "avg" ? 5.3125 : 9));
    CHECK(found[3] == doctest::Approx(mode == "avg" ? 6.75 : 9.625));
  }
}

// Without a stated number of samples each result takes as many as its part of the box is long.
TEST_CASE_TEMPLATE("boxes far larger than their picture are averaged in time that the picture bounds", T, Tensor<Eager>,
                   Tensor<Lazy>) {
  std::vector<float> picture;
  for (std::int64_t i = 0; i < 20; ++i) picture.push_back(static_cast<float>(i * 7 % 11));
  const double left = -3, top = 1, right = 600, bottom = 400;
  const auto at = [&](double y, double x) {
    if (y < -1 || y > 4 || x < -1 || x > 5) return 0.0;
    y = std::min(std::max(y, 0.0), 3.0);
    x = std::min(std::max(x, 0.0), 4.0);
    const auto row = static_cast<std::size_t>(y), column = static_cast<std::size_t>(x);
    const std::size_t below = std::min<std::size_t>(row + 1, 3), beside = std::min<std::size_t>(column + 1, 4);
    const double down = y - static_cast<double>(row), over = x - static_cast<double>(column);
    const auto element = [&](std::size_t r, std::size_t c) { return static_cast<double>(picture[r * 5 + c]); };
    return (1 - down) * ((1 - over) * element(row, column) + over * element(row, beside)) +
           down * ((1 - over) * element(below, column) + over * element(below, beside));
  };
  std::vector<double> want(6, 0);
  const double high = (bottom - top) / 2, wide = (right - left) / 3;
  const auto rows = static_cast<int>(std::ceil(high)), columns = static_cast<int>(std::ceil(wide));
  for (int r = 0; r < 2 * rows; ++r) {
    for (int c = 0; c < 3 * columns; ++c) {
      want[static_cast<std::size_t>(r / rows * 3 + c / columns)] +=
          at(top + (r + 0.5) * high / rows, left + (c + 0.5) * wide / columns) / rows / columns;
    }
  }
  const std::vector<double> got =
      cast(mean_of_box<T>(picture, {-3, 1, 600, 400}), DType::f64).template to_vector<double>();
  for (std::size_t i = 0; i < 6; ++i) CHECK(got[i] == doctest::Approx(want[i]).epsilon(1e-5));
  CHECK(want[0] > 1e-3);
  // Two thousand million samples along each axis.
  CHECK(mean_of_box<T>(picture, {-1e9F, -1e9F, 1e9F, 1e9F}).shape() == Shape{2, 3});
  CHECK_THROWS_AS(mean_of_box<T>(picture, {0, 0, NAN, 1}), IoError);
}

}  // namespace tyto::onnx_tests
