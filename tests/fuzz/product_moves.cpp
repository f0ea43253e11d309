// SPDX-License-Identifier: MIT
// Moves through products, convolutions, pooling and resizing.
#include <algorithm>

#include "tests/fuzz/drawing.hpp"

namespace tyto::fuzz {

namespace {

template <class M>
DType product_type(Drawing<M>& d) {
  return d.dice().of({DType::f32, DType::f32, DType::f32, DType::f64, DType::f16, DType::bf16, DType::i32});
}

template <class M>
Tensor<M> multiply_matrices(Drawing<M>& d) {
  Dice& dice = d.dice();
  const DType dtype = product_type(d);
  const std::int64_t rows = dice.between(1, 20);
  const std::int64_t inner = dice.one_in(12) ? 0 : dice.between(1, 20);
  const std::int64_t columns = dice.between(1, 20);
  Tensor<M> a = d.shaped(dice.one_in(3) ? Shape{2, rows, inner} : Shape{rows, inner}, dtype);
  Tensor<M> b = d.shaped(dice.one_in(3) ? Shape{2, inner, columns} : Shape{inner, columns}, dtype);
  // Operands that lie transposed, and vectors.
  if (dice.one_in(3)) a = matrix_transpose(d.shaped(Shape{inner, rows}, dtype));
  if (dice.one_in(3)) b = matrix_transpose(d.shaped(Shape{columns, inner}, dtype));
  if (dice.one_in(8)) {
    b = d.shaped({inner}, dtype);
    if (dice.one_in(2)) a = d.shaped({inner}, dtype);
  }
  Tensor<M> made = matmul(a, b);
  if (dice.one_in(2)) {
    const Shape channels = made.shape().empty() ? Shape{} : Shape{made.shape().back()};
    made = d.perturbed(made) +
           d.shaped(dice.one_in(6) ? Shape(static_cast<std::size_t>(dice.below(2)), 1) : channels, dtype);
  }
  if (dice.one_in(3)) made = relu(made);
  return made;
}

template <class M>
Tensor<M> multiply_few_bits(Drawing<M>& d, DType dtype) {
  Dice& dice = d.dice();
  const std::int64_t bits = dice.of({2, 4, 4, 8}), block = dice.of({16, 32}), depth = dice.between(1, 40);
  const std::int64_t rows = dice.one_in(3) ? 18 : dice.between(1, 6), columns = dice.between(1, 20);
  const std::int64_t blocks = (depth + block - 1) / block;
  QuantisedWeights<M> weights{
      d.shaped({columns, blocks, block * bits / 8}, DType::u8), d.shaped({columns, blocks}, dtype), {}, bits};
  if (dice.one_in(3)) weights.zero_points = d.shaped({columns, (blocks * bits + 7) / 8}, DType::u8);
  else if (dice.one_in(3)) weights.zero_points = d.shaped({columns, blocks}, dtype);
  return quantised_matmul(d.shaped({rows, depth}, dtype), weights);
}

template <class M>
Tensor<M> contract(Drawing<M>& d) {
  const DType dtype = product_type(d);
  const std::int64_t inner = d.dice().between(1, 6);
  switch (d.dice().below(6)) {
    case 0: return dot(d.shaped({3, inner}, dtype), d.shaped({inner}, dtype));
    case 1: return outer(d.shaped({inner}, dtype), d.shaped({4}, dtype));
    case 2: return tensordot(d.shaped({2, 3, inner}, dtype), d.shaped({3, inner, 2}, dtype), 2);
    case 3: return kron(d.shaped({2, inner}, dtype), d.shaped({3, 2}, dtype));
    case 4: return multiply_few_bits(d, dtype == DType::i32 ? DType::f32 : dtype);
    default: return einsum<M>("bij,bkj->ikb", {d.shaped({2, 3, inner}, dtype), d.shaped({2, 4, inner}, dtype)});
  }
}

/// Attention, or the gradient of a function of it. Features lie within (-1, 1): a weight that depends on one score
/// alone would move with its last place.
template <class M>
Tensor<M> attend(Drawing<M>& d) {
  Dice& dice = d.dice();
  const DType dtype = dice.of({DType::f32, DType::f32, DType::f64, DType::bf16});
  const std::int64_t queries = dice.between(1, 9), keys = dice.between(1, 9), features = dice.between(1, 5);
  const auto bounded = [&](const Shape& shape) {
    const Tensor<M> x = d.shaped(shape, dtype);
    return where(isfinite(x), softsign(x), 0);
  };
  const Tensor<M> q = bounded({2, queries, features}), k = bounded({2, keys, features}), v = bounded({2, keys, 3});
  AttentionOptions<M> options{.causal = dice.one_in(2)};
  if (dice.one_in(3)) options.mask = greater(bounded({queries, keys}), -0.5);
  const auto of = [&](const Tensor<M>& x) { return scaled_dot_product_attention(x, k, v, options); };
  if (dice.one_in(2)) return of(q);
  return grad([&](const Tensor<M>& x) { return sum(square(of(x))); })(q);
}

template <class M>
Padding padding_of(Drawing<M>& d, int axes) {
  switch (d.dice().below(3)) {
    case 0: return valid;
    case 1: return same;
    default: {
      IntList before;
      IntList after;
      for (int i = 0; i < axes; ++i) {
        before.push_back(d.dice().between(0, 1));
        after.push_back(d.dice().between(0, 1));
      }
      return Padding(before, after);
    }
  }
}

template <class M>
PerAxis per_axis(Drawing<M>& d, int axes, std::int64_t most) {
  if (d.dice().one_in(2)) return PerAxis(static_cast<int>(d.dice().between(1, most)));
  IntList each;
  for (int i = 0; i < axes; ++i) each.push_back(d.dice().between(1, most));
  return PerAxis(each);
}

template <class M>
Tensor<M> picture(Drawing<M>& d, int axes, std::int64_t channels) {
  Shape shape{d.dice().between(1, 2)};
  for (int i = 0; i < axes; ++i) shape.push_back(d.dice().between(3, axes == 1 ? 12 : 7));
  shape.push_back(channels);
  return d.shaped(shape, d.dice().of({DType::f32, DType::f32, DType::f32, DType::f64, DType::f16}));
}

template <class M>
Tensor<M> convolve(Drawing<M>& d) {
  Dice& dice = d.dice();
  const int axes = static_cast<int>(dice.between(1, 3));
  const std::int64_t groups = dice.one_in(4) ? 2 : 1;
  const std::int64_t in = groups * dice.between(1, 4);
  const std::int64_t out = groups * dice.between(1, 4);
  const Tensor<M> x = picture(d, axes, in);
  Shape window;
  for (int i = 0; i < axes; ++i) window.push_back(dice.between(1, 3));
  Shape kernel = window;
  if (dice.one_in(4)) {
    kernel.push_back(out / groups);
    kernel.push_back(in);
    return transposed_convolution(x, d.shaped(kernel, x.dtype()),
                                  {.stride = per_axis(d, axes, 2), .padding = padding_of(d, axes), .groups = groups});
  }
  kernel.push_back(in / groups);
  kernel.push_back(out);
  Tensor<M> made = convolution(x, d.shaped(kernel, x.dtype()),
                               {.stride = per_axis(d, axes, 2),
                                .padding = padding_of(d, axes),
                                .dilation = per_axis(d, axes, dice.one_in(3) ? 2 : 1),
                                .groups = groups});
  if (dice.one_in(2)) made = d.perturbed(made) + d.shaped({out}, x.dtype());
  if (dice.one_in(3)) made = relu(made);
  return made;
}

template <class M>
Tensor<M> pool(Drawing<M>& d) {
  Dice& dice = d.dice();
  const int axes = static_cast<int>(dice.between(1, 3));
  const Tensor<M> x = picture(d, axes, dice.between(1, 4));
  PoolOptions options{.padding = padding_of(d, axes)};
  if (dice.one_in(2)) options.stride = per_axis(d, axes, 2);
  const PerAxis window = per_axis(d, axes, 3);
  switch (dice.below(5)) {
    case 0:
    case 1: return max_pool(x, window, options);
    case 2:
    case 3: options.count_padding = dice.one_in(2); return average_pool(x, window, options);
    default: return global_average_pool(x, dice.one_in(2));
  }
}

template <class M>
Tensor<M> enlarge(Drawing<M>& d) {
  const int axes = static_cast<int>(d.dice().between(1, 2));
  return upsample(picture(d, axes, d.dice().between(1, 3)), per_axis(d, axes, 2),
                  d.dice().of({Resampling::nearest, Resampling::bilinear}));
}

}  // namespace

TYTO_FUZZ_MOVES(product_moves, {"multiply_matrices", 8, multiply_matrices<M>}, {"contract", 3, contract<M>},
                {"attend", 3, attend<M>}, {"convolve", 5, convolve<M>}, {"pool", 4, pool<M>},
                {"enlarge", 2, enlarge<M>})

}  // namespace tyto::fuzz
