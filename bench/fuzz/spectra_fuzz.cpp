// SPDX-License-Identifier: MIT
// Open-ended fuzzing of eigenvalues and singular values: matrices of low rank and plain structure, by residual.
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>

#include "tests/fuzz/dice.hpp"
#include "tyto/complex.hpp"
#include "tyto/indexing.hpp"
#include "tyto/linalg.hpp"
#include "tyto/reduce.hpp"

namespace {

using namespace tyto;
using T = Tensor<Eager>;
using fuzz::Dice;

constexpr char usage[] = "usage: spectra_fuzz [MATRICES [SEED [LARGEST]]]\n";

struct Drawn {
  std::string kind;
  T matrix;
};

T column(std::int64_t n) { return expand_dims(T::arange(0, n, 1, DType::i64), 1); }
T row(std::int64_t n) { return expand_dims(T::arange(0, n, 1, DType::i64), 0); }

/// Integers from -most to most.
T whole(Dice& dice, const Shape& shape, std::int64_t most) {
  return T::integers(shape, {.low = -most, .high = most + 1, .key = Key{dice.seed(), 1}}).astype(DType::f64);
}
T uniform(Dice& dice, const Shape& shape) {
  return T::uniform(shape, {.dtype = DType::f64, .key = Key{dice.seed(), 2}});
}

/// Ones where a linear form of the indices, or a product of them, leaves few of its remainders.
T remainders(Dice& dice, std::int64_t n) {
  const std::int64_t divisor = dice.between(2, 9);
  const T form = dice.below(10) * column(n) + dice.below(10) * row(n) + dice.below(3) * (column(n) * row(n));
  const T rest = remainder(form, divisor);
  return (dice.one_in(2) ? rest : less(rest, dice.between(1, divisor - 1)).astype(DType::i64)).astype(DType::f64);
}

/// Members of groups by their numbers; what stands between groups is one number each.
T groups(Dice& dice, std::int64_t n) {
  const std::int64_t many = dice.between(1, 6);
  const T between = whole(dice, {many, many}, 2);
  const T of = T::integers({n}, {.low = 0, .high = many, .key = Key{dice.seed(), 3}});
  return take(take(between, of, 0), of, 1);
}

Drawn draw_plain(Dice& dice, std::int64_t n) {
  const std::int64_t rank = dice.between(0, 6);
  switch (dice.below(13)) {
    case 0: return {"ones", T::ones({n, n}, DType::f64)};
    case 1: return {"remainders", remainders(dice, n)};
    case 2: return {"groups", groups(dice, n)};
    case 3: return {"product of integers", matmul(whole(dice, {n, rank}, 2), whole(dice, {rank, n}, 2))};
    case 4: return {"product", matmul(uniform(dice, {n, rank}), uniform(dice, {rank, n}) - 0.5)};
    case 5: {
      const std::int64_t step = dice.between(1, 9);
      return {"floors",
              (floor_divide(column(n), step) + dice.below(3) * floor_divide(row(n), step)).astype(DType::f64)};
    }
    case 6: return {"part of ones", (column(n) >= dice.below(n) || row(n) < dice.below(n)).astype(DType::f64)};
    case 7: {
      const T sizes = abs(dice.one_in(2) ? groups(dice, n) : remainders(dice, n)) + 1e-3;
      return {"stochastic", sizes / sum(sizes, 1, true)};
    }
    case 8: {  // one row and column that the others depend on
      const T middle = equal(row(n), dice.below(n)) || equal(column(n), dice.below(n));
      return {"star", middle.astype(DType::f64)};
    }
    case 9: return {"triangle of ones", triu(T::ones({n, n}, DType::f64), dice.between(-2, 2))};
    case 10: return {"circle", roll(T::eye(n, n, 0, DType::f64), dice.between(1, 5), 0)};
    case 11: {  // Jordan blocks of zeros beside circles
      const double edges = static_cast<double>(dice.between(1, 3)) / static_cast<double>(n);
      return {"directed graph", less(uniform(dice, {n, n}), edges).astype(DType::f64)};
    }
    default: {  // few distinct rows
      const T of = T::integers({n}, {.low = 0, .high = dice.between(1, 5), .key = Key{dice.seed(), 4}});
      return {"equal rows", take(uniform(dice, {6, n}) - 0.5, of, 0)};
    }
  }
}

Drawn draw(Dice& dice, std::int64_t n) {
  Drawn drawn = draw_plain(dice, n);
  T& x = drawn.matrix;
  const auto change = [&](const char* name, const T& changed) {
    drawn.kind += name;
    x = changed;
  };
  if (dice.one_in(6)) change(", transposed", x.T());
  if (dice.one_in(8)) change(" + a multiple of the identity", x + dice.between(-3, 3) * T::eye(n, n, 0, DType::f64));
  if (dice.one_in(8)) change(", some rows zero", where(less(remainder(column(n), 5), 2), 0.0, x));
  if (dice.one_in(8)) change(", in blocks", where(equal(less(column(n), n / 3), less(row(n), n / 3)), x, 0.0));
  if (dice.one_in(8)) change(", squared", matmul(x, x) / std::max<double>(1, static_cast<double>(n)));
  if (dice.one_in(8)) change(", scaled", x * std::ldexp(1.0, static_cast<int>(dice.between(-60, 60))));
  if (dice.one_in(10)) change(", graded", x * exp(-0.1 * row(n).astype(DType::f64)));
  return drawn;
}

double largest(const T& x) { return x.size() == 0 ? 0 : max(abs(x)).astype(DType::f64).item<double>(); }

double n_epsilon(const T& a) {
  const bool is_double = real_type(a.dtype()) == DType::f64;
  return static_cast<double>(a.shape()[0] + 8) * (is_double
                                                      ? std::numeric_limits<double>::epsilon()
                                                      : static_cast<double>(std::numeric_limits<float>::epsilon()));
}

/// The residual of a v = v w in units of n epsilon, where rows and columns are scaled to one length: that is the matrix
/// whose eigenvalues are computed, and LAPACK's residuals of the unscaled matrix may be larger too.
double scaled_residual(const T& a, const T& values, const T& vectors) {
  const T wide = a.astype(DType::c128), squares = square(abs(wide));
  T scale = T::ones({a.shape()[0]}, DType::f64);
  const auto scaled = [&] { return squares * square(scale) / expand_dims(square(scale), 1); };
  for (int i = 0; i < 60; ++i) {
    const T rows = sum(scaled(), 1), columns = sum(scaled(), 0);
    const T ratio = where(rows > 0.0 && columns > 0.0, rows / columns, 1.0);
    scale = clip(scale * power(ratio, 0.25), 1e-60, 1e60);
  }
  const T v = vectors.astype(DType::c128), by = expand_dims(1.0 / scale, 1);
  const T rest = abs((matmul(wide, v) - v * values.astype(DType::c128)) * by);
  const T sizes = sqrt(sum(square(abs(v * by)), 0)) * sqrt(sum(scaled()));
  return max(rest / sizes).item<double>() / n_epsilon(a);
}

class Check {
 public:
  Check(const T& a, double& worst) : worst_(worst), unit_(n_epsilon(a)) {
    size_ = std::max(linalg::norm(a.astype(is_complex(a.dtype()) ? DType::c128 : DType::f64)).item<double>(),
                     std::numeric_limits<double>::min());
  }
  /// Notes what exceeds `times` n epsilon the matrix's norm, or n epsilon alone.
  void small(const char* what, const T& rest, double times, bool relative = true) {
    small(what, in_units(rest, relative), times);
  }
  void small(const char* what, double found, double times) {
    if (found > worst_) worst_ = found;
    if (!(found <= times)) wrong_ += std::string(" ") + what + " " + std::to_string(found);
  }
  double in_units(const T& rest, bool relative = true) const {
    return largest(rest) / (unit_ * (relative ? size_ : 1));
  }
  const std::string& wrong() const { return wrong_; }

