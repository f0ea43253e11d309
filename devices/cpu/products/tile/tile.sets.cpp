// SPDX-License-Identifier: MIT
// The body of the register tile, compiled once an instruction set.
//
// The build defines TYTO_ISA and TYTO_VECTOR_BYTES. Nothing here instantiates a standard
// template: such code would be shared by name between sets, and the linker could keep the wrong one.
#include "devices/cpu/products/tile/tile.hpp"
#include "devices/cpu/products/tile/round_product.hpp"
#include "devices/cpu/reduce/fold_halves.hpp"
#include "devices/cpu/reduce/lanes.hpp"

#if defined(__clang__)
#define TYTO_UNROLL _Pragma("unroll")
#define TYTO_UNROLL_ROWS _Pragma("unroll")
#else
#define TYTO_UNROLL _Pragma("GCC unroll 8")
#define TYTO_UNROLL_ROWS _Pragma("GCC unroll 24")
#endif

namespace tyto::cpu::TYTO_ISA {

namespace {

// AVX-512 and AArch64 have twice the registers.
#if TYTO_VECTOR_BYTES == 64 || defined(__aarch64__)
constexpr int tile_vectors = 4;
#else
constexpr int tile_vectors = 2;
#endif

// The compiler's builtin counts as a call that may throw, and would leave a symbol that the sets' objects share.
[[gnu::always_inline]] inline void prefetch([[maybe_unused]] const void* line) noexcept {
#if defined(__x86_64__)
  asm volatile("prefetcht0 %0" : : "m"(*static_cast<const char*>(line)));
#elif defined(__aarch64__)
  asm volatile("prfm pldl1keep, %0" : : "Q"(*static_cast<const char*>(line)));
#endif
}

// Into the second-level cache.
[[gnu::always_inline]] inline void prefetch_far([[maybe_unused]] const void* line) noexcept {
#if defined(__x86_64__)
  asm volatile("prefetcht1 %0" : : "m"(*static_cast<const char*>(line)));
#elif defined(__aarch64__)
  asm volatile("prfm pldl2keep, %0" : : "Q"(*static_cast<const char*>(line)));
#endif
}

template <class T, int Bytes = TYTO_VECTOR_BYTES>
struct Vectors : Simd<T, Bytes> {
  using Vector = typename Simd<T, Bytes>::Vector;
  using Simd<T, Bytes>::lanes;

