// SPDX-License-Identifier: MIT
// Loops for minima, maxima and where they lie, compiled once an instruction set.
#include "devices/cpu/reduce/fold.hpp"
#include "devices/cpu/reduce/lanes.hpp"

namespace tyto::cpu::TYTO_ISA {

namespace {

template <class T, class Op>
void extreme_line(const void* x, std::int64_t count, std::int64_t stride, void* first, void*, std::int64_t) {
  using C = Compute<T>;
  C result = *static_cast<C*>(first);
  // In the blocks of generated code, since the order decides which of two zeros of different sign is kept.
  each_part<C>(
      static_cast<const T*>(x), count, stride, fold_block,
      [&](const C* part, std::int64_t length, std::int64_t) { result = fold_array<Op>(part, length, result); });
  *static_cast<C*>(first) = result;
}

template <class T, class Op>
void extreme_columns(const void* x, std::int64_t count, std::int64_t step, std::int64_t width, void* first, void*,
                     std::int64_t) {
  auto* __restrict extremes = static_cast<Compute<T>*>(first);
  for (const auto* row = static_cast<const T*>(x); count > 0; --count, row += step) {
    for (std::int64_t j = 0; j < width; ++j) extremes[j] = Op::apply(extremes[j], load_element(row[j]));
  }
}

/// Whether Op prefers b to a strictly; the first NaN is preferred to everything.
template <class Op, class C>
[[gnu::always_inline]] inline bool better(C a, C b) {
  const bool beats = std::is_same_v<Op, Minimum> ? b < a : b > a;
  return (beats | (b != b)) & (a == a);
}

/// Position of the first element equal to `value`, or of the first NaN for NaN; there must be one.
template <class C, bool IsNan>
std::int64_t place_of_kind(const C* x, std::int64_t count, C value) {
  using L = Lanes<C>;
  using Mask = decltype(L::all(value) == L::all(value));
  constexpr int vectors = 4;
  std::int64_t i = 0;
  for (; i + vectors * L::count <= count; i += vectors * L::count) {
    Mask found{};
#pragma GCC unroll 4
    for (int k = 0; k < vectors; ++k) {
      const auto part = L::load(x + i + k * L::count);
      found |= IsNan ? part != part : part == L::all(value);
    }
    if (any_bit(found)) break;
  }
  while (IsNan ? x[i] == x[i] : x[i] != value) ++i;
  return i;
}

template <class C>
std::int64_t place_of(const C* x, std::int64_t count, C value) {
  return value != value ? place_of_kind<C, true>(x, count, value) : place_of_kind<C, false>(x, count, value);
}

/// Whether NaN was among the vectors that were noted.
template <class C>
class NanWatch {
 public:
  using L = Lanes<C>;
  using Vector = typename L::Vector;

  /// Two at a time: one comparison tells of both.
  [[gnu::always_inline]] inline void note(Vector a, Vector b) {
#if defined(__AVX512F__)
    if constexpr (std::is_same_v<C, float>) found_ |= _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_UNORD_Q);
    if constexpr (std::is_same_v<C, double>) found_ |= _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_UNORD_Q);
#else
    found_ |= (a != a) | (b != b);
#endif
  }
  [[gnu::always_inline]] inline bool any() const {
#if defined(__AVX512F__)
    return found_ != 0;
#else
    return any_bit(found_);
#endif
  }

 private:
#if defined(__AVX512F__)
  std::uint32_t found_ = 0;
#else
  decltype(Vector{} != Vector{}) found_{};
#endif
};

/// Finds the position of the first extreme element of a part in one pass; false where one is NaN. Each lane keeps its
/// best element and the iteration in which it was found.
template <class Op, class C>
bool first_of_numbers(const C* x, std::int64_t count, std::int64_t& place) {
  using L = Lanes<C>;
  using Index = std::conditional_t<sizeof(C) == 8, std::int64_t, std::int32_t>;
  using Indices = Lanes<Index>;
  constexpr int accumulators = 4, step = accumulators * L::count;
  typename L::Vector best[accumulators];
  typename Indices::Vector since[accumulators];
#pragma GCC unroll 4
  for (int k = 0; k < accumulators; ++k) best[k] = L::all(x[0]);
#pragma GCC unroll 4
  for (int k = 0; k < accumulators; ++k) since[k] = Indices::all(Index(-1));  // x[0] itself
  NanWatch<C> nans;
  typename Indices::Vector now{};
  const auto take = [&](int k, typename L::Vector value) __attribute__((always_inline)) {
    const auto beats = std::is_same_v<Op, Minimum> ? value < best[k] : value > best[k];
    best[k] = beats ? value : best[k];
    since[k] = beats ? now : since[k];
  };
  std::int64_t i = 0;
  for (; i + step <= count; i += step, now += Indices::all(Index(step))) {
#pragma GCC unroll 4
    for (int k = 0; k < accumulators; k += 2) {
      const auto one = L::load(x + i + k * L::count), other = L::load(x + i + (k + 1) * L::count);
      nans.note(one, other);
      take(k, one);
      take(k + 1, other);
    }
  }
  const auto take_last = [&](typename L::Vector value) {
    nans.note(value, value);
    take(0, value);
  };
  for (; i + L::count <= count; i += L::count, now += Indices::all(Index(L::count))) take_last(L::load(x + i));
  if (i < count) take_last(FirstLanes<C>(static_cast<int>(count - i)).load(x + i, x[0]));
  if (nans.any()) return false;
  using Best = typename Op::OfNumbers;
  typename L::Vector all_best = best[0];
#pragma GCC unroll 4
  for (int k = 1; k < accumulators; ++k) all_best = Best::apply(all_best, best[k]);
  const C found = fold_halves<Best, C, TYTO_VECTOR_BYTES>(all_best);
  place = 0;
  if (found == x[0]) return true;
  typename Indices::Vector lane{};
#pragma GCC unroll 16
  for (int k = 0; k < L::count; ++k) lane[k] = static_cast<Index>(k);
  typename Indices::Vector places = Indices::all(static_cast<Index>(count));
#pragma GCC unroll 4
  for (int k = 0; k < accumulators; ++k, lane += Indices::all(Index(L::count))) {
    const auto candidate = best[k] == L::all(found) ? since[k] + lane : Indices::all(static_cast<Index>(count));
    places = candidate < places ? candidate : places;
  }
  place = fold_halves<Minimum::OfNumbers, Index, TYTO_VECTOR_BYTES>(places);
  return true;
}

