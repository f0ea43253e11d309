// Every family of kernels beside loops, in both styles: what they yield is what the CPU's kernels yield, whose truths
// are the goldens.
#if defined(TYTO_HAVE_OPENCL)

#include <doctest/doctest.h>

#include <cmath>

#include "core/op_ids.hpp"
#include "devices/cpu/device.hpp"
#include "tests/devices/opencl_rig.hpp"
#include "tyto/error.hpp"

namespace opencl_families_test {

using namespace tyto;
using namespace tyto::opencl;
using namespace tyto::opencl::test;
using core::Attributes;
using core::OpId;
using core::View;

namespace {

struct Step {
  OpId op;
  Attributes attributes;
  std::vector<HostTensor> inputs;
  double tolerance = 0;  // relative to the greatest value
};

std::vector<core::Operand> operands(const std::vector<HostTensor>& tensors) {
  std::vector<core::Operand> out;
  for (const HostTensor& tensor : tensors) out.push_back(tensor.operand());
  return out;
}

std::vector<core::Operand> results_of(const Step& step) {
  std::vector<core::TensorType> types;
  for (const HostTensor& input : step.inputs) types.push_back({input.dtype, input.view.shape});
  std::vector<core::Operand> out;
  for (const core::TensorType& type : core::definition(step.op).infer(step.attributes, types)) {
    out.push_back({type.dtype, View::dense(type.shape)});
  }
  return out;
}

std::vector<HostTensor> on_cpu(const Step& step) {
  core::Device& device = cpu::device();
  const std::vector<core::Operand> in = operands(step.inputs), out = results_of(step);
  const auto kernel = device.prepare({step.op, &step.attributes, in, out});
  std::vector<core::BufferRef> buffers;
  const auto allocate = [&](std::size_t bytes) {
    buffers.push_back(device.allocate(bytes));
    return core::Address{buffers.back()->memory(), 0};
  };
  std::vector<core::Address> from, to;
  for (const HostTensor& input : step.inputs) {
    const std::vector<std::byte> bytes = bytes_of(input);
    from.push_back(allocate(bytes.size()));
    device.copy_in(buffers.back()->at(0), bytes.data(), bytes.size());
  }
  for (const core::Operand& output : out) {
    to.push_back(allocate(static_cast<std::size_t>(output.view.count()) * size_of(output.dtype)));
  }
  kernel->launch(from, to, allocate(kernel->workspace()));
  std::vector<HostTensor> results;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t bytes = static_cast<std::size_t>(out[i].view.count()) * size_of(out[i].dtype);
    results.push_back(from_bytes(out[i].dtype, out[i].view.shape, {to[i].pointer(), bytes}));
  }
  return results;
}

/// The greatest difference, as a part of the greatest value; infinite where only one is NaN.
double difference(const HostTensor& a, const HostTensor& b) {
  if (a.values.empty()) return a.integers == b.integers ? 0 : INFINITY;
  double worst = 0, greatest = 1e-30;
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    const double x = a.values[i], y = b.values[i];
    if (std::isfinite(y)) greatest = std::max(greatest, std::fabs(y));
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    const double apart = std::fabs(x - y);
    worst = std::isnan(apart) ? INFINITY : std::max(worst, apart);
  }
  return worst / greatest;
}

// Random numbers of a gamma distribution are drawn in f64.
bool needs_f64(const Step& step) {
  if (step.op == OpId::random_gamma) return true;
  const auto wide = [](const auto& operand) { return real_type(operand.dtype) == DType::f64; };
  return std::ranges::any_of(step.inputs, wide) || std::ranges::any_of(results_of(step), wide);
}

void check(const std::vector<Step>& all_steps) {
  for (OpenClDevice* device : both_styles()) {
    std::vector<Step> steps = all_steps;
    std::erase_if(steps, [&](const Step& step) { return needs_f64(step) && !computes_f64(*device); });
    std::vector<std::vector<core::Operand>> in, out;
    for (const Step& step : steps) {
      in.push_back(operands(step.inputs));
      out.push_back(results_of(step));
    }
    std::vector<core::Step> prepared;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      prepared.push_back({steps[i].op, &steps[i].attributes, in[i], out[i]});
    }
    const auto kernels = device->prepare_all(prepared);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const std::vector<HostTensor> found = run(*device, *kernels[i], steps[i].inputs, out[i]);
      const std::vector<HostTensor> expected = on_cpu(steps[i]);
      for (std::size_t r = 0; r < expected.size(); ++r) {
        INFO(core::definition(steps[i].op).name, " number ", i, " yielding ", std::string(name_of(out[i][0].dtype)),
             ", ", core::to_string(steps[i].attributes));
        CHECK(difference(found[r], expected[r]) <= steps[i].tolerance);
      }
    }
  }
}

HostTensor numbers(DType dtype, const Shape& shape) { return spread(dtype, shape, -3, 3.5); }

/// Of matrices that are factorised, each step of which a whole team takes.
bool too_large(std::int64_t rows, std::int64_t columns) { return is_interpreted() && std::max(rows, columns) > 9; }

/// Numbers between -1 and 1 without a pattern, of which matrices are regular.
HostTensor scattered(DType dtype, const Shape& shape, std::uint64_t seed = 1) {
  HostTensor tensor = numbers(dtype, shape);
  for (double& value : tensor.values) {
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    value = rounded(dtype, static_cast<double>(seed >> 40) / (1 << 23) - 1);
  }
  return tensor;
}

/// Stacks of matrices with so much added to the diagonal.
HostTensor with_diagonal(HostTensor matrices, double added) {
  const Shape& shape = matrices.view.shape;
  const std::int64_t rows = shape[shape.size() - 2], columns = shape.back();
  const std::size_t parts = is_complex(matrices.dtype) ? 2 : 1;
  for (std::size_t i = 0; i < matrices.values.size(); i += parts) {
    const std::int64_t at = static_cast<std::int64_t>(i / parts) % (rows * columns);
    if (at / columns == at % columns) matrices.values[i] = rounded(matrices.dtype, matrices.values[i] + added);
  }
  return matrices;
}

double rounding(DType dtype) {
  switch (dtype) {
    case DType::f16: return 2e-3;
    case DType::bf16: return 2e-2;
    case DType::f32:
    case DType::c64: return 1e-5;
    case DType::f64:
    case DType::c128: return 1e-13;
    default: return 0;
  }
}

