// SPDX-License-Identifier: MIT
// Convolutions and their gradients, every type and code path, against nested loops over the definition.
#include <algorithm>
#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include <tyto/error.hpp>

#include "devices/cpu/products/convolution/convolution.hpp"
#include "devices/cpu/system/threads.hpp"
#include "tests/devices/cpu/kernel_testing.hpp"

namespace tyto::cpu {

using namespace testing;

namespace {

// Every (output element, input element, kernel element) that multiplies in a convolution.
template <class Meet>
void for_each_product(const ConvolutionProblem& p, const Meet& meet) {
  WindowAxis axes[3];
  for (std::size_t axis = 0; axis < p.axes.size(); ++axis) axes[3 - p.axes.size() + axis] = p.axes[axis];
  const std::int64_t group_in = p.in_channels / p.groups, group_out = p.out_channels / p.groups;
  const std::int64_t out[3] = {axes[0].output(), axes[1].output(), axes[2].output()};
  for (std::int64_t n = 0; n < p.batch; ++n) {
    for (std::int64_t z = 0; z < out[0]; ++z) {
      for (std::int64_t y = 0; y < out[1]; ++y) {
        for (std::int64_t x = 0; x < out[2]; ++x) {
          for (std::int64_t kz = 0; kz < axes[0].kernel; ++kz) {
            for (std::int64_t ky = 0; ky < axes[1].kernel; ++ky) {
              for (std::int64_t kx = 0; kx < axes[2].kernel; ++kx) {
                const std::int64_t iz = z * axes[0].stride + kz * axes[0].dilation - axes[0].pad_before;
                const std::int64_t iy = y * axes[1].stride + ky * axes[1].dilation - axes[1].pad_before;
                const std::int64_t ix = x * axes[2].stride + kx * axes[2].dilation - axes[2].pad_before;
                if (iz < 0 || iz >= axes[0].input || iy < 0 || iy >= axes[1].input || ix < 0 || ix >= axes[2].input)
                  continue;
                const std::int64_t o = ((n * out[0] + z) * out[1] + y) * out[2] + x;
                const std::int64_t i = ((n * axes[0].input + iz) * axes[1].input + iy) * axes[2].input + ix;
                const std::int64_t k = (kz * axes[1].kernel + ky) * axes[2].kernel + kx;
                for (std::int64_t group = 0; group < p.groups; ++group) {
                  for (std::int64_t ci = 0; ci < group_in; ++ci) {
                    for (std::int64_t co = 0; co < group_out; ++co) {
                      meet(o * p.out_channels + group * group_out + co, i * p.in_channels + group * group_in + ci,
                           (k * group_in + ci) * p.out_channels + group * group_out + co);
                    }
                  }
                }
              }
            }
          }
        }
      }
    }
  }
}

struct Sizes {
  explicit Sizes(const ConvolutionProblem& p)
      : input(p.batch * p.in_channels),
        kernel(p.in_channels / p.groups * p.out_channels),
        output(p.batch * p.out_channels) {
    for (const WindowAxis& axis : p.axes) {
      input *= axis.input;
      kernel *= axis.kernel;
      output *= axis.output();
    }
  }
  std::int64_t input, kernel, output;
};

template <class T>
struct Expected {
  using Sum = std::conditional_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, std::uint64_t, double>;
  std::vector<Sum> sum;
  std::vector<double> magnitude;
  std::vector<double> stored;  // sizes of the sums before something was added to them
  std::vector<std::int64_t> terms;

  explicit Expected(std::int64_t count)
      : sum(static_cast<std::size_t>(count)),
        magnitude(static_cast<std::size_t>(count)),
        stored(static_cast<std::size_t>(count)),
        terms(static_cast<std::size_t>(count)) {}

  void add_product(std::int64_t place, T x, T y) {
    const auto at = static_cast<std::size_t>(place);
    if constexpr (std::is_same_v<T, bool>) {
      sum[at] += x && y;
    } else if constexpr (std::is_integral_v<T>) {
      sum[at] += static_cast<std::uint64_t>(x) * static_cast<std::uint64_t>(y);
    } else {
      sum[at] += as_double(x) * as_double(y);
      magnitude[at] += std::abs(as_double(x) * as_double(y));
      ++terms[at];
    }
  }

