// The list of integers that shapes, strides and axes are.
#include <doctest/doctest.h>

#include <tyto/shape.hpp>

TEST_CASE("a list's first and last number") {
  const tyto::IntList list{4, 5, 6};
  CHECK(list.front() == 4);
  CHECK(list.back() == 6);
  CHECK(tyto::IntList{7}.front() == 7);
  CHECK(tyto::IntList{7}.back() == 7);
}

#ifndef NDEBUG
TEST_CASE("debug builds tell that an empty list has neither a first nor a last number") {
  const tyto::Shape number;
  const char* told = "an empty list has neither a first nor a last number";
  CHECK_THROWS_WITH_AS((void)number.front(), told, tyto::IndexError);
  CHECK_THROWS_WITH_AS((void)number.back(), told, tyto::IndexError);
}
#endif
