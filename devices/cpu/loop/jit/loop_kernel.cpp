// SPDX-License-Identifier: MIT
// Cuts a shape into rectangles, distributes them over threads, and calls the code on each.
#include "devices/cpu/loop/loop_kernels.hpp"

#include <algorithm>
#include <array>

#include "devices/cpu/device/kernels.hpp"
#include "devices/cpu/loop/jit/compile.hpp"
#include "devices/cpu/loop/jit/non_temporal.hpp"
#include "devices/cpu/loop/jit/row_layouts.hpp"
#include "devices/cpu/loop/jit/transposed_copies.hpp"
#include "devices/cpu/loop/loop_geometry.hpp"
#include "devices/cpu/system/machine.hpp"
#include "devices/cpu/system/threads.hpp"

namespace tyto::cpu::jit {

namespace {

/// Elements of a rectangle that threads share out: long enough that a call counts for nothing.
constexpr std::int64_t rectangle_elements = 16384;
constexpr std::int64_t shortest_rectangle = 1024, grain = 64;
constexpr std::int64_t crossed_columns = 64, crossed_rows = 256;

class LoopKernel final : public core::Kernel {
 public:
  LoopKernel(LoopGeometry geometry, std::size_t inputs, Compiled plain, Compiled non_temporal, double bytes,
             int threads, TransposedCopies transposed)
      : geometry_(std::move(geometry)),
        inputs_(inputs),
        plain_(std::move(plain.code)),
        non_temporal_(std::move(non_temporal.code)),
        transposed_(std::move(transposed)) {
    const double nanoseconds =
        std::max(static_cast<double>(geometry_.elements) * plain.nanoseconds, machine::nanoseconds_to_move(bytes));
    team_ = threads > 0 ? TeamRequest{threads} : team_for(nanoseconds);
    if (!transposed_.empty()) {
      take_blocks_to_transpose();
    } else if (geometry_.crossed) {
      block_columns_ = std::min(geometry_.columns, crossed_columns);
      block_rows_ = std::min(geometry_.rows, crossed_rows);
    } else {
      // Short work has a rectangle for each thread all the same.
      const std::int64_t each = std::max(geometry_.elements / team_.count, shortest_rectangle);
      const std::int64_t elements = std::min(rectangle_elements, (each + grain - 1) / grain * grain);
      block_columns_ = std::min(geometry_.columns, elements);
      // Equally high ones: a rest would be another rectangle, which one thread would have more than the others.
      const std::int64_t wanted = (geometry_.rows * block_columns_ + elements / 2) / elements;
      const std::int64_t rectangles = std::max<std::int64_t>(wanted, 1);
      block_rows_ = std::max<std::int64_t>((geometry_.rows + rectangles - 1) / rectangles, 1);
    }
    column_blocks_ = (geometry_.columns + block_columns_ - 1) / block_columns_;
    row_blocks_ = (geometry_.rows + block_rows_ - 1) / block_rows_;
  }

  void launch(Addresses inputs, Addresses outputs, core::Address) const override {
    const std::int64_t blocks = column_blocks_ * row_blocks_ * geometry_.outer_count;
    if (blocks == 1 && transposed_.empty()) return run_whole(inputs, outputs);
    if (team_.count == 1) return run_blocks(inputs, outputs, {0, blocks});
    run_team(team_, [&](Team team) {
      const Range mine = share(blocks, team.member, team.size);
      if (mine.size() > 0) run_blocks(inputs, outputs, mine);
    });
  }

  /// Where all elements are one row, launches can be rows of one run of the code: each row begins when the one before
  /// has been written.
  bool repeats(bool stops) const override {
    const bool is_row = geometry_.elements == geometry_.columns && column_blocks_ == 1 && transposed_.empty();
    return is_row && (!stops || geometry_.elements == 1);
  }
  std::int64_t repeat(Addresses operands, const core::Repetition& repetition) const override {
    Frame frame;
    frame.rows = repetition.launches;
    frame.columns = geometry_.columns;
    frame.goes_on = repetition.goes_on != nullptr ? repetition.goes_on : &always;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      frame.pointers[i] = {operands[i].pointer() + geometry_.layouts[i].start, repetition.strides[i],
                           geometry_.layouts[i].column, nullptr};
    }
    plain_->entry()(&frame);
    return repetition.launches - frame.rows;
  }

