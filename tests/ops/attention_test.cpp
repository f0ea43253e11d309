// SPDX-License-Identifier: MIT
// Attention as one operator: its kernels against the scores written out, gradients of the first and second order, and
// what it refuses.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/graph/builder.hpp"
#include "core/graph/op_ids.hpp"
#include "tests/fuzz/dice.hpp"
#include "tyto/attention.hpp"
#include "tyto/tyto.hpp"

namespace tyto {
namespace {

using core::AttentionAttributes;
using core::OpId;
using T = Tensor<Eager>;

const std::vector<std::size_t> four{0, 1, 2, 3};

/// Sizes across the blocks of the kernels: 192 queries or keys by a few hundred of the others.
struct Sizes {
  Shape stack;
  std::int64_t queries, keys, features, values;
};

struct Drawn {
  std::vector<Value> inputs;  // q, k, v and perhaps a mask
  AttentionAttributes attributes;
};

/// A stack of matrices that lies as the heads of a layer do: rows of other matrices between its own.
T placed(const Shape& stack, std::int64_t rows, std::int64_t columns, DType dtype, bool apart) {
  Shape shape = stack;
  shape.push_back(rows);
  shape.push_back(columns);
  if (!apart || stack.empty()) return T::normal(shape, {.dtype = dtype});
  std::swap(shape[stack.size() - 1], shape[stack.size()]);
  IntList order;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) order.push_back(static_cast<std::int64_t>(axis));
  std::swap(order[stack.size() - 1], order[stack.size()]);
  return transpose(T::normal(shape, {.dtype = dtype}), order);
}

Drawn drawn(fuzz::Dice& dice, const Sizes& sizes, DType dtype) {
  Drawn out;
  const bool apart = dice.one_in(2);
  out.inputs = {placed(sizes.stack, sizes.queries, sizes.features, dtype, apart),
                placed(sizes.stack, sizes.keys, sizes.features, dtype, apart),
                placed(sizes.stack, sizes.keys, sizes.values, dtype, apart)};
  out.attributes = {dice.one_in(2) ? 0.3 : -1.5, dice.one_in(2)};
  Shape scores = sizes.stack;
  scores.push_back(sizes.queries);
  scores.push_back(sizes.keys);
  Shape row = scores;
  row[row.size() - 2] = 1;  // one for all queries, as padding is
  const DType sums = dtype == DType::f64 ? DType::f64 : DType::f32;
  switch (dice.below(5)) {
    case 0: out.inputs.push_back(greater(T::normal(scores), -0.5)); break;
    case 1: out.inputs.push_back(broadcast_to(greater(T::normal(row), 0.0), scores)); break;
    case 2: out.inputs.push_back(T::normal(scores, {.dtype = sums})); break;
    default: break;
  }
  return out;
}

/// The largest difference of the elements, relative to the largest of `want` or to 1; infinities must agree.
double difference(const T& got, const T& want) {
  if (want.size() == 0) return got.shape() == want.shape() ? 0 : 1;
  const T a = cast(got, DType::f64), b = cast(want, DType::f64);
  const T finite = isfinite(b);
  if (!bool(all(equal(isfinite(a), finite))) || !bool(all(finite || equal(a, b)))) return 1;
  const double scale = std::max(1.0, max(where(finite, abs(b), 0.0)).item<double>());
  return max(where(finite, abs(a - b), 0.0)).item<double>() / scale;
}

/// The operator's results and those of its lowering in f64.
void check(OpId op, const AttentionAttributes& attributes, const std::vector<Value>& inputs, double tolerance) {
  std::vector<Value> wide;
  for (const Value& input : inputs) {
    wide.push_back(input.dtype() == DType::boolean ? input : Value(cast(T(input), DType::f64)));
  }
  const Value first = core::emit(op, attributes, std::span<const Value>(inputs));
  const std::vector<Value> want = core::definition(op).lower(attributes, wide);
  for (std::uint32_t i = 0; i < want.size(); ++i) {
    CAPTURE(i);
    const T got = core::result(first, i);
    CHECK(got.shape() == T(want[i]).shape());
    CHECK(difference(got, want[i]) < tolerance);
  }
}

double tolerance_of(DType dtype) {
  switch (dtype) {
    case DType::f64: return 1e-12;
    case DType::f32: return 2e-5;
    case DType::f16: return 2e-2;
    default: return 1e-1;
  }
}

void check_both(const Drawn& one, const Sizes& sizes, DType dtype) {
  const double tolerance = tolerance_of(dtype);
  check(OpId::attention, one.attributes, one.inputs, tolerance);
  const Value y = core::emit(OpId::attention, one.attributes, std::span<const Value>(one.inputs));
  const T log_sums = core::result(y, 1);
  Shape result = sizes.stack;
  result.push_back(sizes.queries);
  result.push_back(sizes.values);
  std::vector<Value> inputs{one.inputs[0],
                            one.inputs[1],
                            one.inputs[2],
                            log_sums,
                            T::normal(log_sums.shape(), {.dtype = log_sums.dtype()}),
                            T::normal(result, {.dtype = dtype})};
  if (one.inputs.size() > 3) inputs.push_back(one.inputs[3]);
  check(OpId::attention_gradient, one.attributes, inputs, tolerance);
}

}  // namespace