  void scale(std::int64_t place, T factor) {
    const auto at = static_cast<std::size_t>(place);
    if constexpr (std::is_floating_point_v<T>) {
      sum[at] *= as_double(factor);
      magnitude[at] *= std::abs(as_double(factor));
      ++terms[at];
    }
  }

  void add(std::int64_t place, T value) {
    stored[static_cast<std::size_t>(place)] += std::abs(static_cast<double>(sum[static_cast<std::size_t>(place)]));
    add_product(place, value, T(1));
  }

  bool matches(std::int64_t place, T got, const Limits<double>& limits) const {
    const auto at = static_cast<std::size_t>(place);
    if constexpr (std::is_same_v<T, bool>) {
      return got == (sum[at] > 0);
    } else if constexpr (std::is_integral_v<T>) {
      const T want = static_cast<T>(sum[at]);
      if (static_cast<double>(want) < limits.low) return got == static_cast<T>(limits.low);
      return got == (static_cast<double>(want) > limits.high ? static_cast<T>(limits.high) : want);
    } else {
      return is_sum(got, limits(sum[at]), magnitude[at], terms[at], stored[at]);
    }
  }
};

/// With a workspace of its own.
void run_convolution(const ConvolutionProblem& p, const KernelChoice& choice, ConvolutionArguments arguments) {
  auto convolution = fenced(prepare_convolution, p, choice);
  arguments.workspace = convolution.workspace.data();
  convolution.kernel.run(arguments);
}

template <class T>
void check_convolution(const ConvolutionProblem& p, const KernelChoice& choice, Draw& draw, bool in_place = false) {
  const Sizes sizes(p);
  const bool forward = p.pass == ConvolutionPass::forward, by_input = p.pass == ConvolutionPass::backward_input;
  const std::int64_t result_size = forward ? sizes.output : by_input ? sizes.input : sizes.kernel;
  Fenced<T> input(sizes.input), kernel(sizes.kernel), gradient(sizes.output), residual(sizes.output),
      scale(p.out_channels), bias(p.out_channels);
  const std::int64_t pitch = p.result_pitch == 0 ? std::max<std::int64_t>(p.out_channels, 1) : p.result_pitch;
  const bool apart = forward && p.result_pitch != 0;
  Fenced<T> result(apart ? result_size / p.out_channels * pitch : result_size);
  const Fenced<T> before = result.copy();
  for (Fenced<T>* tensor : {&input, &kernel, &gradient, &residual, &scale, &bias}) tensor->draw(draw);

  auto convolution = fenced(prepare_convolution, p, choice);
  ConvolutionArguments arguments;
  arguments.input = input.data();
  arguments.kernel = kernel.data();
  arguments.output_gradient = gradient.data();
  arguments.result = result.data();
  arguments.scale = scale.data();
  arguments.bias = bias.data();
  arguments.residual = residual.data();
  if (in_place) {
    for (std::int64_t place = 0; place < sizes.output; ++place) result[place] = residual[place];
    arguments.residual = result.data();
  }
  arguments.workspace = convolution.workspace.data();
  if (p.packed_kernel) {
    convolution.kernel.pack(kernel.data(), convolution.packed.data());
    arguments.kernel = convolution.packed.data();
  }
  convolution.kernel.run(arguments);

  Expected<T> expected(result_size);
  for_each_product(p, [&](std::int64_t o, std::int64_t i, std::int64_t k) {
    if (forward) {
      expected.add_product(o, input[i], kernel[k]);
    } else if (by_input) {
      expected.add_product(i, gradient[o], kernel[k]);
    } else {
      expected.add_product(k, input[i], gradient[o]);
    }
  });
  std::int64_t wrong = 0;
  for (std::int64_t place = 0; place < result_size; ++place) {
    if (p.scale) expected.scale(place, scale[place % p.out_channels]);
    if (p.bias) expected.add(place, bias[place % p.out_channels]);
    if (p.residual) expected.add(place, residual[place]);
    const std::int64_t at = apart ? place / p.out_channels * pitch + place % p.out_channels : place;
    wrong += !expected.matches(place, result[at], p.limits);
  }
  for (std::int64_t at = 0; apart && at < result.size(); ++at) {
    wrong += at % pitch >= p.out_channels && !same_bits(result[at], before[at]);
  }
  CHECK(wrong == 0);
}

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

// oneDNN may decline; the automatic choice then takes our own code.
bool takes(const ConvolutionProblem& problem, const Path& path) {
  try {
    (void)prepare_convolution(problem, path.choice);
    return true;
  } catch (const DeviceError&) {
    REQUIRE(path.name == "onednn");
    return false;
  }
}

template <class T>
void check_where_taken(const ConvolutionProblem& problem, const Path& path, Draw& draw, bool in_place = false) {
  CAPTURE(path.name);
  if (takes(problem, path)) check_convolution<T>(problem, path.choice, draw, in_place);
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
      problem.scale = forward && size_of(problem.dtype) > 2 && is_floating(problem.dtype) && draw.coin();
      problem.bias = forward && draw.coin();
      problem.residual = forward && draw.coin();
      problem.limits = forward ? drawn_limits(draw) : Limits<double>{};
      const bool apart = forward && !problem.residual && problem.dtype != DType::f16 && problem.dtype != DType::bf16;
      problem.result_pitch = apart && draw.coin() ? problem.out_channels + draw.below(9) : 0;
      problem.packed_kernel = pass != ConvolutionPass::backward_kernel && draw.coin();
      for (const Path& path : all_paths(static_cast<int>(1 + draw.below(3)))) {
        CAPTURE(number);
        CAPTURE(static_cast<int>(pass));
        check_where_taken<T>(problem, path, draw, problem.residual && draw.coin());
      }
    }
  }
}

