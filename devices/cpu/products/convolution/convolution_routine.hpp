// SPDX-License-Identifier: MIT
// The interface between convolution's front and its implementations, and the geometry they share.
#pragma once

#include <algorithm>
#include <array>
#include <memory>

#include "devices/cpu/products/convolution/convolution.hpp"
#include "devices/cpu/system/machine.hpp"

namespace tyto::cpu {

using ConvolutionRoutine = Routine<ConvolutionArguments>;

/// A problem brought to three axes; missing outer axes have one element.
struct Geometry {
  explicit Geometry(const ConvolutionProblem& problem);

  std::int64_t batch, in_channels, out_channels, groups;
  std::int64_t result_pitch;  // elements between pixels of a forward result
  std::array<WindowAxis, 3> axes;
  Extents input{}, kernel{}, output{}, stride{}, dilation{}, before{};

  std::int64_t group_in() const noexcept { return in_channels / groups; }
  std::int64_t group_out() const noexcept { return out_channels / groups; }
  std::int64_t taps() const noexcept { return product_of(kernel); }
  std::int64_t input_elements() const noexcept { return batch * product_of(input) * in_channels; }
  std::int64_t output_elements() const noexcept { return batch * product_of(output) * out_channels; }
  std::int64_t kernel_elements() const noexcept { return taps() * group_in() * out_channels; }
};

/// Copies `count` pixels of a line of `extent`, from `first` on; zeros where there is none, or no line (null).
template <class T>
void copy_padded(const T* line, std::int64_t extent, std::int64_t line_pitch, std::int64_t first, std::int64_t count,
                 std::int64_t channels, T* copy) noexcept {
  const std::int64_t end = first + count, from = line == nullptr ? end : std::clamp<std::int64_t>(0, first, end);
  const std::int64_t stop = std::clamp(extent, from, end);
  std::fill(copy, copy + (from - first) * channels, T(0));
  if (line == nullptr) return;
  if (line_pitch == channels) {
    std::copy_n(line + from * channels, (stop - from) * channels, copy + (from - first) * channels);
  } else {
    for (std::int64_t i = from; i < stop; ++i)
      std::copy_n(line + i * line_pitch, channels, copy + (i - first) * channels);
  }
  std::fill(copy + (stop - first) * channels, copy + count * channels, T(0));
}

/// Depthwise convolutions of few channels repeat their weights until they fill the longest vectors, as long as those
/// take a part of the second-level cache beside the pixels.
inline constexpr std::int64_t longest_vector = 64;
inline constexpr std::int64_t most_repeated_bytes = machine::second_level_cache / 4;

/// Threads for the whole problem at a pessimistic speed of one thread, or what the choice demands.
int convolution_threads(const ConvolutionProblem& problem, const KernelChoice& choice,
                        double operations_per_nanosecond);
/// Threads by which a library lays a packed kernel out: by the problem alone, the same in the whole process.
int convolution_layout_threads(const ConvolutionProblem& problem, double operations_per_nanosecond);

/// f32 and f64, forward and backward_input, by register tiles.
std::unique_ptr<ConvolutionRoutine> prepare_panel_convolution(const ConvolutionProblem&, const KernelChoice&);
/// f32 and f64, backward_kernel, by register tiles.
std::unique_ptr<ConvolutionRoutine> prepare_kernel_gradient(const ConvolutionProblem&, const KernelChoice&);
/// f32 and f64, all passes, one input and one output channel a group.
std::unique_ptr<ConvolutionRoutine> prepare_depthwise_convolution(const ConvolutionProblem&, const KernelChoice&);
/// Integers, bytes with sums of i32 and booleans, all passes, by plain loops.
std::unique_ptr<ConvolutionRoutine> prepare_loop_convolution(const ConvolutionProblem&, const KernelChoice&);
/// f16 and bf16 through f32 copies in the workspace.
std::unique_ptr<ConvolutionRoutine> prepare_half_convolution(const ConvolutionProblem&, const KernelChoice&);
/// f32 and bytes by oneDNN; null where it cannot take the problem.
std::unique_ptr<ConvolutionRoutine> prepare_onednn_convolution(const ConvolutionProblem&, const KernelChoice&);
/// Our own code for any type.
std::unique_ptr<ConvolutionRoutine> prepare_own_convolution(const ConvolutionProblem&, const KernelChoice&);

}  // namespace tyto::cpu
