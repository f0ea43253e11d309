// SPDX-License-Identifier: MIT
// Convolutions in f32 and f64, forward and by the input, as products of addressed pixels with packed weights.
//
// The register tile takes the addresses of the pixels under each tap, and of a row of zeros for padding; where pixels
// have few channels, lines are copied with their padding, in which a tap is a shift that all pixels share. By the
// input, pixels are taken by their remainder modulo the stride, so that each remainder (a phase) meets just the taps
// that reach it.
#include <algorithm>

#include "core/value/text.hpp"
#include "devices/cpu/device/workspace.hpp"
#include "devices/cpu/products/convolution/convolution_routine.hpp"
#include "devices/cpu/products/tile/panel_product.hpp"
#include "devices/cpu/system/machine.hpp"

namespace tyto::cpu {

namespace {

struct Tap {
  Extents shift;       // source coordinate minus source_step times grid coordinate
  std::int64_t delta;  // the same as an offset in source elements
};

// A grid of target pixels that all meet the same taps.
template <class T>
struct Phase {
  Extents count{}, target_origin{}, target_step{}, source_step{};
  std::vector<Tap> taps;
  std::vector<std::int64_t> kernel_offsets;  // of each tap in the dense kernel
  Extents least_shift{}, greatest_shift{};
  bool copies = false;               // lines of the source, with padding
  std::int64_t line_pixels = 0;      // of a copied line
  std::vector<std::int64_t> shifts;  // of each tap within the copies
  PanelProduct<T> product;
  std::int64_t packed_before = 0;  // elements of the phases before it
};

template <class T>
class PanelConvolution final : public ConvolutionRoutine {
 public:
  PanelConvolution(const ConvolutionProblem& problem, const KernelChoice& choice)
      : problem_(problem),
        g_(problem),
        set_(choice.set()),
        threads_(convolution_threads(problem, choice, machine::tile_operations)),
        forward_(problem.pass == ConvolutionPass::forward) {
    source_ = forward_ ? g_.input : g_.output;
    target_ = forward_ ? g_.output : g_.input;
    source_channels_ = forward_ ? g_.in_channels : g_.out_channels;
    target_channels_ = forward_ ? g_.out_channels : g_.in_channels;
    target_pitch_ = forward_ ? g_.result_pitch : g_.in_channels;
    one_to_one_ = g_.taps() == 1 && g_.stride == Extents{1, 1, 1} && g_.input == g_.output && g_.before == Extents{} &&
                  g_.kernel_elements() > 0;
    if (batch_and_target() > 0) {
      if (forward_) {
        plan_forward();
      } else {
        plan_by_input();
      }
    }
    zeros_.assign(static_cast<std::size_t>(std::max<std::int64_t>(run_length(), 1)), T(0));

    std::size_t table_bytes = 0, copy_bytes = 0;
    for (const Phase<T>& phase : phases_) {
      table_bytes = std::max(table_bytes, phase.product.table_bytes());
      if (phase.copies) copy_bytes = std::max(copy_bytes, bytes_of_copies(phase));
    }
    const auto members = static_cast<std::size_t>(threads_);
    // Phases have about as many rows each: panels are packed on the fly in all of them or in none.
    on_the_fly_ = !phases_.empty() && std::all_of(phases_.begin(), phases_.end(),
                                                  [](const Phase<T>& phase) { return phase.product.packs_on_the_fly; });
    std::int64_t scratch = 0;
    for (Phase<T>& phase : phases_) {
      phase.product.packs_on_the_fly = on_the_fly_;
      if (on_the_fly_) scratch = std::max(scratch, phase.product.panel_elements());
    }
    packed_ = space_.reserve(problem.packed_kernel || on_the_fly_ ? 0 : packed_size());
    scratch_ = space_.reserve_each(members, static_cast<std::size_t>(scratch) * sizeof(T), scratch_stride_);
    tables_ = space_.reserve_each(members, table_bytes, tables_stride_);
    copies_ = space_.reserve_each(members, copy_bytes, copies_stride_);
    if (problem.packed_kernel) packed_space_.reserve(packed_size());
  }

