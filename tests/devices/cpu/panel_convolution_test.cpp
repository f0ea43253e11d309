// SPDX-License-Identifier: MIT
// Convolutions that products with packed weights serve: one tap, several blocks, runs of few channels.
#include "devices/cpu/products/convolution/convolution_routine.hpp"
#include "tests/devices/cpu/convolution_testing.hpp"

namespace tyto::cpu {

using namespace testing;

TEST_CASE("kernels of one tap are right where strides leave the end of an axis over") {
  Draw draw(5);
  for (int number = 0; number < 300; ++number) {
    CAPTURE(number);
    ConvolutionProblem p;
    p.batch = 1 + draw.below(3);
    p.groups = draw.below(8) == 0 ? 2 : 1;
    p.in_channels = p.groups * draw.of({1, 2, 3, 5, 8, 9, 16, 17, 24});
    p.out_channels = p.groups * draw.of({1, 2, 3, 5, 8, 9, 16, 17, 24});
    const std::int64_t rank = 1 + draw.below(3), longest = rank == 3 ? 8 : 18;
    for (std::int64_t axis = 0; axis < rank; ++axis) {
      p.axes.push_back({.input = 1 + draw.below(longest), .kernel = 1, .stride = 1 + draw.below(3)});
    }
    for (const ConvolutionPass pass :
         {ConvolutionPass::forward, ConvolutionPass::backward_input, ConvolutionPass::backward_kernel}) {
      p.pass = pass;
      for (const Path& path : all_paths(static_cast<int>(1 + draw.below(8)))) check_where_taken<float>(p, path, draw);
    }
  }
}

TEST_CASE("kernel gradients are right with strides and dilations behind wide padding") {
  Draw draw(6);
  ConvolutionProblem p;
  p.pass = ConvolutionPass::backward_kernel;
  p.batch = 3;
  for (const std::int64_t filters : {8, 32}) {
    p.in_channels = 32;
    p.out_channels = filters;
    for (const std::int64_t padding : {14, 15, 18, 25}) {
      p.axes = {{.input = 50, .kernel = 4, .stride = 2, .dilation = 8, .pad_before = padding, .pad_after = padding}};
      for (const Path& path : all_paths(2)) check_where_taken<float>(p, path, draw);
      p.axes.insert(p.axes.begin(), {.input = 3, .kernel = 2});
      for (const Path& path : all_paths(2)) check_where_taken<float>(p, path, draw);
    }
  }
}

TEST_CASE("a convolution deep enough for several blocks is right on every code path") {
  ConvolutionProblem p = image_problem(7, 300, 3, 130);
  p.scale = p.bias = p.residual = true;
  p.limits = relu_limits;
  Draw draw(3);
  for (const Path& path : all_paths(2)) {
    check_where_taken<float>(p, path, draw);
    check_where_taken<float>(p, path, draw, true);
  }
  p = image_problem(6, 1100, 1, 70);
  for (const ConvolutionPass pass :
       {ConvolutionPass::forward, ConvolutionPass::backward_input, ConvolutionPass::backward_kernel}) {
    p.pass = pass;
    for (const Path& path : all_paths(3)) check_where_taken<float>(p, path, draw);
  }
}

TEST_CASE("convolutions of no or few channels are right over many lines, cut lines, planes and wide padding") {
  const WindowAxis wide{.input = 37, .kernel = 5, .pad_before = 2, .pad_after = 2},
      high{.input = 20, .kernel = 3, .stride = 2, .dilation = 2, .pad_before = 1},
      cut{.input = 2100, .kernel = 4, .pad_before = 9, .pad_after = 1},
      strided{.input = 1400, .kernel = 7, .stride = 2, .dilation = 3, .pad_after = 30},
      far{.input = 640, .kernel = 2, .dilation = 300, .pad_before = 310, .pad_after = 310},
      deep{.input = 3, .kernel = 2, .pad_before = 1}, small{.input = 7, .kernel = 3, .pad_before = 1, .pad_after = 1},
      single{.input = 64, .kernel = 1};
  const std::vector<WindowAxis> geometries[] = {{high, wide},    {wide, high}, {small, small},     {cut},
                                                {strided},       {far},        {deep, high, wide}, {deep, deep, small},
                                                {single, single}};
  Draw draw(72);
  ConvolutionProblem p;
  for (const std::vector<WindowAxis>& axes : geometries) {
    p.axes = axes;
    for (const std::int64_t channels : {0, 3, 16, 40}) {
      p.in_channels = p.out_channels = p.groups = p.batch = 1;
      if (Geometry(p).output_elements() < 100) p.batch = 25;
      p.groups = 1 + draw.below(2);
      p.in_channels = p.groups * channels;
      p.out_channels = p.groups * draw.of({5, 16, 20, 32});
      for (const ConvolutionPass pass : {ConvolutionPass::forward, ConvolutionPass::backward_input}) {
        p.pass = pass;
        CAPTURE(channels);
        CAPTURE(static_cast<int>(pass));
        const std::vector<Path> paths = own_paths(static_cast<int>(1 + draw.below(4)));
        p.dtype = DType::f32;
        for (const Path& path : paths) check_where_taken<float>(p, path, draw);
        p.dtype = DType::f64;
        check_where_taken<double>(p, paths[static_cast<std::size_t>(channels) % (paths.size() - 1)], draw);
      }
    }
  }
}

TEST_CASE("windows that lie in runs of few channels are right on every code path, padded or not") {
  Draw draw(23);
  for (const std::int64_t padding : {0, 3}) {
    ConvolutionProblem long_run;
    long_run.batch = 2;
    long_run.axes = {{.input = 300, .kernel = 64, .stride = 3, .pad_before = padding}};
    ConvolutionProblem patches;
    patches.in_channels = 3;
    patches.out_channels = 20;
    patches.bias = true;
    patches.axes = {{.input = 24, .kernel = 12, .stride = 12},
                    {.input = 36, .kernel = 12, .stride = 12, .pad_after = padding}};
    for (const ConvolutionProblem& problem : {long_run, patches}) {
      for (const Path& path : all_paths(2)) check_where_taken<float>(problem, path, draw);
      if (instruction_set() == InstructionSet::avx512)
        CHECK(std::string(prepare_convolution(problem).implementation()) == "own avx512");
    }
  }
}

}  // namespace tyto::cpu
