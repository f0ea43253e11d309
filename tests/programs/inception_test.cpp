// SPDX-License-Identifier: MIT
// The example inception: its networks are torchvision's by their parameters, and a picture passes through both modes
// alike.
#include <doctest/doctest.h>

#include <fstream>

#include "tests/programs/example.hpp"

namespace tyto::programs_test {

namespace {

/// The lines with probabilities.
std::string result_of(const std::string& said) { return said.substr(0, said.find("parameters")); }

}  // namespace

TEST_CASE("inception: both networks have torchvision's parameters, and both modes give the same result") {
  const Example inception("inception");
  if (!inception.is_built()) return;
  const std::string lazy = inception.run("--network resnet50 --runs 1");
  CHECK(lazy.find("resnet50, 25557032 parameters") != std::string::npos);
  CHECK(result_of(inception.run("--network resnet50 --runs 1 --mode eager")) == result_of(lazy));
  CHECK(inception.run("--runs 1").find("inception, 23834568 parameters") != std::string::npos);
}

TEST_CASE("inception reads a picture and names of classes, and refuses weights of something else") {
  const Example inception("inception");
  if (!inception.is_built()) return;
  std::ofstream names(inception.path("names"));
  for (int i = 0; i < 1000; ++i) names << "owl number " << i << '\n';
  names.close();
  const std::string picture = std::filesystem::absolute("tests/io/data/images/colours.png");
  const testing::Ran ran = inception.try_to_run("--network resnet50 --runs 1 --picture " + picture + " --classes " +
                                                inception.path("names"));
  if (ran.output.find("was built without") == std::string::npos) {
    CHECK(ran.succeeded);
    CHECK(ran.output.find("%  owl number ") != std::string::npos);
  }
  const std::string other = std::filesystem::absolute("tests/io/data/types.safetensors");
  CHECK(inception.refusal("--network resnet50 --weights " + other).find("inception: " + other) == 0);
}

}  // namespace tyto::programs_test
