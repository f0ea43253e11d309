// SPDX-License-Identifier: MIT
// mnist and resnet as two processes that train together: started by tyto launch, and gone on with by one.
#include <doctest/doctest.h>

#include "tests/programs/example.hpp"

namespace tyto::programs_test {

TEST_CASE("resnet trains as two processes, and one goes on from their checkpoint") {
  const Example resnet("resnet"), together("resnet", 2);
  if (!together.is_built()) return;
  const std::string settings = "--depth 8 --width 8 --samples 600 --batch 20 --rate 0.05 --checkpoint " +
                               resnet.path("parts.npz") + " --csv " + resnet.path("parts.csv");
  const std::string said = together.run(settings + " --epochs 5 --steps 60");
  CHECK(said.find("2 processes on ") != std::string::npos);
  CHECK(said.find("60 steps in ") != std::string::npos);
  CHECK(resnet.run(settings + " --epochs 5").find("going on after step 60") != std::string::npos);
  const Table table = resnet.table("parts.csv");
  REQUIRE(table.rows.size() == 5);
  CHECK(table.rows[0][2] > 2.0);  // ten classes that are not told apart: log 10 = 2.3
  CHECK(table.rows[4][2] < 1.9);
}

TEST_CASE("mnist trains as two processes") {
  const Example mnist("mnist", 2);
  if (!mnist.is_built()) return;
  const std::string said = mnist.run("--samples 1000 --epochs 1 --batch 50");
  CHECK(said.find("2 processes on ") != std::string::npos);
  CHECK(said.find("20 steps in ") != std::string::npos);
  CHECK(said.find("test accuracy ") != std::string::npos);
}

}  // namespace tyto::programs_test