struct Windows {
  Shape image, kernel;
  core::WindowAttributes window;
};

Windows windows(Shape image, Shape kernel, IntList stride, IntList dilation, IntList before, IntList after,
                std::int64_t groups) {
  core::WindowAttributes window;
  for (std::size_t i = 0; i < stride.size(); ++i) window.window.push_back(kernel[i]);
  window.stride = std::move(stride);
  window.dilation = std::move(dilation);
  window.before = std::move(before);
  window.after = std::move(after);
  window.groups = groups;
  return {std::move(image), std::move(kernel), std::move(window)};
}

core::WindowAttributes shaped(core::WindowAttributes window, const Shape& shape) {
  window.shape = shape;
  return window;
}

/// A convolution and its two gradients.
void add_convolution(std::vector<Step>& steps, DType dtype, const Windows& w) {
  const HostTensor image = numbers(dtype, w.image), kernel = numbers(dtype, w.kernel);
  steps.push_back({OpId::convolution, w.window, {image, kernel}, rounding(dtype)});
  const HostTensor gradient = numbers(dtype, results_of(steps.back())[0].view.shape);
  steps.push_back({OpId::convolution_input_gradient, shaped(w.window, w.image), {gradient, kernel}, rounding(dtype)});
  steps.push_back({OpId::convolution_kernel_gradient, shaped(w.window, w.kernel), {image, gradient}, rounding(dtype)});
}

}  // namespace

