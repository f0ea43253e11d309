// SPDX-License-Identifier: MIT
// The examples that run models from elsewhere: classify, ocr, speech and search, where the models are there.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <tyto/io.hpp>

#include "tests/programs/example.hpp"
#include "tests/support/message.hpp"

namespace tyto::programs_test {

namespace {

using tyto_test::contains;

std::string quoted(const std::string& path) { return "'" + path + "'"; }

std::string data(const std::string& name) { return std::filesystem::absolute("tests/programs/data/" + name).string(); }

/// A file or folder below $TYTO_DATA.
std::optional<std::string> found(const std::string& name) {
  const char* root = std::getenv("TYTO_DATA");
  const std::filesystem::path path = std::filesystem::path(root == nullptr ? "" : root) / name;
  if (root == nullptr || !std::filesystem::exists(path)) {
    MESSAGE("skipped: there is no $TYTO_DATA/", name);
    return {};
  }
  return path.string();
}

bool reads_pictures(const std::string& said) { return said.find("was built without") == std::string::npos; }

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, static_cast<double>(std::abs(a[i] - b[i])));
  }
  return largest;
}

/// Begin and end in each line "speech from 0.64 s to 1.82 s".
std::vector<double> times_of(const std::string& said) {
  std::vector<double> times;
  std::istringstream words(said);
  for (std::string word, last; words >> word; last = word) {
    if (last == "from" || last == "to") times.push_back(std::stod(word));
  }
  return times;
}

}  // namespace

TEST_CASE("classify names the likeliest classes, by number or from a list") {
  const Example classify("classify");
  if (!classify.is_built()) return;
  const std::string picture = quoted(std::filesystem::absolute("tests/io/data/images/colours.png"));
  CHECK(classify.refusal("") == "classify: --model and --picture are needed; see --help\n");
  CHECK(contains(classify.refusal("--model none.onnx --picture " + picture), "classify: none.onnx"));
  const auto model = found("zoo/efficientnet_lite0.onnx");
  if (!model) return;
  const std::string command = "--model " + quoted(*model) + " --picture " + picture;
  const testing::Ran ran = classify.try_to_run(command + " --top 3");
  if (!reads_pictures(ran.output)) return;
  CHECK(ran.succeeded);
  CHECK(std::count(ran.output.begin(), ran.output.end(), '\n') == 4);
  CHECK(contains(ran.output, " %  class "));
  // Each thread has room of its own in it.
  double planned = 0, bound = 0, apart = 0;
  const std::size_t memory = ran.output.find("planned memory ");
  REQUIRE(memory != std::string::npos);
  CHECK(std::sscanf(ran.output.c_str() + memory, "planned memory %lf MiB (bound %lf, without reuse %lf)", &planned,
                    &bound, &apart) == 3);
  CHECK(planned >= bound);
  CHECK(planned <= 1.01 * bound + 0.1);
  CHECK(planned < 0.3 * apart);
  std::ofstream names(classify.path("names"));
  for (int i = 0; i < 1000; ++i) names << "owl number " << i << '\n';
  names.close();
  CHECK(contains(classify.run(command + " --classes " + classify.path("names")), " %  owl number "));
}

TEST_CASE("ocr reads lines of text as ONNX Runtime does") {
  const Example ocr("ocr");
  if (!ocr.is_built()) return;
  CHECK(ocr.refusal("") == "ocr: --model and --picture are needed; see --help\n");
  const auto model = found("zoo/ch_PP-OCRv4_rec_infer.onnx");
  if (!model) return;
  const std::string command = "--model " + quoted(*model) + " --picture ";
  const testing::Ran ran = ocr.try_to_run(command + quoted(data("line_0.png")));
  if (!reads_pictures(ran.output)) return;
  CHECK(ran.succeeded);
  CHECK(ran.output.starts_with(" Tyto plans memory first \n25 characters, read with a probability of 95.2 % on"));
  const std::string said = ocr.run(command + quoted(data("line_1.png")) + " --show characters");
  CHECK(said.starts_with("Lazy tensors 2026: 42.5 GFLOP/s\n31 characters, read with"));
  CHECK(std::count(said.begin(), said.end(), '|') == 31);
}

TEST_CASE("ocr refuses a model that lists no characters") {
  const Example ocr("ocr");
  const auto model = found("zoo/efficientnet_lite0.onnx");
  if (!ocr.is_built() || !model) return;
  const std::string said = ocr.refusal("--model " + quoted(*model) + " --picture " + quoted(data("line_0.png")));
  CHECK(said.starts_with("ocr: "));
}

TEST_CASE("speech finds the sentences of a recording") {
  const Example speech("speech");
  if (!speech.is_built()) return;
  CHECK(speech.refusal("") == "speech: --model and --recording are needed; see --help\n");
  const std::string fast = quoted(std::filesystem::absolute("tests/io/data/wavs/stereo_16.wav"));
  CHECK(contains(speech.refusal("--model m.onnx --recording " + fast),
                 "has 44100 frames a second; the model knows 16000 and 8000"));
  const auto model = found("zoo/silero_vad.onnx");
  if (!model) return;
  const std::string said = speech.run("--model " + quoted(*model) + " --recording " + quoted(data("speech.wav")));
  // ONNX Runtime gives probabilities from 0.5 on in the windows from 0.64 s to 1.824 s and, with a drop of less than
  // the shortest silence, from 3.008 s to 4.16 s.
  CHECK(times_of(said) == std::vector<double>{0.64, 1.82, 3.01, 4.16});
  CHECK(contains(said, "of speech in 4.60 s\n"));
}

TEST_CASE("search makes the vectors of a small BERT as NumPy does, with the tokens of Hugging Face") {
  const Example search("search");
  if (!search.is_built()) return;
  CHECK(search.refusal("") == "search: --model is needed; see --help\n");
  CHECK(contains(search.refusal("--model nowhere"), "search: nowhere/config.json: cannot be read"));
  const std::string said =
      search.run("--model " + quoted(data("bert")) + " --sentences " + quoted(data("bert/sentences.txt")) +
                 " --query 'the owl sees a owlet.' --top 3 --vectors " + search.path("vectors.npy"));
  CHECK(contains(said.substr(0, said.find('\n')), " 1.000  The owl sees a owlet."));
  CHECK(std::count(said.begin(), said.end(), '\n') == 4);
  const auto vectors = read_npy(search.path("vectors.npy")).to_vector<float>();
  CHECK(largest_difference(vectors, read_npy(data("bert/vectors.npy")).to_vector<float>()) < 1e-6);
}

TEST_CASE("search finds what MiniLM's sentences mean") {
  const Example search("search");
  if (!search.is_built()) return;
  const auto model = found("minilm");
  const auto wanted = found("zoo/ref/minilm.npz");
  if (!model || !wanted) return;
  const std::string said = search.run("--model " + quoted(*model) + " --vectors " + search.path("vectors.npy"));
  CHECK(contains(said.substr(0, said.find('\n')), "A cat sleeps on the sofa."));
  const std::vector<float> want = read_npz(*wanted)["out_0"].to_vector<float>();
  std::vector<float> vectors = read_npy(search.path("vectors.npy")).to_vector<float>();
  vectors.resize(want.size());  // the example's first sentences are those of the reference
  CHECK(largest_difference(vectors, want) < 1e-5);
}

}  // namespace tyto::programs_test
