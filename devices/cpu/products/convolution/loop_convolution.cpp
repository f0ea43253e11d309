// SPDX-License-Identifier: MIT
// Convolutions of integers and booleans, all passes, by plain loops with channels innermost.
#include <algorithm>

#include "devices/cpu/arithmetic/wrapping_arithmetic.hpp"
#include "devices/cpu/products/convolution/direct_convolution.hpp"
#include "devices/cpu/system/machine.hpp"
#include "devices/cpu/system/threads.hpp"

namespace tyto::cpu {

namespace {

/// Of bytes, operands are of types of their own.
template <class T, class Input = T, class Weight = T>
class LoopConvolution final : public DirectConvolution {
 public:
  using Arithmetic = WrappingArithmetic<T>;

  LoopConvolution(const ConvolutionProblem& problem, const KernelChoice& choice)
      : DirectConvolution(problem), threads_(convolution_threads(problem, choice, machine::scalar_operations)) {}

  void run(const ConvolutionArguments& arguments) const override {
    run_team(threads_, [&](Team team) {
      switch (problem_.pass) {
        case ConvolutionPass::forward: return run_forward(arguments, team);
        case ConvolutionPass::backward_input: return run_by_input(arguments, team);
        case ConvolutionPass::backward_kernel: return run_by_kernel(arguments, team);
      }
    });
  }

  const char* name() const noexcept override { return "own loops"; }

 private:
  std::int64_t input_offset(std::int64_t image, std::int64_t z, std::int64_t y, std::int64_t x) const noexcept {
    return (((image * g_.input[0] + z) * g_.input[1] + y) * g_.input[2] + x) * g_.in_channels;
  }
  std::int64_t output_offset(std::int64_t image, std::int64_t z, std::int64_t y, std::int64_t x) const noexcept {
    return (((image * g_.output[0] + z) * g_.output[1] + y) * g_.output[2] + x) * g_.out_channels;
  }
  // Offset of the first weight of a tap for an input channel of its group.
  std::int64_t kernel_offset(std::int64_t z, std::int64_t y, std::int64_t x, std::int64_t channel) const noexcept {
    return (((z * g_.kernel[1] + y) * g_.kernel[2] + x) * g_.group_in() + channel % g_.group_in()) * g_.out_channels;
  }
  std::int64_t first_out(std::int64_t in_channel) const noexcept { return in_channel / g_.group_in() * g_.group_out(); }

  // Calls meet(tap z, y, x, other z, y, x) for all that a pixel of `extents` meets.
  template <class Meet>
  void for_each(const Extents& extents, std::int64_t pixel, const Meet& meet) const noexcept {
    for (const auto [tap_z, z] : window_pairs_[0].at(pixel / (extents[2] * extents[1]) % extents[0])) {
      for (const auto [tap_y, y] : window_pairs_[1].at(pixel / extents[2] % extents[1])) {
        for (const auto [tap_x, x] : window_pairs_[2].at(pixel % extents[2])) meet(tap_z, tap_y, tap_x, z, y, x);
      }
    }
  }

  void run_forward(const ConvolutionArguments& arguments, Team team) const noexcept {
    const Input* input = static_cast<const Input*>(arguments.input);
    const Weight* kernel = static_cast<const Weight*>(arguments.kernel);
    const std::int64_t pixels = product_of(g_.output);
    const Range mine = share(g_.batch * pixels, team.member, team.size);
    for (std::int64_t pixel = mine.begin; pixel < mine.end; ++pixel) {
      T* out = static_cast<T*>(arguments.result) + pixel * g_.result_pitch;
      std::fill_n(out, g_.out_channels, T(0));
      for_each(g_.output, pixel, [&](auto tap_z, auto tap_y, auto tap_x, auto z, auto y, auto x) {
        const Input* in = input + input_offset(pixel / pixels, z, y, x);
        for (std::int64_t channel = 0; channel < g_.in_channels; ++channel) {
          const Weight* weights = kernel + kernel_offset(tap_z, tap_y, tap_x, channel) + first_out(channel);
          T* to = out + first_out(channel);
          for (std::int64_t o = 0; o < g_.group_out(); ++o)
            to[o] = Arithmetic::plus_product(to[o], T(in[channel]), T(weights[o]));
        }
      });
    }
  }

  void run_by_input(const ConvolutionArguments& arguments, Team team) const noexcept {
    const T* gradient = static_cast<const T*>(arguments.output_gradient);
    const T* kernel = static_cast<const T*>(arguments.kernel);
    const std::int64_t pixels = product_of(g_.input);
    const Range mine = share(g_.batch * pixels, team.member, team.size);
    for (std::int64_t pixel = mine.begin; pixel < mine.end; ++pixel) {
      T* out = static_cast<T*>(arguments.result) + pixel * g_.in_channels;
      std::fill_n(out, g_.in_channels, T(0));
      for_each(g_.input, pixel, [&](auto tap_z, auto tap_y, auto tap_x, auto z, auto y, auto x) {
        const T* from = gradient + output_offset(pixel / pixels, z, y, x);
        for (std::int64_t channel = 0; channel < g_.in_channels; ++channel) {
          const std::int64_t first = first_out(channel);
          const T* weights = kernel + kernel_offset(tap_z, tap_y, tap_x, channel) + first;
          T sum = out[channel];
          for (std::int64_t o = 0; o < g_.group_out(); ++o)
            sum = Arithmetic::plus_product(sum, from[first + o], weights[o]);
          out[channel] = sum;
        }
      });
    }
  }

  void run_by_kernel(const ConvolutionArguments& arguments, Team team) const noexcept {
    const T* input = static_cast<const T*>(arguments.input);
    const T* gradient = static_cast<const T*>(arguments.output_gradient);
    const std::int64_t tap_elements = g_.group_in() * g_.out_channels;
    const Range mine = share(g_.taps(), team.member, team.size);
    for (std::int64_t tap = mine.begin; tap < mine.end; ++tap) {
      T* out = static_cast<T*>(arguments.result) + tap * tap_elements;
      std::fill_n(out, tap_elements, T(0));
      for (std::int64_t image = 0; image < g_.batch; ++image) {
        for_each(g_.kernel, tap, [&](auto in_z, auto in_y, auto in_x, auto z, auto y, auto x) {
          const T* in = input + input_offset(image, in_z, in_y, in_x);
          const T* from = gradient + output_offset(image, z, y, x);
          for (std::int64_t channel = 0; channel < g_.in_channels; ++channel) {
            const std::int64_t first = first_out(channel);
            T* to = out + channel % g_.group_in() * g_.out_channels + first;
            for (std::int64_t o = 0; o < g_.group_out(); ++o) {
              to[o] = Arithmetic::plus_product(to[o], in[channel], from[first + o]);
            }
          }
        });
      }
    }
  }

  int threads_;
};

}  // namespace

std::unique_ptr<ConvolutionRoutine> prepare_loop_convolution(const ConvolutionProblem& problem,
                                                             const KernelChoice& choice) {
  if (problem.bytes) return std::make_unique<LoopConvolution<std::int32_t, std::uint8_t, std::int8_t>>(problem, choice);
  return with_integer_type(problem.dtype, [&]<class T>() -> std::unique_ptr<ConvolutionRoutine> {
    return std::make_unique<LoopConvolution<T>>(problem, choice);
  });
}

}  // namespace tyto::cpu
