// SPDX-License-Identifier: MIT
// The examples that train, interrupted at random moments: they save, say how to go on, and lose not a bit.
#include <doctest/doctest.h>

#include <sys/wait.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <random>
#include <thread>

#include "tests/programs/example.hpp"

namespace tyto::programs_test {

namespace {

/// Interrupts a run without end again and again, and compares what it saved with a run that made as many steps at once.
void check_interrupted(const Example& example, const std::string& settings, const std::string& steps_option) {
  const std::string parts = example.path("parts.npz");
  // As many interruptions as the environment asks for; few in the suite.
  const char* asked = std::getenv("TYTO_KILLS");
  const int rounds = asked != nullptr ? std::stoi(asked) : 3;
  std::mt19937 random(7);
  for (int round = 0; round < rounds; ++round) {
    CAPTURE(round);
    const bool by_key = round % 2 == 0;
    std::filesystem::remove(example.path("output"));
    const testing::Child child = example.start(settings + " --checkpoint " + parts);
    // The last line that it prints before training.
    for (int waited = 0; example.text("output").find(" on cpu") == std::string::npos && waited < 6000; ++waited) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(150 + random() % 500));
    child.kill(by_key ? SIGINT : SIGTERM);
    const int status = child.wait();
    const std::string said = example.text("output");
    CAPTURE(said);
    REQUIRE(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == (by_key ? 130 : 143));
    const std::string line = std::string("interrupted by ") + (by_key ? "SIGINT" : "SIGTERM") +
                             "; the same command goes on from " + parts + "\n";
    // A launcher has words of its own for the status.
    CHECK((example.is_launched() ? said.find(line) != std::string::npos : said.ends_with(line)));
  }
  const std::string saved = example.text("parts.npz");
  const std::string look = example.run(settings + " --checkpoint " + parts + steps_option + "0");
  const std::string before = "going on after step ";
  const std::size_t at = look.find(before);
  REQUIRE(at != std::string::npos);
  const int steps = std::stoi(look.substr(at + before.size()));
  CHECK(steps > 0);
  example.run(settings + " --checkpoint " + example.path("whole.npz") + steps_option + std::to_string(steps));
  CHECK(saved == example.text("whole.npz"));
}

}  // namespace

TEST_CASE("mnist: interrupted at random moments, it goes on to the same bits") {
  for (const char* mode : {"eager", "lazy"}) {
    const Example mnist("mnist");
    if (!mnist.is_built()) return;
    check_interrupted(mnist, std::string("--samples 80 --batch 8 --epochs 100000 --mode ") + mode, " --steps ");
  }
}

TEST_CASE("mnist: interrupted as two processes, it goes on to the same bits") {
  const Example mnist("mnist", 2);
  if (!mnist.is_built()) return;
  check_interrupted(mnist, "--samples 80 --batch 8 --epochs 100000", " --steps ");
}

TEST_CASE("resnet: interrupted at random moments, it goes on to the same bits") {
  const Example resnet("resnet");
  if (!resnet.is_built()) return;
  check_interrupted(resnet, "--depth 8 --width 4 --samples 200 --epochs 100000 --batch 20", " --steps ");
}

TEST_CASE("gpt: interrupted at random moments, it goes on to the same bits") {
  const Example gpt("gpt");
  if (!gpt.is_built()) return;
  check_interrupted(gpt, "--features 16 --heads 2 --layers 1 --batch 32 --steps 100000 --every 100", " --steps-now ");
}

TEST_CASE("mask_rcnn: interrupted at random moments, it goes on to the same bits") {
  const Example example("mask_rcnn");
  if (!example.is_built()) return;
  check_interrupted(example, "--batch 1 --steps 100000 --every 100000 --test 1", " --steps-now ");
}

TEST_CASE("char_rnn: interrupted at random moments, it goes on to the same bits") {
  const Example example("char_rnn");
  if (!example.is_built()) return;
  std::ofstream file(example.path("words"));
  for (const char* first : {"ba", "lo", "ti", "ru", "men"}) {
    for (const char* second : {"ba", "lo", "ti", "ru", "men"}) {
      for (const char* third : {"ba", "lo", "ti", "ru", "men"}) file << first << second << third << '\n';
    }
  }
  file.close();
  check_interrupted(example, "--words " + example.path("words") + " --hidden 16 --batch 17 --epochs 100000 --invent 5",
                    " --steps ");
}

TEST_CASE("an interrupted run without a checkpoint says what would have kept it") {
  const Example mnist("mnist");
  if (!mnist.is_built()) return;
  const testing::Child child = mnist.start("--samples 80 --batch 8 --epochs 100000 --mode eager");
  for (int waited = 0; mnist.text("output").find(" on cpu") == std::string::npos && waited < 6000; ++waited) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  child.kill(SIGINT);
  const int status = child.wait();
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 130);
  CHECK(mnist.text("output").find(
            "interrupted by SIGINT; nothing was saved: with --checkpoint FILE a run can go on\n") != std::string::npos);
}

}  // namespace tyto::programs_test
