// SPDX-License-Identifier: MIT
// The gradient of a convolution by its kernel in f32 and f64: patches of a few hundred pixels against their gradients.
//
// Rows of the product are (tap, input channel), its inner dimension runs over pixels. Members take disjoint blocks of
// rows and copy the patches of just those rows, so that nobody waits and the result does not depend on the team.
#include <algorithm>

#include "devices/cpu/products/convolution/convolution_routine.hpp"
#include "devices/cpu/products/tile/panel_product.hpp"
#include "devices/cpu/system/machine.hpp"

namespace tyto::cpu {

namespace {

constexpr std::int64_t most_rows = 240;    // of a block: with its pixels it fills a quarter of a 1 MB L2
constexpr std::int64_t most_pixels = 256;  // of a patch block

template <class T>
class KernelGradient final : public ConvolutionRoutine {
 public:
  KernelGradient(const ConvolutionProblem& problem, const KernelChoice& choice)
      : g_(problem), set_(choice.set()), threads_(convolution_threads(problem, choice, machine::tile_operations)) {
    rows_ = g_.taps() * g_.group_in();
    pixels_ = g_.batch * product_of(g_.output);
    const std::int64_t fair = (rows_ * g_.groups + threads_ - 1) / threads_;
    block_rows_ =
        std::clamp<std::int64_t>((std::min(fair, rows_) + tile_rows - 1) / tile_rows * tile_rows, tile_rows, most_rows);
    block_pixels_ = std::clamp<std::int64_t>(pixels_, 1, most_pixels);
    layout_ = {g_.group_out(), tiles<T>(set_).lanes, tiles<T>(set_).width()};
    const auto members = static_cast<std::size_t>(threads_);
    patches_ = space_.reserve_each(members, static_cast<std::size_t>(block_rows_ * block_pixels_) * sizeof(T),
                                   patches_stride_);
    panels_ = space_.reserve_each(members, static_cast<std::size_t>(layout_.width * block_pixels_) * sizeof(T),
                                  panels_stride_);
  }

  void run(const ConvolutionArguments& arguments) const override {
    if (g_.kernel_elements() == 0) return;
    const std::int64_t blocks = (rows_ + block_rows_ - 1) / block_rows_;
    run_team(threads_, [&](Team team) {
      const Range mine = share(blocks * g_.groups, team.member, team.size);
      const auto member = static_cast<std::size_t>(team.member);
      for (std::int64_t job = mine.begin; job < mine.end; ++job) {
        const Range rows = share(rows_, job % blocks, blocks, tile_rows);
        multiply(arguments, job / blocks, rows, at<T>(arguments.workspace, patches_ + member * patches_stride_),
                 at<T>(arguments.workspace, panels_ + member * panels_stride_));
      }
    });
  }

  const char* name() const noexcept override { return own_code_of(set_); }