  void pack(const void* kernel, void* packed) const override {
    run_team(threads_, [&](Team team) { pack_share(static_cast<const T*>(kernel), static_cast<T*>(packed), team); });
  }

  std::string packed_layout() const override { return core::text(name(), " by ", run_length()); }

  void run(const ConvolutionArguments& arguments) const override {
    if (batch_and_target() == 0) return;
    const T* source = static_cast<const T*>(forward_ ? arguments.input : arguments.output_gradient);
    T* target = static_cast<T*>(arguments.result);
    run_team(threads_, [&](Team team) {
      with_part_loop(arguments.loop, [&](const PartLoop& loop) { run_share(arguments, source, target, team, loop); });
    });
  }

  bool takes_loop() const noexcept override { return forward_ && target_pitch_ == target_channels_; }

  const char* name() const noexcept override { return own_code_of(set_); }

 private:
  void run_share(const ConvolutionArguments& arguments, const T* source, T* target, Team team,
                 const PartLoop& loop) const noexcept {
    const T* kernel = static_cast<const T*>(arguments.kernel);
    const T* packed = kernel;
    if (!problem_.packed_kernel && !on_the_fly_) {
      T* place = at<T>(arguments.workspace, packed_);
      pack_share(kernel, place, team);
      packed = place;
      team.barrier();
    }
    const auto member = static_cast<std::size_t>(team.member);
    T* copies = at<T>(arguments.workspace, copies_ + member * copies_stride_);
    for (std::int64_t group = 0; group < g_.groups; ++group) {
      const std::int64_t first_in = group * source_channels_ / g_.groups,
                         first_out = group * target_channels_ / g_.groups;
      Epilogue<T> epilogue;
      if (problem_.scale) epilogue.scale = static_cast<const T*>(arguments.scale) + first_out;
      if (problem_.bias) epilogue.bias = static_cast<const T*>(arguments.bias) + first_out;
      epilogue.limits = problem_.limits.as<T>();
      if (loop) epilogue.loop = loop.from_column(first_out);
      for (const Phase<T>& phase : phases_) {
        // In the residual's place several partial sums would overwrite it: they are added to it.
        epilogue.accumulate =
            problem_.residual && arguments.residual == arguments.result && phase.product.blocks.size() > 1;
        epilogue.residual =
            problem_.residual && !epilogue.accumulate ? static_cast<const T*>(arguments.residual) + first_out : nullptr;
        auto tables =
            RowTables<T>::in(at<std::byte>(arguments.workspace, tables_ + member * tables_stride_), phase.product);
        if (phase.copies) {
          tables.rows_step = 0;
          tables.shifts = phase.shifts.data();
        }
        const PanelSource<T> dense = source_of(phase, kernel, group);
        PanelOperand<T> weights;
        if (on_the_fly_) {
          weights.source = &dense;
          weights.scratch = at<T>(arguments.workspace, scratch_ + member * scratch_stride_);
        } else {
          weights.packed = packed + group * packed_group_ + phase.packed_before;
        }
        multiply_panels(phase.product, member_share(phase.product, team), weights, target + first_out, epilogue, tables,
                        [&](std::int64_t first, std::int64_t count, const RowTables<T>& to) {
                          if (phase.copies) {
                            copy_lines(phase, source + first_in, first, count, to, copies);
                          } else {
                            address_pixels(phase, source + first_in, first, count, to);
                          }
                        });
      }
    }
  }

  std::int64_t batch_and_target() const noexcept { return g_.batch * product_of(target_) * target_channels_; }
  std::int64_t pixel_elements() const noexcept { return source_channels_ / g_.groups; }
  std::int64_t run_length() const noexcept { return (joined_ ? g_.kernel[2] : 1) * pixel_elements(); }
  std::size_t packed_size() const noexcept { return static_cast<std::size_t>(packed_group_ * g_.groups) * sizeof(T); }

