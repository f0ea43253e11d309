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

std::unique_ptr<PoolingRoutine> prepare_maximum_pooling(const PoolingProblem& problem, const KernelChoice& choice);
std::unique_ptr<PoolingRoutine> prepare_average_pooling(const PoolingProblem& problem, const KernelChoice& choice);

}  // namespace tyto::cpu
