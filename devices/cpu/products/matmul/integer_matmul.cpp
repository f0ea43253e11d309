// SPDX-License-Identifier: MIT
// Matrix products of integers (wrapping round in their own type) and booleans (any of and): of 32 and 64 bits by the
// loops of unpacked products where both matrices lie row by row, else by plain loops.
#include "devices/cpu/arithmetic/wrapping_arithmetic.hpp"
#include "devices/cpu/products/matmul/matmul_routine.hpp"
#include "devices/cpu/products/matmul/unpacked_product.hpp"
#include "devices/cpu/system/machine.hpp"
#include "devices/cpu/system/threads.hpp"

namespace tyto::cpu {

namespace {

template <class T>
class IntegerMatmul final : public MatmulRoutine {
 public:
  using Arithmetic = WrappingArithmetic<T>;
  static constexpr bool has_vectors = sizeof(T) >= 4;

  IntegerMatmul(const MatmulProblem& problem, const KernelChoice& choice)
      : problem_(problem),
        set_(choice.set()),
        threads_(
            matmul_threads(problem, choice, has_vectors ? machine::vector_operations : machine::scalar_operations)) {
    if (problem.packed_b) packed_space_.reserve(static_cast<std::size_t>(problem.k * problem.n) * sizeof(T));
  }

  void pack(const void* b, void* packed) const override {
    const T* from = static_cast<const T*>(b);
    T* to = static_cast<T*>(packed);
    for (std::int64_t row = 0; row < problem_.k; ++row) {
      for (std::int64_t column = 0; column < problem_.n; ++column) {
        *to++ = from[row * problem_.b.row_stride + column * problem_.b.column_stride];
      }
    }
  }

  void run(const MatmulArguments& arguments) const override {
    const std::int64_t rows = batch_count(problem_) * problem_.m;
    run_team(threads_, [&](Team team) {
      const Range mine = share(rows, team.member, team.size);
      for (std::int64_t row = mine.begin; row < mine.end;) {
        const std::int64_t point = row / problem_.m, first = row % problem_.m;
        const std::int64_t last = std::min(problem_.m, first + mine.end - row);
        const BatchOffsets offsets = batch_offsets(problem_, point);
        multiply(static_cast<const T*>(arguments.a) + offsets.a,
                 static_cast<const T*>(arguments.b) + (problem_.packed_b ? 0 : offsets.b),
                 static_cast<T*>(arguments.c) + offsets.c, static_cast<const T*>(arguments.bias), {first, last});
        row += last - first;
      }
    });
  }

  const char* name() const noexcept override { return "own integers"; }

 private:
  void multiply(const T* a, const T* b, T* c, const T* bias, Range rows) const noexcept {
    constexpr std::int64_t block = 64;  // rows of b kept in cache while all rows of a pass over them
    const MatmulProblem& p = problem_;
    const std::int64_t b_row = p.packed_b ? p.n : p.b.row_stride, b_column = p.packed_b ? 1 : p.b.column_stride;
    if constexpr (has_vectors) {
      if (p.k > 0 && p.n > 0 && b_column == 1 && p.c.column_stride == 1) {
        multiply_in_vectors(a + rows.begin * p.a.row_stride, b, b_row, c + rows.begin * p.c.row_stride, bias,
                            rows.size());
        return limit(c, rows);
      }
    }
    for (std::int64_t i = rows.begin; i < rows.end; ++i) {
      for (std::int64_t j = 0; j < p.n; ++j) {
        T& to = c[i * p.c.row_stride + j * p.c.column_stride];
        T value = p.accumulate ? to : T(0);
        if (p.bias) value = Arithmetic::plus(value, bias[j]);
        to = value;
      }
    }
    if (b_row == 1 && p.a.column_stride == 1) return finish_dots(a, b, c, rows, b_column);
    for (std::int64_t start = 0; start < p.k; start += block) {
      const std::int64_t stop = std::min(start + block, p.k);
      for (std::int64_t i = rows.begin; i < rows.end; ++i) {
        for (std::int64_t l = start; l < stop; ++l) {
          const T x = a[i * p.a.row_stride + l * p.a.column_stride];
          const T* from = b + l * b_row;
          T* to = c + i * p.c.row_stride;
          if (b_column == 1 && p.c.column_stride == 1) {
            for (std::int64_t j = 0; j < p.n; ++j) to[j] = Arithmetic::plus_product(to[j], x, from[j]);
          } else {
            for (std::int64_t j = 0; j < p.n; ++j) {
              T& sum = to[j * p.c.column_stride];
              sum = Arithmetic::plus_product(sum, x, from[j * b_column]);
            }
          }
        }
      }
    }
    limit(c, rows);
  }

  void multiply_in_vectors(const T* a, const T* b, std::int64_t b_row, T* c, const T* bias, std::int64_t rows) const {
    using Unsigned = std::make_unsigned_t<T>;
    const auto as_unsigned = [](const T* from) { return reinterpret_cast<const Unsigned*>(from); };
    unpacked_products<Unsigned>(set_).multiply({.m = rows,
                                                .n = problem_.n,
                                                .k = problem_.k,
                                                .a = as_unsigned(a),
                                                .a_row = problem_.a.row_stride,
                                                .a_column = problem_.a.column_stride,
                                                .b = as_unsigned(b),
                                                .b_row = b_row,
                                                .c = reinterpret_cast<Unsigned*>(c),
                                                .c_row = problem_.c.row_stride,
                                                .bias = problem_.bias ? as_unsigned(bias) : nullptr,
                                                .accumulate = problem_.accumulate});
  }

  // Both run along the sums: each is added up by itself.
  void finish_dots(const T* a, const T* b, T* c, Range rows, std::int64_t b_column) const noexcept {
    const MatmulProblem& p = problem_;
    for (std::int64_t i = rows.begin; i < rows.end; ++i) {
      const T* x = a + i * p.a.row_stride;
      for (std::int64_t j = 0; j < p.n; ++j) {
        const T* y = b + j * b_column;
        T sum(0);
        for (std::int64_t l = 0; l < p.k; ++l) sum = Arithmetic::plus_product(sum, x[l], y[l]);
        T& to = c[i * p.c.row_stride + j * p.c.column_stride];
        to = Arithmetic::plus(to, sum);
      }
    }
    limit(c, rows);
  }

  void limit(T* c, Range rows) const noexcept {
    const MatmulProblem& p = problem_;
    if (!p.limits.any()) return;
    for (std::int64_t i = rows.begin; i < rows.end; ++i) {
      for (std::int64_t j = 0; j < p.n; ++j) {
        T& to = c[i * p.c.row_stride + j * p.c.column_stride];
        to = Arithmetic::limited(to, p.limits);
      }
    }
  }

  MatmulProblem problem_;
  InstructionSet set_;
  int threads_;
};

}  // namespace

std::unique_ptr<MatmulRoutine> prepare_integer_matmul(const MatmulProblem& problem, const KernelChoice& choice) {
  return with_integer_type(problem.dtype, [&]<class T>() -> std::unique_ptr<MatmulRoutine> {
    return std::make_unique<IntegerMatmul<T>>(problem, choice);
  });
}

}  // namespace tyto::cpu