template <class T, class Op>
void first_extreme_line(const void* x, std::int64_t count, std::int64_t stride, void* first, void* second,
                        std::int64_t before) {
  using C = Compute<T>;
  C best = *static_cast<C*>(first);
  auto& index = *static_cast<std::int64_t*>(second);
  const auto improve = [&](const C* part, std::int64_t at, std::int64_t place) {
    if (!better<Op>(best, part[place])) return;
    best = part[place];
    index = before + at + place;
  };
  constexpr std::int64_t whole = 16 * line_block;  // what ends a part takes as long as some hundred elements
  each_part<C>(static_cast<const T*>(x), count, stride, whole,
               [&](const C* part, std::int64_t length, std::int64_t at) {
                 // Lanes of indices as wide as short elements would be too narrow.
                 if constexpr (sizeof(C) >= 4) {
                   if (std::int64_t place; first_of_numbers<Op>(part, length, place)) return improve(part, at, place);
                 }
                 // The extreme of a part is cheap to find; only where it improves on the best is it searched for.
                 const C extreme = fold_array<Op>(part, length, part[0]);
                 if (!better<Op>(best, extreme)) return;
                 improve(part, at, place_of(part, length, extreme));
               });
  *static_cast<C*>(first) = best;
}

template <class T, class Op>
[[gnu::noinline]] void fold_first_extremes(const T* x, std::int64_t count, std::int64_t step, std::int64_t width,
                                           Compute<T>* __restrict first, std::int64_t* __restrict second,
                                           std::int64_t before) {
  using C = Compute<T>;
  // Indices as wide as the elements, so that one mask chooses both.
  using Index = std::conditional_t<sizeof(C) == 8, std::int64_t, std::int32_t>;
  constexpr std::int64_t rows_at_once = std::int64_t{1} << 30;
  Index where[fold_columns];
  while (count > 0) {
    const std::int64_t rows = count < rows_at_once ? count : rows_at_once;
    for (std::int64_t j = 0; j < width; ++j) where[j] = -1;
    for (std::int64_t i = 0; i < rows; ++i, x += step) {
      for (std::int64_t j = 0; j < width; ++j) {
        const C value = load_element(x[j]);
        const bool take = better<Op>(first[j], value);
        first[j] = take ? value : first[j];
        where[j] = take ? static_cast<Index>(i) : where[j];
      }
    }
    for (std::int64_t j = 0; j < width; ++j) second[j] = where[j] >= 0 ? before + where[j] : second[j];
    before += rows;
    count -= rows;
  }
}

template <class T, class Op>
void first_extreme_columns(const void* x, std::int64_t count, std::int64_t step, std::int64_t width, void* first,
                           void* second, std::int64_t before) {
  fold_first_extremes<T, Op>(static_cast<const T*>(x), count, step, width, static_cast<Compute<T>*>(first),
                             static_cast<std::int64_t*>(second), before);
}

template <class T>
FoldLoops extremes_of(Fold fold) {
  switch (fold) {
    case Fold::minimum: return {extreme_line<T, Minimum>, extreme_columns<T, Minimum>};
    case Fold::maximum: return {extreme_line<T, Maximum>, extreme_columns<T, Maximum>};
    case Fold::first_minimum: return {first_extreme_line<T, Minimum>, first_extreme_columns<T, Minimum>};
    default: return {first_extreme_line<T, Maximum>, first_extreme_columns<T, Maximum>};
  }
}

}  // namespace

FoldLoops extreme_loops(Fold fold, DType dtype) {
  switch (dtype) {
    case DType::boolean:
    case DType::u8: return extremes_of<std::uint8_t>(fold);
    case DType::i8: return extremes_of<std::int8_t>(fold);
    case DType::i16: return extremes_of<std::int16_t>(fold);
    case DType::i32: return extremes_of<std::int32_t>(fold);
    case DType::u16: return extremes_of<std::uint16_t>(fold);
    case DType::u32: return extremes_of<std::uint32_t>(fold);
    case DType::u64: return extremes_of<std::uint64_t>(fold);
    case DType::i64: return extremes_of<std::int64_t>(fold);
    case DType::f16: return extremes_of<Half>(fold);
    case DType::bf16: return extremes_of<BFloat16>(fold);
    case DType::f32: return extremes_of<float>(fold);
    default: return extremes_of<double>(fold);
  }
}

}  // namespace tyto::cpu::TYTO_ISA
