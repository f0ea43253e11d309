// SPDX-License-Identifier: MIT
// Spectra of plain matrices whose eigenvalues are known: of low rank, of which nothing is left after the first
// deflations but rounding errors, which shrink from step to step; and of directed graphs.
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "ops/linalg.hpp"
#include "tests/support/both_modes.hpp"
#include "tests/support/numbers.hpp"
#include "tyto/complex.hpp"
#include "tyto/indexing.hpp"
#include "tyto/polynomials.hpp"

using namespace tyto;
using tyto_test::Numbers;
using tyto_test::numbers;

namespace low_rank_spectra_test {

struct Kind {
  const char* name;
  double (*element)(std::int64_t i, std::int64_t j, std::int64_t n);
  Numbers (*nonzero)(std::int64_t n);  // eigenvalues
};

/// The number of integers in 0 ... n - 1 with this remainder.
double count(std::int64_t n, std::int64_t divisor, std::int64_t remainder) {
  return static_cast<double>((n - remainder + divisor - 1) / divisor);
}

constexpr Kind kinds[] = {
    {"ones", [](auto, auto, auto) { return 1.0; }, [](std::int64_t n) { return Numbers{static_cast<double>(n)}; }},
    {"stochastic", [](auto, auto, std::int64_t n) { return 1.0 / static_cast<double>(n); },
     [](auto) { return Numbers{1}; }},
    // A complete graph of two sides.
    {"(i + j) mod 2", [](auto i, auto j, auto) { return static_cast<double>((i + j) % 2); },
     [](std::int64_t n) {
       const double value = std::sqrt(count(n, 2, 0) * count(n, 2, 1));
       return Numbers{value, -value};
     }},
    // Complete graphs of those of one remainder.
    {"i j mod 3 == 1", [](auto i, auto j, auto) { return i * j % 3 == 1 ? 1.0 : 0.0; },
     [](std::int64_t n) {
       return Numbers{count(n, 3, 1), count(n, 3, 2)};
     }},
    {"(7i + 3j) mod 5 == 0", [](auto i, auto j, auto) { return (7 * i + 3 * j) % 5 == 0 ? 1.0 : 0.0; },
     [](std::int64_t n) {
       return Numbers{count(n, 5, 0), count(n, 5, 1), count(n, 5, 2), count(n, 5, 3), count(n, 5, 4)};
     }},
    // u 1^T + 1 u^T.
    {"floor(i / 4) + floor(j / 4)", [](auto i, auto j, auto) { return static_cast<double>(i / 4 + j / 4); },
     [](std::int64_t n) {
       double sum = 0, squares = 0;
       for (std::int64_t i = 0; i < n; ++i) {
         const auto u = static_cast<double>(i / 4);
         sum += u;
         squares += u * u;
       }
       const double apart = std::sqrt(static_cast<double>(n) * squares);
       return Numbers{sum + apart, sum - apart};
     }},
    {"left half ones", [](auto, auto j, auto n) { return j < n / 2 ? 1.0 : 0.0; },
     [](std::int64_t n) { return Numbers{static_cast<double>(n / 2)}; }},
};

constexpr DType all_types[] = {DType::f32, DType::f64, DType::c64, DType::c128};

/// By which complex matrices, and so their eigenvalues, are multiplied.
constexpr std::complex<double> phase{0.6, 0.8};

template <class T>
T matrix_of(const Kind& kind, std::int64_t n, DType type) {
  Numbers elements;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) elements.push_back(kind.element(i, j, n));
  }
  const T real = T::from(elements, {n, n});
  return (is_complex(type) ? real * phase : real).astype(type);
}

double epsilon_of(DType type) {
  return real_type(type) == DType::f64 ? std::numeric_limits<double>::epsilon()
                                       : static_cast<double>(std::numeric_limits<float>::epsilon());
}

/// n eigenvalues, zeros among them, ascending.
Numbers expected(const Kind& kind, std::int64_t n) {
  Numbers values = kind.nonzero(n);
  values.resize(std::max(values.size(), static_cast<std::size_t>(n)));
  std::sort(values.begin(), values.end(), [](double a, double b) { return std::abs(a) > std::abs(b); });
  values.resize(static_cast<std::size_t>(n));  // small matrices have fewer
  std::sort(values.begin(), values.end());
  return values;
}

template <class T>
void check_values(const T& found, const Kind& kind, std::int64_t n, DType type) {
  std::vector<std::complex<double>> values = found.astype(DType::c128).template to_vector<std::complex<double>>();
  for (std::complex<double>& value : values) value /= is_complex(type) ? phase : 1.0;
  std::sort(values.begin(), values.end(), [](const auto& a, const auto& b) { return a.real() < b.real(); });
  const Numbers known = expected(kind, n);
  REQUIRE(values.size() == known.size());
  const double close = 4 * static_cast<double>(n + 8) * epsilon_of(type) * std::max(known.back(), 1.0);
  double farthest = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double distance = std::abs(values[i] - known[i]);
    farthest = distance <= farthest ? farthest : distance;  // NaN is far
  }
  CHECK(farthest <= close);
}

