// SPDX-License-Identifier: MIT
// Positions given by tensors of indices, as kernels that read and write there see them.
#pragma once

#include <array>
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

  /// Calls use with the indices as an array, which only a dense tensor is.
  template <class Use>
  void with_array(Addresses inputs, const Use& use) const {
    const std::byte* memory = inputs[input_].pointer();
    if (wide_) {
      use(reinterpret_cast<const std::int64_t*>(memory) + start_);
    } else {
      use(reinterpret_cast<const std::int32_t*>(memory) + start_);
    }
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
    int outside = 0;
    with_array(inputs, [&](const auto* indices) {
      for (std::int64_t i = 0; i < iterator_.count(); ++i) outside |= (indices[i] < -length_) | (indices[i] >= length_);
    });
    return outside == 0;
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
      iterators_.emplace_back(std::array<core::View, 1>{step.inputs[i].view});
      strides_.push_back(indexed.strides[axis]);
    }
    count_ = step.inputs[first_input].view.count();
  }

  std::size_t axes() const { return tensors_.size(); }
  std::int64_t count() const { return count_; }
  void check(Addresses inputs) const {
    for (const Indices& indices : tensors_) indices.check(inputs);
  }
  /// Elements from the start of the indexed tensor to what position number `position` names.
  std::int64_t offset(Addresses inputs, std::int64_t position) const {
    std::int64_t offset = 0;
    for (std::size_t axis = 0; axis < tensors_.size(); ++axis) {
      offset += tensors_[axis].read(inputs, iterators_[axis].at(position)[0]) * strides_[axis];
    }
    return offset;
  }

 private:
  std::vector<Indices> tensors_;
  std::vector<StridedIterator<1>> iterators_;
  std::vector<std::int64_t> strides_;
  std::int64_t count_ = 0;
};

}  // namespace tyto::cpu
