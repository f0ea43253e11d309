// SPDX-License-Identifier: MIT
// The loops of factorisations, compiled once an instruction set.
//
// The build defines TYTO_ISA and TYTO_VECTOR_BYTES. Nothing here instantiates a standard template: such code would
// be shared by name between sets, and the linker could keep the wrong one.
#include "devices/cpu/linalg/vector_loops.hpp"
#include "devices/cpu/reduce/fold_halves.hpp"

#if defined(__clang__)
#define TYTO_UNROLL _Pragma("unroll")
#define TYTO_UNROLL_TRIANGLE _Pragma("unroll")
#else
#define TYTO_UNROLL _Pragma("GCC unroll 8")
#define TYTO_UNROLL_TRIANGLE _Pragma("GCC unroll 16")
#endif

namespace tyto::cpu::linalg::TYTO_ISA {

namespace {

template <class T>
struct Vectors : Simd<T, TYTO_VECTOR_BYTES> {
  static T sum(typename Vectors::Vector value) noexcept { return fold_halves<AddLanes, T, TYTO_VECTOR_BYTES>(value); }
};

template <class T>
void add_scaled(std::int64_t count, T a, const T* x, T* y) {
  using V = Vectors<T>;
  const auto factor = V::all(a);
  std::int64_t i = 0;
  for (; i + V::lanes <= count; i += V::lanes) V::store(y + i, V::load(y + i) + factor * V::load(x + i));
  for (; i < count; ++i) y[i] += a * x[i];
}

// Position of the largest absolute value: finds the maximum in vector lanes, then its first position.
template <class T>
std::int64_t largest(std::int64_t count, const T* x) {
  using V = Vectors<T>;
  const auto size = [](T value) { return value < 0 ? -value : value; };
  T most = size(x[0]);
  auto lanes = V::all(most);
  std::int64_t i = 0;
  for (; i + V::lanes <= count; i += V::lanes) {
    const auto value = V::load(x + i);
    const auto sizes = value < 0 ? -value : value;
    lanes = sizes > lanes ? sizes : lanes;
  }
  for (int lane = 0; lane < V::lanes; ++lane) most = lanes[lane] > most ? lanes[lane] : most;
  for (; i < count; ++i) most = size(x[i]) > most ? size(x[i]) : most;
  for (i = 0; i < count; ++i) {
    if (size(x[i]) == most) return i;
  }
  return 0;
}

template <class T>
T dot(std::int64_t count, const T* x, const T* y) {
  using V = Vectors<T>;
  typename V::Vector sum[4] = {};
  std::int64_t i = 0;
  for (; i + 4 * V::lanes <= count; i += 4 * V::lanes) {
    TYTO_UNROLL
    for (int v = 0; v < 4; ++v) sum[v] += V::load(x + i + v * V::lanes) * V::load(y + i + v * V::lanes);
  }
  for (; i + V::lanes <= count; i += V::lanes) sum[0] += V::load(x + i) * V::load(y + i);
  T total = V::sum((sum[0] + sum[1]) + (sum[2] + sum[3]));
  for (; i < count; ++i) total += x[i] * y[i];
  return total;
}

template <class T, int Rows>
void multiply_rows(std::int64_t columns, const T* matrix, std::int64_t step, const T* x, T* y) {
  using V = Vectors<T>;
  typename V::Vector sum[Rows] = {};
  std::int64_t i = 0;
  for (; i + V::lanes <= columns; i += V::lanes) {
    const auto right = V::load(x + i);
    TYTO_UNROLL
    for (int r = 0; r < Rows; ++r) sum[r] += V::load(matrix + r * step + i) * right;
  }
  TYTO_UNROLL
  for (int r = 0; r < Rows; ++r) {
    T total = V::sum(sum[r]);
    for (std::int64_t rest = i; rest < columns; ++rest) total += matrix[r * step + rest] * x[rest];
    y[r] = total;
  }
}

template <class T>
void multiply(std::int64_t rows, std::int64_t columns, const T* matrix, std::int64_t step, const T* x, T* y) {
  std::int64_t r = 0;
  for (; r + 4 <= rows; r += 4) multiply_rows<T, 4>(columns, matrix + r * step, step, x, y + r);
  for (; r < rows; ++r) multiply_rows<T, 1>(columns, matrix + r * step, step, x, y + r);
}

template <class T, int Rows>
void add_some_rows(std::int64_t columns, const T* matrix, std::int64_t step, const T* x, T* y) {
  using V = Vectors<T>;
  typename V::Vector factor[Rows];
  TYTO_UNROLL
  for (int r = 0; r < Rows; ++r) factor[r] = V::all(x[r]);
  std::int64_t i = 0;
  for (; i + V::lanes <= columns; i += V::lanes) {
    auto sum = V::load(y + i);
    TYTO_UNROLL
    for (int r = 0; r < Rows; ++r) sum += factor[r] * V::load(matrix + r * step + i);
    V::store(y + i, sum);
  }
  for (; i < columns; ++i) {
    T sum = y[i];
    for (int r = 0; r < Rows; ++r) sum += x[r] * matrix[r * step + i];
    y[i] = sum;
  }
}

template <class T>
void add_rows(std::int64_t rows, std::int64_t columns, const T* matrix, std::int64_t step, const T* x, T* y) {
  std::int64_t r = 0;
  for (; r + 4 <= rows; r += 4) add_some_rows<T, 4>(columns, matrix + r * step, step, x + r, y);
  for (; r < rows; ++r) add_some_rows<T, 1>(columns, matrix + r * step, step, x + r, y);
}

template <class T>
void add_outer(std::int64_t rows, std::int64_t columns, const T* x, const T* y, T* matrix, std::int64_t step) {
  for (std::int64_t r = 0; r < rows; ++r) add_scaled(columns, x[r], y, matrix + r * step);
}

/// Rows that go through a small triangle together, so that none waits for its last step: as many as registers hold.
template <class T>
constexpr int solved_rows = [] {
  constexpr int registers = TYTO_VECTOR_BYTES == 64 ? 16 : 8;
  constexpr int vectors = small_triangle * int(sizeof(T)) / TYTO_VECTOR_BYTES;
  return registers / vectors > 8 ? 8 : registers / vectors;
}();

// Element by element from the left: each, times its row of the triangle, is taken from those right of it.
template <class T>
void solve_some_rows(const T* triangle, const T* inverses, T* b, std::int64_t step) {
  using V = Vectors<T>;
  constexpr int rows = solved_rows<T>, lanes = V::lanes, vectors = small_triangle / lanes;
  typename V::Vector x[rows][vectors];
  TYTO_UNROLL
  for (int r = 0; r < rows; ++r) {
    TYTO_UNROLL
    for (int v = 0; v < vectors; ++v) x[r][v] = V::load(b + r * step + v * lanes);
  }
  typename V::Vector number{};
  for (int lane = 0; lane < lanes; ++lane) number[lane] = static_cast<T>(lane);
  TYTO_UNROLL_TRIANGLE
  for (int k = 0; k < small_triangle; ++k) {
    const auto inverse = V::all(inverses[k]);
    typename V::Vector right[vectors];
    TYTO_UNROLL
    for (int v = k / lanes; v < vectors; ++v) right[v] = V::load(triangle + k * small_triangle + v * lanes);
    TYTO_UNROLL
    for (int r = 0; r < rows; ++r) {
      const auto value = V::all(x[r][k / lanes][k % lanes]) * inverse;
      // Finished elements are not multiplied by zero: zero times infinity is NaN.
      const auto first = x[r][k / lanes] - value * right[k / lanes];
      x[r][k / lanes] = number > V::all(static_cast<T>(k % lanes)) ? first : x[r][k / lanes];
      TYTO_UNROLL
      for (int v = k / lanes + 1; v < vectors; ++v) x[r][v] -= value * right[v];
    }
  }
  TYTO_UNROLL
  for (int r = 0; r < rows; ++r) {
    TYTO_UNROLL
    for (int v = 0; v < vectors; ++v) V::store(b + r * step + v * lanes, x[r][v] * V::load(inverses + v * lanes));
  }
}

template <class T>
void solve_right(std::int64_t rows, std::int64_t columns, const T* triangle, const T* inverses, T* b,
                 std::int64_t step) {
  constexpr int together = solved_rows<T>;
  std::int64_t row = 0;
  if (columns == small_triangle) {
    for (; row + together <= rows; row += together) solve_some_rows(triangle, inverses, b + row * step, step);
  }
  for (; row < rows; row += together) {
    const std::int64_t height = rows - row < together ? rows - row : together;
    T copy[together * small_triangle] = {};
    for (std::int64_t r = 0; r < height; ++r) {
      for (std::int64_t i = 0; i < columns; ++i) copy[r * small_triangle + i] = b[(row + r) * step + i];
    }
    solve_some_rows(triangle, inverses, copy, small_triangle);
    for (std::int64_t r = 0; r < height; ++r) {
      for (std::int64_t i = 0; i < columns; ++i) b[(row + r) * step + i] = copy[r * small_triangle + i];
    }
  }
}

// Four rows at a time: what lies left of their diagonal block is read once for their own sums and for those of the
// columns.
template <class T>
void multiply_symmetric(std::int64_t size, const T* matrix, std::int64_t step, const T* x, T* y) {
  using V = Vectors<T>;
  constexpr int block = 4;
  for (std::int64_t first = 0; first < size; first += block) {
    const T* rows = matrix + first * step;
    const std::int64_t height = size - first < block ? size - first : block;
    T sums[block] = {};
    std::int64_t i = 0;
    if (height == block) {
      typename V::Vector sum[block] = {}, factor[block];
      TYTO_UNROLL
      for (int r = 0; r < block; ++r) factor[r] = V::all(x[first + r]);
      for (; i + V::lanes <= first; i += V::lanes) {
        const auto right = V::load(x + i);
        auto column = V::load(y + i);
        TYTO_UNROLL
        for (int r = 0; r < block; ++r) {
          const auto element = V::load(rows + r * step + i);
          sum[r] += element * right;
          column += factor[r] * element;
        }
        V::store(y + i, column);
      }
      for (int r = 0; r < block; ++r) sums[r] = V::sum(sum[r]);
    }
    for (std::int64_t r = 0; r < height; ++r) {
      const T* row = rows + r * step;
      for (std::int64_t rest = i; rest < first + r; ++rest) {
        sums[r] += row[rest] * x[rest];
        // Sums of this block's own rows are complete only behind it.
        if (rest < first) {
          y[rest] += x[first + r] * row[rest];
        } else {
          sums[rest - first] += x[first + r] * row[rest];
        }
      }
      sums[r] += row[first + r] * x[first + r];
    }
    for (std::int64_t r = 0; r < height; ++r) y[first + r] = sums[r];
  }
}

/// One column at a time, for what is left over.
template <class T>
struct Single {
  using Vector = T;
  static constexpr std::int64_t lanes = 1;

