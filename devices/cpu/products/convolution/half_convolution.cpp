// SPDX-License-Identifier: MIT
// Convolutions of f16 and bf16 through f32 copies in the workspace: sums are rounded once, at the end, and what ends
// the convolution rounds as operators of their own do.
#include "devices/cpu/products/convolution/convolution_routine.hpp"
#include "devices/cpu/products/half_epilogues.hpp"
#include "devices/cpu/products/half_routine.hpp"
#include "devices/cpu/system/machine.hpp"

namespace tyto::cpu {

namespace {

class HalfConvolution final : public HalfRoutine<ConvolutionArguments> {
 public:
  HalfConvolution(const ConvolutionProblem& problem, const KernelChoice& choice, const Geometry& g)
      : HalfRoutine(problem.dtype, convolution_threads(problem, choice, machine::tile_operations),
                    prepare_own_convolution(in_f32(problem), choice), operands_of(problem, g),
                    problem.pass == ConvolutionPass::forward          ? g.output_elements()
                    : problem.pass == ConvolutionPass::backward_input ? g.input_elements()
                                                                      : g.kernel_elements()),
        problem_(problem) {}

 private:
  static ConvolutionProblem in_f32(ConvolutionProblem problem) {
    problem.dtype = DType::f32;
    problem.bias = problem.residual = false;
    problem.limits = {};
    return problem;
  }

  static std::vector<Operand> operands_of(const ConvolutionProblem& problem, const Geometry& g) {
    const bool forward = problem.pass == ConvolutionPass::forward;
    const bool by_input = problem.pass == ConvolutionPass::backward_input;
    const bool by_kernel = problem.pass == ConvolutionPass::backward_kernel;
    return {{&ConvolutionArguments::input, by_input ? 0 : g.input_elements()},
            {&ConvolutionArguments::kernel, by_kernel ? 0 : g.kernel_elements()},
            {&ConvolutionArguments::output_gradient, forward ? 0 : g.output_elements()}};
  }

  void store(const ConvolutionArguments& arguments, Team team) const noexcept override {
    if (!problem_.bias && !problem_.residual && !problem_.limits.any()) return HalfRoutine::store(arguments, team);
    const std::int64_t channels = problem_.out_channels;
    const Range pixels = share(channels == 0 ? 0 : result_.elements / channels, team.member, team.size);
    const std::int64_t first = pixels.begin * channels;
    const HalfEpilogue epilogue{
        dtype_, problem_.bias ? arguments.bias : nullptr,
        problem_.residual ? static_cast<const std::uint16_t*>(arguments.residual) + first : nullptr,
        problem_.limits.as<float>()};
    apply_half_epilogue(epilogue, result_.in(arguments.workspace) + first,
                        static_cast<std::uint16_t*>(arguments.result) + first, 1, pixels.size(), channels);
  }

  ConvolutionProblem problem_;
};

}  // namespace

std::unique_ptr<ConvolutionRoutine> prepare_half_convolution(const ConvolutionProblem& problem,
                                                             const KernelChoice& choice) {
  return std::make_unique<HalfConvolution>(problem, choice, Geometry(problem));
}

}  // namespace tyto::cpu
