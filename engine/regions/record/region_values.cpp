// SPDX-License-Identifier: MIT
// Checks the inputs and results of regions, with the same errors in both modes.
#include "engine/regions/record/region_values.hpp"

#include "core/graph/builder.hpp"
#include "core/graph/op_ids.hpp"
#include "core/value/text.hpp"
#include "ops/define.hpp"

namespace tyto::run {

namespace {

std::string shown(const Value& value) { return core::text(value.dtype(), value.shape()); }

Value without_axes(const Value& value) {
  if (value.ndim() == 0) return value;
  return core::emit(core::OpId::reshape, core::ListAttributes{Shape{}}, {value});
}

}  // namespace

std::vector<Value> strong(std::string_view op, std::span<const Value> values) {
  std::vector<Value> out;
  for (const Value& value : values) {
    core::require(op, value);
    out.push_back(core::cast_to(value, value.dtype()));
  }
  return out;
}

Value one_truth(std::string_view op, std::string_view what, const Value& value) {
  core::require(op, value);
  const Value current = core::resolve(value);
  if (element_count(current.shape()) != 1) {
    core::throw_error<ShapeError>(op, ": ", what, " is ", shown(current), "; it must be one bool");
  }
  if (current.dtype() != DType::boolean) {
    core::throw_error<TypeError>(op, ": ", what, " is ", shown(current), "; it must be one bool");
  }
  return without_axes(core::cast_to(current, DType::boolean));
}

Value one_number(std::string_view op, std::string_view what, const Value& value) {
  core::require(op, value);
  const Value current = core::resolve(value);
  if (element_count(current.shape()) != 1) {
    core::throw_error<ShapeError>(op, ": ", what, " is ", shown(current), "; it must be a single integer");
  }
  if (!is_integer(current.dtype())) {
    core::throw_error<TypeError>(op, ": ", what, " is ", shown(current), "; it must be a single integer");
  }
  return without_axes(core::cast_to(current, DType::i64));
}

std::vector<Value> next_carries(std::string_view op, std::span<const Value> carries, std::span<const Value> results) {
  if (results.size() < carries.size()) {
    core::throw_error<GraphError>(op, ": the body yields ", results.size(), " tensors for ", carries.size(),
                                  " carries");
  }
  std::vector<Value> next;
  for (std::size_t i = 0; i < carries.size(); ++i) {
    core::require(op, results[i]);
    Value value = core::resolve(results[i]);
    const core::TensorType carry = type_of(carries[i]);
    // A number takes the carry's type where it can.
    const bool weak = core::result_of(value).type.weak;
    value = core::cast_to(value,
                          weak && is_floating(value.dtype()) == is_floating(carry.dtype) ? carry.dtype : value.dtype());
    const auto mismatch = [&](const char* what) {
      return core::text(op, ": carry ", i, " is ", carry.dtype, carry.shape, ", the body yields ", shown(value),
                        "; what a loop carries keeps its ", what);
    };
    if (value.shape() != carry.shape) throw ShapeError(mismatch("shape"));
    if (value.dtype() != carry.dtype) throw TypeError(mismatch("type; cast one of them with astype"));
    next.push_back(std::move(value));
  }
  return next;
}

std::int64_t rows_of(std::string_view op, std::span<const Value> stacks) {
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    if (stacks[i].ndim() == 0) {
      core::throw_error<ShapeError>(op, ": xs ", i, " is ", shown(stacks[i]), "; it has no axis to take rows along");
    }
    if (stacks[i].shape()[0] != stacks[0].shape()[0]) {
      core::throw_error<ShapeError>(op, ": xs ", i, " has ", stacks[i].shape()[0], " rows, xs 0 has ",
                                    stacks[0].shape()[0]);
    }
  }
  return stacks[0].shape()[0];
}

core::TensorType row_type(const Value& stack) {
  core::TensorType type{stack.dtype(), stack.shape(), false};
  type.shape.erase(0);
  return type;
}

void check_call(const detail::LoopCall& call) {
  const bool scans = !call.condition && !call.range;
  if (call.options.most < 0) {
    core::throw_error<ValueError>(call.name, ": `most` is ", call.options.most, "; it must be positive, or 0 for none");
  }
  if (call.options.reverse && (!scans || call.stops)) {
    core::throw_error<ValueError>(call.name, ": only scan runs in reverse");
  }
  if (scans && call.options.most != 0) core::throw_error<ValueError>(call.name, ": `most` is the number of rows");
  if (scans && call.stacks.empty()) core::throw_error<GraphError>(call.name, ": there is no tensor to take rows of");
}

}  // namespace tyto::run
