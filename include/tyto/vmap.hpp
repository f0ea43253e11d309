// SPDX-License-Identifier: MIT
// vmap: applies a function of one example to many; it is recorded once, and replayed on all examples at a time.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tyto/autodiff.hpp"
#include "tyto/graph.hpp"
#include "tyto/shaping.hpp"

namespace tyto TYTO_API {

namespace detail {

/// Replaces each argument by one example while a function is recorded, and replays the recorded nodes on all examples.
class Batch {
 public:
  /// `axes[i]` is the axis of argument i that examples lie along; none: the argument is the same for all.
  Batch(const std::vector<Value>& arguments, std::vector<std::optional<std::int64_t>> axes);
  const std::vector<Value>& examples() const { return examples_; }
  /// The function's results for all examples, along a new first axis.
  std::vector<Value> replay(const std::vector<Value>& results) const;

 private:
  class States;

  std::vector<Value> placeholders_;  // what reading an example is refused by
  std::vector<Value> examples_;
  std::vector<Value> batches_;  // examples along the first axis, empty where all share one
  std::int64_t count_ = 0;
  std::shared_ptr<States> states_;  // that the function uses while it is recorded
};

}  // namespace detail

/// `f`, which takes one example of each argument, for many at once: examples lie along the first axis of every
/// argument, or along the named ones (an axis left empty: the argument is shared), and along the first axis of every
/// result. What f reads of values it cannot know then; see where(). Draws in f are the same for all examples. A state
/// that f assigns a value of the example's own is an error, and stays as it was: there is one state and many values;
/// return them. Another value is assigned once.
///
///     auto distances = vmap([](Tensor a, Tensor b) { return l2_norm(a - b); })(points, others);
///     auto gradients = vmap(grad(loss), {std::nullopt, 0})(weights, examples);
template <class F>
auto vmap(F f, std::vector<std::optional<std::int64_t>> axes = {}) {
  return [f = std::move(f), axes = std::move(axes)]<class M, class... Rest>(const Tensor<M>& first,
                                                                            const Rest&... rest) mutable {
    const detail::Batch batch({first, rest...}, axes);
    auto result = detail::call_with<M>(f, batch.examples(), std::make_index_sequence<1 + sizeof...(Rest)>());
    std::vector<Value> values;
    detail::flatten(result, values);
    values = batch.replay(values);
    Value* next = values.data();
    detail::restore(result, next);
    return result;
  };
}

/// The same with the examples along one axis of every argument: vmap(f, 1)(columns).
template <class F, std::integral Axis>
auto vmap(F f, Axis axis) {
  return [f = std::move(f), axis](const auto&... arguments) mutable {
    return vmap(f, std::vector<std::optional<std::int64_t>>(sizeof...(arguments), axis))(arguments...);
  };
}
template <class F, class M>
auto vmap(F f, const Tensor<M>&) {
  static_assert(detail::always_false<M>, "vmap yields a function of arrays: vmap(f)(x)");
  return vmap(std::move(f));
}

/// `f` applied to every vector along `axis`; its result replaces the axis.
template <class F, class M>
Tensor<M> apply_along_axis(F f, const Tensor<M>& x, std::int64_t axis) {
  const Tensor<M> vectors = moveaxis(x, axis, -1);
  const Shape others(std::span(vectors.shape().begin(), vectors.shape().end() - 1));
  const Tensor<M> each = vmap(std::move(f))(reshape(vectors, {element_count(others), vectors.shape().back()}));
  Shape shape = others;
  for (std::size_t i = 1; i < each.shape().size(); ++i) shape.push_back(each.shape()[i]);
  Tensor<M> out = reshape(each, shape);
  const std::int64_t place = axis < 0 ? axis + x.ndim() : axis;
  for (std::int64_t i = 0; i + 1 < each.ndim(); ++i) out = moveaxis(out, others.rank() + i, place + i);
  return out;
}

}  // namespace TYTO_API
