// Convolutions in f32 by oneDNN: plain channels-last activations, the kernel in the layout the library asks for.
#include "devices/cpu/convolution/convolution_routine.hpp"

#if defined(TYTO_HAVE_ONEDNN)

#include <algorithm>
#include <optional>
#include <vector>

#include "devices/cpu/onednn/primitive.hpp"
#include "devices/cpu/threads.hpp"
#include "devices/cpu/tile/tile.hpp"
#include "devices/cpu/workspace.hpp"

namespace tyto::cpu {

namespace {

using Description = dnnl::memory::desc;
using Dims = dnnl::memory::dims;

// Padding as wide as the kernel leaves positions that see no input; there oneDNN 2.6 reads stray addresses.
bool every_position_sees_input(const ConvolutionProblem& problem) {
  for (const WindowAxis& axis : problem.axes) {
    const std::int64_t reach = axis.dilation * (axis.kernel - 1) + 1;
    if (axis.pad_before >= reach || axis.pad_after >= reach) return false;
  }
  return true;
}

// Gradients of kernels of one tap, where strides leave over the end of an axis: unless the channels fill its vectors,
// oneDNN 2.6's code for AVX2 takes the wrong positions then, and writes beyond its scratchpad.
bool leaves_ends_over(const ConvolutionProblem& problem) {
  if (problem.pass != ConvolutionPass::backward_kernel || onednn::has_avx512()) return false;
  constexpr std::int64_t lanes = 8;
  if (problem.in_channels / problem.groups % lanes == 0) return false;
  return std::ranges::all_of(problem.axes, [](const WindowAxis& axis) { return axis.kernel == 1; }) &&
         std::ranges::any_of(problem.axes, [](const WindowAxis& axis) { return (axis.input - 1) % axis.stride != 0; });
}

bool takes(const ConvolutionProblem& problem, const KernelChoice& choice) {
  const Geometry g(problem);
  // Its code for processors before AVX2 crashes on some geometries.
  const bool trusted = instruction_set() >= InstructionSet::avx2;
  return trusted && problem.dtype == DType::f32 && !choice.instructions.has_value() && g.input_elements() > 0 &&
         g.output_elements() > 0 && g.kernel_elements() > 0 && every_position_sees_input(problem) &&
         !leaves_ends_over(problem);
}

// Descriptions of a problem's tensors and attributes in oneDNN's terms.
struct Terms {
  explicit Terms(const ConvolutionProblem& problem) {
    const Geometry g(problem);
    const std::size_t first = 3 - problem.axes.size();
    const auto tensor = [&](std::int64_t channels, const Extents& extents) {
      Dims dims{g.batch, channels}, strides{product_of(extents) * channels, 1};
      for (std::size_t axis = first; axis < 3; ++axis) {
        dims.push_back(extents[axis]);
        std::int64_t stride = channels;
        for (std::size_t inner = axis + 1; inner < 3; ++inner) stride *= extents[inner];
        strides.push_back(stride);
      }
      return Description(dims, dnnl::memory::data_type::f32, strides);
    };
    input = tensor(g.in_channels, g.input);
    output = tensor(g.out_channels, g.output);
    bias = Description({g.out_channels}, dnnl::memory::data_type::f32, Dims{1});

    // Kernel (axes..., group_in, out): oneDNN names its axes (groups, group_out, group_in, axes...).
    Dims dims{g.group_out(), g.group_in()}, strides{1, g.out_channels};
    for (std::size_t axis = first; axis < 3; ++axis) {
      std::int64_t stride = g.group_in() * g.out_channels;
      for (std::size_t inner = axis + 1; inner < 3; ++inner) stride *= g.kernel[inner];
      dims.push_back(g.kernel[axis]);
      strides.push_back(stride);
      stride_.push_back(g.stride[axis]);
      dilation.push_back(g.dilation[axis] - 1);
      before.push_back(g.before[axis]);
      after.push_back(problem.axes[axis - first].pad_after);
    }
    if (g.groups > 1) {
      dims.insert(dims.begin(), g.groups);
      strides.insert(strides.begin(), g.group_out());
    }
    kernel = Description(dims, dnnl::memory::data_type::f32, strides);
    any_kernel = Description(dims, dnnl::memory::data_type::f32, dnnl::memory::format_tag::any);
  }

