// SPDX-License-Identifier: MIT
// Reductions over axes: their shape and type rules, gradients, and the functions made of them.
#include "tyto/reduce.hpp"
#include "core/graph/op_ids.hpp"
#include "core/loop/loop_builder.hpp"
#include "ops/samples.hpp"

#include <array>

#include "ops/define.hpp"
#include "ops/planned.hpp"
#include "tyto/indexing.hpp"
#include "tyto/shaping.hpp"

namespace tyto::core {

namespace {

using T = AnyTensor;

const AxesAttributes& axes_of(const Attributes& attributes) { return get<AxesAttributes>(attributes); }

Shape result_shape(const Attributes& attributes, std::span<const TensorType> inputs) {
  check_axes("reduction", axes_of(attributes).axes, inputs[0].shape);
  return reduced_shape(inputs[0].shape, axes_of(attributes).axes, axes_of(attributes).keepdims);
}

std::vector<TensorType> infer_reduction(const Attributes& attributes, std::span<const TensorType> inputs) {
  return one(inputs[0].dtype, result_shape(attributes, inputs));
}

// Kernels read and write one byte an element.
template <OpId id>
std::vector<TensorType> infer_truth(const Attributes& attributes, std::span<const TensorType> inputs) {
  if (inputs[0].dtype != DType::boolean) {
    throw_error<TypeError>(definition(id).name, ": truths are needed, not ", inputs[0].dtype);
  }
  return infer_reduction(attributes, inputs);
}

std::vector<TensorType> infer_accumulation(const Attributes& attributes, std::span<const TensorType> inputs) {
  const DType type = inputs[0].dtype;
  return one(accumulation_type(type), result_shape(attributes, inputs));
}

template <OpId id>
std::vector<TensorType> infer_extreme(const Attributes& attributes, std::span<const TensorType> inputs) {
  check_axes(definition(id).name, axes_of(attributes).axes, inputs[0].shape);
  for (const std::int64_t axis : axes_of(attributes).axes) {
    if (inputs[0].shape[static_cast<std::size_t>(axis)] == 0) {
      throw_error<ShapeError>(definition(id).name, ": axis ", axis, " of shape ", inputs[0].shape,
                              " is empty, so it has no extreme");
    }
  }
  return infer_reduction(attributes, inputs);
}

std::vector<TensorType> infer_variance(const Attributes& attributes, std::span<const TensorType> inputs) {
  const auto& variance = get<VarianceAttributes>(attributes);
  check_axes("var/std", variance.axes, inputs[0].shape);
  return one(inputs[0].dtype, reduced_shape(inputs[0].shape, variance.axes, variance.keepdims));
}

template <OpId id>
std::vector<TensorType> infer_position(const Attributes& attributes, std::span<const TensorType> inputs) {
  const auto& position = get<ArgAttributes>(attributes);
  if (inputs[0].shape[axis_among(definition(id).name, position.axis, inputs[0].shape)] == 0) {
    throw_error<ShapeError>(definition(id).name, ": axis ", position.axis, " of shape ", inputs[0].shape,
                            " is empty, so it has no extreme");
  }
  return one(DType::i64, reduced_shape(inputs[0].shape, {position.axis}, position.keepdims));
}

/// A reduced tensor with its reduced axes back, as ones.
T with_axes(const T& reduced, const Shape& full, const IntList& axes) {
  return reshape(reduced, reduced_shape(full, axes, true));
}

std::int64_t count_over(const Shape& shape, const IntList& axes) {
  std::int64_t count = 1;
  for (const std::int64_t axis : axes) count *= shape[static_cast<std::size_t>(axis)];
  return count;
}

std::vector<Value> sum_gradient(const GradientContext& c) {
  const T& x = c.inputs[0];
  if (!is_floating(x.dtype())) return {Value()};
  return {broadcast_to(with_axes(c.gradients[0], x.shape(), axes_of(c.attributes).axes), x.shape())};
}

std::vector<Value> mean_gradient(const GradientContext& c) {
  const T x = c.inputs[0];
  const IntList& axes = axes_of(c.attributes).axes;
  const T each = T(c.gradients[0]) * (1.0 / static_cast<double>(count_over(x.shape(), axes)));
  return {broadcast_to(with_axes(each, x.shape(), axes), x.shape())};
}

// d prod / dx_i is the product of the others. Exclusive running products from both ends give it without dividing,
// so zeros are right; several axes are brought together at the end first.
std::vector<Value> prod_gradient(const GradientContext& c) {
  const T x = c.inputs[0];
  if (!is_floating(x.dtype())) return {Value()};
  const IntList& axes = axes_of(c.attributes).axes;
  const T g = with_axes(c.gradients[0], x.shape(), axes);
  if (axes.empty()) return {g};
  IntList order;
  for (std::int64_t i = 0; i < x.ndim(); ++i) {
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) order.push_back(i);
  }
  const std::size_t kept = order.size();
  for (const std::int64_t axis : axes) order.push_back(axis);
  const T moved = transpose(x, order);
  Shape merged(std::span<const std::int64_t>(moved.shape().data(), kept));
  merged.push_back(count_over(x.shape(), axes));
  const T flat = reshape(moved, merged);
  const T others = cumprod(flat, -1, {.exclusive = true}) * cumprod(flat, -1, {.exclusive = true, .reverse = true});
  return {g * transpose(reshape(others, moved.shape()), core::inverse_order(order))};
}

std::vector<Value> variance_gradient(const GradientContext& c) {
  const T x = c.inputs[0];
  const auto& variance = get<VarianceAttributes>(c.attributes);
  const double divisor = static_cast<double>(count_over(x.shape(), variance.axes) - variance.ddof);
  const T g = with_axes(c.gradients[0], x.shape(), variance.axes);
  return {(2.0 / divisor) * g * (x - mean(x, variance.axes, true))};
}

// Equal extremes share the gradient evenly, so that a permutation of the input permutes the gradient.
std::vector<Value> extreme_gradient(const GradientContext& c) {
  const T x = c.inputs[0];
  const IntList& axes = axes_of(c.attributes).axes;
  const T chosen = cast(equal(x, with_axes(c.results[0], x.shape(), axes)), x.dtype());
  return {with_axes(c.gradients[0], x.shape(), axes) * chosen / sum(chosen, axes, true)};
}

std::vector<Value> logsumexp_gradient(const GradientContext& c) {
  const T x = c.inputs[0];
  const IntList& axes = axes_of(c.attributes).axes;
  // Among large numbers the result has lost the logarithm of their count, so the shares are made to add up to 1.
  const T share = exp(x - with_axes(c.results[0], x.shape(), axes));
  return {with_axes(c.gradients[0], x.shape(), axes) * share / sum(share, axes, true)};
}

OpDef reduction(OpId id, std::string_view doc, Inference infer, GradientRule gradient, Sample sample,
                std::uint32_t flags = 0) {
  OpDef def;
  def.id = id;
  def.doc = doc;
  def.traits = traits(Traits::reduction | flags);
  def.infer = infer;
  def.gradient = gradient;
  def.sample = sample;
  return def;
}

/// Whether |a - b| <= absolute + relative * |b|, or both are equal, as one loop: the answer is read at once, so no pass
/// would fuse its steps. In f32 where no operand is wider.
LoopProgram closeness(DType a, DType b, DType common, double relative, double absolute) {
  const bool narrow = (is_floating(common) && size_of(common) <= 4) || common == DType::c64;
  const DType real = narrow ? DType::f32 : DType::f64, type = is_complex(common) ? complex_type(real) : real;
  const auto exact = [&](double value) { return Scalar(narrow ? double(static_cast<float>(value)) : value); };
  LoopBuilder loop(std::array{a, b});
  const LoopValue x = loop.as(type, 0), y = loop.as(type, 1);
  const LoopValue distance = loop.apply(OpId::abs, real, {loop.apply(OpId::subtract, type, {x, y})});
  const LoopValue size = loop.apply(OpId::abs, real, {y});
  const LoopValue scaled = loop.apply(OpId::multiply, real, {size, loop.constant(exact(relative), real)});
  const LoopValue allowed = loop.apply(OpId::add, real, {scaled, loop.constant(exact(absolute), real)});
  const LoopValue near = loop.apply(OpId::less_equal, DType::boolean, {distance, allowed});
  // Nothing but itself is close to infinity, from which all is infinitely far.
  const LoopValue finite = loop.apply(OpId::isfinite, DType::boolean, {size});
  const LoopValue close = loop.apply(OpId::logical_and, DType::boolean, {finite, near});
  const LoopValue equal = loop.apply(OpId::equal, DType::boolean, {x, y});
  const LoopValue results[] = {loop.apply(OpId::logical_or, DType::boolean, {close, equal})};
  return loop.finish(results);
}

}  // namespace

