// SPDX-License-Identifier: MIT
// The kernels of Fourier transforms: gather lines along any axis, transform them, and scatter the results.
#include <algorithm>
#include <array>
#include <optional>

#include "core/graph/op_ids.hpp"
#include "devices/cpu/device/kernels.hpp"
#include "devices/cpu/device/workspace.hpp"
#include "devices/cpu/fft/line_transform.hpp"
#include "devices/cpu/moves/strided_iterator.hpp"
#include "devices/cpu/system/machine.hpp"
#include "devices/cpu/system/threads.hpp"

namespace tyto::cpu {

namespace {

using core::OpId;
using core::View;
using fourier::LineTransform;
using fourier::Passes;
using fourier::Points;
using fourier::Roots;

constexpr std::int64_t most_lanes = 16;
/// Bytes of lines and their results up to which as many as fill a vector are transformed together although they do not
/// lie together: what a core's first cache holds. Lines of which four is no factor have first passes without
/// neighbours, which leave most of a vector empty; they are worth more.
constexpr std::size_t bytes_together = machine::first_level_cache, odd_bytes_together = machine::second_level_cache / 4;

View without_axis(View view, std::size_t axis) {
  view.shape.erase(axis);
  view.strides.erase(axis);
  return view;
}

/// How a line lies in one of the operands.
struct Side {
  std::int64_t width = 1;   // elements of T in one of the tensor: 2 of complex ones
  std::int64_t stride = 1;  // of tensor elements along the axis
  std::int64_t points = 1;
};

template <class T>
class FourierKernel final : public core::Kernel {
 public:
  FourierKernel(const core::Step& step, const Passes<T>& passes)
      : op_(step.op),
        transform_(std::get<core::TransformAttributes>(*step.attributes)),
        passes_(passes),
        pairs_(op_ != OpId::fft && transform_.length % 2 == 0),
        line_(pairs_ ? transform_.length / 2 : transform_.length, passes) {
    const auto axis = static_cast<std::size_t>(transform_.axis);
    const View &in = step.inputs[0].view, &out = step.outputs[0].view;
    from_ = {is_complex(step.inputs[0].dtype) ? 2 : 1, in.strides[axis], in.shape[axis]};
    to_ = {is_complex(step.outputs[0].dtype) ? 2 : 1, out.strides[axis], out.shape[axis]};
    lines_.emplace(std::array<View, 2>{without_axis(in, axis), without_axis(out, axis)});
    if (pairs_) {
      for (std::int64_t k = 0; k <= transform_.length / 2; ++k) roots_.add(k, transform_.length);
    }
    const std::int64_t count = lines_->count(), lanes = std::min(passes.lanes, most_lanes);
    const auto neighbours = [&](const View& view) {
      const View others = without_axis(view, axis);
      return others.rank() != 0 && others.strides.back() == 1 && others.shape.back() >= lanes;
    };
    const std::int64_t kept = std::max(line_.points_needed(), transform_.length / 2 + 1);
    const std::int64_t points = pairs_ ? transform_.length / 2 : transform_.length;
    const bool fits = static_cast<std::size_t>(4 * kept * lanes) * sizeof(T) <=
                      (points % 4 == 0 ? bytes_together : odd_bytes_together);
    const bool together = fits || (neighbours(in) && neighbours(out));
    lanes_ = count >= lanes && together ? lanes : 1;
    array_ = kept * lanes_;
    const double nanoseconds = static_cast<double>(count) *
                               (line_.nanoseconds() + 2 * machine::indexed_element * static_cast<double>(to_.points));
    team_size_ = threads_for(nanoseconds);
    WorkspaceLayout layout;
    start_ = layout.reserve_each(static_cast<std::size_t>(team_size_), 4 * static_cast<std::size_t>(array_) * sizeof(T),
                                 thread_workspace_);
    workspace_ = layout.bytes();
  }

  std::size_t workspace() const override { return workspace_; }

  void launch(Addresses inputs, Addresses outputs, core::Address workspace) const override {
    const T* const from = reinterpret_cast<const T*>(inputs[0].pointer());
    T* const to = reinterpret_cast<T*>(outputs[0].pointer());
    const std::int64_t count = lines_->count();
    run_team(team_size_, [&](Team team) {
      T* const memory = at<T>(workspace.pointer(), start_ + static_cast<std::size_t>(team.member) * thread_workspace_);
      const Range mine = share(count, team.member, team.size, lanes_);
      for (std::int64_t line = mine.begin; line < mine.end; line += lanes_) {
        run(from, to, line, std::min(lanes_, mine.end - line), memory);
      }
    });
  }

