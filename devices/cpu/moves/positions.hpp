// SPDX-License-Identifier: MIT
// Iterates over positions given by tensors of indices, for kernels that gather and scatter.
#pragma once

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <span>
#include <vector>

#include "core/device/device.hpp"
#include "core/graph/index_messages.hpp"
#include "devices/cpu/device/kernels.hpp"
#include "devices/cpu/moves/strided_iterator.hpp"

namespace tyto::cpu {

/// The position of an index, counted from the front; without a branch, since signs are unpredictable.
inline std::int64_t counted_from_front(std::int64_t index, std::int64_t length) {
  return index + (index >> 63 & length);
}

/// A tensor of i32 or i64 indices into an axis of `length` elements.
class Indices {
 public:
  Indices(core::OpId op, std::size_t input, const core::Operand& operand, std::int64_t length)
      : op_(op), input_(input), wide_(operand.dtype == DType::i64), length_(length), iterator_({operand.view}) {
    if (core::is_dense(operand.view)) dense_ = operand.view.offset;
    core::View distinct = operand.view;
    for (std::size_t axis = 0; axis < distinct.shape.size(); ++axis) {
      if (distinct.strides[axis] == 0) distinct.shape[axis] = std::min<std::int64_t>(distinct.shape[axis], 1);
    }
    distinct_ = StridedIterator<1>({distinct});
  }

  std::int64_t length() const { return length_; }

  /// Calls use with the tensor's memory, by whose type loops are compiled.
  template <class Use>
  void with_memory(Addresses inputs, const Use& use) const {
    const std::byte* memory = inputs[input_].pointer();
    if (wide_) {
      use(reinterpret_cast<const std::int64_t*>(memory));
    } else {
      use(reinterpret_cast<const std::int32_t*>(memory));
    }
  }
  /// Indices of i64 where they lie one after the other, else null.
  const std::int64_t* array(Addresses inputs) const {
    if (!wide_ || !dense_.has_value()) return nullptr;
    return reinterpret_cast<const std::int64_t*>(inputs[input_].pointer()) + *dense_;
  }
  /// Sets each element of `offsets` to what the index of that number in the range means, times the stride, or adds
  /// that.
  template <bool adds>
  void write_offsets(Addresses inputs, Range range, std::int64_t stride, std::int64_t* offsets) const {
    const auto meant = [stride, length = length_](std::int64_t index) {
      return counted_from_front(index, length) * stride;
    };
    with_memory(inputs, [=, this](const auto* memory) {
      iterator_.each_row(range, [=](Range row, const auto& at, const auto& steps) {
        std::int64_t* const to = offsets + (row.begin - range.begin);
        const auto* const from = memory + at[0];
        const std::int64_t step = steps[0], count = row.size();
        if (step == 0) {  // an index of another axis
          for (std::int64_t i = 0, same = meant(*from); i < count; ++i) to[i] = (adds ? to[i] : 0) + same;
        } else {
          for (std::int64_t i = 0; i < count; ++i) to[i] = (adds ? to[i] : 0) + meant(from[i * step]);
        }
      });
    });
  }

  /// Throws IndexError naming the first index that is outside the axis.
  void check(Addresses inputs) const {
    // Of an index outside one of the two sums has its highest bit; bits, unlike comparisons of 64 bits, are collected
    // in vectors of every processor.
    std::uint64_t bits = 0;
    with_memory(inputs, [&, length = static_cast<std::uint64_t>(length_)](const auto* memory) {
      distinct_.each_row({0, distinct_.count()}, [&](Range row, const auto& at, const auto& steps) {
        const auto* const from = memory + at[0];
        std::uint64_t outside = 0;
        for (std::int64_t i = 0, step = steps[0]; i < row.size(); ++i) {
          const auto index = static_cast<std::uint64_t>(std::int64_t{from[i * step]});
          outside |= (index + length) | (length - 1 - index);
        }
        bits |= outside;
      });
    });
    if (bits >> 63 == 0) return;
    with_memory(inputs, [&](const auto* memory) {
      distinct_.each({0, distinct_.count()}, [&](std::int64_t, const auto& at) {
        const std::int64_t index = memory[at[0]];
        if (index >= -length_ && index < length_) return;
        throw IndexError(core::message_of_index(core::written_as(op_), index, length_));
      });
    });
  }

 private:
  core::OpId op_;
  std::size_t input_;
  bool wide_;
  std::int64_t length_;
  std::optional<std::int64_t> dense_;  // where the first lies of those that lie one after the other
  StridedIterator<1> iterator_, distinct_;
};
/// A view over the axes [begin, end) only.
inline core::View axes_of(const core::View& view, std::size_t begin, std::size_t end) {
  core::View part{{}, {}, 0};
  for (std::size_t axis = begin; axis < end; ++axis) {
    part.shape.push_back(view.shape[axis]);
    part.strides.push_back(view.strides[axis]);
  }
  return part;
}
/// Indices one after the other, and how many elements from the start of the indexed tensor the one of a number names.
struct IndexRun {
  const std::int64_t* indices;
  std::int64_t length, stride;

  std::int64_t offset(std::int64_t number) const { return counted_from_front(indices[number], length) * stride; }
};
/// The index tensors of gather and scatter: one for each of the first axes of what they index.
class Positions {
 public:
  static constexpr std::size_t run_length = 1024;

  Positions(const core::Step& step, std::size_t first_input, const core::View& indexed) {
    for (std::size_t i = first_input; i < step.inputs.size(); ++i) {
      const std::size_t axis = i - first_input;
      tensors_.emplace_back(step.op, i, step.inputs[i], indexed.shape[axis]);
      strides_.push_back(indexed.strides[axis]);
    }
    count_ = step.inputs[first_input].view.count();
  }

  std::size_t axes() const { return tensors_.size(); }
  std::int64_t count() const { return count_; }
  void check(Addresses inputs) const {
    for (const Indices& indices : tensors_) indices.check(inputs);
  }
  /// Calls use(run, indices) for the positions of a range, run_length at a time: with the tensor's own memory where
  /// one dense tensor of i64 names them, else with offsets that all tensors come to.
  template <class Use>
  void each_run(Addresses inputs, Range range, const Use& use) const {
    std::array<std::int64_t, run_length> offsets;
    const std::int64_t* const dense = tensors_.size() == 1 ? tensors_[0].array(inputs) : nullptr;
    for (std::int64_t begin = range.begin; begin < range.end; begin += std::ssize(offsets)) {
      const Range run{begin, std::min(range.end, begin + std::ssize(offsets))};
      IndexRun indices{offsets.data(), 0, 1};
      if (dense != nullptr) {
        indices = {dense + begin, tensors_[0].length(), strides_[0]};
      } else {
        tensors_[0].write_offsets<false>(inputs, run, strides_[0], offsets.data());
        for (std::size_t axis = 1; axis < tensors_.size(); ++axis) {
          tensors_[axis].write_offsets<true>(inputs, run, strides_[axis], offsets.data());
        }
      }
      use(run, indices);
    }
  }

 private:
  std::vector<Indices> tensors_;
  std::vector<std::int64_t> strides_;
  std::int64_t count_ = 0;
};

}  // namespace tyto::cpu
