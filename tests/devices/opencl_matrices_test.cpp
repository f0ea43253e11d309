// What teams do with matrices, in both styles: solutions are those of the CPU's kernels, and factors make their
// matrices again.
#if defined(TYTO_HAVE_OPENCL)

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "core/op_ids.hpp"
#include "tests/devices/opencl_steps.hpp"
#include "tyto/error.hpp"

namespace opencl_matrices_test {

using namespace tyto;
using namespace tyto::opencl;
using namespace tyto::opencl::test;
using core::Attributes;
using core::OpId;

namespace {

/// Of matrices that are factorised, each step of which a whole team takes.
bool too_large(std::int64_t rows, std::int64_t columns) { return is_interpreted() && std::max(rows, columns) > 9; }

/// Numbers between -1 and 1 without a pattern, of which matrices are regular.
HostTensor scattered(DType dtype, const Shape& shape, std::uint64_t seed = 1) {
  HostTensor tensor = numbers(dtype, shape);
  for (double& value : tensor.values) {
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    value = rounded(dtype, static_cast<double>(seed >> 40) / (1 << 23) - 1);
  }
  return tensor;
}

/// Stacks of matrices with so much added to the diagonal.
HostTensor with_diagonal(HostTensor matrices, double added) {
  const Shape& shape = matrices.view.shape;
  const std::int64_t rows = shape[shape.size() - 2], columns = shape.back();
  const std::size_t parts = is_complex(matrices.dtype) ? 2 : 1;
  for (std::size_t i = 0; i < matrices.values.size(); i += parts) {
    const std::int64_t at = static_cast<std::int64_t>(i / parts) % (rows * columns);
    if (at / columns == at % columns) matrices.values[i] = rounded(matrices.dtype, matrices.values[i] + added);
  }
  return matrices;
}

}  // namespace

TEST_CASE("systems of equations are factorised and solved on OpenCL") {
  std::vector<Step> steps;
  for (const DType dtype : {DType::f32, DType::f64, DType::c64, DType::c128}) {
    // Differences grow with the condition of the matrices, which is some hundreds.
    const double tolerance = 1000 * rounding(real_type(dtype));
    for (const std::int64_t size : {0, 1, 2, 5, 33, 70}) {
      if (too_large(size, size)) continue;
      const Shape square = {3, size, size}, side = {3, size, 4};
      const HostTensor a = scattered(dtype, square), b = scattered(dtype, side, 7);
      steps.push_back({OpId::lu_factor, {}, {a}, tolerance});
      steps.push_back({OpId::solve, {}, {a, b}, tolerance});
      steps.push_back({OpId::inv, {}, {a}, tolerance});
      steps.push_back({OpId::det, {}, {a}, tolerance});
      const HostTensor dominant = with_diagonal(a, static_cast<double>(size));
      std::vector<std::int64_t> order, wrong;
      for (std::int64_t i = 0; i < 3 * size; ++i) {
        order.push_back(size - 1 - i % size);
        wrong.push_back(i % size == 0 && i / size == 1 && size > 1 ? 1 : i % size);
      }
      for (const bool flag : {false, true}) {
        for (const std::vector<std::int64_t>& each : {order, wrong}) {
          steps.push_back({OpId::lu_solve,
                           core::AxisAttributes{0, flag},
                           {dominant, HostTensor::of_integers(DType::i64, {3, size}, each), b},
                           tolerance});
        }
        for (const bool unit : {false, true}) {
          if (unit && size > 5) continue;  // grows beyond all bounds
          steps.push_back({OpId::triangular_solve, core::AxisAttributes{0, flag, unit}, {dominant, b}, tolerance});
        }
      }
      steps.push_back({OpId::cholesky, {}, {dominant}, tolerance});
      steps.push_back({OpId::cholesky, {}, {a}, tolerance});
    }
    steps.push_back({OpId::lu_factor, {}, {scattered(dtype, {2, 9, 40})}, tolerance});
    steps.push_back({OpId::lu_factor, {}, {scattered(dtype, {40, 9})}, tolerance});
    // Singular, not a number, and empty stacks.
    HostTensor hard = scattered(dtype, {3, 4, 4});
    for (std::size_t i = 2; i < 16; i += 4) hard.values[i] = 0;
    hard.values[is_complex(dtype) ? 32 : 20] = NAN;
    for (const OpId op : {OpId::lu_factor, OpId::inv, OpId::det, OpId::cholesky}) {
      steps.push_back({op, {}, {hard}, tolerance});
      steps.push_back({op, {}, {scattered(dtype, {0, 4, 4})}, tolerance});
    }
    steps.push_back({OpId::solve, {}, {hard, scattered(dtype, {3, 4, 2})}, tolerance});
  }
  check(steps);
}

// Their parts come from all sections of the library, in which a name must not mean two things.
TEST_CASE("functions of elements and factorisations are compiled as one program on OpenCL") {
  std::vector<Step> steps;
  for (const DType dtype : {DType::f32, DType::f64}) {
    const double tolerance = 100 * rounding(dtype);
    const HostTensor inner = spread(dtype, {5}, 0.1, 0.9), square = with_diagonal(scattered(dtype, {4, 4}), 4);
    for (const core::OpDef& def : core::op_table()) {
      if (!def.is(core::Traits::elementwise) || def.max_inputs != 1 || def.domain != core::Domain::floating) continue;
      steps.push_back({def.id, {}, {inner}, tolerance});
    }
    for (const OpId op : {OpId::det, OpId::inv, OpId::cholesky, OpId::eigvalsh, OpId::svdvals, OpId::expm}) {
      steps.push_back({op, {}, {square}, tolerance});
    }
    steps.push_back({OpId::power, {}, {inner, inner}, tolerance});
    steps.push_back({OpId::eigvals, {}, {scattered(complex_type(dtype), {1, 1})}, tolerance});
  }
  check(steps);
}

namespace {

using Matrix = std::vector<double>;

/// Matrix number `index` of a stack.
Matrix part_of(const HostTensor& stack, std::int64_t rows, std::int64_t columns, std::int64_t index) {
  const auto begin = stack.values.begin() + index * rows * columns;
  return {begin, begin + rows * columns};
}

Matrix transposed(const Matrix& a, std::int64_t columns) {
  const std::int64_t rows = columns == 0 ? 0 : static_cast<std::int64_t>(a.size()) / columns;
  Matrix out(a.size());
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    out[static_cast<std::size_t>(i % columns * rows + i / columns)] = a[static_cast<std::size_t>(i)];
  }
  return out;
}

Matrix product(const Matrix& a, const Matrix& b, std::int64_t inner, std::int64_t columns) {
  const std::int64_t rows = inner == 0 ? 0 : static_cast<std::int64_t>(a.size()) / inner;
  Matrix out(static_cast<std::size_t>(rows * columns));
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t k = 0; k < inner; ++k) {
      for (std::int64_t j = 0; j < columns; ++j) {
        out[static_cast<std::size_t>(i * columns + j)] +=
            a[static_cast<std::size_t>(i * inner + k)] * b[static_cast<std::size_t>(k * columns + j)];
      }
    }
  }
  return out;
}

