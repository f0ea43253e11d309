// SPDX-License-Identifier: MIT
// Every line of docs/pytorch.md, run in both modes and held against what PyTorch gives.
#include <doctest/doctest.h>

#include <cmath>
#include <tyto/io.hpp>
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

#include "tests/docs/shown.hpp"
#include "tests/docs/work_folder.hpp"

using namespace tyto;
using documented::packed;
using documented::shown;
using documented::WorkFolder;

#define COMPARED_ROWS "docs/generate/pytorch_rows.inc"

namespace eager_rows_of_pytorch {
using Tensor = tyto::Tensor<tyto::Eager>;
#include "compared_rows.inc"
}  // namespace eager_rows_of_pytorch

namespace lazy_rows_of_pytorch {
using Tensor = tyto::Tensor<tyto::Lazy>;
#include "compared_rows.inc"
}  // namespace lazy_rows_of_pytorch

#undef COMPARED_ROWS

namespace {

/// A folder to work in that holds model.pt, which torch.save wrote of the network of the rows.
class FolderWithWeights {
 public:
  FolderWithWeights() { std::filesystem::copy_file(saved_, "model.pt"); }

 private:
  std::filesystem::path saved_ = std::filesystem::absolute("tests/nn/goldens/rows.pt");
  WorkFolder folder_;
};

}  // namespace

TEST_CASE("every line of docs/pytorch.md gives what PyTorch gives, eager") {
  const FolderWithWeights folder;
  eager_rows_of_pytorch::Rows rows;
  rows.run();
  CHECK(rows.count >= 120);
}

TEST_CASE("every line of docs/pytorch.md gives what PyTorch gives, lazy") {
  const FolderWithWeights folder;
  lazy_rows_of_pytorch::Rows rows;
  rows.run();
  CHECK(rows.count >= 120);
}
