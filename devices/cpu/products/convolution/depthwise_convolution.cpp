// SPDX-License-Identifier: MIT
// Convolutions with one channel a group in f32 and f64, all passes: sums of products along the channels.
#include <algorithm>
#include <numeric>
#include <vector>

#include "devices/cpu/device/workspace.hpp"
#include "devices/cpu/products/convolution/direct_convolution.hpp"
#include "devices/cpu/products/tile/tile.hpp"
#include "devices/cpu/system/machine.hpp"
#include "devices/cpu/system/threads.hpp"

namespace tyto::cpu {

namespace {

constexpr std::int64_t most_addresses = 256;    // of a run of the channel kernel
constexpr std::int64_t channels_of_a_job = 64;  // of the kernel's gradient
constexpr std::int64_t bytes_of_taps =
    machine::first_level_cache / 2;  // that stay in the first-level cache from pixel to pixel

template <class T>
class DepthwiseConvolution final : public DirectConvolution {
 public:
  DepthwiseConvolution(const ConvolutionProblem& problem, const KernelChoice& choice)
      : DirectConvolution(problem),
        set_(choice.set()),
        threads_(convolution_threads(problem, choice, machine::vector_operations / 2)) {
    if (problem.pass != ConvolutionPass::backward_kernel) {
      find_runs();
      find_side_by_side();
    }
    tables_ = space_.reserve_each(static_cast<std::size_t>(threads_), 2 * most_addresses * sizeof(T*), tables_stride_);
  }

  void run(const ConvolutionArguments& arguments) const override {
    if (side_by_side_ > 1) {
      repeat(arguments.kernel, at<T>(arguments.workspace, repeated_kernel_), g_.taps());
      if (problem_.scale) repeat(arguments.scale, at<T>(arguments.workspace, repeated_scale_), 1);
      if (problem_.bias) repeat(arguments.bias, at<T>(arguments.workspace, repeated_bias_), 1);
    }
    run_team(threads_, [&](Team team) {
      T** const table = at<T*>(arguments.workspace, tables_ + static_cast<std::size_t>(team.member) * tables_stride_);
      const Addresses addresses{const_cast<const T**>(table), const_cast<const T**>(table + most_addresses)};
      if (problem_.pass == ConvolutionPass::backward_kernel) {
        run_by_kernel(arguments, team, addresses);
      } else {
        with_part_loop(arguments.loop, [&](const PartLoop& loop) { run_by_pixel(arguments, team, addresses, loop); });
      }
    });
  }

  bool takes_loop() const noexcept override {
    return problem_.pass == ConvolutionPass::forward && g_.result_pitch == g_.out_channels;
  }

  const char* name() const noexcept override { return own_code_of(set_); }

 private:
  struct Addresses {
    const T** x;
    const T** y;
  };

  // How many pixels from each along the last axis on meet the same taps, each `x_step_` source pixels further.
  void find_runs() {
    const std::int64_t length = problem_.pass == ConvolutionPass::forward ? g_.output[2] : g_.input[2];
    x_step_ = problem_.pass == ConvolutionPass::forward ? g_.stride[2] : 1;
    runs_.assign(static_cast<std::size_t>(length), 1);
    for (std::int64_t x = length - 1; x-- > 0;) {
      const WindowPairs::Pairs here = window_pairs_[2].at(x), next = window_pairs_[2].at(x + 1);
      const bool goes_on = std::equal(here.begin(), here.end(), next.begin(), next.end(), [&](auto one, auto other) {
        return one.first == other.first && one.second + x_step_ == other.second;
      });
      if (goes_on) runs_[static_cast<std::size_t>(x)] = runs_[static_cast<std::size_t>(x) + 1] + 1;
    }
  }

