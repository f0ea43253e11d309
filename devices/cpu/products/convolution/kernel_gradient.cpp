// SPDX-License-Identifier: MIT
// The gradient of a convolution by its kernel in f32 and f64: a few hundred pixels at a time against their gradients.
//
// Rows of the product are (tap, input channel), its inner dimension runs over pixels. Members take disjoint blocks of
// rows and copy the pixels of just those rows, so that nobody waits and the result does not depend on the team: padded
// lines, which all taps share, or what lies under each tap.
#include <algorithm>

#include "devices/cpu/products/convolution/convolution_routine.hpp"
#include "devices/cpu/products/tile/panel_product.hpp"
#include "devices/cpu/system/machine.hpp"

namespace tyto::cpu {

namespace {

constexpr std::int64_t most_rows = 384;          // of a block: its sums and pixels lie in L2
constexpr std::int64_t most_pixels = 256;        // of a block
constexpr std::int64_t least_pixels = 64;        // of a block of lines: sums are read and written once a block
constexpr std::int64_t least_width = 8;          // pixels of a line that take longer than the addresses of its rows
constexpr std::int64_t most_rows_in_place = 72;  // that read gradients where they lie faster than a copy is made

std::int64_t parts_of(std::int64_t whole, std::int64_t part) noexcept { return (whole + part - 1) / part; }

template <class T>
class KernelGradient final : public ConvolutionRoutine {
 public:
  KernelGradient(const ConvolutionProblem& problem, const KernelChoice& choice)
      : g_(problem), set_(choice.set()), threads_(convolution_threads(problem, choice, machine::tile_operations)) {
    if (g_.kernel_elements() == 0) return;
    rows_ = g_.taps() * g_.group_in();
    pixels_ = g_.batch * product_of(g_.output);
    plan_blocks();
    layout_ = {g_.group_out(), tiles<T>(set_).lanes, tiles<T>(set_).width()};
    plan_lines();
    block_pixels_ = by_lines_ ? lines_ * width_ : std::clamp<std::int64_t>(pixels_, 1, most_pixels);
    const auto members = static_cast<std::size_t>(threads_);
    const std::int64_t patch = by_lines_ ? lines_ * line_elements() : block_rows_ * block_pixels_;
    patches_ = space_.reserve_each(members, static_cast<std::size_t>(patch) * sizeof(T), patches_stride_);
    tables_ = space_.reserve_each(members, static_cast<std::size_t>(block_rows_) * sizeof(T*), tables_stride_);
    shifts_ = space_.reserve_each(members, static_cast<std::size_t>(lines_) * sizeof(std::int64_t), shifts_stride_);
    panels_ = space_.reserve_each(members, static_cast<std::size_t>(layout_.width * block_pixels_) * sizeof(T),
                                  panels_stride_);
  }

  void run(const ConvolutionArguments& arguments) const override {
    if (g_.kernel_elements() == 0) return;
    run_team(threads_, [&](Team team) {
      const Range mine = share(blocks_ * g_.groups, team.member, team.size);
      const auto member = static_cast<std::size_t>(team.member);
      for (std::int64_t job = mine.begin; job < mine.end; ++job) {
        const Range rows = share(rows_, job % blocks_, blocks_, tile_rows);
        multiply(arguments, job / blocks_, rows, at<T>(arguments.workspace, patches_ + member * patches_stride_),
                 at<T>(arguments.workspace, panels_ + member * panels_stride_),
                 at<const T*>(arguments.workspace, tables_ + member * tables_stride_),
                 at<std::int64_t>(arguments.workspace, shifts_ + member * shifts_stride_));
      }
    });
  }

  const char* name() const noexcept override { return own_code_of(set_); }

 private:
  // Blocks are whole kernel lines, or even parts of one, and as many for each member.
  void plan_blocks() {
    const std::int64_t lines = g_.kernel[0] * g_.kernel[1], rows = line_rows();
    const std::int64_t tiles = parts_of(rows_, tile_rows);
    const std::int64_t least = parts_of(rows, most_rows) * parts_of(lines, std::max<std::int64_t>(most_rows / rows, 1));
    blocks_ = least;
    while (blocks_ * g_.groups % threads_ != 0 && blocks_ < tiles) blocks_ += least;
    blocks_ = std::min(blocks_, tiles);
    block_rows_ = parts_of(tiles, blocks_) * tile_rows;
    const bool within_lines = tiles % blocks_ == 0 && rows % block_rows_ == 0;
    kernel_lines_ = within_lines ? 1 : std::min((block_rows_ - 2) / rows + 2, lines);
  }