 private:
  double& worst_;
  double unit_ = 0, size_ = 0;
  std::string wrong_;
};

T adjoint(const T& x) { return conj(x.T()); }

/// Describes faults in the spectra of a; empty where there are none.
std::string faults(const T& a, double& worst) {
  Check check(a, worst);
  const T one = T::eye(a.shape()[0], -1, 0, a.dtype());
  try {
    const auto [values, vectors] = linalg::eig(a);
    const double plain = check.in_units(matmul(a.astype(values.dtype()), vectors) - vectors * values);
    check.small("eig", plain <= 4 ? plain : scaled_residual(a, values, vectors), 50);
    check.small("length of eigenvectors", sum(square(abs(vectors)), 0) - 1.0, 4, false);
    check.small("trace", sum(linalg::eigvals(a)) - linalg::trace(a), 4 * std::sqrt(static_cast<double>(a.shape()[0])));
    const auto [u, s, vh] = linalg::svd(a);
    check.small("svd", matmul(u * s, vh) - a, 4);
    check.small("svd's u", matmul(adjoint(u), u) - one, 4, false);
    check.small("svd's v", matmul(vh, adjoint(vh)) - one, 4, false);
    check.small("svdvals", linalg::svdvals(a) - s, 4);
    const T hermitian = 0.5 * (a + adjoint(a));
    const auto [own, orthogonal] = linalg::eigh(hermitian);
    check.small("eigh", matmul(orthogonal * own, adjoint(orthogonal)) - hermitian, 4);
    check.small("eigh's vectors", matmul(adjoint(orthogonal), orthogonal) - one, 4, false);
    check.small("eigvalsh", linalg::eigvalsh(hermitian) - own, 4);
  } catch (const Error& error) {
    return std::string(" ") + error.what();
  }
  return check.wrong();
}

}  // namespace

