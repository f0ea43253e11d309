// SPDX-License-Identifier: MIT
// The notice of a slow OpenCL compiler: printed in the middle of a compilation, once, and not for a quick one.
#include <doctest/doctest.h>

#if TYTO_HAVE_OPENCL

#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "devices/opencl/runtime/slow_build_notice.hpp"
#include "tests/support/temporary_folder.hpp"

namespace slow_build_notice_test {

using tyto::opencl::SlowBuildNotice;

namespace {

struct Paper {
  tyto::testing::TemporaryFolder folder;
  std::string path = folder / "lines.txt";
  std::FILE* file = std::fopen(path.c_str(), "w");
  ~Paper() { std::fclose(file); }

  std::string text() const {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
};

}  // namespace

TEST_CASE("a slow compilation is told of while it goes on, and once") {
  const Paper paper;
  SlowBuildNotice notice("the driver compiles", paper.file, SlowBuildNotice::Seconds(0));
  {
    const SlowBuildNotice::Build build(notice);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (paper.text().empty() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    CHECK(paper.text() == "the driver compiles\n");
  }
  CHECK(paper.text() == "the driver compiles\n");
  for (int i = 0; i < 3; ++i) const SlowBuildNotice::Build again(notice);
  CHECK(paper.text() == "the driver compiles\n");
}

TEST_CASE("a quick compilation is not told of") {
  const Paper paper;
  SlowBuildNotice notice("the driver compiles", paper.file, SlowBuildNotice::Seconds(3600));
  for (int i = 0; i < 3; ++i) const SlowBuildNotice::Build build(notice);
  CHECK(paper.text().empty());
}

}  // namespace slow_build_notice_test

#endif
