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

}  // namespace tyto::onnx_tests
