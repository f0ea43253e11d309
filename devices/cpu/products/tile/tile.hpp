// SPDX-License-Identifier: MIT
// The register tile: the one inner kernel that matrix products and convolutions are made of.
#pragma once

#include <cstdint>
#include <type_traits>

#include "devices/cpu/arithmetic/limits.hpp"
#include "devices/cpu/system/instruction_set.hpp"

namespace tyto::cpu {

/// Rows of the tiles that there are for any width, whatever the type and the instruction set.
inline constexpr int tile_rows = 6;

/// Rows of the largest tile: a multiple of tile_rows.
inline constexpr int most_tile_rows = 24;

/// One tile of work: c[r][j] = sum over segments s and steps i of
/// rows[s * rows_step + r][first + shifts[s] + i * row_step] * b[s][i][j].
///
/// Rows are addresses, not a matrix: a convolution points them at pixels (at zeros for padding), a product at rows of
/// its left operand.
template <class T>
struct TileArguments {
  const T* const* rows = nullptr;
  std::int64_t rows_step = 0;            ///< addresses between those of segments; 0: all have the same
  const std::int64_t* shifts = nullptr;  ///< elements by which each segment lies further on; null: by none
  std::int64_t segments = 0;
  std::int64_t first = 0;       ///< elements to skip in each row
  std::int64_t steps = 0;       ///< elements of each row that take part
  std::int64_t row_step = 1;    ///< elements from one of them to the next
  const T* b = nullptr;         ///< segments x steps rows of `columns` elements, whole vectors readable
  std::int64_t b_step = 0;      ///< elements between rows of b
  const T* ahead = nullptr;     ///< what is prefetched into L2 while steps are taken
  std::int64_t ahead_step = 0;  ///< by how many elements a step; 0: nothing
  T* c = nullptr;
  const std::int64_t* c_offsets = nullptr;  ///< where each row of the tile starts in c
  int columns = 0;                          ///< columns stored; at most vectors * lanes
  const T* scale = nullptr;                 ///< first: each row times `columns` values
  bool accumulate = false;                  ///< then added to what c holds
  const T* bias = nullptr;                  ///< then `columns` values added to each row
  const T* residual = nullptr;              ///< then this, laid out like c; it may be c
  Limits<T> limits = {};                    ///< last
};

template <class T>
using TileFunction = void (*)(const TileArguments<T>&) noexcept;

/// Few rows times many columns that lie contiguous: c[r][j * c_step] = sum over i of rows[r][i] * b[j * b_step + i].
/// With a row_step each column has a row of its own, the one row and so many elements further on: rows[0][j * row_step
/// + i].
template <class T>
struct DotArguments {
  const T* const* rows = nullptr;
  int row_count = 0;  ///< at most dot_rows
  std::int64_t row_step = 0, c_step = 1;
  const T* b = nullptr;
  std::int64_t b_step = 0;  ///< elements between columns of b
  std::int64_t steps = 0;
  std::int64_t columns = 0;
  T* c = nullptr;
  const std::int64_t* c_offsets = nullptr;
  const T* bias = nullptr;
  bool accumulate = false;
  Limits<T> limits = {};
};

/// Rows that one pass over the columns serves.
inline constexpr int dot_rows = 4;

/// Not noexcept: see dot_block.
template <class T>
using DotFunction = void (*)(const DotArguments<T>&);

/// The four products of two rows and two columns whose elements alternate, as the parts of complex numbers do:
/// products[2 r + j] = sum over i of rows[2 i + r] * columns[2 i + j].
template <class T>
using PairFunction = void (*)(const T* rows, const T* columns, std::int64_t steps, T (&products)[4]) noexcept;

/// Sums of products channel by channel: out[j] = sum over i of x[i][j] * y[i][j], the whole of a depthwise convolution.
/// Pixels side by side that meet the same taps are computed together and read y once.
template <class T>
struct ChannelArguments {
  const T* const* x = nullptr;
  const T* const* y = nullptr;
  std::int64_t count = 0;     ///< addresses in x and y
  std::int64_t channels = 0;  ///< elements at each address
  T* out = nullptr;
  const T* scale = nullptr;  ///< what sums are multiplied by before anything is added
  const T* bias = nullptr;
  const T* residual = nullptr;
  bool accumulate = false;
  Limits<T> limits = {};
  std::int64_t pixels = 1;  ///< results, all of the same y: each reads x, and writes, so many elements further on
  std::int64_t x_step = 0;
  std::int64_t out_step = 0;
  std::int64_t residual_step = 0;
};

template <class T>
using ChannelFunction = void (*)(const ChannelArguments<T>&) noexcept;

/// Channel by channel over some pixels: their sum, or the greatest of them, the last NaN if there is one.
template <class T>
struct PixelFoldArguments {
  const T* const* pixels = nullptr;
  std::int64_t count = 0;  ///< addresses in pixels, at least one
  std::int64_t channels = 0;
  bool accumulate = false;  ///< begins with what `out` holds
  T* out = nullptr;
  std::int64_t results = 1;  ///< of as many windows side by side: each reads, and writes, so many elements further on
  std::int64_t pixel_step = 0;
  std::int64_t out_step = 0;
};

template <class T>
using PixelFoldFunction = void (*)(const PixelFoldArguments<T>&) noexcept;

/// Finds the greatest of some pixels channel by channel, and which pixel it is, in steps of one pixel; then gives each
/// channel's gradient to that pixel. A place is as wide as an element, so that both are compared in vectors of one
/// length.
template <class T>
struct MaximumPlaces {
  using Place = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;
  /// Where `pixel` is greater, or NaN, it becomes the greatest, and `place` its place.
  void (*compare)(const T* pixel, std::int64_t channels, Place place, T* greatest, Place* places) noexcept = nullptr;
  /// The gradient where the places are `place`, and zero elsewhere: added to `to`, or written there.
  void (*give)(const T* gradient, std::int64_t channels, Place place, const Place* places, bool add,
               T* to) noexcept = nullptr;
};

/// The tiles of one type for one instruction set.
template <class T>
struct TileSet {
  DotFunction<T> dots = nullptr;
  PairFunction<T> pairs = nullptr;
  ChannelFunction<T> channels = nullptr;
  PixelFoldFunction<T> pixel_sums = nullptr;
  PixelFoldFunction<T> pixel_maxima = nullptr;
  MaximumPlaces<T> maximum_places = {};
  int lanes = 0;                            ///< elements of a vector
  int max_vectors = 0;                      ///< vectors of the widest tile row
  TileFunction<T> tile[tile_rows][4] = {};  ///< by rows - 1 and vectors - 1
  TileFunction<T> tall_tile[2] = {};        ///< by vectors - 1: of most_tile_rows / vectors rows; null: there is none

  /// Rows of the tile that takes the next of so many rows.
  int rows_of_tile(std::int64_t rows, std::int64_t vectors) const noexcept {
    const std::int64_t tall = most_tile_rows / vectors;
    if (vectors <= 2 && rows >= tall && tall_tile[vectors - 1] != nullptr) return static_cast<int>(tall);
    return static_cast<int>(rows < tile_rows ? rows : tile_rows);
  }
  void multiply(const TileArguments<T>& t, int rows, std::int64_t vectors) const noexcept {
    (rows > tile_rows ? tall_tile[vectors - 1] : tile[rows - 1][vectors - 1])(t);
  }

  /// Columns of the widest tile.
  int width() const noexcept { return lanes * max_vectors; }
};

/// The tiles for an instruction set.
template <class T>
const TileSet<T>& tiles(InstructionSet set) noexcept;

TYTO_IN_EACH_SET(template <class T> const TileSet<T>& tiles() noexcept;)

}  // namespace tyto::cpu
