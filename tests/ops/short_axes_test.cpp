// SPDX-License-Identifier: MIT
// Reductions over axes of few elements, which fold many rows together, against sums written out in loops.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/both_modes.hpp"
#include "tyto/tyto.hpp"

namespace {

using tyto::DType;

constexpr double infinity = std::numeric_limits<double>::infinity();
const double not_a_number = std::nan("");

using Row = std::vector<double>;

/// Rows of small numbers, whose sums every type holds. In some are NaN, infinities and zeros of both signs.
std::vector<Row> rows_of(std::int64_t count, std::int64_t length, DType dtype) {
  std::vector<Row> rows;
  for (std::int64_t i = 0; i < count; ++i) {
    Row row;
    for (std::int64_t j = 0; j < length; ++j) row.push_back(static_cast<double>((i * 7 + j * 5) % 4));
    if (!row.empty() && tyto::is_floating(dtype)) {
      double& one = row[static_cast<std::size_t>(i) % row.size()];
      if (i % 11 == 3) one = not_a_number;
      if (i % 13 == 5) one = infinity;
      if (i % 13 == 6) one = -infinity;
      if (i % 9 == 4) row.assign(row.size(), -0.0);
      if (i % 17 == 8) row.assign(row.size(), -infinity);
    }
    rows.push_back(row);
  }
  return rows;
}

template <class M>
tyto::Tensor<M> dense(const std::vector<Row>& rows, std::int64_t length, DType dtype) {
  std::vector<double> all;
  for (const Row& row : rows) all.insert(all.end(), row.begin(), row.end());
  return tyto::Tensor<M>::from(all, {static_cast<std::int64_t>(rows.size()), length}).astype(dtype);
}

/// The rows in several layouts.
template <class M>
tyto::Tensor<M> placed(const std::string& layout, const std::vector<Row>& rows, std::int64_t length, DType dtype) {
  const tyto::Tensor<M> x = dense<M>(rows, length, dtype);
  if (layout == "transposed") return tyto::copy(x.T()).T();
  if (layout == "reversed") return tyto::flip(tyto::copy(tyto::flip(x, {0, 1})), {0, 1});
  if (layout == "every second") return tyto::stack({x, x}, 2)(tyto::all, tyto::all, 0);
  return x;
}

double sum_of(const Row& row) {
  double sum = 0;
  for (const double x : row) sum += x;
  return sum;
}
double product_of(const Row& row) {
  double product = 1;
  for (const double x : row) product *= x;
  return product;
}
std::size_t place_of_extreme(const Row& row, bool largest) {
  std::size_t best = 0;
  for (std::size_t j = 0; j < row.size(); ++j) {
    if (std::isnan(row[best])) break;
    if (std::isnan(row[j]) || (largest ? row[j] > row[best] : row[j] < row[best])) best = j;
  }
  return best;
}
double mean_of(const Row& row) { return sum_of(row) / static_cast<double>(row.size()); }
double variance_of(const Row& row, double ddof) {
  Row squares;
  for (const double x : row) squares.push_back((x - mean_of(row)) * (x - mean_of(row)));
  return sum_of(squares) / std::max(static_cast<double>(row.size()) - ddof, 0.0);
}
double log_sum_exp_of(const Row& row) {
  const double largest = row[place_of_extreme(row, true)];
  if (!std::isfinite(largest)) return largest;
  Row terms;
  for (const double x : row) terms.push_back(std::exp(x - largest));
  return largest + std::log(sum_of(terms));
}
Row softmax_of(const Row& row) {
  const double largest = row[place_of_extreme(row, true)];
  Row terms;
  for (const double x : row) terms.push_back(std::exp(x - largest));
  const double sum = sum_of(terms);
  for (double& term : terms) term /= sum;
  return terms;
}
Row each(const Row& row, const std::function<double(double)>& f) {
  Row results;
  for (const double x : row) results.push_back(f(x));
  return results;
}

template <class M>
struct Case {
  std::string name;
  std::function<tyto::Tensor<M>(const tyto::Tensor<M>&)> run;
  std::function<Row(const Row&)> expected;
  bool floats = false;         // for floating-point types only
  bool needs_elements = true;  // throws, or is NaN, without any
};

template <class M, class T = tyto::Tensor<M>>
std::vector<Case<M>> cases() {
  return {
      {"sum", [](const T& x) { return sum(x, {1}); }, [](const Row& r) { return Row{sum_of(r)}; }, false, false},
      {"prod", [](const T& x) { return prod(x, {1}); }, [](const Row& r) { return Row{product_of(r)}; }, true, false},
      {"mean", [](const T& x) { return mean(x, {1}); }, [](const Row& r) { return Row{mean_of(r)}; }},
      {"max", [](const T& x) { return max(x, {1}); }, [](const Row& r) { return Row{r[place_of_extreme(r, true)]}; }},
      {"min", [](const T& x) { return min(x, {1}); }, [](const Row& r) { return Row{r[place_of_extreme(r, false)]}; }},
      {"argmax", [](const T& x) { return argmax(x, 1); },
       [](const Row& r) { return Row{static_cast<double>(place_of_extreme(r, true))}; }},
      {"argmin", [](const T& x) { return argmin(x, 1); },
       [](const Row& r) { return Row{static_cast<double>(place_of_extreme(r, false))}; }},
      {"any", [](const T& x) { return any(greater(x, 2), {1}); },
       [](const Row& r) { return Row{sum_of(each(r, [](double x) { return x > 2 ? 1.0 : 0.0; })) > 0 ? 1.0 : 0.0}; },
       false, false},
      {"all", [](const T& x) { return tyto::all(less(x, 3), {1}); },
       [](const Row& r) { return Row{sum_of(each(r, [](double x) { return x < 3 ? 0.0 : 1.0; })) > 0 ? 0.0 : 1.0}; },
       false, false},
      {"var", [](const T& x) { return var(x, {1}); }, [](const Row& r) { return Row{variance_of(r, 0)}; }, true},
      {"var, ddof 1", [](const T& x) { return var(x, {1}, false, 1); },
       [](const Row& r) { return Row{variance_of(r, 1)}; }, true},
      {"logsumexp", [](const T& x) { return logsumexp(x, {1}); }, [](const Row& r) { return Row{log_sum_exp_of(r)}; },
       true},
      {"softmax", [](const T& x) { return softmax(x, 1); }, softmax_of, true},
      {"log_softmax", [](const T& x) { return exp(log_softmax(x, 1)); }, softmax_of, true},
      {"x - max", [](const T& x) { return x - max(x, {1}, true); },
       [](const Row& r) { return each(r, [&](double x) { return x - r[place_of_extreme(r, true)]; }); }, true},
      {"sum of squares", [](const T& x) { return sum(x * x, {1}); },
       [](const Row& r) { return Row{sum_of(each(r, [](double x) { return x * x; }))}; }, false, false},
      {"layer norm", [](const T& x) { return (x - mean(x, {1}, true)) / sqrt(var(x, {1}, true) + 1.0); },
       [](const Row& r) {
         return each(r, [&](double x) { return (x - mean_of(r)) / std::sqrt(variance_of(r, 0) + 1.0); });
       },
       true}};
}

double precision_of(DType dtype) { return dtype == DType::f64 ? 1e-14 : dtype == DType::f16 ? 4e-3 : 3e-6; }

/// With NaN as one value; zeros have a sign where it is `exact`.
bool close(double got, double want, double relative, bool exact) {
  if (std::isnan(want)) return std::isnan(got);
  if (want == 0 && exact) return got == 0 && std::signbit(got) == std::signbit(want);
  return got == want || std::abs(got - want) <= relative * std::max(1.0, std::abs(want));
}

template <class M>
Row numbers_of(const tyto::Tensor<M>& x) {
  return x.astype(DType::f64).template to_vector<double>();
}

const char* const layouts[] = {"dense", "transposed", "reversed", "every second"};

}  // namespace