std::span<const OpDef> reduce_operators() {
  static const OpDef rows[] = {
      reduction(
          OpId::sum, "Sum over axes.", infer_accumulation, sum_gradient,
          [](DType t) -> Value { return sum(samples::line(t)); }, Traits::linear),
      reduction(OpId::prod, "Product over axes.", infer_accumulation, rule_in_f32<prod_gradient>,
                [](DType t) -> Value { return prod(samples::line(t)); }),
      reduction(
          OpId::mean, "Mean over axes; of integers it is made of their sum.", infer_reduction, mean_gradient,
          [](DType t) -> Value { return mean(samples::line(t)); }, Traits::linear),
      reduction(OpId::var, "Variance over axes.", infer_variance, rule_in_f32<variance_gradient>,
                [](DType t) -> Value { return var(samples::line(t)); }),
      reduction(OpId::min, "Smallest over axes.", infer_extreme<OpId::min>, extreme_gradient,
                [](DType t) -> Value { return min(samples::line(t)); }),
      reduction(OpId::max, "Largest over axes.", infer_extreme<OpId::max>, extreme_gradient,
                [](DType t) -> Value { return max(samples::line(t)); }),
      reduction(OpId::argmin, "Position of the smallest.", infer_position<OpId::argmin>, nullptr,
                [](DType t) -> Value { return argmin(samples::line(t)); }),
      reduction(OpId::argmax, "Position of the largest.", infer_position<OpId::argmax>, nullptr,
                [](DType t) -> Value { return argmax(samples::line(t)); }),
      reduction(OpId::any, "Whether any is true.", infer_truth<OpId::any>, nullptr,
                [](DType t) -> Value { return any(samples::line(t)); }),
      reduction(OpId::all, "Whether all are true.", infer_truth<OpId::all>, nullptr,
                [](DType t) -> Value { return all(samples::line(t)); }),
      reduction(OpId::logsumexp, "log of the sum of exp.", infer_reduction, rule_in_f32<logsumexp_gradient>,
                [](DType t) -> Value { return logsumexp(samples::line(t)); }),
  };
  return rows;
}

