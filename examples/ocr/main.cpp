// SPDX-License-Identifier: MIT
// Reads a line of text from a picture: a convolutional recogniser from an ONNX file, and greedy CTC decoding.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <iostream>
#include <sstream>
#include <string>
#include <tyto/images.hpp>
#include <tyto/onnx.hpp>
#include <tyto/resampling.hpp>
#include <tyto/tyto.hpp>

#include "examples/command_line.hpp"

using Tensor = tyto::Tensor<tyto::Lazy>;

namespace {

struct Options {
  std::string model;
  std::string picture;
  std::string device = "cpu";
  std::string show = "text";
};

CommandLine command_line(Options& options) {
  CommandLine line("ocr", "Reads a line of text, by a recogniser such as ch_PP-OCRv4_rec_infer.onnx.");
  line.text("--model", options.model, "FILE", "the recogniser: an ONNX file with its characters in the metadata")
      .text("--picture", options.picture, "FILE", "PNG or JPEG of one line of text")
      .text("--device", options.device, "NAME", "cpu, opencl, opencl:1 ...")
      .choice("--show", options.show, {"text", "characters"},
              "the text, or each character with its position and probability");
  return line;
}

/// The characters of a recogniser's numbers: 0 is the blank between characters, then come those of its metadata, a line
/// each, and in the end a space.
std::vector<std::string> characters_of(const tyto::ModelInfo& info, std::int64_t count) {
  std::vector<std::string> characters{""};
  for (const auto& [key, value] : info.metadata) {
    if (key != "character") continue;
    std::istringstream lines(value);
    for (std::string line; std::getline(lines, line);) characters.push_back(line);
  }
  characters.emplace_back(" ");
  if (static_cast<std::int64_t>(characters.size()) != count) {
    throw tyto::ValueError("the model tells " + std::to_string(count) + " characters apart, its metadata lists " +
                           std::to_string(characters.size() - 2) + " beside the blank and the space");
  }
  return characters;
}

/// Resized to a height of 48, padded with grey to a multiple of 8 columns, which make one result; blue, green, red from
/// -1 to 1.
Tensor read_line(const std::string& path) {
  constexpr std::int64_t height = 48, step = 8;
  const Tensor picture = tyto::read_image<Tensor>(path);
  const std::int64_t rows = picture.shape()[0], columns = picture.shape()[1];
  const std::int64_t width = std::max<std::int64_t>(1, (height * columns + rows - 1) / rows);
  const Tensor colours = flip(cast(picture, tyto::DType::f32) / 127.5 - 1, {-1});
  const Tensor small = resize(expand_dims(colours, {0}), {height, width});
  const Tensor filled = pad(small, {0, 0, 0, 0}, {0, 0, (step - width % step) % step, 0});
  return transpose(filled, {0, 3, 1, 2});
}

struct Character {
  std::string text;
  std::int64_t column;
  double probability;
};

/// The likeliest character of each column without repetitions and blanks; a blank separates doubled characters (Graves
/// et al. 2006).
std::vector<Character> decode(const Tensor& probabilities, const std::vector<std::string>& characters) {
  const std::vector<std::int64_t> best = cast(argmax(probabilities, -1), tyto::DType::i64).to_vector<std::int64_t>();
  const std::vector<float> surely = max(probabilities, {-1}).to_vector<float>();
  std::vector<Character> line;
  for (std::size_t i = 0; i < best.size(); ++i) {
    if (best[i] == 0 || (i > 0 && best[i] == best[i - 1])) continue;
    line.push_back(
        {characters[static_cast<std::size_t>(best[i])], static_cast<std::int64_t>(i), static_cast<double>(surely[i])});
  }
  return line;
}

void read(const Options& options) {
  if (options.model.empty() || options.picture.empty()) {
    throw std::invalid_argument("--model and --picture are needed; see --help");
  }
  const tyto::DeviceScope device(options.device);
  auto model = tyto::read_onnx<Tensor>(options.model);
  if (model.inputs().size() != 1) throw tyto::ValueError(options.model + ": takes more than a picture");
  const Tensor probabilities = model({{model.inputs().front().name, read_line(options.picture)}})[0].value;
  const auto line = decode(probabilities, characters_of(model.info(), probabilities.shape().back()));
  std::string text;
  double sum = 0;
  for (const Character& character : line) {
    text += character.text;
    sum += character.probability;
  }
  if (line.empty()) {
    std::printf("no text is seen\n");
    return;
  }
  std::printf("%s\n%zu characters, read with a probability of %.1f %% on average\n", text.c_str(), line.size(),
              100 * sum / static_cast<double>(line.size()));
  if (options.show != "characters") return;
  const auto columns = static_cast<double>(probabilities.shape()[1]);
  for (const Character& character : line) {
    const auto blanks = static_cast<std::size_t>(40 * static_cast<double>(character.column) / columns);
    std::printf("%5.1f %%  |%s%s\n", 100 * character.probability, std::string(blanks, ' ').c_str(),
                character.text == " " ? "␣" : character.text.c_str());
  }
}

}  // namespace

int main(int count, char** words) {
  try {
    Options options;
    if (command_line(options).parse(count, words)) read(options);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "ocr: " << error.what() << '\n';
    return 1;
  }
}
