// SPDX-License-Identifier: MIT
// Every line of docs/numpy.md, run in both modes and held against what NumPy prints.
#include <doctest/doctest.h>

#include <cmath>
#include <complex>
#include <sstream>
#include <tyto/io.hpp>
#include <tyto/tyto.hpp>

#include "tests/docs/shown.hpp"
#include "tests/docs/work_folder.hpp"

using namespace tyto;
using documented::packed;
using documented::shown;
using documented::WorkFolder;

#define COMPARED_ROWS "docs/generate/numpy_rows.inc"

namespace eager_rows {
using Tensor = tyto::Tensor<tyto::Eager>;
#include "compared_rows.inc"
}  // namespace eager_rows

namespace lazy_rows {
using Tensor = tyto::Tensor<tyto::Lazy>;
#include "compared_rows.inc"
}  // namespace lazy_rows

#undef COMPARED_ROWS

TEST_CASE("every line of docs/numpy.md gives what NumPy gives, eager") {
  const WorkFolder folder;
  eager_rows::Rows rows;
  rows.run();
  CHECK(rows.count >= 300);
}

TEST_CASE("every line of docs/numpy.md gives what NumPy gives, lazy") {
  const WorkFolder folder;
  lazy_rows::Rows rows;
  rows.run();
  CHECK(rows.count >= 300);
}