  void plan_forward() {
    // Short runs of channels are joined with their neighbours along the last axis.
    joined_ = g_.groups == 1 && g_.dilation == Extents{1, 1, 1} && g_.kernel[2] > 1 && g_.taps() > 0 &&
              g_.in_channels < machine::short_run;
    Phase<T> phase;
    phase.count = g_.output;
    phase.target_step = {1, 1, 1};
    phase.source_step = g_.stride;
    const std::int64_t last_taps = joined_ ? 1 : g_.kernel[2];
    for (std::int64_t z = 0; z < g_.kernel[0]; ++z) {
      for (std::int64_t y = 0; y < g_.kernel[1]; ++y) {
        for (std::int64_t x = 0; x < last_taps; ++x) {
          add_tap(
              phase,
              {z * g_.dilation[0] - g_.before[0], y * g_.dilation[1] - g_.before[1], x * g_.dilation[2] - g_.before[2]},
              (z * g_.kernel[1] + y) * g_.kernel[2] + x);
        }
      }
    }
    if (joined_) phase.greatest_shift[2] += g_.kernel[2] - 1;
    add_phase(std::move(phase));
  }

  void plan_by_input() {
    for (std::int64_t z = 0; z < std::min(g_.stride[0], g_.input[0]); ++z) {
      for (std::int64_t y = 0; y < std::min(g_.stride[1], g_.input[1]); ++y) {
        for (std::int64_t x = 0; x < std::min(g_.stride[2], g_.input[2]); ++x) {
          Phase<T> phase;
          phase.target_origin = {z, y, x};
          phase.target_step = g_.stride;
          phase.source_step = {1, 1, 1};
          for (std::size_t axis = 0; axis < 3; ++axis) {
            phase.count[axis] = (g_.input[axis] - phase.target_origin[axis] + g_.stride[axis] - 1) / g_.stride[axis];
          }
          for (std::int64_t tap = 0; tap < g_.taps(); ++tap) {
            const Extents at{tap / (g_.kernel[1] * g_.kernel[2]), tap / g_.kernel[2] % g_.kernel[1],
                             tap % g_.kernel[2]};
            Extents shift{};
            bool reaches = true;
            for (std::size_t axis = 0; axis < 3; ++axis) {
              const std::int64_t way = phase.target_origin[axis] + g_.before[axis] - at[axis] * g_.dilation[axis];
              reaches = reaches && way % g_.stride[axis] == 0;
              shift[axis] = way / g_.stride[axis];
            }
            if (reaches) add_tap(phase, shift, tap);
          }
          add_phase(std::move(phase));
        }
      }
    }
  }

  void add_tap(Phase<T>& phase, const Extents& shift, std::int64_t number) const {
    if (phase.taps.empty()) phase.least_shift = phase.greatest_shift = shift;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      phase.least_shift[axis] = std::min(phase.least_shift[axis], shift[axis]);
      phase.greatest_shift[axis] = std::max(phase.greatest_shift[axis], shift[axis]);
    }
    phase.taps.push_back({shift, ((shift[0] * source_[1] + shift[1]) * source_[2] + shift[2]) * source_channels_});
    phase.kernel_offsets.push_back(number * g_.group_in() * g_.out_channels);
  }

  void add_phase(Phase<T>&& phase) {
    const auto taps = static_cast<std::int64_t>(phase.taps.size());
    const auto element = static_cast<std::int64_t>(sizeof(T));
    // Copies take less time than addresses as long as they are no more than a line of the cache for each tap.
    const std::int64_t line_pixels = phase.count[1] * phase.count[2];
    const std::int64_t copied = reach(phase, 0, 1) * reach(phase, 1, phase.count[1]) * reach(phase, 2, phase.count[2]) *
                                pixel_elements() * element;
    phase.copies = copied > 0 && (joined_ || (taps > 1 && copied <= machine::cache_line * taps * line_pixels));
    const std::int64_t row_bytes =
        phase.copies ? copied / line_pixels : product_of(phase.source_step) * pixel_elements() * element;
    phase.product = plan_panel_product<T>(set_, g_.batch * product_of(phase.count), target_channels_ / g_.groups, taps,
                                          run_length(), 1, row_bytes, problem_.packed_kernel, threads_);
    if (phase.copies) {
      phase.line_pixels = reach(phase, 2, std::min(phase.count[2], phase.product.chunk_rows));
      for (const Tap& tap : phase.taps) {
        const auto further = [&](std::size_t axis) { return tap.shift[axis] - phase.least_shift[axis]; };
        const std::int64_t line = further(1) * reach(phase, 0, 1) + further(0);
        phase.shifts.push_back((line * phase.line_pixels + further(2)) * pixel_elements());
      }
    }
    phase.packed_before = packed_group_;
    packed_group_ += phase.product.packed_elements();
    phases_.push_back(std::move(phase));
  }