  dnnl::convolution_forward::primitive_desc forward(const ConvolutionProblem& problem, const Description& weights,
                                                    bool sum = false, const Limits<double>& limits = {}) const {
    dnnl::primitive_attr attributes = onednn::attributes_with_scratchpad();
    dnnl::post_ops epilogue;
    if (sum) epilogue.append_sum(1.0f);
    onednn::append_limits(epilogue, limits);
    attributes.set_post_ops(epilogue);
    const auto kind = problem.pass == ConvolutionPass::forward ? dnnl::prop_kind::forward_inference
                                                               : dnnl::prop_kind::forward_training;
    const auto algorithm = dnnl::algorithm::convolution_direct;
    const auto operation = problem.bias ? dnnl::convolution_forward::desc(kind, algorithm, input, weights, bias, output,
                                                                          stride_, dilation, before, after)
                                        : dnnl::convolution_forward::desc(kind, algorithm, input, weights, output,
                                                                          stride_, dilation, before, after);
    return {operation, attributes, onednn::engine()};
  }

  dnnl::convolution_backward_data::primitive_desc backward_input(const ConvolutionProblem& problem,
                                                                 const Description& weights) const {
    const dnnl::convolution_backward_data::desc operation(dnnl::algorithm::convolution_direct, input, weights, output,
                                                          stride_, dilation, before, after);
    return {operation, onednn::attributes_with_scratchpad(), onednn::engine(), forward(problem, any_kernel)};
  }

  dnnl::convolution_backward_weights::primitive_desc backward_kernel(const ConvolutionProblem& problem) const {
    const dnnl::convolution_backward_weights::desc operation(dnnl::algorithm::convolution_direct, input, any_kernel,
                                                             output, stride_, dilation, before, after);
    return {operation, onednn::attributes_with_scratchpad(), onednn::engine(), forward(problem, any_kernel)};
  }

  Description input, output, bias, kernel, any_kernel;
  Dims stride_, dilation, before, after;
};

constexpr double operations_per_nanosecond = 60;

class OnednnConvolution final : public ConvolutionRoutine {
 public:
  OnednnConvolution(const ConvolutionProblem& problem, const KernelChoice& choice)
      : problem_(problem), g_(problem), threads_(convolution_threads(problem, choice, operations_per_nanosecond)) {
    const Terms terms(problem);
    const int layout_threads = convolution_layout_threads(problem, operations_per_nanosecond);
    const auto describe_with = [&](const auto& describe) {
      if (!problem.packed_kernel) return describe(terms.any_kernel, threads_);
      return onednn::describe_packed(describe, terms.any_kernel, layout_threads, threads_);
    };
    Description asked;
    switch (problem.pass) {
      case ConvolutionPass::forward: {
        // Summed onto what the result holds where the residual lies there; else it comes in while finishing.
        const Limits<double> limits = problem.drops_nan ? problem.limits : Limits<double>{};
        const auto descriptions = describe_with([&](const Description& weights, int threads) {
          const onednn::ThreadCount guard(threads);
          std::vector made{terms.forward(problem, weights, problem.residual, limits)};
          if (problem.residual) made.push_back(terms.forward(problem, made.front().weights_desc()));
          return made;
        });
        reference_ = onednn::is_reference(descriptions);
        asked = descriptions.front().weights_desc();
        const onednn::ThreadCount guard(threads_);
        main_.emplace(forward_primitive(terms, descriptions.front()));
        if (problem.residual) apart_.emplace(forward_primitive(terms, descriptions.back()));
        break;
      }
      case ConvolutionPass::backward_input: {
        const auto descriptions = describe_with([&](const Description& weights, int threads) {
          const onednn::ThreadCount guard(threads);
          return std::vector{terms.backward_input(problem, weights)};
        });
        reference_ = onednn::is_reference(descriptions);
        const dnnl::convolution_backward_data::primitive_desc& description = descriptions.front();
        asked = description.weights_desc();
        const onednn::ThreadCount guard(threads_);
        main_.emplace(
            dnnl::convolution_backward_data(description), description.scratchpad_desc(),
            std::initializer_list<onednn::Binding>{
                {DNNL_ARG_DIFF_DST, terms.output}, {DNNL_ARG_WEIGHTS, asked}, {DNNL_ARG_DIFF_SRC, terms.input}},
            threads_);
        break;
      }
      case ConvolutionPass::backward_kernel: {
        const onednn::ThreadCount guard(threads_);
        const auto description = terms.backward_kernel(problem);
        reference_ = onednn::is_reference(std::vector{description});
        asked = description.diff_weights_desc();
        main_.emplace(
            dnnl::convolution_backward_weights(description), description.scratchpad_desc(),
            std::initializer_list<onednn::Binding>{
                {DNNL_ARG_SRC, terms.input}, {DNNL_ARG_DIFF_DST, terms.output}, {DNNL_ARG_DIFF_WEIGHTS, asked}},
            threads_);
        break;
      }
    }
    const bool by_kernel = problem.pass == ConvolutionPass::backward_kernel;
    asked_bytes_ = asked.get_size();
    scratchpad_ =
        space_.reserve(std::max(main_->scratchpad_bytes(), apart_ ? apart_->scratchpad_bytes() : std::size_t{0}));
    spread_ = problem.pass == ConvolutionPass::forward && g_.result_pitch != g_.out_channels;
    if (spread_) dense_ = space_.reserve(static_cast<std::size_t>(g_.output_elements()) * sizeof(float));
    const bool same_layout = asked == terms.kernel;
    if (problem.packed_kernel || !same_layout) {
      if (problem.packed_kernel) {
        reorder_.emplace(onednn::packing_reorder(terms.kernel, asked, threads_, layout_threads));
      } else {
        reorder_.emplace(by_kernel ? onednn::reorder(asked, terms.kernel, threads_)
                                   : onednn::reorder(terms.kernel, asked, threads_));
      }
      if (!problem.packed_kernel) {
        reordered_ = space_.reserve(asked_bytes_);
        reorder_scratchpad_ = space_.reserve(reorder_->scratchpad_bytes());
      }
    }
  }

