// SPDX-License-Identifier: MIT
// Convolutions and their gradients, every type and code path, against nested loops over the definition.
#include "devices/cpu/system/threads.hpp"
#include "tests/devices/cpu/convolution_testing.hpp"

namespace tyto::cpu {

using namespace testing;

namespace {

ConvolutionProblem drawn_problem(Draw& draw, DType dtype) {
  ConvolutionProblem p;
  p.dtype = dtype;
  p.batch = draw.of({0, 1, 1, 2, 3});
  p.groups = draw.of({1, 1, 1, 2, 3});
  p.in_channels = p.groups * draw.of({1, 2, 3, 16, 35});
  p.out_channels = p.groups * draw.of({1, 2, 5, 16, 40, 70});
  if (draw.below(4) == 0) p.in_channels = p.out_channels = p.groups = draw.of({2, 3, 5, 17, 64, 83});  // depthwise
  const std::int64_t rank = 1 + draw.below(3);
  for (std::int64_t axis = 0; axis < rank; ++axis) {
    WindowAxis a;
    a.input = rank == 1 ? draw.of({0, 1, 9, 40}) : rank == 2 ? draw.of({1, 4, 7, 11, 12}) : draw.of({1, 3, 5});
    a.kernel = draw.of({1, 2, 3, 3, 5});
    a.stride = draw.of({1, 1, 2, 3});
    a.dilation = draw.of({1, 1, 2});
    a.pad_before = draw.below(3);
    a.pad_after = draw.below(3);
    p.axes.push_back(a);
  }
  return p;
}

/// None, ReLU, an interval, or one end of it.
Limits<double> drawn_limits(Draw& draw) {
  const Limits<double> choices[] = {{}, relu_limits, {-2, 3}, {-Limits<double>::infinity, 1}};
  return choices[draw.below(4)];
}

template <class T>
void check_drawn_convolutions(int cases) {
  for (int number = 0; number < cases; ++number) {
    Draw draw(static_cast<std::uint64_t>(number) + 1000 * static_cast<std::uint64_t>(dtype_of<T>));
    ConvolutionProblem problem = drawn_problem(draw, dtype_of<T>);
    for (const ConvolutionPass pass :
         {ConvolutionPass::forward, ConvolutionPass::backward_input, ConvolutionPass::backward_kernel}) {
      problem.pass = pass;
      const bool forward = pass == ConvolutionPass::forward;
      constexpr bool wide = std::is_same_v<T, float> || std::is_same_v<T, double>;
      const bool ends = forward && !std::is_integral_v<T>;
      problem.scale = forward && wide && draw.coin();
      problem.bias = ends && draw.coin();
      problem.residual = ends && draw.coin();
      problem.limits = ends ? drawn_limits(draw) : Limits<double>{};
      const bool apart = forward && !problem.residual && problem.dtype != DType::f16 && problem.dtype != DType::bf16;
      problem.result_pitch = apart && draw.coin() ? problem.out_channels + draw.below(9) : 0;
      problem.packed_kernel = wide && pass != ConvolutionPass::backward_kernel && draw.coin();
      for (const Path& path : all_paths(static_cast<int>(1 + draw.below(3)))) {
        CAPTURE(number);
        CAPTURE(static_cast<int>(pass));
        check_where_taken<T>(problem, path, draw, problem.residual && draw.coin());
      }
    }
  }
}

}  // namespace

TEST_CASE("f32 convolutions and gradients are right for drawn geometries and endings on every code path") {
  check_drawn_convolutions<float>(60);
}

TEST_CASE("f64 convolutions and gradients are right for drawn geometries") { check_drawn_convolutions<double>(25); }

TEST_CASE("f16 and bf16 convolutions accumulate in f32 and round their sums once") {
  check_drawn_convolutions<Half>(12);
  check_drawn_convolutions<BFloat16>(12);
}

TEST_CASE("integer convolutions wrap round in their own type and booleans take any of and") {
  check_drawn_convolutions<std::uint8_t>(6);
  check_drawn_convolutions<std::int8_t>(6);
  check_drawn_convolutions<std::int16_t>(6);
  check_drawn_convolutions<std::int32_t>(6);
  check_drawn_convolutions<std::int64_t>(6);
  check_drawn_convolutions<bool>(6);
}

TEST_CASE("convolutions of bytes are exact sums of 32 bits, of any values on every code path") {
  for (int number = 0; number < 120; ++number) {
    Draw draw(static_cast<std::uint64_t>(number) + 5000);
    ConvolutionProblem p = drawn_problem(draw, DType::i32);
    p.bytes = true;
    p.packed_kernel = draw.coin();
    const Sizes sizes(p);
    Fenced<std::uint8_t> input(sizes.input);
    Fenced<std::int8_t> kernel(sizes.kernel);
    const bool extremes = draw.coin();
    for (std::int64_t i = 0; i < sizes.input; ++i)
      input[i] = static_cast<std::uint8_t>(extremes ? draw.of({0, 255, 255}) : draw.below(256));
    for (std::int64_t i = 0; i < sizes.kernel; ++i)
      kernel[i] = static_cast<std::int8_t>(extremes ? draw.of({-128, 127, 127}) : draw.below(256) - 128);
    std::vector<std::int64_t> sums(static_cast<std::size_t>(sizes.output));
    for_each_product(p, [&](std::int64_t o, std::int64_t i, std::int64_t k) {
      sums[static_cast<std::size_t>(o)] += std::int64_t{input[i]} * kernel[k];
    });
    for (const Path& path : all_paths(static_cast<int>(1 + draw.below(3)))) {
      CAPTURE(number);
      CAPTURE(path.name);
      if (!takes(p, path)) continue;
      auto convolution = fenced(prepare_convolution, p, path.choice);
      Fenced<std::int32_t> result(sizes.output);
      ConvolutionArguments arguments;
      arguments.input = input.data();
      arguments.kernel = kernel.data();
      arguments.result = result.data();
      arguments.workspace = convolution.workspace.data();
      if (convolution.kernel.packed_bytes() != 0) {
        convolution.kernel.pack(kernel.data(), convolution.packed.data());
        arguments.kernel = convolution.packed.data();
      }
      convolution.kernel.run(arguments);
      std::int64_t wrong = 0;
      for (std::int64_t place = 0; place < sizes.output; ++place)
        wrong += result[place] != sums[static_cast<std::size_t>(place)];
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("kernel gradients of few and many channels are right over many lines, cut lines and wide padding") {
  const WindowAxis wide{.input = 37, .kernel = 5, .pad_before = 2, .pad_after = 2},
      high{.input = 20, .kernel = 3, .stride = 2, .dilation = 2, .pad_before = 1},
      cut{.input = 700, .kernel = 4, .pad_before = 9, .pad_after = 1},
      strided{.input = 1400, .kernel = 7, .stride = 2, .dilation = 3, .pad_after = 30},
      far{.input = 640, .kernel = 2, .dilation = 300, .pad_before = 310, .pad_after = 310},
      deep{.input = 3, .kernel = 2};
  const std::vector<WindowAxis> geometries[] = {{high, wide}, {wide, high}, {cut},
                                                {strided},    {far},        {deep, high, wide}};
  Draw draw(71);
  ConvolutionProblem p;
  p.pass = ConvolutionPass::backward_kernel;
  for (const std::vector<WindowAxis>& axes : geometries) {
    p.axes = axes;
    for (p.batch = 0; p.batch < 4; ++p.batch) {
      p.groups = 1 + draw.below(2);
      p.in_channels = p.groups * draw.of({1, 2, 3, 33});
      p.out_channels = p.groups * draw.of({2, 20, 32, 64});
      for (const Path& path : all_paths(static_cast<int>(1 + draw.below(7)))) {
        p.dtype = DType::f32;
        check_where_taken<float>(p, path, draw);
        p.dtype = DType::f64;
        check_where_taken<double>(p, path, draw);
      }
    }
  }
}

TEST_CASE("convolutions within a parallel region of the program are whole") {
  Draw draw(61);
  for (const std::int64_t kernel : {1, 3}) {
    ConvolutionProblem p = image_problem(14, 16, kernel, 32);
    p.batch = 2;
    for (const ConvolutionPass pass :
         {ConvolutionPass::forward, ConvolutionPass::backward_input, ConvolutionPass::backward_kernel}) {
      p.pass = pass;
      for (const Path& path : all_paths(2)) {
        run_team(2, [&](Team team) {
          if (team.member == 0) check_where_taken<float>(p, path, draw);
        });
      }
    }
  }
}

TEST_CASE("convolution outputs have the extent that NumPy-style counting gives") {
  CHECK(WindowAxis{.input = 28, .kernel = 5}.output() == 24);
  CHECK(WindowAxis{.input = 224, .kernel = 7, .stride = 2, .pad_before = 3, .pad_after = 3}.output() == 112);
  CHECK(WindowAxis{.input = 5, .kernel = 3, .dilation = 2}.output() == 1);
  CHECK(WindowAxis{.input = 2, .kernel = 3}.output() == 0);
}

TEST_CASE("our own convolutions give the same bits for any number of threads") {
  for (const ConvolutionPass pass :
       {ConvolutionPass::forward, ConvolutionPass::backward_input, ConvolutionPass::backward_kernel}) {
    for (const std::int64_t channels : {1, 40, 140}) {
      ConvolutionProblem p = image_problem(19, channels, 3, 72);
      p.pass = pass;
      const Sizes sizes(p);
      Draw draw(11);
      Fenced<float> input(sizes.input), kernel(sizes.kernel), gradient(sizes.output);
      for (Fenced<float>* tensor : {&input, &kernel, &gradient}) tensor->draw(draw);
      const std::int64_t count = std::max({sizes.input, sizes.kernel, sizes.output});
      Fenced<float> one(count), other(count);
      const auto run = [&](int threads, Fenced<float>& result) {
        run_convolution(p, KernelChoice{Implementation::own, {}, threads},
                        {.input = input.data(),
                         .kernel = kernel.data(),
                         .output_gradient = gradient.data(),
                         .result = result.data()});
      };
      run(1, one);
      for (const int threads : {2, 3, 7}) {
        run(threads, other);
        CHECK(std::memcmp(one.data(), other.data(), static_cast<std::size_t>(count) * sizeof(float)) == 0);
      }
    }
  }
}

TEST_CASE("malformed convolutions are refused with what was wrong") {
  ConvolutionProblem p;
  CHECK_THROWS_WITH_AS(prepare_convolution(p), "convolution: one to three axes, got 0", ValueError);
  p = image_problem(8, 4, 3, 6);
  p.groups = 4;
  CHECK_THROWS_WITH_AS(prepare_convolution(p), "convolution: 4 groups do not divide 4 and 6 channels", ValueError);
  p.groups = 1;
  p.axes[1].stride = 0;
  CHECK_THROWS_WITH_AS(prepare_convolution(p), "convolution: stride and dilation must be at least 1, got 0 and 1",
                       ValueError);
  p = image_problem(8, 4, 3, 6);
  p.pass = ConvolutionPass::backward_kernel;
  p.limits = relu_limits;
  CHECK_THROWS_WITH_AS(prepare_convolution(p),
                       "convolution: scale, bias, residual and limits belong to the forward pass", ValueError);
  p = image_problem(8, 4, 3, 6);
  p.dtype = DType::i32;
  p.scale = true;
  CHECK_THROWS_WITH_AS(prepare_convolution(p), "convolution: scale and packed_kernel are for f32 and f64, not i32",
                       ValueError);
  p = image_problem(8, 4, 3, 6);
  p.bytes = true;
  CHECK_THROWS_WITH_AS(prepare_convolution(p), "convolution: bytes have sums of i32 and no gradients", ValueError);
  p = image_problem(8, 4, 3, 6);
  p.pass = ConvolutionPass::backward_kernel;
  p.limits = {};
  p.packed_kernel = true;
  CHECK_THROWS_WITH_AS(prepare_convolution(p), "convolution: backward_kernel reads no kernel that could be packed",
                       ValueError);
}

}  // namespace tyto::cpu