double distance(const Matrix& a, const Matrix& b) {
  double worst = a.size() == b.size() ? 0 : INFINITY;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    const double apart = std::fabs(a[i] - b[i]);
    worst = std::isnan(apart) ? INFINITY : std::max(worst, apart);
  }
  return worst;
}

Matrix diagonal(const Matrix& values) {
  Matrix out(values.size() * values.size());
  for (std::size_t i = 0; i < values.size(); ++i) out[i * values.size() + i] = values[i];
  return out;
}

bool has_orthonormal_columns(const Matrix& q, std::int64_t columns, double tolerance) {
  const Matrix turned = transposed(q, columns);
  const std::int64_t rows = columns == 0 ? 0 : static_cast<std::int64_t>(q.size()) / columns;
  return distance(product(turned, q, rows, columns), diagonal(Matrix(static_cast<std::size_t>(columns), 1.0))) <=
         tolerance;
}

}  // namespace

TEST_CASE("orthogonal factors, eigenvectors and singular vectors make their matrices again on OpenCL") {
  for (OpenClDevice* device : both_styles()) {
    for (const DType dtype : computed_types(*device, {DType::f32, DType::f64})) {
      const double unit = dtype == DType::f64 ? 2.2e-16 : 1.2e-7;
      for (const auto& extents :
           {std::pair<std::int64_t, std::int64_t>{1, 1}, {2, 2}, {9, 4}, {4, 9}, {37, 37}, {70, 33}, {33, 70}}) {
        const std::int64_t rows = extents.first, columns = extents.second;  // clang 14 captures no structured binding
        if (too_large(rows, columns)) continue;
        INFO(name_of(dtype), ' ', rows, " x ", columns);
        // The last matrix has rank one, the one before it rank three at most.
        HostTensor a = scattered(dtype, {3, rows, columns});
        for (std::int64_t i = 0; i < 2 * rows * columns; ++i) {
          const double x = static_cast<double>(i / columns % rows), y = static_cast<double>(i % columns);
          double value = 1 + x;
          if (i < rows * columns) value = std::sin(x + 1) * (y + 1) + std::cos(x) + x * y * y / 100;
          a.values[static_cast<std::size_t>(rows * columns + i)] = rounded(dtype, value);
        }
        const std::int64_t least = std::min(rows, columns);
        for (const bool complete : {false, true}) {
          const core::AxisAttributes attributes{0, complete, false};
          const auto svd = on(*device, OpId::svd, attributes, {a});
          const std::int64_t left = complete ? rows : least, right = complete ? columns : least;
          for (std::int64_t i = 0; i < 3; ++i) {
            const Matrix whole = part_of(a, rows, columns, i), u = part_of(svd[0], rows, left, i),
                         s = part_of(svd[1], 1, least, i), v = part_of(svd[2], right, columns, i);
            const double tolerance = 8 * unit * static_cast<double>(std::max(rows, columns));
            CHECK(has_orthonormal_columns(u, left, tolerance));
            CHECK(has_orthonormal_columns(transposed(v, columns), right, tolerance));
            CHECK(std::is_sorted(s.rbegin(), s.rend()));
            CHECK(s.back() >= 0);
            Matrix middle(static_cast<std::size_t>(left * right));
            for (std::int64_t k = 0; k < least; ++k) {
              middle[static_cast<std::size_t>(k * right + k)] = s[static_cast<std::size_t>(k)];
            }
            const Matrix again = product(product(u, middle, left, right), v, right, columns);
            CHECK(distance(again, whole) <= tolerance * s[0]);
          }
          if (rows < columns) continue;
          const auto qr = on(*device, OpId::qr, attributes, {a});
          for (std::int64_t i = 0; i < 3; ++i) {
            const double tolerance = 8 * unit * static_cast<double>(rows);
            const Matrix q = part_of(qr[0], rows, left, i), r = part_of(qr[1], left, columns, i);
            CHECK(has_orthonormal_columns(q, left, tolerance));
            const Matrix whole = part_of(a, rows, columns, i);
            CHECK(distance(product(q, r, left, columns), whole) <= tolerance * part_of(svd[1], 1, least, i)[0]);
            for (std::int64_t k = 0; k < left * columns; ++k) {
              if (k % columns < k / columns) CHECK(r[static_cast<std::size_t>(k)] == 0);
            }
          }
        }
        if (rows != columns) continue;
        const auto eigen = on(*device, OpId::eigh, {}, {a});
        for (std::int64_t i = 0; i < 3; ++i) {
          Matrix symmetric = part_of(a, rows, rows, i);
          for (std::int64_t k = 0; k < rows * rows; ++k) {
            const std::int64_t x = std::max(k / rows, k % rows), y = std::min(k / rows, k % rows);
            symmetric[static_cast<std::size_t>(k)] = part_of(a, rows, rows, i)[static_cast<std::size_t>(x * rows + y)];
          }
          const Matrix values = part_of(eigen[0], 1, rows, i), vectors = part_of(eigen[1], rows, rows, i);
          const double size = std::max(std::fabs(values.front()), std::fabs(values.back()));
          const double tolerance = 8 * unit * static_cast<double>(rows);
          CHECK(std::is_sorted(values.begin(), values.end()));
          CHECK(has_orthonormal_columns(vectors, rows, tolerance));
          CHECK(distance(product(symmetric, vectors, rows, rows), product(vectors, diagonal(values), rows, rows)) <=
                tolerance * size);
        }
      }
    }
  }
}