  PanelSource<T> source_of(const Phase<T>& phase, const T* kernel, std::int64_t group) const noexcept {
    PanelSource<T> source;
    source.base = kernel + group * g_.group_out();
    source.tap_offsets = phase.kernel_offsets.data();
    source.step_stride = forward_ ? g_.out_channels : 1;
    source.column_stride = forward_ ? 1 : g_.out_channels;
    return source;
  }

  void pack_share(const T* kernel, T* packed, Team team) const noexcept {
    for (std::int64_t group = 0; group < g_.groups; ++group) {
      for (const Phase<T>& phase : phases_) {
        pack_panels(phase.product, source_of(phase, kernel, group),
                    packed + group * packed_group_ + phase.packed_before, team);
      }
    }
  }

  // Calls pixel(row, image, source coordinates of the grid point, target offset) for each row of a chunk.
  template <class Pixel>
  void for_each_pixel(const Phase<T>& phase, std::int64_t first, std::int64_t count,
                      const Pixel& pixel) const noexcept {
    std::int64_t x = first % phase.count[2], rest = first / phase.count[2];
    std::int64_t y = rest % phase.count[1];
    rest /= phase.count[1];
    std::int64_t z = rest % phase.count[0], image = rest / phase.count[0];
    for (std::int64_t row = 0; row < count; ++row) {
      const std::int64_t offset = target_offset(phase, image, {z, y, x});
      pixel(row, image, Extents{z * phase.source_step[0], y * phase.source_step[1], x * phase.source_step[2]}, offset);
      if (++x == phase.count[2]) {
        x = 0;
        if (++y == phase.count[1]) {
          y = 0;
          if (++z == phase.count[0]) z = 0, ++image;
        }
      }
    }
  }

  // Pixels of a source axis under `count` output pixels, by the gaps between these and the window.
  static std::int64_t reach(const Phase<T>& phase, std::size_t axis, std::int64_t count) noexcept {
    return (count - 1) * phase.source_step[axis] + phase.greatest_shift[axis] - phase.least_shift[axis] + 1;
  }

  std::size_t bytes_of_copies(const Phase<T>& phase) const noexcept {
    const std::int64_t rows = phase.product.chunk_rows, width = phase.count[2], lines = rows / width + 2;
    const std::int64_t pieces = rows / (width * phase.count[1]) + 4;
    const std::int64_t copied = lines * phase.source_step[1] + pieces * reach(phase, 1, 1);
    return static_cast<std::size_t>(copied * reach(phase, 0, 1) * phase.line_pixels * pixel_elements()) * sizeof(T);
  }

  // copies[line][plane][pixel][channel] of what lies under a chunk, zeros outside: of a part of a line of the target,
  // or of whole lines of one image, at a time.
  void copy_lines(const Phase<T>& phase, const T* source, std::int64_t first, std::int64_t count,
                  const RowTables<T>& to, T* copies) const noexcept {
    const std::int64_t channels = pixel_elements(), planes = reach(phase, 0, 1);
    const std::int64_t elements = phase.line_pixels * channels;
    for (std::int64_t row = 0, lines = 0, pixels = 0; row < count;) {
      const std::int64_t x = (first + row) % phase.count[2], line = (first + row) / phase.count[2];
      const std::int64_t y = line % phase.count[1], plane = line / phase.count[1];
      const std::int64_t z = plane % phase.count[0], image = plane / phase.count[0];
      pixels = std::min(phase.count[2] - x, count - row);
      lines = pixels < phase.count[2] ? 1 : std::min(phase.count[1] - y, (count - row) / pixels);
      for (std::int64_t each = 0; each < lines; ++each) {
        const T* address = copies + each * phase.source_step[1] * planes * elements;
        std::int64_t offset = target_offset(phase, image, {z, y + each, x});
        for (const std::int64_t end = row + pixels; row < end; ++row) {
          to.rows[row] = address;
          to.c_offsets[row] = offset;
          address += phase.source_step[2] * channels;
          offset += phase.target_step[2] * target_pitch_;
        }
      }
      const std::int64_t left = x * phase.source_step[2] + phase.least_shift[2];
      for (std::int64_t at = 0; at < reach(phase, 1, lines) * planes; ++at, copies += elements) {
        const std::int64_t iy = y * phase.source_step[1] + phase.least_shift[1] + at / planes;
        const std::int64_t iz = z * phase.source_step[0] + phase.least_shift[0] + at % planes;
        const bool there = iy >= 0 && iy < source_[1] && iz >= 0 && iz < source_[0];
        copy_padded(there ? source + source_offset(image, {iz, iy, 0}) : nullptr, source_[2], source_channels_, left,
                    reach(phase, 2, pixels), channels, copies);
      }
    }
  }

