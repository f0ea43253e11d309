// SPDX-License-Identifier: MIT
// The example gpt: sums and text, equally in both modes, written by one compiled function, and resumed exactly.
#include <doctest/doctest.h>

#include <fstream>

#include "tests/programs/example.hpp"

namespace tyto::programs_test {

namespace {

const std::string small = "--features 16 --heads 2 --layers 1 --batch 32 --steps 60 --every 20 ";

}  // namespace

TEST_CASE("gpt begins to learn sums, with the same losses in both modes, and compiles its writing once") {
  const Example gpt("gpt");
  if (!gpt.is_built()) return;
  const std::string said = gpt.run(small + "--csv " + gpt.path("lazy.csv") + " --prompt 250+250=");
  CHECK(said.find("sums of three digits: 12 symbols") != std::string::npos);
  CHECK(said.find("250+250=") != std::string::npos);
  CHECK(said.find("written by a function compiled 1 time(s)") != std::string::npos);
  const Table lazy = gpt.table("lazy.csv");
  CHECK(lazy.names == std::vector<std::string>{"epoch", "step", "loss", "right"});
  REQUIRE(lazy.rows.size() == 3);
  CHECK(lazy.rows[2][2] < 2.1);  // of log 12 = 2.48 for symbols that are not told apart
  gpt.run(small + "--mode eager --csv " + gpt.path("eager.csv"));
  const Table eager = gpt.table("eager.csv");
  REQUIRE(eager.rows.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) CHECK(eager.rows[i][2] == doctest::Approx(lazy.rows[i][2]).epsilon(1e-3));
}

TEST_CASE("gpt: a run that is broken off and resumed ends with the bits of a run in one piece") {
  const Example gpt("gpt");
  if (!gpt.is_built()) return;
  gpt.run(small + "--checkpoint " + gpt.path("whole.npz"));
  for (const char* stop : {" --steps-now 13", " --steps-now 27", ""}) {
    gpt.run(small + "--checkpoint " + gpt.path("parts.npz") + stop);
  }
  CHECK(gpt.text("parts.npz") == gpt.text("whole.npz"));
}

TEST_CASE("gpt learns a text and writes on") {
  const Example gpt("gpt");
  if (!gpt.is_built()) return;
  std::ofstream file(gpt.path("text"));
  for (int i = 0; i < 300; ++i) file << "tyto alba. ";
  file.close();
  const std::string said = gpt.run("--text " + gpt.path("text") +
                                   " --features 16 --heads 2 --layers 1 --batch 16 --steps 150 --every 150 --length 24 "
                                   "--rate 0.01 --temperature 0 --prompt 'tyto ' --write 60 --csv " +
                                   gpt.path("run.csv"));
  CHECK(gpt.table("run.csv").rows.at(0).at(3) < 0.3);
  CHECK(said.find("tyto alba. tyto alba. tyto alba. tyto alba. tyto alba. tyto a") != std::string::npos);
  CHECK(said.find("written by a function compiled 1 time(s)") != std::string::npos);
}

TEST_CASE("gpt refuses what it cannot learn or go on from") {
  const Example gpt("gpt");
  if (!gpt.is_built()) return;
  CHECK(gpt.refusal("--text /nowhere") == "gpt: /nowhere: cannot be read\n");
  std::ofstream(gpt.path("short")) << "owl";
  CHECK(gpt.refusal("--text " + gpt.path("short")) ==
        "gpt: " + gpt.path("short") + ": has 3 bytes; more than 640 are needed, to learn from and to hold back\n");
  CHECK(gpt.refusal(small + "--steps-now 0 --prompt 1+1=").find("gpt: --prompt: '1+1=' is no sum such as 123+456=") !=
        std::string::npos);
}

}  // namespace tyto::programs_test
