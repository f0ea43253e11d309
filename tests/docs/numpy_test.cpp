// Every line of docs/numpy.md, run in both modes and held against what NumPy prints.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <sstream>
#include <tyto/io.hpp>
#include <tyto/tyto.hpp>

#include "tests/docs/shown.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace tyto;
using documented::packed;
using documented::shown;

namespace eager_rows {
using Tensor = tyto::Tensor<tyto::Eager>;
#include "numpy_rows.inc"
}  // namespace eager_rows

namespace lazy_rows {
using Tensor = tyto::Tensor<tyto::Lazy>;
#include "numpy_rows.inc"
}  // namespace lazy_rows

namespace {

/// A folder of its own to work in, removed in the end.
class WorkFolder {
 public:
  WorkFolder() : before_(std::filesystem::current_path()) { std::filesystem::current_path(folder_.path()); }
  ~WorkFolder() { std::filesystem::current_path(before_); }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;

 private:
  std::filesystem::path before_;
  tyto::testing::TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("every line of docs/numpy.md gives what NumPy gives, eager") {
  const WorkFolder folder;
  eager_rows::Rows rows;
  rows.run();
  CHECK(rows.count >= 120);
}

TEST_CASE("every line of docs/numpy.md gives what NumPy gives, lazy") {
  const WorkFolder folder;
  lazy_rows::Rows rows;
  rows.run();
  CHECK(rows.count >= 120);
}