TEST_CASE("attention by blocks gives what the scores written out give, and so does its gradient") {
  seed(11);
  fuzz::Dice dice(5);
  const Sizes sizes[] = {
      {{}, 1, 1, 1, 1},       {{2}, 3, 5, 4, 2},       {{2, 3}, 7, 9, 5, 6},     {{1}, 1, 300, 64, 64},
      {{2}, 4, 257, 33, 70},  {{2}, 97, 256, 16, 16},  {{1, 2}, 193, 100, 8, 3}, {{1}, 300, 520, 40, 65},
      {{2}, 5, 600, 129, 17}, {{1}, 200, 700, 20, 16}, {{1}, 700, 200, 33, 32},  {{2}, 20, 20, 0, 3},
      {{3}, 6, 4, 3, 0},      {{0}, 3, 4, 5, 6},       {{2}, 0, 4, 3, 2},        {{2}, 4, 0, 3, 2}};
  for (const Sizes& each : sizes) {
    for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
      CAPTURE(each.stack);
      CAPTURE(each.queries);
      CAPTURE(each.keys);
      CAPTURE(each.features);
      CAPTURE(each.values);
      CAPTURE(dtype);
      for (int number = 0; number < 4; ++number) {
        const Drawn one = drawn(dice, each, dtype);
        CAPTURE(one.attributes.causal);
        CAPTURE(one.inputs.size());
        check_both(one, each, dtype);
      }
    }
  }
}

/// softmax(q kT / 2 + added) v in doubles, element by element; zeros where all scores are minus infinity.
std::vector<double> by_definition(const T& q, const T& k, const T& v, const std::vector<double>& added) {
  const auto a = q.to_vector<double>(), b = k.to_vector<double>(), c = v.to_vector<double>();
  const std::size_t queries = static_cast<std::size_t>(q.shape()[0]), keys = static_cast<std::size_t>(k.shape()[0]),
                    features = static_cast<std::size_t>(q.shape()[1]), values = static_cast<std::size_t>(v.shape()[1]);
  std::vector<double> y(queries * values, 0.0);
  for (std::size_t i = 0; i < queries; ++i) {
    std::vector<double> weights(keys);
    double greatest = -std::numeric_limits<double>::infinity(), total = 0;
    for (std::size_t j = 0; j < keys; ++j) {
      for (std::size_t f = 0; f < features; ++f) weights[j] += a[i * features + f] * b[j * features + f] / 2;
      weights[j] += added[i * keys + j];
      greatest = std::max(greatest, weights[j]);
    }
    if (std::isinf(greatest)) continue;
    for (double& weight : weights) total += weight = std::exp(weight - greatest);
    for (std::size_t j = 0; j < keys; ++j) {
      for (std::size_t f = 0; f < values; ++f) y[i * values + f] += weights[j] / total * c[j * values + f];
    }
  }
  return y;
}

