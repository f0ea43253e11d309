// SPDX-License-Identifier: MIT
// mnist and resnet as two processes that train together: started by tyto launch, and gone on with by one.
#include <doctest/doctest.h>

#include "tests/programs/example.hpp"
#include "tests/support/child.hpp"

namespace tyto::programs_test {

namespace {

/// "tyto launch -n 2 EXAMPLE", where there is an MPI to start it; else nothing.
std::string launcher(const std::string& example) {
  const std::string program = testing::built_beside("tyto").string();
  const testing::TemporaryFolder folder;
  const testing::Ran known = testing::run_to_end({program, "launch", "--print", "true"}, folder / "output");
  if (!known.succeeded) {
    MESSAGE("skipped: ", known.output);
    return "";
  }
  return "'" + program + "' launch -n 2 '" + testing::built_beside(example).string() + "' ";
}

std::string run(const std::string& command, const std::string& output) {
  const testing::Ran ran =
      testing::run_to_end({"/bin/sh", "-c", "exec env ASAN_OPTIONS=detect_leaks=0 " + command}, output);
  INFO(command, "\n", ran.output);
  REQUIRE(ran.succeeded);
  return ran.output;
}

}  // namespace

TEST_CASE("resnet trains as two processes, and one goes on from their checkpoint") {
  const Example resnet("resnet");
  if (!resnet.is_built()) return;
  const std::string together = launcher("resnet");
  if (together.empty()) return;
  const std::string settings = "--depth 8 --width 8 --samples 600 --batch 20 --rate 0.05 --checkpoint " +
                               resnet.path("parts.npz") + " --csv " + resnet.path("parts.csv");
  const std::string said = run(together + settings + " --epochs 5 --steps 60", resnet.path("output"));
  CHECK(said.find("2 processes on ") != std::string::npos);
  CHECK(said.find("60 steps in ") != std::string::npos);
  CHECK(resnet.run(settings + " --epochs 5").find("going on after step 60") != std::string::npos);
  const Table table = resnet.table("parts.csv");
  REQUIRE(table.rows.size() == 5);
  CHECK(table.rows[0][2] > 2.0);  // ten classes that are not told apart: log 10 = 2.3
  CHECK(table.rows[4][2] < 1.9);
}

TEST_CASE("mnist trains as two processes") {
  const Example mnist("mnist");
  if (!mnist.is_built()) return;
  const std::string together = launcher("mnist");
  if (together.empty()) return;
  const std::string said = run(together + "--samples 1000 --epochs 1 --batch 50", mnist.path("output"));
  CHECK(said.find("2 processes on ") != std::string::npos);
  CHECK(said.find("20 steps in ") != std::string::npos);
  CHECK(said.find("test accuracy ") != std::string::npos);
}

}  // namespace tyto::programs_test
