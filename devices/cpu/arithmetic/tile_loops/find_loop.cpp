// SPDX-License-Identifier: MIT
// Lookup in the tables of compiled loops.
#include "devices/cpu/arithmetic/tile_loops/find_loop.hpp"

#include "core/value/text.hpp"

namespace tyto::cpu {

TileLoop find_loop(const TileLoops& loops, core::OpId op, DType type) {
  const TileLoop* table = nullptr;
  switch (type) {
    case DType::boolean: table = loops.boolean; break;
    case DType::i32: table = loops.i32; break;
    case DType::i64: table = loops.i64; break;
    case DType::u64: table = loops.u64; break;
    case DType::f32: table = loops.f32; break;
    case DType::f64: table = loops.f64; break;
    default: break;
  }
  const TileLoop loop = table == nullptr ? nullptr : table[static_cast<std::size_t>(op)];
  if (loop != nullptr) return loop;
  core::throw_error<DeviceError>("cpu: ", core::definition(op).name, " has no loop on ", name_of(type));
}

std::uint64_t element_bits(const TileLoops& loops, const Scalar& number, DType type) {
  std::uint64_t bits = 0;
  const auto converted = [&](DType from, auto value) {
    conversion(loops, from, type)(&bits, &value, nullptr, nullptr, 1);
  };
  if (number.is_floating()) converted(DType::f64, number.as_double());
  else if (number.is_large()) converted(DType::u64, number.as_unsigned());
  else converted(DType::i64, number.as_int());
  return bits;
}

}  // namespace tyto::cpu
