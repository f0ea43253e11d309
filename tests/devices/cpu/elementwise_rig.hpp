// SPDX-License-Identifier: MIT
// Hand-made operands for the tests of element-wise, creating and random kernels: storage, reading back, running a step.
#pragma once

#include <cmath>
#include <cstring>
#include <initializer_list>
#include <vector>

#include "core/device/device.hpp"
#include "core/graph/op_ids.hpp"
#include "core/value/element_types.hpp"
#include "devices/cpu/device/kernels.hpp"
#include "devices/cpu/loop/range_program.hpp"
#include "devices/cpu/system/instruction_set.hpp"
#include "tests/devices/cpu/kernel_testing.hpp"

namespace tyto::cpu::testing {

inline constexpr DType all_types[] = {DType::boolean, DType::u8,  DType::i8,   DType::i16, DType::i32,
                                      DType::i64,     DType::f16, DType::bf16, DType::f32, DType::f64,
                                      DType::u16,     DType::u32, DType::u64};

/// Storage of one element type with a view on it. Numbers go in and come out as long double, which holds them all.
struct StoredTensor {
  DType dtype = DType::f32;
  core::View view;
  std::vector<std::byte> memory;

  StoredTensor() = default;
  StoredTensor(DType type, core::View place) : dtype(type), view(std::move(place)) {
    const core::ElementRange range = core::touched(view);
    memory.assign(static_cast<std::size_t>(range.past + 16) * size_of(type), std::byte{0xa5});
  }
  static StoredTensor dense(DType type, Shape shape) { return {type, core::View::dense(std::move(shape))}; }
  /// One axis holding these numbers.
  static StoredTensor of(DType type, const std::vector<long double>& numbers) {
    StoredTensor tensor = dense(type, {static_cast<std::int64_t>(numbers.size())});
    for (std::size_t i = 0; i < numbers.size(); ++i) tensor.put(static_cast<std::int64_t>(i), numbers[i]);
    return tensor;
  }

  core::Operand operand() const { return {dtype, view}; }

  /// The storage position of element i in row-major order of the view.
  std::int64_t position(std::int64_t i) const {
    std::int64_t at = view.offset;
    for (std::size_t axis = view.shape.size(); axis-- > 0;) {
      at += i % view.shape[axis] * view.strides[axis];
      i /= view.shape[axis];
    }
    return at;
  }
  void put(std::int64_t i, long double number) { put_at(position(i), number); }
  long double get(std::int64_t i) const { return get_at(position(i)); }

  void put_at(std::int64_t at, long double number) {
    std::byte* to = memory.data() + static_cast<std::size_t>(at) * size_of(dtype);
    core::with_element_type(dtype, [&]<class E>() {
      const E element = core::element_from<E>(number);
      std::memcpy(to, &element, sizeof element);
    });
  }
  long double get_at(std::int64_t at) const {
    const std::byte* from = memory.data() + static_cast<std::size_t>(at) * size_of(dtype);
    return core::with_element_type(dtype == DType::boolean ? DType::u8 : dtype, [&]<class E>() {
      E element;
      std::memcpy(&element, from, sizeof element);
      return core::number_from<long double>(element);
    });
  }
  std::vector<long double> numbers() const {
    std::vector<long double> list;
    for (std::int64_t i = 0; i < view.count(); ++i) list.push_back(get(i));
    return list;
  }
};

/// The instruction sets of this machine.
inline std::vector<InstructionSet> all_sets() {
  std::vector<InstructionSet> sets;
  for (const InstructionSet set : {InstructionSet::baseline, InstructionSet::avx2, InstructionSet::avx512}) {
    if (set <= widest_instruction_set()) sets.push_back(set);
  }
  return sets;
}

/// Prepares the step with `prepare` and launches it once.
template <class Prepare>
void run_step(Prepare prepare, core::OpId op, const core::Attributes& attributes,
              std::initializer_list<const StoredTensor*> inputs, StoredTensor& output) {
  std::vector<core::Operand> operands;
  std::vector<core::Address> addresses;
  for (const StoredTensor* input : inputs) {
    operands.push_back(input->operand());
    addresses.push_back({const_cast<std::byte*>(input->memory.data()), 0});
  }
  const core::Operand result = output.operand();
  const core::Address target{output.memory.data(), 0};
  const auto kernel = prepare(core::Step{op, &attributes, operands, {&result, 1}});
  std::vector<std::byte> workspace(kernel->workspace());
  kernel->launch(addresses, {&target, 1}, {workspace.data(), 0});
}

inline void run_elementwise(core::OpId op, std::initializer_list<const StoredTensor*> inputs, StoredTensor& output,
                            const KernelChoice& choice) {
  const core::Attributes attributes = op == core::OpId::cast ? core::Attributes(core::CastAttributes{output.dtype})
                                                             : core::Attributes(core::NoAttributes{});
  run_step([&](const core::Step& step) { return prepare_elementwise(step, choice); }, op, attributes, inputs, output);
}

}  // namespace tyto::cpu::testing