TEST_CASE("convolutions of any rank, stride, dilation, padding and groups, and both gradients, on OpenCL") {
  std::vector<Step> steps;
  for (const DType dtype : {DType::f32, DType::f16, DType::i32}) {
    add_convolution(steps, dtype, windows({2, 9, 8, 6}, {3, 2, 6, 10}, {1, 1}, {1, 1}, {1, 0}, {1, 1}, 1));
  }
  const DType f32 = DType::f32;
  add_convolution(steps, f32, windows({4, 9, 8, 6}, {3, 2, 3, 10}, {2, 3}, {1, 2}, {1, 0}, {2, 1}, 2));
  add_convolution(steps, f32, windows({2, 7, 7, 5}, {1, 1, 5, 70}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 1));
  add_convolution(steps, f32, windows({1, 30, 4}, {5, 1, 8}, {1}, {3}, {6}, {6}, 4));
  add_convolution(steps, DType::f64,
                  windows({2, 5, 6, 4, 3}, {2, 3, 2, 3, 4}, {1, 2, 1}, {2, 1, 1}, {1, 1, 0}, {1, 1, 1}, 1));
  add_convolution(steps, DType::boolean, windows({2, 5, 5, 2}, {3, 3, 2, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1));
  // More padding than the kernel reaches, which crops the gradient.
  add_convolution(steps, f32, windows({2, 4, 5, 3}, {2, 2, 3, 4}, {1, 1}, {1, 1}, {3, 2}, {0, 3}, 1));
  check(steps);
}

TEST_CASE("products of any type, and with epilogues, on OpenCL") {
  std::vector<Step> steps;
  for (const DType dtype : {DType::i8, DType::i64, DType::boolean, DType::f16, DType::bf16}) {
    steps.push_back({OpId::matmul, {}, {numbers(dtype, {2, 7, 33}), numbers(dtype, {2, 33, 20})}, rounding(dtype)});
  }
  core::ProductAttributes epilogue;
  epilogue.bias = epilogue.residual = true;
  epilogue.low = 0;
  epilogue.high = 40;
  // Deeper than a block, so that the residual meets the first part and the limits the last one.
  for (const std::int64_t depth : {0, 20, 1300}) {
    for (const DType dtype : {DType::f32, DType::f16}) {
      steps.push_back(
          {OpId::matmul_epilogue,
           epilogue,
           {numbers(dtype, {9, depth}), numbers(dtype, {depth, 70}), numbers(dtype, {70}), numbers(dtype, {9, 70})},
           rounding(dtype)});
    }
  }
  epilogue.window = windows({2, 6, 6, 3}, {3, 3, 3, 20}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1).window;
  steps.push_back({OpId::convolution_epilogue,
                   epilogue,
                   {numbers(DType::f32, {2, 6, 6, 3}), numbers(DType::f32, {3, 3, 3, 20}), numbers(DType::f32, {20}),
                    numbers(DType::f32, {2, 6, 6, 20})},
                   rounding(DType::f32)});
  // Deeper than a block, so that each part of a sum is scaled by itself.
  core::ProductAttributes scaled = epilogue;
  scaled.scale = true;
  scaled.window = windows({1, 4, 4, 150}, {3, 3, 150, 20}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1).window;
  steps.push_back({OpId::convolution_epilogue,
                   scaled,
                   {numbers(DType::f32, {1, 4, 4, 150}), numbers(DType::f32, {3, 3, 150, 20}),
                    numbers(DType::f32, {20}), numbers(DType::f32, {20}), numbers(DType::f32, {1, 4, 4, 20})},
                   rounding(DType::f32)});
  epilogue.scale = true;
  // Each group of channels takes a part of its own of the scale, the bias and the residual.
  for (const std::int64_t groups : {2, 4}) {
    epilogue.window = windows({2, 6, 6, 4}, {3, 3, 4 / groups, 12}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, groups).window;
    steps.push_back({OpId::convolution_epilogue,
                     epilogue,
                     {numbers(DType::f32, {2, 6, 6, 4}), numbers(DType::f32, {3, 3, 4 / groups, 12}),
                      numbers(DType::f32, {12}), numbers(DType::f32, {12}), numbers(DType::f32, {2, 6, 6, 12})},
                     rounding(DType::f32)});
  }
  check(steps);
}

TEST_CASE("pooling and resizing and their gradients, by single channels and by vectors of them, on OpenCL") {
  std::vector<Step> steps;
  for (const std::int64_t channels : {3, 32}) {
    for (const DType dtype : {DType::f32, DType::f16}) {
      for (const bool dilated : {false, true}) {
        if (dilated && dtype == DType::f16) continue;
        Windows w = windows({2, 8, 7, channels}, {3, 2, 1, 1}, {2, 1}, {1, dilated ? 2 : 1}, {1, 0}, {1, 1}, 1);
        HostTensor image = numbers(dtype, w.image);
        image.values[5] = image.values[17] = NAN;
        steps.push_back({OpId::max_pool, w.window, {image}});
        const HostTensor gradient = numbers(dtype, results_of(steps.back())[0].view.shape);
        steps.push_back({OpId::max_pool_gradient, shaped(w.window, w.image), {image, gradient}, rounding(dtype)});
        steps.push_back({OpId::max_pool_pick, w.window, {image, numbers(dtype, w.image)}});
        const HostTensor finite = numbers(dtype, w.image);
        steps.push_back({OpId::average_pool, w.window, {finite}, rounding(dtype)});
        w.window.count_padding = dilated;
        steps.push_back({OpId::average_pool_gradient, shaped(w.window, w.image), {gradient}, rounding(dtype)});
      }
    }
    steps.push_back({OpId::max_pool,
                     windows({2, 6, 6, channels}, {2, 2, 1, 1}, {2, 2}, {1, 1}, {0, 0}, {0, 0}, 1).window,
                     {numbers(DType::i8, {2, 6, 6, channels})}});
    core::WindowAttributes scale;
    scale.window = {2, 3};
    for (const auto& [forward, backward] : {std::pair(OpId::upsample_nearest, OpId::upsample_nearest_gradient),
                                            std::pair(OpId::upsample_bilinear, OpId::upsample_bilinear_gradient)}) {
      steps.push_back({forward, scale, {numbers(DType::f32, {2, 5, 4, channels})}, 1e-6});
      steps.push_back(
          {backward, shaped(scale, {2, 5, 4, channels}), {numbers(DType::f32, {2, 10, 12, channels})}, 1e-6});
    }
  }
  check(steps);
}

TEST_CASE("what moves elements, and what reads them by index, on OpenCL") {
  std::vector<Step> steps;
  for (const DType dtype : {DType::f32, DType::bf16, DType::i8, DType::i64}) {
    const HostTensor x = numbers(dtype, {4, 5, 6});
    const auto pad = [](core::PadMode mode) { return core::PadAttributes{{2, 0, 7}, {1, 3, 9}, mode, Scalar(2.5)}; };
    steps.push_back(
        {OpId::set_slice, core::SliceAttributes{{1, 4, 0}, {2, 3, 6}, {2, -2, 1}}, {x, numbers(dtype, {2, 3, 6})}});
    steps.push_back({OpId::concat, core::AxisAttributes{1}, {x, numbers(dtype, {4, 0, 6}), numbers(dtype, {4, 2, 6})}});
    steps.push_back({OpId::tile, core::ListAttributes{{2, 1, 3}}, {x}});
    steps.push_back({OpId::repeat, core::ListAttributes{{3, 1}}, {x}});
    steps.push_back({OpId::roll, core::ListAttributes{{1, 0, -2}}, {x}});
    for (const core::PadMode mode : {core::PadMode::constant, core::PadMode::edge, core::PadMode::reflect}) {
      steps.push_back({OpId::pad, pad(mode), {x}});
    }
    steps.push_back({OpId::tril, core::ListAttributes{{-1}}, {x}});
    steps.push_back({OpId::triu, core::ListAttributes{{INT64_MAX}}, {x}});
    steps.push_back({OpId::diag_embed, core::ListAttributes{{-2}}, {x}});
    const HostTensor chosen = HostTensor::of_integers(DType::i32, {2, 2}, {-1, 0, 3, -4});
    steps.push_back({OpId::take, core::AxisAttributes{0}, {x, chosen}});
    steps.push_back({OpId::take, core::AxisAttributes{2}, {x, chosen}});
    steps.push_back({OpId::take_along_axis,
                     core::AxisAttributes{1},
                     {x, HostTensor::of_integers(DType::i64, {1, 2, 6}, {4, 3, 2, 1, 0, -1, -2, -3, -4, -5, 0, 1})}});
    steps.push_back({OpId::gather, {}, {x, chosen, HostTensor::of_integers(DType::i64, {2, 2}, {4, -5, 0, 2})}});
  }
  const HostTensor classes = HostTensor::of_integers(DType::u8, {2, 3}, {0, 4, 9, 3, 1, 2});
  steps.push_back({OpId::one_hot, core::ListAttributes{{5, static_cast<std::int64_t>(DType::f16)}}, {classes}});
  check(steps);
}

TEST_CASE("complex elements are moved as they are on OpenCL") {
  std::vector<Step> steps;
  for (const DType dtype : {DType::c64, DType::c128}) {
    const HostTensor x = numbers(dtype, {4, 5, 6});
    steps.push_back(
        {OpId::set_slice, core::SliceAttributes{{1, 4, 0}, {2, 3, 6}, {2, -2, 1}}, {x, numbers(dtype, {2, 3, 6})}});
    steps.push_back({OpId::concat, core::AxisAttributes{2}, {x, numbers(dtype, {4, 5, 1})}});
    steps.push_back({OpId::tile, core::ListAttributes{{2, 1, 3}}, {x}});
    steps.push_back({OpId::repeat, core::ListAttributes{{3, 2}}, {x}});
    steps.push_back({OpId::roll, core::ListAttributes{{1, 0, -2}}, {x}});
    steps.push_back(
        {OpId::pad, core::PadAttributes{{2, 0, 1}, {1, 3, 2}, core::PadMode::constant, Scalar::complex(2.5, -1)}, {x}});
    steps.push_back({OpId::tril, core::ListAttributes{{-1}}, {x}});
    steps.push_back({OpId::diag_embed, core::ListAttributes{{-2}}, {x}});
    const HostTensor chosen = HostTensor::of_integers(DType::i32, {3}, {-1, 0, -1});
    steps.push_back({OpId::take, core::AxisAttributes{1}, {x, chosen}});
    steps.push_back({OpId::take_along_axis,
                     core::AxisAttributes{1},
                     {numbers(dtype, {1, 4, 1}), HostTensor::of_integers(DType::i64, {1, 2, 1}, {3, -3})}});
    steps.push_back({OpId::gather, {}, {x, chosen, chosen}});
    steps.push_back({OpId::scatter, {}, {x, numbers(dtype, {3, 5, 6}), chosen}});
    steps.push_back({OpId::scatter, {}, {x, numbers(dtype, {3, 6}), chosen, chosen}});
    steps.push_back({OpId::fill, core::RangeAttributes{{3, 5}, dtype, Scalar::complex(1.5, -2), Scalar(0)}, {}});
  }
  check(steps);
}

TEST_CASE("scans in both directions on OpenCL") {
  std::vector<Step> steps;
  for (const DType dtype : {DType::f32, DType::f16, DType::i8, DType::boolean, DType::f64}) {
    for (const std::int64_t axis : {0, 1, 2}) {
      const HostTensor x = spread(dtype, {5, 7, 20}, -1, 1.5);
      steps.push_back({OpId::cumsum, core::AxisAttributes{axis, axis == 1, axis == 2}, {x}, rounding(dtype)});
      steps.push_back({OpId::cumprod, core::AxisAttributes{axis, false, axis == 1}, {x}, rounding(dtype)});
      steps.push_back({OpId::cummin, core::AxisAttributes{axis, false, axis == 0}, {x}});
      steps.push_back({OpId::cummax, core::AxisAttributes{axis}, {x}});
    }
  }
  check(steps);
}

TEST_CASE("scattering writes and combines in the order of the positions on OpenCL") {
  std::vector<Step> steps;
  std::vector<std::int64_t> rows, columns;
  for (std::int64_t i = 0; i < 60; ++i) {
    rows.push_back(i * 7 % 5 - 2);
    columns.push_back(i * 3 % 4);
  }
  const HostTensor row = HostTensor::of_integers(DType::i64, {60}, rows),
                   column = HostTensor::of_integers(DType::i32, {60}, columns);
  for (const DType dtype : {DType::f32, DType::f16, DType::i8, DType::i64, DType::boolean}) {
    for (const OpId op :
         {OpId::scatter, OpId::scatter_add, OpId::scatter_multiply, OpId::scatter_min, OpId::scatter_max}) {
      HostTensor held = numbers(dtype, {6, 4, 3}), given = numbers(dtype, {60, 3});
      steps.push_back({op, {}, {held, given, row, column}});
      steps.push_back({op, {}, {numbers(dtype, {6}), numbers(dtype, {60}), row}});
      if (!is_floating(dtype)) continue;
      held.values[4] = given.values[31] = given.values[90] = NAN;
      steps.push_back({op, {}, {held, given, row, column}});
    }
  }
  check(steps);
}

TEST_CASE("sorting is stable with NaN last, and searches agree with it, on OpenCL") {
  std::vector<Step> steps;
  for (const DType dtype : {DType::f32, DType::bf16, DType::f64, DType::i8, DType::i64}) {
    HostTensor x = spread(dtype, {3, 100, 2}, -9, 9);
    for (std::size_t i = 0; i < x.storage(); i += 3) {
      if (!is_floating(dtype)) continue;
      x.values[i] = i % 9 == 0 ? NAN : i % 2 == 0 ? 0.0 : -0.0;
    }
    for (const bool descending : {false, true}) {
      steps.push_back({OpId::argsort, core::AxisAttributes{1, descending}, {x}});
      steps.push_back({OpId::sort, core::AxisAttributes{2, descending}, {x}});
      steps.push_back({OpId::topk, core::TopkAttributes{1, 7, descending}, {x}});
    }
    HostTensor line = spread(dtype, {9}, -8, 8);
    std::sort(line.values.begin(), line.values.end());
    std::sort(line.integers.begin(), line.integers.end());
    steps.push_back({OpId::searchsorted, core::AxisAttributes{0, false}, {line, x}});
    steps.push_back({OpId::searchsorted, core::AxisAttributes{0, true}, {line, x}});
    steps.push_back({OpId::histogram, {}, {x, line}});
  }
  check(steps);
}

TEST_CASE("Fourier transforms of any length, alone and many together, along any axis, on OpenCL") {
  std::vector<Step> steps;
  // One to thirty-two and a prime above them; a power of two and one that outgrows local memory; primes that need a
  // chirp, whole and as half of a real line.
  std::vector<std::int64_t> lengths = {37, 64, 120, 1000, 4096, 74, 1009};
  for (std::int64_t n = 1; n <= 32; ++n) lengths.push_back(n);
  if (is_interpreted()) std::erase_if(lengths, [](std::int64_t n) { return n > 64; });
  for (const std::int64_t n : lengths) {
    for (const bool wide : {false, true}) {
      if (wide && n > 12 && n != 37 && n != 120) continue;
      const DType real = wide ? DType::f64 : DType::f32, complex = complex_type(real);
      const std::int64_t lines = n % 3 == 0 ? 1 : n < 100 ? 19 : 3;
      for (const bool last : {true, false}) {
        if (!last && n > 12 && n != 37 && n != 120) continue;
        const auto shape = [&](std::int64_t points) { return last ? Shape{lines, points} : Shape{points, lines}; };
        const auto transform = [&](bool inverse) {
          return core::TransformAttributes{last ? 1 : 0, n, inverse, inverse ? 0.25 : 1};
        };
        const double tolerance = rounding(real);
        steps.push_back({OpId::fft, transform(false), {numbers(complex, shape(n))}, tolerance});
        steps.push_back({OpId::fft, transform(true), {numbers(complex, shape(n))}, tolerance});
        steps.push_back({OpId::rfft, transform(n % 2 == 0), {numbers(real, shape(n))}, tolerance});
        steps.push_back({OpId::irfft, transform(false), {numbers(complex, shape(n / 2 + 1))}, tolerance});
      }
    }
  }
  check(steps);
}

TEST_CASE("boxes that overlap better ones are left out on OpenCL") {
  std::vector<Step> steps;
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const std::int64_t count : {0, 1, 300}) {
      // Boxes of sizes 1 to 3 on a grid, some twice, one without an area, and scores of which some are equal or NaN.
      std::vector<double> edges, scores;
      for (std::int64_t i = 0; i < count; ++i) {
        const double x = static_cast<double>(i * 7 % 23) / 2, y = static_cast<double>(i * 5 % 17) / 2;
        const double size = i == 7 ? 0 : 1 + static_cast<double>(i % 5) / 2;
        edges.insert(edges.end(), {x, y, x + size, y + size});
        scores.push_back(i == 11 ? NAN : static_cast<double>(i * 31 % 101) / 101);
      }
      const HostTensor boxes = HostTensor::of(dtype, {count, 4}, edges), score = HostTensor::of(dtype, {count}, scores);
      for (const double most : {0.0, 0.3, 0.9}) {
        steps.push_back({OpId::nms, core::NmsAttributes{400, most, 0.1}, {boxes, score}});
        steps.push_back({OpId::nms, core::NmsAttributes{5, most, -1}, {boxes, score}});
      }
      steps.push_back({OpId::nms, core::NmsAttributes{0, 0.5, 0}, {boxes, score}});
      steps.push_back({OpId::nms, core::NmsAttributes{9, 0.5, 2}, {boxes, score}});
    }
  }
  check(steps);
}

