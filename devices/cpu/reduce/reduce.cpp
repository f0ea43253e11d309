// SPDX-License-Identifier: MIT
// Reductions: sorted axes are run through the inner loops in the shape that reads memory in order. The order of
// additions depends on shapes and strides only, never on the number of threads.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <vector>

#include "core/graph/op_ids.hpp"
#include "devices/cpu/device/kernels.hpp"
#include "devices/cpu/device/workspace.hpp"
#include "devices/cpu/moves/strided_copy.hpp"
#include "devices/cpu/reduce/fold_rules.hpp"
#include "devices/cpu/reduce/reduce.hpp"
#include "devices/cpu/reduce/sorted_axes.hpp"
#include "devices/cpu/system/machine.hpp"

namespace tyto::cpu {

namespace {

using core::OpId;

class ReduceKernel final : public core::Kernel {
 public:
  explicit ReduceKernel(const core::Step& step, std::shared_ptr<const ElementSource> source = nullptr,
                        const KernelChoice& choice = {})
      : source_(std::move(source)) {
    const core::Operand& x = step.inputs[0];
    const core::Operand& y = step.outputs[0];
    const Reduction reduction = reduction_of(step.op);
    const bool ordered = reduction.finish == Finish::index;
    loops_ = fold_loops(reduction.fold, x.dtype);
    rules_ = fold_rules(reduction.fold, reduction.finish, x.dtype, y.dtype);
    in_size_ = static_cast<std::int64_t>(size_of(x.dtype));
    out_size_ = static_cast<std::int64_t>(size_of(y.dtype));
    results_ = y.view.count();
    if (const auto* variance = std::get_if<core::VarianceAttributes>(step.attributes)) extent_.ddof = variance->ddof;

    SortedAxes axes = sorted_axes(step, ordered);
    extent_.count = 1;
    for (const Axis& axis : axes.folded) extent_.count *= axis.length;
    index_from_start_ = ordered;
    choose_columns(axes);
    choose_line(axes);
    choose_even_lines(axes);
    outer_ = iterator_over(axes.kept, axes.in, axes.out);
    around_ = iterator_over(axes.folded, 0, 0);

    // A row of 4 KB at a time leaves room in L1 for the sums of its columns.
    chunk_ = std::min(width_, in_size_ == 8 ? fold_columns / 2 : fold_columns);
    chunks_ = (width_ + std::max<std::int64_t>(chunk_, 1) - 1) / std::max<std::int64_t>(chunk_, 1);
    choose_groups();
    choose_pieces();
    const double nanoseconds = static_cast<double>(extent_.count) * static_cast<double>(results_) *
                               reduction.nanoseconds * std::max(1.0, static_cast<double>(in_size_) / 4);
    const bool divides = outer_.count() * chunks_ * pieces_ > 1;
    if (divides && choice.threads > 0) team_.count = choice.threads;
    else if (divides) team_ = team_for(nanoseconds + (source_ == nullptr ? 0 : source_->nanoseconds()));
    if (source_ == nullptr) return;
    // One part of a line, or the rows that are folded together.
    const std::int64_t across = group_ > 1 ? group_ * width_ : chunk_;
    const auto bytes = static_cast<std::size_t>(std::max(source_part, source_rows_ * across) * in_size_);
    if (bytes <= own_buffer) return;
    produced_at_ = layout_.reserve_each(static_cast<std::size_t>(team_.count), bytes, produced_stride_);
  }

  std::size_t workspace() const override { return layout_.bytes(); }

  void launch(std::span<const core::Address> inputs, std::span<const core::Address> outputs,
              core::Address workspace) const override {
    if (results_ == 0) return;
    std::byte* out = outputs[0].pointer();
    std::byte* partials = pieces_ > 1 ? workspace.pointer() : nullptr;
    const std::int64_t blocks = outer_.count() * chunks_;
    // One result: when a piece settles it, those behind are left as they start.
    const bool settles = rules_.short_circuits && results_ == 1;
    std::atomic<bool> settled = false;
    run_team(team_, [&](Team team) {
      Elements in{source_ == nullptr ? inputs[0].pointer() : nullptr, inputs, nullptr};
      alignas(64) std::byte buffer[own_buffer];
      in.buffer = buffer;
      if (produced_stride_ != 0) {
        in.buffer = workspace.pointer() + produced_at_ + static_cast<std::size_t>(team.member) * produced_stride_;
      }
      if (pieces_ == 1) {
        fold_blocks(in, out, share(blocks, team.member, team.size));
        return;
      }
      const Range mine = share(blocks * pieces_, team.member, team.size);
      for (std::int64_t unit = mine.begin; unit < mine.end; ++unit) {
        if (settles && settled.load(std::memory_order_relaxed)) {
          rules_.start(first_of(partials, unit), second_of(partials, unit), 1);
          continue;
        }
        fold_piece(in, partials, unit);
        if (settles && *static_cast<const std::uint8_t*>(first_of(partials, unit)) != 0) {
          settled.store(true, std::memory_order_relaxed);
        }
      }
      if (joined_apart_) return;
      team.barrier();
      join_blocks(partials, out, share(blocks, team.member, team.size));
    });
    if (joined_apart_) join_blocks(partials, out, {0, blocks});
  }