namespace {

/// A complex matrix as a real one twice as large, whose products, sums and transposes are its products, sums and
/// adjoints.
Matrix embedded(const HostTensor& stack, std::int64_t rows, std::int64_t columns, std::int64_t index) {
  Matrix out(static_cast<std::size_t>(4 * rows * columns));
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    const auto at = static_cast<std::size_t>(2 * (index * rows * columns + i));
    const double re = stack.values[at], im = stack.values[at + 1];
    const std::int64_t row = i / columns, column = i % columns;
    const auto put = [&](std::int64_t r, std::int64_t c, double value) {
      out[static_cast<std::size_t>(r * 2 * columns + c)] = value;
    };
    put(row, column, re);
    put(row + rows, column + columns, re);
    put(row + rows, column, im);
    put(row, column + columns, -im);
  }
  return out;
}

/// What real numbers are on the diagonal of rows x columns, embedded.
Matrix embedded_diagonal(const Matrix& values, std::int64_t rows, std::int64_t columns) {
  Matrix out(static_cast<std::size_t>(4 * rows * columns));
  for (std::size_t k = 0; k < values.size(); ++k) {
    const auto at = static_cast<std::int64_t>(k);
    out[static_cast<std::size_t>(at * 2 * columns + at)] = values[k];
    out[static_cast<std::size_t>((at + rows) * 2 * columns + at + columns)] = values[k];
  }
  return out;
}

