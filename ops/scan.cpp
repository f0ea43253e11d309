// SPDX-License-Identifier: MIT
// Scans along an axis: their shape and type rules, and gradients.
#include "core/graph/op_ids.hpp"
#include "ops/define.hpp"
#include "ops/samples.hpp"
#include "tyto/indexing.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"

namespace tyto::core {

namespace {

using T = AnyTensor;

const ScanAttributes& scan_of(const Attributes& attributes) { return get<ScanAttributes>(attributes); }

std::vector<TensorType> infer_scan(const Attributes& attributes, std::span<const TensorType> inputs) {
  (void)axis_among("cumsum/cumprod", scan_of(attributes).axis, inputs[0].shape);
  return one(accumulation_type(inputs[0].dtype), inputs[0].shape);
}

std::vector<TensorType> infer_extreme_scan(const Attributes& attributes, std::span<const TensorType> inputs) {
  (void)axis_among("cummin/cummax", scan_of(attributes).axis, inputs[0].shape);
  if (scan_of(attributes).exclusive)
    throw ValueError("cummin/cummax: there is no exclusive form, nothing has no extreme");
  return one(inputs[0].dtype, inputs[0].shape);
}

// Element i counts in every sum from i on, so the gradient is the sum of theirs: the scan run the other way.
std::vector<Value> cumsum_gradient(const GradientContext& c) {
  if (!is_floating(c.inputs[0].dtype())) return {Value()};
  ScanAttributes back = scan_of(c.attributes);
  back.reverse = !back.reverse;
  return {emit(OpId::cumsum, back, {c.gradients[0]})};
}

/// Each element replaced by the one that the scan reaches `distance` steps later, zeros where there is none.
T ahead(const T& x, const ScanAttributes& scan, std::int64_t distance) {
  const auto axis = static_cast<std::size_t>(scan.axis);
  const std::int64_t rest = x.shape()[axis] - distance;
  IntList before(x.shape().size(), 0), after(x.shape().size(), 0);
  (scan.reverse ? before : after)[axis] = distance;
  return pad(T(part_along(x, axis, scan.reverse ? 0 : distance, rest)), before, after);
}

// d y_j / d x_i is the product of the elements before i, times those between i and j. The first factor is an
// exclusive scan. Summed over j with the gradients g_j, the second is s_i = g_i + x_(i+1) s_(i+1), a linear recurrence;
// doubling solves it in log2(n) steps without a division, so zeros are right, in higher derivatives too.
std::vector<Value> cumprod_gradient(const GradientContext& c) {
  const T x = c.inputs[0];
  if (!is_floating(x.dtype())) return {Value()};
  const ScanAttributes& scan = scan_of(c.attributes);
  const std::int64_t length = x.shape()[static_cast<std::size_t>(scan.axis)];
  if (length == 0) return {c.gradients[0]};
  T sums = scan.exclusive ? ahead(c.gradients[0], scan, 1) : T(c.gradients[0]);
  T products = ahead(x, scan, 1);
  for (std::int64_t distance = 1; distance < length; distance *= 2) {
    sums = sums + products * ahead(sums, scan, distance);
    if (2 * distance < length) products = products * ahead(products, scan, distance);
  }
  const T before =
      scan.exclusive ? T(c.results[0]) : cumprod(x, scan.axis, {.exclusive = true, .reverse = scan.reverse});
  return {before * sums};
}

// The gradient goes to the position that gave the extreme: the last one, in the scan's direction, at which the running
// extreme was met or (NaN, which stays) begun. That position is itself a running extreme, of positions.
std::vector<Value> extreme_scan_gradient(const GradientContext& c) {
  const T x = c.inputs[0];
  if (!is_floating(x.dtype())) return {Value()};
  const ScanAttributes& scan = scan_of(c.attributes);
  const auto axis = static_cast<std::size_t>(scan.axis);
  const std::int64_t length = x.shape()[axis];
  Shape along(x.shape().size(), 1);
  along[axis] = length;
  const T count = emit(mode_like(x), OpId::arange, RangeAttributes{{length}, DType::i64, 0, 1});
  const T met = logical_or(equal(x, c.results[0]), isnan(x));
  const T positions = where(met, reshape(count, along), scan.reverse ? length - 1 : 0);
  const T origin = scan.reverse ? cummin(positions, scan.axis, true) : cummax(positions, scan.axis);
  return {added_along_axis(x.shape(), origin, c.gradients[0], axis)};
}

}  // namespace

std::span<const OpDef> scan_operators() {
  static const OpDef rows[] = {
      {.id = OpId::cumsum,
       .doc = "Running sum.",
       .traits = traits(Traits::linear),
       .infer = infer_scan,
       .gradient = cumsum_gradient,
       .sample = [](DType t) -> Value { return cumsum(samples::line(t), 0); }},
      {.id = OpId::cumprod,
       .doc = "Running product.",
       .infer = infer_scan,
       .gradient = rule_in_f32<cumprod_gradient>,
       .sample = [](DType t) -> Value { return cumprod(samples::line(t), 0); }},
      {.id = OpId::cummin,
       .doc = "Running minimum.",
       .infer = infer_extreme_scan,
       .gradient = extreme_scan_gradient,
       .sample = [](DType t) -> Value { return cummin(samples::line(t), 0); }},
      {.id = OpId::cummax,
       .doc = "Running maximum.",
       .infer = infer_extreme_scan,
       .gradient = extreme_scan_gradient,
       .sample = [](DType t) -> Value { return cummax(samples::line(t), 0); }},
  };
  return rows;
}

namespace {

// Each element becomes the product of twice as many up to it, until all are in.
T complex_running_product(const T& given_x, const ScanAttributes& scan) {
  T x = scan.reverse ? flip(given_x, scan.axis) : given_x;
  const auto axis = static_cast<std::size_t>(scan.axis);
  const std::int64_t length = x.shape()[axis];
  const auto part = [&](std::int64_t start, std::int64_t count) { return T(part_along(x, axis, start, count)); };
  if (scan.exclusive && length > 0) x = concat<Any>({ones_like(part(0, 1)), part(0, length - 1)}, scan.axis);
  for (std::int64_t done = 1; done < length; done *= 2) {
    x = concat<Any>({part(0, done), part(done, length - done) * part(0, length - done)}, scan.axis);
  }
  return scan.reverse ? flip(x, scan.axis) : x;
}

Value run_scan(OpId id, const Value& x, std::int64_t axis, bool exclusive, bool reverse) {
  const ScanAttributes along{normalise_axis(definition(id).name, axis, x.ndim()), exclusive, reverse};
  if (id == OpId::cumprod && is_complex(x.dtype())) return complex_running_product(resolve(x), along);
  const bool in_parts = id == OpId::cumsum && is_complex(x.dtype());
  return in_parts ? of_parts(emit(id, along, {as_parts(resolve(x))})) : emit(id, along, {x});
}

}  // namespace

}  // namespace tyto::core