 private:
  /// Elements of a line computed at once: as many as, or a multiple of as many as, all loops add up before they add to
  /// the partial result, so that parts give the bits of the whole.
  static constexpr std::int64_t source_part = 4096;
  /// Rows that are folded together.
  static constexpr std::int64_t source_rows = 32;
  /// Bytes for computed elements in a thread's own frame; more than that is planned as workspace.
  static constexpr std::size_t own_buffer = machine::first_level_cache;

  /// Where elements come from: memory, or the source, through a buffer.
  struct Elements {
    const std::byte* memory;
    std::span<const core::Address> inputs;
    std::byte* buffer;
  };

  // Columns are kept elements side by side that are folded together, row by row.
  void choose_columns(SortedAxes& axes) {
    if (axes.kept.empty()) return;
    // Rows of one element are no lines, but elements side by side.
    if (axes.folded.empty()) axes.folded.push_back({1, 1, 0});
    std::size_t densest = 0;
    for (std::size_t i = 0; i < axes.kept.size(); ++i) {
      const std::int64_t best = axes.kept[densest].in, stride = axes.kept[i].in;
      if (stride != 0 && (best == 0 || stride < best)) densest = i;
    }
    const Axis column = axes.kept[densest];
    const Axis line = axes.folded.back();
    const bool nearer = column.in != 0 && (line.in == 0 || column.in < (line.in < 0 ? -line.in : line.in));
    if (!(nearer && column.length > 1) && !taken_as_columns(line.length, column.length)) return;
    in_columns_ = true;
    width_ = column.length;
    column_stride_ = column.in;
    column_out_ = column.out;
    axes.kept.erase(axes.kept.begin() + static_cast<std::ptrdiff_t>(densest));
  }

  void choose_line(SortedAxes& axes) {
    if (axes.folded.empty()) return;
    line_ = axes.folded.back().length;
    line_stride_ = axes.folded.back().in;
    axes.folded.pop_back();
  }

  // Lines at equal distances are folded in one go.
  void choose_even_lines(const SortedAxes& axes) {
    if (in_columns_ || axes.kept.size() != 1 || !axes.folded.empty()) return;
    even_lines_ = source_ == nullptr || (source_->sums() && axes.kept[0].in == line_ && axes.in == 0);
    line_distance_ = axes.kept[0].in;
    line_out_ = axes.kept[0].out;
  }

  // Rows of few columns that follow one another are folded as one longer row, whose parts are joined in the end. Folds
  // that look for a place need the rows one after the other.
  void choose_groups() {
    constexpr std::int64_t wide_enough = 64, grouped_width = 256;
    const bool adjoin = in_columns_ && line_stride_ == width_ * column_stride_ && around_.count() == 1;
    if (!adjoin || index_from_start_ || width_ >= wide_enough || extent_.count < shortest_line) return;
    group_ = (width_ <= loops_.register_width ? loops_.register_width : grouped_width) / width_;
    if (group_ > 1) source_rows_ = source_rows * std::max<std::int64_t>(grouped_width / (group_ * width_), 1);
  }

  // Few results of many elements: the elements are cut into pieces, whose number depends on the shape only. What makes
  // two pieces is longer than any row that a fused group sums in one go.
  void choose_pieces() {
    const std::int64_t blocks = outer_.count() * chunks_;
    constexpr std::int64_t enough_blocks = 32, smallest_piece = 16384;
    if (blocks == 0 || blocks >= enough_blocks || extent_.count == 0) return;
    const std::int64_t wanted = (enough_blocks + blocks - 1) / blocks;
    const std::int64_t most =
        std::clamp<std::int64_t>(extent_.count * chunk_ / smallest_piece, 1, std::min(wanted, extent_.count));
    // A power of two, which most numbers of threads divide.
    pieces_ = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(most)));
    if (pieces_ == 1) return;
    const auto partials = static_cast<std::size_t>(blocks * pieces_ * chunk_);
    constexpr std::size_t few_partials = 512;  // joined in less time than threads take to meet
    joined_apart_ = partials <= few_partials;
    first_at_ = layout_.reserve(partials * rules_.first_size);
    second_at_ = layout_.reserve(partials * rules_.second_size);
  }

