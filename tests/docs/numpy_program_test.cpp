// SPDX-License-Identifier: MIT
// The first code block of docs/numpy.md, compiled at file scope as it stands on the page.
#include "docs/generate/numpy_program.inc"

#include <doctest/doctest.h>

#include <sstream>
#include <string>

TEST_CASE("the program that opens docs/numpy.md compiles as it stands and prints what it says") {
  std::ostringstream printed;
  std::streambuf* const before = std::cout.rdbuf(printed.rdbuf());
  column_sums();
  std::cout.rdbuf(before);
  CHECK(printed.str() == "[3 5 7]\n");
}
