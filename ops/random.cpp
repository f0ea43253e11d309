// SPDX-License-Identifier: MIT
// Random draws: their rule for shapes and types, and the functions made of them.
#include <limits>
#include <optional>
#include <string_view>

#include "core/graph/op_ids.hpp"
#include "core/value/limits.hpp"
#include "ops/define.hpp"
#include "ops/distribution_parameters.hpp"
#include "ops/samples.hpp"
#include "tyto/indexing.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"

namespace tyto::core {

namespace {

using T = AnyTensor;

double first_parameter(const RandomAttributes& draw) { return draw.first; }
double second_parameter(const RandomAttributes& draw) { return draw.second; }
double interval(const RandomAttributes& draw) { return draw.second - draw.first; }

/// The limits that each draw sets for parameters that are plain numbers.
struct Need {
  OpId op;
  std::string_view function, parameter;
  double (*value)(const RandomAttributes&);
  Limits allowed;
};
constexpr Need needs[] = {
    {OpId::random_uniform, "uniform", "high - low", interval, limits::length},
    {OpId::random_normal, "normal", "stddev", second_parameter, limits::not_negative},
    {OpId::random_truncated_normal, "truncated_normal", "stddev", second_parameter, limits::not_negative},
    {OpId::random_bernoulli, "bernoulli", "probability", first_parameter, limits::probability},
    {OpId::random_integers, "integers", "high - low", interval, limits::positive},
    {OpId::random_gamma, "gamma", "shape", first_parameter, limits::length},
    {OpId::random_gamma, "gamma", "scale", second_parameter, limits::not_negative},
    {OpId::random_exponential, "exponential", "rate", first_parameter, limits::positive},
};

/// Throws ValueError for parameters that the operator has no distribution for. Its rule for types asks, so that no node
/// has such parameters.
void check_parameters(OpId op, const RandomAttributes& draw) {
  for (const Need& need : needs) {
    if (need.op != op || need.allowed.hold(need.value(draw))) continue;
    throw_error<ValueError>(need.function, ": ", need.parameter, " must be ", need.allowed.text, ", not ",
                            need.value(draw));
  }
}

template <OpId id>
std::vector<TensorType> infer_draw(const Attributes& attributes, std::span<const TensorType> inputs) {
  const std::string_view op = definition(id).name;
  const auto& draw_of = get<RandomAttributes>(attributes);
  if (inputs[0].dtype != DType::i64 || inputs[0].shape != Shape{2}) {
    throw_error<TypeError>(op, ": the key must be i64 of shape (2,), not ", inputs[0].dtype, " of shape ",
                           inputs[0].shape);
  }
  check_lengths(op, draw_of.shape);
  check_parameters(id, draw_of);
  constexpr bool whole = id == OpId::random_integers || id == OpId::random_permutation;
  if (whole ? !is_integer(draw_of.dtype) : id != OpId::random_bernoulli && !is_floating(draw_of.dtype)) {
    throw_error<TypeError>(op, ": ", whole ? "an integer" : "a floating", " type is needed, not ", draw_of.dtype);
  }
  if (id == OpId::random_permutation && (draw_of.shape.rank() != 1 || draw_of.dtype != DType::i64)) {
    throw_error<ShapeError>(op, ": the result is an i64 vector, not ", draw_of.dtype, " of shape ", draw_of.shape);
  }
  return one(draw_of.dtype, draw_of.shape);
}

template <OpId id>
constexpr OpDef row(std::string_view doc, Sample sample) {
  OpDef def;
  def.id = id;
  def.doc = doc;
  def.traits = traits(Traits::random);
  def.infer = infer_draw<id>;
  def.sample = sample;
  return def;
}

}  // namespace

std::span<const OpDef> random_operators() {
  static const OpDef rows[] = {
      row<OpId::random_uniform>("Evenly distributed in an interval.",
                                [](DType t) -> Value { return samples::T::uniform({2}, {.dtype = t}); }),
      row<OpId::random_normal>("Normally distributed.",
                               [](DType t) -> Value { return samples::T::normal({2}, {.dtype = t}); }),
      row<OpId::random_bernoulli>("True with a given probability.",
                                  [](DType t) -> Value { return samples::T::bernoulli({2}, {.dtype = t}); }),
      row<OpId::random_integers>("Integers in a range.",
                                 [](DType t) -> Value { return samples::T::integers({2}, {.dtype = t}); }),
      row<OpId::random_truncated_normal>(
          "Normal, within two standard deviations.",
          [](DType t) -> Value { return samples::T::truncated_normal({2}, {.dtype = t}); }),
      row<OpId::random_gamma>("Gamma distributed.",
                              [](DType t) -> Value { return samples::T::gamma({2}, {.dtype = t}); }),
      row<OpId::random_exponential>("Exponentially distributed.",
                                    [](DType t) -> Value { return samples::T::exponential({2}, {.dtype = t}); }),
      row<OpId::random_permutation>("The numbers below a count in random order.",
                                    [](DType t) -> Value {
                                      return t == DType::i64 ? samples::T::permutation(4)
                                                             : throw TypeError("permutation: i64 only");
                                    }),
  };
  return rows;
}

namespace {

// A draw is made in the mode that the caller wrote, even beside a number that has none: recorded, it is drawn anew in
// each run.
template <class M>
Mode mode_of_draw(const Value& beside) {
  if constexpr (std::is_same_v<M, Lazy>) return Mode::lazy;
  if constexpr (std::is_same_v<M, Eager>) return Mode::eager;
  return mode_like(beside);
}

// The distributions below are drawn in f64: an f32 draw has but 2^24 values, too few to tell apart many small weights.
T draw_double(Mode mode, OpId id, const Shape& shape, double first, double second, const DrawOptions& options) {
  return draw(mode, id, {shape, DType::f64, 0, first, second}, options.key);
}

/// Running sums along the last axis, over their total: the last positive weight and all behind it reach one exactly,
/// so that a draw below one never lands on a weight of zero.
T distribution(const T& weights) {
  const T sums = cumsum(weights, -1);
  const T total = part_along(sums, sums.shape().size() - 1, sums.shape().back() - 1, 1);
  return sums / total;
}

// Positions of `count` elements among `length`.
T chosen(Mode mode, std::int64_t length, std::int64_t count, bool replace, const DrawOptions& options) {
  if (replace) {
    return draw(mode, OpId::random_integers,
                {{count}, DType::i64, 0, 0, static_cast<double>(std::max<std::int64_t>(length, 1))}, options.key);
  }
  const Value order = draw(mode, OpId::random_permutation, {{length}, DType::i64, 0, 0, 0}, options.key);
  return part_along(order, 0, 0, count);
}

void check_weights(const T& rates, const T& sound, std::int64_t count, bool replace) {
  if (!sound.item<bool>()) throw ValueError("choice: weights must be 0 or more, their sum above 0 and finite");
  if (replace) return;
  const std::int64_t possible = sum(greater(rates, 0)).item<std::int64_t>();
  if (possible >= count) return;
  throw_error<ValueError>("choice: ", count, " elements cannot be drawn without putting back, as ", possible,
                          " have a weight above 0");
}

// Without putting back: everyone waits an exponential time with its weight as rate, and the first `count` to come are
// taken, which is the same as drawing them one after the other. Those of weight zero never come.
T chosen_by_weight(Mode mode, const T& weights, std::int64_t count, bool replace, const DrawOptions& options) {
  const T rates = cast(weights, DType::f64);
  const std::int64_t length = weights.shape()[0];
  const T total = sum(rates);
  const T sound = logical_and(tyto::all(greater_equal(rates, 0)), logical_and(greater(total, 0), isfinite(total)));
  if (mode == Mode::eager && count > 0) check_weights(rates, sound, count, replace);
  // Recorded, the weights are not known yet. An index that is out of reach makes the read fail that they are for.
  if (replace) {
    const T draws = draw_double(mode, OpId::random_uniform, {count}, 0, 1, options);
    return where(sound, minimum(searchsorted(distribution(rates), draws, true), length - 1), length);
  }
  const T times = draw_double(mode, OpId::random_exponential, {length}, 1, 0, options);
  const T arrivals = where(greater(rates, 0), times / rates, std::numeric_limits<double>::infinity());
  const TopK<Any> first = topk(arrivals, count, 0, false);
  return where(logical_and(sound, isfinite(first.values)), first.indices, length);
}

T choice(Mode mode, const T& x, std::int64_t count, bool replace, const T& weights, const DrawOptions& options) {
  if (x.ndim() < 1) throw ShapeError("choice: a 0-d tensor has no elements to choose from");
  const std::int64_t length = x.shape()[0];
  if (count < 0) throw_error<ValueError>("choice: count ", count, " is negative");
  if (count > 0 && length == 0) {
    throw_error<ValueError>("choice: nothing to choose from, the first axis of shape ", x.shape(), " is empty");
  }
  if (!replace && count > length) {
    throw_error<ValueError>("choice: ", count, " of ", length, " elements cannot be drawn without putting back");
  }
  if (!weights.defined()) {
    return take(x, chosen(mode, length, count, replace, options), 0);
  }
  if (weights.shape() != Shape{length}) {
    throw_error<ShapeError>("choice: weights of shape ", weights.shape(), " for ", length, " elements must have shape ",
                            Shape{length});
  }
  return take(x, chosen_by_weight(mode, weights, count, replace, options), 0);
}

T categorical(Mode mode, const T& logits, std::int64_t count, const DrawOptions& options) {
  if (logits.ndim() < 1) throw ShapeError("categorical: logits need a class axis, given a 0-d tensor");
  if (count < 0) throw_error<ValueError>("categorical: count ", count, " is negative");
  const std::int64_t classes = logits.shape().back();
  if (classes == 0) throw_error<ShapeError>("categorical: no classes, the last axis of ", logits.shape(), " is empty");
  // NaN where a logit is.
  const T most = max(logits, -1);
  const bool known = is_seen(most);
  if (const auto found = known ? outside(most, limits::finite) : std::nullopt) {
    throw_error<ValueError>("categorical: the largest logit of a row must be finite, not ", *found);
  }
  const T sums = distribution(softmax(cast(logits, DType::f64), -1));
  Shape shape = logits.shape();
  shape[shape.size() - 1] = count;
  const T draws = draw_double(mode, OpId::random_uniform, shape, 0, 1, options);
  // The class drawn is the number of running sums that the draw has left behind.
  const T passed = greater_equal(expand_dims(draws, -1), expand_dims(sums, -2));
  const T drawn = minimum(sum(passed, -1), classes - 1);
  return known ? drawn : where(isfinite(expand_dims(most, -1)), drawn, T(-1));
}

}  // namespace

}  // namespace tyto::core