  std::int64_t line_rows() const noexcept { return g_.kernel[2] * g_.group_in(); }

  // Lines of the output, or parts of long ones, whose pixels make a block.
  void plan_lines() {
    const auto element = static_cast<std::int64_t>(sizeof(T));
    const bool copies_few = g_.groups == 1 || g_.in_channels * element <= machine::cache_line;
    if (!copies_few || g_.output[2] < least_width || pixels_ == 0) return;
    line_parts_ = parts_of(g_.output[2], most_pixels);
    width_ = parts_of(g_.output[2], line_parts_);
    reach_ = (width_ - 1) * g_.stride[2] + (g_.kernel[2] - 1) * g_.dilation[2] + 1;
    // The order of sums depends on how many lines a block has, so these must not depend on the team.
    const std::int64_t most_lines = std::min(most_rows / line_rows() + 2, g_.kernel[0] * g_.kernel[1]);
    const std::int64_t fitting = machine::second_level_cache / 4 / (most_lines * reach_ * g_.in_channels * element);
    lines_ = std::max<std::int64_t>(std::min({fitting, most_pixels / width_, pixels_ / g_.output[2]}), 1);
    by_lines_ = fitting > 0 && lines_ * width_ >= std::min(least_pixels, pixels_);
    if (!by_lines_) lines_ = 1;
  }

  // Elements of the input under one line of the output.
  std::int64_t line_elements() const noexcept { return kernel_lines_ * reach_ * g_.in_channels; }

  void multiply(const ConvolutionArguments& arguments, std::int64_t group, Range rows, T* patches, T* packed,
                const T** table, std::int64_t* shifts) const noexcept {
    if (rows.size() == 0) return;
    const T* input = static_cast<const T*>(arguments.input);
    const T* gradient = static_cast<const T*>(arguments.output_gradient) + group * g_.group_out();
    T* result = static_cast<T*>(arguments.result) + group * g_.group_out();
    const TileSet<T>& set = tiles<T>(set_);
    for (std::int64_t row = 0; row < rows.size(); ++row) {
      const std::int64_t tap = (rows.begin + row) / g_.group_in(), channel = (rows.begin + row) % g_.group_in();
      const std::int64_t pixel =
          (tap / g_.kernel[2] - rows.begin / line_rows()) * reach_ + tap % g_.kernel[2] * g_.dilation[2];
      table[row] = patches + (by_lines_ ? pixel * g_.in_channels + group * g_.group_in() + channel : row);
    }
    const std::int64_t lines = by_lines_ ? pixels_ / g_.output[2] : 0;
    const std::int64_t steps =
        by_lines_ ? parts_of(lines, lines_) * line_parts_ : std::max<std::int64_t>(1, parts_of(pixels_, block_pixels_));
    for (std::int64_t step = 0; step < steps; ++step) {
      Range pixels = share(pixels_, step, steps);
      TileArguments<T> t;
      if (by_lines_) {
        const Range these = share(lines, step / line_parts_, steps / line_parts_);
        const Range along = share(g_.output[2], step % line_parts_, line_parts_);
        copy_lines(input, {rows.begin / line_rows(), (rows.end - 1) / line_rows() + 1}, these, along.begin, patches,
                   shifts);
        t.shifts = shifts;
        pixels.begin = these.begin * g_.output[2] + along.begin;
        pixels.end = pixels.begin + these.size() * along.size();
        t.segments = these.size();
        t.steps = along.size();
        t.row_step = g_.stride[2] * g_.in_channels;
      } else {
        copy_patches(input + group * g_.group_in(), rows, pixels, patches);
        t.segments = 1;
        t.steps = pixels.size();
        t.row_step = rows.size();
      }
      for (std::int64_t panel = 0; panel < layout_.count(); ++panel) {
        const std::int64_t columns = layout_.columns_of(panel), pitch = layout_.pitch_of(panel);
        t.b = gradient + pixels.begin * g_.out_channels + panel * layout_.width;
        t.b_step = g_.out_channels;
        // Where gradients lie, the rows of a panel are as far apart as pixels, at a power of two for most networks, and
        // push one another out of the first-level cache: operands that many tiles read are worth a copy.
        if (pitch != columns || (pitch != g_.out_channels && rows.size() > most_rows_in_place)) {
          const PanelSource<T> source{gradient + pixels.begin * g_.out_channels, nullptr, g_.out_channels, 1};
          pack_panel(layout_, {0, 1, 0, pixels.size(), 0}, panel, source, packed);
          t.b = packed;
          t.b_step = pitch;
        }
        t.c = result + panel * layout_.width;
        t.columns = static_cast<int>(columns);
        t.accumulate = step > 0;
        const std::int64_t vectors = pitch / layout_.lanes;
        int count = 0;
        for (std::int64_t row = 0; row < rows.size(); row += count) {
          count = set.rows_of_tile(rows.size() - row, vectors);
          std::int64_t offsets[most_tile_rows];
          for (int r = 0; r < count; ++r) offsets[r] = (rows.begin + row + r) * g_.out_channels;
          t.rows = table + row;
          t.c_offsets = offsets;
          set.multiply(t, count, vectors);
        }
      }
    }
  }

