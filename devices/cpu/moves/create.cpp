// SPDX-License-Identifier: MIT
// Kernels that make tensors from nothing: constants, ranges, diagonals, one-hot rows.
#include <array>
#include <cstring>

#include "core/graph/op_ids.hpp"
#include "devices/cpu/arithmetic/tile_loops/find_loop.hpp"
#include "devices/cpu/device/kernels.hpp"
#include "devices/cpu/system/instruction_set.hpp"
#include "devices/cpu/system/machine.hpp"
#include "devices/cpu/system/threads.hpp"

namespace tyto::cpu {

namespace {

using core::Address;
using core::OpId;

constexpr std::int64_t numbers_at_once = 256;

StridedLoop filler(DType type) { return tile_loops(instruction_set()).gather[width_index(type)]; }

std::byte* start_of(const core::Operand& operand, const Address& address) {
  return address.pointer() + operand.view.offset * static_cast<std::int64_t>(size_of(operand.dtype));
}

/// One element as stored, in the low bytes.
struct Element {
  std::uint64_t bits = 0;
};

Element element_of(Scalar value, DType type) { return {element_bits(tile_loops(instruction_set()), value, type)}; }

int threads_to_write(std::int64_t bytes) {
  return threads_for(machine::nanoseconds_to_move(static_cast<double>(bytes)));
}

KernelRef prepare_complex_fill(const Scalar& number, const core::Operand& result) {
  const DType part = real_type(result.dtype);
  const Element real = element_of(number.as_double(), part), imaginary = element_of(number.imaginary(), part);
  std::array<std::byte, 2 * sizeof(double)> pair{};
  const auto width = static_cast<std::int64_t>(size_of(result.dtype));
  std::memcpy(pair.data(), &real.bits, size_of(part));
  std::memcpy(pair.data() + size_of(part), &imaginary.bits, size_of(part));
  const bool zero = (real.bits | imaginary.bits) == 0;
  const std::int64_t count = result.view.count();
  const int wanted = threads_to_write(count * width);
  return make_clearing_kernel([=](Addresses, Addresses outputs, bool holds_zeros) {
    if (holds_zeros && zero) return;
    run_team(wanted, [&](Team team) {
      const Range mine = share(count, team.member, team.size, 64);
      std::byte* out = start_of(result, outputs[0]) + mine.begin * width;
      for (std::int64_t i = 0; i < mine.size(); ++i, out += width) {
        std::memcpy(out, pair.data(), static_cast<std::size_t>(width));
      }
    });
  });
}

KernelRef prepare_fill(const core::Step& step) {
  const auto& attributes = std::get<core::RangeAttributes>(*step.attributes);
  const core::Operand result = step.outputs[0];
  if (is_complex(result.dtype)) return prepare_complex_fill(attributes.start, result);
  const Element element = element_of(attributes.start, result.dtype);
  const auto width = static_cast<std::int64_t>(size_of(result.dtype));
  const std::int64_t count = result.view.count();
  const int wanted = threads_to_write(count * width);
  return make_clearing_kernel([=, fill = filler(result.dtype)](Addresses, Addresses outputs, bool holds_zeros) {
    if (holds_zeros && element.bits == 0) return;
    std::byte* out = start_of(result, outputs[0]);
    run_team(wanted, [&](Team team) {
      const Range mine = share(count, team.member, team.size, 64);
      fill(out + mine.begin * width, &element.bits, 0, static_cast<std::size_t>(mine.size()));
    });
  });
}

/// Terms are computed each from its index, in i64 or f64, so that no error accumulates and any split is the same.
template <class T>
KernelRef arange_kernel(const core::Operand& result, T start, T step) {
  const TileLoop store = conversion(tile_loops(instruction_set()), dtype_of<T>, result.dtype);
  const auto width = static_cast<std::int64_t>(size_of(result.dtype));
  const std::int64_t count = result.view.count();
  const int wanted = threads_for(static_cast<double>(count) * machine::filled_element);
  return make_kernel([=](Addresses, Addresses outputs, Address) {
    std::byte* out = start_of(result, outputs[0]);
    run_team(wanted, [&](Team team) {
      const Range mine = share(count, team.member, team.size, 64);
      T terms[numbers_at_once];
      for (std::int64_t begin = mine.begin; begin < mine.end; begin += numbers_at_once) {
        const std::int64_t length = std::min(numbers_at_once, mine.end - begin);
        for (std::int64_t i = 0; i < length; ++i) {
          if constexpr (std::is_same_v<T, double>) {
            terms[i] = start + static_cast<double>(begin + i) * step;
          } else {
            terms[i] = static_cast<T>(static_cast<std::uint64_t>(start) +
                                      static_cast<std::uint64_t>(begin + i) * static_cast<std::uint64_t>(step));
          }
        }
        store(out + begin * width, terms, nullptr, nullptr, static_cast<std::size_t>(length));
      }
    });
  });
}

KernelRef prepare_arange(const core::Step& step) {
  const auto& attributes = std::get<core::RangeAttributes>(*step.attributes);
  if (attributes.start.is_floating() || attributes.step.is_floating()) {
    return arange_kernel<double>(step.outputs[0], attributes.start.as_double(), attributes.step.as_double());
  }
  // Terms wrap round, so that those of u64 are the same bits.
  return arange_kernel<std::int64_t>(step.outputs[0], static_cast<std::int64_t>(attributes.start.as_unsigned()),
                                     static_cast<std::int64_t>(attributes.step.as_unsigned()));
}

KernelRef prepare_eye(const core::Step& step) {
  const auto& attributes = std::get<core::RangeAttributes>(*step.attributes);
  const core::Operand result = step.outputs[0];
  const std::int64_t rows = result.view.shape[0], columns = result.view.shape[1];
  const std::int64_t diagonal = attributes.start.as_int();
  const auto width = static_cast<std::int64_t>(size_of(result.dtype));
  const Element one = element_of(1, result.dtype);
  const int wanted = threads_to_write(rows * columns * width);
  return make_clearing_kernel([=](Addresses, Addresses outputs, bool holds_zeros) {
    std::byte* out = start_of(result, outputs[0]);
    run_team(wanted, [&](Team team) {
      const Range mine = share(rows, team.member, team.size);
      const auto bytes = static_cast<std::size_t>(mine.size() * columns * width);
      if (bytes == 0) return;
      if (!holds_zeros) std::memset(out + mine.begin * columns * width, 0, bytes);
      for (std::int64_t row = mine.begin; row < mine.end; ++row) {
        // Compared before it is added: the diagonal may be any 64-bit number.
        if (diagonal < -row || diagonal >= columns - row) continue;
        std::memcpy(out + (row * columns + row + diagonal) * width, &one.bits, static_cast<std::size_t>(width));
      }
    });
  });
}

/// Reads the indices through the conversion to i64, a run at a time, whatever their type. Those outside mark nothing.
KernelRef prepare_one_hot(const core::Step& step) {
  const auto& attributes = std::get<core::ListAttributes>(*step.attributes);
  const core::Operand indices = step.inputs[0], result = step.outputs[0];
  const std::int64_t depth = attributes.list[0];
  // Without classes there are no elements, and possibly no memory for them.
  const std::int64_t rows = depth == 0 ? 0 : indices.view.count();
  const auto width = static_cast<std::int64_t>(size_of(result.dtype));
  const auto index_width = static_cast<std::int64_t>(size_of(indices.dtype));
  const Element one = element_of(1, result.dtype);
  const TileLoop load = conversion(tile_loops(instruction_set()), indices.dtype, DType::i64);
  const int wanted = threads_to_write(rows * depth * width);
  return make_clearing_kernel([=](Addresses inputs, Addresses outputs, bool holds_zeros) {
    const std::byte* in = start_of(indices, inputs[0]);
    std::byte* out = start_of(result, outputs[0]);
    run_team(wanted, [&](Team team) {
      const Range mine = share(rows, team.member, team.size);
      std::int64_t hot[numbers_at_once];
      for (std::int64_t begin = mine.begin; begin < mine.end; begin += numbers_at_once) {
        const std::int64_t length = std::min(numbers_at_once, mine.end - begin);
        load(hot, in + begin * index_width, nullptr, nullptr, static_cast<std::size_t>(length));
        if (!holds_zeros) {
          std::memset(out + begin * depth * width, 0, static_cast<std::size_t>(length * depth * width));
        }
        for (std::int64_t i = 0; i < length; ++i) {
          if (hot[i] < 0 || hot[i] >= depth) continue;
          std::memcpy(out + ((begin + i) * depth + hot[i]) * width, &one.bits, static_cast<std::size_t>(width));
        }
      }
    });
  });
}

constexpr KernelEntry create_entries[] = {
    {OpId::fill, prepare_fill},
    {OpId::arange, prepare_arange},
    {OpId::eye, prepare_eye},
    {OpId::one_hot, prepare_one_hot, all_dense},
};

}  // namespace

std::span<const KernelEntry> create_kernels() { return create_entries; }

}  // namespace tyto::cpu
