// SPDX-License-Identifier: MIT
// Attention where rounding, layout and NaN distinguish kernels: large scores, strided operands, NaN behind the
// diagonal.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "tyto/attention.hpp"
#include "tyto/tyto.hpp"

namespace tyto::attention_numerics_test {
namespace {

using E = Tensor<Eager>;
constexpr double infinity = std::numeric_limits<double>::infinity();

struct Sizes {
  std::int64_t queries, keys, features, values;
};

/// Matrices of doubles, row by row.
struct Matrix {
  std::int64_t rows, columns;
  std::vector<double> numbers;

  static Matrix zeros(std::int64_t rows, std::int64_t columns) {
    return {rows, columns, std::vector<double>(static_cast<std::size_t>(rows * columns))};
  }
  static Matrix of(const E& x) { return {x.shape()[0], x.shape()[1], x.to_vector<double>()}; }
  double& at(std::int64_t i, std::int64_t j) { return numbers[static_cast<std::size_t>(i * columns + j)]; }
  double at(std::int64_t i, std::int64_t j) const { return numbers[static_cast<std::size_t>(i * columns + j)]; }
  double greatest() const {
    double most = 0;
    for (const double x : numbers) most = std::max(most, std::abs(x));
    return most;
  }
};

/// Attention and its gradients, element by element.
struct Truth {
  Matrix y, by_q, by_k, by_v;
  std::vector<double> log_sums, others;  // others: of each query, the weight of all keys but the greatest
  std::vector<double> sizes;             // of each query, the greatest sum of |q k|, scaled

  /// `added` is what is added to scores, or nothing.
  Truth(const Matrix& q, const Matrix& k, const Matrix& v, const Matrix& g, double scale, bool causal,
        const Matrix* added = nullptr)
      : y(Matrix::zeros(q.rows, v.columns)),
        by_q(Matrix::zeros(q.rows, q.columns)),
        by_k(Matrix::zeros(k.rows, k.columns)),
        by_v(Matrix::zeros(v.rows, v.columns)) {
    for (std::int64_t i = 0; i < q.rows; ++i) {
      const std::int64_t seen = causal ? std::min(i + 1, k.rows) : k.rows;
      std::vector<double> weights;
      double size = 0, total = 0, inner_of_all = 0;
      for (std::int64_t j = 0; j < seen; ++j) {
        double score = added != nullptr ? added->at(i, j) : 0, absolute = 0;
        for (std::int64_t f = 0; f < q.columns; ++f) {
          score += q.at(i, f) * k.at(j, f) * scale;
          absolute += std::abs(q.at(i, f) * k.at(j, f)) * scale;
        }
        weights.push_back(score);
        size = std::max(size, absolute);
      }
      const double greatest = *std::max_element(weights.begin(), weights.end());
      for (double& weight : weights) total += weight = std::exp(weight - greatest);
      for (double& weight : weights) weight /= total;
      log_sums.push_back(greatest + std::log(total));
      others.push_back((total - 1) / total);
      sizes.push_back(size);
      std::vector<double> inner(weights.size());
      for (std::int64_t j = 0; j < seen; ++j) {
        const double weight = weights[static_cast<std::size_t>(j)];
        double& product = inner[static_cast<std::size_t>(j)];
        for (std::int64_t f = 0; f < v.columns; ++f) {
          y.at(i, f) += weight * v.at(j, f);
          by_v.at(j, f) += weight * g.at(i, f);
          product += g.at(i, f) * v.at(j, f);
        }
        inner_of_all += weight * product;
      }
      for (std::int64_t j = 0; j < seen; ++j) {
        const double weight = weights[static_cast<std::size_t>(j)];
        const double of_score = weight * (inner[static_cast<std::size_t>(j)] - inner_of_all) * scale;
        for (std::int64_t f = 0; f < q.columns; ++f) {
          by_q.at(i, f) += of_score * k.at(j, f);
          by_k.at(j, f) += of_score * q.at(i, f);
        }
      }
    }
  }

