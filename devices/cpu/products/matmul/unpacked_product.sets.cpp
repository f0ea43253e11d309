// SPDX-License-Identifier: MIT
// Matrix products without packing, compiled once an instruction set.
//
// The build defines TYTO_ISA and TYTO_VECTOR_BYTES. Nothing here instantiates code of a standard template: it would
// be shared by name between sets, and the linker could keep the wrong one. Nor is it noexcept: intrinsics count as
// calls that may throw, and the handler would be such a name.
#include "devices/cpu/products/matmul/unpacked_product.hpp"
#include "devices/cpu/arithmetic/independent_loop.hpp"
#include "devices/cpu/reduce/lanes.hpp"

#if defined(__clang__)
#define TYTO_UNROLL _Pragma("unroll")
#else
#define TYTO_UNROLL _Pragma("GCC unroll 8")
#endif

namespace tyto::cpu::TYTO_ISA {

namespace {

template <class T>
using Vectors = Lanes<T>;

template <class T>
constexpr bool has_fractions = T(1) / T(2) != T(0);

// `Rows` rows by `VectorCount` vectors of columns, the last of which is `last` where it is not whole.
template <class T, int Rows, int VectorCount, bool Whole>
void block(const UnpackedProduct<T>& p, std::int64_t row, std::int64_t column, FirstLanes<T> last) {
  using V = Vectors<T>;
  using Vector = typename V::Vector;
  const auto load = [last](const T* from, int v) __attribute__((always_inline)) {
    return Whole || v < VectorCount - 1 ? V::load(from + v * V::lanes) : last.load(from + v * V::lanes);
  };
  Vector sum[Rows][VectorCount] = {};
  const T* a[Rows];
  TYTO_UNROLL
  for (int r = 0; r < Rows; ++r) a[r] = p.a + (row + r) * p.a_row;
  const T* b = p.b + column;
  for (std::int64_t l = 0, at = 0; l < p.k; ++l, at += p.a_column, b += p.b_row) {
    Vector w[VectorCount];
    TYTO_UNROLL
    for (int v = 0; v < VectorCount; ++v) w[v] = load(b, v);
    TYTO_UNROLL
    for (int r = 0; r < Rows; ++r) {
      const Vector x = V::all(a[r][at]);
      TYTO_UNROLL
      for (int v = 0; v < VectorCount; ++v) sum[r][v] += x * w[v];
    }
  }
  // Step by step over the whole block, which stays in registers: each question is asked once.
  T* const c = p.c + row * p.c_row + column;
  const std::int64_t pitch = p.c_row;
  if (p.bias != nullptr) {
    TYTO_UNROLL
    for (int v = 0; v < VectorCount; ++v) {
      const Vector bias = load(p.bias + column, v);
      TYTO_UNROLL
      for (int r = 0; r < Rows; ++r) sum[r][v] += bias;
    }
  }
  if (p.accumulate) {
    TYTO_UNROLL
    for (int r = 0; r < Rows; ++r) {
      TYTO_UNROLL
      for (int v = 0; v < VectorCount; ++v) sum[r][v] += load(c + r * pitch, v);
    }
  }
  if constexpr (has_fractions<T>) {
    if (p.limits.any()) {
      TYTO_UNROLL
      for (int r = 0; r < Rows; ++r) {
        TYTO_UNROLL
        for (int v = 0; v < VectorCount; ++v) sum[r][v] = p.limits(sum[r][v]);
      }
    }
  }
  TYTO_UNROLL
  for (int r = 0; r < Rows; ++r) {
    TYTO_UNROLL
    for (int v = 0; v < VectorCount; ++v) {
      T* const to = c + r * pitch + v * V::lanes;
      if (Whole || v < VectorCount - 1) V::store(to, sum[r][v]);
      else last.store(to, sum[r][v]);
    }
  }
}

// Computes all rows, in blocks of nearly one size.
template <class T, int VectorCount, bool Whole>
void all_rows(const UnpackedProduct<T>& p, std::int64_t column, FirstLanes<T> last) {
  static_assert(unpacked_rows == 6);
  for (std::int64_t row = 0, blocks = (p.m + unpacked_rows - 1) / unpacked_rows; blocks > 0; --blocks) {
    // A division takes as long as a small block.
    const std::int64_t rows = blocks == 1 ? p.m - row : (p.m - row + blocks - 1) / blocks;
    switch (rows) {
      case 1: block<T, 1, VectorCount, Whole>(p, row, column, last); break;
      case 2: block<T, 2, VectorCount, Whole>(p, row, column, last); break;
      case 3: block<T, 3, VectorCount, Whole>(p, row, column, last); break;
      case 4: block<T, 4, VectorCount, Whole>(p, row, column, last); break;
      case 5: block<T, 5, VectorCount, Whole>(p, row, column, last); break;
      default: block<T, 6, VectorCount, Whole>(p, row, column, last); break;
    }
    row += rows;
  }
}

// Adds `Rows` rows of b, each times its element of a, to the sums of `width` columns.
template <class T, int Rows>
void add_rows(const UnpackedProduct<T>& p, std::int64_t row, std::int64_t column, std::int64_t width, T* sums) {
  using V = Vectors<T>;
  typename V::Vector x[Rows];
  TYTO_UNROLL
  for (int r = 0; r < Rows; ++r) x[r] = V::all(p.a[(row + r) * p.a_column]);
  const T* const b = p.b + row * p.b_row + column;
  const auto add = [&](std::int64_t j, auto lanes) __attribute__((always_inline)) {
    typename V::Vector sum = V::load(sums + j);
    TYTO_UNROLL
    for (int r = 0; r < Rows; ++r) sum += x[r] * lanes.load(b + r * p.b_row + j);
    V::store(sums + j, sum);
  };
  std::int64_t j = 0;
  for (; j + V::lanes <= width; j += V::lanes) add(j, V());
  if (j < width) add(j, FirstLanes<T>(static_cast<int>(width - j)));
}

/// Steps that one row's sums take by themselves, as in the tile, so that long sums do not lose what is small beside
/// them.
constexpr std::int64_t part = 512;

// Row by row through b, a run of columns at a time whose sums stay in the first-level cache: a column of panels, with
// a row's distance from one line to the next, comes from memory at half the speed.
template <class T>
void one_row(const UnpackedProduct<T>& p) {
  using V = Vectors<T>;
  constexpr std::int64_t run = 4096 / sizeof(T), together = 8;
  alignas(64) T total[run], sums[run];
  for (std::int64_t column = 0; column < p.n; column += run) {
    const std::int64_t width = p.n - column < run ? p.n - column : run;
    for (std::int64_t row = 0; row < p.k;) {
      const std::int64_t end = p.k - row < part ? p.k : row + part;
      T* const to = row == 0 ? total : sums;
      for (std::int64_t j = 0; j < width; j += V::lanes) V::store(to + j, V::all(0));
      for (; row + together <= end; row += together) add_rows<T, together>(p, row, column, width, to);
      for (; row < end; ++row) add_rows<T, 1>(p, row, column, width, to);
      if (to == total) continue;
      for (std::int64_t j = 0; j < width; j += V::lanes) V::store(total + j, V::load(total + j) + V::load(sums + j));
    }
    T* const c = p.c + column;
    const T* const bias = p.bias == nullptr ? nullptr : p.bias + column;
    const auto finish = [&](std::int64_t j, auto lanes) __attribute__((always_inline)) {
      typename V::Vector value = V::load(total + j);
      if (bias != nullptr) value += lanes.load(bias + j);
      if (p.accumulate) value += lanes.load(c + j);
      if constexpr (has_fractions<T>) {
        if (p.limits.any()) value = p.limits(value);
      }
      lanes.store(c + j, value);
    };
    std::int64_t j = 0;
    for (; j + V::lanes <= width; j += V::lanes) finish(j, V());
    if (j < width) finish(j, FirstLanes<T>(static_cast<int>(width - j)));
  }
}

template <class T>
void multiply(const UnpackedProduct<T>& p) {
  static_assert(unpacked_vectors == 2);
  constexpr std::int64_t lanes = Vectors<T>::lanes;
  if (p.m == 1 && (p.n > unpacked_vectors * lanes || p.k > part)) return one_row(p);
  std::int64_t column = 0;
  const FirstLanes<T> last(static_cast<int>(p.n % lanes));
  for (; column + 2 * lanes <= p.n; column += 2 * lanes) all_rows<T, 2, true>(p, column, last);
  const std::int64_t left = p.n - column;
  if (left > lanes) all_rows<T, 2, false>(p, column, last);
  else if (left == lanes) all_rows<T, 1, true>(p, column, last);
  else if (left > 0) all_rows<T, 1, false>(p, column, last);
}

// A row with some columns at a time: the last ones again where fewer are left.
template <class T>
void dots(const UnpackedProduct<T>& p) {
  using V = Vectors<T>;
  constexpr std::int64_t together = 4;
  for (std::int64_t row = 0; row < p.m; ++row) {
    for (std::int64_t column = 0; column < p.n; column += together) {
      const T* const a = p.a + row * p.a_row;
      const T* b[together];
      for (std::int64_t j = 0; j < together; ++j) b[j] = p.b + (column + j < p.n ? column + j : p.n - 1) * p.b_row;
      typename V::Vector sum[together] = {};
      const auto add = [&](std::int64_t l, auto lanes) __attribute__((always_inline)) {
        const typename V::Vector x = lanes.load(a + l);
        TYTO_UNROLL
        for (std::int64_t j = 0; j < together; ++j) sum[j] += x * lanes.load(b[j] + l);
      };
      std::int64_t l = 0;
      for (; l + V::lanes <= p.k; l += V::lanes) add(l, V());
      if (l < p.k) add(l, FirstLanes<T>(static_cast<int>(p.k - l)));
      for (std::int64_t j = 0; j < together && column + j < p.n; ++j) {
        alignas(TYTO_VECTOR_BYTES) T lanes[V::lanes];
        V::store(lanes, sum[j]);
        T& to = p.c[row * p.c_row + column + j];
        T total = p.accumulate ? to : T(0);
        if (p.bias != nullptr) total += p.bias[column + j];
        for (int lane = 0; lane < V::lanes; ++lane) total += lanes[lane];
        to = total;
      }
    }
  }
}

// Products of bytes fit in 16 bits, of which vectors multiply more at a time.
void add_bytes(std::uint32_t* to, int x, const std::int8_t* from, std::int64_t count) {
  TYTO_INDEPENDENT
  for (std::int64_t j = 0; j < count; ++j) to[j] += static_cast<std::uint32_t>(static_cast<std::int16_t>(x * from[j]));
}

}  // namespace

template <class T>
UnpackedProducts<T> unpacked_products() noexcept {
  if constexpr (std::is_floating_point_v<T>) return {multiply<T>, nullptr, Vectors<T>::lanes, nullptr};
  else return {multiply<T>, dots<T>, Vectors<T>::lanes, sizeof(T) == 4 ? add_bytes : nullptr};
}
template UnpackedProducts<float> unpacked_products() noexcept;
template UnpackedProducts<double> unpacked_products() noexcept;
template UnpackedProducts<std::uint32_t> unpacked_products() noexcept;
template UnpackedProducts<std::uint64_t> unpacked_products() noexcept;

}  // namespace tyto::cpu::TYTO_ISA

#undef TYTO_UNROLL
