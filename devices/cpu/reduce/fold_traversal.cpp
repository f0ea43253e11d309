// SPDX-License-Identifier: MIT
// Chooses a traversal that reads memory in order: the nearest axis is a line, or kept elements are columns.
#include "devices/cpu/reduce/fold_traversal.hpp"

#include <algorithm>
#include <bit>

namespace tyto::cpu {

FoldTraversal::FoldTraversal(const core::Step& step, const Traits& traits)
    : element_bytes(static_cast<std::int64_t>(size_of(step.inputs[0].dtype))), index_from_start(traits.ordered) {
  if (const auto* variance = std::get_if<core::VarianceAttributes>(step.attributes)) extent.ddof = variance->ddof;
  SortedAxes axes = sorted_axes(step, traits.ordered);
  extent.count = 1;
  for (const Axis& axis : axes.folded) extent.count *= axis.length;
  choose_columns(axes);
  choose_line(axes);
  choose_even_lines(axes, traits);
  outer = iterator_over(axes.kept, axes.in, axes.out);
  around = iterator_over(axes.folded, 0, 0);

  chunk = std::min(width, columns_at_once(element_bytes));
  chunks = (width + std::max<std::int64_t>(chunk, 1) - 1) / std::max<std::int64_t>(chunk, 1);
  choose_groups(traits);
  choose_pieces();
}

void FoldTraversal::choose_columns(SortedAxes& axes) {
  if (axes.kept.empty()) return;
  // Rows of one element are no lines, but elements side by side.
  if (axes.folded.empty()) axes.folded.push_back({1, 1, 0});
  std::size_t densest = 0;
  for (std::size_t i = 0; i < axes.kept.size(); ++i) {
    const std::int64_t best = axes.kept[densest].in, stride = axes.kept[i].in;
    if (stride != 0 && (best == 0 || stride < best)) densest = i;
  }
  const Axis column = axes.kept[densest];
  const Axis nearest = axes.folded.back();
  const bool nearer = column.in != 0 && (nearest.in == 0 || column.in < (nearest.in < 0 ? -nearest.in : nearest.in));
  if (!(nearer && column.length > 1) && !taken_as_columns(nearest.length, column.length)) return;
  in_columns = true;
  width = column.length;
  column_stride = column.in;
  column_out = column.out;
  axes.kept.erase(axes.kept.begin() + static_cast<std::ptrdiff_t>(densest));
}

void FoldTraversal::choose_line(SortedAxes& axes) {
  if (axes.folded.empty()) return;
  line = axes.folded.back().length;
  line_stride = axes.folded.back().in;
  axes.folded.pop_back();
}

void FoldTraversal::choose_even_lines(const SortedAxes& axes, const Traits& traits) {
  if (in_columns || axes.kept.size() != 1 || !axes.folded.empty()) return;
  even_lines = !traits.computed || (traits.sums_lines && axes.kept[0].in == line && axes.in == 0);
  line_distance = axes.kept[0].in;
  line_out = axes.kept[0].out;
}

// Rows of few columns that follow one another are folded as one longer row, whose parts are joined in the end. Folds
// that look for a place need the rows one after the other.
void FoldTraversal::choose_groups(const Traits& traits) {
  constexpr std::int64_t wide_enough = 64, grouped_width = 256;
  const bool adjoin = in_columns && line_stride == width * column_stride && around.count() == 1;
  if (!adjoin || index_from_start || width >= wide_enough || extent.count < shortest_line) return;
  group = (width <= traits.register_width ? traits.register_width : grouped_width) / width;
  if (group > 1) source_rows = rows_at_once * std::max<std::int64_t>(grouped_width / (group * width), 1);
}

// Few results of many elements: the elements are cut into pieces, whose number depends on the shape only. Two pieces
// are longer than any row that a fused group sums in one go.
void FoldTraversal::choose_pieces() {
  constexpr std::int64_t enough_blocks = 32, smallest_piece = 16384;
  if (blocks() == 0 || blocks() >= enough_blocks || extent.count == 0) return;
  const std::int64_t wanted = (enough_blocks + blocks() - 1) / blocks();
  const std::int64_t most =
      std::clamp<std::int64_t>(extent.count * chunk / smallest_piece, 1, std::min(wanted, extent.count));
  // A power of two, which most numbers of threads divide.
  pieces = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(most)));
}

}  // namespace tyto::cpu