TEST_CASE_TEMPLATE("attention with rows, columns and corners that nobody sees is softmax by its definition", M, Eager,
                   Lazy) {
  constexpr double nowhere = -std::numeric_limits<double>::infinity();
  struct Lengths {
    std::int64_t queries, keys, features, values;
  };
  enum Pattern { nothing, first_row, first_column, even_keys, only_last, none };
  for (const Lengths n : {Lengths{1, 1, 1, 1}, Lengths{1, 9, 5, 3}, Lengths{7, 1, 17, 16}, Lengths{5, 12, 16, 33},
                          Lengths{12, 5, 24, 8}, Lengths{33, 70, 20, 40}, Lengths{13, 700, 3, 2}}) {
    seed(15);
    const T q = T::normal({n.queries, n.features}), k = T::normal({n.keys, n.features}),
            v = T::normal({n.keys, n.values});
    for (const bool causal : {false, true}) {
      for (const Pattern pattern : {nothing, first_row, first_column, even_keys, only_last, none}) {
        CAPTURE(n.queries);
        CAPTURE(n.keys);
        CAPTURE(causal);
        CAPTURE(static_cast<int>(pattern));
        std::vector<double> added;
        std::vector<float> bias;
        std::vector<std::uint8_t> seen;
        for (std::int64_t i = 0; i < n.queries; ++i) {
          for (std::int64_t j = 0; j < n.keys; ++j) {
            const bool hidden = (pattern == first_row && i == 0) || (pattern == first_column && j == 0) ||
                                (pattern == even_keys && j % 2 == 0) || (pattern == only_last && j + 1 < n.keys) ||
                                pattern == none;
            const double number = static_cast<double>((i * 5 + j * 3) % 7) / 4;
            seen.push_back(hidden ? 0 : 1);
            bias.push_back(static_cast<float>(hidden ? nowhere : number));
            added.push_back(hidden || (causal && j > i) ? nowhere : number);
          }
        }
        const Shape scores{n.queries, n.keys};
        const auto as = [](const T& x) { return Tensor<M>::from(x.to_vector<float>(), x.shape()); };
        const auto check_mask = [&](const Tensor<M>& mask, const std::vector<double>& numbers) {
          const auto got =
              scaled_dot_product_attention(as(q), as(k), as(v), {.mask = mask, .causal = causal, .scale = 0.5})
                  .template to_vector<double>();
          const std::vector<double> want = by_definition(q, k, v, numbers);
          REQUIRE(got.size() == want.size());
          for (std::size_t i = 0; i < want.size(); ++i) {
            CHECK(std::abs(got[i] - want[i]) <= 2e-6 * std::max(1.0, std::abs(want[i])));
          }
        };
        check_mask(Tensor<M>::from(bias, scores), added);
        std::vector<double> zeros;
        for (const double number : added) zeros.push_back(std::isinf(number) ? nowhere : 0.0);
        check_mask(not_equal(Tensor<M>::from(seen, scores), 0), zeros);
      }
    }
  }
}

TEST_CASE("the number of threads does not change a bit of attention") {
  seed(12);
  fuzz::Dice dice(6);
  const Sizes sizes{{3}, 130, 300, 24, 24};
  const Drawn one = drawn(dice, sizes, DType::f32);
  const auto results = [&] {
    return T(core::emit(OpId::attention, one.attributes, std::span<const Value>(one.inputs)));
  };
  const int before = threads();
  threads(1);
  const T alone = results();
  threads(3);
  CHECK(array_equal(results(), alone));
  threads(before);
}

TEST_CASE_TEMPLATE("gradients of attention are those of its formula, the second order included", M, Eager, Lazy) {
  using Tensor = Tensor<M>;
  seed(13);
  const Tensor q = Tensor::normal({2, 4, 3}, {.dtype = DType::f64}),
               k = Tensor::normal({2, 5, 3}, {.dtype = DType::f64}),
               v = Tensor::normal({2, 5, 2}, {.dtype = DType::f64}),
               bias = Tensor::normal({4, 5}, {.dtype = DType::f64});
  const auto fused = [](Tensor a, Tensor b, Tensor c, Tensor d) {
    return scaled_dot_product_attention(a, b, c, {.mask = d, .causal = true, .scale = 0.7});
  };
  const auto written = [](Tensor a, Tensor b, Tensor c, Tensor d) {
    const Tensor scores = matmul(a, matrix_transpose(b)) * 0.7 + d;
    const Tensor seen = Tensor::tri(4, 5, 0, DType::boolean);
    return matmul(softmax(where(seen, scores, -std::numeric_limits<double>::infinity()), -1), c);
  };
  const auto with_gradients = [&](const auto& f) {
    return [&f](Tensor a, Tensor b, Tensor c, Tensor d) {
      const auto loss = [&f](Tensor a1, Tensor b1, Tensor c1, Tensor d1) { return sum(sin(f(a1, b1, c1, d1))); };
      const auto [value, gradients] = value_and_grad(loss, four)(a, b, c, d);
      Tensor total = value;
      for (const Tensor& each : gradients) total = total + sum(cos(each) * each);
      return total;
    };
  };
  const auto [y, first] = value_and_grad(with_gradients(fused), four)(q, k, v, bias);
  const auto [want, wanted] = value_and_grad(with_gradients(written), four)(q, k, v, bias);
  CHECK(allclose(y, want, 1e-10, 1e-12));
  for (std::size_t i = 0; i < 4; ++i) {
    CAPTURE(i);
    CHECK(allclose(first[i], wanted[i], 1e-9, 1e-11));
  }
}

