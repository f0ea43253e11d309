// SPDX-License-Identifier: MIT
// The loops of attention, compiled once an instruction set.
//
// The build defines TYTO_ISA and TYTO_VECTOR_BYTES. Nothing here instantiates a standard template: such code would
// be shared by name between sets, and the linker could keep the wrong one.
#include "devices/cpu/products/attention/row_loops.hpp"
#include "devices/cpu/products/tile/round_product.hpp"
#include "devices/cpu/reduce/lanes.hpp"
//
#include "devices/cpu/arithmetic/vector_math.hpp"
#include "devices/cpu/reduce/exp_nonpositive.hpp"

namespace tyto::cpu::attention::TYTO_ISA {

namespace {

using cpu::TYTO_ISA::Add;
using cpu::TYTO_ISA::ArrayElements;
using cpu::TYTO_ISA::exp_nonpositive;
using cpu::TYTO_ISA::FirstLanes;
using cpu::TYTO_ISA::fold_elements;
using cpu::TYTO_ISA::Lanes;
using cpu::TYTO_ISA::Maximum;
using cpu::TYTO_ISA::round_product;
namespace math = cpu::TYTO_ISA;

template <class T>
constexpr T infinity = static_cast<T>(__builtin_inf());

static_assert(Lanes<float>::count <= row_lanes);

/// e^x for x <= 0, but 0 where that is no normal number: beside weights of up to 1 it counts for nothing, and
/// processors are slow with it.
template <class T>
TYTO_VECTOR_INLINE T weight_of(T x) {
  constexpr T lowest = sizeof(T) == 4 ? T(-87) : T(-708);
  return math::select(x < lowest, T(0), exp_nonpositive(math::select(x < lowest, lowest, x)));
}

// The numbers that are added to scores, by vectors; the last one has `count` elements.
template <class T>
struct NothingAdded {
  using Vector = typename Lanes<T>::Vector;
  [[gnu::always_inline]] inline Vector whole(std::int64_t, Vector score) const { return score; }
  [[gnu::always_inline]] inline Vector rest(std::int64_t, int, Vector score) const { return score; }
};
template <class T>
struct NumbersAdded {
  using Vector = typename Lanes<T>::Vector;
  const T* numbers;
  [[gnu::always_inline]] inline Vector whole(std::int64_t i, Vector score) const {
    return score + Lanes<T>::load(numbers + i);
  }
  [[gnu::always_inline]] inline Vector rest(std::int64_t i, int count, Vector score) const {
    return score + FirstLanes<T>(count).load(numbers + i);
  }
};
// Calls work() with the numbers that are added.
template <class T, class Work>
[[gnu::always_inline]] inline void with_added(const T* added, const Work& work) {
  if (added == nullptr) work(NothingAdded<T>{});
  else work(NumbersAdded<T>{added});
}

/// Scores times `factor`, rounded before anything is added or taken away: the weights made anew must have the bits of
/// those whose sum is known.
template <class Vector>
[[gnu::always_inline]] inline Vector scaled(Vector scores, Vector factor) {
  scores *= factor;
  round_product(scores);
  return scores;
}

/// Scores as they are made ready for exponentials, and written back; lanes behind the row become minus infinity.
template <class T, class Added>
struct ReadyScores {
  using L = Lanes<T>;
  using Vector = typename L::Vector;
  T* scores;
  T scale;
  Added added;
  [[gnu::always_inline]] inline Vector vector(std::int64_t i) const {
    const Vector score = added.whole(i, scaled(L::load(scores + i), L::all(scale)));
    L::store(scores + i, score);
    return score;
  }
  [[gnu::always_inline]] inline Vector rest(std::int64_t i, std::int64_t count, T) const {
    const int left = static_cast<int>(count - i);
    const Vector all = added.rest(i, left, scaled(L::load(scores + i), L::all(scale)));
    const Vector score = L::among_last(L::count - left) ? L::all(-infinity<T>) : all;
    L::store(scores + i, score);
    return score;
  }
};

// Step by step over all rows, since those of one wait for each other.
template <class T>
void soften(ScoreTile<T>& tile, T scale, const RunningSoftmax<T>& running) {
  constexpr std::int64_t lanes = Lanes<T>::count;
  const auto vectors_of = [&](std::int64_t r) { return (tile.seen[r] + lanes - 1) / lanes * lanes; };
  T before[tile_rows];
  // A score that is NaN is not looked for: its exponential is NaN, and so is the sum.
  for (std::int64_t r = 0; r < tile.rows; ++r) {
    before[r] = running.greatest[r];
    with_added(
        tile.added[r], [&](const auto& each) __attribute__((always_inline)) {
          using Added = std::remove_cvref_t<decltype(each)>;
          running.greatest[r] = fold_elements<Maximum::OfNumbers>(
              ReadyScores<T, Added>{tile.scores + r * tile.pitch, scale, each}, tile.seen[r], before[r]);
        });
  }
  for (std::int64_t r = 0; r < tile.rows; ++r) {
    T* const scores = tile.scores + r * tile.pitch;
    const T greatest = running.greatest[r], reference = greatest == -infinity<T> ? T(0) : greatest;
    const std::int64_t vectors = vectors_of(r);
    for (std::int64_t i = 0; i < vectors; ++i) scores[i] = weight_of(scores[i] - reference);
  }
  for (std::int64_t r = 0; r < tile.rows; ++r) {
    const T greatest = running.greatest[r];
    const T sum = fold_elements<Add>(ArrayElements<T>{tile.scores + r * tile.pitch}, vectors_of(r), T(0));
    // Nothing has been added up before the first score.
    const bool same = before[r] == -infinity<T> || before[r] == greatest;
    tile.factors[r] = same ? T(1) : weight_of(before[r] - greatest);
    running.total[r] = running.total[r] * tile.factors[r] + sum;
  }
}

template <class T>
void admit(std::int64_t count, const bool* seen, T* __restrict numbers) {
  // By bits, since compilers make branches of the choice.
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  constexpr auto nowhere = __builtin_bit_cast(Bits, -infinity<T>);
  const auto* const bytes = reinterpret_cast<const unsigned char*>(seen);
  for (std::int64_t i = 0; i < count; ++i) numbers[i] = __builtin_bit_cast(T, (Bits{bytes[i]} - 1) & nowhere);
}

template <class T>
void scale_row(std::int64_t count, T* values, T factor) {
  for (std::int64_t i = 0; i < count; ++i) values[i] *= factor;
}

template <class T, int Rows, TriangleKind Kind>
void add_triangle(const Triangle<T>& t) {
  using L = Lanes<T>;
  const auto part = [&](std::int64_t j, auto lanes) __attribute__((always_inline)) {
    typename L::Vector sums[Rows];
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) sums[r] = lanes.load(t.sums + r * t.sum_row + j);
#pragma GCC unroll 8
    for (int s = 0; s < Rows; ++s) {
      const typename L::Vector right = L::load(t.right + s * t.right_step + j);
#pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r) {
        if (Kind == TriangleKind::growing ? s <= r : s >= r)
          sums[r] += L::all(t.left[r * t.left_row + s * t.left_step]) * right;
      }
    }
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) lanes.store(t.sums + r * t.sum_row + j, sums[r]);
  };
  std::int64_t j = 0;
  for (; j + L::count <= t.columns; j += L::count) part(j, L());
  if (j < t.columns) part(j, FirstLanes<T>(static_cast<int>(t.columns - j)));
}

