// SPDX-License-Identifier: MIT
// Loops for variances and sums of exponentials, compiled once an instruction set.
#include "devices/cpu/reduce/fold.hpp"
#include "devices/cpu/reduce/lanes.hpp"
#include "devices/cpu/reduce/short_exp_sums.hpp"

namespace tyto::cpu::TYTO_ISA {

namespace {

/// Rows that a block of columns is folded by before it joins the results: 128 KB of floats stay in L2 for the second
/// pass.
constexpr std::int64_t column_rows = 32;

/// Joins the moments of `b` elements to those of `a` (Chan, Golub and LeVeque 1979).
[[gnu::always_inline]] inline void join_moments(double& mean, double& squares, double a, double other_mean,
                                                double other_squares, double b) {
  const double difference = other_mean - mean, share = b / (a + b);
  mean += difference * share;
  squares += other_squares + difference * difference * a * share;
}

/// Sums of x - centre and of its squares.
template <class C>
void deviation_sums(const C* x, std::int64_t count, C centre, C& deviations, C& squares) {
  using L = Lanes<C>;
  const std::int64_t whole_count = count;
  constexpr int accumulators = 4;
  typename L::Vector sum[accumulators] = {}, square[accumulators] = {};
  const auto middle = L::all(centre);
  for (; count >= accumulators * L::count; count -= accumulators * L::count, x += accumulators * L::count) {
#pragma GCC unroll 4
    for (int k = 0; k < accumulators; ++k) {
      const auto deviation = L::load(x + k * L::count) - middle;
      sum[k] += deviation;
      square[k] += deviation * deviation;
    }
  }
  std::int64_t i = 0;
  const auto add = [&](typename L::Vector deviation) {
    sum[0] += deviation;
    square[0] += deviation * deviation;
  };
  for (; i + L::count <= count; i += L::count) add(L::load(x + i) - middle);
  if (i < count && whole_count >= L::count) {
    const auto rest = L::among_last(static_cast<int>(count - i));
    add(rest ? L::load(x + count - L::count) - middle : typename L::Vector{});
    i = count;
  }
  deviations = fold_halves<Add, C, TYTO_VECTOR_BYTES>((sum[0] + sum[1]) + (sum[2] + sum[3]));
  squares = fold_halves<Add, C, TYTO_VECTOR_BYTES>((square[0] + square[1]) + (square[2] + square[3]));
  for (; i < count; ++i) {
    deviations += x[i] - centre;
    squares += (x[i] - centre) * (x[i] - centre);
  }
}

template <class T>
void moments_line(const void* x, std::int64_t count, std::int64_t stride, void* first, void* second,
                  std::int64_t before) {
  using C = Compute<T>;
  auto& mean = *static_cast<double*>(first);
  auto& squares = *static_cast<double*>(second);
  double total = static_cast<double>(before);
  each_part<C>(static_cast<const T*>(x), count, stride, line_block,
               [&](const C* part, std::int64_t length, std::int64_t) {
                 const double n = static_cast<double>(length);
                 const C centre = static_cast<C>(static_cast<double>(fold_array<Add>(part, length, C(0))) / n);
                 // The centre is rounded; the sum of the deviations from it corrects that.
                 C deviations, squared;
                 deviation_sums(part, length, centre, deviations, squared);
                 const double rest = static_cast<double>(deviations), sum = static_cast<double>(squared);
                 join_moments(mean, squares, total, static_cast<double>(centre) + rest / n, sum - rest * rest / n, n);
                 total += n;
               });
}

template <class T>
[[gnu::noinline]] void fold_moments(const T* x, std::int64_t count, std::int64_t step, std::int64_t width,
                                    double* __restrict mean, double* __restrict squares, std::int64_t before) {
  using C = Compute<T>;
  double total = static_cast<double>(before);
  C centre[fold_columns], rest[fold_columns], sum[fold_columns];
  while (count > 0) {
    const std::int64_t rows = count < column_rows ? count : column_rows;
    const double n = static_cast<double>(rows);
    for (std::int64_t j = 0; j < width; ++j) centre[j] = C(0);
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < width; ++j) centre[j] += load_element(x[i * step + j]);
    }
    for (std::int64_t j = 0; j < width; ++j) {
      centre[j] /= static_cast<C>(rows);
      rest[j] = sum[j] = C(0);
    }
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < width; ++j) {
        const C deviation = load_element(x[i * step + j]) - centre[j];
        rest[j] += deviation;
        sum[j] += deviation * deviation;
      }
    }
    for (std::int64_t j = 0; j < width; ++j) {
      const double off = static_cast<double>(rest[j]);
      join_moments(mean[j], squares[j], total, static_cast<double>(centre[j]) + off / n,
                   static_cast<double>(sum[j]) - off * off / n, n);
    }
    total += n;
    x += rows * step;
    count -= rows;
  }
}

