// SPDX-License-Identifier: MIT
// Maximum pooling of every type but halves, and its gradient, which finds the maximum's place again.
#include <algorithm>
#include <limits>
#include <type_traits>

#include "devices/cpu/arithmetic/wrapping_arithmetic.hpp"
#include "devices/cpu/products/pooling/pooling_routine.hpp"
#include "devices/cpu/products/tile/tile.hpp"
#include "devices/cpu/system/threads.hpp"

namespace tyto::cpu {

namespace {

constexpr std::int64_t block_channels = 64;

template <class T>
constexpr T lowest() noexcept {
  if constexpr (std::is_floating_point_v<T>) return -std::numeric_limits<T>::infinity();
  return std::numeric_limits<T>::lowest();
}

// True where `value` takes the place of the maximum so far; the last NaN wins over everything. No short cut: loops over
// channels are to be vectors.
template <class T>
bool wins(T value, T so_far) noexcept {
  if constexpr (std::is_floating_point_v<T>) return (value > so_far) | (value != value);
  return value > so_far;
}

template <class T>
void maxima_of_integers(const PixelFoldArguments<T>& t) noexcept {
  for (std::int64_t result = 0; result < t.results; ++result) {
    const std::int64_t shift = result * t.pixel_step;
    T* out = t.out + result * t.out_step;
    if (!t.accumulate) std::copy_n(t.pixels[0] + shift, t.channels, out);
    for (std::int64_t i = t.accumulate ? 0 : 1; i < t.count; ++i) {
      const T* pixel = t.pixels[i] + shift;
      for (std::int64_t c = 0; c < t.channels; ++c) out[c] = wins(pixel[c], out[c]) ? pixel[c] : out[c];
    }
  }
}

template <class T>
PixelFoldFunction<T> maxima_for(InstructionSet set) noexcept {
  if constexpr (std::is_floating_point_v<T>) return tiles<T>(set).pixel_maxima;
  static_cast<void>(set);
  return maxima_of_integers<T>;
}

template <class T>
class MaximumForward final : public PoolingRoutine {
 public:
  MaximumForward(const PoolingProblem& problem, const KernelChoice& choice)
      : plan_(problem, choice),
        maxima_(maxima_for<T>(choice.set())),
        pitch_(problem.input_pitch != 0 ? problem.input_pitch : problem.channels),
        result_pitch_(problem.result_pitch != 0 ? problem.result_pitch : problem.channels) {}

  void run(const PoolingArguments& arguments) const override {
    run_team(plan_.threads, [&](Team team) {
      const Range mine = share(plan_.batch * product_of(plan_.output), team.member, team.size);
      for_each_run(plan_, mine, [&](const WindowRun& run) {
        T* out = static_cast<T*>(arguments.result) + run.pixel * result_pitch_;
        if (fold_windows(plan_, run, static_cast<const T*>(arguments.input), pitch_, out, result_pitch_, maxima_)) {
          return;
        }
        for (std::int64_t i = 0; i < run.length; ++i) {
          std::fill_n(out + i * result_pitch_, plan_.channels, lowest<T>());
        }
      });
    });
  }

 private:
  PoolingPlan plan_;
  PixelFoldFunction<T> maxima_;
  std::int64_t pitch_;         // elements from pixel to pixel of the input
  std::int64_t result_pitch_;  // and of the result
};

// Windows may overlap, so members take images and blocks of channels, never pixels: no two write to one place, and
// sums are formed in one order for any team.
template <class T>
class MaximumBackward final : public PoolingRoutine {
 public:
  MaximumBackward(const PoolingProblem& problem, const KernelChoice& choice)
      : plan_(problem, choice),
        places_(tiles<T>(choice.set()).maximum_places),
        pitch_(problem.input_pitch != 0 ? problem.input_pitch : problem.channels) {
    fills_ = std::all_of(plan_.axes.begin(), plan_.axes.end(), [](const WindowAxis& axis) {
      return axis.dilation == 1 && axis.stride == axis.kernel && axis.pad_before == 0 && axis.pad_after == 0 &&
             axis.input % axis.kernel == 0;
    });
  }

  void run(const PoolingArguments& arguments) const override {
    const std::int64_t blocks = (plan_.channels + block_channels - 1) / block_channels;
    run_team(plan_.threads, [&](Team team) {
      const Range mine = share(plan_.batch * blocks, team.member, team.size);
      for (std::int64_t job = mine.begin; job < mine.end; ++job) {
        const std::int64_t first = job % blocks * block_channels;
        spread(arguments, job / blocks, first, std::min(block_channels, plan_.channels - first));
      }
    });
  }

 private:
  using Tap = typename MaximumPlaces<T>::Place;

  void spread(const PoolingArguments& arguments, std::int64_t image, std::int64_t first,
              std::int64_t count) const noexcept {
    const std::int64_t channels = plan_.channels, in_pixels = product_of(plan_.input),
                       out_pixels = product_of(plan_.output);
    const T* input = static_cast<const T*>(arguments.input) + image * in_pixels * pitch_ + first;
    const T* gradient = static_cast<const T*>(arguments.output_gradient) + image * out_pixels * channels + first;
    T* result = static_cast<T*>(arguments.result) + image * in_pixels * channels + first;
    if (!fills_) {
      for (std::int64_t pixel = 0; pixel < in_pixels; ++pixel) std::fill_n(result + pixel * channels, count, T(0));
    }
    T greatest[block_channels];
    Tap taken[block_channels];
    for (std::int64_t pixel = 0; pixel < out_pixels; ++pixel) {
      Tap taps = 0;
      plan_.for_each_under(pixel, [&](std::int64_t under) {
        const T* from = input + under * pitch_;
        if (taps == 0) {
          std::copy_n(from, count, greatest);
          std::fill_n(taken, count, Tap(0));
        } else {
          places_.compare(from, count, taps, greatest, taken);
        }
        ++taps;
      });
      const T* from = gradient + pixel * channels;
      Tap tap = 0;
      plan_.for_each_under(pixel, [&](std::int64_t under) {
        places_.give(from, count, tap, taken, !fills_, result + under * channels);
        ++tap;
      });
    }
  }

  PoolingPlan plan_;
  MaximumPlaces<T> places_;
  std::int64_t pitch_;  // elements from pixel to pixel of the input
  bool fills_ = false;  // every input lies under one window: written once, not cleared and added to
};

}  // namespace

std::unique_ptr<PoolingRoutine> prepare_maximum_pooling(const PoolingProblem& problem, const KernelChoice& choice) {
  if (problem.backward) {
    if (problem.dtype == DType::f64) return std::make_unique<MaximumBackward<double>>(problem, choice);
    return std::make_unique<MaximumBackward<float>>(problem, choice);
  }
  if (problem.dtype == DType::f64) return std::make_unique<MaximumForward<double>>(problem, choice);
  if (problem.dtype == DType::f32) return std::make_unique<MaximumForward<float>>(problem, choice);
  return with_integer_type(problem.dtype, [&]<class T>() -> std::unique_ptr<PoolingRoutine> {
    return std::make_unique<MaximumForward<T>>(problem, choice);
  });
}

}  // namespace tyto::cpu