namespace {

Value reduce_over(OpId id, const Value& x, const AxesAttributes& over) {
  const bool adds = id == OpId::sum || id == OpId::mean, in_parts = adds && is_complex(x.dtype());
  const auto is_single = [&](std::int64_t axis) { return x.shape()[static_cast<std::size_t>(axis)] == 1; };
  if ((adds || !is_complex(x.dtype())) && id != OpId::logsumexp && std::ranges::all_of(over.axes, is_single)) {
    const bool widens = (id == OpId::sum || id == OpId::prod) && !is_complex(x.dtype());
    const DType type = widens ? accumulation_type(x.dtype()) : x.dtype();
    const T each = reshape(T(cast_to(x, type)), reduced_shape(x.shape(), over.axes, over.keepdims));
    return adds && is_inexact(type) ? each + 0 : each;  // a sum begins with 0, so that of -0 it is 0
  }
  return in_parts ? of_parts(emit(id, over, {as_parts(resolve(x))})) : emit(id, over, {x});
}

Value reduce(OpId id, const Value& x, const Axes& axes, bool keepdims) {
  return reduce_over(id, x, {normalise_axes(definition(id).name, axes, x.ndim()), keepdims});
}

// The sum is exact: that of 64 bits is two sums, of the upper and of the lower half of each number.
T mean_of_integers(const T& x, const Axes& axes, bool keepdims) {
  const auto count = static_cast<double>(count_over(x.shape(), normalise_axes("mean", axes, x.ndim())));
  if (count == 1) return cast(sum(x, axes, keepdims), DType::f32);
  const auto total = [&](const T& part) { return cast(sum(part, axes, keepdims), DType::f64); };
  const bool wide = size_of(x.dtype()) == 8;
  const T upper = wide ? right_shift(x, 32) : x;
  const T whole = wide ? total(upper) * 0x1p32 + total(x - left_shift(upper, 32)) : total(x);
  return cast(whole / count, DType::f32);
}

constexpr std::int64_t factors_at_once = 8;

// The parts that cut the axis into eight of one length, multiplied: in one pass where it is planned.
T product_of_parts(const T& x, std::int64_t axis) {
  if (const Value planned = core::planned(&product_of_parts, x, axis)) return planned;
  const auto along = static_cast<std::size_t>(axis);
  const std::int64_t length = x.shape()[along] / factors_at_once;
  std::vector<T> factors;
  for (std::int64_t i = 0; i < factors_at_once; ++i) factors.push_back(part_along(x, along, i * length, length));
  for (std::size_t apart = 1; apart < factors.size(); apart *= 2) {
    for (std::size_t i = 0; i + apart < factors.size(); i += 2 * apart) factors[i] = factors[i] * factors[i + apart];
  }
  return factors[0];
}

// Parts times parts, until one is left: any product of two has its gradient. The axis keeps length one.
T product_along(const T& x, std::int64_t axis) {
  if (const Value planned = core::planned(&product_along, x, axis)) return planned;
  const auto along = static_cast<std::size_t>(axis);
  T product = x;
  while (product.shape()[along] >= 2 * factors_at_once) {
    const std::int64_t length = product.shape()[along], beyond = length % factors_at_once;
    const T whole = product;
    product = product_of_parts(part_along(whole, along, 0, length - beyond), axis);
    if (beyond != 0) product = concat<Any>({product, T(part_along(whole, along, length - beyond, beyond))}, axis);
  }
  while (product.shape()[along] > 1) {
    const std::int64_t length = product.shape()[along], half = length / 2;
    const T pairs = T(part_along(product, along, 0, half)) * T(part_along(product, along, half, half));
    product = length % 2 == 0 ? pairs : concat<Any>({pairs, T(part_along(product, along, length - 1, 1))}, axis);
  }
  return product;
}

Value complex_product(const T& x, const Axes& axes, bool keepdims) {
  const IntList over = normalise_axes("prod", axes, x.ndim());
  T product = x;
  for (const std::int64_t axis : over) {
    const auto along = static_cast<std::size_t>(axis);
    if (product.shape()[along] == 0) {
      Shape one = product.shape();
      one[along] = 1;
      product = emit(mode_like(x), OpId::fill, RangeAttributes{one, x.dtype(), Scalar(1), 0});
    }
    product = product_along(product, axis);
  }
  return keepdims ? product : reshape(product, reduced_shape(x.shape(), over, false));
}

// The variance of a complex number is the mean of squared distances, a real number.
Value complex_variance(const T& x, const Axes& axes, bool keepdims, std::int64_t ddof) {
  const VarianceAttributes attributes{normalise_axes("var", axes, x.ndim()), keepdims, 0};
  const T of_parts = emit(OpId::var, attributes, {as_parts(x)});
  const T variance = sum(of_parts, -1);
  if (ddof == 0) return variance;
  // Divided when both parts are added up: one that does not vary divides by nothing where there is no freedom left.
  const auto count = static_cast<double>(count_over(x.shape(), attributes.axes));
  return variance * (count / std::max(count - static_cast<double>(ddof), 0.0));
}

T sum_of_all_squares(const T& x) {
  if (const Value planned = core::planned(&sum_of_all_squares, x)) return planned;
  return sum(square(x));
}

// The sum under a norm: squares of a complex number's parts, since its absolute value has no second derivative at 0.
T sum_of_squares(const Value& x, const Axes& axes, bool keepdims) {
  if (!is_complex(x.dtype())) {
    const T given = as_floating(x);
    return axes.all() && !keepdims ? sum_of_all_squares(given) : sum(square(given), axes, keepdims);
  }
  const T parts = square(T(as_parts(x)));
  IntList over = normalise_axes("sum", axes, x.ndim());
  // Both ways in runs that lie side by side: along the last axis with its parts, or over whole rows of them.
  if (!over.empty() && over.back() != x.ndim() - 1) return sum(sum(parts, over, keepdims), -1);
  const Shape reduced = reduced_shape(x.shape(), over, keepdims);
  over.push_back(x.ndim());
  return reshape(sum(parts, over), reduced);
}

// The square root, with a gradient of zero at zero, where the norm of nothing and the deviation of equals have no
// other.
T root(const T& x) {
  const T none = equal(x, 0);
  return where(none, 0, sqrt(where(none, 1, x)));
}

/// The deviation by sums, which along the last axis read f16 as f32 where they add it up: before `var`, one operator,
/// it would be stored as f32.
T deviation_by_sums(const T& x, const Axes& axes, bool keepdims, std::int64_t ddof) {
  const auto count = static_cast<double>(count_over(x.shape(), normalise_axes("stddev", axes, x.ndim())));
  const T squares = sum(square(x - mean(x, axes, true)), axes, keepdims);
  return root(squares * (1.0 / std::max(count - static_cast<double>(ddof), 0.0)));
}

Value position(OpId id, const Value& x, std::optional<std::int64_t> axis, bool keepdims) {
  if (axis) {
    const int along = normalise_axis(definition(id).name, *axis, x.ndim());
    if (has_single_lines(x, along)) return full_like(x, reduced_shape(x.shape(), {along}, keepdims), 0, DType::i64);
    return emit(id, ArgAttributes{along, keepdims}, {x});
  }
  const T found = emit(id, ArgAttributes{0, false}, {reshape(T(x), {-1})});
  return keepdims ? reshape(found, Shape(x.shape().size(), 1)) : found;
}

}  // namespace