  static Vector pairs_exchanged(Vector v) noexcept {
    if constexpr (lanes == 2) return __builtin_shufflevector(v, v, 1, 0);
    else if constexpr (lanes == 4) return __builtin_shufflevector(v, v, 1, 0, 3, 2);
    else if constexpr (lanes == 8) return __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6);
    else return __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
  }
};

template <class T>
constexpr T lane_numbers[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
static_assert(TYTO_VECTOR_BYTES <= 16 * sizeof(float));

template <int Bytes>
struct VectorBytes {
  static constexpr int count = Bytes;
};

/// Calls block(VectorBytes, first) for what is left of the channels behind the whole vectors, in ever shorter ones, as
/// long as vectors of 16 bytes fit. The first channel that is left then.
template <class T, int Bytes = TYTO_VECTOR_BYTES / 2, class Block>
[[gnu::always_inline]] inline std::int64_t in_shorter_vectors(std::int64_t first, std::int64_t channels,
                                                              const Block& block) noexcept {
  if constexpr (Bytes >= 16 && Bytes > int(sizeof(T))) {
    constexpr std::int64_t lanes = Bytes / int(sizeof(T));
    if (first + lanes <= channels) {
      block(VectorBytes<Bytes>(), first);
      first += lanes;
    }
    return in_shorter_vectors<T, Bytes / 2>(first, channels, block);
  } else {
    return first;
  }
}

// Ends one vector of a tile's row from column `j` on, as the whole tile below ends its own.
template <class T, int Bytes>
[[gnu::always_inline]] inline void finish_vector(const TileArguments<T>& t, const T* sums, std::int64_t offset,
                                                 std::int64_t j) noexcept {
  using V = Vectors<T, Bytes>;
  typename V::Vector value = V::load(sums + j);
  if (t.scale != nullptr) {
    value *= V::load(t.scale + j);
    round_product(value);
  }
  if (t.accumulate) value += V::load(t.c + offset + j);
  if (t.bias != nullptr) value += V::load(t.bias + j);
  if (t.residual != nullptr) value += V::load(t.residual + offset + j);
  V::store(t.c + offset + j, t.limits(value));
}

// Ends a tile that is narrower than its vectors, without touching elements beyond its columns.
template <class T>
[[gnu::noinline]] void finish_partial(const TileArguments<T>& t, const T* sums, int rows, int pitch) noexcept {
  constexpr int lanes = Vectors<T>::lanes;
  for (int r = 0; r < rows; ++r, sums += pitch) {
    const std::int64_t offset = t.c_offsets[r];
    std::int64_t j = 0;
    for (; j + lanes <= t.columns; j += lanes) finish_vector<T, TYTO_VECTOR_BYTES>(t, sums, offset, j);
    j = in_shorter_vectors<T>(
        j, t.columns, [&](auto bytes, std::int64_t from) __attribute__((always_inline)) {
          finish_vector<T, decltype(bytes)::count>(t, sums, offset, from);
        });
    for (; j < t.columns; ++j) {
      T value = sums[j];
      if (t.scale != nullptr) {
        value *= t.scale[j];
        round_product(value);
      }
      if (t.accumulate) value += t.c[offset + j];
      if (t.bias != nullptr) value += t.bias[j];
      if (t.residual != nullptr) value += t.residual[offset + j];
      t.c[offset + j] = t.limits(value);
    }
  }
}

template <class T, int Rows, int VectorCount>
void tile(const TileArguments<T>& t) noexcept {
  using V = Vectors<T>;
  using Vector = typename V::Vector;
  Vector sum[Rows][VectorCount] = {};

  // The result's lines come in while products are summed; a residual's do too.
  TYTO_UNROLL_ROWS
  for (int r = 0; r < Rows; ++r) prefetch(t.c + t.c_offsets[r]);
  if (t.residual != nullptr) {
    TYTO_UNROLL_ROWS
    for (int r = 0; r < Rows; ++r) prefetch(t.residual + t.c_offsets[r]);
  }

  const T* b = t.b;
  const T* ahead = t.ahead_step == 0 ? t.b : t.ahead;  // what is not mapped is slow to prefetch
  const T* const* rows = t.rows;
  for (std::int64_t s = 0; s < t.segments; ++s, rows += t.rows_step) {
    std::int64_t at = t.first + (t.shifts != nullptr ? t.shifts[s] : 0), i = 0;
    if constexpr (Rows > tile_rows) {
      // More rows than registers for their addresses: each is read for several steps.
      constexpr int together = 4 / VectorCount, group = 3;
      for (; i + together <= t.steps; i += together) {
        asm("" : "+r"(rows));  // the compiler would copy the addresses to the stack, for each segment
        Vector w[together][VectorCount];
        TYTO_UNROLL
        for (int step = 0; step < together; ++step, b += t.b_step) {
          TYTO_UNROLL
          for (int v = 0; v < VectorCount; ++v) w[step][v] = V::load(b + v * V::lanes);
        }
        TYTO_UNROLL_ROWS
        for (int r = 0; r < Rows; r += group) {
          TYTO_UNROLL
          for (int step = 0; step < together; ++step) {
            TYTO_UNROLL
            for (int row = r; row < r + group; ++row) {
              const Vector x = V::all(rows[row][at + step * t.row_step]);
              TYTO_UNROLL
              for (int v = 0; v < VectorCount; ++v) sum[row][v] += x * w[step][v];
            }
          }
        }
        at += together * t.row_step;
      }
    }
    const T* row[Rows];
    if constexpr (Rows <= tile_rows) {
      TYTO_UNROLL_ROWS
      for (int r = 0; r < Rows; ++r) row[r] = rows[r];
    }
    for (; i < t.steps; ++i) {
      if constexpr (Rows > tile_rows) asm("" : "+r"(rows));
      Vector w[VectorCount];
      TYTO_UNROLL
      for (int v = 0; v < VectorCount; ++v) w[v] = V::load(b + v * V::lanes);
      TYTO_UNROLL_ROWS
      for (int r = 0; r < Rows; ++r) {
        const Vector x = V::all((Rows <= tile_rows ? row : rows)[r][at]);
        TYTO_UNROLL
        for (int v = 0; v < VectorCount; ++v) sum[r][v] += x * w[v];
      }
      prefetch_far(ahead);
      ahead += t.ahead_step;
      at += t.row_step;
      b += t.b_step;
    }
  }

  if (t.columns < VectorCount * V::lanes) {
    alignas(64) T sums[Rows * VectorCount * V::lanes];
    TYTO_UNROLL_ROWS
    for (int r = 0; r < Rows; ++r) {
      TYTO_UNROLL
      for (int v = 0; v < VectorCount; ++v) V::store(sums + (r * VectorCount + v) * V::lanes, sum[r][v]);
    }
    finish_partial(t, sums, Rows, VectorCount * V::lanes);
    return;
  }
  // Step by step over the whole tile, which stays in registers: each question is asked once.
  if (t.scale != nullptr) {
    TYTO_UNROLL_ROWS
    for (int r = 0; r < Rows; ++r) {
      TYTO_UNROLL
      for (int v = 0; v < VectorCount; ++v) sum[r][v] *= V::load(t.scale + v * V::lanes);
    }
  }
  if (t.accumulate) {
    TYTO_UNROLL_ROWS
    for (int r = 0; r < Rows; ++r) {
      TYTO_UNROLL
      for (int v = 0; v < VectorCount; ++v) sum[r][v] += V::load(t.c + t.c_offsets[r] + v * V::lanes);
    }
  }
  if (t.bias != nullptr) {
    TYTO_UNROLL_ROWS
    for (int r = 0; r < Rows; ++r) {
      TYTO_UNROLL
      for (int v = 0; v < VectorCount; ++v) sum[r][v] += V::load(t.bias + v * V::lanes);
    }
  }
  if (t.residual != nullptr) {
    TYTO_UNROLL_ROWS
    for (int r = 0; r < Rows; ++r) {
      TYTO_UNROLL
      for (int v = 0; v < VectorCount; ++v) sum[r][v] += V::load(t.residual + t.c_offsets[r] + v * V::lanes);
    }
  }
  if (t.limits.any()) {
    TYTO_UNROLL_ROWS
    for (int r = 0; r < Rows; ++r) {
      TYTO_UNROLL
      for (int v = 0; v < VectorCount; ++v) sum[r][v] = t.limits(sum[r][v]);
    }
  }
  TYTO_UNROLL_ROWS
  for (int r = 0; r < Rows; ++r) {
    TYTO_UNROLL
    for (int v = 0; v < VectorCount; ++v) V::store(t.c + t.c_offsets[r] + v * V::lanes, sum[r][v]);
  }
}

// `Width` vectors of channels from `first` on, of `Pixels` pixels from `pixel` on.
template <class T, int Width, int Pixels, int Bytes = TYTO_VECTOR_BYTES>
void channel_block(const ChannelArguments<T>& t, std::int64_t first, std::int64_t pixel) noexcept {
  using V = Vectors<T, Bytes>;
  using Vector = typename V::Vector;
  Vector sum[Pixels][Width] = {};
  const std::int64_t from = first + pixel * t.x_step;
  for (std::int64_t i = 0; i < t.count; ++i) {
    const T* x = t.x[i] + from;
    const T* y = t.y[i] + first;
    TYTO_UNROLL
    for (int v = 0; v < Width; ++v) {
      const Vector w = V::load(y + v * V::lanes);
      TYTO_UNROLL
      for (int p = 0; p < Pixels; ++p) sum[p][v] += V::load(x + p * t.x_step + v * V::lanes) * w;
    }
  }
  const bool limited = t.limits.any();
  TYTO_UNROLL
  for (int p = 0; p < Pixels; ++p) {
    T* out = t.out + (pixel + p) * t.out_step + first;
    TYTO_UNROLL
    for (int v = 0; v < Width; ++v) {
      const std::int64_t at = first + v * V::lanes;
      Vector value = sum[p][v];
      if (t.scale != nullptr) {
        value *= V::load(t.scale + at);
        round_product(value);
      }
      if (t.bias != nullptr) value += V::load(t.bias + at);
      if (t.accumulate) value += V::load(out + v * V::lanes);
      if (t.residual != nullptr) value += V::load(t.residual + (pixel + p) * t.residual_step + at);
      if (limited) value = t.limits(value);
      V::store(out + v * V::lanes, value);
    }
  }
}

// Folds all channels of `Pixels` pixels; more vectors at a time where that fills the registers.
template <class T, int Pixels>
void channels_of(const ChannelArguments<T>& t, std::int64_t pixel) noexcept {
  constexpr std::int64_t lanes = Vectors<T>::lanes;
  constexpr int wide = Pixels == 1 ? 4 : 2;
  std::int64_t first = 0;
  for (; first + wide * lanes <= t.channels; first += wide * lanes) channel_block<T, wide, Pixels>(t, first, pixel);
  for (; first + lanes <= t.channels; first += lanes) channel_block<T, 1, Pixels>(t, first, pixel);
  first = in_shorter_vectors<T>(first, t.channels, [&](auto bytes, std::int64_t from) {
    channel_block<T, 1, Pixels, decltype(bytes)::count>(t, from, pixel);
  });
  for (std::int64_t p = pixel; p < pixel + Pixels; ++p) {
    T* out = t.out + p * t.out_step;
    for (std::int64_t j = first; j < t.channels; ++j) {
      T value = 0;
      for (std::int64_t i = 0; i < t.count; ++i) value += t.x[i][p * t.x_step + j] * t.y[i][j];
      if (t.scale != nullptr) {
        value *= t.scale[j];
        round_product(value);
      }
      if (t.bias != nullptr) value += t.bias[j];
      if (t.accumulate) value += out[j];
      if (t.residual != nullptr) value += t.residual[p * t.residual_step + j];
      out[j] = t.limits(value);
    }
  }
}

template <class T>
void channels(const ChannelArguments<T>& t) noexcept {
  constexpr int together = 4;
  std::int64_t pixel = 0;
  for (; pixel + together <= t.pixels; pixel += together) channels_of<T, together>(t, pixel);
  for (; pixel < t.pixels; ++pixel) channels_of<T, 1>(t, pixel);
}

struct Plus {
  template <class Value>
  [[gnu::always_inline]] Value operator()(Value so_far, Value value) const noexcept {
    return so_far + value;
  }
};

struct Greater {
  template <class Value>
  [[gnu::always_inline]] Value operator()(Value so_far, Value value) const noexcept {
    return ((value > so_far) | (value != value)) ? value : so_far;
  }
};

// `Width` vectors of channels from `first` on, of all results.
template <class T, class Fold, int Width, int Bytes = TYTO_VECTOR_BYTES>
void pixel_block(const PixelFoldArguments<T>& t, std::int64_t first) noexcept {
  using V = Vectors<T, Bytes>;
  for (std::int64_t result = 0; result < t.results; ++result) {
    const std::int64_t from = first + result * t.pixel_step;
    T* out = t.out + first + result * t.out_step;
    typename V::Vector folded[Width];
    const T* const begin = t.accumulate ? out : t.pixels[0] + from;
    TYTO_UNROLL
    for (int v = 0; v < Width; ++v) folded[v] = V::load(begin + v * V::lanes);
    for (std::int64_t i = t.accumulate ? 0 : 1; i < t.count; ++i) {
      const T* pixel = t.pixels[i] + from;
      TYTO_UNROLL
      for (int v = 0; v < Width; ++v) folded[v] = Fold()(folded[v], V::load(pixel + v * V::lanes));
    }
    TYTO_UNROLL
    for (int v = 0; v < Width; ++v) V::store(out + v * V::lanes, folded[v]);
  }
}

// Folds the channels left from `first` on, fewer than a vector has lanes, in the longest vector that fits into all
// channels: channels that it computes a second time get the same values. False where not even 16 bytes fit.
template <class T, class Fold, int Bytes = TYTO_VECTOR_BYTES>
bool fold_end(const PixelFoldArguments<T>& t, std::int64_t first) noexcept {
  constexpr std::int64_t lanes = Bytes / int(sizeof(T));
  if (lanes <= t.channels) {
    if (first + lanes <= t.channels) {
      pixel_block<T, Fold, 1, Bytes>(t, first);
      first += lanes;
    }
    if (first < t.channels) pixel_block<T, Fold, 1, Bytes>(t, t.channels - lanes);
    return true;
  }
  if constexpr (Bytes > 16 && Bytes / 2 > int(sizeof(T))) return fold_end<T, Fold, Bytes / 2>(t, first);
  return false;
}

template <class T, class Fold>
void fold_pixels(const PixelFoldArguments<T>& t) noexcept {
  constexpr std::int64_t lanes = Vectors<T>::lanes;
  std::int64_t first = 0;
  for (; first + 4 * lanes <= t.channels; first += 4 * lanes) pixel_block<T, Fold, 4>(t, first);
  for (; first + lanes <= t.channels; first += lanes) pixel_block<T, Fold, 1>(t, first);
  if (first == t.channels || (!t.accumulate && fold_end<T, Fold>(t, first))) return;
  first = in_shorter_vectors<T>(first, t.channels, [&](auto bytes, std::int64_t from) {
    pixel_block<T, Fold, 1, decltype(bytes)::count>(t, from);
  });
  for (std::int64_t result = 0; result < t.results; ++result) {
    const std::int64_t shift = result * t.pixel_step;
    T* out = t.out + result * t.out_step;
    for (std::int64_t c = first; c < t.channels; ++c) {
      T folded = t.accumulate ? out[c] : t.pixels[0][shift + c];
      for (std::int64_t i = t.accumulate ? 0 : 1; i < t.count; ++i) folded = Fold()(folded, t.pixels[i][shift + c]);
      out[c] = folded;
    }
  }
}

template <class T, class Place = typename MaximumPlaces<T>::Place>
void compare_places(const T* __restrict pixel, std::int64_t channels, Place place, T* __restrict greatest,
                    Place* __restrict places) noexcept {
  for (std::int64_t c = 0; c < channels; ++c) {
    const bool wins = (pixel[c] > greatest[c]) | (pixel[c] != pixel[c]);
    greatest[c] = wins ? pixel[c] : greatest[c];
    places[c] = wins ? place : places[c];
  }
}

template <class T, class Place = typename MaximumPlaces<T>::Place>
void give_to_places(const T* __restrict gradient, std::int64_t channels, Place place, const Place* __restrict places,
                    bool add, T* __restrict to) noexcept {
  if (add) {
    for (std::int64_t c = 0; c < channels; ++c) to[c] += places[c] == place ? gradient[c] : T(0);
  } else {
    for (std::int64_t c = 0; c < channels; ++c) to[c] = T(0) + (places[c] == place ? gradient[c] : T(0));
  }
}

/// Sums that one dot product is divided into, so that each addition need not wait for the last: where rows and columns
/// are many there are as many sums anyhow. Not by columns: these are shared out among threads, and their number must
/// not change a bit.
template <int Rows>
constexpr int chains = Rows > 1                  ? 1
                       : TYTO_VECTOR_BYTES == 64 ? 4
                                                 : 2;

// `Columns` columns against all rows: each vector of b is loaded once. If each has a row of its own, so is each of
// theirs. Intrinsics that load with a mask are not noexcept; in a noexcept function they would refer to the exception
// handler of C++ (DW.ref.__gxx_personality_v0), a symbol that instruction sets share. So dot products are not noexcept.
template <class T, int Rows, int Columns, bool Own>
void dot_block(const DotArguments<T>& t, std::int64_t first) {
  using V = Vectors<T>;
  constexpr int Chains = chains<Rows>;
  constexpr int Lines = Own ? Columns : Rows;
  typename V::Vector sum[Chains][Rows][Columns] = {};
  const T *column[Columns], *line[Lines];
  TYTO_UNROLL
  for (int j = 0; j < Columns; ++j) column[j] = t.b + (first + j) * t.b_step;
  TYTO_UNROLL
  for (int r = 0; r < Lines; ++r) line[r] = Own ? t.rows[0] + (first + r) * t.row_step : t.rows[r];
  std::int64_t i = 0;
  const auto add = [&](int chain, auto load, auto counted) __attribute__((always_inline)) {
    typename V::Vector x[Lines];
    TYTO_UNROLL
    for (int r = 0; r < Lines; ++r) x[r] = load(line[r] + i);
    TYTO_UNROLL
    for (int j = 0; j < Columns; ++j) {
      const typename V::Vector w = load(column[j] + i);
      TYTO_UNROLL
      for (int r = 0; r < Rows; ++r) counted(sum[chain][r][j], x[Own ? j : r], w);
    }
    i += V::lanes;
  };
  using Value = typename V::Vector;
  const auto vector = [](const T* from) __attribute__((always_inline)) { return V::load(from); };
  const auto whole = [](Value & to, Value x, Value w) __attribute__((always_inline)) { to += x * w; };
  while (i + Chains * V::lanes <= t.steps) {
    TYTO_UNROLL
    for (int chain = 0; chain < Chains; ++chain) add(chain, vector, whole);
  }
  while (i + V::lanes <= t.steps) add(0, vector, whole);
  if (0 < t.steps && t.steps < V::lanes) {
    const int few = static_cast<int>(t.steps);
    add(
        0, [few](const T* from) __attribute__((always_inline)) { return FirstLanes<T>(few).load(from); }, whole);
  } else if (i < t.steps) {
    // The last vector, of which what was added already counts as nothing.
    const auto fresh = V::load(lane_numbers<T>) >= V::all(static_cast<T>(V::lanes - (t.steps - i)));
    i = t.steps - V::lanes;
    add(
        0, vector, [fresh](Value & to, Value x, Value w) __attribute__((always_inline)) {
          to += fresh ? x * w : V::all(0);
        });
  }
  Value sums[Rows][Columns];
  TYTO_UNROLL
  for (int r = 0; r < Rows; ++r) {
    TYTO_UNROLL
    for (int j = 0; j < Columns; ++j) {
      TYTO_UNROLL
      for (int chain = 1; chain < Chains; ++chain) sum[0][r][j] += sum[chain][r][j];
      sums[r][j] = sum[0][r][j];
    }
  }
  // The epilogue is a loop, so that its code is not repeated for every row and column.
#pragma GCC unroll 1
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 1
    for (int j = 0; j < Columns; ++j) {
      T value = fold_halves<AddLanes, T, TYTO_VECTOR_BYTES>(sums[r][j]);
      T& c = t.c[t.c_offsets[r] + (first + j) * t.c_step];
      if (t.bias != nullptr) value += t.bias[first + j];
      if (t.accumulate) value += c;
      c = t.limits(value);
    }
  }
}

template <class T, int Rows, bool Own = false>
void dots_of(const DotArguments<T>& t) {
  std::int64_t first = 0;
  for (; first + 4 <= t.columns; first += 4) dot_block<T, Rows, 4, Own>(t, first);
  for (; first < t.columns; ++first) dot_block<T, Rows, 1, Own>(t, first);
}

template <class T>
void dots(const DotArguments<T>& t) {
  static_assert(dot_rows == 4);
  if (t.row_step != 0) return dots_of<T, 1, true>(t);
  if (t.row_count == 1) return dots_of<T, 1>(t);
  if (t.row_count == 2) return dots_of<T, 2>(t);
  if (t.row_count == 3) return dots_of<T, 3>(t);
  dots_of<T, 4>(t);
}

// Each vector of columns is multiplied as it is and with the elements of each pair exchanged.
template <class T>
void pairs(const T* rows, const T* columns, std::int64_t steps, T (&products)[4]) noexcept {
  using V = Vectors<T>;
  constexpr int Chains = 4;
  typename V::Vector same[Chains] = {}, across[Chains] = {};
  const std::int64_t elements = 2 * steps;
  std::int64_t i = 0;
  const auto add = [&](int chain) __attribute__((always_inline)) {
    const typename V::Vector x = V::load(rows + i), y = V::load(columns + i);
    same[chain] += x * y;
    across[chain] += x * V::pairs_exchanged(y);
    i += V::lanes;
  };
  while (i + Chains * V::lanes <= elements) {
    TYTO_UNROLL
    for (int chain = 0; chain < Chains; ++chain) add(chain);
  }
  while (i + V::lanes <= elements) add(0);
  alignas(64) T equal[V::lanes], exchanged[V::lanes];
  V::store(equal, (same[0] + same[1]) + (same[2] + same[3]));
  V::store(exchanged, (across[0] + across[1]) + (across[2] + across[3]));
  T sums[4] = {};
  for (int lane = 0; lane < V::lanes; lane += 2) {
    sums[0] += equal[lane];
    sums[1] += exchanged[lane];
    sums[2] += exchanged[lane + 1];
    sums[3] += equal[lane + 1];
  }
  for (; i < elements; i += 2) {
    sums[0] += rows[i] * columns[i];
    sums[1] += rows[i] * columns[i + 1];
    sums[2] += rows[i + 1] * columns[i];
    sums[3] += rows[i + 1] * columns[i + 1];
  }
  for (int k = 0; k < 4; ++k) products[k] = sums[k];
}

template <class T, int VectorCount>
void fill_column(TileSet<T>& set) noexcept {
  static_assert(tile_rows == 6);
  set.tile[0][VectorCount - 1] = tile<T, 1, VectorCount>;
  set.tile[1][VectorCount - 1] = tile<T, 2, VectorCount>;
  set.tile[2][VectorCount - 1] = tile<T, 3, VectorCount>;
  set.tile[3][VectorCount - 1] = tile<T, 4, VectorCount>;
  set.tile[4][VectorCount - 1] = tile<T, 5, VectorCount>;
  set.tile[5][VectorCount - 1] = tile<T, 6, VectorCount>;
}

template <class T>
TileSet<T> make_set() noexcept {
  TileSet<T> set;
  set.lanes = Vectors<T>::lanes;
  set.max_vectors = tile_vectors;
  set.dots = dots<T>;
  set.pairs = pairs<T>;
  set.channels = channels<T>;
  set.pixel_sums = fold_pixels<T, Plus>;
  set.pixel_maxima = fold_pixels<T, Greater>;
  set.maximum_places = {compare_places<T>, give_to_places<T>};
  fill_column<T, 1>(set);
  fill_column<T, 2>(set);
  if constexpr (tile_vectors == 4) {
    fill_column<T, 3>(set);
    fill_column<T, 4>(set);
  }
  if constexpr (TYTO_VECTOR_BYTES == 64) {
    set.tall_tile[0] = tile<T, most_tile_rows, 1>;
    set.tall_tile[1] = tile<T, most_tile_rows / 2, 2>;
  }
  return set;
}

}  // namespace

template <class T>
const TileSet<T>& tiles() noexcept {
  static const TileSet<T> set = make_set<T>();
  return set;
}
template const TileSet<float>& tiles() noexcept;
template const TileSet<double>& tiles() noexcept;

}  // namespace tyto::cpu::TYTO_ISA

#undef TYTO_UNROLL
#undef TYTO_UNROLL_ROWS