template <class T>
void moments_columns(const void* x, std::int64_t count, std::int64_t step, std::int64_t width, void* first,
                     void* second, std::int64_t before) {
  fold_moments(static_cast<const T*>(x), count, step, width, static_cast<double*>(first), static_cast<double*>(second),
               before);
}

/// The reference of exponentials: the largest element, or 0 where it is infinite or NaN. Sums relative to 0 count for
/// nothing then: the largest element is the result.
template <class C>
[[gnu::always_inline]] inline C reference_of(C largest) {
  return abs(largest) < Format<C>::infinity ? largest : C(0);
}

/// The factor that a sum relative to `from` needs to be one relative to `to`. An empty sum needs none, and must not
/// meet an infinite factor.
[[gnu::always_inline]] inline double rescaled(double sum, double from, double to) {
  return sum == 0.0 ? 0.0 : sum * exp(from - to);
}

template <class T>
void exponentials_line(const void* x, std::int64_t count, std::int64_t stride, void* first, void* second,
                       std::int64_t) {
  using C = Compute<T>;
  auto& largest = *static_cast<double*>(first);
  auto& sum = *static_cast<double*>(second);
  each_part<C>(
      static_cast<const T*>(x), count, stride, line_block, [&](const C* part, std::int64_t length, std::int64_t) {
        const C peak = fold_array<Maximum>(part, length, static_cast<C>(largest));
        const C reference = reference_of(peak);
        C total;
        if (length <= longest_short_line<C>) {
          total = sum_short_exps(part, length, reference);
        } else {
          C terms[line_block];
          for (std::int64_t i = 0; i < length; ++i) terms[i] = exp_nonpositive(part[i] - reference);
          total = fold_array<Add>(terms, length, C(0));
        }
        sum = rescaled(sum, reference_of(largest), static_cast<double>(reference)) + static_cast<double>(total);
        largest = static_cast<double>(peak);
      });
}

template <class T>
[[gnu::noinline]] void fold_exponentials(const T* x, std::int64_t count, std::int64_t step, std::int64_t width,
                                         double* __restrict largest, double* __restrict sum) {
  using C = Compute<T>;
  C peak[fold_columns], terms[fold_columns];
  while (count > 0) {
    const std::int64_t rows = count < column_rows ? count : column_rows;
    for (std::int64_t j = 0; j < width; ++j) peak[j] = static_cast<C>(largest[j]);
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < width; ++j) peak[j] = Maximum::apply(peak[j], load_element(x[i * step + j]));
    }
    for (std::int64_t j = 0; j < width; ++j) {
      const double now = static_cast<double>(peak[j]);
      sum[j] = rescaled(sum[j], reference_of(largest[j]), reference_of(now));
      largest[j] = now;
      peak[j] = reference_of(peak[j]);
      terms[j] = C(0);
    }
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < width; ++j) terms[j] += exp_nonpositive(load_element(x[i * step + j]) - peak[j]);
    }
    for (std::int64_t j = 0; j < width; ++j) sum[j] += static_cast<double>(terms[j]);
    x += rows * step;
    count -= rows;
  }
}

template <class T>
void exponentials_columns(const void* x, std::int64_t count, std::int64_t step, std::int64_t width, void* first,
                          void* second, std::int64_t) {
  fold_exponentials(static_cast<const T*>(x), count, step, width, static_cast<double*>(first),
                    static_cast<double*>(second));
}

template <class T>
FoldLoops moments_of(Fold fold) {
  if (fold == Fold::moments) return {moments_line<T>, moments_columns<T>};
  return {exponentials_line<T>, exponentials_columns<T>};
}

}  // namespace

FoldLoops moment_loops(Fold fold, DType dtype) {
  switch (dtype) {
    case DType::f16: return moments_of<Half>(fold);
    case DType::bf16: return moments_of<BFloat16>(fold);
    case DType::f32: return moments_of<float>(fold);
    case DType::f64: return moments_of<double>(fold);
    default: return {};
  }
}

}  // namespace tyto::cpu::TYTO_ISA