TEST_CASE("systems of equations are factorised and solved on OpenCL") {
  std::vector<Step> steps;
  for (const DType dtype : {DType::f32, DType::f64, DType::c64, DType::c128}) {
    // Differences grow with the condition of the matrices, which is some hundreds.
    const double tolerance = 1000 * rounding(real_type(dtype));
    for (const std::int64_t size : {0, 1, 2, 5, 33, 70}) {
      if (too_large(size, size)) continue;
      const Shape square = {3, size, size}, side = {3, size, 4};
      const HostTensor a = scattered(dtype, square), b = scattered(dtype, side, 7);
      steps.push_back({OpId::lu_factor, {}, {a}, tolerance});
      steps.push_back({OpId::solve, {}, {a, b}, tolerance});
      steps.push_back({OpId::inv, {}, {a}, tolerance});
      steps.push_back({OpId::det, {}, {a}, tolerance});
      const HostTensor dominant = with_diagonal(a, static_cast<double>(size));
      std::vector<std::int64_t> order, wrong;
      for (std::int64_t i = 0; i < 3 * size; ++i) {
        order.push_back(size - 1 - i % size);
        wrong.push_back(i % size == 0 && i / size == 1 && size > 1 ? 1 : i % size);
      }
      for (const bool flag : {false, true}) {
        for (const std::vector<std::int64_t>& each : {order, wrong}) {
          steps.push_back({OpId::lu_solve,
                           core::AxisAttributes{0, flag},
                           {dominant, HostTensor::of_integers(DType::i64, {3, size}, each), b},
                           tolerance});
        }
        for (const bool unit : {false, true}) {
          if (unit && size > 5) continue;  // grows beyond all bounds
          steps.push_back({OpId::triangular_solve, core::AxisAttributes{0, flag, unit}, {dominant, b}, tolerance});
        }
      }
      steps.push_back({OpId::cholesky, {}, {dominant}, tolerance});
      steps.push_back({OpId::cholesky, {}, {a}, tolerance});
    }
    steps.push_back({OpId::lu_factor, {}, {scattered(dtype, {2, 9, 40})}, tolerance});
    steps.push_back({OpId::lu_factor, {}, {scattered(dtype, {40, 9})}, tolerance});
    // Singular, not a number, and empty stacks.
    HostTensor hard = scattered(dtype, {3, 4, 4});
    for (std::size_t i = 2; i < 16; i += 4) hard.values[i] = 0;
    hard.values[is_complex(dtype) ? 32 : 20] = NAN;
    for (const OpId op : {OpId::lu_factor, OpId::inv, OpId::det, OpId::cholesky}) {
      steps.push_back({op, {}, {hard}, tolerance});
      steps.push_back({op, {}, {scattered(dtype, {0, 4, 4})}, tolerance});
    }
    steps.push_back({OpId::solve, {}, {hard, scattered(dtype, {3, 4, 2})}, tolerance});
  }
  check(steps);
}

