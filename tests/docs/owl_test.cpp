// SPDX-License-Identifier: MIT
// Every spelling of docs/owl.md, run in both modes, and that no constructor of Owl's is forgotten.
#include <doctest/doctest.h>

#include <set>
#include <sstream>
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

#include "tests/docs/shown.hpp"
#include "tests/support/built_with.hpp"

using namespace tyto;
using documented::shown;

namespace eager_rows_of_owl {
using Tensor = tyto::Tensor<tyto::Eager>;
#include "owl_rows.inc"
}  // namespace eager_rows_of_owl

namespace lazy_rows_of_owl {
using Tensor = tyto::Tensor<tyto::Lazy>;
#include "owl_rows.inc"
}  // namespace lazy_rows_of_owl

TEST_CASE("every spelling of docs/owl.md works, eager") {
  eager_rows_of_owl::Rows rows;
  rows.run();
}

TEST_CASE("every spelling of docs/owl.md works, lazy") {
  lazy_rows_of_owl::Rows rows;
  rows.run();
}

TEST_CASE("docs/owl.md names all 199 constructors once, and none is missing among them") {
  eager_rows_of_owl::Rows rows;
  rows.run();
  CHECK(rows.constructors.size() == 199);
  CHECK(std::set<std::string>(rows.constructors.begin(), rows.constructors.end()).size() == 199);
  CHECK(rows.elsewhere == std::vector<std::string>{"Linalg.peakflops"});
}