template <class T>
void conclude(std::int64_t count, const RunningSoftmax<T>& rows, T* __restrict log_sums) {
  T* const __restrict total = rows.total;
  const T* const __restrict greatest = rows.greatest;
  for (std::int64_t i = 0; i < count; ++i) {
    const bool nowhere = total[i] == 0;
    log_sums[i] = nowhere ? infinity<T> : greatest[i] + math::log(total[i]);
    total[i] = nowhere ? T(0) : T(1) / total[i];
  }
}

template <class T>
void differentiate(std::int64_t count, T* __restrict scores, T* __restrict inner, const T* added, T scale,
                   const T* log_sums, const T* deltas) {
  using L = Lanes<T>;
  const auto factor = L::all(scale);
  with_added(
      added, [&](const auto& each) __attribute__((always_inline)) {
        const auto part = [&](std::int64_t i, typename L::Vector score) __attribute__((always_inline)) {
          T terms[L::count];
          L::store(terms, score - L::load(log_sums + i));
          for (int k = 0; k < L::count; ++k) terms[k] = weight_of(terms[k]);
          const auto weight = L::load(terms);
          L::store(scores + i, weight);
          L::store(inner + i, weight * (L::load(inner + i) - L::load(deltas + i)) * factor);
        };
        std::int64_t i = 0;
        for (; i + L::count <= count; i += L::count) part(i, each.whole(i, scaled(L::load(scores + i), factor)));
        if (i < count) part(i, each.rest(i, static_cast<int>(count - i), scaled(L::load(scores + i), factor)));
      });
}

template <class T>
constexpr RowLoops<T> loops_of() {
  static_assert(tile_rows == 6);
  constexpr auto growing = TriangleKind::growing, shrinking = TriangleKind::shrinking;
  return {admit<T>,
          soften<T>,
          scale_row<T>,
          {{add_triangle<T, 1, growing>, add_triangle<T, 2, growing>, add_triangle<T, 3, growing>,
            add_triangle<T, 4, growing>, add_triangle<T, 5, growing>},
           {add_triangle<T, 1, shrinking>, add_triangle<T, 2, shrinking>, add_triangle<T, 3, shrinking>,
            add_triangle<T, 4, shrinking>, add_triangle<T, 5, shrinking>}},
          conclude<T>,
          differentiate<T>};
}
template <class T>
constexpr RowLoops<T> loops = loops_of<T>();

}  // namespace

template <class T>
const RowLoops<T>& row_loops() noexcept {
  return loops<T>;
}
template const RowLoops<float>& row_loops() noexcept;
template const RowLoops<double>& row_loops() noexcept;

}  // namespace tyto::cpu::attention::TYTO_ISA