BOTH_MODES("matrices of low rank have the eigenvalues that they are made of") {
  using T = Tensor<Mode>;
  for (const Kind& kind : kinds) {
    CAPTURE(std::string(kind.name));
    for (const DType type : all_types) {
      CAPTURE(type);
      for (std::int64_t n = 1; n <= 140; n += 3) {
        CAPTURE(n);
        check_values(linalg::eigvals(matrix_of<T>(kind, n, type)), kind, n, type);
      }
    }
  }
}

/// Traces of the powers of a matrix of zeros and ones, which are the sums of powers of its eigenvalues.
Numbers traces_of_powers(const std::vector<std::int64_t>& edges, std::int64_t n, int longest) {
  const auto at = [n](std::int64_t i, std::int64_t j) { return static_cast<std::size_t>(i * n + j); };
  std::vector<std::int64_t> power = edges;
  Numbers traces;
  for (int exponent = 1; exponent <= longest; ++exponent) {
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < n; ++i) sum += power[at(i, i)];
    traces.push_back(static_cast<double>(sum));
    std::vector<std::int64_t> next(power.size());
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t k = 0; k < n; ++k) {
        if (edges[at(i, k)] == 0) continue;
        for (std::int64_t j = 0; j < n; ++j) next[at(i, j)] += power[at(k, j)];
      }
    }
    power = std::move(next);
  }
  return traces;
}

/// As many edges as were drawn, some of them twice, twice the number of nodes.
std::vector<std::int64_t> directed_graph(std::uint32_t seed, std::int64_t n) {
  std::minstd_rand random(seed);
  const auto node = [&] { return static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(n)); };
  std::vector<std::int64_t> edges(static_cast<std::size_t>(n * n));
  for (std::int64_t edge = 0; edge < 2 * n; ++edge) {
    const std::int64_t from = node();
    edges[static_cast<std::size_t>(from * n + node())] = 1;
  }
  return edges;
}

// Jordan blocks of zeros and of roots of one size, over which QR steps wander for a while.
BOTH_MODES("sums of powers of the eigenvalues of sparse directed graphs are the traces of powers") {
  using T = Tensor<Mode>;
  constexpr int longest = 6;
  const auto check = [](std::uint32_t seed, std::int64_t n, DType type) {
    CAPTURE(seed);
    CAPTURE(n);
    CAPTURE(type);
    const std::vector<std::int64_t> edges = directed_graph(seed, n);
    const T values = linalg::eigvals(T::from(edges, {n, n}).astype(type)).astype(DType::c128);
    const auto found = values.template to_vector<std::complex<double>>();
    const Numbers traces = traces_of_powers(edges, n, longest);
    for (int exponent = 1; exponent <= longest; ++exponent) {
      std::complex<double> sum = 0;
      double sizes = 0;
      for (const std::complex<double>& value : found) {
        sum += std::pow(value, exponent);
        sizes += std::pow(std::max(1.0, std::abs(value)), exponent);
      }
      CAPTURE(exponent);
      // A change of the matrix by epsilon times its norm changes the sum by as much times its sizes.
      CHECK(std::abs(sum - traces[static_cast<std::size_t>(exponent - 1)]) <= 40 * exponent * sizes * epsilon_of(type));
    }
  };
  check(86 * 7919 + 140, 140, DType::f64);
  check(86 * 7919 + 140, 140, DType::c128);
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    check(seed, 60 + 3 * (seed % 40), all_types[seed % 4]);
  }
}

TEST_CASE("large matrices of low rank have the eigenvalues that they are made of") {
  using T = Tensor<Eager>;
  for (const Kind& kind : kinds) {
    CAPTURE(std::string(kind.name));
    for (const std::int64_t n : {320, 400, 450}) {
      CAPTURE(n);
      check_values(linalg::eigvals(matrix_of<T>(kind, n, DType::f64)), kind, n, DType::f64);
    }
    check_values(linalg::eigvals(matrix_of<T>(kind, 320, DType::c128)), kind, 320, DType::c128);
  }
}