namespace {

using Matrix = std::vector<double>;

/// Matrix number `index` of a stack.
Matrix part_of(const HostTensor& stack, std::int64_t rows, std::int64_t columns, std::int64_t index) {
  const auto begin = stack.values.begin() + index * rows * columns;
  return {begin, begin + rows * columns};
}

Matrix transposed(const Matrix& a, std::int64_t columns) {
  const std::int64_t rows = columns == 0 ? 0 : static_cast<std::int64_t>(a.size()) / columns;
  Matrix out(a.size());
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    out[static_cast<std::size_t>(i % columns * rows + i / columns)] = a[static_cast<std::size_t>(i)];
  }
  return out;
}

Matrix product(const Matrix& a, const Matrix& b, std::int64_t inner, std::int64_t columns) {
  const std::int64_t rows = inner == 0 ? 0 : static_cast<std::int64_t>(a.size()) / inner;
  Matrix out(static_cast<std::size_t>(rows * columns));
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t k = 0; k < inner; ++k) {
      for (std::int64_t j = 0; j < columns; ++j) {
        out[static_cast<std::size_t>(i * columns + j)] +=
            a[static_cast<std::size_t>(i * inner + k)] * b[static_cast<std::size_t>(k * columns + j)];
      }
    }
  }
  return out;
}

double distance(const Matrix& a, const Matrix& b) {
  double worst = a.size() == b.size() ? 0 : INFINITY;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    const double apart = std::fabs(a[i] - b[i]);
    worst = std::isnan(apart) ? INFINITY : std::max(worst, apart);
  }
  return worst;
}

Matrix diagonal(const Matrix& values) {
  Matrix out(values.size() * values.size());
  for (std::size_t i = 0; i < values.size(); ++i) out[i * values.size() + i] = values[i];
  return out;
}

bool has_orthonormal_columns(const Matrix& q, std::int64_t columns, double tolerance) {
  const Matrix turned = transposed(q, columns);
  const std::int64_t rows = columns == 0 ? 0 : static_cast<std::int64_t>(q.size()) / columns;
  return distance(product(turned, q, rows, columns), diagonal(Matrix(static_cast<std::size_t>(columns), 1.0))) <=
         tolerance;
}

std::vector<HostTensor> on(OpenClDevice& device, OpId op, const Attributes& attributes,
                           const std::vector<HostTensor>& inputs) {
  const Step step{op, attributes, inputs};
  std::vector<core::TensorType> types;
  for (const core::Operand& each : results_of(step)) types.push_back({each.dtype, each.view.shape});
  return run_step(device, op, attributes, inputs, types);
}

}  // namespace

