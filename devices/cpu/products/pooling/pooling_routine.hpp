// SPDX-License-Identifier: MIT
// The interface between pooling's front and its implementations.
#pragma once

#include <memory>

#include "devices/cpu/products/pooling/pooling.hpp"
#include "devices/cpu/products/tile/tile.hpp"
#include "devices/cpu/system/threads.hpp"

namespace tyto::cpu {

using PoolingRoutine = Routine<PoolingArguments>;

/// Base of pooling kernels: extents, threads and pairs of window coordinates.
struct PoolingPlan {
  PoolingPlan(const PoolingProblem& problem, const KernelChoice& choice);

  std::int64_t batch, channels;
  std::array<WindowAxis, 3> axes;
  Extents input{}, output{};
  int threads = 1;
  AxisWindowPairs of_output;

  std::int64_t input_elements() const noexcept { return batch * product_of(input) * channels; }
  std::int64_t output_elements() const noexcept { return batch * product_of(output) * channels; }

  /// Calls meet(pixel of the input image) for each that lies under the window at a pixel of the output image.
  template <class Meet>
  void for_each_under(const Extents& at, const Meet& meet) const noexcept {
    for (const auto [tap_z, at_z] : of_output[0].at(at[0])) {
      for (const auto [tap_y, at_y] : of_output[1].at(at[1])) {
        for (const auto [tap_x, at_x] : of_output[2].at(at[2])) meet((at_z * input[1] + at_y) * input[2] + at_x);
      }
    }
  }

  template <class Meet>
  void for_each_under(std::int64_t pixel, const Meet& meet) const noexcept {
    for_each_under(Extents{pixel / (output[2] * output[1]), pixel / output[2] % output[1], pixel % output[2]}, meet);
  }
};

/// Results side by side whose windows see as many pixels each, those of one a stride further than those of the last.
struct WindowRun {
  std::int64_t pixel;  // of the output of all images
  std::int64_t length;
  Extents at;  // the output coordinates of the first
};

/// Cuts output pixels into such runs and calls run(WindowRun) for each.
template <class Run>
void for_each_run(const PoolingPlan& plan, Range pixels, const Run& run) noexcept {
  const Extents& output = plan.output;
  const WindowPairs& line = plan.of_output[2];
  for (std::int64_t pixel = pixels.begin; pixel < pixels.end;) {
    const std::int64_t x = pixel % output[2], row = pixel / output[2];
    const std::int64_t most = std::min(output[2] - x, pixels.end - pixel);
    const WindowPairs::Pairs first = line.at(x);
    std::int64_t length = 1;
    for (; length < most; ++length) {
      const WindowPairs::Pairs next = line.at(x + length);
      if (next.size() != first.size()) break;
      if (next.size() > 0 && next.from->second != first.from->second + length * plan.axes[2].stride) break;
    }
    run(WindowRun{pixel, length, {row / output[1] % output[0], row % output[1], x}});
    pixel += length;
  }
}

/// Folds the pixels of `input`, `pitch` elements apart, that lie under the windows of a run into the results, which
/// begin at `out`. False, with nothing written, where the windows see none.
template <class T>
bool fold_windows(const PoolingPlan& plan, const WindowRun& run, const T* input, std::int64_t pitch, T* out,
                  std::int64_t out_pitch, PixelFoldFunction<T> fold) noexcept {
  constexpr std::int64_t most_addresses = 64;
  const T* addresses[most_addresses];
  PixelFoldArguments<T> t;
  t.pixels = addresses;
  t.channels = plan.channels;
  t.out = out;
  t.results = run.length;
  t.pixel_step = plan.axes[2].stride * pitch;
  t.out_step = out_pitch;
  const T* const image = input + run.pixel / product_of(plan.output) * product_of(plan.input) * pitch;
  plan.for_each_under(run.at, [&](std::int64_t under) {
    if (t.count == most_addresses) {
      fold(t);
      t.accumulate = true;
      t.count = 0;
    }
    addresses[t.count++] = image + under * pitch;
  });
  if (t.count > 0) fold(t);
  return t.count > 0;
}

std::unique_ptr<PoolingRoutine> prepare_maximum_pooling(const PoolingProblem& problem, const KernelChoice& choice);
std::unique_ptr<PoolingRoutine> prepare_average_pooling(const PoolingProblem& problem, const KernelChoice& choice);

}  // namespace tyto::cpu