TEST_CASE("matrices of low rank turn their eigenvectors into multiples of these") {
  using T = Tensor<Eager>;
  for (const Kind& kind : kinds) {
    CAPTURE(std::string(kind.name));
    for (const DType type : all_types) {
      CAPTURE(type);
      for (const std::int64_t n : {2, 17, 52, 58, 61, 64, 70, 73, 93, 104, 115, 126, 137}) {
        CAPTURE(n);
        const T a = matrix_of<T>(kind, n, type);
        const auto [values, vectors] = linalg::eig(a);
        check_values(values, kind, n, type);
        const T rest = matmul(a.astype(values.dtype()), vectors) - vectors * values;
        const double close = 4 * static_cast<double>(n) * epsilon_of(type);
        CHECK(max(abs(rest)).astype(DType::f64).item<double>() <=
              close * linalg::norm(a).astype(DType::f64).item<double>());
        CHECK(max(abs(sum(square(abs(vectors)), 0) - 1)).astype(DType::f64).item<double>() <= close);
      }
    }
  }
}

BOTH_MODES("the polynomial of a matrix of low rank has its eigenvalues as zeros") {
  using T = Tensor<Mode>;
  for (const std::int64_t n : {58, 64, 70, 104}) {
    Numbers known(static_cast<std::size_t>(n) + 1, 0);
    known[0] = 1;
    known[1] = -static_cast<double>(n);
    const Numbers found = numbers(poly(T::ones({n, n}, DType::f64)));
    REQUIRE(found.size() == known.size());
    for (std::size_t i = 0; i < known.size(); ++i) CHECK(std::abs(found[i] - known[i]) < 1e-8);
  }
}

BOTH_MODES("blocks that zeros part keep the digits of their own scale") {
  using T = Tensor<Mode>;
  for (const DType type : all_types) {
    CAPTURE(type);
    const double small = real_type(type) == DType::f64 ? 1e-120 : 1e-16;
    // Two rows of eigenvalues 1 +- sqrt(2), and the roots of one of degree three, both times `small`.
    const T rows = T::from(Numbers{1, 0,         0,     0,     0,     0,      //
                                   0, small,     small, 0,     0,     0,      //
                                   0, 2 * small, small, 0,     0,     0,      //
                                   0, 0,         0,     0,     0,     small,  //
                                   0, 0,         0,     small, 0,     0,      //
                                   0, 0,         0,     0,     small, 0},
                           {6, 6});
    const T a = (is_complex(type) ? rows * phase : rows).astype(type);
    std::vector<std::complex<double>> values =
        linalg::eigvals(a).astype(DType::c128).template to_vector<std::complex<double>>();
    const double root = std::sqrt(0.75);
    for (const std::complex<double> known : {std::complex<double>(1 / small), std::complex<double>(1 + std::sqrt(2)),
                                             std::complex<double>(1 - std::sqrt(2)), std::complex<double>(1),
                                             std::complex<double>(-0.5, root), std::complex<double>(-0.5, -root)}) {
      CAPTURE(known.real());
      double nearest = INFINITY;
      for (const std::complex<double>& value : values) {
        const std::complex<double> scaled = value / (is_complex(type) ? phase : 1.0) / small;
        nearest = std::min(nearest, std::abs(scaled - known) / std::abs(known));
      }
      CHECK(nearest < 20 * epsilon_of(type));
    }
  }
}

TEST_CASE("symmetric parts of matrices of low rank have orthogonal eigenvectors and the values of these") {
  using T = Tensor<Eager>;
  const auto size_of = [](const T& x) { return max(abs(x)).astype(DType::f64).template item<double>(); };
  // Rows and columns of ones, and phases: what is left of them after some reflections shrinks to the smallest numbers.
  constexpr Kind star{"star", [](auto i, auto j, auto) { return i == 3 || j == 3 ? 1.0 : 0.0; }, nullptr};
  std::vector<Kind> all(std::begin(kinds), std::end(kinds));
  all.push_back(star);
  for (const Kind& kind : all) {
    CAPTURE(std::string(kind.name));
    for (const DType type : all_types) {
      CAPTURE(type);
      for (const std::int64_t n : {5, 23, 34, 47, 54, 63, 71, 76, 82, 128}) {
        CAPTURE(n);
        T a = matrix_of<T>(kind, n, type);
        if (is_complex(type)) {
          const T turn = exp(T::arange(0, n, 1, DType::f64) * std::complex<double>(0, 0.7));
          a = (expand_dims(turn, 1) * a * turn).astype(type);
        }
        for (const double scale : {1.0, 0x1p-40, 0x1p50}) {
          CAPTURE(scale);
          const T symmetric = (0.5 * scale) * (a + conj(a.T()));
          const auto [values, vectors] = linalg::eigh(symmetric);
          const double close = 4 * static_cast<double>(n) * epsilon_of(type),
                       norm = std::max(scale * size_of(a), scale);
          const T one = T::eye(n, -1, 0, type), back = conj(vectors.T());
          CHECK(size_of(matmul(back, vectors) - one) <= close);
          CHECK(size_of(matmul(vectors * values, back) - symmetric) <= close * static_cast<double>(n) * norm);
          CHECK(size_of(linalg::eigvalsh(symmetric) - values) <= close * static_cast<double>(n) * norm);
        }
      }
    }
  }
}

