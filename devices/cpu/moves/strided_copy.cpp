// SPDX-License-Identifier: MIT
// The loops of strided copies: runs of bytes, lines of elements, and blocks where one side is transposed.
#include "devices/cpu/moves/strided_copy.hpp"

#include <algorithm>
#include <bit>

#include "core/value/copy_bytes.hpp"
#include "devices/cpu/arithmetic/element_dispatch.hpp"
#include "devices/cpu/arithmetic/tile_loops/tile_loops.hpp"
#include "devices/cpu/system/instruction_set.hpp"
#include "devices/cpu/system/machine.hpp"

namespace tyto::cpu {

namespace {

/// Elements of a long run that one unit copies, and rows and columns of a transposed block.
constexpr std::int64_t run_length = 16384, block_side = 16;

/// Rows of fewer elements are copied many at a time.
constexpr std::int64_t short_row = 8, rows_together = 512;

std::int64_t size_of_step(std::int64_t stride) { return stride < 0 ? -stride : stride; }

template <class U>
void copy_run(const std::byte* from, std::byte* to, const CopyBlock& block) {
  core::copy_bytes(to, from, static_cast<std::size_t>(block.columns) * sizeof(U));
}

template <class U>
void copy_line(const std::byte* from, std::byte* to, const CopyBlock& block) {
  const auto* x = reinterpret_cast<const U*>(from);
  auto* y = reinterpret_cast<U*>(to);
  if (block.to_column == 1 && block.from_column == 0) {
    const U value = x[0];
    for (std::int64_t j = 0; j < block.columns; ++j) y[j] = value;
  } else if (block.to_column == 1 && block.from_column == -1) {
    // A step that the compiler knows makes this a loop over vectors.
    for (std::int64_t j = 0; j < block.columns; ++j) y[j] = x[-j];
  } else if (block.to_column == 1) {
    for (std::int64_t j = 0; j < block.columns; ++j) y[j] = x[j * block.from_column];
  } else {
    for (std::int64_t j = 0; j < block.columns; ++j) y[j * block.to_column] = x[j * block.from_column];
  }
}

template <class U>
void copy_rectangle(const std::byte* from, std::byte* to, const CopyBlock& block) {
  for (std::int64_t first = 0; first < block.columns; first += block_side) {
    const std::int64_t last = std::min(first + block_side, block.columns);
    for (std::int64_t i = 0; i < block.rows; ++i) {
      const auto* x = reinterpret_cast<const U*>(from) + i * block.from_row;
      auto* y = reinterpret_cast<U*>(to) + i * block.to_row;
      for (std::int64_t j = first; j < last; ++j) y[j * block.to_column] = x[j * block.from_column];
    }
  }
}

template <class U>
void transpose_block(const std::byte* from, std::byte* to, const CopyBlock& block) {
  tile_loops(instruction_set())
      .transpose[std::countr_zero(sizeof(U))](
          to, static_cast<std::size_t>(block.to_row), from, block.from_column * static_cast<std::ptrdiff_t>(sizeof(U)),
          static_cast<std::size_t>(block.rows), static_cast<std::size_t>(block.columns));
}

// Short rows: down each column, so that the inner loop is long.
template <class U>
void copy_narrow(const std::byte* from, std::byte* to, const CopyBlock& block) {
  for (std::int64_t j = 0; j < block.columns; ++j) {
    const auto* x = reinterpret_cast<const U*>(from) + j * block.from_column;
    auto* y = reinterpret_cast<U*>(to) + j * block.to_column;
    for (std::int64_t i = 0; i < block.rows; ++i) y[i * block.to_row] = x[i * block.from_row];
  }
}

// A few planes to elements side by side, as the channels of a picture: a length that the compiler knows makes vectors
// of this loop.
template <class U, int Planes>
void interleave_planes(const U* const* planes, U* __restrict y, std::int64_t count) {
  const U* x[Planes];
  for (int k = 0; k < Planes; ++k) x[k] = planes[k];
  for (std::int64_t i = 0; i < count; ++i) {
    for (int k = 0; k < Planes; ++k) y[i * Planes + k] = x[k][i];
  }
}

template <class U, int Planes>
void interleave(const std::byte* from, std::byte* to, const CopyBlock& block) {
  const U* x[Planes];
  for (int k = 0; k < Planes; ++k) x[k] = reinterpret_cast<const U*>(from) + k * block.from_column;
  interleave_planes<U, Planes>(x, reinterpret_cast<U*>(to), block.rows);
}

template <class U, int Planes>
void interleave_range(const std::byte* const* from, std::byte* to, Range elements) {
  const U* x[Planes];
  for (int k = 0; k < Planes; ++k) x[k] = reinterpret_cast<const U*>(from[k]) + elements.begin;
  interleave_planes<U, Planes>(x, reinterpret_cast<U*>(to) + elements.begin * Planes, elements.size());
}
template <class U>
auto interleave_function(std::int64_t planes) {
  return planes == 2 ? interleave_range<U, 2> : planes == 3 ? interleave_range<U, 3> : interleave_range<U, 4>;
}

// Pairs to two planes.
template <class U>
void part_pairs(const std::byte* from, std::byte* to, const CopyBlock& block) {
  const auto* __restrict x = reinterpret_cast<const U*>(from);
  auto* __restrict first = reinterpret_cast<U*>(to);
  auto* __restrict second = first + block.to_row;
  for (std::int64_t i = 0; i < block.columns; ++i) {
    first[i] = x[2 * i];
    second[i] = x[2 * i + 1];
  }
}

template <class U>
CopyFunction function_for(const CopyBlock& block) {
  if (block.rows > 1 && block.from_row == 1 && block.to_row == block.columns && block.to_column == 1) {
    if (block.columns == 2) return interleave<U, 2>;
    if (block.columns == 3) return interleave<U, 3>;
    if (block.columns == 4) return interleave<U, 4>;
  }
  if (block.rows == 2 && block.from_row == 1 && block.from_column == 2 && block.to_column == 1) return part_pairs<U>;
  if (block.rows > 1 && block.columns >= short_row) {
    if constexpr (sizeof(U) <= 8) {
      if (block.from_row == 1 && block.to_column == 1) return transpose_block<U>;
    }
    return copy_rectangle<U>;
  }
  if (block.rows > 1) return copy_narrow<U>;
  return block.from_column == 1 && block.to_column == 1 ? copy_run<U> : copy_line<U>;
}

}  // namespace

void copy_transposed(const std::byte* from, std::byte* to, const CopyBlock& block, std::size_t element) {
  switch (element) {
    case 1: return transpose_block<std::uint8_t>(from, to, block);
    case 2: return transpose_block<std::uint16_t>(from, to, block);
    case 4: return transpose_block<std::uint32_t>(from, to, block);
    case 8: return transpose_block<std::uint64_t>(from, to, block);
    default: return copy_rectangle<WideElement>(from, to, block);
  }
}

CopyFunction copy_function(const CopyBlock& block, std::size_t element) {
  switch (element) {
    case 1: return function_for<std::uint8_t>(block);
    case 2: return function_for<std::uint16_t>(block);
    case 4: return function_for<std::uint32_t>(block);
    case 8: return function_for<std::uint64_t>(block);
    default: return function_for<WideElement>(block);
  }
}

StridedCopy::StridedCopy(const core::View& from, const core::View& to, std::size_t element)
    : element_(static_cast<std::int64_t>(element)) {
  bytes_ = to.count() * element_;
  std::array<core::View, 2> views{from, to};
  core::collapse(views);
  same_layout_ = views[0].strides == views[1].strides;
  fills_run_ = core::is_dense(views[1]);
  shift_ = (from.offset - to.offset) * element_;

  const auto take = [&](std::size_t axis, std::int64_t& from_stride, std::int64_t& to_stride) {
    const std::int64_t length = views[0].shape[axis];
    from_stride = views[0].strides[axis];
    to_stride = views[1].strides[axis];
    for (core::View& view : views) {
      view.shape.erase(axis);
      view.strides.erase(axis);
    }
    return length;
  };
  if (!views[0].shape.empty() && bytes_ != 0) {
    block_.columns = take(views[0].shape.size() - 1, block_.from_column, block_.to_column);
    // Where another axis lies closer together in the source, both go in blocks that use whole cache lines of either.
    std::size_t nearest = views[0].shape.size();
    for (std::size_t axis = 0; axis < views[0].shape.size(); ++axis) {
      const std::int64_t step = size_of_step(views[0].strides[axis]);
      const std::int64_t best =
          nearest == views[0].shape.size() ? size_of_step(block_.from_column) : size_of_step(views[0].strides[nearest]);
      if (step != 0 && step < best) nearest = axis;
    }
    if (block_.columns < short_row && !views[0].shape.empty()) nearest = views[0].shape.size() - 1;
    if (nearest != views[0].shape.size()) block_.rows = take(nearest, block_.from_row, block_.to_row);
  }
  outer_ = StridedIterator<2>(std::move(views));
  chunk_ = block_.rows == 1 ? run_length : block_.columns < short_row ? rows_together : block_side;
  chunks_ = ((block_.rows > 1 ? block_.rows : block_.columns) + chunk_ - 1) / chunk_;
  copy_ = copy_function(block_, element);
}

void StridedCopy::run(const std::byte* from, std::byte* to, Range units) const {
  if (units.size() <= 0) return;
  if (chunks_ == 1) {
    outer_.each(units, [&](std::int64_t, const StridedIterator<2>::Offsets& offsets) {
      copy_(from + offsets[0] * element_, to + offsets[1] * element_, block_);
    });
    return;
  }
  // All chunks of a single line are one unit: copies of more than the caches hold are faster in one call.
  const std::int64_t together = block_.rows > 1 ? 1 : chunks_;
  for (std::int64_t unit = units.begin, next = 0; unit < units.end; unit = next) {
    next = std::min(units.end, unit / together * together + together);
    const auto offsets = outer_.at(unit / chunks_);
    const std::int64_t begin = unit % chunks_ * chunk_, length = (next - unit) * chunk_;
    CopyBlock part = block_;
    std::int64_t from_step = part.from_column, to_step = part.to_column;
    if (part.rows > 1) {
      part.rows = std::min(length, part.rows - begin);
      from_step = part.from_row;
      to_step = part.to_row;
    } else {
      part.columns = std::min(length, part.columns - begin);
    }
    copy_(from + (offsets[0] + begin * from_step) * element_, to + (offsets[1] + begin * to_step) * element_, part);
  }
}

std::optional<StridedCopy::Plane> StridedCopy::plane() const {
  if (block_.rows != 1 || block_.from_column != 1 || block_.to_column < 2 || outer_.count() != 1) return {};
  const auto offsets = outer_.at(0);
  return Plane{offsets[0], offsets[1], block_.to_column, block_.columns};
}

void CopyList::add(std::size_t input, const core::View& from, const core::View& to, std::size_t element) {
  if (to.count() == 0) return;
  items_.push_back({input, StridedCopy(from, to, element)});
  const StridedCopy& copy = items_.back().copy;
  bytes_ += copy.bytes();
  interleaved_ = interleaved_ && !copy.fills_run() && copy.units() == items_.front().copy.units();
  add_plane(copy, static_cast<std::int64_t>(element));
}

void CopyList::add_plane(const StridedCopy& copy, std::int64_t element) {
  const auto plane = copy.plane();
  if (items_.size() == 1 && plane && plane->step <= most_planes) {
    planes_ = plane->step;
    plane_count_ = plane->count;
    first_to_ = plane->to * element;
    switch (element) {
      case 1: interleave_ = interleave_function<std::uint8_t>(planes_); break;
      case 2: interleave_ = interleave_function<std::uint16_t>(planes_); break;
      case 4: interleave_ = interleave_function<std::uint32_t>(planes_); break;
      case 8: interleave_ = interleave_function<std::uint64_t>(planes_); break;
      default: interleave_ = interleave_function<WideElement>(planes_); break;
    }
  }
  const auto at = static_cast<std::int64_t>(items_.size()) - 1;
  const bool beside = interleave_ != nullptr && plane && at < planes_ && plane->step == planes_ &&
                      plane->count == plane_count_ && plane->to * element == first_to_ + at * element;
  if (beside) plane_offsets_[static_cast<std::size_t>(at)] = plane->from * element;
  else interleave_ = nullptr;
}

std::int64_t CopyList::turns_for(Team team) const {
  if (!interleaved_ || items_.size() == 1) return 1;
  const std::int64_t units = items_.front().copy.units() / team.size;
  return std::clamp<std::int64_t>(bytes_ / team.size / (machine::second_level_cache / 4), 1,
                                  std::max<std::int64_t>(units, 1));
}

}  // namespace tyto::cpu
