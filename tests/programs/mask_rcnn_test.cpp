// SPDX-License-Identifier: MIT
// The example mask_rcnn: equal losses in both modes, and a run in pieces is the run in one.
#include <doctest/doctest.h>

#include "tests/programs/example.hpp"

namespace tyto::programs_test {

TEST_CASE("mask_rcnn has the same losses in both modes, and tests itself") {
  const Example example("mask_rcnn");
  if (!example.is_built()) return;
  const std::string settings = "--batch 2 --steps 6 --every 2 --test 3 --csv ";
  const std::string said = example.run(settings + example.path("lazy.csv"));
  CHECK(said.find("977271 parameters, 2268 anchors; lazy on cpu") != std::string::npos);
  CHECK(said.find("plan: peak ") != std::string::npos);
  const Table lazy = example.table("lazy.csv");
  CHECK(lazy.names == std::vector<std::string>{"epoch", "step", "loss", "AP", "AP50", "AP75"});
  REQUIRE(lazy.rows.size() == 3);
  for (const std::vector<double>& row : lazy.rows) {
    for (const std::size_t figure : {3, 4, 5}) CHECK((row[figure] >= 0 && row[figure] <= 1));
  }
  example.run(settings + example.path("eager.csv") + " --mode eager");
  const Table eager = example.table("eager.csv");
  REQUIRE(eager.rows.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) CHECK(eager.rows[i][2] == doctest::Approx(lazy.rows[i][2]).epsilon(0.01));
}

TEST_CASE("mask_rcnn averages over the classes that the pictures to test with have") {
  const Example example("mask_rcnn");
  if (!example.is_built()) return;
  // One picture, which lacks a class.
  example.run("--batch 1 --steps 1 --every 1 --test 1 --csv " + example.path("one.csv"));
  const Table one = example.table("one.csv");
  REQUIRE(one.rows.size() == 1);
  for (const std::size_t figure : {3, 4, 5}) CHECK((one.rows[0][figure] >= 0 && one.rows[0][figure] <= 1));
}

TEST_CASE("mask_rcnn: a run that is broken off and resumed ends with the bits of a run in one piece") {
  const Example example("mask_rcnn");
  if (!example.is_built()) return;
  const std::string settings = "--batch 2 --steps 6 --every 3 --test 2 --csv ";
  example.run(settings + example.path("whole.csv") + " --checkpoint " + example.path("whole.npz"));
  for (const char* stop : {" --steps-now 2", " --steps-now 2", ""}) {
    example.run(settings + example.path("parts.csv") + " --checkpoint " + example.path("parts.npz") + stop);
  }
  CHECK(example.text("parts.csv") == example.text("whole.csv"));
  CHECK(example.text("parts.npz") == example.text("whole.npz"));
}

}  // namespace tyto::programs_test