TEST_CASE("triangles in any order of their rows have their diagonal as eigenvalues, and vectors of them") {
  using T = Tensor<Eager>;
  for (const DType type : all_types) {
    CAPTURE(type);
    for (const std::int64_t n : {2, 9, 31, 72}) {
      CAPTURE(n);
      const T triangle = triu(T::ones({n, n}, DType::f64), 1) + diag(T::arange(1, n + 1, 1, DType::f64) / 8);
      // Every row k of the triangle becomes row 5 k + 3 mod n, and so do the columns.
      const T order = remainder(5 * T::arange(0, n, 1, DType::i64) + 3, n);
      const T mixed = take(take(triangle, order, 0), order, 1);
      for (const T& real : {triangle, triangle.T(), mixed}) {
        const T a = (is_complex(type) ? real * phase : real).astype(type);
        const auto [values, vectors] = linalg::eig(a);
        const T rest = matmul(a.astype(values.dtype()), vectors) - vectors * values;
        CHECK(max(abs(rest)).astype(DType::f64).item<double>() <= 4 * static_cast<double>(n * n) * epsilon_of(type));
        std::vector<std::complex<double>> found = values.astype(DType::c128).to_vector<std::complex<double>>();
        for (std::complex<double>& value : found) value /= is_complex(type) ? phase : 1.0;
        std::sort(found.begin(), found.end(), [](const auto& x, const auto& y) { return x.real() < y.real(); });
        for (std::size_t i = 0; i < found.size(); ++i) {
          CHECK(std::abs(found[i] - static_cast<double>(i + 1) / 8) <= 8 * static_cast<double>(n) * epsilon_of(type));
        }
      }
    }
  }
}

TEST_CASE("circular shifts have roots of one as eigenvalues, however many circles they are") {
  using T = Tensor<Eager>;
  for (const DType type : all_types) {
    CAPTURE(type);
    for (const std::int64_t n : {6, 40, 82, 96}) {
      CAPTURE(n);
      for (std::int64_t by = 1; by < n; by += n < 50 ? 1 : 3) {
        CAPTURE(by);
        const T shift = roll(T::eye(n, n, 0, DType::f64), by, 0);
        const T a = ((is_complex(type) ? shift * phase : shift) / static_cast<double>(n)).astype(type);
        const auto [values, vectors] = linalg::eig(a);
        const double close = 4 * static_cast<double>(n) * epsilon_of(type);
        const T rest = matmul(a.astype(values.dtype()), vectors) - vectors * values;
        CHECK(max(abs(rest)).astype(DType::f64).item<double>() <= close);
        // Times n they are of size one, and as many powers as their circles are long lead back to one.
        const T one = values.astype(DType::c128) * static_cast<double>(n) / (is_complex(type) ? phase : 1.0);
        const std::int64_t length = n / std::gcd(n, by);
        T product = ones_like(one);
        for (std::int64_t i = 0; i < length; ++i) product = product * one;
        CHECK(max(abs(product - 1.0)).item<double>() <= close * static_cast<double>(length));
      }
    }
  }
}

TEST_CASE("eager mode names the matrix for which an iteration did not converge") {
  using T = Tensor<Eager>;
  const T nothing = T::full({2, 3}, NAN), one = T{1.0, 2.0, 3.0}, values = stack({one, T(nothing(0))});
  const T matrices = T::ones({2, 3, 3});
  CHECK_THROWS_WITH_AS(core::refuse_unconverged(core::OpId::svd, matrices, values),
                       "svd: the iteration did not converge for matrix 1 of the stack of shape (2,)", ValueError);
  CHECK_THROWS_WITH_AS(
      core::refuse_unconverged(core::OpId::eigvals, matrices(0).astype(DType::c64), nothing(0).astype(DType::c64)),
      "eigvals: the iteration did not converge for the matrix", ValueError);
  CHECK_NOTHROW(core::refuse_unconverged(core::OpId::svd, matrices, T::ones({2, 3})));
  CHECK_NOTHROW(core::refuse_unconverged(core::OpId::svd, T::ones({2, 0, 0}), T::ones({2, 0})));
  // What is not finite has no values, which is no matter of steps; above the diagonal `eigh` reads nothing.
  const T above = T{{1.0, NAN}, {2.0, 3.0}};
  CHECK_NOTHROW(core::refuse_unconverged(core::OpId::eig, above.astype(DType::c64), T::full({2}, NAN, DType::c64)));
  CHECK_THROWS_AS(core::refuse_unconverged(core::OpId::eigh, above, T::full({2}, NAN)), ValueError);
}

}  // namespace low_rank_spectra_test
