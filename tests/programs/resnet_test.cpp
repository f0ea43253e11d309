// SPDX-License-Identifier: MIT
// The example resnet: it learns drawn pictures, equally in both modes, and a run in pieces is the run in one.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>

#include "tests/programs/example.hpp"

namespace tyto::programs_test {

TEST_CASE("resnet learns drawn pictures, with the same losses in both modes") {
  const Example resnet("resnet");
  if (!resnet.is_built()) return;
  const std::string settings = "--depth 8 --width 8 --samples 600 --epochs 5 --batch 20 --rate 0.05 --csv ";
  const std::string said = resnet.run(settings + resnet.path("lazy.csv") + " --page " + resnet.path("page.html"));
  CHECK(said.find("ResNet-8, 19954 parameters") != std::string::npos);
  const Table lazy = resnet.table("lazy.csv");
  CHECK(lazy.names == std::vector<std::string>{"epoch", "step", "loss", "test accuracy"});
  REQUIRE(lazy.rows.size() == 5);
  CHECK(lazy.rows[0][2] > 2.0);  // ten classes that are not told apart: log 10 = 2.3
  CHECK(lazy.rows[4][2] < 1.9);
  CHECK(resnet.text("page.html").find("<polyline") != std::string::npos);
  resnet.run(settings + resnet.path("eager.csv") + " --mode eager");
  const Table eager = resnet.table("eager.csv");
  REQUIRE(eager.rows.size() == 5);
  for (std::size_t row = 0; row < 5; ++row)
    CHECK(eager.rows[row][2] == doctest::Approx(lazy.rows[row][2]).epsilon(0.01));
}

TEST_CASE("resnet: a run that is broken off and resumed ends with the bits of a run in one piece") {
  const Example resnet("resnet");
  if (!resnet.is_built()) return;
  const std::string settings = "--depth 8 --width 4 --samples 200 --epochs 3 --batch 40 --csv ";
  resnet.run(settings + resnet.path("whole.csv") + " --checkpoint " + resnet.path("whole.npz"));
  // Stops within an epoch, at the end of one, and goes on to the end.
  for (const char* stop : {" --steps 3", " --steps 2", ""}) {
    resnet.run(settings + resnet.path("parts.csv") + " --checkpoint " + resnet.path("parts.npz") + stop);
  }
  CHECK(resnet.text("parts.csv") == resnet.text("whole.csv"));
  CHECK(resnet.text("parts.npz") == resnet.text("whole.npz"));
}

TEST_CASE("resnet: killed while it trains, it goes on from its checkpoint to the same end") {
  const Example resnet("resnet");
  if (!resnet.is_built()) return;
  const std::string settings = "--depth 8 --width 4 --samples 200 --epochs 4 --batch 20 --save-every 1 --checkpoint ";
  resnet.run(settings + resnet.path("whole.npz"));
  resnet.kill_once_there(settings + resnet.path("parts.npz"), "parts.npz");
  resnet.run(settings + resnet.path("parts.npz"));
  CHECK(resnet.text("parts.npz") == resnet.text("whole.npz"));
}

TEST_CASE("resnet trains on the real pictures of CIFAR-10") {
  const Example resnet("resnet");
  const char* data = std::getenv("TYTO_DATA");
  if (!resnet.is_built()) return;
  if (data == nullptr || !std::filesystem::exists(std::string(data) + "/cifar10")) {
    MESSAGE("skipped: there is no folder cifar10 in $TYTO_DATA");
    return;
  }
  const std::string said =
      resnet.run("--depth 8 --width 4 --steps 8 --batch 64 --epochs 1 --data '" + std::string(data) + "/cifar10'");
  CHECK(said.find("10000 to train, 1000 to test") != std::string::npos);
}

TEST_CASE("resnet refuses depths that no residual network has") {
  const Example resnet("resnet");
  if (!resnet.is_built()) return;
  CHECK(resnet.refusal("--depth 9") == "resnet: --depth: 9 is neither 18 nor one of 8, 14, 20, 26, ...\n");
  CHECK(resnet.refusal("--data /nowhere").find("resnet: ") == 0);
}

TEST_CASE("resnet holds training pictures out, and tests with these") {
  const Example resnet("resnet");
  if (!resnet.is_built()) return;
  const std::string settings = "--depth 8 --width 4 --samples 100 --epochs 1 --batch 20 --smoothing 0.1 --held-out ";
  const std::string said = resnet.run(settings + "40 --csv " + resnet.path("held.csv"));
  CHECK(said.find("60 to train, 40 to test") != std::string::npos);
  CHECK(resnet.table("held.csv").names.back() == "held-out accuracy");
  CHECK(resnet.refusal(settings + "100") ==
        "resnet: --held-out: 100 of 100 training pictures leave none to train with\n");
}

}  // namespace tyto::programs_test
