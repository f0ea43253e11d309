// SPDX-License-Identifier: MIT
// Convolutions of f16 and bf16 through f32 copies in the workspace: sums are rounded once, at the end, and the epilogue
// rounds as separate operators do.
#include "devices/cpu/arithmetic/half_copies.hpp"
#include "devices/cpu/products/convolution/convolution_routine.hpp"
#include "devices/cpu/products/half_epilogues.hpp"
#include "devices/cpu/system/machine.hpp"

namespace tyto::cpu {

namespace {

class HalfConvolution final : public ConvolutionRoutine {
 public:
  HalfConvolution(const ConvolutionProblem& problem, const KernelChoice& choice)
      : problem_(problem), g_(problem), threads_(convolution_threads(problem, choice, machine::tile_operations)) {
    ConvolutionProblem wide = problem;
    wide.dtype = DType::f32;
    wide.bias = wide.residual = false;
    wide.limits = {};
    inner_ = prepare_own_convolution(wide, choice);
    const bool forward = problem.pass == ConvolutionPass::forward;
    const bool by_input = problem.pass == ConvolutionPass::backward_input;
    const bool by_kernel = problem.pass == ConvolutionPass::backward_kernel;
    input_ = HalfCopy::reserve(space_, by_input ? 0 : g_.input_elements());
    kernel_ = HalfCopy::reserve(space_, by_kernel || problem.packed_kernel ? 0 : g_.kernel_elements());
    gradient_ = HalfCopy::reserve(space_, forward ? 0 : g_.output_elements());
    result_ = HalfCopy::reserve(space_, forward    ? g_.output_elements()
                                        : by_input ? g_.input_elements()
                                                   : g_.kernel_elements());
    inner_space_ = space_.reserve(inner_->workspace());
    if (problem.packed_kernel) {
      // The packed form, followed by room for the f32 copy that packing passes through.
      packed_space_.reserve(inner_->packed());
      packing_copy_ = packed_space_.reserve(static_cast<std::size_t>(g_.kernel_elements()) * sizeof(float));
    }
  }

  void pack(const void* kernel, void* packed) const override {
    float* copy = at<float>(packed, packing_copy_);
    widen(problem_.dtype, kernel, 1, copy, g_.kernel_elements());
    inner_->pack(copy, packed);
  }

  void run(const ConvolutionArguments& arguments) const override {
    void* const space = arguments.workspace;
    run_team(threads_, [&](Team team) {
      input_.load(problem_.dtype, arguments.input, space, team);
      kernel_.load(problem_.dtype, arguments.kernel, space, team);
      gradient_.load(problem_.dtype, arguments.output_gradient, space, team);
    });
    ConvolutionArguments wide;
    wide.input = input_.in(space);
    wide.kernel = problem_.packed_kernel ? arguments.kernel : kernel_.in(space);
    wide.output_gradient = gradient_.in(space);
    wide.result = result_.in(space);
    wide.workspace = at<std::byte>(space, inner_space_);
    inner_->run(wide);
    run_team(threads_, [&](Team team) {
      if (problem_.bias || problem_.residual || problem_.limits.any()) end(arguments, team);
      else result_.store(problem_.dtype, space, arguments.result, team);
    });
  }

  const char* name() const noexcept override { return "own through f32"; }

 private:
  void end(const ConvolutionArguments& arguments, Team team) const noexcept {
    const std::int64_t channels = g_.out_channels;
    const Range pixels = share(channels == 0 ? 0 : result_.elements / channels, team.member, team.size);
    HalfEpilogue epilogue{problem_.dtype, problem_.bias ? arguments.bias : nullptr, nullptr, 1,
                          problem_.limits.as<float>()};
    for (std::int64_t pixel = pixels.begin; pixel < pixels.end; ++pixel) {
      const std::int64_t first = pixel * channels;
      if (problem_.residual) epilogue.residual = static_cast<const std::uint16_t*>(arguments.residual) + first;
      apply_half_epilogue(epilogue, result_.in(arguments.workspace) + first,
                          static_cast<std::uint16_t*>(arguments.result) + first, 1, channels);
    }
  }

  ConvolutionProblem problem_;
  Geometry g_;
  int threads_;
  std::unique_ptr<ConvolutionRoutine> inner_;
  HalfCopy input_, kernel_, gradient_, result_;
  std::size_t inner_space_ = 0, packing_copy_ = 0;
};

}  // namespace

std::unique_ptr<ConvolutionRoutine> prepare_half_convolution(const ConvolutionProblem& problem,
                                                             const KernelChoice& choice) {
  return std::make_unique<HalfConvolution>(problem, choice);
}

}  // namespace tyto::cpu
