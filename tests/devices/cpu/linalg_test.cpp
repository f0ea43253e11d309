// SPDX-License-Identifier: MIT
// Factorisations for every instruction set and on several threads, inside the workspace that they ask for.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "devices/cpu/linalg/factorisations.hpp"
#include "tests/support/placed_tensor.hpp"

namespace linalg_test {

using namespace tyto;
using namespace tyto::cpu;
using namespace tyto::cpu::linalg;

namespace {

/// Memory of exactly so many elements, behind which nothing may be written.
template <class T>
class Workspace {
 public:
  explicit Workspace(std::int64_t count) : elements_(static_cast<std::size_t>(count) + guard, mark) {}
  T* get() { return elements_.data(); }
  bool intact() const {
    return std::all_of(elements_.end() - guard, elements_.end(), [](T element) { return element == mark; });
  }

 private:
  static constexpr std::ptrdiff_t guard = 64;
  static constexpr T mark = T(-77.5);
  std::vector<T> elements_;
};

template <class T>
std::vector<T> random(std::int64_t count, std::uint64_t seed) {
  placed::Dice dice(seed);
  std::vector<T> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<T>(2 * dice.unit() - 1));
  return values;
}

/// The largest element of a - b c, for row-major matrices.
template <class T>
double residual(const std::vector<T>& a, Matrix<T> b, Matrix<T> c) {
  double worst = 0;
  for (std::int64_t row = 0; row < b.rows; ++row) {
    for (std::int64_t column = 0; column < c.columns; ++column) {
      double sum = static_cast<double>(a[static_cast<std::size_t>(row * c.columns + column)]);
      for (std::int64_t k = 0; k < b.columns; ++k) {
        sum -= static_cast<double>(b(row, k)) * static_cast<double>(c(k, column));
      }
      worst = std::max(worst, std::abs(sum));
    }
  }
  return worst;
}

template <class T>
struct Setting {
  KernelContext<T> context;
  Workspace<T> packed;

