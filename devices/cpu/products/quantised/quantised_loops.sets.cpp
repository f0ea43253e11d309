// SPDX-License-Identifier: MIT
// Products with weights of few bits, compiled once an instruction set.
//
// The build defines TYTO_ISA and TYTO_VECTOR_BYTES. As in unpacked_product.sets.cpp, nothing here instantiates a
// standard template or is noexcept, for both would be shared between the sets by name.
#include "devices/cpu/products/quantised/quantised_loops.hpp"
#include "devices/cpu/arithmetic/simd.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#if defined(__clang__)
#define TYTO_UNROLL _Pragma("unroll")
#else
#define TYTO_UNROLL _Pragma("GCC unroll 16")
#endif

namespace tyto::cpu::TYTO_ISA {

namespace {

constexpr int lanes = TYTO_VECTOR_BYTES / 4;
// Sums of four rows and as many columns fill half of the registers.
constexpr int columns_at_once = TYTO_VECTOR_BYTES == 64 ? 4 : 2;

using Floats = Simd<float, TYTO_VECTOR_BYTES>;
using Float = Floats::Vector;
using Int = Simd<std::int32_t, TYTO_VECTOR_BYTES>::Vector;
using Word = Simd<std::uint32_t, TYTO_VECTOR_BYTES>::Vector;

[[gnu::always_inline]] inline Word load_words(const std::uint8_t* from) {
  Word words;
  __builtin_memcpy(&words, from, sizeof words);
  return words;
}

#if defined(__AVX512F__)
// With a mask of all lanes: for the intrinsic without a mask g++ 12 warns of an uninitialised read.
[[gnu::always_inline]] inline Float permuted(Float values, Int index) {
  return (Float)_mm512_maskz_permutexvar_ps(0xffff, (__m512i)index, (__m512)values);
}
#endif

/// The lowest number of each word, less its zero point.
template <int Bits, bool HasZeros>
class Decoder {
 public:
  static constexpr float middle = 1 << (Bits - 1);

#if defined(__AVX512F__)
  Decoder() {
    TYTO_UNROLL
    for (int i = 0; i < lanes; ++i) table_[i] = static_cast<float>(i & ((1 << Bits) - 1)) - (HasZeros ? 0 : middle);
  }
#endif

  [[gnu::always_inline]] Float operator()(Word words, Float zero) const {
#if defined(__AVX512F__)
    // The look-up sees four bits of a lane.
    if constexpr (Bits <= 4) {
      const Float number = permuted(table_, (Int)words);
      return HasZeros ? number - zero : number;
    }
#endif
    constexpr std::uint32_t mask = (1u << Bits) - 1;
    return __builtin_convertvector((Int)(words & mask), Float) - zero;
  }

 private:
#if defined(__AVX512F__)
  Float table_;
#endif
};

/// Scales or zero points of blocks, as a vector for the words that a vector holds.
class ByWord {
 public:
  explicit ByWord(int words_shift) : shift_(words_shift) {
#if defined(__AVX512F__) || defined(__AVX2__)
    const int count = shift_ < 4 ? (lanes >> shift_) : 0;
    for (int i = 0; i < lanes; ++i) index_[i] = i >> (shift_ < 4 ? shift_ : 4);
#if defined(__AVX512F__)
    mask_ = static_cast<__mmask16>((1u << count) - 1);
#else
    for (int i = 0; i < lanes; ++i) mask_[i] = i < count ? -1 : 0;
#endif
#endif
  }

  [[gnu::always_inline]] Float operator()(const float* by_block, std::int64_t first_word) const {
    const float* from = by_block + (first_word >> shift_);
    if ((1 << shift_) >= lanes) return Floats::all(*from);
#if defined(__AVX512F__)
    return permuted((Float)_mm512_maskz_loadu_ps(mask_, from), index_);
#elif defined(__AVX2__)
    return (Float)_mm256_permutevar8x32_ps(_mm256_maskload_ps(from, (__m256i)mask_), (__m256i)index_);
#else
    Float value;
    for (int i = 0; i < lanes; ++i) value[i] = from[i >> shift_];
    return value;
#endif
  }

  /// The same for the first words alone.
  Float first(const float* by_block, std::int64_t first_word, int count) const {
    Float value = {};
    for (int i = 0; i < count; ++i) value[i] = by_block[(first_word + i) >> shift_];
    return value;
  }

