// SPDX-License-Identifier: MIT
// Moves that create tensors: filled, ranges, random draws.
#include "tests/fuzz/drawing.hpp"
#include "tyto/special.hpp"

namespace tyto::fuzz {

namespace {

template <class M>
Shape some_shape(Drawing<M>& d) {
  return d.dice().one_in(2) ? d.any().shape() : Shape{d.dice().between(1, 4), d.dice().between(1, 5)};
}

template <class M>
Tensor<M> fill(Drawing<M>& d) {
  switch (d.dice().below(6)) {
    case 0: return Tensor<M>::full(some_shape(d), d.dice().between(-2, 3), d.dtype());
    case 1: return Tensor<M>::arange(0, static_cast<int>(d.dice().between(0, 9)), 1, d.dtype());
    case 2: return Tensor<M>::linspace(-1, 2, d.dice().between(1, 9));
    case 3: return Tensor<M>::eye(d.dice().between(1, 5), d.dice().between(1, 5), d.dice().between(-1, 1), d.dtype());
    case 4: return Tensor<M>::tri(d.dice().between(1, 5));
    default: return Tensor<M>::constant(Tensor<M>{{1.5f, -2.0f, 0.25f}, {4.0f, 0.0f, -1.0f}});
  }
}

template <class M>
Tensor<M> drawn(Drawing<M>& d, const std::optional<Key>& key) {
  Dice& dice = d.dice();
  const Shape shape = some_shape(d);
  const DType dtype = dice.of({DType::f32, DType::f32, DType::f64, DType::f16});
  switch (dice.below(10)) {
    case 0: return Tensor<M>::uniform(shape, {.low = -1, .high = 2, .dtype = dtype, .key = key});
    case 1: return Tensor<M>::normal(shape, {.dtype = dtype, .key = key});
    case 2: return Tensor<M>::truncated_normal(shape, {.dtype = dtype, .key = key});
    case 3: return Tensor<M>::bernoulli(shape, {.probability = 0.3, .key = key});
    case 4: return Tensor<M>::integers(shape, {.low = -3, .high = 9, .dtype = DType::i32, .key = key});
    case 5: return Tensor<M>::gamma(shape, {.shape = 1.5, .dtype = dtype, .key = key});
    case 6: return Tensor<M>::exponential(shape, {.rate = 2, .dtype = dtype, .key = key});
    case 7: return Tensor<M>::permutation(dice.between(1, 9), {.key = key});
    case 8:
      return categorical(nan_to_num(d.shaped({dice.between(2, 5)}, DType::f32)), dice.between(1, 6), {.key = key});
    default: return dropout_mask(d.floating(), 0.25, {.key = key});
  }
}

// By a key, or the next numbers of the sequence.
template <class M>
Tensor<M> draw(Drawing<M>& d) {
  if (d.depth() > 0 || d.dice().one_in(3)) return drawn(d, Key{d.dice().seed() % 3, 1});
  const Tensor<M> made = drawn(d, {});
  d.draws().push_back(made);
  return made;
}

}  // namespace

TYTO_FUZZ_MOVES(creation_moves, {"fill", 3, fill<M>}, {"draw", 4, draw<M>})

}  // namespace tyto::fuzz
