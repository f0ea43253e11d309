// SPDX-License-Identifier: MIT
// Reference convolutions as nested loops over the definition, and the comparison of a code path with them.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include <tyto/error.hpp>

#include "devices/cpu/products/convolution/convolution.hpp"
#include "tests/devices/cpu/kernel_testing.hpp"

namespace tyto::cpu::testing {

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
inline void run_convolution(const ConvolutionProblem& p, const KernelChoice& choice, ConvolutionArguments arguments) {
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

inline ConvolutionProblem image_problem(std::int64_t size, std::int64_t channels, std::int64_t kernel,
                                        std::int64_t filters) {
  ConvolutionProblem p;
  p.in_channels = channels;
  p.out_channels = filters;
  p.axes.assign(2, {size, kernel, 1, 1, kernel / 2, kernel / 2});
  return p;
}

// oneDNN may decline; the automatic choice then takes our own code.
inline bool takes(const ConvolutionProblem& problem, const Path& path) {
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

}  // namespace tyto::cpu::testing
