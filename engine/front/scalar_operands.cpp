// SPDX-License-Identifier: MIT
// Scalar operands: weakly typed until they meet a tensor, then constants; common values are cached.
#include <array>
#include <bit>
#include <memory>

#include "core/graph/builder.hpp"
#include "core/graph/op_ids.hpp"
#include "core/value/hash.hpp"
#include "engine/graph/function_scope.hpp"
#include "engine/run/arrays.hpp"
#include "engine/run/devices.hpp"
#include "ops/define.hpp"

namespace tyto::core {

namespace {

struct Cached {
  Scalar number;
  DType dtype = DType::boolean;
  std::uint64_t trace = 0;
  Value value;
};

struct CachedFill {
  Scalar number;
  std::shared_ptr<const Attributes> attributes;
};

struct RecentNumbers {
  std::array<CachedFill, 256> fills;
  std::array<Cached, 256> constants;
};

// On the heap: a library with much memory of its own in each thread cannot be loaded by a program that already runs.
RecentNumbers& recent_numbers() {
  thread_local const auto recent = std::make_unique<RecentNumbers>();
  return *recent;
}

std::size_t slot_of(const Scalar& value, DType dtype) {
  const bool whole = !value.is_floating() && !value.is_complex();
  const auto bits = (whole ? value.as_unsigned() : std::bit_cast<std::uint64_t>(value.as_double())) ^
                    std::bit_cast<std::uint64_t>(value.imaginary());
  return core::mixed_hash(static_cast<std::uint64_t>(dtype), bits);
}

Value filled_with(const Scalar& value, DType dtype) {
  core::Array array = run::new_array(run::cpu_device(), dtype, {});
  const Attributes fill = RangeAttributes{{}, dtype, value, 0};
  const Operand result{dtype, array.view};
  const Address target = run::address_of(array);
  run::cpu_device().prepare({OpId::fill, &fill, {}, {&result, 1}})->launch({}, {&target, 1}, {});
  return constant(Mode::neutral, std::move(array));
}

}  // namespace

// The node is a new one each time, since a gradient may be taken of it; what it says is shared with earlier ones.
Value weak_scalar(const Scalar& value) {
  std::array<CachedFill, 256>& recent = recent_numbers().fills;
  const TensorType type{value.default_dtype(), {}, true};
  CachedFill& slot = recent[slot_of(value, type.dtype) % recent.size()];
  if (!slot.attributes || !is_same(slot.number, value)) {
    slot = {value, std::make_shared<const Attributes>(RangeAttributes{{}, type.dtype, value, 0})};
  }
  return Value(new Node(OpId::fill, Mode::neutral, slot.attributes, {}, {&type, 1}), 0);
}

// A function being traced has constants of its own, so that what is older was made outside.
Value scalar_constant(const Scalar& value, DType dtype, const Value& written) {
  const run::FunctionScope* const function = run::FunctionScope::innermost();
  const std::uint64_t trace = function == nullptr ? 0 : function->since();
  std::array<Cached, 256>& recent = recent_numbers().constants;
  Cached& slot = recent[slot_of(value, dtype) % recent.size()];
  const bool known = slot.value && slot.dtype == dtype && slot.trace == trace && is_same(slot.number, value);
  if (!known) slot = {value, dtype, trace, filled_with(value, dtype)};
  if (!written || written.node()->sequence() >= trace) return slot.value;
  Value number = written;
  auto* const cast = new Node(OpId::cast, Mode::neutral, std::make_shared<const Attributes>(CastAttributes{dtype}),
                              {&number, 1}, {&result_of(slot.value).type, 1});
  cast->result(0).array = result_of(slot.value).array;
  return Value(cast, 0);
}

}  // namespace tyto::core
