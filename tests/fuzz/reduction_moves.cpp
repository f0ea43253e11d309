// SPDX-License-Identifier: MIT
// Moves along axes: reductions, running sums, softmax.
#include "tests/fuzz/drawing.hpp"
#include "tests/fuzz/sequence_as_before.hpp"

namespace tyto::fuzz {

namespace {

template <class M>
Tensor<M> reduce(Drawing<M>& d) {
  const Tensor<M> x = d.any();
  const Axes axes = d.axes_of(x);
  const bool keep = d.dice().one_in(2);
  switch (d.dice().below(15)) {
    case 0:
    case 1:
    case 2: return sum(x, axes, keep);
    case 3: return prod(x, axes, keep);
    case 4:
    case 5: return mean(x, axes, keep);
    case 6: return var(x, axes, keep, d.dice().below(2));
    case 7: return stddev(x, axes, keep);
    case 8: return min(x, axes, keep);
    case 9: return max(x, axes, keep);
    case 10: return any(x, axes, keep);
    case 11: return all(x, axes, keep);
    case 12: return logsumexp(x, axes, keep);
    case 13: return l1_norm(x, axes, keep);
    default: return d.dice().one_in(2) ? l2_norm(x, axes, keep) : l2_norm_sqr(x, axes, keep);
  }
}

template <class M>
Tensor<M> place_of_extreme(Drawing<M>& d) {
  const Tensor<M> x = d.ranked(1);
  const std::int64_t axis = d.axis_of(x);
  return d.dice().one_in(2) ? argmin(x, axis, d.dice().one_in(2)) : argmax(x, axis, d.dice().one_in(2));
}

template <class M>
Tensor<M> run_along(Drawing<M>& d) {
  const Tensor<M> x = d.ranked(1);
  const std::int64_t axis = d.axis_of(x);
  const ScanOptions how{.exclusive = d.dice().one_in(3), .reverse = d.dice().one_in(3)};
  switch (d.dice().below(5)) {
    case 0: return cumsum(x, axis, how);
    case 1: return cumprod(x, axis, how);
    case 2: return cummin(x, axis, how.reverse);
    case 3: return cummax(x, axis, how.reverse);
    default: {
      const SequenceAsBefore sequence;
      return scan(x, axis, [](const Tensor<M>& a, const Tensor<M>& b) { return a * 0.5 + b; });
    }
  }
}

template <class M>
Tensor<M> normalise(Drawing<M>& d) {
  const Tensor<M> x = d.ranked(1);
  const std::int64_t axis = d.axis_of(x);
  switch (d.dice().below(5)) {
    case 0: return softmax(x, axis);
    case 1: return log_softmax(x, axis);
    case 2: return log(d.perturbed(softmax(x, axis)));
    case 3: return log(d.perturbed(sum(d.perturbed(exp(x)), {axis})));
    default:
      return d.perturbed(x - d.perturbed(mean(x, {axis}, true))) * d.perturbed(rsqrt(var(x, {axis}, true) + 1e-3));
  }
}

template <class M>
Tensor<M> loss(Drawing<M>& d) {
  const Tensor<M> x = cast(d.ranked(1), DType::f32);
  if (d.dice().one_in(2)) return mean_squared_error(x, d.shaped(x.shape(), x.dtype()));
  const Tensor<M> logits = resized(x, {d.dice().between(1, 4), d.dice().between(2, 5)});
  return cross_entropy(logits, d.positions({logits.shape()[0]}, logits.shape()[1]));
}

}  // namespace

TYTO_FUZZ_MOVES(reduction_moves, {"reduce", 14, reduce<M>}, {"place_of_extreme", 2, place_of_extreme<M>},
                {"run_along", 4, run_along<M>}, {"normalise", 5, normalise<M>}, {"loss", 2, loss<M>})

}  // namespace tyto::fuzz
