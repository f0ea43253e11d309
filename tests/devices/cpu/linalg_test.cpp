// Factorisations for every instruction set and on several threads, inside the room that they ask for.
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
class Room {
 public:
  explicit Room(std::int64_t count) : elements_(static_cast<std::size_t>(count) + guard, mark) {}
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
  Bench<T> bench;
  Room<T> packed;

  Setting(InstructionSet set, int threads, std::int64_t widest)
      : packed(static_cast<std::int64_t>(packed_bytes<T>(tiles<T>(set), widest) / sizeof(T))) {
    bench = {&vector_loops<T>(set), &tiles<T>(set), threads, packed.get()};
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

  Room<T> values(columns), u(rows * rows), v(columns * columns), singular(singular_room(rows, columns, rows));
  REQUIRE(decompose_singular<T>(setting.bench, dense(work.data(), rows, columns), values.get(),
                                dense(u.get(), rows, rows), dense(v.get(), columns, columns), singular.get()));
  std::vector<T> scaled(u.get(), u.get() + rows * rows);
  for (std::int64_t i = 0; i < rows * rows; ++i) {
    scaled[static_cast<std::size_t>(i)] *= i % rows < columns ? values.get()[i % rows] : T(0);
  }
  CHECK(residual(a, dense(scaled.data(), rows, rows).part(0, 0, rows, columns), dense(v.get(), columns, columns)) <
        close);

  Room<T> factors(columns), qr(qr_room(rows, columns, columns)), q(rows * columns);
  work = a;
  factorise_qr<T>(setting.bench, dense(work.data(), rows, columns), factors.get(), qr.get());
  form_q<T>(setting.bench, dense(work.data(), rows, columns), factors.get(), dense(q.get(), rows, columns), qr.get());
  const auto r = dense(work.data(), columns, columns);
  for (std::int64_t row = 1; row < columns; ++row) std::fill_n(r.row(row), row, T(0));
  CHECK(residual(a, dense(q.get(), rows, columns), r) < close);
  for (const Room<T>* each : {&values, &u, &v, &singular, &factors, &qr, &q, &setting.packed}) CHECK(each->intact());
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
  for (const bool vectors : {true, false}) {
    std::vector<T> work = a;
    Room<T> values(size), room(eigen_room(size, vectors));
    const auto found = dense(work.data(), size, size);
    REQUIRE(decompose_symmetric<T>(setting.bench, found, vectors, values.get(), room.get()));
    CHECK(std::is_sorted(values.get(), values.get() + size));
    CHECK((values.intact() && room.intact() && setting.packed.intact()));
    if (!vectors) continue;
    std::vector<T> scaled = work;
    for (std::int64_t i = 0; i < size * size; ++i) scaled[static_cast<std::size_t>(i)] *= values.get()[i % size];
    CHECK(residual(a, dense(scaled.data(), size, size), found.transposed()) < close);
  }
  std::vector<T> lu = a, permuted = a;
  std::vector<std::int64_t> pivots(static_cast<std::size_t>(size)), permutation = pivots;
  REQUIRE(factorise_lu<T>(setting.bench, dense(lu.data(), size, size), pivots.data()) == 0);
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

}  // namespace

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
