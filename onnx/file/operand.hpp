// SPDX-License-Identifier: MIT
// Operand: a value of a model: a tensor, a sequence of tensors, or the nothing that an optional may hold.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "tyto/tensor.hpp"

namespace tyto::onnx {

using Array = Tensor<Any>;
struct TensorMessage;

/// Bytes that a tensor of f32 stands for: (numbers - zero_point) * scale, one scale for all or for each index of an
/// axis, as they can be multiplied.
struct Dequantised {
  Array numbers;
  Array scale;
  double zero_point = 0;
};

/// How many tensors a sequence has, and whether an optional holds anything, is known wherever there is an operand:
/// graphs have tensors alone, so this much is decided before they are recorded. Without a tensor or a sequence it is
/// what was left out or, if it is known, an optional that holds nothing.
struct Operand {
  Operand();
  Operand(Array value, bool is_known = false);
  Operand(const Operand& other);
  Operand(Operand&& other) noexcept;
  Operand& operator=(const Operand& other);
  Operand& operator=(Operand&& other);
  ~Operand();

  /// Known when all its elements are.
  static Operand of_sequence(std::vector<Operand> elements);
  static Operand of_nothing();

  /// Another tensor of the same kind of elements.
  Operand with_tensor(Array value, bool is_known) const {
    Operand other(std::move(value), is_known);
    other.element_type = element_type;
    return other;
  }

  /// Whether it holds a tensor or a sequence.
  bool there() const { return tensor.defined() || sequence != nullptr || stored != nullptr; }

  Array tensor;
  std::shared_ptr<const std::vector<Operand>> sequence;
  /// In place of both: a tensor that is read from the file when it is used, as `Weights::loaded` does.
  const TensorMessage* stored = nullptr;
  /// Its elements can be read now, so shapes may depend on them. In lazy mode that is what follows from constants and
  /// shapes alone; in eager mode everything.
  bool known = false;
  /// TensorProto.DataType, where the file says more of the elements than the tensor's type: integers of fewer bits than
  /// they are held in, floating-point numbers of 8 and fewer, text. 0 where it says nothing.
  std::int64_t element_type = 0;
  /// Where DequantizeLinear made the tensor of bytes: products read these.
  std::shared_ptr<const Dequantised> dequantised = {};
};

/// How long an axis is. Throws ShapeError where the tensor has no such axis.
std::int64_t axis_length(const Array& x, std::size_t axis);

/// f16 and bf16 as f32, for an operator of several steps that rounds once; other types as they are.
Array halves_in_f32(const Array& x);

/// Elements of an axis from `begin` up to but without `end`; as a slice counts them.
Array part_of(const Array& x, std::int64_t axis, std::int64_t begin, std::int64_t end);
/// Two along an axis, one behind the other.
Array joined_pair(const Array& a, const Array& b, std::int64_t axis);
/// Element `i` of an axis, without the axis.
Array at_position(const Array& x, std::int64_t axis, std::int64_t i);

/// The same with `change(operand)` in place of each tensor.
template <class F>
Operand with_tensors(const Operand& operand, const F& change) {
  if (operand.tensor.defined()) return change(operand);
  if (operand.sequence == nullptr) return operand;
  std::vector<Operand> elements;
  for (const Operand& element : *operand.sequence) elements.push_back(change(element));
  return Operand::of_sequence(std::move(elements));
}

/// The structure of operands without the elements of their tensors, a number each: that of a sequence is its length,
/// that of a tensor is below zero and encodes its element type.
using Layout = std::vector<std::int64_t>;

/// This and the next two fill the list that they are given, whose memory is used again, instead of a new one.
Layout layout_of(std::span<const Operand> operands, Layout layout = {});
/// All their tensors, one after the other.
std::vector<Value> values_of(std::span<const Operand> operands, std::vector<Value> values = {});
/// Operands of that layout, made of their tensors.
std::vector<Operand> operands_from(const Layout& layout, std::span<const Value> values, bool known,
                                   std::vector<Operand> operands = {});

}  // namespace tyto::onnx