 private:
  void multiply(const ConvolutionArguments& arguments, std::int64_t group, Range rows, T* patches,
                T* packed) const noexcept {
    if (rows.size() == 0) return;
    const T* input = static_cast<const T*>(arguments.input) + group * g_.group_in();
    const T* gradient = static_cast<const T*>(arguments.output_gradient) + group * g_.group_out();
    T* result = static_cast<T*>(arguments.result) + group * g_.group_out();
    const TileSet<T>& set = tiles<T>(set_);
    const std::int64_t steps = std::max<std::int64_t>(1, (pixels_ + block_pixels_ - 1) / block_pixels_);
    for (std::int64_t step = 0; step < steps; ++step) {
      const Range pixels = share(pixels_, step, steps);
      copy_patches(input, rows, pixels, patches);
      for (std::int64_t panel = 0; panel < layout_.count(); ++panel) {
        const std::int64_t columns = layout_.columns_of(panel), pitch = layout_.pitch_of(panel);
        TileArguments<T> t;
        t.segments = 1;
        t.steps = pixels.size();
        t.row_step = rows.size();
        // Where gradients lie, the rows of a panel are as far apart as pixels, at a power of two for most networks, and
        // would push one another out of the first-level cache.
        const PanelSource<T> source{gradient + pixels.begin * g_.out_channels, nullptr, g_.out_channels, 1};
        pack_panel(layout_, {0, 1, 0, pixels.size(), 0}, panel, source, packed);
        t.b = packed;
        t.b_step = pitch;
        t.c = result + panel * layout_.width;
        t.columns = static_cast<int>(columns);
        t.accumulate = step > 0;
        for (std::int64_t row = rows.begin; row < rows.end; row += tile_rows) {
          const std::int64_t count = std::min<std::int64_t>(tile_rows, rows.end - row);
          const T* addresses[tile_rows];
          std::int64_t offsets[tile_rows];
          for (std::int64_t r = 0; r < count; ++r) {
            addresses[r] = patches + (row - rows.begin + r);
            offsets[r] = (row + r) * g_.out_channels;
          }
          t.rows = addresses;
          t.c_offsets = offsets;
          set.tile[count - 1][pitch / layout_.lanes - 1](t);
        }
      }
    }
  }

  // patches[pixel][row]: what lies under each (tap, channel) of the block for each pixel; zeros outside the input.
  void copy_patches(const T* input, Range rows, Range pixels, T* patches) const noexcept {
    const std::int64_t channels = g_.group_in();
    for (std::int64_t pixel = pixels.begin; pixel < pixels.end; ++pixel) {
      std::int64_t rest = pixel;
      const std::int64_t x = rest % g_.output[2] * g_.stride[2] - g_.before[2];
      rest /= g_.output[2];
      const std::int64_t y = rest % g_.output[1] * g_.stride[1] - g_.before[1];
      rest /= g_.output[1];
      const std::int64_t z = rest % g_.output[0] * g_.stride[0] - g_.before[0], image = rest / g_.output[0];
      std::int64_t tap = rows.begin / channels, channel = rows.begin % channels;
      std::int64_t kx = tap % g_.kernel[2], ky = tap / g_.kernel[2] % g_.kernel[1],
                   kz = tap / (g_.kernel[2] * g_.kernel[1]);
      for (std::int64_t row = rows.begin; row < rows.end;) {
        const std::int64_t length = std::min(channels - channel, rows.end - row);
        const std::int64_t iz = z + kz * g_.dilation[0], iy = y + ky * g_.dilation[1], ix = x + kx * g_.dilation[2];
        const bool there = iz >= 0 && iz < g_.input[0] && iy >= 0 && iy < g_.input[1] && ix >= 0 && ix < g_.input[2];
        if (there) {
          const std::int64_t at = (((image * g_.input[0] + iz) * g_.input[1] + iy) * g_.input[2] + ix) * g_.in_channels;
          std::copy_n(input + at + channel, length, patches);
        } else {
          std::fill_n(patches, length, T(0));
        }
        patches += length;
        row += length;
        channel = 0;
        if (++kx == g_.kernel[2]) {
          kx = 0;
          if (++ky == g_.kernel[1]) ky = 0, ++kz;
        }
      }
    }
  }

  Geometry g_;
  InstructionSet set_;
  int threads_;
  std::int64_t rows_ = 0, pixels_ = 0, block_rows_ = 0, block_pixels_ = 0;
  PanelLayout layout_;
  std::size_t patches_ = 0, patches_stride_ = 0, panels_ = 0, panels_stride_ = 0;
};

}  // namespace

std::unique_ptr<ConvolutionRoutine> prepare_kernel_gradient(const ConvolutionProblem& problem,
                                                            const KernelChoice& choice) {
  if (problem.dtype == DType::f64) return std::make_unique<KernelGradient<double>>(problem, choice);
  return std::make_unique<KernelGradient<float>>(problem, choice);
}

}  // namespace tyto::cpu