  bool is_reference_code() const noexcept { return reference_; }

  std::size_t workspace_bytes() const noexcept override { return space_.bytes(); }

  std::size_t packed_bytes() const noexcept override {
    if (!problem_.packed_kernel) return 0;
    WorkspaceLayout layout;
    layout.reserve(asked_bytes_);
    layout.reserve(reorder_->scratchpad_bytes());
    return layout.bytes();
  }

  void pack(const void* kernel, void* packed) const override {
    WorkspaceLayout layout;
    layout.reserve(asked_bytes_);
    reorder_->run({const_cast<void*>(kernel), packed}, at<std::byte>(packed, layout.bytes()));
    onednn::clear_rest(packed, asked_bytes_, packed_bytes());
  }

  void run(const ConvolutionArguments& arguments) const override {
    // oneDNN's interface has no const addresses; it does not write to sources.
    void* const input = const_cast<void*>(arguments.input);
    void* const gradient = const_cast<void*>(arguments.output_gradient);
    void* const scratchpad = at<std::byte>(arguments.workspace, scratchpad_);
    if (problem_.pass == ConvolutionPass::backward_kernel) {
      void* const asked = reorder_ ? at<std::byte>(arguments.workspace, reordered_) : arguments.result;
      main_->run({input, gradient, asked}, scratchpad);
      if (reorder_) reorder_->run({asked, arguments.result}, at<std::byte>(arguments.workspace, reorder_scratchpad_));
      return;
    }
    void* kernel = const_cast<void*>(arguments.kernel);
    if (reorder_ && !problem_.packed_kernel) {
      void* const asked = at<std::byte>(arguments.workspace, reordered_);
      reorder_->run({kernel, asked}, at<std::byte>(arguments.workspace, reorder_scratchpad_));
      kernel = asked;
    }
    if (problem_.pass == ConvolutionPass::backward_input) {
      main_->run({gradient, kernel, arguments.result}, scratchpad);
      return;
    }
    const bool apart = problem_.residual && arguments.residual != arguments.result;
    const onednn::Primitive& primitive = apart ? *apart_ : *main_;
    void* const result = spread_ ? at<std::byte>(arguments.workspace, dense_) : arguments.result;
    if (problem_.bias) {
      primitive.run({input, kernel, result, const_cast<void*>(arguments.bias)}, scratchpad);
    } else {
      primitive.run({input, kernel, result}, scratchpad);
    }
    if (spread_) {
      spread(arguments);
    } else if (apart || (problem_.limits.any() && !problem_.drops_nan)) {
      finish(arguments, apart);
    }
  }