TEST_CASE("orthogonal factors, eigenvectors and singular vectors make their matrices again on OpenCL") {
  for (OpenClDevice* device : both_styles()) {
    for (const DType dtype : computed_types(*device, {DType::f32, DType::f64})) {
      const double unit = dtype == DType::f64 ? 2.2e-16 : 1.2e-7;
      for (const auto& [rows, columns] :
           {std::pair<std::int64_t, std::int64_t>{1, 1}, {2, 2}, {9, 4}, {4, 9}, {37, 37}, {70, 33}, {33, 70}}) {
        if (too_large(rows, columns)) continue;
        INFO(name_of(dtype), ' ', rows, " x ", columns);
        // The last matrix has rank one, the one before it rank three at most.
        HostTensor a = scattered(dtype, {3, rows, columns});
        for (std::int64_t i = 0; i < 2 * rows * columns; ++i) {
          const double x = static_cast<double>(i / columns % rows), y = static_cast<double>(i % columns);
          double value = 1 + x;
          if (i < rows * columns) value = std::sin(x + 1) * (y + 1) + std::cos(x) + x * y * y / 100;
          a.values[static_cast<std::size_t>(rows * columns + i)] = rounded(dtype, value);
        }
        const std::int64_t least = std::min(rows, columns);
        for (const bool complete : {false, true}) {
          const core::AxisAttributes attributes{0, complete, false};
          const auto svd = on(*device, OpId::svd, attributes, {a});
          const std::int64_t left = complete ? rows : least, right = complete ? columns : least;
          for (std::int64_t i = 0; i < 3; ++i) {
            const Matrix whole = part_of(a, rows, columns, i), u = part_of(svd[0], rows, left, i),
                         s = part_of(svd[1], 1, least, i), v = part_of(svd[2], right, columns, i);
            const double tolerance = 8 * unit * static_cast<double>(std::max(rows, columns));
            CHECK(has_orthonormal_columns(u, left, tolerance));
            CHECK(has_orthonormal_columns(transposed(v, columns), right, tolerance));
            CHECK(std::is_sorted(s.rbegin(), s.rend()));
            CHECK(s.back() >= 0);
            Matrix middle(static_cast<std::size_t>(left * right));
            for (std::int64_t k = 0; k < least; ++k) {
              middle[static_cast<std::size_t>(k * right + k)] = s[static_cast<std::size_t>(k)];
            }
            const Matrix again = product(product(u, middle, left, right), v, right, columns);
            CHECK(distance(again, whole) <= tolerance * s[0]);
          }
          if (rows < columns) continue;
          const auto qr = on(*device, OpId::qr, attributes, {a});
          for (std::int64_t i = 0; i < 3; ++i) {
            const double tolerance = 8 * unit * static_cast<double>(rows);
            const Matrix q = part_of(qr[0], rows, left, i), r = part_of(qr[1], left, columns, i);
            CHECK(has_orthonormal_columns(q, left, tolerance));
            const Matrix whole = part_of(a, rows, columns, i);
            CHECK(distance(product(q, r, left, columns), whole) <= tolerance * part_of(svd[1], 1, least, i)[0]);
            for (std::int64_t k = 0; k < left * columns; ++k) {
              if (k % columns < k / columns) CHECK(r[static_cast<std::size_t>(k)] == 0);
            }
          }
        }
        if (rows != columns) continue;
        const auto eigen = on(*device, OpId::eigh, {}, {a});
        for (std::int64_t i = 0; i < 3; ++i) {
          Matrix symmetric = part_of(a, rows, rows, i);
          for (std::int64_t k = 0; k < rows * rows; ++k) {
            const std::int64_t x = std::max(k / rows, k % rows), y = std::min(k / rows, k % rows);
            symmetric[static_cast<std::size_t>(k)] = part_of(a, rows, rows, i)[static_cast<std::size_t>(x * rows + y)];
          }
          const Matrix values = part_of(eigen[0], 1, rows, i), vectors = part_of(eigen[1], rows, rows, i);
          const double size = std::max(std::fabs(values.front()), std::fabs(values.back()));
          const double tolerance = 8 * unit * static_cast<double>(rows);
          CHECK(std::is_sorted(values.begin(), values.end()));
          CHECK(has_orthonormal_columns(vectors, rows, tolerance));
          CHECK(distance(product(symmetric, vectors, rows, rows), product(vectors, diagonal(values), rows, rows)) <=
                tolerance * size);
        }
      }
    }
  }
}

namespace {

/// A complex matrix as a real one twice as large, whose products, sums and transposes are its products, sums and
/// adjoints.
Matrix embedded(const HostTensor& stack, std::int64_t rows, std::int64_t columns, std::int64_t index) {
  Matrix out(static_cast<std::size_t>(4 * rows * columns));
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    const auto at = static_cast<std::size_t>(2 * (index * rows * columns + i));
    const double re = stack.values[at], im = stack.values[at + 1];
    const std::int64_t row = i / columns, column = i % columns;
    const auto put = [&](std::int64_t r, std::int64_t c, double value) {
      out[static_cast<std::size_t>(r * 2 * columns + c)] = value;
    };
    put(row, column, re);
    put(row + rows, column + columns, re);
    put(row + rows, column, im);
    put(row, column + columns, -im);
  }
  return out;
}

/// What real numbers are on the diagonal of rows x columns, embedded.
Matrix embedded_diagonal(const Matrix& values, std::int64_t rows, std::int64_t columns) {
  Matrix out(static_cast<std::size_t>(4 * rows * columns));
  for (std::size_t k = 0; k < values.size(); ++k) {
    const auto at = static_cast<std::int64_t>(k);
    out[static_cast<std::size_t>(at * 2 * columns + at)] = values[k];
    out[static_cast<std::size_t>((at + rows) * 2 * columns + at + columns)] = values[k];
  }
  return out;
}

double greatest(const Matrix& a) {
  double most = 0;
  for (const double value : a) most = std::max(most, std::fabs(value));
  return most;
}

}  // namespace