  // copies[line][pixel][channel] of the input under lines of the output, zeros outside; pixels begin under output pixel
  // x. Lines of a picture share what lies under several of them; shifts say where the copies for each begin.
  void copy_lines(const T* input, Range kernel_lines, Range lines, std::int64_t x, T* copies,
                  std::int64_t* shifts) const noexcept {
    const std::int64_t left = x * g_.stride[2] - g_.before[2], elements = reach_ * g_.in_channels;
    const bool shares = g_.kernel[0] == 1 && g_.dilation[1] == 1 && g_.stride[1] < kernel_lines.size();
    std::int64_t copied = 0;
    for (std::int64_t line = lines.begin; line < lines.end; ++line) {
      const std::int64_t y = line % g_.output[1] * g_.stride[1] - g_.before[1], rest = line / g_.output[1];
      const std::int64_t z = rest % g_.output[0] * g_.stride[0] - g_.before[0], image = rest / g_.output[0];
      const bool goes_on = shares && line != lines.begin && line % g_.output[1] != 0;
      const std::int64_t shared = goes_on ? kernel_lines.size() - g_.stride[1] : 0;
      shifts[line - lines.begin] = (copied - shared) * elements;
      for (std::int64_t at = kernel_lines.begin + shared; at < kernel_lines.end; ++at) {
        const std::int64_t iz = z + at / g_.kernel[1] * g_.dilation[0], iy = y + at % g_.kernel[1] * g_.dilation[1];
        const bool there = iz >= 0 && iz < g_.input[0] && iy >= 0 && iy < g_.input[1];
        const std::int64_t source = ((image * g_.input[0] + iz) * g_.input[1] + iy) * g_.input[2];
        copy_padded(there ? input + source * g_.in_channels : nullptr, g_.input[2], g_.in_channels, left, reach_,
                    g_.in_channels, copies + copied++ * elements);
      }
    }
  }

  // patches[pixel][row]: the input under each (tap, channel) of the block for each pixel; zeros outside.
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
  std::int64_t rows_ = 0, pixels_ = 0, blocks_ = 1, block_rows_ = 0, block_pixels_ = 0;
  bool by_lines_ = false;
  std::int64_t kernel_lines_ = 1;            // most that a block of rows touches
  std::int64_t lines_ = 1, line_parts_ = 1;  // of the output: most in a block, and parts of each
  std::int64_t width_ = 0, reach_ = 0;       // pixels of a part, and of the input under it
  PanelLayout layout_;
  std::size_t patches_ = 0, patches_stride_ = 0, panels_ = 0, panels_stride_ = 0, tables_ = 0, tables_stride_ = 0,
              shifts_ = 0, shifts_stride_ = 0;
};

}  // namespace

std::unique_ptr<ConvolutionRoutine> prepare_kernel_gradient(const ConvolutionProblem& problem,
                                                            const KernelChoice& choice) {
  if (problem.dtype == DType::f64) return std::make_unique<KernelGradient<double>>(problem, choice);
  return std::make_unique<KernelGradient<float>>(problem, choice);
}

}  // namespace tyto::cpu