namespace tyto TYTO_API {

template <class M>
Tensor<M> choice(const Tensor<M>& x, std::int64_t count, Flag replace, const std::type_identity_t<Tensor<M>>& weights,
                 const DrawOptions& options) {
  core::require("choice", x);
  return core::choice(core::mode_of_draw<M>(x), x.value(), count, replace, weights.value(), options).value();
}

template <class M>
Tensor<M> categorical(const Tensor<M>& logits, std::int64_t count, const DrawOptions& options) {
  core::require("categorical", logits);
  return core::categorical(core::mode_of_draw<M>(logits), logits.value(), count, options).value();
}

template <class M>
Tensor<M> dropout_mask(const Tensor<M>& x, double rate, const DrawOptions& options) {
  core::require("dropout_mask", x);
  if (!(rate >= 0 && rate <= 1)) core::throw_error<ValueError>("dropout_mask: rate ", rate, " is outside [0, 1]");
  if (!is_floating(x.dtype())) {
    core::throw_error<TypeError>("dropout_mask: a floating type is needed, not ", x.dtype());
  }
  if (rate == 0) return ones_like(x);
  if (rate == 1) return zeros_like(x);
  const Tensor<M> kept = core::draw(core::mode_of_draw<M>(x), core::OpId::random_bernoulli,
                                    {x.shape(), x.dtype(), 0, 1 - rate, 0}, options.key);
  return kept * (1 / (1 - rate));
}

TYTO_INSTANTIATE(choice)
TYTO_INSTANTIATE(categorical)
TYTO_INSTANTIATE(dropout_mask)

}  // namespace TYTO_API
