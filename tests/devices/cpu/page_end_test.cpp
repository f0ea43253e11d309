// SPDX-License-Identifier: MIT
// Rows that end at the end of a page: nothing behind the last element of an operand is read.
#include <doctest/doctest.h>

#include <cstdint>
#include <tyto/tyto.hpp>
#include <vector>

#include "tests/support/guarded_pages.hpp"

namespace {

/// Parts of rows of `width` elements that end with them, added, squared and summed, where a page ends behind the last.
template <class Mode, class T>
void check_rows(std::int64_t rows, std::int64_t width, std::int64_t begin) {
  using Tensor = tyto::Tensor<Mode>;
  CAPTURE(width);
  CAPTURE(begin);
  const auto count = static_cast<std::size_t>(rows * width);
  const tyto::testing::GuardedPages pages(count * sizeof(T));
  T* const data = reinterpret_cast<T*>(pages.end()) - count;
  for (std::size_t i = 0; i < count; ++i) data[i] = static_cast<T>(i % 5);
  const Tensor x = Tensor::borrow(data, {rows, width});
  const Tensor part = x(tyto::slice(0, rows), tyto::slice(begin, width));
  const std::vector<double> doubled = (part + part).template to_vector<double>();
  const std::vector<double> sums = (part * part).sum(1).template to_vector<double>();
  for (std::int64_t row = 0; row < rows; ++row) {
    double expected = 0;
    for (std::int64_t column = begin; column < width; ++column) {
      const double element = static_cast<double>((row * width + column) % 5);
      expected += element * element;
      REQUIRE(doubled[static_cast<std::size_t>(row * (width - begin) + column - begin)] == 2 * element);
    }
    REQUIRE(sums[static_cast<std::size_t>(row)] == expected);
  }
}

}  // namespace

TEST_CASE_TEMPLATE("rows that end with a page are read to their ends and no further", Mode, tyto::Eager, tyto::Lazy) {
  for (const std::int64_t length : {1, 7, 8, 9, 15, 17, 24, 31, 33, 100}) {
    for (const std::int64_t begin : {1, 24}) {
      check_rows<Mode, float>(40, length + begin, begin);
      check_rows<Mode, double>(40, length + begin, begin);
      check_rows<Mode, std::int32_t>(40, length + begin, begin);
      check_rows<Mode, std::int16_t>(40, length + begin, begin);
      check_rows<Mode, std::uint8_t>(40, length + begin, begin);
    }
  }
}
