// SPDX-License-Identifier: MIT
// Moves that plant what rules on products, reductions and views look for, and chance would seldom put together.
#include <algorithm>

#include "tests/fuzz/drawing.hpp"

namespace tyto::fuzz {

namespace {

// Weights that stay as they are: drawn numbers that a graph holds as a constant.
template <class M>
Tensor<M> weights(Drawing<M>& d, const Shape& shape) {
  std::vector<float> numbers(static_cast<std::size_t>(element_count(shape)));
  for (float& number : numbers) number = static_cast<float>(d.dice().real(-1, 1));
  return d.perturbed(Tensor<M>::constant(Tensor<M>::from(numbers, shape)));
}

// One number, or one a channel, away from zero.
template <class M>
Tensor<M> factors(Drawing<M>& d, std::int64_t channels) {
  if (d.dice().one_in(4)) return Tensor<M>(d.dice().of({0.5, -2.0, 3.0}));
  std::vector<float> numbers(static_cast<std::size_t>(channels));
  for (float& number : numbers) number = static_cast<float>(d.dice().real(0.5, 2));
  return d.perturbed(Tensor<M>::constant(Tensor<M>::from(numbers, {channels})));
}

// A product with few weights and many results.
template <class M>
Tensor<M> layer(Drawing<M>& d, std::int64_t channels) {
  const bool flat = d.dice().one_in(2);
  Tensor<M> x = d.shaped(flat ? Shape{12, 3} : Shape{1, 6, 6, 2}, DType::f32);
  if (!flat && d.dice().one_in(3)) x = pad(d.perturbed(x), {0, 1, 0, 0}, {0, 0, 2, 0});
  const Tensor<M> w = weights(d, flat ? Shape{3, channels} : Shape{2, 2, 2, channels});
  return flat ? matmul(x, w) : convolution(x, w, {.padding = same});
}

// As a normalisation with running statistics leaves it behind a layer.
template <class M>
Tensor<M> normalised_layer(Drawing<M>& d) {
  Dice& dice = d.dice();
  const std::int64_t channels = dice.between(1, 5);
  Tensor<M> y = layer(d, channels);
  const Tensor<M> shift = dice.one_in(4) ? d.shaped({channels}, DType::f32) : factors(d, channels);
  const std::int64_t shifted = dice.below(3);
  if (shifted == 1) y = d.perturbed(y) + shift;
  if (shifted == 2) y = d.perturbed(y) - shift;
  const Tensor<M> scale = factors(d, channels);
  return dice.one_in(2) ? d.perturbed(y) * scale : d.perturbed(y) / scale;
}

// Behind the product: a bias that is taken away, a residual that others read, ReLU.
template <class M>
Tensor<M> finished_layer(Drawing<M>& d) {
  Dice& dice = d.dice();
  const std::int64_t channels = dice.between(1, 5);
  Tensor<M> y = layer(d, channels);
  const std::int64_t rows = y.size() / channels;
  const bool reshaped = dice.one_in(4);
  if (reshaped) y = reshape(y, {rows, channels});
  const Tensor<M> bias = d.shaped({channels}, DType::f32);
  y = dice.one_in(3) ? d.perturbed(y) + bias : d.perturbed(y) - bias;
  const Tensor<M> residual = d.shaped(y.shape(), DType::f32);
  if (dice.one_in(2)) y = d.perturbed(y) + residual;
  if (dice.one_in(2)) y = relu(d.perturbed(y));
  return dice.one_in(3) ? d.perturbed(y) * d.perturbed(residual) : y;
}

// Stacks of products whose result is permuted, as attention does with its heads.
template <class M>
Tensor<M> permuted_products(Drawing<M>& d) {
  Dice& dice = d.dice();
  const std::int64_t heads = dice.between(1, 3);
  const std::int64_t batch = dice.between(1, 3);
  const std::int64_t rows = dice.between(1, 6);
  const std::int64_t inner = dice.between(1, 6);
  const std::int64_t columns = dice.between(1, 6);
  const DType dtype = dice.of({DType::f32, DType::f32, DType::f64, DType::f16, DType::i32});
  const Tensor<M> x = d.shaped({batch, heads, rows, inner}, dtype);
  Tensor<M> y = d.shaped({batch, heads, inner, columns}, dtype);
  if (dice.one_in(2)) y = negate(d.perturbed(y));
  const IntList order =
      dice.from(std::vector<IntList>{{1, 0, 2, 3}, {1, 0, 2, 3}, {0, 1, 3, 2}, {1, 0, 3, 2}, {0, 2, 1, 3}});
  const Tensor<M> product = matmul(x, y);
  const Tensor<M> made = transpose(product, order);
  return dice.one_in(6) ? d.perturbed(made) * sum(d.perturbed(product)) : made;
}

// Transposed, computed, transposed back.
template <class M>
Tensor<M> there_and_back(Drawing<M>& d) {
  const Tensor<M> x = d.ranked(2);
  const bool other_way = d.dice().one_in(6);
  const Tensor<M> transposed = transpose(x);
  Tensor<M> y =
      d.dice().one_in(2) ? tanh(transposed) : d.perturbed(transposed) + transpose(d.shaped(x.shape(), x.dtype()));
  if (d.dice().one_in(2)) y = d.perturbed(y) * d.beside(y);
  return other_way ? y : transpose(y);
}

// One reduction after another, or of what was stretched.
template <class M>
Tensor<M> reduced_twice(Drawing<M>& d) {
  Dice& dice = d.dice();
  Tensor<M> x = d.ranked(2);
  if (dice.one_in(4)) {
    Shape shape = x.shape();
    shape.insert(0, dice.between(1, 4));
    if (element_count(shape) <= most_elements) x = broadcast_to(x, shape);
  }
  const std::int64_t kind = dice.below(7);
  const auto reduce = [&](const Tensor<M>& of, const Axes& axes, bool keep) {
    switch (kind) {
      case 0: return min(of, axes, keep);
      case 1: return max(of, axes, keep);
      case 2: return any(of, axes, keep);
      case 3: return all(of, axes, keep);
      case 4: return prod(of, axes, keep);
      case 5: return mean(of, axes, keep);
      default: return sum(of, axes, keep);
    }
  };
  const Tensor<M> inner = reduce(x, {static_cast<int>(dice.below(2))}, dice.one_in(2));
  return reduce(d.perturbed(inner), {static_cast<int>(dice.below(inner.ndim()))}, dice.one_in(2));
}

// Reductions of rows, and what they are for, of tensors made for them alone by operators that join no group: results
// may come to lie over what is reduced.
template <class M>
Tensor<M> worked_rows(Drawing<M>& d) {
  Dice& dice = d.dice();
  const Shape shape{dice.between(1, 6), dice.of<std::int64_t>({16, 17, 33, 64, 100})};
  const DType dtype = dice.of({DType::f32, DType::f32, DType::f32, DType::f64, DType::f16});
  const auto fresh = [&] {
    switch (dice.below(3)) {
      case 0: return d.perturbed(roll(d.shaped(shape, dtype), {dice.between(1, 3)}, {1}));
      case 1: {
        const Tensor<M> left = d.shaped({shape[0], 3}, dtype);
        return d.perturbed(matmul(left, d.shaped({3, shape[1]}, dtype)));
      }
      default: return cast(d.perturbed(tile(cast(d.shaped({shape[1]}, dtype), DType::i32), {shape[0], 1})), dtype);
    }
  };
  const auto reduced = [&](const Tensor<M>& x) {
    switch (dice.below(5)) {
      case 0: return sum(x, {-1}, true);
      case 1: return mean(x, {-1}, true);
      case 2: return max(x, {-1}, true);
      case 3: return min(x, {-1}, true);
      default: return var(x, {-1}, true);
    }
  };
  const auto joined = [&](const Tensor<M>& x, const Tensor<M>& y) {
    const Tensor<M> left = d.perturbed(x);
    const Tensor<M> right = d.perturbed(y);
    switch (dice.below(4)) {
      case 0: return left + right;
      case 1: return left - right;
      case 2: return left * right;
      default: return left / (square(right) + 0.5);
    }
  };
  Tensor<M> x = fresh();
  // Views leave strides of their own on axes of length 1.
  if (dice.one_in(3)) x = transpose(expand_dims(x, 2), {0, 2, 1});
  for (std::int64_t step = dice.below(3); step >= 0; --step) {
    if (dice.one_in(2)) x = joined(x, dice.one_in(2) ? reshape(fresh(), x.shape()) : d.shaped(x.shape(), dtype));
    if (dice.one_in(4)) x = tanh(d.perturbed(x));
    const Tensor<M> about = d.perturbed(x);
    for (std::int64_t folds = dice.below(3); folds >= 0; --folds) x = joined(x, reduced(dice.one_in(4) ? x : about));
  }
  return x;
}

// Images written for channels first between layers that have them last: what lies between joins, pads or cuts.
template <class M>
Tensor<M> moved_between_layers(Drawing<M>& d) {
  Dice& dice = d.dice();
  const auto first = [&] { return transpose(d.shaped({1, 4, 5, 3}, DType::f32), {0, 3, 1, 2}); };
  Tensor<M> x = relu(d.perturbed(first()));
  switch (dice.below(3)) {
    case 0: x = concat(std::vector<Tensor<M>>{x, d.perturbed(first())}, dice.between(0, 1)); break;
    case 1: x = pad(x, {0, 0, dice.below(2), 1}, {0, 0, 1, dice.below(2)}, PaddingMode::edge); break;
    default: x = x(all, slice(dice.below(2), {}), slice({}, {}, dice.of<std::int64_t>({1, 2, -1}))); break;
  }
  return transpose(d.perturbed(x), {0, 2, 3, 1});
}

// Views of views.
template <class M>
Tensor<M> viewed_twice(Drawing<M>& d) {
  Dice& dice = d.dice();
  const Tensor<M> x = d.ranked(1);
  if (dice.one_in(2)) return flip(flip(x, d.axes_of(x)), d.axes_of(x));
  const std::int64_t length = x.shape()[0];
  const std::int64_t step = dice.of<std::int64_t>({1, 2, -1, -2});
  const Tensor<M> once = step > 0 ? x.get({slice(dice.below(length + 1), {}, step)}) : x.get({slice({}, {}, step)});
  return once.get({slice(dice.below(once.shape()[0] + 1), {}, dice.of<std::int64_t>({1, 2, -1}))});
}

// A reshape that parts element-wise operators, at any of an operator's places.
template <class M>
Tensor<M> parted_by_reshape(Drawing<M>& d) {
  Dice& dice = d.dice();
  const Tensor<M> x = d.floating();
  const auto parted = [&] { return reshape(square(d.perturbed(x)), {x.size()}); };
  const Tensor<M> y = parted();
  const Tensor<M> number(dice.of({0.5, -1.0}));
  switch (dice.below(4)) {
    case 0: return fma(number, number, y);
    case 1: return where(Tensor<M>::full({1}, 1, DType::boolean), number, y);
    case 2: return reshape(exp(-d.perturbed(y)), x.shape());
    default: return d.perturbed(y) - parted();
  }
}

}  // namespace

TYTO_FUZZ_MOVES(pattern_moves, {"normalised_layer", 3, normalised_layer<M>}, {"finished_layer", 3, finished_layer<M>},
                {"permuted_products", 2, permuted_products<M>}, {"there_and_back", 2, there_and_back<M>},
                {"reduced_twice", 2, reduced_twice<M>}, {"worked_rows", 4, worked_rows<M>},
                {"viewed_twice", 1, viewed_twice<M>}, {"parted_by_reshape", 2, parted_by_reshape<M>},
                {"moved_between_layers", 2, moved_between_layers<M>})

}  // namespace tyto::fuzz