 private:
  static constexpr std::size_t most_places = 2 * most_operands;
  static constexpr std::byte always{1};

  /// The only rectangle: what precedes the call counts for small tensors.
  void run_whole(Addresses inputs, Addresses outputs) const {
    Frame frame;
    frame.rows = geometry_.rows;
    frame.columns = geometry_.columns;
    OperandPointers* to = frame.pointers;
    for (std::size_t i = 0; i < geometry_.layouts.size(); ++i) {
      const OperandLayout& layout = geometry_.layouts[i];
      const core::Address& address = i < inputs_ ? inputs[i] : outputs[i - inputs_];
      to->start = address.pointer() + layout.start;
      to->row = layout.row;
      to->column = layout.column;
      ++to;
    }
    plain_->entry()(&frame);
  }

  void take_blocks_to_transpose() {
    transposed_.cut(geometry_.columns);
    block_columns_ = transposed_.columns();
    // Few blocks in a number that threads can share, as far as whole squares allow.
    const std::int64_t most_rows = transposed_.rows(), beside = transposed_.across() * geometry_.outer_count;
    std::int64_t blocks = (geometry_.rows + most_rows - 1) / most_rows;
    while (blocks * beside < 8 * team_.count && blocks * beside % team_.count != 0) ++blocks;
    block_rows_ = std::min(most_rows, ((geometry_.rows + blocks - 1) / blocks + 15) / 16 * 16);
    block_rows_ = std::min(block_rows_, geometry_.rows);
  }

  void run_blocks(Addresses inputs, Addresses outputs, Range blocks) const {
    if (transposed_.empty()) return run(inputs, outputs, blocks, nullptr);
    run_transposing(inputs, outputs, blocks);
  }

  /// Apart, so that other launches have no such frame.
  [[gnu::noinline]] void run_transposing(Addresses inputs, Addresses outputs, Range blocks) const {
    alignas(machine::cache_line) std::array<std::byte, TransposedCopies::bytes> copies;
    run(inputs, outputs, blocks, copies.data());
  }

  /// `copies`: where the rectangles of transposed operands are copied to.
  void run(Addresses inputs, Addresses outputs, Range blocks, std::byte* copies) const {
    const std::size_t count = geometry_.layouts.size();
    std::array<std::byte*, most_places> starts, first;
    for (std::size_t i = 0; i < count; ++i) {
      starts[i] = (i < inputs_ ? inputs[i] : outputs[i - inputs_]).pointer();
      first[i] = starts[i] + geometry_.layouts[i].start;
    }
    const bool non_temporal = non_temporal_ != nullptr && allows_non_temporal_stores({first.data(), count}, inputs_);
    const Function function = non_temporal ? non_temporal_->entry() : plain_->entry();
    const auto first_row = [&](std::int64_t row_block) {
      return row_block / row_blocks_ * geometry_.rows + row_block % row_blocks_ * block_rows_;
    };
    Frame frame;
    for (std::int64_t block = blocks.begin, taken; block < blocks.end; block += taken) {
      const std::int64_t column_block = block % column_blocks_, left = blocks.end - block;
      // Neighbouring blocks that make one rectangle are one.
      taken = geometry_.crossed ? 1 : column_blocks_ == 1 ? left : std::min(left, column_blocks_ - column_block);
      const Range rows{first_row(block / column_blocks_), first_row((block + taken - 1) / column_blocks_ + 1)};
      const Range columns{column_block * block_columns_,
                          std::min((column_block + taken) * block_columns_, geometry_.columns)};
      each_rectangle(geometry_, false, frame, starts, rows, columns, [&](Frame& each) {
        transposed_.take(each, copies);
        function(&each);
      });
    }
    if (non_temporal) fence_non_temporal_stores();
  }

