// SPDX-License-Identifier: MIT
// The MNIST example, killed at random moments while it trains and saves: its checkpoint is always whole.
#include <doctest/doctest.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <random>
#include <thread>

#include "tests/support/child.hpp"
#include "tests/support/temporary_folder.hpp"

namespace {

namespace fs = std::filesystem;
using tyto::testing::Child;
using tyto::testing::run_to_end;

/// The number behind "going on after step ", or 0.
long steps_seen(const std::string& text) {
  const std::string words = "going on after step ";
  const std::size_t at = text.find(words);
  return at == std::string::npos ? 0 : std::stol(text.substr(at + words.size()));
}

}  // namespace

TEST_CASE("a run killed at random moments always resumes from a whole checkpoint") {
  const fs::path example = tyto::testing::built_beside("mnist");
  if (!fs::exists(example)) {
    MESSAGE("skipped: the example mnist is not built");
    return;
  }
  const tyto::testing::TemporaryFolder folder;
  const fs::path checkpoint = folder / "run.npz";
  const fs::path output = folder / "output";
  const std::vector<std::string> words{example,    "--samples",    "80",           "--batch", "8",
                                       "--epochs", "100000",       "--save-every", "1",       "--mode",
                                       "eager",    "--checkpoint", checkpoint};
  // As many kills as the environment asks for; few in the suite.
  const char* asked = getenv("TYTO_KILLS");
  const int kills = asked != nullptr ? std::stoi(asked) : 4;
  std::mt19937 random(1);
  long seen = 0;
  for (int round = 0; round < kills; ++round) {
    CAPTURE(round);
    const Child child(words, output);
    // The first file must be there, else nothing is resumed; then any moment will do.
    for (int waited = 0; !fs::exists(checkpoint) && waited < 600; ++waited) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 2500));
    child.kill();
    CHECK(WIFSIGNALED(child.wait()));
    REQUIRE(fs::exists(checkpoint));

    std::vector<std::string> look = words;
    look.insert(look.end(), {"--steps", "0"});
    const auto [succeeded, text] = run_to_end(look, output);
    CAPTURE(text);
    CHECK(succeeded);
    const long now = steps_seen(text);
    CHECK(now >= std::max(seen, 1L));
    seen = now;
  }
}
