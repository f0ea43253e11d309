// SPDX-License-Identifier: MIT
// The list of integers that holds shapes, strides and axes.
#include <doctest/doctest.h>

#include <tyto/shape.hpp>

#include "core/value/shape.hpp"

TEST_CASE("front and back of a list are its first and last number") {
  const tyto::IntList list{4, 5, 6};
  CHECK(list.front() == 4);
  CHECK(list.back() == 6);
  CHECK(tyto::IntList{7}.front() == 7);
  CHECK(tyto::IntList{7}.back() == 7);
}

TEST_CASE("strides of axes too long to be counted, in a tensor without elements") {
  const std::int64_t long_axis = std::int64_t{1} << 50;
  const tyto::IntList expected{0, std::int64_t{1} << 50, 1};
  CHECK(tyto::core::row_major({0, long_axis, long_axis}) == expected);
}

#ifndef NDEBUG
TEST_CASE("debug builds tell that an empty list has neither a first nor a last number") {
  const tyto::Shape number;
  const char* told = "an empty list has neither a first nor a last number";
  CHECK_THROWS_WITH_AS((void)number.front(), told, tyto::IndexError);
  CHECK_THROWS_WITH_AS((void)number.back(), told, tyto::IndexError);
}
#endif
