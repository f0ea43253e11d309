// SPDX-License-Identifier: MIT
// Convolutions in f32 and of bytes by oneDNN: plain channels-last activations, the kernel in the layout the library
// asks for.
#include "devices/cpu/products/convolution/convolution_routine.hpp"

#if defined(TYTO_HAVE_ONEDNN)

#include <algorithm>
#include <optional>
#include <vector>

#include "devices/cpu/products/onednn/primitive.hpp"
#include "devices/cpu/products/tile/tile.hpp"
#include "devices/cpu/system/machine.hpp"
#include "devices/cpu/system/threads.hpp"

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
// oneDNN 2.6 to 3.7 write beyond their scratchpad then, and their code for AVX2 takes the wrong positions.
bool leaves_ends_over(const ConvolutionProblem& problem) {
  if (problem.pass != ConvolutionPass::backward_kernel) return false;
  const std::int64_t lanes = onednn::has_avx512() ? 16 : 8;
  if (problem.in_channels / problem.groups % lanes == 0) return false;
  return std::ranges::all_of(problem.axes, [](const WindowAxis& axis) { return axis.kernel == 1; }) &&
         std::ranges::any_of(problem.axes, [](const WindowAxis& axis) { return (axis.input - 1) % axis.stride != 0; });
}

// Gradients of kernels with strides and dilations at once: behind 15 positions of padding oneDNN 2.6 and the version in
// PyTorch 2.13 read the wrong positions.
bool strides_over_holes(const ConvolutionProblem& problem) {
  return problem.pass == ConvolutionPass::backward_kernel &&
         std::ranges::any_of(problem.axes, [](const WindowAxis& axis) { return axis.stride > 1 && axis.dilation > 1; });
}

bool takes(const ConvolutionProblem& problem, const KernelChoice& choice) {
  const Geometry g(problem);
  // Its code for processors before AVX2 crashes on some geometries.
  const bool trusted = instruction_set() >= InstructionSet::avx2;
  return trusted && (problem.dtype == DType::f32 || problem.bytes) && !choice.instructions.has_value() &&
         g.input_elements() > 0 && g.output_elements() > 0 && g.kernel_elements() > 0 &&
         every_position_sees_input(problem) && !leaves_ends_over(problem) && !strides_over_holes(problem);
}

// Behind a scale the bias is no part of the sums.
bool adds_bias(const ConvolutionProblem& problem) { return problem.bias && !problem.scale; }

// Descriptions of a problem's tensors and attributes in oneDNN's terms.
struct Terms {
  explicit Terms(const ConvolutionProblem& problem) {
    const Geometry g(problem);
    const std::size_t first = 3 - problem.axes.size();
    using Type = dnnl::memory::data_type;
    const Type weight = problem.bytes ? Type::s8 : Type::f32;
    const auto tensor = [&](Type type, std::int64_t channels, const Extents& extents) {
      Dims dims{g.batch, channels}, strides{product_of(extents) * channels, 1};
      for (std::size_t axis = first; axis < 3; ++axis) {
        dims.push_back(extents[axis]);
        std::int64_t stride = channels;
        for (std::size_t inner = axis + 1; inner < 3; ++inner) stride *= extents[inner];
        strides.push_back(stride);
      }
      return Description(dims, type, strides);
    };
    input = tensor(problem.bytes ? Type::u8 : Type::f32, g.in_channels, g.input);
    output = tensor(problem.bytes ? Type::s32 : Type::f32, g.out_channels, g.output);
    bias = Description({g.out_channels}, Type::f32, Dims{1});

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
    kernel = Description(dims, weight, strides);
    any_kernel = Description(dims, weight, dnnl::memory::format_tag::any);
  }

  dnnl::convolution_forward::primitive_desc forward(const ConvolutionProblem& problem, const Description& weights,
                                                    const Limits<double>& limits = {}) const {
    dnnl::primitive_attr attributes = onednn::attributes_with_scratchpad();
    dnnl::post_ops epilogue;
    onednn::append_limits(epilogue, limits);
    attributes.set_post_ops(epilogue);
    const auto kind = problem.pass == ConvolutionPass::forward ? dnnl::prop_kind::forward_inference
                                                               : dnnl::prop_kind::forward_training;
    const auto algorithm = dnnl::algorithm::convolution_direct;
    const auto describe = [&](const auto&... tensors) {
      return onednn::describe<dnnl::convolution_forward>(attributes, kind, algorithm, tensors..., stride_, dilation,
                                                         before, after);
    };
    return adds_bias(problem) ? describe(input, weights, bias, output) : describe(input, weights, output);
  }

  dnnl::convolution_backward_data::primitive_desc backward_input(const ConvolutionProblem& problem,
                                                                 const Description& weights) const {
    return onednn::describe_gradient<dnnl::convolution_backward_data>(
        forward(problem, any_kernel), dnnl::algorithm::convolution_direct, input, weights, output, stride_, dilation,
        before, after);
  }