double greatest(const Matrix& a) {
  double most = 0;
  for (const double value : a) most = std::max(most, std::fabs(value));
  return most;
}

}  // namespace

TEST_CASE("factors of complex matrices make them again on OpenCL") {
  for (OpenClDevice* device : both_styles()) {
    for (const DType dtype : {DType::c64, DType::c128}) {
      if (dtype == DType::c128 && !computes_f64(*device)) continue;
      for (const auto& extents :
           {std::pair<std::int64_t, std::int64_t>{1, 1}, {2, 2}, {9, 4}, {4, 9}, {30, 30}, {40, 17}}) {
        const std::int64_t rows = extents.first, columns = extents.second;  // clang 14 captures no structured binding
        if (too_large(rows, columns)) continue;
        INFO(name_of(dtype), ' ', rows, " x ", columns);
        // The last matrix has rank one.
        HostTensor a = scattered(dtype, {2, rows, columns});
        for (std::int64_t i = 0; i < rows * columns; ++i) {
          const double x = static_cast<double>(i / columns), y = static_cast<double>(i % columns);
          const auto at = static_cast<std::size_t>(2 * (rows * columns + i));
          a.values[at] = rounded(dtype, std::cos(x - 2 * y));
          a.values[at + 1] = rounded(dtype, std::sin(x - 2 * y));
        }
        const std::int64_t least = std::min(rows, columns);
        const double tolerance = 16 * rounding(real_type(dtype)) * static_cast<double>(std::max(rows, columns));
        for (const bool complete : {false, true}) {
          const core::AxisAttributes attributes{0, complete, false};
          const std::int64_t left = complete ? rows : least, right = complete ? columns : least;
          const auto svd = on(*device, OpId::svd, attributes, {a});
          const auto qr = rows < columns ? std::vector<HostTensor>() : on(*device, OpId::qr, attributes, {a});
          for (std::int64_t i = 0; i < 2; ++i) {
            const Matrix whole = embedded(a, rows, columns, i), u = embedded(svd[0], rows, left, i),
                         s = part_of(svd[1], 1, least, i), v = embedded(svd[2], right, columns, i);
            CHECK(has_orthonormal_columns(u, 2 * left, tolerance));
            CHECK(has_orthonormal_columns(transposed(v, 2 * columns), 2 * right, tolerance));
            CHECK(std::is_sorted(s.rbegin(), s.rend()));
            const Matrix scaled = product(u, embedded_diagonal(s, left, right), 2 * left, 2 * right);
            CHECK(distance(product(scaled, v, 2 * right, 2 * columns), whole) <= tolerance * s[0]);
            if (qr.empty()) continue;
            const Matrix q = embedded(qr[0], rows, left, i), r = embedded(qr[1], left, columns, i);
            CHECK(has_orthonormal_columns(q, 2 * left, tolerance));
            CHECK(distance(product(q, r, 2 * left, 2 * columns), whole) <= tolerance * s[0]);
            for (std::int64_t k = 0; k < left * columns; ++k) {
              const auto at = static_cast<std::size_t>(2 * (i * left * columns + k));
              if (k % columns < k / columns) CHECK(qr[1].values[at] == 0);
              if (k % columns <= k / columns) CHECK(qr[1].values[at + 1] == 0);
            }
          }
        }
        if (rows != columns) continue;
        HostTensor hermitian = a;
        for (std::int64_t k = 0; k < 2 * rows * rows; ++k) {
          const std::int64_t row = k / rows % rows, column = k % rows, from = k / (rows * rows) * rows * rows;
          const auto to = static_cast<std::size_t>(2 * k);
          const auto at = static_cast<std::size_t>(2 * (from + std::max(row, column) * rows + std::min(row, column)));
          hermitian.values[to] = a.values[at];
          hermitian.values[to + 1] = row == column ? 0 : row > column ? a.values[at + 1] : -a.values[at + 1];
        }
        const auto eigen = on(*device, OpId::eigh, {}, {a});
        for (std::int64_t i = 0; i < 2; ++i) {
          const Matrix values = part_of(eigen[0], 1, rows, i), vectors = embedded(eigen[1], rows, rows, i);
          CHECK(std::is_sorted(values.begin(), values.end()));
          CHECK(has_orthonormal_columns(vectors, 2 * rows, tolerance));
          const Matrix left = product(embedded(hermitian, rows, rows, i), vectors, 2 * rows, 2 * rows);
          const Matrix right = product(vectors, embedded_diagonal(values, rows, rows), 2 * rows, 2 * rows);
          CHECK(distance(left, right) <= tolerance * greatest(values));
        }
      }
    }
  }
}