  // Few channels leave vectors empty: so many pixels side by side, whose elements follow one another, are taken as one
  // with as many times the channels, each with its weights. They fill the longest vectors.
  void find_side_by_side() {
    const std::int64_t pixel = g_.in_channels * static_cast<std::int64_t>(sizeof(T));
    const bool adjoin =
        x_step_ == 1 && (problem_.pass != ConvolutionPass::forward || g_.result_pitch == g_.out_channels);
    if (!adjoin || pixel == 0 || pixel >= longest_vector) return;
    const std::int64_t together = longest_vector / std::gcd(longest_vector, pixel);
    const auto values = static_cast<std::size_t>(together * pixel);
    const std::size_t taps = static_cast<std::size_t>(g_.taps()) * values;
    if (taps > static_cast<std::size_t>(most_repeated_bytes)) return;
    side_by_side_ = together;
    repeated_kernel_ = space_.reserve(taps);
    if (problem_.scale) repeated_scale_ = space_.reserve(values);
    if (problem_.bias) repeated_bias_ = space_.reserve(values);
  }

  void repeat(const void* values, T* to, std::int64_t rows) const noexcept {
    const T* from = static_cast<const T*>(values);
    for (; rows > 0; --rows, from += g_.in_channels) {
      if (g_.in_channels == 1) {
        to = std::fill_n(to, side_by_side_, *from);
      } else {
        for (std::int64_t k = 0; k < side_by_side_; ++k) to = std::copy_n(from, g_.in_channels, to);
      }
    }
  }

  // A part of the channels at a time, whose kernel is read from the first-level cache by all pixels but the first.
  void run_by_pixel(const ConvolutionArguments& arguments, Team team, const Addresses& addresses,
                    const PartLoop& loop) const noexcept {
    const Extents& target = problem_.pass == ConvolutionPass::forward ? g_.output : g_.input;
    const Range mine = share(g_.batch * product_of(target), team.member, team.size);
    constexpr std::int64_t least = 64;
    const auto each = static_cast<std::int64_t>(sizeof(T)) * std::max<std::int64_t>(g_.taps(), 1);
    const std::int64_t together = std::max(bytes_of_taps / each / least, std::int64_t{1}) * least;
    for (std::int64_t first = 0; first < g_.in_channels; first += together) {
      run_channels(arguments, mine, addresses, {first, std::min(first + together, g_.in_channels)}, loop);
    }
  }

  void run_channels(const ConvolutionArguments& arguments, Range mine, const Addresses& addresses, Range part,
                    const PartLoop& loop) const noexcept {
    const bool forward = problem_.pass == ConvolutionPass::forward;
    const Extents& target = forward ? g_.output : g_.input;
    const Extents& source = forward ? g_.input : g_.output;
    const std::int64_t channels = g_.in_channels, image_pixels = product_of(target);
    const T* from = static_cast<const T*>(forward ? arguments.input : arguments.output_gradient) + part.begin;
    const bool in_place = problem_.residual && arguments.residual == arguments.result;
    const std::int64_t out_step = forward ? g_.result_pitch : channels;
    // Pixels that meet the same taps, `wide` of them taken as one.
    const auto run_pixels = [&](std::int64_t pixel, std::int64_t pixels, std::int64_t wide) {
      const auto of_channels = [&](const void* values, std::size_t repeated) {
        return wide > 1 ? at<T>(arguments.workspace, repeated) : static_cast<const T*>(values) + part.begin;
      };
      const std::int64_t image = pixel / image_pixels, x = pixel % target[2], y = pixel / target[2] % target[1];
      const std::int64_t z = pixel / (target[2] * target[1]) % target[0];
      ChannelArguments<T> t;
      t.x = addresses.x;
      t.y = addresses.y;
      t.out = static_cast<T*>(arguments.result) + pixel * out_step + part.begin;
      t.pixels = pixels / wide;
      t.channels = part.size() * wide;
      t.x_step = x_step_ * channels * wide;
      t.out_step = out_step * wide;
      t.residual_step = channels * wide;
      if (problem_.scale) t.scale = of_channels(arguments.scale, repeated_scale_);
      const T* const weights = of_channels(arguments.kernel, repeated_kernel_);
      t.accumulate = in_place;
      for (const auto [tap_z, at_z] : window_pairs_[0].at(z)) {
        for (const auto [tap_y, at_y] : window_pairs_[1].at(y)) {
          const T* const row = from + ((image * source[0] + at_z) * source[1] + at_y) * source[2] * channels;
          const T* const taps = weights + (tap_z * g_.kernel[1] + tap_y) * g_.kernel[2] * channels * wide;
          for (const auto [tap_x, at_x] : window_pairs_[2].at(x)) {
            if (t.count == most_addresses) flush(t);
            addresses.x[t.count] = row + at_x * channels;
            addresses.y[t.count] = taps + tap_x * channels * wide;
            ++t.count;
          }
        }
      }
      // The epilogue goes with the last addresses.
      if (problem_.bias) t.bias = of_channels(arguments.bias, repeated_bias_);
      if (problem_.residual && !in_place) {
        t.residual = static_cast<const T*>(arguments.residual) + part.begin + pixel * channels;
      }
      t.limits = problem_.limits.as<T>();
      tiles<T>(set_).channels(t);
    };
    std::int64_t pixels = 0;
    for (std::int64_t pixel = mine.begin; pixel < mine.end; pixel += pixels) {
      pixels = std::min(runs_[static_cast<std::size_t>(pixel % target[2])], mine.end - pixel);
      const std::int64_t wide = pixels >= side_by_side_ ? side_by_side_ : 1, left = pixels % wide;
      run_pixels(pixel, pixels - left, wide);
      const std::int64_t end = pixel + pixels;
      // The last pixels again with those before them, unless what is added to them is no longer there.
      if (left > 0 && !in_place) run_pixels(end - wide, wide, wide);
      else if (left > 0) run_pixels(end - left, left, 1);
      if (loop) loop({pixel, end}, part);
    }
  }