 private:
  using Offsets = std::array<std::array<std::int64_t, most_lanes>, 2>;

  /// Distance of the lines in one operand where it is the same for all; they are then moved together.
  static std::optional<std::int64_t> distance(const std::array<std::int64_t, most_lanes>& offsets, std::int64_t lines) {
    const std::int64_t apart = lines > 1 ? offsets[1] - offsets[0] : 1;
    for (std::int64_t l = 1; l < lines; ++l) {
      if (offsets[static_cast<std::size_t>(l)] != offsets[0] + l * apart) return {};
    }
    return apart;
  }

  /// Whether lines are moved by transposing vectors of them: they are dense, and no neighbours.
  bool transposed(const Side& side, const std::array<std::int64_t, most_lanes>& offsets, std::int64_t lines) const {
    return lanes_ == passes_.lanes && lanes_ > 1 && side.stride == 1 && distance(offsets, lines) != 1;
  }

  /// Where each line begins; lanes without a line have the last one's place.
  template <class Number>
  static std::array<Number*, most_lanes> begins(Number* tensor, const std::array<std::int64_t, most_lanes>& offsets,
                                                std::int64_t lines, std::int64_t width) {
    std::array<Number*, most_lanes> found;
    for (std::int64_t l = 0; l < most_lanes; ++l) {
      found[static_cast<std::size_t>(l)] = tensor + offsets[static_cast<std::size_t>(std::min(l, lines - 1))] * width;
    }
    return found;
  }

  /// Calls move(first line, lines, offset in T, distance in T) for lines that lie evenly.
  template <class Move>
  static void each_run(const std::array<std::int64_t, most_lanes>& offsets, std::int64_t lines, std::int64_t width,
                       const Move& move) {
    // Lines that are not neighbours are read one by one, along themselves.
    const std::optional<std::int64_t> apart = distance(offsets, lines);
    if (apart == 1) return move(0, lines, offsets[0] * width, width);
    for (std::int64_t l = 0; l < lines; ++l) move(l, 1, offsets[static_cast<std::size_t>(l)] * width, width);
  }

  /// The first `points` points: complex elements, or pairs of real ones.
  void fetch(const T* from, const Offsets& offsets, std::int64_t lines, const Side& side, std::int64_t points,
             Points<T> to) const {
    if (transposed(side, offsets[0], lines)) {
      return passes_.fetch_lines(points, side.width == 2 || pairs_, begins(from, offsets[0], lines, side.width).data(),
                                 to);
    }
    each_run(offsets[0], lines, side.width,
             [&](std::int64_t l, std::int64_t count, std::int64_t offset, std::int64_t apart) {
               const bool complex = side.width == 2;
               const std::int64_t step = complex ? 2 * side.stride : pairs_ ? 2 * side.stride : side.stride;
               const std::int64_t second = complex ? 1 : pairs_ ? side.stride : 0;
               passes_.fetch(points, count, from + offset, {step, apart, second}, {to.re + l, to.im + l}, lanes_);
             });
  }

  void put(Points<const T> from, const Offsets& offsets, std::int64_t lines, const Side& side, std::int64_t points,
           T* to) const {
    const T scale = static_cast<T>(transform_.scale);
    if (transposed(side, offsets[1], lines)) {
      return passes_.put_lines(points, lines, side.width == 2 || pairs_, from, scale,
                               begins(to, offsets[1], lines, side.width).data());
    }
    each_run(offsets[1], lines, side.width,
             [&](std::int64_t l, std::int64_t count, std::int64_t offset, std::int64_t apart) {
               const bool complex = side.width == 2;
               const std::int64_t step = complex || pairs_ ? 2 * side.stride : side.stride;
               const std::int64_t second = complex ? 1 : pairs_ ? side.stride : 0;
               // Of real results that are no pairs the imaginary parts are left out: they would lie where the real ones
               // do.
               const T* const im = complex || pairs_ ? from.im : from.re;
               passes_.put(points, count, {from.re + l, im + l}, lanes_, scale, to + offset, {step, apart, second});
             });
  }

