// The interface between pooling's front and its implementations.
#pragma once

#include <memory>

#include "devices/cpu/pooling/pooling.hpp"

namespace tyto::cpu {

class PoolingRoutine {
 public:
  virtual ~PoolingRoutine() = default;
  virtual std::size_t workspace_bytes() const noexcept { return 0; }
  virtual void run(const PoolingArguments& arguments) const = 0;
};

/// What the pooling kernels share: extents, threads and which coordinates meet.
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
  void for_each_under(std::int64_t pixel, const Meet& meet) const noexcept {
    const std::int64_t x = pixel % output[2], y = pixel / output[2] % output[1], z = pixel / (output[2] * output[1]);
    for (const auto [tap_z, at_z] : of_output[0].at(z)) {
      for (const auto [tap_y, at_y] : of_output[1].at(y)) {
        for (const auto [tap_x, at_x] : of_output[2].at(x)) meet((at_z * input[1] + at_y) * input[2] + at_x);
      }
    }
  }
};

/// Folds the pixels of `image`, `pitch` elements apart, that lie under the window at an output pixel into `out`, by
/// fold(addresses, their number, channels, accumulate, out). False, with nothing written, where the window sees none.
template <class T, class Fold>
bool fold_window(const PoolingPlan& plan, std::int64_t pixel, const T* image, std::int64_t pitch, T* out,
                 const Fold& fold) noexcept {
  constexpr std::int64_t most_addresses = 64;
  const T* addresses[most_addresses];
  std::int64_t count = 0;
  bool begun = false;
  plan.for_each_under(pixel, [&](std::int64_t under) {
    if (count == most_addresses) {
      fold(addresses, count, plan.channels, begun, out);
      begun = true;
      count = 0;
    }
    addresses[count++] = image + under * pitch;
  });
  if (count > 0) fold(addresses, count, plan.channels, begun, out);
  return count > 0;
}

std::unique_ptr<PoolingRoutine> prepare_maximum_pooling(const PoolingProblem& problem, const KernelChoice& choice);
std::unique_ptr<PoolingRoutine> prepare_average_pooling(const PoolingProblem& problem, const KernelChoice& choice);

}  // namespace tyto::cpu