TEST_CASE("factors of complex matrices make them again on OpenCL") {
  for (OpenClDevice* device : both_styles()) {
    for (const DType dtype : {DType::c64, DType::c128}) {
      if (dtype == DType::c128 && !computes_f64(*device)) continue;
      for (const auto& [rows, columns] :
           {std::pair<std::int64_t, std::int64_t>{1, 1}, {2, 2}, {9, 4}, {4, 9}, {30, 30}, {40, 17}}) {
        if (too_large(rows, columns)) continue;
        INFO(name_of(dtype), ' ', rows, " x ", columns);
        // The last matrix has rank one.
        HostTensor a = scattered(dtype, {2, rows, columns});
        for (std::int64_t i = 0; i < rows * columns; ++i) {
          const double x = static_cast<double>(i / columns), y = static_cast<double>(i % columns);
          const auto at = static_cast<std::size_t>(2 * (rows * columns + i));
          a.values[at] = rounded(dtype, std::cos(x - 2 * y));
          a.values[at + 1] = rounded(dtype, std::sin(x - 2 * y));
        }
        const std::int64_t least = std::min(rows, columns);
        const double tolerance = 16 * rounding(real_type(dtype)) * static_cast<double>(std::max(rows, columns));
        for (const bool complete : {false, true}) {
          const core::AxisAttributes attributes{0, complete, false};
          const std::int64_t left = complete ? rows : least, right = complete ? columns : least;
          const auto svd = on(*device, OpId::svd, attributes, {a});
          const auto qr = rows < columns ? std::vector<HostTensor>() : on(*device, OpId::qr, attributes, {a});
          for (std::int64_t i = 0; i < 2; ++i) {
            const Matrix whole = embedded(a, rows, columns, i), u = embedded(svd[0], rows, left, i),
                         s = part_of(svd[1], 1, least, i), v = embedded(svd[2], right, columns, i);
            CHECK(has_orthonormal_columns(u, 2 * left, tolerance));
            CHECK(has_orthonormal_columns(transposed(v, 2 * columns), 2 * right, tolerance));
            CHECK(std::is_sorted(s.rbegin(), s.rend()));
            const Matrix scaled = product(u, embedded_diagonal(s, left, right), 2 * left, 2 * right);
            CHECK(distance(product(scaled, v, 2 * right, 2 * columns), whole) <= tolerance * s[0]);
            if (qr.empty()) continue;
            const Matrix q = embedded(qr[0], rows, left, i), r = embedded(qr[1], left, columns, i);
            CHECK(has_orthonormal_columns(q, 2 * left, tolerance));
            CHECK(distance(product(q, r, 2 * left, 2 * columns), whole) <= tolerance * s[0]);
            for (std::int64_t k = 0; k < left * columns; ++k) {
              const auto at = static_cast<std::size_t>(2 * (i * left * columns + k));
              if (k % columns < k / columns) CHECK(qr[1].values[at] == 0);
              if (k % columns <= k / columns) CHECK(qr[1].values[at + 1] == 0);
            }
          }
        }
        if (rows != columns) continue;
        HostTensor hermitian = a;
        for (std::int64_t k = 0; k < 2 * rows * rows; ++k) {
          const std::int64_t row = k / rows % rows, column = k % rows, from = k / (rows * rows) * rows * rows;
          const auto to = static_cast<std::size_t>(2 * k);
          const auto at = static_cast<std::size_t>(2 * (from + std::max(row, column) * rows + std::min(row, column)));
          hermitian.values[to] = a.values[at];
          hermitian.values[to + 1] = row == column ? 0 : row > column ? a.values[at + 1] : -a.values[at + 1];
        }
        const auto eigen = on(*device, OpId::eigh, {}, {a});
        for (std::int64_t i = 0; i < 2; ++i) {
          const Matrix values = part_of(eigen[0], 1, rows, i), vectors = embedded(eigen[1], rows, rows, i);
          CHECK(std::is_sorted(values.begin(), values.end()));
          CHECK(has_orthonormal_columns(vectors, 2 * rows, tolerance));
          const Matrix left = product(embedded(hermitian, rows, rows, i), vectors, 2 * rows, 2 * rows);
          const Matrix right = product(vectors, embedded_diagonal(values, rows, rows), 2 * rows, 2 * rows);
          CHECK(distance(left, right) <= tolerance * greatest(values));
        }
      }
    }
  }
}

TEST_CASE("eigenvectors of any matrix are only stretched by it on OpenCL") {
  for (OpenClDevice* device : both_styles()) {
    for (const DType dtype : {DType::c64, DType::c128}) {
      if (dtype == DType::c128 && !computes_f64(*device)) continue;
      for (const std::int64_t size : {1, 2, 3, 8, 33}) {
        if (too_large(size, size)) continue;
        INFO(name_of(dtype), ' ', size);
        // Without a pattern, real and upper triangular but for a corner, badly scaled, a cycle, and not a number.
        HostTensor a = scattered(dtype, {5, size, size});
        const std::int64_t count = size * size;
        for (std::int64_t i = 0; i < count; ++i) {
          const std::int64_t row = i / size, column = i % size;
          const auto at = [&](std::int64_t matrix) { return static_cast<std::size_t>(2 * (matrix * count + i)); };
          if (row > column) a.values[at(1)] = row == size - 1 && column == 0 ? 0.5 : 0;
          a.values[at(1) + 1] = 0;
          for (const std::size_t part : {at(2), at(2) + 1}) {
            a.values[part] = std::ldexp(a.values[part], static_cast<int>(row % 9 - column % 9));
          }
          a.values[at(3)] = (row + 1) % size == column ? 1 : 0;
          a.values[at(3) + 1] = 0;
        }
        a.values[static_cast<std::size_t>(2 * (4 * count) + 1)] = NAN;
        const auto eigen = on(*device, OpId::eig, {}, {a}), values = on(*device, OpId::eigvals, {}, {a});
        const auto on_host = on_cpu({OpId::eigvals, {}, {a}});
        for (std::int64_t i = 0; i < 4; ++i) {
          INFO("matrix ", i);
          const Matrix whole = embedded(a, size, size, i), vectors = embedded(eigen[1], size, size, i);
          const double tolerance =
              30 * rounding(real_type(dtype)) * static_cast<double>(size) * std::max(greatest(whole), 1.0);
          Matrix stretched = vectors;
          for (std::int64_t k = 0; k < size; ++k) {
            const auto at = static_cast<std::size_t>(2 * (i * size + k));
            const double re = eigen[0].values[at], im = eigen[0].values[at + 1];
            double squares = 0, nearest = INFINITY, nearest_alone = INFINITY;
            for (std::int64_t row = 0; row < size; ++row) {
              const auto x = static_cast<std::size_t>(row * 2 * size + k);
              const auto y = static_cast<std::size_t>((row + size) * 2 * size + k);
              squares += vectors[x] * vectors[x] + vectors[y] * vectors[y];
              for (const auto& [to, value] :
                   {std::pair(x, re * vectors[x] - im * vectors[y]), std::pair(y, re * vectors[y] + im * vectors[x])}) {
                stretched[to] = value;
              }
              stretched[x + static_cast<std::size_t>(size)] = -stretched[y];
              stretched[y + static_cast<std::size_t>(size)] = stretched[x];
              const auto other = static_cast<std::size_t>(2 * (i * size + row));
              nearest = std::min(nearest, std::hypot(on_host[0].values[other] - re, on_host[0].values[other + 1] - im));
              nearest_alone =
                  std::min(nearest_alone, std::hypot(values[0].values[other] - re, values[0].values[other + 1] - im));
            }
            CHECK(squares == doctest::Approx(1).epsilon(tolerance));
            if (i == 1) continue;  // what is nearly defective moves far by roundings
            CHECK(nearest <= 100 * tolerance);
            CHECK(nearest_alone <= 100 * tolerance);
          }
          CHECK(distance(product(whole, vectors, 2 * size, 2 * size), stretched) <= tolerance);
        }
        for (std::int64_t k = 0; k < 2 * size; ++k) {
          CHECK(std::isnan(eigen[0].values[static_cast<std::size_t>(2 * 4 * size + k)]));
        }
      }
      CHECK(on(*device, OpId::eig, {}, {scattered(dtype, {2, 0, 0})})[1].values.empty());
      CHECK(on(*device, OpId::eigvals, {}, {scattered(dtype, {0, 3, 3})})[0].values.empty());
    }
  }
}