  /// The relative error of query i's weights where rounding may change its scores by so many of their sizes: none if
  /// one key has all the weight, whatever the scores are.
  double doubt(std::size_t i, double rounding) const { return std::min(others[i], rounding * sizes[i]); }
};

template <class M>
Tensor<M> as(const E& x) {
  if (x.dtype() == DType::f64) return Tensor<M>::from(x.to_vector<double>(), x.shape());
  return Tensor<M>::from(x.to_vector<float>(), x.shape());
}

E matrix(std::int64_t rows, std::int64_t columns, DType dtype) { return E::normal({rows, columns}, {.dtype = dtype}); }

struct Gradients {
  E y, by_q, by_k, by_v;
  std::array<const E*, 4> all() const { return {&y, &by_q, &by_k, &by_v}; }
};

/// The result of `attend`, a function of q, k and v, and the gradients of sum(result * g), in a mode.
template <class M, class Attend>
Gradients gradients(const Attend& attend, const E& q, const E& k, const E& v, const E& g) {
  const Tensor<M> to = as<M>(g), a = as<M>(q), b = as<M>(k), c = as<M>(v);
  const auto loss = [&](Tensor<M> x, Tensor<M> z, Tensor<M> w) { return sum(attend(x, z, w) * to); };
  const auto [value, found] = value_and_grad(loss, std::vector<std::size_t>{0, 1, 2})(a, b, c);
  const auto eager = [](const Tensor<M>& x) {
    return x.dtype() == DType::f64 ? E::from(x.template to_vector<double>(), x.shape())
                                   : E::from(x.template to_vector<float>(), x.shape());
  };
  return {eager(attend(a, b, c)), eager(found[0]), eager(found[1]), eager(found[2])};
}

/// The largest difference of two matrices.
double difference(const E& got, const Matrix& want) {
  const std::vector<double> numbers = got.to_vector<double>();
  REQUIRE(numbers.size() == want.numbers.size());
  double most = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (!(std::abs(numbers[i] - want.numbers[i]) <= most)) most = std::abs(numbers[i] - want.numbers[i]);
  }
  return most;
}

TEST_CASE_TEMPLATE("great scores of few queries give the result and gradients of doubles", M, Eager, Lazy) {
  constexpr double epsilon = std::numeric_limits<float>::epsilon();
  for (const double scale : {3.0, 30.0, 300.0}) {
    for (std::int64_t queries = 1; queries <= 6; ++queries) {
      for (const Sizes n : {Sizes{queries, 9, 64, 16}, Sizes{queries, 50, 33, 5}, Sizes{queries, 300, 17, 64}}) {
        for (const bool causal : {false, true}) {
          CAPTURE(scale);
          CAPTURE(queries);
          CAPTURE(n.keys);
          CAPTURE(causal);
          seed(static_cast<std::uint64_t>(100 * queries + n.keys));
          const E q = matrix(queries, n.features, DType::f32) * scale;
          const E k = matrix(n.keys, n.features, DType::f32) * scale;
          const E v = matrix(n.keys, n.values, DType::f32), g = matrix(queries, n.values, DType::f32);
          const double factor = 1 / std::sqrt(static_cast<double>(n.features));
          const Truth want(Matrix::of(q), Matrix::of(k), Matrix::of(v), Matrix::of(g), factor, causal);
          const auto attend = [&](auto a, auto b, auto c) {
            return scaled_dot_product_attention(a, b, c, {.causal = causal});
          };
          const Gradients got = gradients<M>(attend, q, k, v, g);
          double doubt = 0, doubts = 0;
          for (std::size_t i = 0; i < want.sizes.size(); ++i) {
            const double own = 8 * epsilon + 4 * want.doubt(i, epsilon);
            doubt = std::max(doubt, own);
            doubts += own;
          }
          const double most_v = Matrix::of(v).greatest(), most_g = Matrix::of(g).greatest();
          // Of g and a value: what the scores' gradients are a difference of.
          const double inner = static_cast<double>(n.values) * most_g * most_v;
          CHECK(difference(got.y, want.y) <= doubt * most_v);
          CHECK(difference(got.by_v, want.by_v) <= doubts * most_g);
          CHECK(difference(got.by_q, want.by_q) <= doubt * inner * factor * Matrix::of(k).greatest());
          CHECK(difference(got.by_k, want.by_k) <= doubts * inner * factor * Matrix::of(q).greatest());
        }
      }
    }
  }
}

// With a gradient of ones, that of the values sums to the weights' sum, which only the rounding of the logarithm that
// the kernel keeps makes other than one: not the order in which scores are added up, forward and for the gradient.
TEST_CASE("the weights that the gradient of attention makes anew sum to one, however great the scores") {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const double epsilon =
        dtype == DType::f32 ? std::numeric_limits<float>::epsilon() : std::numeric_limits<double>::epsilon();
    for (const std::int64_t queries : {1, 2, 3, 4, 5, 6, 7, 30}) {
      for (const std::int64_t features : {1, 3, 5, 16, 17, 31, 64, 100}) {
        for (const std::int64_t keys : {1, 6, 7, 8, 40, 201}) {
          for (const double scale : {3.0, 30.0, 300.0}) {
            const bool biased = (keys + features + queries) % 2 == 0;
            CAPTURE(dtype);
            CAPTURE(biased);
            CAPTURE(queries);
            CAPTURE(features);
            CAPTURE(keys);
            CAPTURE(scale);
            seed(static_cast<std::uint64_t>(1000 * queries + 10 * features + keys));
            const E q = matrix(queries, features, dtype) * scale, k = matrix(keys, features, dtype) * scale;
            const E v = matrix(keys, 2, dtype), g = E::ones({queries, 2}, dtype);
            const E bias = biased ? matrix(queries, keys, dtype) * scale : E::zeros({queries, keys}, dtype);
            const Matrix added = Matrix::of(bias);
            const Truth want(Matrix::of(q), Matrix::of(k), Matrix::of(v), Matrix::of(g), 0.1, false, &added);
            const auto attend = [&](const E& a, const E& b, const E& c) {
              return scaled_dot_product_attention(a, b, c, {.mask = biased ? bias : E(), .scale = 0.1});
            };
            const Gradients got = gradients<Eager>(attend, q, k, v, g);
            double allowed = 0;
            for (std::size_t i = 0; i < want.sizes.size(); ++i) {
              const double rounded = epsilon * std::abs(want.log_sums[i]);
              allowed += 8 * epsilon + std::min(2 * want.others[i], rounded);
            }
            const std::vector<double> total = sum(cast(got.by_v, DType::f64), 0).to_vector<double>();
            CHECK(std::abs(total[0] - static_cast<double>(queries)) <= allowed);
          }
        }
      }
    }
  }
}

