// SPDX-License-Identifier: MIT
// Detects speech in a recording: a small recurrent network takes one window after the other and its own state.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <iostream>
#include <string>
#include <tyto/audio.hpp>
#include <tyto/onnx.hpp>
#include <tyto/tyto.hpp>

#include "examples/command_line.hpp"

using Tensor = tyto::Tensor<tyto::Lazy>;

namespace {

struct Options {
  std::string model;
  std::string recording;
  std::string device = "cpu";
  double threshold = 0.5;
  double speech = 0.25;
  double silence = 0.1;
};

CommandLine command_line(Options& options) {
  CommandLine line("speech", "Tells where in a recording someone speaks, by silero_vad.onnx.");
  line.text("--model", options.model, "FILE", "an ONNX file with inputs input, state and sr")
      .text("--recording", options.recording, "FILE", "WAV, 16000 or 8000 frames a second")
      .text("--device", options.device, "NAME", "cpu, opencl, opencl:1 ...")
      .number("--threshold", options.threshold, 0, "least probability of speech")
      .number("--speech", options.speech, 0, "shortest speech, in seconds")
      .number("--silence", options.silence, 0, "shortest silence, in seconds");
  return line;
}

/// The network on a stream: each window of 32 ms follows the last eighth of the one before.
class SpeechDetector {
 public:
  SpeechDetector(const std::string& model, std::int64_t rate)
      : window_(static_cast<std::size_t>(rate == 16000 ? 512 : 256)),
        heard_(window_ / 8),
        state_(Tensor::zeros({2, 1, 128})),
        model_(tyto::read_onnx<Tensor>(model, {.bind = {{"sr", tyto::Tensor<tyto::Any>(rate)}}})) {}

  std::size_t window() const { return window_; }

  /// The probability that someone speaks in the next window; what is missing at the end is silence.
  double next(std::span<const float> samples) {
    std::vector<float> given = heard_;
    given.insert(given.end(), samples.begin(), samples.end());
    given.resize(heard_.size() + window_);
    std::copy(given.end() - static_cast<std::ptrdiff_t>(heard_.size()), given.end(), heard_.begin());
    const Tensor input = Tensor::from(given, {1, static_cast<std::int64_t>(given.size())});
    const auto results = model_({{"input", input}, {"state", state_}});
    state_ = results["stateN"];
    return static_cast<double>(results["output"].item<float>());
  }

 private:
  std::size_t window_;
  std::vector<float> heard_;
  Tensor state_;
  tyto::OnnxModel<Tensor> model_;
};

struct Span {
  double begin, end;
};

/// Spans of speech with hysteresis: one begins at the threshold and ends after enough silence below the threshold less
/// 0.15.
class SpanFinder {
 public:
  explicit SpanFinder(const Options& options) : options_(options) {}

  void add(double time, double probability) {
    if (probability >= options_.threshold) {
      if (begin_ < 0) begin_ = time;
      quiet_ = -1;
    } else if (probability < options_.threshold - 0.15 && begin_ >= 0) {
      if (quiet_ < 0) quiet_ = time;
      if (time - quiet_ >= options_.silence) finish(quiet_);
    }
  }
  void finish(double time) {
    const double end = quiet_ < 0 ? time : quiet_;
    if (begin_ >= 0 && end - begin_ >= options_.speech) spans_.push_back({begin_, end});
    begin_ = quiet_ = -1;
  }
  const std::vector<Span>& spans() const { return spans_; }

 private:
  const Options& options_;
  double begin_ = -1, quiet_ = -1;
  std::vector<Span> spans_;
};

/// Probabilities as a picture: a column for one or several windows, the highest of them as a bar.
void draw(const std::vector<double>& probabilities) {
  static const char* const bars[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const std::size_t columns = std::min<std::size_t>(probabilities.size(), 72);
  for (std::size_t i = 0; i < columns; ++i) {
    const auto at = [&](std::size_t column) {
      return probabilities.begin() + static_cast<std::ptrdiff_t>(column * probabilities.size() / columns);
    };
    std::printf("%s", bars[static_cast<std::size_t>(*std::max_element(at(i), at(i + 1)) * 8 + 0.5)]);
  }
  std::printf("\n");
}

void listen(const Options& options) {
  if (options.model.empty() || options.recording.empty()) {
    throw std::invalid_argument("--model and --recording are needed; see --help");
  }
  const tyto::DeviceScope device(options.device);
  const auto [recorded, rate] = tyto::read_wav(options.recording);
  if (rate != 16000 && rate != 8000) {
    throw tyto::ValueError(options.recording + ": has " + std::to_string(rate) +
                           " frames a second; the model knows 16000 and 8000");
  }
  const std::vector<float> samples = mean(recorded, {1}).to_vector<float>();
  SpeechDetector detector(options.model, rate);
  SpanFinder finder(options);
  std::vector<double> probabilities;
  for (std::size_t at = 0; at < samples.size(); at += detector.window()) {
    const std::size_t count = std::min(detector.window(), samples.size() - at);
    probabilities.push_back(detector.next(std::span(samples).subspan(at, count)));
    finder.add(static_cast<double>(at) / static_cast<double>(rate), probabilities.back());
  }
  const double seconds = static_cast<double>(samples.size()) / static_cast<double>(rate);
  finder.finish(seconds);
  draw(probabilities);
  double spoken = 0;
  for (const Span& span : finder.spans()) {
    std::printf("speech from %6.2f s to %6.2f s\n", span.begin, span.end);
    spoken += span.end - span.begin;
  }
  std::printf("%.2f s of speech in %.2f s\n", spoken, seconds);
}

}  // namespace

int main(int count, char** words) {
  try {
    Options options;
    if (command_line(options).parse(count, words)) listen(options);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "speech: " << error.what() << '\n';
    return 1;
  }
}
