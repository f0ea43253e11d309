// SPDX-License-Identifier: MIT
// check_bounds: checks that integers lie in a range, with an error that names the function that was given them.
#include "core/graph/op_ids.hpp"
#include "ops/define.hpp"
#include "ops/samples.hpp"
#include "tyto/indexing.hpp"

namespace tyto::core {

namespace {

std::vector<TensorType> infer_check_bounds(const Attributes& attributes, std::span<const TensorType> inputs) {
  const auto& bounds = get<BoundsAttributes>(attributes);
  if (!is_integer(inputs[0].dtype)) {
    throw_error<TypeError>(bounds.caller, ": a ", bounds.subject, " is an integer, not ", inputs[0].dtype);
  }
  if (bounds.high < bounds.low && element_count(inputs[0].shape) > 0) {
    throw_error<IndexError>(bounds.caller, ": no ", bounds.subject, " is in range; there are no ", bounds.range);
  }
  return one(inputs[0].dtype, inputs[0].shape);
}

}  // namespace

std::span<const OpDef> bounds_operators() {
  static const OpDef rows[] = {
      {.id = OpId::check_bounds,
       .doc = "Integers as they are; an error where one lies outside of a range.",
       .in_place = InPlace::same_index,
       .infer = infer_check_bounds,
       .sample = [](DType t) -> Value { return check_bounds(samples::line(t), {.low = 0, .high = 4}); }},
  };
  return rows;
}

}  // namespace tyto::core

namespace tyto TYTO_API {

template <class M>
Tensor<M> check_bounds(const Tensor<M>& x, const IntegerBounds& bounds) {
  const Value given = core::given(bounds.caller, x);
  core::BoundsAttributes attributes{bounds.low, bounds.high, bounds.caller, bounds.subject, bounds.range};
  return core::emit(core::OpId::check_bounds, std::move(attributes), {core::cast_to(given, given.dtype())});
}

TYTO_INSTANTIATE(check_bounds)

}  // namespace TYTO_API