/// How an operand lies: side by side, as the heads of a layer do, or its rows as the columns of other matrices.
enum class Layout { dense, heads, transposed };

/// A stack of matrices put into memory so that `laid_out` gives it back with the strides of a layout.
E stored(const E& x, Layout layout) {
  if (layout == Layout::dense) return x;
  const E moved = layout == Layout::heads ? swapaxes(x, 0, 1) : matrix_transpose(x);
  return as<Eager>(moved);
}
template <class T>
T laid_out(const T& x, Layout layout) {
  if (layout == Layout::dense) return x;
  return layout == Layout::heads ? swapaxes(x, 0, 1) : matrix_transpose(x);
}

TEST_CASE_TEMPLATE("strides of queries, keys and values do not change a bit of attention or its gradients", M, Eager,
                   Lazy) {
  constexpr std::array layouts{Layout::dense, Layout::heads, Layout::transposed};
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const Sizes n : {Sizes{1, 40, 64, 64}, Sizes{2, 9, 33, 5}, Sizes{3, 300, 17, 32}, Sizes{4, 7, 100, 16},
                          Sizes{5, 40, 64, 64}, Sizes{30, 21, 19, 8}}) {
      seed(21);
      const auto drawn = [&](std::int64_t rows, std::int64_t columns) {
        return E::normal({3, rows, columns}, {.dtype = dtype});
      };
      const E q = drawn(n.queries, n.features), k = drawn(n.keys, n.features), v = drawn(n.keys, n.values);
      const E g = drawn(n.queries, n.values);
      const auto attend = [](auto a, auto b, auto c) { return scaled_dot_product_attention(a, b, c); };
      const Gradients want = gradients<Eager>(attend, q, k, v, g);
      for (const Layout of_q : layouts) {
        for (const Layout of_k : layouts) {
          for (const Layout of_v : layouts) {
            CAPTURE(dtype);
            CAPTURE(n.queries);
            CAPTURE(static_cast<int>(of_q));
            CAPTURE(static_cast<int>(of_k));
            CAPTURE(static_cast<int>(of_v));
            const Gradients got = gradients<M>(
                [&](auto a, auto b, auto c) {
                  return scaled_dot_product_attention(laid_out(a, of_q), laid_out(b, of_k), laid_out(c, of_v));
                },
                stored(q, of_q), stored(k, of_k), stored(v, of_v), g);
            CHECK(array_equal(got.y, want.y));
            CHECK(array_equal(laid_out(got.by_q, of_q), want.by_q));
            CHECK(array_equal(laid_out(got.by_k, of_k), want.by_k));
            CHECK(array_equal(laid_out(got.by_v, of_v), want.by_v));
          }
        }
      }
    }
  }
}

