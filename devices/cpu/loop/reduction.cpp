// SPDX-License-Identifier: MIT
// Reductions: the inner loops run through the elements in their order, shared out over threads by blocks and pieces.
#include "devices/cpu/loop/reduction.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "core/graph/op_ids.hpp"
#include "devices/cpu/device/workspace.hpp"
#include "devices/cpu/moves/strided_copy.hpp"
#include "devices/cpu/system/machine.hpp"

namespace tyto::cpu {

namespace {

using core::OpId;

class ReduceKernel final : public core::Kernel {
 public:
  explicit ReduceKernel(const core::Step& step, std::shared_ptr<const ElementSource> source = nullptr,
                        const KernelChoice& choice = {})
      : source_(std::move(source)),
        loops_(fold_loops(reduction_of(step.op).fold, step.inputs[0].dtype)),
        traversal_(step, {.ordered = reduction_of(step.op).finish == Finish::index,
                          .computed = source_ != nullptr,
                          .sums_lines = source_ != nullptr && source_->sums(),
                          .register_width = loops_.register_width}) {
    const core::Operand& x = step.inputs[0];
    const core::Operand& y = step.outputs[0];
    const Reduction reduction = reduction_of(step.op);
    rules_ = fold_rules(reduction.fold, reduction.finish, x.dtype, y.dtype);
    out_size_ = static_cast<std::int64_t>(size_of(y.dtype));
    results_ = y.view.count();
    reserve_partials();
    const double nanoseconds = static_cast<double>(traversal_.extent.count) * static_cast<double>(results_) *
                               reduction.operations / machine::vector_operations *
                               std::max(1.0, static_cast<double>(traversal_.element_bytes) / 4);
    const bool divides = traversal_.blocks() * traversal_.pieces > 1;
    if (divides && choice.threads > 0) team_.count = choice.threads;
    else if (divides) team_ = team_for(nanoseconds + (source_ == nullptr ? 0 : source_->nanoseconds()));
    if (source_ == nullptr) return;
    constexpr std::int64_t largest_part = 8 * source_part;
    part_ = std::clamp((source_->at_once() + source_part - 1) / source_part * source_part, source_part, largest_part);
    // One part of a line, or the rows that are folded together.
    const std::int64_t across = traversal_.group > 1 ? traversal_.group * traversal_.width : traversal_.chunk;
    const auto bytes =
        static_cast<std::size_t>(std::max(part_, traversal_.source_rows * across) * traversal_.element_bytes);
    if (bytes <= own_buffer) return;
    produced_at_ = layout_.reserve_each(static_cast<std::size_t>(team_.count), bytes, produced_stride_);
  }

  std::size_t workspace() const override { return layout_.bytes(); }

