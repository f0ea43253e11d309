// SPDX-License-Identifier: MIT
// Epilogues of convolutions (scale, bias, residual, limits) give the bits of the operators one after the other.
#include <limits>

#include "tests/devices/cpu/convolution_testing.hpp"

namespace tyto::cpu {

using namespace testing;

TEST_CASE("f16 and bf16 convolutions end with the bits that adding and ReLU by themselves would give") {
  const auto check = [](auto type) {
    using T = decltype(type);
    ConvolutionProblem p = image_problem(5, 12, 3, 70);
    p.dtype = dtype_of<T>;
    const Sizes sizes(p);
    Draw draw(8);
    Fenced<T> input(sizes.input), kernel(sizes.kernel), bias(70), residual(sizes.output), plain(sizes.output),
        ended(sizes.output);
    for (Fenced<T>* tensor : {&input, &kernel, &bias, &residual}) tensor->draw(draw);
    const auto run = [&](Fenced<T>& result) {
      run_convolution(p, KernelChoice{},
                      {.input = input.data(),
                       .kernel = kernel.data(),
                       .result = result.data(),
                       .bias = bias.data(),
                       .residual = residual.data()});
    };
    run(plain);
    p.bias = p.residual = true;
    p.limits = relu_limits;
    run(ended);
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < sizes.output; ++i) {
      const T biased(static_cast<float>(plain[i]) + static_cast<float>(bias[i % 70]));
      const T sum(static_cast<float>(biased) + static_cast<float>(residual[i]));
      wrong += static_cast<float>(ended[i]) != std::max(static_cast<float>(sum), 0.0F);
    }
    CHECK(wrong == 0);
  };
  check(Half());
  check(BFloat16());
}

TEST_CASE("our own convolutions scale and add with the bits that multiplying and adding by themselves would give") {
  for (const std::int64_t filters : {3, 10, 24, 40, 64}) {
    for (const bool depthwise : {false, true}) {
      for (const Path& path : all_paths(1)) {
        if (path.choice.implementation != Implementation::own) continue;
        CAPTURE(filters);
        CAPTURE(path.name);
        ConvolutionProblem p = image_problem(5, depthwise ? filters : 12, 3, filters);
        if (depthwise) p.groups = filters;
        const Sizes sizes(p);
        Draw draw(8);
        Fenced<float> input(sizes.input), kernel(sizes.kernel), scale(filters), bias(filters), plain(sizes.output),
            ended(sizes.output);
        for (Fenced<float>* tensor : {&input, &kernel, &scale, &bias}) tensor->draw(draw);
        const auto run = [&](Fenced<float>& result) {
          run_convolution(p, path.choice,
                          {.input = input.data(),
                           .kernel = kernel.data(),
                           .result = result.data(),
                           .scale = scale.data(),
                           .bias = bias.data()});
        };
        run(plain);
        p.scale = p.bias = true;
        run(ended);
        std::int64_t wrong = 0;
        for (std::int64_t i = 0; i < sizes.output; ++i) {
          const volatile float scaled = plain[i] * scale[i % filters];
          wrong += ended[i] != scaled + bias[i % filters];
        }
        CHECK(wrong == 0);
      }
    }
  }
}

TEST_CASE("a batch that is finished in parts is right on every code path") {
  ConvolutionProblem p = image_problem(64, 8, 1, 70);
  p.batch = 4;
  p.axes[0].input = 32;  // results of two images fit into the cache
  p.limits = relu_limits;
  Draw draw(5);
  for (const bool scaled : {false, true}) {
    p.scale = p.bias = p.residual = scaled;
    for (const bool packed : {false, true}) {
      p.packed_kernel = packed;
      for (const Path& path : all_paths(2)) {
        check_where_taken<float>(p, path, draw);
        check_where_taken<float>(p, path, draw, scaled);
      }
    }
  }
}

TEST_CASE("ReLU at the end of a convolution keeps NaN and makes 0 of -infinity on every code path") {
  for (const bool with_residual : {false, true}) {
    ConvolutionProblem p = image_problem(4, 16, 1, 16);
    p.limits = relu_limits;
    p.residual = with_residual;
    Fenced<float> input(256), kernel(256), residual(256), result(256);
    for (std::int64_t i = 0; i < 256; ++i) input[i] = kernel[i] = residual[i] = result[i] = 1;
    input[0] = std::numeric_limits<float>::quiet_NaN();
    input[16] = -std::numeric_limits<float>::infinity();
    for (const Path& path : all_paths(1)) {
      CAPTURE(path.name);
      if (!takes(p, path)) continue;
      run_convolution(
          p, path.choice,
          {.input = input.data(), .kernel = kernel.data(), .result = result.data(), .residual = residual.data()});
      CHECK(std::isnan(result[0]));
      CHECK(result[16] == 0);
      CHECK(result[32] == (with_residual ? 17 : 16));
    }
  }
}

}  // namespace tyto::cpu