  Setting(InstructionSet set, int threads, std::int64_t widest)
      : packed(static_cast<std::int64_t>(packed_bytes<T>(tiles<T>(set), widest) / sizeof(T))) {
    context = {&vector_loops<T>(set), &tiles<T>(set), threads, packed.get()};
  }
};

template <class T>
void check(InstructionSet set, int threads, std::int64_t rows, std::int64_t columns) {
  CAPTURE(static_cast<int>(set));
  CAPTURE(threads);
  CAPTURE(rows);
  CAPTURE(columns);
  const double close = (sizeof(T) == 8 ? 1e-14 : 1e-5) * static_cast<double>(rows);
  const std::vector<T> a = random<T>(rows * columns, 11);
  Setting<T> setting(set, threads, rows);
  std::vector<T> work = a;

  Workspace<T> values(columns), u(rows * rows), v(columns * columns), singular(singular_workspace(rows, columns, rows));
  REQUIRE(decompose_singular<T>(setting.context, dense(work.data(), rows, columns), values.get(),
                                dense(u.get(), rows, rows), dense(v.get(), columns, columns), singular.get()));
  std::vector<T> scaled(u.get(), u.get() + rows * rows);
  for (std::int64_t i = 0; i < rows * rows; ++i) {
    scaled[static_cast<std::size_t>(i)] *= i % rows < columns ? values.get()[i % rows] : T(0);
  }
  CHECK(residual(a, dense(scaled.data(), rows, rows).part(0, 0, rows, columns), dense(v.get(), columns, columns)) <
        close);

  Workspace<T> factors(columns), qr(qr_workspace(rows, columns, columns)), q(rows * columns);
  work = a;
  factorise_qr<T>(setting.context, dense(work.data(), rows, columns), factors.get(), qr.get());
  form_q<T>(setting.context, dense(work.data(), rows, columns), factors.get(), dense(q.get(), rows, columns), qr.get());
  const auto r = dense(work.data(), columns, columns);
  for (std::int64_t row = 1; row < columns; ++row) std::fill_n(r.row(row), row, T(0));
  CHECK(residual(a, dense(q.get(), rows, columns), r) < close);
  for (const Workspace<T>* each : {&values, &u, &v, &singular, &factors, &qr, &q, &setting.packed})
    CHECK(each->intact());
}

template <class T>
void check_square(InstructionSet set, int threads, std::int64_t size) {
  CAPTURE(static_cast<int>(set));
  CAPTURE(threads);
  CAPTURE(size);
  const double close = (sizeof(T) == 8 ? 1e-14 : 1e-5) * static_cast<double>(size);
  std::vector<T> a = random<T>(size * size, 12);
  const auto matrix = dense(a.data(), size, size);
  for (std::int64_t row = 0; row < size; ++row) {
    for (std::int64_t column = 0; column < row; ++column) matrix(column, row) = matrix(row, column);
  }
  Setting<T> setting(set, threads, size);
  std::vector<T> with_vectors;
  for (const bool vectors : {true, false}) {
    std::vector<T> work = a;
    Workspace<T> values(size), workspace(eigen_workspace(size, vectors));
    const auto found = dense(work.data(), size, size);
    REQUIRE(decompose_symmetric<T>(setting.context, found, vectors, values.get(), workspace.get()));
    CHECK(std::is_sorted(values.get(), values.get() + size));
    CHECK((values.intact() && workspace.intact() && setting.packed.intact()));
    for (std::size_t i = 0; i < with_vectors.size(); ++i) {
      CHECK(std::abs(static_cast<double>(values.get()[i] - with_vectors[i])) < close);
    }
    if (!vectors) continue;
    with_vectors.assign(values.get(), values.get() + size);
    std::vector<T> scaled = work;
    for (std::int64_t i = 0; i < size * size; ++i) scaled[static_cast<std::size_t>(i)] *= values.get()[i % size];
    CHECK(residual(a, dense(scaled.data(), size, size), found.transposed()) < close);
  }
  std::vector<T> lu = a, permuted = a;
  std::vector<std::int64_t> pivots(static_cast<std::size_t>(size)), permutation = pivots;
  REQUIRE(factorise_lu<T>(setting.context, dense(lu.data(), size, size), pivots.data()) == 0);
  permutation_of(pivots.data(), size, permutation.data(), size);
  std::vector<T> lower(a.size()), upper(a.size());
  for (std::int64_t i = 0; i < size * size; ++i) {
    const auto place = static_cast<std::size_t>(i);
    const std::int64_t row = i / size, column = i % size;
    lower[place] = column < row ? lu[place] : T(column == row);
    upper[place] = column < row ? T(0) : lu[place];
    permuted[place] = matrix(permutation[static_cast<std::size_t>(row)], column);
  }
  CHECK(residual(permuted, dense(lower.data(), size, size), dense(upper.data(), size, size)) < close);
}

/// A v = lambda v for all pairs, by the definition; they come in conjugate pairs, the positive imaginary part first.
template <class T>
void check_general(InstructionSet set, int threads, std::int64_t size, const std::vector<T>& a) {
  CAPTURE(static_cast<int>(set));
  CAPTURE(threads);
  CAPTURE(size);
  const auto count = static_cast<std::size_t>(size * size);
  Setting<T> setting(set, threads, size);
  Workspace<T> re(size), im(size), workspace(real_general_workspace(size, true)), only_re(size), only_im(size),
      only_workspace(real_general_workspace(size, false));
  std::vector<T> work = a, v_re(count), v_im(count);
  const Parts<T> vectors{dense(v_re.data(), size, size), dense(v_im.data(), size, size)};
  REQUIRE(decompose_real_general<T>(setting.context, dense(work.data(), size, size), re.get(), im.get(), &vectors,
                                    workspace.get()));
  double norm = 0, worst = 0;
  for (const T element : a) norm += static_cast<double>(element) * static_cast<double>(element);
  norm = std::sqrt(norm);
  for (std::int64_t k = 0; k < size; ++k) {
    const double value_re = static_cast<double>(re.get()[k]), value_im = static_cast<double>(im.get()[k]);
    if (value_im > 0) CHECK((re.get()[k + 1] == re.get()[k] && im.get()[k + 1] == -im.get()[k]));
    double length = 0;
    for (std::int64_t row = 0; row < size; ++row) {
      const double x = static_cast<double>(vectors.re(k, row)), y = static_cast<double>(vectors.im(k, row));
      double sum_re = value_im * y - value_re * x, sum_im = -value_im * x - value_re * y;
      for (std::int64_t i = 0; i < size; ++i) {
        const double element = static_cast<double>(a[static_cast<std::size_t>(row * size + i)]);
        sum_re += element * static_cast<double>(vectors.re(k, i));
        sum_im += element * static_cast<double>(vectors.im(k, i));
      }
      worst = std::max({worst, std::abs(sum_re), std::abs(sum_im)});
      length += x * x + y * y;
    }
    CHECK(std::abs(length - 1) < (sizeof(T) == 8 ? 1e-13 : 1e-5));
  }
  CHECK(worst <= (sizeof(T) == 8 ? 2e-15 : 1e-6) * norm * std::sqrt(static_cast<double>(size)));
  work = a;
  REQUIRE(decompose_real_general<T>(setting.context, dense(work.data(), size, size), only_re.get(), only_im.get(),
                                    nullptr, only_workspace.get()));
  double sum = 0, sum_alone = 0, trace = 0;
  for (std::int64_t k = 0; k < size; ++k) {
    sum += static_cast<double>(re.get()[k]);
    sum_alone += static_cast<double>(only_re.get()[k]);
    trace += static_cast<double>(a[static_cast<std::size_t>(k * size + k)]);
  }
  for (const double each : {sum, sum_alone}) {
    CHECK(std::abs(each - trace) <= (sizeof(T) == 8 ? 1e-14 : 5e-6) * norm * static_cast<double>(size));
  }
  for (const Workspace<T>* each : {&re, &im, &workspace, &only_re, &only_im, &only_workspace, &setting.packed})
    CHECK(each->intact());
}

}  // namespace