  // Pieces of lines begin where vectors do.
  Range piece(std::int64_t number) const { return share(extent_.count, number, pieces_, in_columns_ ? 1 : 64); }

  Range columns_of(std::int64_t chunk) const { return {chunk * chunk_, std::min(width_, (chunk + 1) * chunk_)}; }

  /// Folds rows, `step` apart, of `width` columns. Columns that lie apart are folded from dense copies of as many rows
  /// as the loops add up before they round, so that a copy changes no bits.
  void fold_columns_of(const std::byte* from, std::int64_t count, std::int64_t step, std::int64_t width, void* first,
                       void* second, std::int64_t before) const {
    if (column_stride_ == 1) return loops_.columns(from, count, step, width, first, second, before);
    alignas(64) std::byte copy[own_buffer];
    CopyBlock block{std::min(count, source_rows), 0, step, column_stride_, 0, 1};
    const std::int64_t most =
        static_cast<std::int64_t>(own_buffer) / (std::max<std::int64_t>(block.rows, 1) * in_size_);
    for (std::int64_t column = 0; column < width; column += block.columns) {
      block.to_row = block.columns = std::min(width - column, most);
      for (std::int64_t row = 0; row < count; row += block.rows) {
        block.rows = std::min(count - row, source_rows);
        const CopyFunction copies = copy_function(block, static_cast<std::size_t>(in_size_));
        copies(from + (row * step + column * column_stride_) * in_size_, copy, block);
        loops_.columns(copy, block.rows, block.columns, block.columns,
                       static_cast<std::byte*>(first) + static_cast<std::size_t>(column) * rules_.first_size,
                       static_cast<std::byte*>(second) + static_cast<std::size_t>(column) * rules_.second_size,
                       before + row);
      }
    }
  }

  /// Folds the elements with the given numbers, in the order of the iteration, into `width` partial results, which have
  /// room for fold_columns.
  void fold_range(const Elements& in, std::int64_t origin, Range elements, std::int64_t width, void* first,
                  void* second) const {
    if (group_ > 1 && elements.size() >= 4 * group_) return fold_groups(in, origin, elements, width, first, second);
    rules_.start(first, second, width);
    if (source_ != nullptr) return fold_produced(in, origin, elements, width, first, second);
    for (std::int64_t at = elements.begin; at < elements.end;) {
      const std::int64_t within = at % line_;
      const std::int64_t count = std::min(line_ - within, elements.end - at);
      const std::byte* from = in.memory + (origin + around_.at(at / line_)[0] + within * line_stride_) * in_size_;
      const std::int64_t before = index_from_start_ ? at : at - elements.begin;
      if (in_columns_) {
        fold_columns_of(from, count, line_stride_, width, first, second, before);
      } else {
        loops_.line(from, count, line_stride_, first, second, before);
      }
      at += count;
    }
  }

  /// The same of elements that are computed. They make a dense tensor, of which the folded axes are one.
  void fold_produced(const Elements& in, std::int64_t origin, Range elements, std::int64_t width, void* first,
                     void* second) const {
    const auto produce = [&](std::int64_t begin, std::int64_t count, std::int64_t at) {
      source_->produce(in.inputs, {begin, begin + count}, in.buffer + at * in_size_);
    };
    if (!in_columns_ && source_->sums()) {
      source_->sum(in.inputs, {origin + elements.begin, origin + elements.end}, static_cast<double*>(first));
      return;
    }
    if (!in_columns_) {
      for (std::int64_t at = elements.begin; at < elements.end; at += source_part) {
        const std::int64_t count = std::min(source_part, elements.end - at);
        produce(origin + at, count, 0);
        loops_.line(in.buffer, count, 1, first, second, at - elements.begin);
      }
      return;
    }
    if (line_stride_ == 1) {  // short lines side by side, folded as columns
      produce(origin, width * column_stride_, 0);
      fold_columns_of(in.buffer + elements.begin * in_size_, elements.size(), 1, width, first, second, 0);
      return;
    }
    for (std::int64_t at = elements.begin; at < elements.end; at += source_rows) {
      const std::int64_t rows = std::min(source_rows, elements.end - at);
      if (width == line_stride_) {
        produce(origin + at * line_stride_, rows * width, 0);
      } else {
        for (std::int64_t row = 0; row < rows; ++row) produce(origin + (at + row) * line_stride_, width, row * width);
      }
      loops_.columns(in.buffer, rows, width, width, first, second, at - elements.begin);
    }
  }