TEST_CASE("eigenvalues, singular values, pseudo-inverses and exponentials are those of the CPU on OpenCL") {
  std::vector<Step> steps;
  for (const DType dtype : {DType::f32, DType::f64, DType::c64, DType::c128}) {
    const DType part = real_type(dtype);
    const double tolerance = 10 * rounding(part);
    for (const auto& [rows, columns] :
         {std::pair<std::int64_t, std::int64_t>{0, 0}, {1, 1}, {3, 0}, {5, 5}, {6, 6}, {20, 7}, {7, 20}, {40, 40}}) {
      if (too_large(rows, columns)) continue;
      const HostTensor a = scattered(dtype, {2, rows, columns});
      steps.push_back({OpId::svdvals, {}, {a}, tolerance});
      steps.push_back({OpId::pinv, {}, {a, HostTensor::of(part, {}, {1e-4})}, 30 * tolerance});
      steps.push_back({OpId::pinv, {}, {a, HostTensor::of(part, {}, {0.3})}, 30 * tolerance});
      if (rows != columns) continue;
      steps.push_back({OpId::eigvalsh, {}, {a}, tolerance});
      if (is_complex(dtype)) continue;
      // Each degree of the approximation, and squarings.
      for (const double factor : {0.001, 0.02, 0.08, 0.3, 1.0}) {
        HostTensor scaled = a;
        for (double& value : scaled.values) value = rounded(dtype, value * factor);
        steps.push_back({OpId::expm, {}, {scaled}, tolerance});
      }
    }
    // What is not finite, next to what is very large or small.
    HostTensor hard = scattered(dtype, {4, 5, 5});
    const std::size_t each = is_complex(dtype) ? 50 : 25;
    for (std::size_t i = each; i < 2 * each; ++i) hard.values[i] *= part == DType::f64 ? 1e200 : 1e25;
    for (std::size_t i = 3 * each; i < 4 * each; ++i) hard.values[i] *= part == DType::f64 ? 1e-200 : 1e-25;
    for (double& value : hard.values) value = rounded(dtype, value);
    hard.values[2 * each + 10] = NAN;
    for (const OpId op : {OpId::eigvalsh, OpId::svdvals, OpId::svd, OpId::eigh}) {
      if (op == OpId::eigvalsh || op == OpId::svdvals) steps.push_back({op, {}, {hard}, tolerance});
      const Attributes attributes = op == OpId::svd ? Attributes(core::AxisAttributes{}) : Attributes();
      steps.push_back({op, attributes, {scattered(dtype, {0, 4, 4})}, tolerance});
      steps.push_back({op, attributes, {scattered(dtype, {2, 0, 0})}, tolerance});
    }
  }
  check(steps);
}

TEST_CASE("draws are those of the CPU on OpenCL") {
  std::vector<Step> steps;
  const HostTensor key = HostTensor::of_integers(DType::i64, {2}, {12345678901, 7});
  const auto draw = [&](OpId op, DType dtype, double first, double second) {
    steps.push_back({op, core::RandomAttributes{{70}, dtype, 3, first, second}, {key}, is_floating(dtype) ? 1e-6 : 0});
  };
  draw(OpId::random_integers, DType::i32, -5, 90);
  draw(OpId::random_integers, DType::i64, -9e18, 9e18);
  draw(OpId::random_permutation, DType::i64, 0, 0);
  for (const DType dtype : {DType::f32, DType::f64}) {
    draw(OpId::random_exponential, dtype, 2, 0);
    draw(OpId::random_truncated_normal, dtype, 1, 2);
    draw(OpId::random_gamma, dtype, 0.4, 2);
    draw(OpId::random_gamma, dtype, 3, 1);
  }
  check(steps);
}

TEST_CASE("an index outside its axis is reported when the host waits, once, on OpenCL") {
  for (OpenClDevice* device : both_styles()) {
    const Step step{OpId::take,
                    core::AxisAttributes{0},
                    {numbers(DType::f32, {3}), HostTensor::of_integers(DType::i64, {2}, {1, 7})}};
    CHECK_THROWS_WITH_AS(run_step(*device, step.op, step.attributes, step.inputs, {{{DType::f32, {2}}}}),
                         "take: index 7 is outside an axis of length 3; it must lie in [-3, 2]", IndexError);
    device->synchronise();
  }
}

TEST_CASE("a part that lies in its place already is not copied on OpenCL") {
  for (OpenClDevice* device : both_styles()) {
    const Attributes attributes = core::AxisAttributes{0};
    const std::vector<core::Operand> in = {{DType::f32, View::dense({4})}, {DType::f32, View::dense({4})}};
    const core::Operand out{DType::f32, View::dense({8})};
    const auto kernel = device->prepare({OpId::concat, &attributes, in, {&out, 1}});
    const std::vector<float> before = {1, 2, 3, 4, 0, 0, 0, 0, 5, 6, 7, 8};
    const core::BufferRef buffer = device->allocate(48);
    device->copy_in(buffer->at(0), before.data(), 48);
    const core::Address whole{buffer->memory(), 0}, apart{buffer->memory(), 32};
    const std::vector<core::Address> from = {whole, apart};
    kernel->launch(from, {&whole, 1}, {});
    std::vector<float> after(8);
    device->copy_out(after.data(), buffer->at(0), 32);
    CHECK(after == std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8});
  }
}

}  // namespace opencl_families_test

#endif