  static T load(const T* from) noexcept { return *from; }
  static void store(T* to, T value) noexcept { *to = value; }
  static T all(T value) noexcept { return value; }
};

// A row is read once, goes through all sweeps, and is written once; what the sweeps have in work stays in registers.
template <class T, class V, int Width>
void rotate_strip(std::int64_t first, std::int64_t last, const T* table, T* matrix, std::int64_t step) {
  typename V::Vector upper[sweeps_at_once][Width] = {};
  TYTO_UNROLL
  for (int v = 0; v < Width; ++v) upper[0][v] = V::load(matrix + first * step + v * V::lanes);
  constexpr int behind = sweeps_at_once - 1;
  for (std::int64_t i = first; i < last + behind; ++i) {
    const T* turns = table + i * rotation_row;
    typename V::Vector row[Width] = {};
    if (i < last) {
      TYTO_UNROLL
      for (int v = 0; v < Width; ++v) row[v] = V::load(matrix + (i + 1) * step + v * V::lanes);
    }
    TYTO_UNROLL
    for (int k = 0; k < sweeps_at_once; ++k) {
      const auto cosine = V::all(turns[2 * k]), sine = V::all(turns[2 * k + 1]);
      TYTO_UNROLL
      for (int v = 0; v < Width; ++v) {
        const auto done = cosine * upper[k][v] + sine * row[v];
        upper[k][v] = cosine * row[v] - sine * upper[k][v];
        row[v] = done;
      }
    }
    if (i - behind >= first) {
      TYTO_UNROLL
      for (int v = 0; v < Width; ++v) V::store(matrix + (i - behind) * step + v * V::lanes, row[v]);
    }
  }
  TYTO_UNROLL
  for (int v = 0; v < Width; ++v) V::store(matrix + last * step + v * V::lanes, upper[behind][v]);
}

template <class T>
void rotate(std::int64_t first, std::int64_t last, std::int64_t columns, const T* table, T* matrix, std::int64_t step) {
  using V = Vectors<T>;
  std::int64_t column = 0;
  for (; column + 2 * V::lanes <= columns; column += 2 * V::lanes) {
    rotate_strip<T, V, 2>(first, last, table, matrix + column, step);
  }
  for (; column + V::lanes <= columns; column += V::lanes) {
    rotate_strip<T, V, 1>(first, last, table, matrix + column, step);
  }
  for (; column < columns; ++column) rotate_strip<T, Single<T>, 1>(first, last, table, matrix + column, step);
}

/// `matrix` begins at row `begin`.
template <class T, class V, int Width>
void reflect_strip(std::int64_t count, const TripleReflection<T>* list, std::int64_t begin, T* matrix,
                   std::int64_t step) {
  for (std::int64_t i = 0; i < count; ++i) {
    T* const rows = matrix + (list[i].first - begin) * step;
    const auto first = V::all(list[i].v[0]), second = V::all(list[i].v[1]), third = V::all(list[i].v[2]),
               factor = V::all(list[i].factor);
    TYTO_UNROLL
    for (int v = 0; v < Width; ++v) {
      T* const at = rows + v * V::lanes;
      const auto a = V::load(at), b = V::load(at + step), c = V::load(at + 2 * step);
      const auto share = factor * (first * a + second * b + third * c);
      V::store(at, a - share * first);
      V::store(at + step, b - share * second);
      V::store(at + 2 * step, c - share * third);
    }
  }
}

// Strip by strip, which stays in the first cache for all of them.
template <class T>
void reflect_rows(std::int64_t count, const TripleReflection<T>* list, std::int64_t columns, T* matrix,
                  std::int64_t step) {
  using V = Vectors<T>;
  std::int64_t column = 0;
  for (; column + 4 * V::lanes <= columns; column += 4 * V::lanes) {
    reflect_strip<T, V, 4>(count, list, 0, matrix + column, step);
  }
  for (; column + V::lanes <= columns; column += V::lanes)
    reflect_strip<T, V, 1>(count, list, 0, matrix + column, step);
  for (; column < columns; ++column) reflect_strip<T, Single<T>, 1>(count, list, 0, matrix + column, step);
}

template <class T>
void reflect_columns(std::int64_t count, const TripleReflection<T>* list, std::int64_t rows, std::int64_t begin,
                     std::int64_t end, T* matrix, std::int64_t step, T* workspace) {
  using V = Vectors<T>;
  constexpr int together = reflected_together, vectors = together / V::lanes;
  const std::int64_t width = end - begin;
  for (std::int64_t row = 0; row < rows; row += together) {
    const std::int64_t height = rows - row < together ? rows - row : together;
    T* const from = matrix + row * step + begin;
    for (std::int64_t r = 0; r < height; ++r) {
      for (std::int64_t i = 0; i < width; ++i) workspace[i * together + r] = from[r * step + i];
    }
    reflect_strip<T, V, vectors>(count, list, begin, workspace, together);
    for (std::int64_t r = 0; r < height; ++r) {
      for (std::int64_t i = 0; i < width; ++i) from[r * step + i] = workspace[i * together + r];
    }
  }
}

template <class T>
void rotate_complex(std::int64_t count, const ComplexTurn<T>& turn, T* __restrict x_re, T* __restrict x_im,
                    T* __restrict y_re, T* __restrict y_im) {
  const T c = turn.cosine, s_re = turn.sine_re, s_im = turn.sine_im;
  for (std::int64_t i = 0; i < count; ++i) {
    const T a_re = x_re[i], a_im = x_im[i], b_re = y_re[i], b_im = y_im[i];
    x_re[i] = c * a_re + s_re * b_re - s_im * b_im;
    x_im[i] = c * a_im + s_re * b_im + s_im * b_re;
    y_re[i] = c * b_re - s_re * a_re - s_im * a_im;
    y_im[i] = c * b_im - s_re * a_im + s_im * a_re;
  }
}

// Columns stand side by side in the workspace, so that a turn of two of them is one of vectors.
template <class T>
void rotate_columns(std::int64_t top, std::int64_t bottom, std::int64_t first, std::int64_t last,
                    const ComplexTurn<T>* turns, T* re, T* im, std::int64_t step, T* workspace) {
  for (std::int64_t row = top; row < bottom; row += rows_at_once) {
    const std::int64_t rows = bottom - row < rows_at_once ? bottom - row : rows_at_once;
    const std::int64_t begin = row - 1 > first ? row - 1 : first;
    if (begin >= last) return;
    const std::int64_t columns = last - begin + 1;
    T* const workspace_im = workspace + columns * rows_at_once;
    for (std::int64_t r = 0; r < rows; ++r) {
      const T* const from_re = re + (row + r) * step + begin;
      const T* const from_im = im + (row + r) * step + begin;
      for (std::int64_t i = 0; i < columns; ++i) {
        workspace[i * rows_at_once + r] = from_re[i];
        workspace_im[i * rows_at_once + r] = from_im[i];
      }
    }
    for (std::int64_t i = 0; i + 1 < columns; ++i) {
      ComplexTurn<T> turn = turns[begin + i];
      turn.sine_im = -turn.sine_im;
      T* const x = workspace + i * rows_at_once;
      T* const y = workspace_im + i * rows_at_once;
      rotate_complex<T>(rows_at_once, turn, x, y, x + rows_at_once, y + rows_at_once);
    }
    for (std::int64_t r = 0; r < rows; ++r) {
      T* const to_re = re + (row + r) * step + begin;
      T* const to_im = im + (row + r) * step + begin;
      for (std::int64_t i = 0; i < columns; ++i) {
        to_re[i] = workspace[i * rows_at_once + r];
        to_im[i] = workspace_im[i * rows_at_once + r];
      }
    }
  }
}

template <class T>
VectorLoops<T> make_loops() {
  VectorLoops<T> loops;
  loops.add_scaled = add_scaled<T>;
  loops.largest = largest<T>;
  loops.dot = dot<T>;
  loops.multiply = multiply<T>;
  loops.add_rows = add_rows<T>;
  loops.add_outer = add_outer<T>;
  loops.solve_right = solve_right<T>;
  loops.multiply_symmetric = multiply_symmetric<T>;
  loops.rotate = rotate<T>;
  loops.reflect_rows = reflect_rows<T>;
  loops.reflect_columns = reflect_columns<T>;
  loops.rotate_complex = rotate_complex<T>;
  loops.rotate_columns = rotate_columns<T>;
  return loops;
}

}  // namespace

template <class T>
const VectorLoops<T>& vector_loops() noexcept {
  static const VectorLoops<T> loops = make_loops<T>();
  return loops;
}
template const VectorLoops<float>& vector_loops() noexcept;
template const VectorLoops<double>& vector_loops() noexcept;

}  // namespace tyto::cpu::linalg::TYTO_ISA

#undef TYTO_UNROLL_TRIANGLE
#undef TYTO_UNROLL