  void run_by_kernel(const ConvolutionArguments& arguments, Team team, const Addresses& addresses) const noexcept {
    const T* input = static_cast<const T*>(arguments.input);
    const T* gradient = static_cast<const T*>(arguments.output_gradient);
    const std::int64_t channels = g_.in_channels, parts = (channels + channels_of_a_job - 1) / channels_of_a_job;
    const Range mine = share(g_.taps() * parts, team.member, team.size);
    for (std::int64_t job = mine.begin; job < mine.end; ++job) {
      const std::int64_t tap = job / parts, first = job % parts * channels_of_a_job;
      ChannelArguments<T> t;
      t.x = addresses.x;
      t.y = addresses.y;
      t.channels = std::min(channels_of_a_job, channels - first);
      t.out = static_cast<T*>(arguments.result) + tap * channels + first;
      for (std::int64_t image = 0; image < g_.batch; ++image) {
        for (const auto [in_z, out_z] : window_pairs_[0].at(tap / (g_.kernel[1] * g_.kernel[2]))) {
          for (const auto [in_y, out_y] : window_pairs_[1].at(tap / g_.kernel[2] % g_.kernel[1])) {
            for (const auto [in_x, out_x] : window_pairs_[2].at(tap % g_.kernel[2])) {
              if (t.count == most_addresses) flush(t);
              addresses.x[t.count] =
                  input + (((image * g_.input[0] + in_z) * g_.input[1] + in_y) * g_.input[2] + in_x) * channels + first;
              addresses.y[t.count] =
                  gradient +
                  (((image * g_.output[0] + out_z) * g_.output[1] + out_y) * g_.output[2] + out_x) * channels + first;
              ++t.count;
            }
          }
        }
      }
      tiles<T>(set_).channels(t);
    }
  }

  void flush(ChannelArguments<T>& t) const noexcept {
    tiles<T>(set_).channels(t);
    t.accumulate = true;
    t.count = 0;
  }

  InstructionSet set_;
  int threads_;
  std::vector<std::int64_t> runs_;
  std::int64_t x_step_ = 1;
  std::int64_t side_by_side_ = 1;
  std::size_t repeated_kernel_ = 0, repeated_scale_ = 0, repeated_bias_ = 0;
  std::size_t tables_ = 0, tables_stride_ = 0;
};

}  // namespace

std::unique_ptr<ConvolutionRoutine> prepare_depthwise_convolution(const ConvolutionProblem& problem,
                                                                  const KernelChoice& choice) {
  if (problem.dtype == DType::f64) return std::make_unique<DepthwiseConvolution<double>>(problem, choice);
  return std::make_unique<DepthwiseConvolution<float>>(problem, choice);
}

}  // namespace tyto::cpu