  void fold_groups(const Elements& in, std::int64_t origin, Range elements, std::int64_t width, void* first,
                   void* second) const {
    const std::int64_t rows = elements.size() / group_, rest = elements.size() % group_;
    const std::int64_t begin = origin + elements.begin * line_stride_, row_size = line_stride_ * group_;
    rules_.start(first, second, width * group_);
    if (source_ == nullptr) {
      const std::byte* from = in.memory + begin * in_size_;
      fold_columns_of(from, rows, row_size, width * group_, first, second, 0);
      from += rows * row_size * in_size_;
      fold_columns_of(from, rest, line_stride_, width, first, second, rows);
    } else {
      const auto fold = [&](std::int64_t at, std::int64_t count, std::int64_t step, std::int64_t before) {
        source_->produce(in.inputs, {begin + at, begin + at + count * step}, in.buffer);
        loops_.columns(in.buffer, count, step, step, first, second, before);
      };
      for (std::int64_t row = 0; row < rows; row += source_rows_) {
        fold(row * row_size, std::min(source_rows_, rows - row), row_size, row);
      }
      fold(rows * row_size, rest, width, rows);
    }
    const auto part = [&](void* partials, std::size_t size, std::int64_t group) {
      return static_cast<std::byte*>(partials) + static_cast<std::size_t>(group * width) * size;
    };
    for (std::int64_t group = 1; group < group_; ++group) {
      rules_.join(first, second, group * rows + rest, part(first, rules_.first_size, group),
                  part(second, rules_.second_size, group), rows, width);
    }
  }

  void fold_lines(const Elements& in, std::byte* out, Range lines) const {
    constexpr std::int64_t at_once = 64;
    alignas(64) double first[at_once], second[at_once];
    const StridedIterator<2>::Offsets origin = outer_.at(0);
    for (std::int64_t begin = lines.begin; begin < lines.end; begin += at_once) {
      const Range some{begin, std::min(begin + at_once, lines.end)};
      rules_.start(first, second, some.size());
      if (source_ != nullptr) {
        source_->sum_lines(in.inputs, some, first);
      } else if (line_ != 0) {
        const std::byte* from = in.memory + (origin[0] + begin * line_distance_) * in_size_;
        auto* one = reinterpret_cast<std::byte*>(first);
        auto* other = reinterpret_cast<std::byte*>(second);
        for (std::int64_t line = some.begin; line < some.end; ++line, from += line_distance_ * in_size_) {
          loops_.line(from, line_, line_stride_, one, other, 0);
          one += rules_.first_size;
          other += rules_.second_size;
        }
      }
      rules_.finish(first, second, some.size(), extent_, out + (origin[1] + begin * line_out_) * out_size_, line_out_);
    }
  }

  void fold_blocks(const Elements& in, std::byte* out, Range blocks) const {
    if (even_lines_) return fold_lines(in, out, blocks);
    alignas(64) double first[fold_columns], second[fold_columns];
    outer_.each({blocks.begin / chunks_, (blocks.end + chunks_ - 1) / chunks_}, [&](std::int64_t index,
                                                                                    const StridedIterator<2>::Offsets&
                                                                                        offsets) {
      const std::int64_t begin = std::max(blocks.begin - index * chunks_, std::int64_t{0});
      const std::int64_t end = std::min(blocks.end - index * chunks_, chunks_);
      for (std::int64_t chunk = begin; chunk < end; ++chunk) {
        const Range columns = columns_of(chunk);
        fold_range(in, offsets[0] + columns.begin * column_stride_, {0, extent_.count}, columns.size(), first, second);
        rules_.finish(first, second, columns.size(), extent_,
                      out + (offsets[1] + columns.begin * column_out_) * out_size_, column_out_);
      }
    });
  }

  void* first_of(std::byte* partials, std::int64_t unit) const {
    return partials + first_at_ + static_cast<std::size_t>(unit * chunk_) * rules_.first_size;
  }
  void* second_of(std::byte* partials, std::int64_t unit) const {
    return partials + second_at_ + static_cast<std::size_t>(unit * chunk_) * rules_.second_size;
  }