Value sum_over(const Value& value, const AxesAttributes& axes) { return reduce_over(OpId::sum, value, axes); }

}  // namespace tyto::core

namespace tyto TYTO_API {

using core::OpId;

template <class M>
Tensor<M> sum(const Tensor<M>& x, const Axes& axes, KeepDims keepdims) {
  core::require("sum", x);
  return core::reduce(OpId::sum, x, axes, keepdims);
}
template <class M>
Tensor<M> prod(const Tensor<M>& x, const Axes& axes, KeepDims keepdims) {
  core::require("prod", x);
  if (is_complex(x.dtype())) return core::complex_product(core::resolve(x), axes, keepdims);
  return core::reduce(OpId::prod, x, axes, keepdims);
}
template <class M>
Tensor<M> mean(const Tensor<M>& x, const Axes& axes, KeepDims keepdims) {
  core::require("mean", x);
  const Value given = core::resolve(x);
  if (!is_inexact(given.dtype())) return core::mean_of_integers(given, axes, keepdims).value();
  return core::reduce(OpId::mean, given, axes, keepdims);
}
template <class M>
Tensor<M> var(const Tensor<M>& x, const Axes& axes, KeepDims keepdims, std::int64_t ddof) {
  TYTO_ONCE(var, x, axes, keepdims, ddof);
  core::require("var", x);
  if (is_complex(x.dtype())) return core::complex_variance(core::resolve(x), axes, keepdims, ddof);
  // f32 does not hold the differences of larger integers.
  if (is_integer(x.dtype()) && size_of(x.dtype()) > 1) {
    const Tensor<M> wide = core::cast_to(core::resolve(x), DType::f64);
    return cast(var(wide, axes, keepdims, ddof), DType::f32);
  }
  const core::VarianceAttributes attributes{core::normalise_axes("var", axes, x.ndim()), keepdims, ddof};
  return core::emit(OpId::var, attributes, {core::as_floating(x)});
}
template <class M>
Tensor<M> stddev(const Tensor<M>& x, const Axes& axes, KeepDims keepdims, std::int64_t ddof) {
  TYTO_ONCE(stddev, x, axes, keepdims, ddof);
  core::require("stddev", x);
  if (const auto found = core::in_f32(&core::deviation_by_sums, core::AnyTensor(x), axes, keepdims, ddof)) {
    return found->value();
  }
  return core::root(core::AnyTensor(var(x, axes, keepdims, ddof))).value();
}
template <class M>
Tensor<M> min(const Tensor<M>& x, const Axes& axes, KeepDims keepdims) {
  core::require("min", x);
  return core::reduce(OpId::min, x, axes, keepdims);
}
template <class M>
Tensor<M> max(const Tensor<M>& x, const Axes& axes, KeepDims keepdims) {
  core::require("max", x);
  return core::reduce(OpId::max, x, axes, keepdims);
}
template <class M>
Tensor<M> argmin(const Tensor<M>& x, std::optional<std::int64_t> axis, KeepDims keepdims) {
  core::require("argmin", x);
  return core::position(OpId::argmin, x, axis, keepdims);
}
template <class M>
Tensor<M> argmax(const Tensor<M>& x, std::optional<std::int64_t> axis, KeepDims keepdims) {
  core::require("argmax", x);
  return core::position(OpId::argmax, x, axis, keepdims);
}
template <class M>
Tensor<M> any(const Tensor<M>& x, const Axes& axes, KeepDims keepdims) {
  core::require("any", x);
  return core::reduce(OpId::any, core::cast_to(x, DType::boolean), axes, keepdims);
}
template <class M>
Tensor<M> All::operator()(const Tensor<M>& x, const Axes& axes, KeepDims keepdims) const {
  core::require("all", x);
  return core::reduce(OpId::all, core::cast_to(x, DType::boolean), axes, keepdims);
}
template <class M>
Tensor<M> logsumexp(const Tensor<M>& x, const Axes& axes, KeepDims keepdims) {
  core::require("logsumexp", x);
  return core::reduce(OpId::logsumexp, core::as_floating(x), axes, keepdims);
}
template <class M>
Tensor<M> l1_norm(const Tensor<M>& x, const Axes& axes, KeepDims keepdims) {
  core::require("l1_norm", x);
  return sum(abs(core::AnyTensor(core::as_floating(x))), axes, keepdims).value();
}
template <class M>
Tensor<M> l2_norm_sqr(const Tensor<M>& x, const Axes& axes, KeepDims keepdims) {
  TYTO_ONCE(l2_norm_sqr, x, axes, keepdims);
  core::require("l2_norm_sqr", x);
  if (const auto found = core::in_f32(&l2_norm_sqr<M>, x, axes, keepdims)) return *found;
  return core::sum_of_squares(x, axes, keepdims).value();
}
template <class M>
Tensor<M> l2_norm(const Tensor<M>& x, const Axes& axes, KeepDims keepdims) {
  TYTO_ONCE(l2_norm, x, axes, keepdims);
  core::require("l2_norm", x);
  if (const auto found = core::in_f32(&l2_norm<M>, x, axes, keepdims)) return *found;
  return core::root(core::sum_of_squares(x, axes, keepdims)).value();
}
template <class M>
bool array_equal(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b) {
  TYTO_ONCE(array_equal, a, b);
  core::require("array_equal", a, b);
  return a.shape() == b.shape() && tyto::all(equal(a, b)).template item<bool>();
}
template <class M>
bool allclose(const Tensor<M>& a, const std::type_identity_t<Tensor<M>>& b, double relative, double absolute) {
  TYTO_ONCE(allclose, a, b, relative, absolute);
  const Value operands[] = {core::given("allclose", a), core::given("allclose", b)};
  const Value one = core::cast_to(operands[0], operands[0].dtype()),
              other = core::cast_to(operands[1], operands[1].dtype());
  const Shape shape = core::broadcast("allclose", one.shape(), other.shape());
  const Value close = core::emit(
      OpId::fused,
      core::LoopAttributes{
          shape, {}, core::closeness(one.dtype(), other.dtype(), core::common_type(operands), relative, absolute)},
      {one, other});
  return tyto::all(Tensor<M>(close)).template item<bool>();
}
TYTO_INSTANTIATE(sum)
TYTO_INSTANTIATE(prod)
TYTO_INSTANTIATE(mean)
TYTO_INSTANTIATE(var)
TYTO_INSTANTIATE(stddev)
TYTO_INSTANTIATE(min)
TYTO_INSTANTIATE(max)
TYTO_INSTANTIATE(argmin)
TYTO_INSTANTIATE(argmax)
TYTO_INSTANTIATE(any)
TYTO_INSTANTIATE(logsumexp)
TYTO_INSTANTIATE(l1_norm)
TYTO_INSTANTIATE(l2_norm)
TYTO_INSTANTIATE(l2_norm_sqr)
TYTO_INSTANTIATE(array_equal)
TYTO_INSTANTIATE(allclose)
template Tensor<Eager> All::operator()(const Tensor<Eager>&, const Axes&, KeepDims) const;
template Tensor<Lazy> All::operator()(const Tensor<Lazy>&, const Axes&, KeepDims) const;
template Tensor<Any> All::operator()(const Tensor<Any>&, const Axes&, KeepDims) const;

}  // namespace TYTO_API