int main(int count, char** arguments) {
  if (count > 4) {
    std::fputs(usage, stderr);
    return 2;
  }
  const std::int64_t matrices = count > 1 ? std::strtoll(arguments[1], nullptr, 10) : 20'000;
  const std::uint64_t seed = count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 1;
  const std::int64_t most = count > 3 ? std::strtoll(arguments[3], nullptr, 10) : 450;
  Dice dice(seed);
  std::int64_t wrong = 0;
  double worst[4] = {};
  constexpr DType types[] = {DType::f32, DType::f64, DType::c64, DType::c128};
  for (std::int64_t i = 0; i < matrices; ++i) {
    // Most are small, so that there are many.
    const std::int64_t n = dice.between(1, dice.one_in(40) ? most : std::min<std::int64_t>(most, 90));
    const auto type = static_cast<std::size_t>(dice.below(4));
    Drawn drawn = draw(dice, n);
    T a = drawn.matrix;
    // A phase keeps the rank; so do different ones of rows and columns.
    if (type >= 2 && !dice.one_in(4)) {
      const T turn = exp((T::arange(0, n, 1, DType::f64) * 0.7) * std::complex<double>(0, 1));
      a = dice.one_in(2) ? a * std::polar(1.0, 0.9) : expand_dims(turn, 1) * a * turn;
    }
    const std::string found = faults(a.astype(types[type]), worst[type]);
    if (found.empty()) continue;
    ++wrong;
    std::printf("matrix %lld (%s, n %lld, %s):%s\n", static_cast<long long>(i), drawn.kind.c_str(),
                static_cast<long long>(n), std::string(name_of(types[type])).c_str(), found.c_str());
  }
  std::printf(
      "%lld matrices, %lld wrong; the largest residuals in n epsilon: f32 %.2f, f64 %.2f, c64 %.2f, c128 %.2f\n",
      static_cast<long long>(matrices), static_cast<long long>(wrong), worst[0], worst[1], worst[2], worst[3]);
  return wrong == 0 ? 0 : 1;
}