TEST_CASE("real matrices have their eigenvectors for every instruction set") {
  for (const InstructionSet set : {InstructionSet::baseline, InstructionSet::avx2, InstructionSet::avx512}) {
    if (set > widest_instruction_set()) continue;
    for (const int threads : {1, 4}) {
      for (const std::int64_t size : {1, 2, 3, 4, 9, 33, 47, 48, 49, 65, 97, 131, 200}) {
        check_general(set, threads, size, random<float>(size * size, 14));
        check_general(set, threads, size, random<double>(size * size, 15));
      }
    }
    // Parts that do not belong together, rows that a reflection leaves alone, a shift whose steps go in circles, and
    // numbers of very different sizes.
    constexpr std::int64_t size = 70;
    std::vector<double> blocks(size * size), diagonal = blocks, shift = blocks,
                                             graded = random<double>(size * size, 16);
    for (std::int64_t row = 0; row < size; ++row) {
      for (std::int64_t column = row / 7 * 7; column < size; ++column) {
        blocks[static_cast<std::size_t>(row * size + column)] = graded[static_cast<std::size_t>(row * size + column)];
      }
      diagonal[static_cast<std::size_t>(row * size + row)] = static_cast<double>(row % 5);
      shift[static_cast<std::size_t>(row * size + (row + 1) % size)] = 1;
      for (std::int64_t column = 0; column < size; ++column) {
        graded[static_cast<std::size_t>(row * size + column)] *=
            std::pow(10.0, static_cast<double>((row + column) % 8));
      }
    }
    for (const std::vector<double>& each : {blocks, diagonal, shift, graded}) check_general(set, 1, size, each);
  }
}

TEST_CASE("factorisations hold for every instruction set, on one thread and on several") {
  for (const InstructionSet set : {InstructionSet::baseline, InstructionSet::avx2, InstructionSet::avx512}) {
    if (set > widest_instruction_set()) continue;
    for (const int threads : {1, 4}) {
      for (const auto& [rows, columns] : {std::pair(1, 1), std::pair(5, 2), std::pair(40, 33), std::pair(70, 70),
                                          std::pair(120, 35), std::pair(131, 130)}) {
        check<float>(set, threads, rows, columns);
        check<double>(set, threads, rows, columns);
      }
      for (const std::int64_t size : {1, 2, 33, 66, 131}) {
        check_square<float>(set, threads, size);
        check_square<double>(set, threads, size);
      }
    }
  }
}

}  // namespace linalg_test