namespace tyto TYTO_API {

using core::OpId;

template <class M>
Tensor<M> cumsum(const Tensor<M>& x, std::optional<std::int64_t> axis, const ScanOptions& options) {
  core::require("cumsum", x);
  return core::run_scan(OpId::cumsum, axis ? x : ravel(x), axis.value_or(0), options.exclusive, options.reverse);
}
template <class M>
Tensor<M> cumprod(const Tensor<M>& x, std::optional<std::int64_t> axis, const ScanOptions& options) {
  core::require("cumprod", x);
  return core::run_scan(OpId::cumprod, axis ? x : ravel(x), axis.value_or(0), options.exclusive, options.reverse);
}
template <class M>
Tensor<M> cummin(const Tensor<M>& x, std::int64_t axis, Flag reverse) {
  core::require("cummin", x);
  return core::run_scan(OpId::cummin, x, axis, false, reverse);
}
template <class M>
Tensor<M> cummax(const Tensor<M>& x, std::int64_t axis, Flag reverse) {
  core::require("cummax", x);
  return core::run_scan(OpId::cummax, x, axis, false, reverse);
}

TYTO_INSTANTIATE(cumsum)
TYTO_INSTANTIATE(cumprod)
TYTO_INSTANTIATE(cummin)
TYTO_INSTANTIATE(cummax)

}  // namespace TYTO_API
