// SPDX-License-Identifier: MIT
// Positions given by tensors of indices, as kernels that read and write there see them.
#pragma once

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <vector>

#include "core/device/device.hpp"
#include "core/graph/index_messages.hpp"
#include "devices/cpu/device/kernels.hpp"
#include "devices/cpu/moves/strided_iterator.hpp"

namespace tyto::cpu {

/// A tensor of i32 or i64 indices into an axis of `length` elements.
class Indices {
 public:
  Indices(core::OpId op, std::size_t input, const core::Operand& operand, std::int64_t length)
      : op_(op), input_(input), wide_(operand.dtype == DType::i64), length_(length), iterator_({operand.view}) {
    dense_ = core::is_dense(operand.view);
    start_ = operand.view.offset;
  }

  std::int64_t length() const { return length_; }

  /// The position that the index at `offset` of the tensor means, counted from the front.
  std::int64_t read(Addresses inputs, std::int64_t offset) const {
    const std::int64_t index = raw(inputs, offset);
    return index < 0 ? index + length_ : index;
  }

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
  /// Calls use with the indices as an array, which only a dense tensor is.
  template <class Use>
  void with_array(Addresses inputs, const Use& use) const {
    with_memory(inputs, [&](const auto* memory) { use(memory + start_); });
  }
  /// Adds to each element of `offsets` what the index of that number in the range means, times the stride.
  void add_offsets(Addresses inputs, Range range, std::int64_t stride, std::int64_t* offsets) const {
    const std::int64_t length = length_;
    const auto offset = [=](std::int64_t index) { return (index < 0 ? index + length : index) * stride; };
    with_memory(inputs, [&](const auto* memory) {
      if (dense_) {
        const auto* const indices = memory + start_ + range.begin;
        for (std::int64_t i = 0; i < range.size(); ++i) offsets[i] += offset(indices[i]);
      } else {
        iterator_.each(range, [&](std::int64_t i, const StridedIterator<1>::Offsets& at) {
          offsets[i - range.begin] += offset(memory[at[0]]);
        });
      }
    });
  }
  bool dense() const { return dense_; }
  /// Where the first index stands in the tensor's memory.
  std::int64_t begin() const { return start_; }

  /// Throws IndexError naming the first index that is outside the axis.
  void check(Addresses inputs) const {
    if (dense_ && all_inside(inputs)) return;
    iterator_.each({0, iterator_.count()}, [&](std::int64_t, const StridedIterator<1>::Offsets& offsets) {
      const std::int64_t index = raw(inputs, offsets[0]);
      if (index < -length_ || index >= length_) {
        throw IndexError(core::message_of_index(core::written_as(op_), index, length_));
      }
    });
  }

 private:
  std::int64_t raw(Addresses inputs, std::int64_t offset) const {
    const std::byte* memory = inputs[input_].pointer();
    return wide_ ? reinterpret_cast<const std::int64_t*>(memory)[offset]
                 : reinterpret_cast<const std::int32_t*>(memory)[offset];
  }

  bool all_inside(Addresses inputs) const {
    bool outside = false;
    const auto length = static_cast<std::uint64_t>(length_);
    with_array(inputs, [&, count = iterator_.count()](const auto* indices) {
      for (std::int64_t i = 0; i < count; ++i) {
        outside |= static_cast<std::uint64_t>(std::int64_t{indices[i]}) + length >= 2 * length;
      }
    });
    return !outside;
  }

  core::OpId op_;
  std::size_t input_;
  bool wide_, dense_;
  std::int64_t length_, start_;
  StridedIterator<1> iterator_;
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
/// The index tensors of gather and scatter: one for each of the first axes of what they index.
class Positions {
 public:
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
  /// Calls use(positions, offsets) for the positions of a range, some hundred at a time: the elements from the start of
  /// the indexed tensor to what each names.
  template <class Use>
  void each_run(Addresses inputs, Range range, const Use& use) const {
    std::array<std::int64_t, 256> offsets;
    for (std::int64_t begin = range.begin; begin < range.end; begin += std::ssize(offsets)) {
      const Range run{begin, std::min(range.end, begin + std::ssize(offsets))};
      std::fill_n(offsets.begin(), run.size(), 0);
      for (std::size_t axis = 0; axis < tensors_.size(); ++axis) {
        tensors_[axis].add_offsets(inputs, run, strides_[axis], offsets.data());
      }
      use(run, std::span<const std::int64_t>(offsets));
    }
  }

 private:
  std::vector<Indices> tensors_;
  std::vector<std::int64_t> strides_;
  std::int64_t count_ = 0;
};

}  // namespace tyto::cpu