  LoopGeometry geometry_;
  std::size_t inputs_;
  std::shared_ptr<const MachineCode> plain_, non_temporal_;
  TransposedCopies transposed_;
  std::int64_t block_columns_ = 1, block_rows_ = 1, column_blocks_ = 1, row_blocks_ = 1;
  TeamRequest team_;
};

/// Which part of complex numbers one of a loop's inputs or outputs is: two in a row are of one operand of its step.
Part part_of(const std::vector<std::size_t>& operand_of, std::size_t i) {
  if (i + 1 < operand_of.size() && operand_of[i] == operand_of[i + 1]) return Part::real;
  return i > 0 && i < operand_of.size() && operand_of[i] == operand_of[i - 1] ? Part::imaginary : Part::whole;
}

/// Whether the memory behind the elements of a row is read soon.
bool runs_on(const LoopGeometry& geometry, std::size_t operand) {
  return geometry.elements == geometry.columns || geometry.layouts[operand].row != 0;
}

/// Whether non-temporal stores pay: results outgrow the caches, and all rows of all results lie alike.
bool profits_from_non_temporal_stores(const LoopGeometry& geometry, std::span<const core::Operand> outputs,
                                      std::span<const OperandSpec> specs) {
  const std::size_t first = geometry.layouts.size() - outputs.size();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const OperandLayout &layout = geometry.layouts[first + i], &leader = geometry.layouts[first];
    if (!outgrows_caches(outputs[i]) || specs[i].access != Access::contiguous) return false;
    if (size_of(specs[i].stored) < 4 || size_of(specs[i].stored) != size_of(specs[0].stored)) return false;
    if (layout.row != leader.row || layout.outer != leader.outer) return false;
  }
  return geometry.columns >= shortest_non_temporal_row;
}

}  // namespace

KernelRef prepare_loop(const core::BoundLoop& bound, const KernelChoice& choice) {
  const core::LoopProgram& program = bound.loop.program;
  const std::span<const core::Operand> inputs = bound.inputs, outputs = bound.outputs;
  LoopGeometry geometry = loop_geometry(order_axes(inputs, outputs), 2);
  if (geometry.elements == 0) return no_work();
  std::vector<OperandSpec> from, to;
  TransposedCopies transposed;
  std::vector<bool> across;      // inputs that run along the rows' axis
  double read = 0, written = 0;  // bytes an element
  for (std::size_t i = 0; i < geometry.layouts.size(); ++i) {
    const DType type = i < inputs.size() ? inputs[i].dtype : outputs[i - inputs.size()].dtype;
    const bool is_input = i < inputs.size();
    const OperandLayout& layout = geometry.layouts[i];
    const Access as_stored = access_of(layout.column, geometry.columns, type);
    across.push_back(is_input && geometry.crossed && lies_across(layout, as_stored, type));
    const bool copied = across[i] && transposed.has_room();
    const Access access = copied ? Access::contiguous : as_stored;
    if (copied) transposed.add(i, type, choice.set());
    const Part part = is_input ? part_of(bound.input_of, i) : part_of(bound.output_of, i - inputs.size());
    const bool every_second = !copied && strides_by_two(type, layout.column) && (is_input || part != Part::whole);
    (is_input ? from : to).push_back({type, access, false, every_second, part});
    if (access != Access::broadcast) (is_input ? read : written) += static_cast<double>(size_of(type));
  }
  const double bytes = (read + written) * static_cast<double>(geometry.elements);
  const bool single = geometry.elements == 1;
  Compiled plain = compile(program, from, to, single ? Variant::single : Variant::rows, choice.set());
  if (plain.code == nullptr) return nullptr;
  for (std::size_t i = 0; machine::come_from_memory(bytes) && i < from.size(); ++i) {
    from[i].prefetched = runs_on(geometry, i) && !across[i];
  }
  if (machine::come_from_memory(bytes) && plain.cycles >= shortest_prefetched) {
    if (Compiled prefetching = compile(program, from, to, Variant::rows, choice.set()); prefetching.code != nullptr)
      plain = std::move(prefetching);
  }
  Compiled non_temporal;
  if (waits_for_memory(plain.nanoseconds, read, written) && profits_from_non_temporal_stores(geometry, outputs, to))
    non_temporal = compile(program, from, to, Variant::non_temporal, choice.set());
  return std::make_shared<const LoopKernel>(std::move(geometry), inputs.size(), plain, non_temporal, bytes,
                                            choice.threads, std::move(transposed));
}

}  // namespace tyto::cpu::jit