BOTH_MODES("reductions of rows of few elements agree with loops, zeros and NaN included") {
  for (const std::int64_t length : {1, 2, 3, 5, 17, 31, 33}) {
    for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::i32, DType::u8}) {
      const std::vector<Row> rows = rows_of(301, length, dtype);
      for (const char* const layout : layouts) {
        const auto x = placed<Mode>(layout, rows, length, dtype);
        for (const auto& each_case : cases<Mode>()) {
          if (each_case.floats && !tyto::is_floating(dtype)) continue;
          CAPTURE(length);
          CAPTURE(static_cast<int>(dtype));
          CAPTURE(layout);
          CAPTURE(each_case.name);
          Row want;
          for (const Row& row : rows) {
            const Row part = each_case.expected(row);
            want.insert(want.end(), part.begin(), part.end());
          }
          auto compiled = tyto::compile([&](const tyto::Tensor<Mode>& a) { return each_case.run(a); });
          for (const Row& got : {numbers_of(each_case.run(x)), numbers_of(compiled(x))}) {
            REQUIRE(got.size() == want.size());
            const bool exact = each_case.name == "sum" || each_case.name == "mean" || each_case.name == "prod";
            std::size_t wrong = 0;
            while (wrong < got.size() && close(got[wrong], want[wrong], precision_of(dtype), exact)) ++wrong;
            CAPTURE(wrong);
            if (wrong < got.size()) {
              CAPTURE(got[wrong]);
              CAPTURE(want[wrong]);
              CHECK(wrong == got.size());
            }
          }
        }
      }
    }
  }
}