  void clear(T* begin, std::int64_t points) const { std::fill(begin, begin + points * lanes_, T(0)); }

  /// Lines that there are not, where fewer than lanes are left, hold zeros.
  void run(const T* from, T* to, std::int64_t first_line, std::int64_t lines, T* memory) const {
    Offsets offsets{};
    for (std::int64_t l = 0; l < lines; ++l) {
      const auto place = lines_->at(first_line + l);
      offsets[0][static_cast<std::size_t>(l)] = place[0];
      offsets[1][static_cast<std::size_t>(l)] = place[1];
    }
    const Points<T> first{memory, memory + array_}, second{memory + 2 * array_, memory + 3 * array_};
    if (lines < lanes_) std::fill(memory, memory + 2 * array_, T(0));
    if (op_ == OpId::fft) {
      fetch(from, offsets, lines, from_, from_.points, first);
      put(transformed(first, second), offsets, lines, to_, to_.points, to);
    } else if (op_ == OpId::rfft) {
      forward_real(from, to, offsets, lines, first, second);
    } else {
      inverse_real(from, to, offsets, lines, first, second);
    }
  }

  Points<T> transformed(Points<T> first, Points<T> second) const {
    if (!transform_.inverse) return line_.run(first, second, lanes_);
    return line_.run(first.exchanged(), second.exchanged(), lanes_).exchanged();
  }

  void forward_real(const T* from, T* to, const Offsets& offsets, std::int64_t lines, Points<T> first,
                    Points<T> second) const {
    fetch(from, offsets, lines, from_, pairs_ ? from_.points / 2 : from_.points, first);
    if (!pairs_) {
      clear(first.im, from_.points);
      return put(line_.run(first, second, lanes_), offsets, lines, to_, to_.points, to);
    }
    const Points<T> spectrum = line_.run(first, second, lanes_);
    const Points<T> other = spectrum.re == first.re ? second : first;
    passes_.unpack_pairs(transform_.length / 2, lanes_, spectrum, other, roots_.at(0));
    put(other, offsets, lines, to_, to_.points, to);
  }

  void inverse_real(const T* from, T* to, const Offsets& offsets, std::int64_t lines, Points<T> first,
                    Points<T> second) const {
    fetch(from, offsets, lines, from_, from_.points, first);
    if (pairs_) {
      passes_.pack_pairs(transform_.length / 2, lanes_, first, second, roots_.at(0));
      const Points<T> found = line_.run(second.exchanged(), first.exchanged(), lanes_).exchanged();
      return put(found, offsets, lines, to_, to_.points / 2, to);
    }
    clear(first.im, 1);
    for (std::int64_t k = 1; k < from_.points; ++k) {
      const std::int64_t mirror = (transform_.length - k) * lanes_;
      for (std::int64_t l = 0; l < lanes_; ++l) {
        first.re[mirror + l] = first.re[k * lanes_ + l];
        first.im[mirror + l] = -first.im[k * lanes_ + l];
      }
    }
    const Points<T> found = line_.run(first.exchanged(), second.exchanged(), lanes_).exchanged();
    put(found, offsets, lines, to_, to_.points, to);
  }

  OpId op_;
  core::TransformAttributes transform_;
  const Passes<T>& passes_;
  bool pairs_;
  LineTransform<T> line_;
  Side from_, to_;
  std::optional<StridedIterator<2>> lines_;
  Roots<T> roots_;
  std::int64_t lanes_ = 1, array_ = 0;
  int team_size_ = 1;
  std::size_t start_ = 0, thread_workspace_ = 0, workspace_ = 0;
};

KernelRef prepare(const core::Step& step) {
  if (result_is_empty(step)) return no_work();
  if (real_type(step.inputs[0].dtype) == DType::f64) {
    return std::make_shared<const FourierKernel<double>>(step, fourier::passes<double>(instruction_set()));
  }
  return std::make_shared<const FourierKernel<float>>(step, fourier::passes<float>(instruction_set()));
}

constexpr KernelEntry entries[] = {{OpId::fft, prepare, nullptr, any_result},
                                   {OpId::rfft, prepare, nullptr, any_result},
                                   {OpId::irfft, prepare, nullptr, any_result}};

}  // namespace

std::span<const KernelEntry> fourier_kernels() { return entries; }

}  // namespace tyto::cpu
