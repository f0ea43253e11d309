// SPDX-License-Identifier: MIT
// Tensors for kernel tests: random values behind arbitrary strided views, and kernels run between guard bytes.
#pragma once

#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <stdexcept>
#include <vector>

#include "core/value/element_types.hpp"
#include "devices/cpu/device/kernels.hpp"

namespace tyto::placed {

inline constexpr DType every_dtype[] = {DType::boolean, DType::u8,  DType::i8,   DType::i16, DType::i32,
                                        DType::i64,     DType::f16, DType::bf16, DType::f32, DType::f64,
                                        DType::u16,     DType::u32, DType::u64};
inline constexpr DType every_float[] = {DType::f16, DType::bf16, DType::f32, DType::f64};

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// Small random numbers that are the same on every machine (splitmix64).
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}
  std::uint64_t bits() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  std::int64_t below(std::int64_t end) { return static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(end)); }
  std::int64_t between(std::int64_t low, std::int64_t high) { return low + below(high - low + 1); }
  double unit() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

template <class T>
void put(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof(T));
}
template <class T>
T get(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

/// Of complex elements minus the value is the imaginary part.
inline void store(DType dtype, std::byte* to, double value) {
  core::with_element_type(dtype, [&]<class E>() {
    if constexpr (ComplexNumber<E>)
      put(to, E(core::element_from<E>(value).real(), -core::element_from<E>(value).real()));
    else put(to, core::element_from<E>(value));
  });
}

inline double load(DType dtype, const std::byte* from) {
  if (dtype == DType::boolean) dtype = DType::u8;
  return core::with_element_type(dtype, [&]<class E>() { return core::number_from<double>(get<E>(from)); });
}

/// The nearest value that the type holds.
inline double rounded(DType dtype, double value) {
  std::byte bytes[16];
  store(dtype, bytes, value);
  return load(dtype, bytes);
}

/// The distance between neighbouring values of size one.
inline double epsilon(DType dtype) {
  return dtype == DType::f16 ? 0x1p-10 : dtype == DType::bf16 ? 0x1p-7 : dtype == DType::f32 ? 0x1p-23 : 0x1p-52;
}

/// Every index of a shape in row-major order.
template <class Visit>
void each_index(const Shape& shape, const Visit& visit) {
  IntList index(shape.size(), 0);
  for (std::int64_t left = element_count(shape); left > 0; --left) {
    visit(index);
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
}

inline std::int64_t offset_of(const core::View& view, const IntList& index) {
  std::int64_t offset = view.offset;
  for (std::size_t axis = 0; axis < view.shape.size(); ++axis) offset += index[axis] * view.strides[axis];
  return offset;
}

/// A tensor in memory of its own. Bytes that are no element's are noise, so that reading them shows.
struct Tensor {
  core::Operand operand;
  std::vector<std::byte> memory;

  DType dtype() const { return operand.dtype; }
  const Shape& shape() const { return operand.view.shape; }
  std::int64_t count() const { return operand.view.count(); }
  core::Address address() { return {memory.data(), 0}; }

  double at(const IntList& index) const {
    return load(dtype(), memory.data() + static_cast<std::size_t>(offset_of(operand.view, index)) * size_of(dtype()));
  }
  void set(const IntList& index, double value) {
    store(dtype(), memory.data() + static_cast<std::size_t>(offset_of(operand.view, index)) * size_of(dtype()), value);
  }
  /// All elements in row-major order.
  std::vector<double> values() const {
    std::vector<double> values;
    each_index(shape(), [&](const IntList& index) { values.push_back(at(index)); });
    return values;
  }
};

inline std::byte noise_at(std::size_t i) { return static_cast<std::byte>(0x5a ^ (i * 7)); }

inline std::vector<std::byte> noise(std::size_t bytes) {
  std::vector<std::byte> memory(bytes);
  for (std::size_t i = 0; i < bytes; ++i) memory[i] = noise_at(i);
  return memory;
}

/// Memory for a view whose lowest element is made number zero.
inline Tensor over(DType dtype, core::View view) {
  const core::ElementRange range = core::touched(view);
  view.offset -= range.first;
  const auto elements = static_cast<std::size_t>(range.past - range.first);
  return {{dtype, std::move(view)}, noise(elements * size_of(dtype) + 8)};
}

inline Tensor dense(DType dtype, const Shape& shape) { return over(dtype, core::View::dense(shape)); }

/// A dense tensor of stated values.
inline Tensor tensor(DType dtype, const Shape& shape, const std::vector<double>& values) {
  Tensor tensor = dense(dtype, shape);
  std::size_t next = 0;
  each_index(shape, [&](const IntList& index) { tensor.set(index, values.at(next++)); });
  return tensor;
}

enum class Layout { dense, permuted, gaps, reversed, broadcast, mixed };
inline constexpr Layout every_layout[] = {Layout::dense,    Layout::permuted,  Layout::gaps,
                                          Layout::reversed, Layout::broadcast, Layout::mixed};

/// Memory for a tensor of that shape and kind of layout, not yet filled.
inline Tensor place(Dice& dice, DType dtype, const Shape& shape, Layout layout) {
  const std::size_t rank = shape.size();
  std::vector<std::size_t> order(rank);
  for (std::size_t i = 0; i < rank; ++i) order[i] = i;
  const auto on = [&](Layout kind) { return layout == kind || (layout == Layout::mixed && dice.below(2) == 0); };
  if (on(Layout::permuted)) {
    for (std::size_t i = rank; i > 1; --i) {
      std::swap(order[i - 1], order[static_cast<std::size_t>(dice.below(static_cast<std::int64_t>(i)))]);
    }
  }
  core::View view{shape, Strides(rank, 0), 0};
  std::int64_t stride = on(Layout::gaps) ? 2 : 1;
  for (std::size_t i = rank; i-- > 0;) {
    const std::size_t axis = order[i];
    if (on(Layout::broadcast) && dice.below(3) == 0) continue;
    view.strides[axis] = on(Layout::reversed) ? -stride : stride;
    stride *= std::max<std::int64_t>(shape[axis], 1);
    if (on(Layout::gaps)) stride += dice.below(3);
  }
  return over(dtype, view);
}

/// Random values of [low, high], integers for integer types.
inline Tensor random(Dice& dice, DType dtype, const Shape& shape, Layout layout, double low, double high) {
  Tensor tensor = place(dice, dtype, shape, layout);
  each_index(shape, [&](const IntList& index) {
    double value = low + (high - low) * dice.unit();
    if (!is_floating(dtype)) value = std::round(value);
    if (dtype == DType::boolean) value = static_cast<double>(dice.below(2));
    if (is_unsigned(dtype)) value = std::abs(value);
    tensor.set(index, value);
  });
  return tensor;
}

/// A shape of that rank; now and then an axis is one or zero long.
inline Shape random_shape(Dice& dice, int rank, std::int64_t longest, bool may_be_empty = true) {
  Shape shape;
  for (int i = 0; i < rank; ++i) {
    const std::int64_t roll = dice.below(20);
    shape.push_back(roll == 0 && may_be_empty ? 0 : roll < 3 ? 1 : dice.between(2, longest));
  }
  return shape;
}

struct ResultType {
  DType dtype;
  Shape shape;
};

inline const cpu::KernelEntry& entry_of(std::span<const cpu::KernelEntry> family, core::OpId op) {
  for (const cpu::KernelEntry& entry : family) {
    if (entry.op == op) return entry;
  }
  throw std::logic_error("the family has no such operator");
}

/// Prepares and launches a kernel, its workspace and results followed by bytes that must survive. Inputs that the
/// kernel wants dense are copied first, as a caller has to. With `over_first` the first result takes the first input's
/// memory.
inline std::vector<Tensor> run(std::span<const cpu::KernelEntry> family, core::OpId op,
                               const core::Attributes& attributes, std::vector<Tensor> inputs,
                               const std::vector<ResultType>& results, bool over_first = false) {
  constexpr std::size_t guard = 256;
  const cpu::KernelEntry& entry = entry_of(family, op);
  std::vector<Tensor> outputs;
  for (const ResultType& result : results) {
    outputs.push_back(dense(result.dtype, result.shape));
    outputs.back().memory = noise(static_cast<std::size_t>(outputs.back().count()) * size_of(result.dtype) + guard);
  }
  const auto operands = [](const std::vector<Tensor>& tensors) {
    std::vector<core::Operand> list;
    for (const Tensor& each : tensors) list.push_back(each.operand);
    return list;
  };
  std::vector<core::Operand> in = operands(inputs);
  const std::vector<core::Operand> out = operands(outputs);
  if (entry.requires_dense != nullptr) {
    const std::uint64_t wanted = entry.requires_dense({op, &attributes, in, out});
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if ((wanted >> i & 1) != 0) inputs[i] = tensor(inputs[i].dtype(), inputs[i].shape(), inputs[i].values());
    }
    in = operands(inputs);
  }
  const auto kernel = entry.prepare({op, &attributes, in, out});
  std::vector<std::byte> workspace = noise(kernel->workspace() + guard + 64);
  const std::size_t skip = (64 - reinterpret_cast<std::uintptr_t>(workspace.data()) % 64) % 64;
  std::vector<core::Address> from, to;
  for (Tensor& each : inputs) from.push_back(each.address());
  for (Tensor& each : outputs) to.push_back(each.address());
  if (over_first) to[0] = from[0];
  kernel->launch(from, to, {workspace.data(), skip});

  const auto check_guard = [](const std::vector<std::byte>& memory, std::size_t first) {
    for (std::size_t i = first; i < memory.size(); ++i) {
      if (memory[i] != noise_at(i)) throw std::logic_error("the kernel wrote past its memory");
    }
  };
  check_guard(workspace, skip + kernel->workspace());
  for (const Tensor& each : outputs) check_guard(each.memory, each.memory.size() - guard);
  if (over_first) outputs[0].memory = inputs[0].memory;
  return outputs;
}

/// Same value, or both NaN.
inline bool same(double a, double b) { return a == b || (a != a && b != b); }

/// Equal infinities, both NaN, or no further apart than `tolerance` of the larger plus `absolute`.
inline bool close(double a, double b, double tolerance, double absolute = 0) {
  return same(a, b) || std::abs(a - b) <= tolerance * std::max(std::abs(a), std::abs(b)) + absolute;
}

}  // namespace tyto::placed