TEST_CASE("reductions of rows of few elements give the same bits at once and in a graph") {
  for (const std::int64_t length : {0, 1, 2, 3, 4, 5, 16, 17, 31, 32, 33}) {
    for (const std::int64_t count : {3, 301}) {
      for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::i32}) {
        std::vector<Row> rows = rows_of(count, length, dtype);
        for (Row& row : rows) {
          for (std::size_t j = 0; j < row.size(); ++j) row[j] *= 1 + static_cast<double>(j) / 7;  // sums are rounded
        }
        // The order of additions follows how operands lie, and arguments of a compiled function lie densely.
        const auto eager = dense<tyto::Eager>(rows, length, dtype);
        const auto lazy = dense<tyto::Lazy>(rows, length, dtype);
        const auto now = cases<tyto::Eager>();
        const auto later = cases<tyto::Lazy>();
        for (std::size_t i = 0; i < now.size(); ++i) {
          if (now[i].floats && !tyto::is_floating(dtype)) continue;
          if (now[i].needs_elements && length == 0) continue;
          CAPTURE(length);
          CAPTURE(count);
          CAPTURE(static_cast<int>(dtype));
          CAPTURE(now[i].name);
          auto compiled = tyto::compile([&](const tyto::Tensor<tyto::Lazy>& a) { return later[i].run(a); });
          const Row got = numbers_of(compiled(lazy)), want = numbers_of(now[i].run(eager));
          REQUIRE(got.size() == want.size());
          std::size_t differing = 0;
          for (std::size_t k = 0; k < got.size(); ++k) {
            const bool both_nan = std::isnan(got[k]) && std::isnan(want[k]);
            if (!both_nan && std::bit_cast<std::uint64_t>(got[k]) != std::bit_cast<std::uint64_t>(want[k])) ++differing;
          }
          CHECK(differing == 0);
        }
      }
    }
  }
}

