// SPDX-License-Identifier: MIT
// The first code block of docs/pytorch.md, compiled at file scope as it stands on the page.
#include "docs/generate/pytorch_program.inc"

#include <doctest/doctest.h>

#include <sstream>
#include <string>

TEST_CASE("the program that opens docs/pytorch.md compiles as it stands and prints what it says") {
  std::ostringstream printed;
  std::streambuf* const before = std::cout.rdbuf(printed.rdbuf());
  exclusive_or();
  std::cout.rdbuf(before);
  CHECK(printed.str() == "[False  True  True False]\n");
}