ConvolutionProblem image_problem(std::int64_t size, std::int64_t channels, std::int64_t kernel, std::int64_t filters) {
  ConvolutionProblem p;
  p.in_channels = channels;
  p.out_channels = filters;
  p.axes.assign(2, {size, kernel, 1, 1, kernel / 2, kernel / 2});
  return p;
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
  if (!has_onednn() || widest_instruction_set() != InstructionSet::avx512) return;
  const auto is_own = [](const WindowAxis& line) {
    ConvolutionProblem p;
    p.axes = {{.input = 8, .kernel = 3}, line};
    return std::string_view(prepare_convolution(p, KernelChoice{}).implementation()).starts_with("own");
  };
  CHECK(is_own({.input = 34, .kernel = 3}));
  CHECK(!is_own({.input = 12, .kernel = 3}));
  CHECK(!is_own({.input = 64, .kernel = 31, .pad_before = 30, .pad_after = 30}));
  CHECK(is_own({.input = 4000, .kernel = 31, .pad_before = 30, .pad_after = 30}));
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

TEST_CASE("convolution outputs have the extent that NumPy-style counting gives") {
  CHECK(WindowAxis{.input = 28, .kernel = 5}.output() == 24);
  CHECK(WindowAxis{.input = 224, .kernel = 7, .stride = 2, .pad_before = 3, .pad_after = 3}.output() == 112);
  CHECK(WindowAxis{.input = 5, .kernel = 3, .dilation = 2}.output() == 1);
  CHECK(WindowAxis{.input = 2, .kernel = 3}.output() == 0);
}

TEST_CASE("our own convolutions give the same bits for any number of threads") {
  for (const ConvolutionPass pass :
       {ConvolutionPass::forward, ConvolutionPass::backward_input, ConvolutionPass::backward_kernel}) {
    ConvolutionProblem p = image_problem(19, 40, 3, 72);
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
  CHECK_THROWS_WITH_AS(prepare_convolution(p), "convolution: sums of type i32 cannot be scaled: f32 and f64 only",
                       ValueError);
  p = image_problem(8, 4, 3, 6);
  p.pass = ConvolutionPass::backward_kernel;
  p.limits = {};
  p.packed_kernel = true;
  CHECK_THROWS_WITH_AS(prepare_convolution(p), "convolution: backward_kernel reads no kernel that could be packed",
                       ValueError);
}

}  // namespace tyto::cpu