TEST_CASE("eigenvectors of any matrix are only stretched by it on OpenCL") {
  for (OpenClDevice* device : both_styles()) {
    for (const DType dtype : {DType::c64, DType::c128}) {
      if (dtype == DType::c128 && !computes_f64(*device)) continue;
      for (const std::int64_t size : {1, 2, 3, 8, 33}) {
        if (too_large(size, size)) continue;
        INFO(name_of(dtype), ' ', size);
        // Without a pattern, real and upper triangular but for a corner, badly scaled, a cycle, and not a number.
        HostTensor a = scattered(dtype, {5, size, size});
        const std::int64_t count = size * size;
        for (std::int64_t i = 0; i < count; ++i) {
          const std::int64_t row = i / size, column = i % size;
          const auto at = [&](std::int64_t matrix) { return static_cast<std::size_t>(2 * (matrix * count + i)); };
          if (row > column) a.values[at(1)] = row == size - 1 && column == 0 ? 0.5 : 0;
          a.values[at(1) + 1] = 0;
          for (const std::size_t part : {at(2), at(2) + 1}) {
            a.values[part] = std::ldexp(a.values[part], static_cast<int>(row % 9 - column % 9));
          }
          a.values[at(3)] = (row + 1) % size == column ? 1 : 0;
          a.values[at(3) + 1] = 0;
        }
        a.values[static_cast<std::size_t>(2 * (4 * count) + 1)] = NAN;
        // More iterations than llvmpipe lets a kernel have, which must not pass for results.
        if (device->context().ends_loops && size == 33) {
          CHECK_THROWS_WITH_AS(on(*device, OpId::eig, {}, {a}),
                               doctest::Contains("eig: the driver ended loops of the kernel before they were done"),
                               DeviceError);
          continue;
        }
        const auto eigen = on(*device, OpId::eig, {}, {a}), values = on(*device, OpId::eigvals, {}, {a});
        const auto on_host = on_cpu({OpId::eigvals, {}, {a}});
        for (std::int64_t i = 0; i < 4; ++i) {
          INFO("matrix ", i);
          const Matrix whole = embedded(a, size, size, i), vectors = embedded(eigen[1], size, size, i);
          const double tolerance =
              30 * rounding(real_type(dtype)) * static_cast<double>(size) * std::max(greatest(whole), 1.0);
          Matrix stretched = vectors;
          for (std::int64_t k = 0; k < size; ++k) {
            const auto at = static_cast<std::size_t>(2 * (i * size + k));
            const double re = eigen[0].values[at], im = eigen[0].values[at + 1];
            double squares = 0, nearest = INFINITY, nearest_alone = INFINITY;
            for (std::int64_t row = 0; row < size; ++row) {
              const auto x = static_cast<std::size_t>(row * 2 * size + k);
              const auto y = static_cast<std::size_t>((row + size) * 2 * size + k);
              squares += vectors[x] * vectors[x] + vectors[y] * vectors[y];
              for (const auto& [to, value] :
                   {std::pair(x, re * vectors[x] - im * vectors[y]), std::pair(y, re * vectors[y] + im * vectors[x])}) {
                stretched[to] = value;
              }
              stretched[x + static_cast<std::size_t>(size)] = -stretched[y];
              stretched[y + static_cast<std::size_t>(size)] = stretched[x];
              const auto other = static_cast<std::size_t>(2 * (i * size + row));
              nearest = std::min(nearest, std::hypot(on_host[0].values[other] - re, on_host[0].values[other + 1] - im));
              nearest_alone =
                  std::min(nearest_alone, std::hypot(values[0].values[other] - re, values[0].values[other + 1] - im));
            }
            CHECK(squares == doctest::Approx(1).epsilon(tolerance));
            if (i == 1) continue;  // what is nearly defective moves far by roundings
            CHECK(nearest <= 100 * tolerance);
            CHECK(nearest_alone <= 100 * tolerance);
          }
          CHECK(distance(product(whole, vectors, 2 * size, 2 * size), stretched) <= tolerance);
        }
        for (std::int64_t k = 0; k < 2 * size; ++k) {
          CHECK(std::isnan(eigen[0].values[static_cast<std::size_t>(2 * 4 * size + k)]));
        }
      }
      CHECK(on(*device, OpId::eig, {}, {scattered(dtype, {2, 0, 0})})[1].values.empty());
      CHECK(on(*device, OpId::eigvals, {}, {scattered(dtype, {0, 3, 3})})[0].values.empty());
    }
  }
}