TEST_CASE_TEMPLATE("a query that may look nowhere gets zeros, with dropout too", M, Eager, Lazy) {
  const Tensor<M> q = Tensor<M>::ones({3, 2}), k = Tensor<M>::ones({4, 2}), v = Tensor<M>::ones({4, 2});
  const Tensor<M> mask = broadcast_to(Tensor<M>{{true}, {false}, {true}}, {3, 4});
  for (const double dropout : {0.0, 0.01}) {
    CAPTURE(dropout);
    const auto looked = scaled_dot_product_attention(q, k, v, {.mask = mask, .dropout = dropout});
    const std::vector<float> found = looked.template to_vector<float>();
    CHECK(std::vector<float>(found.begin() + 2, found.begin() + 4) == std::vector<float>{0, 0});
  }
}

TEST_CASE("attention takes stacks that are stretched, and refuses what does not fit by name and shapes") {
  seed(14);
  const T q = T::normal({2, 3, 4, 5}), k = T::normal({1, 6, 5}), v = T::normal({6, 2});
  const T y = scaled_dot_product_attention(q, k, v);
  CHECK(y.shape() == Shape{2, 3, 4, 2});
  CHECK(allclose(y(1, 2), scaled_dot_product_attention(T(q(1, 2)), T(k(0)), v), 1e-5, 1e-6));
  CHECK_THROWS_WITH_AS(scaled_dot_product_attention(q, T::zeros({7, 6, 5}), v),
                       doctest::Contains("scaled_dot_product_attention"), ShapeError);
  CHECK_THROWS_WITH_AS(core::emit(OpId::attention, AttentionAttributes{}, {q, k, v}),
                       "attention: queries (2,3,4,5), keys (1,6,5) and values (6,2) must be (..., length, features) "
                       "alike",
                       ShapeError);
  CHECK_THROWS_AS(core::emit(OpId::attention, AttentionAttributes{}, {T(q(0, 0)), T(k(0)), cast(v, DType::f64)}),
                  TypeError);
  CHECK_THROWS_WITH_AS(core::emit(OpId::attention, AttentionAttributes{}, {T(q(0, 0)), T(k(0)), v, T::zeros({4, 5})}),
                       "attention: the mask is (4,5), not (4,6)", ShapeError);
}

TEST_CASE("a compiled attention plans memory that grows with the length, not with its square") {
  using L = Tensor<Lazy>;
  const auto bytes = [](std::int64_t length) {
    auto step = compile([](L q, L k, L v) {
      return sum(
          value_and_grad([](L a, L b, L c) { return sum(scaled_dot_product_attention(a, b, c, {.causal = true})); },
                         std::vector<std::size_t>{0, 1, 2})(q, k, v)
              .second[0]);
    });
    const L x = L::ones({2, length, 16});
    (void)step(x, x, x);
    return step.report().arena_bytes;
  };
  const auto two = static_cast<double>(bytes(2048)), four = static_cast<double>(bytes(4096));
  CHECK(four < 2.2 * two);
}

TEST_CASE("softmax in a graph lies over the scores that nobody else reads, along any axis") {
  using L = Tensor<Lazy>;
  seed(16);
  const T x = T::normal({6, 64, 8});
  for (const std::int64_t axis : {-1, -2, 0}) {
    CAPTURE(axis);
    const auto softened = [axis](auto q) {
      const auto scores = matmul(q, matrix_transpose(q));
      return matmul(softmax(scores, axis), q) + matmul(log_softmax(scores * 2, axis), q);
    };
    const auto alone = [axis](L q) { return matmul(softmax(matmul(q, matrix_transpose(q)), axis), q); };
    auto both = compile([&](L q) { return softened(q); });
    auto one = compile(alone);
    const L given = L::from(x.to_vector<float>(), x.shape());
    CHECK(allclose(T::from(both(given).to_vector<float>(), x.shape()), softened(x), 1e-5, 1e-5));
    (void)one(given);
    // Down the first axis the kernel works in a block of its own, here all of them.
    CHECK(one.report().arena_bytes < (axis == 0 ? 2.5 : 1.5) * 6 * 64 * 64 * sizeof(float));
  }
}

}  // namespace tyto