  std::int64_t target_offset(const Phase<T>& phase, std::int64_t image, const Extents& at) const noexcept {
    std::int64_t offset = image;
    for (std::size_t axis = 0; axis < 3; ++axis)
      offset = offset * target_[axis] + phase.target_origin[axis] + at[axis] * phase.target_step[axis];
    return offset * target_pitch_;
  }

  std::int64_t source_offset(std::int64_t image, const Extents& at) const noexcept {
    return (((image * source_[0] + at[0]) * source_[1] + at[1]) * source_[2] + at[2]) * source_channels_;
  }

  void address_pixels(const Phase<T>& phase, const T* source, std::int64_t first, std::int64_t count,
                      const RowTables<T>& to) const noexcept {
    const std::int64_t taps = phase.product.taps;
    if (one_to_one_) {
      for (std::int64_t row = 0; row < count; ++row) {
        to.rows[row] = source + (first + row) * source_channels_;
        to.c_offsets[row] = (first + row) * target_pitch_;
      }
      return;
    }
    for_each_pixel(phase, first, count,
                   [&](std::int64_t row, std::int64_t image, const Extents& at, std::int64_t offset) {
                     to.c_offsets[row] = offset;
                     const T** place = to.rows + row;
                     bool inside = true;
                     for (std::size_t axis = 0; axis < 3; ++axis) {
                       inside = inside && at[axis] + phase.least_shift[axis] >= 0 &&
                                at[axis] + phase.greatest_shift[axis] < source_[axis];
                     }
                     const std::int64_t base = source_offset(image, at);
                     for (std::int64_t tap = 0; tap < taps; ++tap) {
                       const Tap& under = phase.taps[static_cast<std::size_t>(tap)];
                       bool there = inside;
                       if (!inside) {
                         there = true;
                         for (std::size_t axis = 0; axis < 3; ++axis) {
                           const std::int64_t coordinate = at[axis] + under.shift[axis];
                           there = there && coordinate >= 0 && coordinate < source_[axis];
                         }
                       }
                       place[tap * to.rows_step] = there ? source + (base + under.delta) : zeros_.data();
                     }
                   });
  }

  ConvolutionProblem problem_;
  Geometry g_;
  InstructionSet set_;
  int threads_;
  bool forward_;
  bool joined_ = false;      // taps along the last axis are joined into runs
  bool one_to_one_ = false;  // row i of the target is made of row i of the source alone
  Extents source_{}, target_{};
  std::int64_t source_channels_ = 0, target_channels_ = 0;
  std::int64_t target_pitch_ = 0;  // elements from one pixel of the target to the next
  std::vector<Phase<T>> phases_;
  std::int64_t packed_group_ = 0;  // packed elements of one group
  std::vector<T> zeros_;
  bool on_the_fly_ = false;
  std::size_t packed_ = 0, scratch_ = 0, scratch_stride_ = 0;
  std::size_t tables_ = 0, tables_stride_ = 0, copies_ = 0, copies_stride_ = 0;
};

}  // namespace

std::unique_ptr<ConvolutionRoutine> prepare_panel_convolution(const ConvolutionProblem& problem,
                                                              const KernelChoice& choice) {
  if (problem.dtype == DType::f64) return std::make_unique<PanelConvolution<double>>(problem, choice);
  return std::make_unique<PanelConvolution<float>>(problem, choice);
}

}  // namespace tyto::cpu