  void fold_piece(const Elements& in, std::byte* partials, std::int64_t unit) const {
    alignas(64) double first[fold_columns], second[fold_columns];
    const std::int64_t block = unit / pieces_;
    const Range columns = columns_of(block % chunks_);
    const std::int64_t offset = outer_.at(block / chunks_)[0] + columns.begin * column_stride_;
    fold_range(in, offset, piece(unit % pieces_), columns.size(), first, second);
    std::memcpy(first_of(partials, unit), first, static_cast<std::size_t>(columns.size()) * rules_.first_size);
    std::memcpy(second_of(partials, unit), second, static_cast<std::size_t>(columns.size()) * rules_.second_size);
  }

  void join_blocks(std::byte* partials, std::byte* out, Range blocks) const {
    for (std::int64_t block = blocks.begin; block < blocks.end; ++block) join_pieces(partials, out, block);
  }

  void join_pieces(std::byte* partials, std::byte* out, std::int64_t block) const {
    const Range columns = columns_of(block % chunks_);
    const std::int64_t base = block * pieces_;
    for (std::int64_t at = 1; at < pieces_; ++at) {
      const Range elements = piece(at);
      rules_.join(first_of(partials, base), second_of(partials, base), elements.begin, first_of(partials, base + at),
                  second_of(partials, base + at), elements.size(), columns.size());
    }
    const std::int64_t offset = outer_.at(block / chunks_)[1] + columns.begin * column_out_;
    rules_.finish(first_of(partials, base), second_of(partials, base), columns.size(), extent_,
                  out + offset * out_size_, column_out_);
  }

  FoldLoops loops_;
  FoldRules rules_;
  FoldExtent extent_;
  std::int64_t in_size_, out_size_, results_;
  StridedIterator<2> outer_;   // kept axes but the columns
  StridedIterator<2> around_;  // folded axes but the line
  std::int64_t line_ = 1, line_stride_ = 1;
  bool in_columns_ = false;
  bool index_from_start_ = false;
  std::int64_t width_ = 1, column_stride_ = 0, column_out_ = 1;
  std::int64_t chunk_ = 1, chunks_ = 1, pieces_ = 1;
  std::int64_t group_ = 1;                  // rows that are taken as one
  std::int64_t source_rows_ = source_rows;  // a multiple of it, for groups
  bool joined_apart_ = false;
  bool even_lines_ = false;
  std::int64_t line_distance_ = 0, line_out_ = 0;  // of their elements and of their results
  TeamRequest team_;
  WorkspaceLayout layout_;
  std::size_t first_at_ = 0, second_at_ = 0;
  std::shared_ptr<const ElementSource> source_;  // null for elements in memory
  std::size_t produced_at_ = 0, produced_stride_ = 0;
};

std::shared_ptr<const core::Kernel> prepare(const core::Step& step) { return std::make_shared<ReduceKernel>(step); }

constexpr KernelEntry entries[] = {{OpId::sum, prepare},    {OpId::prod, prepare},     {OpId::mean, prepare},
                                   {OpId::var, prepare},    {OpId::min, prepare},      {OpId::max, prepare},
                                   {OpId::argmin, prepare}, {OpId::argmax, prepare},   {OpId::any, prepare},
                                   {OpId::all, prepare},    {OpId::logsumexp, prepare}};

}  // namespace

Reduction reduction_of(OpId op) {
  switch (op) {
    case OpId::sum: return {Fold::sum, Finish::value, 0.1};
    case OpId::prod: return {Fold::product, Finish::value, 0.15};
    case OpId::mean: return {Fold::sum, Finish::mean, 0.1};
    case OpId::var: return {Fold::moments, Finish::variance, 0.2};
    case OpId::min: return {Fold::minimum, Finish::value, 0.1};
    case OpId::max: return {Fold::maximum, Finish::value, 0.1};
    case OpId::argmin: return {Fold::first_minimum, Finish::index, 0.2};
    case OpId::argmax: return {Fold::first_maximum, Finish::index, 0.2};
    case OpId::any: return {Fold::any, Finish::value, 0.05};
    case OpId::all: return {Fold::all, Finish::value, 0.05};
    case OpId::logsumexp: return {Fold::exponentials, Finish::logarithm, 0.4};
    default: core::refuse_operator("cpu: reductions", op);
  }
}

std::span<const KernelEntry> reduce_kernels() { return entries; }

std::shared_ptr<const core::Kernel> prepare_reduction(const core::Step& step,
                                                      std::shared_ptr<const ElementSource> source,
                                                      const KernelChoice& choice) {
  return std::make_shared<ReduceKernel>(step, std::move(source), choice);
}

}  // namespace tyto::cpu