  void launch(Addresses inputs, Addresses outputs, core::Address workspace) const override {
    if (results_ == 0) return;
    std::byte* out = outputs[0].pointer();
    std::byte* partials = traversal_.pieces > 1 ? workspace.pointer() : nullptr;
    const std::int64_t blocks = traversal_.blocks();
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
      if (traversal_.pieces == 1) {
        fold_blocks(in, out, share(blocks, team.member, team.size));
        return;
      }
      const Range mine = share(blocks * traversal_.pieces, team.member, team.size);
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
  /// part_ is a multiple of this, which itself is a multiple of as many elements as any loop adds up before it adds to
  /// the partial result, so that parts give the bits of the whole.
  static constexpr std::int64_t source_part = 4096;
  /// Bytes for computed elements in a thread's own frame; more than that is planned as workspace.
  static constexpr std::size_t own_buffer = machine::first_level_cache;

  /// Where elements come from: memory, or the source, through a buffer.
  struct Elements {
    const std::byte* memory;
    Addresses inputs;
    std::byte* buffer;
  };

  void reserve_partials() {
    if (traversal_.pieces == 1) return;
    const auto partials = static_cast<std::size_t>(traversal_.blocks() * traversal_.pieces * traversal_.chunk);
    constexpr std::size_t few_partials = 512;  // joined in less time than threads take to meet
    joined_apart_ = partials <= few_partials;
    first_at_ = layout_.reserve(partials * rules_.first_size);
    second_at_ = layout_.reserve(partials * rules_.second_size);
  }

  /// Folds rows, `step` apart, of `width` columns. Columns that lie apart are folded from dense copies of as many rows
  /// as the loops add up before they round, so that a copy changes no bits.
  void fold_columns_of(const std::byte* from, std::int64_t count, std::int64_t step, std::int64_t width, void* first,
                       void* second, std::int64_t before) const {
    if (traversal_.column_stride == 1) return loops_.columns(from, count, step, width, first, second, before);
    alignas(64) std::byte copy[own_buffer];
    CopyBlock block{std::min(count, FoldTraversal::rows_at_once), 0, step, traversal_.column_stride, 0, 1};
    const std::int64_t most =
        static_cast<std::int64_t>(own_buffer) / (std::max<std::int64_t>(block.rows, 1) * traversal_.element_bytes);
    for (std::int64_t column = 0; column < width; column += block.columns) {
      block.to_row = block.columns = std::min(width - column, most);
      for (std::int64_t row = 0; row < count; row += block.rows) {
        block.rows = std::min(count - row, FoldTraversal::rows_at_once);
        const CopyFunction copies = copy_function(block, static_cast<std::size_t>(traversal_.element_bytes));
        copies(from + (row * step + column * traversal_.column_stride) * traversal_.element_bytes, copy, block);
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
    if (traversal_.group > 1 && elements.size() >= 4 * traversal_.group)
      return fold_groups(in, origin, elements, width, first, second);
    rules_.start(first, second, width);
    if (source_ != nullptr) return fold_produced(in, origin, elements, width, first, second);
    for (std::int64_t at = elements.begin; at < elements.end;) {
      const std::int64_t within = at % traversal_.line;
      const std::int64_t count = std::min(traversal_.line - within, elements.end - at);
      const std::byte* from =
          in.memory + (origin + traversal_.around.at(at / traversal_.line)[0] + within * traversal_.line_stride) *
                          traversal_.element_bytes;
      const std::int64_t before = traversal_.index_from_start ? at : at - elements.begin;
      if (traversal_.in_columns) {
        fold_columns_of(from, count, traversal_.line_stride, width, first, second, before);
      } else {
        loops_.line(from, count, traversal_.line_stride, first, second, before);
      }
      at += count;
    }
  }

  /// The same of elements that are computed. They make a dense tensor, of which the folded axes are one.
  void fold_produced(const Elements& in, std::int64_t origin, Range elements, std::int64_t width, void* first,
                     void* second) const {
    const auto produce = [&](std::int64_t begin, std::int64_t count, std::int64_t at) {
      source_->produce(in.inputs, {begin, begin + count}, in.buffer + at * traversal_.element_bytes);
    };
    if (!traversal_.in_columns && source_->sums()) {
      source_->sum(in.inputs, {origin + elements.begin, origin + elements.end}, static_cast<double*>(first));
      return;
    }
    if (!traversal_.in_columns) {
      for (std::int64_t at = elements.begin; at < elements.end; at += part_) {
        const std::int64_t count = std::min(part_, elements.end - at);
        produce(origin + at, count, 0);
        loops_.line(in.buffer, count, 1, first, second, at - elements.begin);
      }
      return;
    }
    if (traversal_.line_stride == 1) {  // short lines side by side, folded as columns
      produce(origin, width * traversal_.column_stride, 0);
      fold_columns_of(in.buffer + elements.begin * traversal_.element_bytes, elements.size(), 1, width, first, second,
                      0);
      return;
    }
    for (std::int64_t at = elements.begin; at < elements.end; at += FoldTraversal::rows_at_once) {
      const std::int64_t rows = std::min(FoldTraversal::rows_at_once, elements.end - at);
      std::int64_t step = width;
      if (width == traversal_.line_stride) {
        produce(origin + at * traversal_.line_stride, rows * width, 0);
      } else {
        step = source_->produce_parts(in.inputs, origin + at * traversal_.line_stride, traversal_.line_stride, rows,
                                      width, in.buffer);
      }
      loops_.columns(in.buffer, rows, step, width, first, second, at - elements.begin);
    }
  }

  void fold_groups(const Elements& in, std::int64_t origin, Range elements, std::int64_t width, void* first,
                   void* second) const {
    const std::int64_t rows = elements.size() / traversal_.group, rest = elements.size() % traversal_.group;
    const std::int64_t begin = origin + elements.begin * traversal_.line_stride,
                       row_size = traversal_.line_stride * traversal_.group;
    rules_.start(first, second, width * traversal_.group);
    if (source_ == nullptr) {
      const std::byte* from = in.memory + begin * traversal_.element_bytes;
      fold_columns_of(from, rows, row_size, width * traversal_.group, first, second, 0);
      from += rows * row_size * traversal_.element_bytes;
      fold_columns_of(from, rest, traversal_.line_stride, width, first, second, rows);
    } else {
      const auto fold = [&](std::int64_t at, std::int64_t count, std::int64_t step, std::int64_t before) {
        source_->produce(in.inputs, {begin + at, begin + at + count * step}, in.buffer);
        loops_.columns(in.buffer, count, step, step, first, second, before);
      };
      for (std::int64_t row = 0; row < rows; row += traversal_.source_rows) {
        fold(row * row_size, std::min(traversal_.source_rows, rows - row), row_size, row);
      }
      fold(rows * row_size, rest, width, rows);
    }
    const auto part = [&](void* partials, std::size_t size, std::int64_t group) {
      return static_cast<std::byte*>(partials) + static_cast<std::size_t>(group * width) * size;
    };
    for (std::int64_t group = 1; group < traversal_.group; ++group) {
      rules_.join(first, second, group * rows + rest, part(first, rules_.first_size, group),
                  part(second, rules_.second_size, group), rows, width);
    }
  }

  void fold_lines(const Elements& in, std::byte* out, Range lines) const {
    constexpr std::int64_t at_once = 64;
    alignas(64) double first[at_once], second[at_once];
    const StridedIterator<2>::Offsets origin = traversal_.outer.at(0);
    for (std::int64_t begin = lines.begin; begin < lines.end; begin += at_once) {
      const Range some{begin, std::min(begin + at_once, lines.end)};
      rules_.start(first, second, some.size());
      if (source_ != nullptr) {
        source_->sum_lines(in.inputs, some, first);
      } else if (traversal_.line != 0) {
        const std::byte* from = in.memory + (origin[0] + begin * traversal_.line_distance) * traversal_.element_bytes;
        auto* one = reinterpret_cast<std::byte*>(first);
        auto* other = reinterpret_cast<std::byte*>(second);
        for (std::int64_t line = some.begin; line < some.end;
             ++line, from += traversal_.line_distance * traversal_.element_bytes) {
          loops_.line(from, traversal_.line, traversal_.line_stride, one, other, 0);
          one += rules_.first_size;
          other += rules_.second_size;
        }
      }
      rules_.finish(first, second, some.size(), traversal_.extent,
                    out + (origin[1] + begin * traversal_.line_out) * out_size_, traversal_.line_out);
    }
  }

  void fold_blocks(const Elements& in, std::byte* out, Range blocks) const {
    if (traversal_.even_lines) return fold_lines(in, out, blocks);
    alignas(64) double first[fold_columns], second[fold_columns];
    const auto fold_chunks = [&](std::int64_t index, const StridedIterator<2>::Offsets& offsets) {
      const std::int64_t begin = std::max(blocks.begin - index * traversal_.chunks, std::int64_t{0});
      const std::int64_t end = std::min(blocks.end - index * traversal_.chunks, traversal_.chunks);
      for (std::int64_t chunk = begin; chunk < end; ++chunk) {
        const Range columns = traversal_.columns_of(chunk);
        fold_range(in, offsets[0] + columns.begin * traversal_.column_stride, {0, traversal_.extent.count},
                   columns.size(), first, second);
        rules_.finish(first, second, columns.size(), traversal_.extent,
                      out + (offsets[1] + columns.begin * traversal_.column_out) * out_size_, traversal_.column_out);
      }
    };
    traversal_.outer.each({blocks.begin / traversal_.chunks, (blocks.end + traversal_.chunks - 1) / traversal_.chunks},
                          fold_chunks);
  }

  void* first_of(std::byte* partials, std::int64_t unit) const {
    return partials + first_at_ + static_cast<std::size_t>(unit * traversal_.chunk) * rules_.first_size;
  }
  void* second_of(std::byte* partials, std::int64_t unit) const {
    return partials + second_at_ + static_cast<std::size_t>(unit * traversal_.chunk) * rules_.second_size;
  }

  void fold_piece(const Elements& in, std::byte* partials, std::int64_t unit) const {
    alignas(64) double first[fold_columns], second[fold_columns];
    const std::int64_t block = unit / traversal_.pieces;
    const Range columns = traversal_.columns_of(block % traversal_.chunks);
    const std::int64_t offset =
        traversal_.outer.at(block / traversal_.chunks)[0] + columns.begin * traversal_.column_stride;
    fold_range(in, offset, traversal_.piece(unit % traversal_.pieces), columns.size(), first, second);
    std::memcpy(first_of(partials, unit), first, static_cast<std::size_t>(columns.size()) * rules_.first_size);
    std::memcpy(second_of(partials, unit), second, static_cast<std::size_t>(columns.size()) * rules_.second_size);
  }

  void join_blocks(std::byte* partials, std::byte* out, Range blocks) const {
    for (std::int64_t block = blocks.begin; block < blocks.end; ++block) join_pieces(partials, out, block);
  }

  void join_pieces(std::byte* partials, std::byte* out, std::int64_t block) const {
    const Range columns = traversal_.columns_of(block % traversal_.chunks);
    const std::int64_t base = block * traversal_.pieces;
    for (std::int64_t at = 1; at < traversal_.pieces; ++at) {
      const Range elements = traversal_.piece(at);
      rules_.join(first_of(partials, base), second_of(partials, base), elements.begin, first_of(partials, base + at),
                  second_of(partials, base + at), elements.size(), columns.size());
    }
    const std::int64_t offset =
        traversal_.outer.at(block / traversal_.chunks)[1] + columns.begin * traversal_.column_out;
    rules_.finish(first_of(partials, base), second_of(partials, base), columns.size(), traversal_.extent,
                  out + offset * out_size_, traversal_.column_out);
  }

  std::shared_ptr<const ElementSource> source_;  // null for elements in memory
  FoldLoops loops_;
  FoldTraversal traversal_;
  FoldRules rules_;
  std::int64_t out_size_, results_;
  std::int64_t part_ = source_part;  // elements of a line computed at once
  bool joined_apart_ = false;
  TeamRequest team_;
  WorkspaceLayout layout_;
  std::size_t first_at_ = 0, second_at_ = 0;
  std::size_t produced_at_ = 0, produced_stride_ = 0;
};

constexpr auto prepare_reduce = [](const core::Step& step) { return prepare_reduction(step); };

constexpr KernelEntry reductions[] = {
    {OpId::sum, prepare_reduce},    {OpId::prod, prepare_reduce},     {OpId::mean, prepare_reduce},
    {OpId::var, prepare_reduce},    {OpId::min, prepare_reduce},      {OpId::max, prepare_reduce},
    {OpId::argmin, prepare_reduce}, {OpId::argmax, prepare_reduce},   {OpId::any, prepare_reduce},
    {OpId::all, prepare_reduce},    {OpId::logsumexp, prepare_reduce}};

}  // namespace

Reduction reduction_of(OpId op) {
  switch (op) {
    case OpId::sum: return {Fold::sum, Finish::value, 1};
    case OpId::prod: return {Fold::product, Finish::value, 1.5};
    case OpId::mean: return {Fold::sum, Finish::mean, 1};
    case OpId::var: return {Fold::moments, Finish::variance, 2};
    case OpId::min: return {Fold::minimum, Finish::value, 1};
    case OpId::max: return {Fold::maximum, Finish::value, 1};
    case OpId::argmin: return {Fold::first_minimum, Finish::index, 2};
    case OpId::argmax: return {Fold::first_maximum, Finish::index, 2};
    case OpId::any: return {Fold::any, Finish::value, 0.5};
    case OpId::all: return {Fold::all, Finish::value, 0.5};
    case OpId::logsumexp: return {Fold::exponentials, Finish::logarithm, 4};
    default: core::refuse_operator("cpu: reductions", op);
  }
}

std::span<const KernelEntry> reduce_kernels() { return reductions; }

KernelRef prepare_reduction(const core::Step& step, std::shared_ptr<const ElementSource> source,
                            const KernelChoice& choice) {
  return std::make_shared<ReduceKernel>(step, std::move(source), choice);
}

}  // namespace tyto::cpu