/// x with a row of one number.
E with_row(const E& x, std::int64_t row, double number) {
  std::vector<float> numbers = x.to_vector<float>();
  const auto columns = static_cast<std::size_t>(x.shape()[1]), first = static_cast<std::size_t>(row) * columns;
  std::fill_n(numbers.begin() + static_cast<std::ptrdiff_t>(first), columns, static_cast<float>(number));
  return E::from(numbers, x.shape());
}

bool rows_equal(const E& a, const E& b, std::int64_t first, std::int64_t end) {
  return first >= end || array_equal(E(a(slice(first, end))), E(b(slice(first, end))));
}

TEST_CASE_TEMPLATE("a NaN or an infinity behind the causal diagonal reaches neither results nor gradients", M, Eager,
                   Lazy) {
  const auto attend = [](auto a, auto b, auto c) { return scaled_dot_product_attention(a, b, c, {.causal = true}); };
  for (const Sizes n : {Sizes{2, 2, 5, 3}, Sizes{4, 4, 16, 32}, Sizes{7, 7, 33, 17}, Sizes{64, 64, 64, 64},
                        Sizes{9, 5, 8, 40}, Sizes{5, 9, 8, 70}, Sizes{250, 250, 10, 9}, Sizes{700, 700, 3, 2}}) {
    seed(22);
    const E q = matrix(n.queries, n.features, DType::f32), k = matrix(n.keys, n.features, DType::f32);
    const E v = matrix(n.keys, n.values, DType::f32), g = matrix(n.queries, n.values, DType::f32);
    const Gradients clean = gradients<M>(attend, q, k, v, g);
    for (const double poison : {std::numeric_limits<double>::quiet_NaN(), infinity}) {
      for (const std::int64_t row : {std::int64_t{1}, n.keys / 2, n.keys - 1}) {
        CAPTURE(n.queries);
        CAPTURE(n.keys);
        CAPTURE(poison);
        CAPTURE(row);
        // Queries before the row see neither its key nor its value.
        const std::int64_t before = std::min(row, n.queries);
        const Gradients by_value = gradients<M>(attend, q, k, with_row(v, row, poison), g);
        CHECK(rows_equal(by_value.y, clean.y, 0, before));
        CHECK(rows_equal(by_value.by_q, clean.by_q, 0, before));
        CHECK(array_equal(by_value.by_v, clean.by_v));  // weights alone decide it
        const Gradients by_key = gradients<M>(attend, q, with_row(k, row, poison), v, g);
        CHECK(rows_equal(by_key.y, clean.y, 0, before));
        CHECK(rows_equal(by_key.by_q, clean.by_q, 0, before));
        if (row < n.queries) {
          CHECK(!bool(any(isfinite(E(by_value.y(row))))));
          CHECK(!bool(any(isfinite(E(by_key.by_q(row))))));
        }
        if (row >= n.queries) continue;
        // Keys behind the query's row are not seen by it, and other queries do not see it.
        const Gradients by_query = gradients<M>(attend, with_row(q, row, poison), k, v, g);
        const Gradients by_gradient = gradients<M>(attend, q, k, v, with_row(g, row, poison));
        for (const Gradients* each : {&by_query, &by_gradient}) {
          CHECK(rows_equal(each->by_k, clean.by_k, row + 1, n.keys));
          CHECK(rows_equal(each->by_v, clean.by_v, row + 1, n.keys));
          CHECK(rows_equal(each->by_q, clean.by_q, 0, row));
          CHECK(rows_equal(each->by_q, clean.by_q, row + 1, n.queries));
        }
        CHECK(rows_equal(by_query.y, clean.y, 0, row));
        CHECK(rows_equal(by_query.y, clean.y, row + 1, n.queries));
      }
    }
  }
}

}  // namespace
}  // namespace tyto::attention_numerics_test