  dnnl::convolution_backward_weights::primitive_desc backward_kernel(const ConvolutionProblem& problem) const {
    return onednn::describe_gradient<dnnl::convolution_backward_weights>(
        forward(problem, any_kernel), dnnl::algorithm::convolution_direct, input, any_kernel, output, stride_, dilation,
        before, after);
  }

  Description input, output, bias, kernel, any_kernel;
  Dims stride_, dilation, before, after;
};

// Whether what ends the forward pass is more than oneDNN does along with its sums: a pass over the result follows.
bool is_finished_apart(const ConvolutionProblem& problem) {
  return problem.scale || problem.residual || (problem.limits.any() && !problem.drops_nan);
}

ConvolutionProblem images_of(const ConvolutionProblem& problem, std::int64_t count) {
  ConvolutionProblem part = problem;
  part.batch = count;
  return part;
}

class OnednnConvolution final : public ConvolutionRoutine {
 public:
  OnednnConvolution(const ConvolutionProblem& problem, const KernelChoice& choice)
      : problem_(problem),
        g_(problem),
        threads_(convolution_threads(problem, choice, speed_of(problem))),
        images_(images_at_a_time(problem)),
        g_part_(images_of(problem, images_)) {
    const Terms terms(images_of(problem, images_));
    const int layout_threads = convolution_layout_threads(problem, speed_of(problem));
    const auto describe_with = [&](const auto& describe) {
      if (!problem.packed_kernel) return describe(terms.any_kernel, threads_);
      return onednn::describe_packed(describe, terms.any_kernel, layout_threads, threads_);
    };
    Description asked;
    switch (problem.pass) {
      case ConvolutionPass::forward: {
        const Limits<double> limits = is_finished_apart(problem) ? Limits<double>{} : problem.limits;
        const auto descriptions = describe_with([&](const Description& weights, int threads) {
          const onednn::ThreadCount guard(threads);
          return std::vector{terms.forward(problem, weights, limits)};
        });
        reference_ = onednn::is_reference(descriptions);
        if (problem.bytes && !onednn::is_exact_in_bytes(descriptions.front())) {
          throw dnnl::error(dnnl_unimplemented, "sums of products of bytes may saturate");
        }
        asked = descriptions.front().weights_desc();
        const onednn::ThreadCount guard(threads_);
        main_.emplace(forward_primitive(terms, descriptions.front()));
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
    scratchpad_ = space_.reserve(main_->scratchpad_bytes());
    spread_ = problem.pass == ConvolutionPass::forward && g_.result_pitch != g_.out_channels;
    if (spread_ || problem.residual) {
      dense_ = space_.reserve(static_cast<std::size_t>(g_part_.output_elements()) * sizeof(float));
    }
    if (problem.packed_kernel) {
      packing_.emplace(terms.kernel, asked, threads_, layout_threads, packed_space_);
    } else if (asked != terms.kernel) {
      reorder_.emplace(by_kernel ? onednn::reorder(asked, terms.kernel, threads_)
                                 : onednn::reorder(terms.kernel, asked, threads_));
      reordered_ = space_.reserve(asked.get_size());
      reorder_scratchpad_ = space_.reserve(reorder_->scratchpad_bytes());
    }
  }

  bool is_reference_code() const noexcept { return reference_; }

  void pack(const void* kernel, void* packed) const override { packing_->run(kernel, packed); }
  std::string packed_layout() const override { return packing_->layout(); }

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
    if (reorder_) {
      void* const asked = at<std::byte>(arguments.workspace, reordered_);
      reorder_->run({kernel, asked}, at<std::byte>(arguments.workspace, reorder_scratchpad_));
      kernel = asked;
    }
    if (problem_.pass == ConvolutionPass::backward_input) {
      main_->run({gradient, kernel, arguments.result}, scratchpad);
      return;
    }
    for (std::int64_t image = 0; image < g_.batch; image += images_) run_part(arguments, image, kernel, scratchpad);
  }

  const char* name() const noexcept override { return "onednn"; }

 private:
  static double speed_of(const ConvolutionProblem& problem) noexcept {
    return problem.bytes ? machine::byte_operations : machine::onednn_operations;
  }

  // The greatest divisor of the batch whose results stay in the cache; all images where no pass follows. How far pixels
  // lie apart plays no part: whoever packs the weights does not know it, and the layout may follow from the batch.
  static std::int64_t images_at_a_time(const ConvolutionProblem& problem) {
    if (!is_finished_apart(problem)) return problem.batch;
    const std::int64_t image_bytes =
        Geometry(images_of(problem, 1)).output_elements() * static_cast<std::int64_t>(sizeof(float));
    // A second-level cache holds such a part of the result until a second pass finishes it.
    std::int64_t images = std::clamp<std::int64_t>(machine::second_level_cache / image_bytes, 1, problem.batch);
    while (problem.batch % images != 0) --images;
    return images;
  }

  // Forward, of `images_` images from `image` on.
  void run_part(const ConvolutionArguments& whole, std::int64_t image, void* kernel, void* scratchpad) const {
    const auto from_image = [&](const void* memory, std::int64_t pixel_elements, const Extents& extents) {
      return const_cast<float*>(static_cast<const float*>(memory)) + image * product_of(extents) * pixel_elements;
    };
    ConvolutionArguments arguments = whole;
    float* const input = from_image(whole.input, g_.in_channels, g_.input);
    arguments.result = from_image(whole.result, g_.result_pitch, g_.output);
    if (problem_.residual) arguments.residual = from_image(whole.residual, g_.out_channels, g_.output);
    const bool in_place = problem_.residual && arguments.residual == arguments.result;
    void* const sums = spread_ || in_place ? at<std::byte>(arguments.workspace, dense_) : arguments.result;
    if (adds_bias(problem_)) {
      main_->run({input, kernel, sums, const_cast<void*>(arguments.bias)}, scratchpad);
    } else {
      main_->run({input, kernel, sums}, scratchpad);
    }
    if (problem_.scale || spread_) {
      finish_pixels(arguments, static_cast<const float*>(sums));
    } else if (is_finished_apart(problem_)) {
      const void* const added = in_place ? sums : arguments.residual;
      finish(arguments, problem_.residual ? static_cast<const float*>(added) : nullptr);
    }
  }

  onednn::Primitive forward_primitive(const Terms& terms,
                                      const dnnl::convolution_forward::primitive_desc& description) const {
    const onednn::Binding input{DNNL_ARG_SRC, terms.input}, kernel{DNNL_ARG_WEIGHTS, description.weights_desc()},
        output{DNNL_ARG_DST, terms.output};
    const dnnl::convolution_forward primitive(description);
    if (!adds_bias(problem_)) return {primitive, description.scratchpad_desc(), {input, kernel, output}, threads_};
    return {primitive, description.scratchpad_desc(), {input, kernel, output, {DNNL_ARG_BIAS, terms.bias}}, threads_};
  }

  // Adds what `added` holds, if anything, to the result, and applies limits, since oneDNN's own lose NaN.
  void finish(const ConvolutionArguments& arguments, const float* added) const {
    run_team(threads_, [&](Team team) {
      const Range mine = share(g_part_.output_elements(), team.member, team.size, 16);
      ChannelArguments<float> t;
      t.channels = mine.size();
      t.out = static_cast<float*>(arguments.result) + mine.begin;
      t.accumulate = true;
      if (added != nullptr) t.residual = added + mine.begin;
      t.limits = problem_.limits.as<float>();
      if (mine.size() != 0) tiles<float>(instruction_set()).channels(t);
    });
  }

  // The epilogue pixel by pixel: a scale and what follows it, for which oneDNN's own post-operations take twice as
  // long, and strided pixels, which it writes by its reference code only, hundreds of times slower.
  void finish_pixels(const ConvolutionArguments& arguments, const float* sums) const {
    run_team(threads_, [&](Team team) {
      const Range mine = share(g_part_.output_elements() / g_.out_channels, team.member, team.size);
      const auto* const scale = static_cast<const float*>(arguments.scale);
      const float* from = nullptr;
      ChannelArguments<float> t;
      t.x = &from;
      t.y = &scale;
      t.channels = g_.out_channels;
      if (problem_.scale && problem_.bias) t.bias = static_cast<const float*>(arguments.bias);
      t.limits = problem_.limits.as<float>();
      for (std::int64_t pixel = mine.begin; pixel < mine.end; ++pixel) {
        from = sums + pixel * g_.out_channels;
        if (problem_.scale) {
          t.count = 1;
          if (problem_.residual) t.residual = static_cast<const float*>(arguments.residual) + pixel * g_.out_channels;
        } else {
          t.residual = from;
        }
        t.out = static_cast<float*>(arguments.result) + pixel * g_.result_pitch;
        tiles<float>(instruction_set()).channels(t);
      }
    });
  }

  ConvolutionProblem problem_;
  Geometry g_;
  int threads_;
  std::int64_t images_;    // computed at a time
  Geometry g_part_;        // of so many
  bool spread_ = false;    // pixels of the result lie apart
  std::size_t dense_ = 0;  // sums that wait in the workspace for what finishes them
  bool reference_ = false;
  std::optional<onednn::Primitive> main_;
  std::optional<onednn::Primitive> reorder_;
  std::optional<onednn::Packing> packing_;
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
    return nullptr;  // a geometry that this version does not know, or bytes that this processor does not
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
