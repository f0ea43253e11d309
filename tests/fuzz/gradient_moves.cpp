// SPDX-License-Identifier: MIT
// Moves that differentiate a few other moves, and moves through users' operators.
#include "tests/fuzz/drawing.hpp"

namespace tyto::fuzz {

namespace {

// Some moves from x on, summed: a loss that may or may not depend on x.
template <class M>
Tensor<M> journey(Drawing<M>& d, const Tensor<M>& x, std::uint64_t seed, std::int64_t moves) {
  Noise noise = d.noise();
  ++noise.seed;
  Nesting nesting = d.nesting();
  ++nesting.depth;
  nesting.in_gradient = true;
  Drawing<M> inner(seed, {d.any(), x, x}, noise, nesting);
  for (std::int64_t i = 0; i < moves; ++i) inner.step();
  d.note_transcript_of(inner);
  const Tensor<M> last = inner.tensors().back();
  // Moved once more, so that the ones that the gradient starts from are as uncertain as what it meets on its way.
  return sum(inner.perturbed(is_floating(last.dtype()) ? last : cast(last, DType::f32)));
}

template <class M>
Tensor<M> gradient(Drawing<M>& d) {
  const Tensor<M> x = d.floating();
  if (d.depth() >= 2) return x;
  const std::uint64_t seed = d.dice().seed();
  const std::int64_t moves = d.dice().between(1, 4);
  const Tensor<M> gradient = grad([&](const Tensor<M>& at) { return journey(d, at, seed, moves); })(x);
  // Behind loops and branches the sign of a zero is left open (docs/semantics.md).
  return where(gradient == 0, 0.0, gradient);
}

template <class M>
Tensor<M> direction(Drawing<M>& d) {
  const Tensor<M> x = d.floating();
  if (d.depth() >= 1) return x;
  const std::uint64_t seed = d.dice().seed();
  const auto f = [&](const std::vector<Tensor<M>>& at) { return journey(d, at[0], seed, 2); };
  return jvp(f, std::vector<Tensor<M>>{x}, std::vector<Tensor<M>>{ones_like(x)}).second;
}

// The gradient of the gradient of a pooled or resized picture: operators that nothing else records.
template <class M>
Tensor<M> curvature(Drawing<M>& d) {
  const Tensor<M> x = d.shaped({1, 4, 4, 2}, DType::f32);
  const auto kind = d.dice().below(4);
  const auto f = [kind](const Tensor<M>& at) {
    switch (kind) {
      case 0: return max_pool(at, 2);
      case 1: return average_pool(at, 2);
      case 2: return upsample(at, 2);
      default: return upsample(at, 2, Resampling::bilinear);
    }
  };
  const auto first = grad([&](const Tensor<M>& at) { return sum(square(f(at))); });
  return grad([&](const Tensor<M>& at) { return sum(square(std::decay_t<decltype(first)>(first)(at))); })(x);
}

// A layer's weights, which few chains of chance end in.
template <class M>
Tensor<M> weight_gradient(Drawing<M>& d) {
  const Tensor<M> x = d.shaped({2, 5, 4, 3}, DType::f32);
  const Tensor<M> w = d.shaped({2, 2, 3, d.dice().between(1, 5)}, DType::f32);
  const PerAxis stride(static_cast<int>(d.dice().between(1, 2)));
  const Padding padding = d.dice().of({same, valid});
  const bool bent = d.dice().one_in(2);
  return grad([&](const Tensor<M>& at) {
    const Tensor<M> y = d.perturbed(conv2d(x, at, {.stride = stride, .padding = padding}));
    return sum(bent ? relu(y) : square(y));
  })(w);
}

template <class M>
Tensor<M> own_gradient(Drawing<M>& d) {
  const auto halved =
      custom_gradient<Tensor<M>>([](const std::vector<Tensor<M>>& in) { return tanh(in[0]); },
                                 [](const std::vector<Tensor<M>>& in, const Tensor<M>&, const Tensor<M>& g) {
                                   return std::vector<Tensor<M>>{g * 0.5 + in[0] * 0.0};
                                 });
  const Tensor<M> x = d.floating();
  if (d.dice().one_in(2)) return halved({x});
  return grad([&](const Tensor<M>& at) { return sum(halved({at})); })(x);
}

template <class M>
Tensor<M> own_function(Drawing<M>& d) {
  const Tensor<M> x = d.any();
  if (d.nesting().in_differentiated_region) return x;
  return delay<M>(x.shape(), x.dtype(), [](const std::vector<Tensor<Eager>>& in) { return copy(in[0]); }, {x});
}

}  // namespace

TYTO_FUZZ_MOVES(gradient_moves, {"gradient", 8, gradient<M>}, {"direction", 2, direction<M>},
                {"curvature", 5, curvature<M>}, {"weight_gradient", 4, weight_gradient<M>},
                {"own_gradient", 1, own_gradient<M>}, {"own_function", 1, own_function<M>})

}  // namespace tyto::fuzz