BOTH_MODES("reductions over axes of length 1 stay what they were when their operand is written to") {
  using T = tyto::Tensor<Mode>;
  T x{{1.5}, {-2.0}, {0.0}}, w = T::variable(T{{1.5}, {-2.0}, {0.0}});
  const T largest = max(x, {1}), product = prod(w, {1}, true), total = sum(w, {1}), found = tyto::any(x, {1});
  x(0) = 7;
  x += 1;
  assign(w, w + 10);
  CHECK(largest.template to_vector<double>() == std::vector<double>{1.5, -2, 0});
  CHECK(product.template to_vector<double>() == std::vector<double>{1.5, -2, 0});
  CHECK(total.template to_vector<double>() == std::vector<double>{1.5, -2, 0});
  CHECK(found.template to_vector<double>() == std::vector<double>{1, 1, 0});
  CHECK(x.template to_vector<double>() == std::vector<double>{8, -1, 1});
  CHECK(w.template to_vector<double>() == std::vector<double>{11.5, 8, 10});

  auto step = tyto::compile([&](const T& by) {
    const T before = max(w, {1});
    assign(w, w + by);
    return before;
  });
  CHECK(step(T(1.0)).template to_vector<double>() == std::vector<double>{11.5, 8, 10});
  CHECK(step(T(1.0)).template to_vector<double>() == std::vector<double>{12.5, 9, 11});
  CHECK(w.template to_vector<double>() == std::vector<double>{13.5, 10, 12});
}

BOTH_MODES("reductions over axes of length 1 have the types and gradients of all others") {
  using T = tyto::Tensor<Mode>;
  const T small = T{{200.0}, {3.0}}.astype(DType::u8), x{{2.0}, {-3.0}};
  CHECK(sum(small, {1}).dtype() == sum(small, {0}).dtype());
  CHECK(prod(small, {1}).dtype() == prod(small, {0}).dtype());
  CHECK(max(small, {1}).dtype() == DType::u8);
  CHECK(mean(small, {1}).dtype() == DType::f32);
  CHECK((max(T(2.0)) * T(1.0).astype(DType::f16)).dtype() == (max(T{2.0}) * T(1.0).astype(DType::f16)).dtype());
  CHECK(mean(T::full({1}, std::int64_t{16777217}, DType::i64)).item() == 16777216);
  const T turned = complex(x, T{{0.5}, {-0.0}});
  for (const T& same : {sum(turned, {1}), mean(turned, {1})}) {
    CHECK(same.dtype() == DType::c64);
    CHECK(real(same).template to_vector<double>() == std::vector<double>{2, -3});
    CHECK(imag(same).template to_vector<double>() == std::vector<double>{0.5, 0});
  }
  CHECK(max(x, {1}, true).shape() == tyto::Shape{2, 1});
  CHECK(sum(T::zeros({0, 1}), {1}).shape() == tyto::Shape{0});
  CHECK_THROWS_AS(max(x.astype(DType::c64), {1}), tyto::TypeError);
  const auto slope_of = [&](const auto& reduced) {
    return tyto::grad([&](const T& a) { return sum(reduced(a) * T{5.0, 7.0}); })(x).template to_vector<double>();
  };
  CHECK(slope_of([](const T& a) { return sum(a, {1}); }) == std::vector<double>{5, 7});
  CHECK(slope_of([](const T& a) { return mean(a, {1}); }) == std::vector<double>{5, 7});
  CHECK(slope_of([](const T& a) { return prod(a, {1}); }) == std::vector<double>{5, 7});
  CHECK(slope_of([](const T& a) { return min(a, {1}); }) == std::vector<double>{5, 7});
}

TEST_CASE("a softmax over short rows of a tensor of many axes takes no more memory than over rows of a matrix") {
  using Tensor = tyto::Tensor<tyto::Lazy>;
  const auto softmax_of = [](const tyto::Shape& shape) {
    auto f = tyto::compile([](const Tensor& x) { return softmax(x, -1); });
    const auto y = f(reshape(sin(Tensor::arange(0, 8 * 8 * 8 * 8 * 5, 1, DType::f32)), shape));
    return std::pair(f.report().arena_bytes, y.to_vector<float>());
  };
  const auto matrix = softmax_of({8 * 8 * 8 * 8, 5}), many = softmax_of({8, 8, 8, 8, 5});
  CHECK(many.first == matrix.first);
  CHECK(many.second == matrix.second);
}
