// SPDX-License-Identifier: MIT
// Convolutions of a channel each, and of lines of one channel, by whose costs the loop is chosen.
#include <string_view>

#include "tests/devices/cpu/convolution_testing.hpp"

namespace tyto::cpu {

using namespace testing;

TEST_CASE("depthwise convolutions of few channels are right in rows of many pixels that meet the same taps") {
  Draw draw(29);
  for (const std::int64_t width : {17, 40, 140}) {
    for (std::int64_t channels = 1; channels <= 5; ++channels) {
      for (const bool ended : {false, true}) {
        for (const std::int64_t stride : {1, 2}) {
          for (const std::int64_t dilation : {1, 2}) {
            CAPTURE(width);
            CAPTURE(channels);
            CAPTURE(ended);
            CAPTURE(stride);
            CAPTURE(dilation);
            ConvolutionProblem p = image_problem(width, channels, 3, channels);
            p.groups = channels;
            p.batch = 2;
            p.axes[0] = {.input = 5, .kernel = 3, .pad_before = 1};
            p.axes[1].stride = stride;
            p.axes[1].dilation = dilation;
            for (const ConvolutionPass pass : {ConvolutionPass::forward, ConvolutionPass::backward_input}) {
              p.pass = pass;
              p.scale = p.bias = p.residual = ended && pass == ConvolutionPass::forward;
              p.limits = p.scale ? relu_limits : Limits<double>{};
              p.dtype = DType::f32;
              for (const Path& path : all_paths(2)) {
                check_where_taken<float>(p, path, draw);
                if (p.residual) check_where_taken<float>(p, path, draw, true);
              }
              p.dtype = DType::f64;
              for (const Path& path : all_paths(1)) check_where_taken<double>(p, path, draw);
            }
          }
        }
      }
    }
  }
}

TEST_CASE("long lines of one channel are right with taps beyond either end, however many taps, and ended") {
  Draw draw(31);
  for (const std::int64_t taps : {1, 31, 64, 255, 300}) {
    for (const bool ended : {false, true}) {
      ConvolutionProblem p;
      p.bias = true;
      p.scale = p.residual = ended;
      if (ended) p.limits = relu_limits;
      // Half as long again as the loop of depthwise convolutions needs to be chosen.
      p.axes = {{.input = 17 * taps + 601, .kernel = taps, .pad_before = taps - 1, .pad_after = taps - 1}};
      CAPTURE(taps);
      CAPTURE(ended);
      // Where windows are shorter than runs that the tile takes, nothing else of our own would.
      if (taps == 31) CHECK(std::string_view(prepare_convolution(p, KernelChoice{}).implementation()) != "onednn");
      for (const Path& path : all_paths(2)) {
        check_where_taken<float>(p, path, draw);
        if (ended) check_where_taken<float>(p, path, draw, true);
      }
      p.dtype = DType::f64;
      for (const Path& path : all_paths(1)) check_where_taken<double>(p, path, draw);
    }
  }
}

TEST_CASE("lines of one channel with padding as long as themselves, or with few pixels, are left to others") {
  if (!has_onednn() || instruction_set() != InstructionSet::avx512) return;
  const auto takes_own = [](std::vector<WindowAxis> axes) {
    ConvolutionProblem p;
    p.axes = std::move(axes);
    return std::string_view(prepare_convolution(p, KernelChoice{}).implementation()).starts_with("own");
  };
  const auto is_own = [&](const WindowAxis& line) { return takes_own({{.input = 8, .kernel = 3}, line}); };
  CHECK(is_own({.input = 34, .kernel = 3}));
  CHECK(!is_own({.input = 12, .kernel = 3}));
  CHECK(!is_own({.input = 64, .kernel = 31, .pad_before = 30, .pad_after = 30}));
  CHECK(is_own({.input = 4000, .kernel = 31, .pad_before = 30, .pad_after = 30}));
  // Signals with few taps, of which oneDNN takes several times as long, but not pictures.
  for (const std::int64_t input : {200, 300, 500, 700}) {
    CHECK(takes_own({{.input = input, .kernel = 31, .pad_before = 30, .pad_after = 30}}));
  }
  const WindowAxis padded{.input = 28, .kernel = 3, .pad_before = 1, .pad_after = 1};
  CHECK(!takes_own({padded, padded}));
}

}  // namespace tyto::cpu
