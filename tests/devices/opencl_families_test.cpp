// SPDX-License-Identifier: MIT
// Every family of OpenCL kernels beside loops, products in both styles, against the CPU's kernels, which the goldens
// check.
#if defined(TYTO_HAVE_OPENCL)

#include <doctest/doctest.h>

#include <cmath>

#include "core/graph/op_ids.hpp"
#include "tests/devices/opencl_steps.hpp"
#include "tyto/error.hpp"

namespace opencl_families_test {

using namespace tyto;
using namespace tyto::opencl;
using namespace tyto::opencl::test;
using core::Attributes;
using core::OpId;
using core::View;

namespace {

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
  // Channels that fill vectors, rows of them side by side, and kernels that are transposed in registers.
  for (const DType dtype : {f32, DType::f64}) {
    add_convolution(steps, dtype, windows({3, 6, 5, 16}, {3, 3, 16, 32}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1));
    add_convolution(steps, dtype, windows({2, 5, 6, 24}, {3, 2, 24, 70}, {1, 2}, {1, 1}, {1, 0}, {1, 1}, 1));
    add_convolution(steps, dtype, windows({2, 4, 5, 32}, {3, 3, 16, 64}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 2));
  }
  // More padding than the kernel reaches, which crops the gradient.
  add_convolution(steps, f32, windows({2, 4, 5, 3}, {2, 2, 3, 4}, {1, 1}, {1, 1}, {3, 2}, {0, 3}, 1));
  check_in_both_styles(steps);
}

TEST_CASE("convolutions of several bands, of images and of parts of them, on OpenCL") {
  const DType f32 = DType::f32;
  std::vector<Step> steps;
  add_convolution(steps, f32, windows({5, 12, 11, 8}, {3, 3, 8, 20}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1));
  add_convolution(steps, f32, windows({40, 4, 4, 16}, {3, 3, 16, 16}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1));
  add_convolution(steps, f32, windows({34, 8, 8, 3}, {3, 3, 3, 16}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1));
  add_convolution(steps, f32, windows({2, 40, 30, 4}, {5, 3, 4, 7}, {2, 1}, {1, 2}, {2, 2}, {2, 2}, 1));
  add_convolution(steps, DType::f16, windows({1, 9, 60, 4}, {3, 3, 4, 7}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1));
  add_convolution(steps, DType::i32, windows({3, 70, 5}, {4, 5, 6}, {1}, {2}, {3}, {3}, 1));
  add_convolution(steps, f32,
                  windows({2, 7, 9, 8, 6}, {3, 3, 3, 6, 10}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, 1));
  // Sums longer than a block of the panel.
  add_convolution(steps, f32, windows({2, 6, 6, 70}, {3, 3, 70, 40}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1));
  check_in_both_styles(steps);
}

TEST_CASE("gradients of convolutions whose strides leave gaps, on OpenCL") {
  const DType f32 = DType::f32;
  std::vector<Step> steps;
  add_convolution(steps, f32, windows({4, 16, 16, 16}, {3, 3, 16, 32}, {2, 2}, {1, 1}, {0, 1}, {1, 0}, 1));
  add_convolution(steps, f32, windows({2, 9, 8, 4}, {1, 1, 4, 6}, {2, 3}, {1, 1}, {0, 0}, {0, 0}, 1));
  // Windows side by side, with positions left over that no window sees; then with gaps between them.
  add_convolution(steps, f32, windows({2, 11, 8, 3}, {4, 2, 3, 20}, {4, 2}, {1, 1}, {0, 0}, {0, 0}, 1));
  add_convolution(steps, f32, windows({2, 13, 9, 3}, {2, 1, 3, 5}, {5, 3}, {1, 1}, {1, 0}, {0, 1}, 1));
  // Taps that a stride meets in steps of their own.
  add_convolution(steps, f32, windows({2, 20, 15, 4}, {3, 5, 2, 6}, {2, 2}, {2, 3}, {1, 4}, {2, 3}, 2));
  add_convolution(steps, DType::f16, windows({2, 30, 4}, {7, 4, 6}, {6}, {4}, {5}, {9}, 1));
  add_convolution(steps, DType::f64,
                  windows({1, 6, 7, 5, 3}, {3, 2, 3, 3, 4}, {2, 2, 1}, {1, 1, 1}, {1, 0, 1}, {1, 1, 1}, 1));
  check_in_both_styles(steps);
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
  check_in_both_styles(steps);
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

TEST_CASE("upsampling an axis whose length squared is more than 2^31 on OpenCL") {
  constexpr std::int64_t length = 40000;
  core::WindowAttributes scale;
  scale.window = {2, 1};
  std::vector<Step> steps;
  for (const auto& [forward, backward] : {std::pair(OpId::upsample_nearest, OpId::upsample_nearest_gradient),
                                          std::pair(OpId::upsample_bilinear, OpId::upsample_bilinear_gradient)}) {
    steps.push_back({forward, scale, {numbers(DType::f32, {1, length, 1, 1})}, 1e-6});
    steps.push_back({backward, shaped(scale, {1, length, 1, 1}), {numbers(DType::f32, {1, 2 * length, 1, 1})}, 1e-6});
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
  for (const DType dtype : {DType::u8, DType::i8, DType::u16, DType::i32, DType::u64, DType::i64}) {
    const HostTensor small = HostTensor::of_integers(dtype, {2, 3}, {0, 4, 9, 3, 1, 2});
    steps.push_back({OpId::check_bounds, core::BoundsAttributes{.low = 0, .high = 9}, {small}});
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
      steps.push_back({OpId::cumsum, core::ScanAttributes{axis, axis == 1, axis == 2}, {x}, rounding(dtype)});
      steps.push_back({OpId::cumprod, core::ScanAttributes{axis, false, axis == 1}, {x}, rounding(dtype)});
      steps.push_back({OpId::cummin, core::ScanAttributes{axis, false, axis == 0}, {x}});
      steps.push_back({OpId::cummax, core::ScanAttributes{axis}, {x}});
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
      steps.push_back({OpId::argsort, core::SortAttributes{1, descending}, {x}});
      steps.push_back({OpId::sort, core::SortAttributes{2, descending}, {x}});
      steps.push_back({OpId::topk, core::TopkAttributes{1, 7, descending}, {x}});
    }
    HostTensor line = spread(dtype, {9}, -8, 8);
    std::sort(line.values.begin(), line.values.end());
    std::sort(line.integers.begin(), line.integers.end());
    steps.push_back({OpId::searchsorted, core::SearchAttributes{false}, {line, x}});
    steps.push_back({OpId::searchsorted, core::SearchAttributes{true}, {line, x}});
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
  if (OpenClDevice* const device = gpu_style()) {
    const Step step{OpId::take,
                    core::AxisAttributes{0},
                    {numbers(DType::f32, {3}), HostTensor::of_integers(DType::i64, {2}, {1, 7})}};
    CHECK_THROWS_WITH_AS(run_step(*device, step.op, step.attributes, step.inputs, {{{DType::f32, {2}}}}),
                         "take: index 7 is outside an axis of length 3; it must lie in [-3, 2]", IndexError);
    device->synchronise();
  }
}

TEST_CASE("a value out of bounds is told by whoever named them on OpenCL") {
  if (OpenClDevice* const device = gpu_style()) {
    for (const char* caller : {"nll", "Embedding"}) {
      const Step step{OpId::check_bounds,
                      core::BoundsAttributes{-2, 4, caller, "index", "rows"},
                      {HostTensor::of_integers(DType::i32, {3}, {1, -2, -3})}};
      const std::string message = std::string(caller) + ": index -3 is out of range; the rows are -2 to 4";
      CHECK_THROWS_WITH_AS(run_step(*device, step.op, step.attributes, step.inputs, {{{DType::i32, {3}}}}),
                           message.c_str(), IndexError);
      device->synchronise();
    }
  }
}

TEST_CASE("a part that lies in its place already is not copied on OpenCL") {
  if (OpenClDevice* const device = gpu_style()) {
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