  const char* name() const noexcept override { return "onednn"; }

 private:
  onednn::Primitive forward_primitive(const Terms& terms,
                                      const dnnl::convolution_forward::primitive_desc& description) const {
    const onednn::Binding input{DNNL_ARG_SRC, terms.input}, kernel{DNNL_ARG_WEIGHTS, description.weights_desc()},
        output{DNNL_ARG_DST, terms.output};
    const dnnl::convolution_forward primitive(description);
    if (!problem_.bias) return {primitive, description.scratchpad_desc(), {input, kernel, output}, threads_};
    return {primitive, description.scratchpad_desc(), {input, kernel, output, {DNNL_ARG_BIAS, terms.bias}}, threads_};
  }

  // What oneDNN was not given to do: a residual that lies elsewhere, and limits, since its own lose NaN.
  void finish(const ConvolutionArguments& arguments, bool residual) const {
    run_team(threads_, [&](Team team) {
      const Range mine = share(g_.output_elements(), team.member, team.size, 16);
      ChannelArguments<float> t;
      t.channels = mine.size();
      t.out = static_cast<float*>(arguments.result) + mine.begin;
      t.accumulate = true;
      if (residual) t.residual = static_cast<const float*>(arguments.residual) + mine.begin;
      t.limits = problem_.limits.as<float>();
      if (mine.size() != 0) tiles<float>(instruction_set()).channels(t);
    });
  }

  // Pixels that lie apart oneDNN writes with its reference code only, hundreds of times slower.
  void spread(const ConvolutionArguments& arguments) const {
    run_team(threads_, [&](Team team) {
      const float* const dense = at<float>(arguments.workspace, dense_);
      const Range mine = share(g_.output_elements() / g_.out_channels, team.member, team.size);
      ChannelArguments<float> t;
      t.channels = g_.out_channels;
      t.limits = problem_.limits.as<float>();
      for (std::int64_t pixel = mine.begin; pixel < mine.end; ++pixel) {
        t.residual = dense + pixel * g_.out_channels;
        t.out = static_cast<float*>(arguments.result) + pixel * g_.result_pitch;
        tiles<float>(instruction_set()).channels(t);
      }
    });
  }

  ConvolutionProblem problem_;
  Geometry g_;
  int threads_;
  bool spread_ = false;  // computed densely in the workspace, then brought to where its pixels lie
  std::size_t dense_ = 0;
  bool reference_ = false;
  std::optional<onednn::Primitive> main_;
  std::optional<onednn::Primitive> apart_;  // adds no residual
  std::optional<onednn::Primitive> reorder_;
  std::size_t asked_bytes_ = 0;
  WorkspaceLayout space_;
  std::size_t scratchpad_ = 0, reordered_ = 0, reorder_scratchpad_ = 0;
};

}  // namespace

std::unique_ptr<ConvolutionRoutine> prepare_onednn_convolution(const ConvolutionProblem& problem,
                                                               const KernelChoice& choice) {
  if (!takes(problem, choice)) return nullptr;
  try {
    auto routine = std::make_unique<OnednnConvolution>(problem, choice);
    if (routine->is_reference_code() && choice.implementation == Implementation::automatic) return nullptr;
    return routine;
  } catch (const dnnl::error&) {
    return nullptr;  // a geometry that this version does not know
  }
}

}  // namespace tyto::cpu

#else

namespace tyto::cpu {

std::unique_ptr<ConvolutionRoutine> prepare_onednn_convolution(const ConvolutionProblem&, const KernelChoice&) {
  return nullptr;
}

}  // namespace tyto::cpu

#endif
