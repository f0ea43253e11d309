// SPDX-License-Identifier: MIT
// Checks a convolution, works out its geometry and chooses its implementation.
#include "devices/cpu/products/convolution/convolution.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include <tyto/error.hpp>

#include "core/value/text.hpp"
#include "devices/cpu/arithmetic/half_precision.hpp"
#include "devices/cpu/products/convolution/convolution_routine.hpp"
#include "devices/cpu/system/layout_threads.hpp"
#include "devices/cpu/system/machine.hpp"
#include "devices/cpu/system/threads.hpp"

namespace tyto::cpu {

namespace {

void check(const ConvolutionProblem& problem) {
  check_axes("convolution", problem.axes);
  const auto refuse = [](const auto&... parts) { core::throw_error<ValueError>("convolution: ", parts...); };
  if (problem.batch < 0 || problem.in_channels < 0 || problem.out_channels < 0) {
    refuse("extents must not be negative, got batch ", problem.batch, ", channels ", problem.in_channels, " and ",
           problem.out_channels);
  }
  if (problem.groups < 1 || problem.in_channels % problem.groups != 0 || problem.out_channels % problem.groups != 0) {
    refuse(problem.groups, " groups do not divide ", problem.in_channels, " and ", problem.out_channels, " channels");
  }
  if (problem.pass != ConvolutionPass::forward &&
      (problem.scale || problem.bias || problem.residual || problem.limits.any())) {
    refuse("scale, bias, residual and limits belong to the forward pass");
  }
  const bool is_wide = problem.dtype == DType::f32 || problem.dtype == DType::f64;
  if ((problem.scale && !is_wide) || (problem.packed_kernel && !is_wide && !problem.bytes)) {
    refuse("scale and packed_kernel are for f32 and f64, not ", name_of(problem.dtype));
  }
  if (problem.bytes && (problem.dtype != DType::i32 || problem.pass != ConvolutionPass::forward)) {
    refuse("bytes have sums of i32 and no gradients");
  }
  if ((problem.bias || problem.residual || problem.limits.any()) && !is_floating(problem.dtype)) {
    refuse("bias, residual and limits are for floating types, not ", name_of(problem.dtype));
  }
  if (problem.result_pitch != 0 && (problem.pass != ConvolutionPass::forward || is_half(problem.dtype) ||
                                    problem.bytes || problem.residual || problem.result_pitch < problem.out_channels)) {
    refuse("pixels lie ", problem.result_pitch,
           " elements apart: only forward results wider than 16 bits without residual may, and not less than ",
           problem.out_channels, " channels");
  }
  if (problem.pass == ConvolutionPass::backward_kernel && problem.packed_kernel) {
    refuse("backward_kernel reads no kernel that could be packed");
  }
}

double operations_of(const ConvolutionProblem& problem) {
  const Geometry g(problem);
  return 2.0 * static_cast<double>(g.output_elements()) * static_cast<double>(g.taps()) *
         static_cast<double>(g.group_in());
}

// Axes of one element leave nothing to slide over. Without them the axis of a (k, 1) kernel over a picture of one
// column is the innermost one, along which kernels read pixels as one run and keep tiles of results in registers.
ConvolutionProblem without_unit_axes(ConvolutionProblem problem) {
  const auto is_unit = [](const WindowAxis& axis) {
    return axis.input == 1 && axis.kernel == 1 && axis.pad_before == 0 && axis.pad_after == 0;
  };
  if (std::ranges::all_of(problem.axes, is_unit)) problem.axes.resize(1);
  if (problem.axes.size() > 1) std::erase_if(problem.axes, is_unit);
  return problem;
}

// Products of the pixels at one end of a line, of which the padding hides taps, and how many pixels those are.
struct LineEnd {
  double pixels, products;
};
LineEnd line_end(const WindowAxis& axis, std::int64_t pad) {
  const auto pixels = static_cast<double>(std::min(pad, axis.output()));
  const double hidden = (static_cast<double>(pad) - (pixels - 1) / 2) / static_cast<double>(axis.dilation);
  return {pixels, pixels * std::max(static_cast<double>(axis.kernel) - hidden, 0.0)};
}

// Whether the own loop for depthwise convolutions, of which pixels side by side fill vectors, takes less time for a
// line of one channel than code that puts channels side by side, of whose vectors it uses one lane. The loop computes a
// line by calls: one for each pixel at an end, as each meets other taps, and one or two for all others.
bool is_ahead_by_lines(const ConvolutionProblem& problem) {
  const WindowAxis& axis = problem.axes.back();
  const auto taps = static_cast<double>(Geometry(problem).taps()), output = static_cast<double>(axis.output());
  const double outer_taps = taps / static_cast<double>(axis.kernel);
  const LineEnd before = line_end(axis, axis.pad_before), after = line_end(axis, axis.pad_after);
  const double whole = output - before.pixels - after.pixels;
  const auto together = static_cast<double>(longest_vector) / static_cast<double>(size_of(problem.dtype));
  if (whole < together) return false;
  const double whole_calls = std::fmod(whole, together) == 0 ? 1 : 2;
  const double calls = before.pixels + after.pixels + whole_calls;
  const double products_of_ends = (before.products + after.products) * outer_taps;
  const double own = machine::line_call * calls + machine::line_tap * (products_of_ends + whole_calls * taps) +
                     machine::line_product * whole * taps;
  const double lines = std::max(static_cast<double>(Geometry(problem).output_elements()) / output, 1.0);
  // Windows over pictures take as long for each product with few taps as with many.
  const bool is_signal = problem.axes.size() == 1;
  const bool is_short = is_signal && axis.kernel * problem.in_channels < machine::short_run;
  const double product = is_short ? machine::channels_short_product : machine::channels_product;
  return own < machine::channels_call / lines + machine::channels_line +
                   (is_signal ? machine::channels_pixel * output : 0) + product * (products_of_ends + whole * taps);
}

// A signal or grey picture has one channel in one group, too.
bool is_depthwise(const ConvolutionProblem& problem) {
  if (problem.groups != problem.in_channels || problem.groups != problem.out_channels) return false;
  if (problem.groups > 1) return true;
  return problem.pass == ConvolutionPass::forward && problem.axes.back().stride == 1 &&
         Geometry(problem).taps() * longest_vector <= most_repeated_bytes && is_ahead_by_lines(problem);
}

// A window that lies in one long run where pixels have few channels: a row of a plain product. oneDNN lays out each tap
// and position by itself, which takes longer to prepare than many runs (docs/performance/convolutions.md).
bool is_run_of_few_channels(const ConvolutionProblem& problem) {
  constexpr std::int64_t few_channels = 8;
  const WindowAxis& last = problem.axes.back();
  return problem.groups == 1 && problem.in_channels < few_channels && last.dilation == 1 &&
         last.kernel * problem.in_channels >= machine::short_run;
}

// Of many channels our tile takes less time than oneDNN's code for AVX-512, which is ahead by up to 13 % at some sizes
// and falls to a third at others. Products with pixels it computes as fast, but the tile ends sums as it stores them,
// where the other takes a pass over the results, and prefetches weights where pixels are few
// (docs/performance/convolutions.md, docs/performance/loops.md).
bool is_ahead_on_avx512(const ConvolutionProblem& problem) {
  const bool forward = problem.pass == ConvolutionPass::forward;
  const std::int64_t many_channels = forward ? 512 : 128;
  if (problem.groups == 1 && std::min(problem.in_channels, problem.out_channels) >= many_channels) return true;
  return forward && (is_run_of_few_channels(problem) || is_depthwise(problem) ||
                     (problem.groups == 1 && Geometry(problem).taps() == 1));
}

// oneDNN's code for AVX2 is behind our tile wherever a kernel has more than one tap, but gradients by it that have few
// filters; and forward, it loses elsewhere what it wins by the pass over its results that an epilogue takes
// (docs/performance/convolutions.md).
bool prefers_own(const ConvolutionProblem& problem, const KernelChoice& choice) {
  constexpr std::int64_t few_filters = 16;
  if (choice.implementation != Implementation::automatic || problem.dtype != DType::f32) return false;
  const bool forward = problem.pass == ConvolutionPass::forward;
  if (choice.set() == InstructionSet::avx512) return is_ahead_on_avx512(problem);
  if (choice.set() != InstructionSet::avx2) return false;
  if (problem.groups != 1) return is_depthwise(problem) && forward;
  if (forward) return true;
  return Geometry(problem).taps() > 1 &&
         (problem.pass == ConvolutionPass::backward_input || problem.out_channels >= few_filters);
}

// oneDNN is far ahead in training networks of few channels on AVX-512 (docs/performance/convolutions.md).
std::unique_ptr<ConvolutionRoutine> choose(const ConvolutionProblem& problem, const KernelChoice& choice) {
  if (choice.implementation != Implementation::own && !prefers_own(problem, choice)) {
    auto routine = prepare_onednn_convolution(problem, choice);
    if (routine != nullptr) return routine;
    if (choice.implementation == Implementation::onednn) {
      core::throw_error<DeviceError>("convolution: oneDNN does not take this problem (type ", name_of(problem.dtype),
                                     has_onednn() ? ")" : "): it is not part of this build");
    }
  }
  return prepare_own_convolution(problem, choice);
}

}  // namespace

Geometry::Geometry(const ConvolutionProblem& problem)
    : batch(problem.batch),
      in_channels(problem.in_channels),
      out_channels(problem.out_channels),
      groups(problem.groups),
      result_pitch(problem.result_pitch == 0 ? problem.out_channels : problem.result_pitch),
      axes(three_axes(problem.axes)) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    input[axis] = axes[axis].input;
    kernel[axis] = axes[axis].kernel;
    output[axis] = axes[axis].output();
    stride[axis] = axes[axis].stride;
    dilation[axis] = axes[axis].dilation;
    before[axis] = axes[axis].pad_before;
  }
}

int convolution_threads(const ConvolutionProblem& problem, const KernelChoice& choice,
                        double operations_per_nanosecond) {
  if (choice.threads > 0) return granted_threads(choice.threads);
  return threads_for(operations_of(problem) / operations_per_nanosecond);
}

int convolution_layout_threads(const ConvolutionProblem& problem, double operations_per_nanosecond) {
  return layout_threads_for(operations_of(problem) / operations_per_nanosecond);
}

std::unique_ptr<ConvolutionRoutine> prepare_own_convolution(const ConvolutionProblem& problem,
                                                            const KernelChoice& choice) {
  if (is_half(problem.dtype)) return prepare_half_convolution(problem, choice);
  if (!is_floating(problem.dtype)) return prepare_loop_convolution(problem, choice);
  if (is_depthwise(problem)) return prepare_depthwise_convolution(problem, choice);
  if (problem.pass == ConvolutionPass::backward_kernel) return prepare_kernel_gradient(problem, choice);
  return prepare_panel_convolution(problem, choice);
}

Convolution prepare_convolution(const ConvolutionProblem& problem, const KernelChoice& choice) {
  check(problem);
  return Convolution(choose(without_unit_axes(problem), choice));
}

}  // namespace tyto::cpu
