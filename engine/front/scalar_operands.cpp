// SPDX-License-Identifier: MIT
// Scalar operands: weakly typed until they meet a tensor, then constants; common values are cached.
#include <array>
#include <bit>
#include <memory>

#include "core/graph/builder.hpp"
#include "core/graph/op_ids.hpp"
#include "core/value/hash.hpp"
#include "engine/run/arrays.hpp"
#include "engine/run/devices.hpp"
#include "ops/define.hpp"

namespace tyto::core {

namespace {

struct Cached {
  Scalar number;
  DType dtype = DType::boolean;
  Value value;
};

struct CachedFill {
  Scalar number;
  std::shared_ptr<const Attributes> attributes;
};

// On the heap: a library with much memory of its own in each thread cannot be loaded by a program that already runs.
template <class Entry>
using Recent = std::array<Entry, 256>;

std::size_t slot_of(const Scalar& value, DType dtype) {
  const bool whole = !value.is_floating() && !value.is_complex();
  const auto bits = (whole ? value.as_unsigned() : std::bit_cast<std::uint64_t>(value.as_double())) ^
                    std::bit_cast<std::uint64_t>(value.imaginary());
  return core::mixed_hash(static_cast<std::uint64_t>(dtype), bits);
}

}  // namespace

// The node is a new one each time, since a gradient may be taken of it; what it says is shared with earlier ones.
Value weak_scalar(const Scalar& value) {
  thread_local const auto kept = std::make_unique<Recent<CachedFill>>();
  Recent<CachedFill>& recent = *kept;
  const TensorType type{value.default_dtype(), {}, true};
  CachedFill& slot = recent[slot_of(value, type.dtype) % recent.size()];
  if (!slot.attributes || !is_same(slot.number, value)) {
    slot = {value, std::make_shared<const Attributes>(RangeAttributes{{}, type.dtype, value, 0})};
  }
  return Value(new Node(OpId::fill, Mode::neutral, slot.attributes, {}, {&type, 1}), 0);
}

Value scalar_constant(const Scalar& value, DType dtype) {
  thread_local const auto kept = std::make_unique<Recent<Cached>>();
  Recent<Cached>& recent = *kept;
  Cached& slot = recent[slot_of(value, dtype) % recent.size()];
  if (slot.value && slot.dtype == dtype && is_same(slot.number, value)) return slot.value;
  core::Array array = run::new_array(run::cpu_device(), dtype, {});
  const Attributes fill = RangeAttributes{{}, dtype, value, 0};
  const Operand result{dtype, array.view};
  const Address target = run::address_of(array);
  run::cpu_device().prepare({OpId::fill, &fill, {}, {&result, 1}})->launch({}, {&target, 1}, {});
  slot = {value, dtype, constant(Mode::neutral, std::move(array))};
  return slot.value;
}

}  // namespace tyto::core
