// SPDX-License-Identifier: MIT
// The example char_rnn: it learns to spell invented words, equally in both modes, and goes on exactly.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>

#include "tests/programs/example.hpp"

namespace tyto::programs_test {

namespace {

/// All words of three syllables out of five, and lines that are no words.
void write_words(const std::string& path) {
  std::ofstream file(path);
  const char* syllables[] = {"ba", "lo", "ti", "ru", "men"};
  for (const char* first : syllables) {
    for (const char* second : syllables) {
      for (const char* third : syllables) file << first << second << third << '\n';
    }
  }
  file << "Barn\nowl's\n\n";
}

}  // namespace

TEST_CASE("char_rnn learns to spell, with the same losses in both modes, and invents words") {
  const Example example("char_rnn");
  if (!example.is_built()) return;
  write_words(example.path("words"));
  const std::string settings =
      "--words " + example.path("words") + " --hidden 16 --batch 17 --epochs 12 --rate 0.03 --invent 5 --csv ";
  const std::string said = example.run(settings + example.path("lazy.csv"));
  CHECK(said.find("119 words to learn, 6 held back") != std::string::npos);
  const Table lazy = example.table("lazy.csv");
  CHECK(lazy.names == std::vector<std::string>{"epoch", "step", "loss", "held-out nats a letter"});
  REQUIRE(lazy.rows.size() == 12);
  CHECK(lazy.rows[11][3] < 1.0);  // a choice of five for each syllable is 0.67 nats a letter, and three are the last
  example.run(settings + example.path("eager.csv") + " --mode eager");
  const Table eager = example.table("eager.csv");
  REQUIRE(eager.rows.size() == 12);
  for (std::size_t i = 0; i < 12; ++i) CHECK(eager.rows[i][2] == doctest::Approx(lazy.rows[i][2]).epsilon(0.01));
}

TEST_CASE("char_rnn: a run that is broken off and resumed ends with the bits of a run in one piece") {
  const Example example("char_rnn");
  if (!example.is_built()) return;
  write_words(example.path("words"));
  const std::string settings =
      "--words " + example.path("words") + " --hidden 8 --batch 20 --epochs 2 --invent 0 --checkpoint ";
  example.run(settings + example.path("whole.npz"));
  for (const char* stop : {" --steps 4", " --steps 1", ""}) example.run(settings + example.path("parts.npz") + stop);
  CHECK(example.text("parts.npz") == example.text("whole.npz"));
}

TEST_CASE("char_rnn refuses files without words") {
  const Example example("char_rnn");
  if (!example.is_built()) return;
  CHECK(example.refusal("--words /nowhere") ==
        "char_rnn: /nowhere: cannot be read; name a list of words by --words (Debian's: wamerican)\n");
  std::ofstream(example.path("words")) << "owl\nBarn\n";
  CHECK(example.refusal("--words " + example.path("words")) ==
        "char_rnn: " + example.path("words") + ": has 1 words of the letters a to z; at least 20 are needed\n");
}

}  // namespace tyto::programs_test
