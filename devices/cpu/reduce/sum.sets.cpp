// SPDX-License-Identifier: MIT
// Loops for sums, products, any and all, compiled once an instruction set.
#include "devices/cpu/reduce/fold.hpp"
#include "devices/cpu/reduce/lanes.hpp"
#include "devices/cpu/system/machine.hpp"

namespace tyto::cpu::TYTO_ISA {

namespace {

/// The type that elements are added in, and for how many at most.
template <class T, bool Product>
struct SumTypes {
  static constexpr bool floating = std::is_floating_point_v<Compute<T>>;
  using Partial = std::conditional_t<floating, double, std::uint64_t>;
  using Lane = std::conditional_t<
      Product, Partial,
      std::conditional_t<floating, Compute<T>, std::conditional_t<(sizeof(T) < 4), std::int32_t, std::uint64_t>>>;
  static constexpr std::int64_t whole = fold_block;
};

/// A lane's value as a partial result: signed sums keep their sign.
template <class Partial, class Lane>
[[gnu::always_inline]] inline Partial as_partial(Lane value) {
  if constexpr (std::is_same_v<Lane, std::int32_t>) {
    return static_cast<Partial>(static_cast<std::int64_t>(value));
  } else {
    return static_cast<Partial>(value);
  }
}

/// Floats, each made wider on its way into a fold.
struct WidenedFloats {
  using L = Lanes<double>;
  const float* x;
  [[gnu::always_inline]] inline L::Vector vector(std::int64_t i) const {
#if defined(__AVX512F__)
    return (L::Vector)_mm512_maskz_cvtps_pd(0xff, _mm256_loadu_ps(x + i));  // g++ would convert each half
#else
    return __builtin_convertvector(Simd<float, TYTO_VECTOR_BYTES / 2>::load(x + i), L::Vector);
#endif
  }
  [[gnu::always_inline]] inline L::Vector rest(std::int64_t i, std::int64_t count, double start) const {
    double last[L::count];
    for (int k = 0; k < L::count; ++k) last[k] = i + k < count ? static_cast<double>(x[i + k]) : start;
    return L::load(last);
  }
};

/// A line's product, in blocks of fold_block as each_part cuts lines: dense and strided ones give the same bits.
inline double product_of_floats(const float* x, std::int64_t count, double result) {
  for (; count > 0; count -= fold_block, x += fold_block) {
    result *= fold_elements<Multiply>(WidenedFloats{x}, count < fold_block ? count : fold_block, 1.0);
  }
  return result;
}

template <class T, bool Product>
void sum_line(const void* x, std::int64_t count, std::int64_t stride, void* first, void*, std::int64_t) {
  using Types = SumTypes<T, Product>;
  using Partial = typename Types::Partial;
  using Lane = typename Types::Lane;
  using Op = std::conditional_t<Product, Multiply, Add>;
  Partial result = *static_cast<Partial*>(first);
  if constexpr (Product && std::is_same_v<T, float>) {
    if (stride == 1) {
      *static_cast<Partial*>(first) = product_of_floats(static_cast<const float*>(x), count, result);
      return;
    }
  }
  const auto fold = [&](const Lane* part, std::int64_t length, std::int64_t) {
    result = Op::apply(result, as_partial<Partial>(fold_array<Op>(part, length, Product ? Lane(1) : Lane(0))));
  };
  each_part<Lane>(static_cast<const T*>(x), count, stride, Types::whole, fold);
  *static_cast<Partial*>(first) = result;
}

/// Rows that are folded before their results join the wider ones: few enough that lanes neither overflow nor lose
/// accuracy.
constexpr std::int64_t rows_at_once = 32;

/// Most columns of adjoining rows whose results stay in registers, which the order of the additions depends on: 0 where
/// elements are added in a wider type.
template <class T, bool Product>
constexpr std::int64_t register_width = std::is_same_v<T, typename SumTypes<T, Product>::Lane>
                                            ? 256 / static_cast<std::int64_t>(sizeof(T))
                                            : 0;

/// As sum_columns_of, of rows that follow one another and fill most of the vectors that their results stay in. Vectors
/// reach into the row behind, whose elements are left out of the results. Returns how many rows it has folded, a
/// multiple of rows_at_once.
template <class T, bool Product>
std::int64_t sum_adjoining_rows(const T* x, std::int64_t count, std::int64_t width,
                                typename SumTypes<T, Product>::Partial* __restrict first) {
  using Types = SumTypes<T, Product>;
  using Partial = typename Types::Partial;
  using Lane = typename Types::Lane;
  using Op = std::conditional_t<Product, Multiply, Add>;
  using L = Lanes<Lane>;
  constexpr std::int64_t most = register_width<T, Product>;
  constexpr int vectors = static_cast<int>(most / L::count);
  std::int64_t folded = 0;
  for (; folded + rows_at_once < count; folded += rows_at_once) {
    typename L::Vector results[vectors];
    for (int k = 0; k < vectors; ++k) results[k] = L::all(Product ? Lane(1) : Lane(0));
    for (std::int64_t row = 0; row < rows_at_once; row += 4, x += 4 * width) {
#pragma GCC unroll 8
      for (int k = 0; k < vectors; ++k) {
        const T* const at = x + k * L::count;
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) {
          if (k * TYTO_VECTOR_BYTES % machine::cache_line == 0)
            __builtin_prefetch(at + i * width + machine::prefetch_distance / sizeof(T));
        }
        const auto low = Op::apply(L::load(at), L::load(at + width));
        const auto high = Op::apply(L::load(at + 2 * width), L::load(at + 3 * width));
        results[k] = Op::apply(results[k], Op::apply(low, high));
      }
    }
    Lane lanes[most];
    for (int k = 0; k < vectors; ++k) L::store(lanes + k * L::count, results[k]);
    for (std::int64_t j = 0; j < width; ++j) first[j] = Op::apply(first[j], as_partial<Partial>(lanes[j]));
  }
  return folded;
}

template <class T, bool Product>
void sum_columns_of(const T* x, std::int64_t count, std::int64_t step, std::int64_t width,
                    typename SumTypes<T, Product>::Partial* __restrict first) {
  using Types = SumTypes<T, Product>;
  using Partial = typename Types::Partial;
  using Lane = typename Types::Lane;
  using Op = std::conditional_t<Product, Multiply, Add>;
  const auto load = [](T value) { return static_cast<Lane>(load_element(value)); };
  // Baseline has too few registers.
  constexpr std::int64_t most = TYTO_VECTOR_BYTES > 16 ? register_width<T, Product> : 0;
  if constexpr (most > 0) {
    if (step == width && width <= most && 2 * width > most) {
      const std::int64_t folded = sum_adjoining_rows<T, Product>(x, count, width, first);
      count -= folded;
      x += folded * step;
    }
  }
  Lane sums[fold_columns];
  while (count > 0) {
    std::int64_t rows = count < rows_at_once ? count : rows_at_once;
    count -= rows;
    for (std::int64_t j = 0; j < width; ++j) sums[j] = Product ? Lane(1) : Lane(0);
    for (; rows >= 4; rows -= 4, x += 4 * step) {
      for (std::int64_t j = 0; j < width; ++j) {
        const T* at = x + j;
        const Lane low = static_cast<Lane>(Op::apply(load(at[0]), load(at[step])));
        const Lane high = static_cast<Lane>(Op::apply(load(at[2 * step]), load(at[3 * step])));
        sums[j] = Op::apply(sums[j], static_cast<Lane>(Op::apply(low, high)));
      }
    }
    for (; rows > 0; --rows, x += step) {
      for (std::int64_t j = 0; j < width; ++j) sums[j] = Op::apply(sums[j], load(x[j]));
    }
    for (std::int64_t j = 0; j < width; ++j) first[j] = Op::apply(first[j], as_partial<Partial>(sums[j]));
  }
}

template <class T, bool Product>
void sum_columns(const void* x, std::int64_t count, std::int64_t step, std::int64_t width, void* first, void*,
                 std::int64_t) {
  sum_columns_of<T, Product>(static_cast<const T*>(x), count, step, width,
                             static_cast<typename SumTypes<T, Product>::Partial*>(first));
}

// `any` looks for a byte that is not zero, `all` for one that is; both stop at the first part that has one.
template <bool All>
void truth_line(const void* x, std::int64_t count, std::int64_t stride, void* first, void*, std::int64_t) {
  auto& found = *static_cast<std::uint8_t*>(first);
  const auto* bytes = static_cast<const std::uint8_t*>(x);
  // Short parts first, to stop early.
  constexpr std::int64_t longest = 4096;
  for (std::int64_t begin = 0, part = longest / 16; begin < count && found == 0; begin += part, part = longest) {
    const std::int64_t length = count - begin < part ? count - begin : part;
    const auto seen = [&](std::int64_t apart) __attribute__((always_inline)) {
      std::uint8_t any = 0;
      for (std::int64_t i = 0; i < length; ++i) {
        const std::uint8_t value = bytes[(begin + i) * apart];
        any = static_cast<std::uint8_t>(any | (All ? value == 0 : value != 0));
      }
      return any;
    };
    found = stride == 1 ? seen(1) : seen(stride);
  }
}

template <bool All>
void truth_columns(const void* x, std::int64_t count, std::int64_t step, std::int64_t width, void* first, void*,
                   std::int64_t) {
  auto* __restrict found = static_cast<std::uint8_t*>(first);
  for (const auto* row = static_cast<const std::uint8_t*>(x); count > 0; --count, row += step) {
    for (std::int64_t j = 0; j < width; ++j)
      found[j] = static_cast<std::uint8_t>(found[j] | (All ? row[j] == 0 : row[j] != 0));
  }
}

template <class T>
FoldLoops sums_of(Fold fold) {
  if (fold == Fold::sum) return {sum_line<T, false>, sum_columns<T, false>, register_width<T, false>};
  return {sum_line<T, true>, sum_columns<T, true>, register_width<T, true>};
}

}  // namespace

FoldLoops sum_loops(Fold fold, DType dtype) {
  if (fold == Fold::any) return {truth_line<false>, truth_columns<false>};
  if (fold == Fold::all) return {truth_line<true>, truth_columns<true>};
  switch (dtype) {
    case DType::boolean:
    case DType::u8: return sums_of<std::uint8_t>(fold);
    case DType::i8: return sums_of<std::int8_t>(fold);
    case DType::i16: return sums_of<std::int16_t>(fold);
    case DType::i32: return sums_of<std::int32_t>(fold);
    case DType::u16: return sums_of<std::uint16_t>(fold);
    case DType::u32: return sums_of<std::uint32_t>(fold);
    case DType::i64:
    case DType::u64: return sums_of<std::uint64_t>(fold);
    case DType::f16: return sums_of<Half>(fold);
    case DType::bf16: return sums_of<BFloat16>(fold);
    case DType::f32: return sums_of<float>(fold);
    default: return sums_of<double>(fold);
  }
}

}  // namespace tyto::cpu::TYTO_ISA