TEST_CASE("eigenvalues, singular values, pseudo-inverses and exponentials are those of the CPU on OpenCL") {
  std::vector<Step> steps;
  for (const DType dtype : {DType::f32, DType::f64, DType::c64, DType::c128}) {
    const DType part = real_type(dtype);
    const double tolerance = 10 * rounding(part);
    for (const auto& [rows, columns] :
         {std::pair<std::int64_t, std::int64_t>{0, 0}, {1, 1}, {3, 0}, {5, 5}, {6, 6}, {20, 7}, {7, 20}, {40, 40}}) {
      if (too_large(rows, columns)) continue;
      const HostTensor a = scattered(dtype, {2, rows, columns});
      steps.push_back({OpId::svdvals, {}, {a}, tolerance});
      steps.push_back({OpId::pinv, {}, {a, HostTensor::of(part, {}, {1e-4})}, 30 * tolerance});
      steps.push_back({OpId::pinv, {}, {a, HostTensor::of(part, {}, {0.3})}, 30 * tolerance});
      if (rows != columns) continue;
      steps.push_back({OpId::eigvalsh, {}, {a}, tolerance});
      if (is_complex(dtype)) continue;
      // Each degree of the approximation, and squarings.
      for (const double factor : {0.001, 0.02, 0.08, 0.3, 1.0}) {
        HostTensor scaled = a;
        for (double& value : scaled.values) value = rounded(dtype, value * factor);
        steps.push_back({OpId::expm, {}, {scaled}, tolerance});
      }
    }
    // What is not finite, next to what is very large or small.
    HostTensor hard = scattered(dtype, {4, 5, 5});
    const std::size_t each = is_complex(dtype) ? 50 : 25;
    for (std::size_t i = each; i < 2 * each; ++i) hard.values[i] *= part == DType::f64 ? 1e200 : 1e25;
    for (std::size_t i = 3 * each; i < 4 * each; ++i) hard.values[i] *= part == DType::f64 ? 1e-200 : 1e-25;
    for (double& value : hard.values) value = rounded(dtype, value);
    hard.values[2 * each + 10] = NAN;
    for (const OpId op : {OpId::eigvalsh, OpId::svdvals, OpId::svd, OpId::eigh}) {
      if (op == OpId::eigvalsh || op == OpId::svdvals) steps.push_back({op, {}, {hard}, tolerance});
      const Attributes attributes = op == OpId::svd ? Attributes(core::AxisAttributes{}) : Attributes();
      steps.push_back({op, attributes, {scattered(dtype, {0, 4, 4})}, tolerance});
      steps.push_back({op, attributes, {scattered(dtype, {2, 0, 0})}, tolerance});
    }
  }
  check(steps);
}

}  // namespace opencl_matrices_test

#endif