 private:
  int shift_;
#if defined(__AVX512F__)
  Int index_;
  __mmask16 mask_;
#elif defined(__AVX2__)
  Int index_, mask_;
#endif
};

// Adds halves, always in the same order.
[[gnu::always_inline]] inline float sum_of_lanes(Float value) {
  float part[lanes];
  __builtin_memcpy(part, &value, sizeof part);
  TYTO_UNROLL
  for (int half = lanes / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) part[i] += part[i + half];
  }
  return part[0];
}

// Lane i is lane index[i] of `value`.
[[gnu::always_inline]] inline Float moved(Float value, Int index) {
#if defined(__AVX512F__)
  return permuted(value, index);
#elif defined(__AVX2__)
  return (Float)_mm256_permutevar8x32_ps((__m256)value, (__m256i)index);
#else
  Float to;
  for (int i = 0; i < lanes; ++i) to[i] = value[index[i]];
  return to;
#endif
}

// The sums of equal parts of the lanes, in halves as above.
[[gnu::always_inline]] inline void store_sums_of_parts(Float value, int parts, int stored, float* to) {
  Int lane;
  for (int i = 0; i < lanes; ++i) lane[i] = i;
  const int size = lanes / parts;
  for (int half = size / 2; half > 0; half /= 2) value += moved(value, lane ^ half);
  value = moved(value, (lane * size) & (lanes - 1));
  float part[lanes];
  __builtin_memcpy(part, &value, sizeof part);
  for (int p = 0; p < stored; ++p) to[p] = part[p];
}

template <int Bits, bool HasZeros, int Rows>
void dots_of(const QuantisedDots& d) {
  constexpr int numbers_in_word = 32 / Bits, columns = columns_at_once;
  const Decoder<Bits, HasZeros> decode;
  const ByWord by_word(d.words_shift);
  Float sum[Rows][columns] = {};
  const float* a[Rows];
  TYTO_UNROLL
  for (int r = 0; r < Rows; ++r) a[r] = d.a + r * d.a_row;
  Word words[columns];
  Float scale[columns], zero[columns];
  TYTO_UNROLL
  for (int j = 0; j < columns; ++j) zero[j] = Floats::all(Decoder<Bits, HasZeros>::middle);
  // Behind the last column of a there may be numbers and scales of any kind: there weights count as zeros.
  Int left = {};
  const auto add = [&]<bool Last>() __attribute__((always_inline)) {
    for (int number = 0; number < numbers_in_word; ++number) {
      TYTO_UNROLL
      for (int j = 0; j < columns; ++j) {
        Float weight = decode(words[j], zero[j]) * scale[j];
        if (Last) weight = left > number ? weight : Float{};
        TYTO_UNROLL
        for (int r = 0; r < Rows; ++r) sum[r][j] += weight * Floats::load(a[r]);
        words[j] >>= Bits;
      }
      TYTO_UNROLL
      for (int r = 0; r < Rows; ++r) a[r] += lanes;
    }
  };
  const std::int64_t whole = d.depth / (numbers_in_word * lanes) * lanes;
  for (std::int64_t word = 0; word < whole; word += lanes) {
    TYTO_UNROLL
    for (int j = 0; j < columns; ++j) {
      words[j] = load_words(d.numbers[j] + word * 4);
      scale[j] = by_word(d.scales[j], word);
      if (HasZeros) zero[j] = by_word(d.zeros[j], word);
    }
    add.template operator()<false>();
  }
  const auto rest = static_cast<int>(d.depth - whole * numbers_in_word);
  if (rest > 0) {
    const int count = (rest + numbers_in_word - 1) / numbers_in_word;
    for (int i = 0; i < lanes; ++i) left[i] = rest - i * numbers_in_word;
    for (int j = 0; j < columns; ++j) {
      words[j] = Word{};
      __builtin_memcpy(&words[j], d.numbers[j] + whole * 4, static_cast<unsigned long>(count) * 4);
      scale[j] = by_word.first(d.scales[j], whole, count);
      if (HasZeros) zero[j] = by_word.first(d.zeros[j], whole, count);
    }
    add.template operator()<true>();
  }
  if (d.in_vector > 1) {
    for (int j = 0; j * d.in_vector < d.columns; ++j) {
      const int behind = d.columns - j * d.in_vector, stored = behind < d.in_vector ? behind : d.in_vector;
      for (int r = 0; r < Rows; ++r)
        store_sums_of_parts(sum[r][j], d.in_vector, stored, d.c + r * d.c_row + j * d.in_vector);
    }
    return;
  }
  for (int j = 0; j < d.columns; ++j) {
    TYTO_UNROLL
    for (int r = 0; r < Rows; ++r) d.c[r * d.c_row + j] = sum_of_lanes(sum[r][j]);
  }
}

template <int Bits, bool HasZeros>
void dots_by_rows(const QuantisedDots& d) {
  static_assert(most_quantised_rows == 4 && columns_at_once <= most_quantised_columns);
  switch (d.rows) {
    case 1: return dots_of<Bits, HasZeros, 1>(d);
    case 2: return dots_of<Bits, HasZeros, 2>(d);
    case 3: return dots_of<Bits, HasZeros, 3>(d);
    default: return dots_of<Bits, HasZeros, 4>(d);
  }
}

void dots(const QuantisedDots& d) {
  const bool zeros = d.zeros[0] != nullptr;
  switch (d.bits) {
    case 2: return zeros ? dots_by_rows<2, true>(d) : dots_by_rows<2, false>(d);
    case 4: return zeros ? dots_by_rows<4, true>(d) : dots_by_rows<4, false>(d);
    default: return zeros ? dots_by_rows<8, true>(d) : dots_by_rows<8, false>(d);
  }
}

// Words of each column as vectors of all columns' words: `count` of them. Gathers would take several times as long.
[[gnu::always_inline]] inline void transposed_words(const QuantisedPanel& p, std::int64_t first, std::int64_t count,
                                                    Word (&words)[lanes]) {
  const std::uint8_t* const from = p.numbers + first * 4;
  if (count == lanes) {
    TYTO_UNROLL
    for (int i = 0; i < lanes; ++i) words[i] = load_words(from + p.offsets[i]);
  } else {
    for (int i = 0; i < lanes; ++i) {
      words[i] = Word{};
      __builtin_memcpy(&words[i], from + p.offsets[i], static_cast<unsigned long>(count) * 4);
    }
  }
  transpose(words);
}

[[gnu::always_inline]] inline Float at_block(const float* const* by_block, std::int64_t block) {
  Float value;
  TYTO_UNROLL
  for (int i = 0; i < lanes; ++i) value[i] = by_block[i][block];
  return value;
}

template <int Bits, bool HasZeros>
void panel_of(const QuantisedPanel& p) {
  constexpr std::int64_t numbers_in_word = 32 / Bits;
  const Decoder<Bits, HasZeros> decode;
  Float scale = {}, zero = Floats::all(Decoder<Bits, HasZeros>::middle);
  std::int64_t known_until = p.first;  // the step at which another block begins
  float* to = p.to;
  const std::int64_t end = p.first + p.steps, end_word = (end + numbers_in_word - 1) / numbers_in_word;
  std::int64_t step = p.first;
  for (std::int64_t word = step / numbers_in_word; word < end_word; word += lanes) {
    const std::int64_t count = end_word - word < lanes ? end_word - word : lanes;
    Word words[lanes];
    transposed_words(p, word, count, words);
    for (std::int64_t i = 0; i < count; ++i) {
      if (step >= known_until) {
        const std::int64_t block = step / p.block;
        scale = at_block(p.scales, block - p.first_block);
        if (HasZeros) zero = at_block(p.zeros, block - p.first_block);
        known_until = (block + 1) * p.block;
      }
      const std::int64_t skipped = step % numbers_in_word, left = end - step, held = numbers_in_word - skipped;
      Word numbers = words[i] >> static_cast<std::uint32_t>(skipped * Bits);
      for (std::int64_t stop = step + (left < held ? left : held); step < stop; ++step, to += p.pitch) {
        Floats::store(to, decode(numbers, zero) * scale);
        numbers >>= Bits;
      }
    }
  }
}

void panel(const QuantisedPanel& p) {
  const bool zeros = p.zeros[0] != nullptr;
  switch (p.bits) {
    case 2: return zeros ? panel_of<2, true>(p) : panel_of<2, false>(p);
    case 4: return zeros ? panel_of<4, true>(p) : panel_of<4, false>(p);
    default: return zeros ? panel_of<8, true>(p) : panel_of<8, false>(p);
  }
}

template <int NumbersInWord>
void arrange_words(const float* from, std::int64_t count, std::int64_t vectors, float* to) {
  constexpr std::int64_t size = lanes * NumbersInWord;
  for (std::int64_t vector = 0; vector < vectors; ++vector, from += size, to += size, count -= size) {
    float padded[size];
    const float* source = from;
    if (count < size) {
      for (std::int64_t i = 0; i < size; ++i) padded[i] = i < count ? from[i] : 0;
      source = padded;
    }
    for (int number = 0; number < NumbersInWord; ++number) {
      for (int lane = 0; lane < lanes; ++lane) to[number * lanes + lane] = source[lane * NumbersInWord + number];
    }
  }
}

void arrange(int bits, const float* from, std::int64_t count, std::int64_t vectors, float* to) {
  switch (bits) {
    case 2: return arrange_words<16>(from, count, vectors, to);
    case 4: return arrange_words<8>(from, count, vectors, to);
    default: return arrange_words<4>(from, count, vectors, to);
  }
}

template <int Bits>
void unpack_numbers(const std::uint8_t* packed, std::int64_t first, std::int64_t count, float* to) {
  constexpr std::int64_t in_byte = 8 / Bits;
  constexpr unsigned mask = (1u << Bits) - 1;
  std::int64_t i = 0;
  if (first % in_byte == 0) {
    const std::uint8_t* from = packed + first / in_byte;
    for (; i + in_byte <= count; i += in_byte, ++from) {
      TYTO_UNROLL
      for (int part = 0; part < in_byte; ++part) to[i + part] = static_cast<float>((*from >> (part * Bits)) & mask);
    }
  }
  for (; i < count; ++i) {
    const std::int64_t at = first + i;
    to[i] = static_cast<float>((packed[at / in_byte] >> (at % in_byte * Bits)) & mask);
  }
}

void unpack(int bits, const std::uint8_t* packed, std::int64_t first, std::int64_t count, float* to) {
  switch (bits) {
    case 2: return unpack_numbers<2>(packed, first, count, to);
    case 4: return unpack_numbers<4>(packed, first, count, to);
    default: return unpack_numbers<8>(packed, first, count, to);
  }
}

}  // namespace

QuantisedLoops quantised_loops() noexcept { return {lanes, columns_at_once, dots, panel, arrange, unpack}; }

}  // namespace tyto::cpu::TYTO_ISA

#undef TYTO_UNROLL
