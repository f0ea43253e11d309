// SPDX-License-Identifier: MIT
// Computes operand addresses of rows, and calls machine code on rectangles of them.
#include "devices/cpu/loop/loop_kernels.hpp"

#include <algorithm>
#include <array>

#include "core/loop/loop_rows.hpp"
#include "devices/cpu/loop/jit/compile.hpp"
#include "devices/cpu/loop/jit/non_temporal.hpp"
#include "devices/cpu/loop/jit/record.hpp"
#include "devices/cpu/loop/jit/row_layouts.hpp"
#include "devices/cpu/loop/jit/transposed_copies.hpp"
#include "devices/cpu/system/machine.hpp"

namespace tyto::cpu::jit {

namespace {

Compiled compile_rows(const core::LoopProgram& program, std::span<const core::Operand> operands, std::size_t inputs,
                      const RowLayouts& layouts, InstructionSet set, Variant variant = Variant::rows,
                      const std::vector<bool>& prefetched = {}, const std::vector<bool>& transposed = {}) {
  std::vector<OperandSpec> from, to;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const DType type = operands[i].dtype;
    const bool copied = i < transposed.size() && transposed[i];
    const bool every_second = i < inputs && !copied && strides_by_two(type, layouts.column(i));
    const Access access = copied ? Access::contiguous : layouts.access(i);
    (i < inputs ? from : to).push_back({type, access, i < prefetched.size() && prefetched[i], every_second});
  }
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (core::is_reduction(program, program.outputs[i])) to[i].access = Access::reduced;
  }
  return compile(program, from, to, variant, set);
}

double nanoseconds_of(const Compiled& compiled, const core::View& view) {
  return compiled.nanoseconds * static_cast<double>(view.count());
}

/// Rows of rectangles that machine code computes where they lie, or from copies of the inputs that lie across them.
struct LoopRanges {
  RowLayouts layouts;
  std::size_t inputs;
  std::shared_ptr<const MachineCode> plain, non_temporal;
  TransposedCopies transposed;

  std::size_t count() const { return layouts.count(); }
};

class LoopRunner final : public RangeRunner {
 public:
  explicit LoopRunner(const LoopRanges& loop) : loop_(loop) {}
  ~LoopRunner() {
    if (loop_.non_temporal != nullptr) fence_non_temporal_stores();
  }

  void run_columns(Range lines, Range columns, std::int64_t /*length*/) override {
    loop_.layouts.rectangles(frame_, starts_, lines, columns, [&](Frame& frame) { function_(&frame); });
  }

 private:
  void choose_by_starts() override {
    const bool non_temporal =
        loop_.non_temporal != nullptr && allows_non_temporal_stores({starts_, loop_.count()}, loop_.inputs);
    function_ = (non_temporal ? loop_.non_temporal : loop_.plain)->entry();
  }

  const LoopRanges& loop_;
  Function function_ = nullptr;
  Frame frame_;
};

class CopyingRunner final : public RangeRunner {
 public:
  explicit CopyingRunner(const LoopRanges& loop) : loop_(loop) {}

  void run_columns(Range lines, Range columns, std::int64_t /*length*/) override {
    const TransposedCopies& transposed = loop_.transposed;
    Frame all;
    loop_.layouts.rectangles(all, starts_, lines, columns, [&](const Frame&) {
      Frame part;
      for (std::int64_t row = 0; row < all.rows; row += transposed.rows()) {
        for (std::int64_t column = 0; column < all.columns; column += transposed.columns()) {
          part.rows = std::min(all.rows - row, transposed.rows());
          part.columns = std::min(all.columns - column, transposed.columns());
          std::copy_n(all.pointers, loop_.count(), part.pointers);
          for (OperandPointers& each : std::span(part.pointers, loop_.count())) {
            each.start += row * each.row + column * each.column;
          }
          transposed.take(part, copies_.data());
          loop_.plain->entry()(&part);
        }
      }
    });
  }

 private:
  const LoopRanges& loop_;
  alignas(machine::cache_line) std::array<std::byte, TransposedCopies::bytes> copies_;
};

}  // namespace

std::shared_ptr<const RangeProgram> prepare_loop_ranges(const core::BoundLoop& bound, std::int64_t length,
                                                        const RangePolicy& policy, InstructionSet set) {
  const core::LoopProgram& program = bound.loop.program;
  const std::span<const core::Operand> inputs = bound.inputs, outputs = bound.outputs;
  const bool reduces = core::has_reductions(program);
  std::vector<core::Operand> operands(inputs.begin(), inputs.end());
  operands.insert(operands.end(), outputs.begin(), outputs.end());
  const auto layouts = RowLayouts::of(operands, length);
  if (!layouts || (length == 1 && reduces)) return nullptr;
  if (!policy.transposed.empty()) {
    TransposedCopies copies;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (policy.transposed[i]) copies.add(i, inputs[i].dtype, set);
    }
    copies.cut(length);
    const Compiled code =
        compile_rows(program, operands, inputs.size(), *layouts, set, Variant::rows, {}, policy.transposed);
    if (code.code == nullptr) return nullptr;
    return make_ranges<CopyingRunner>(LoopRanges{*layouts, inputs.size(), code.code, nullptr, std::move(copies)},
                                      nanoseconds_of(code, operands[0].view));
  }
  Compiled plain = compile_rows(program, operands, inputs.size(), *layouts, set);
  if (plain.code == nullptr) return nullptr;
  const bool only_reduces =
      std::ranges::all_of(program.outputs, [&](auto v) { return core::is_reduction(program, v); });
  const bool profits = only_reduces || plain.cycles >= shortest_prefetched;
  const bool prefetches = !policy.prefetched.empty() && profits;
  const std::vector<bool> prefetched = prefetches ? policy.prefetched : std::vector<bool>();
  if (prefetches) plain = compile_rows(program, operands, inputs.size(), *layouts, set, Variant::rows, prefetched);
  Compiled non_temporal;
  bool whole_vectors = !reduces && length >= shortest_non_temporal_row;
  double read = 0, written = 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (layouts->access(i) == Access::broadcast) continue;
    (i < inputs.size() ? read : written) += static_cast<double>(size_of(operands[i].dtype));
  }
  for (const core::Operand& output : outputs) {
    whole_vectors = whole_vectors && size_of(output.dtype) >= 4 && size_of(output.dtype) == size_of(outputs[0].dtype);
  }
  if (policy.non_temporal && whole_vectors && waits_for_memory(plain.nanoseconds, read, written)) {
    non_temporal = compile_rows(program, operands, inputs.size(), *layouts, set, Variant::non_temporal, prefetched);
  }
  return make_ranges<LoopRunner>(LoopRanges{*layouts, inputs.size(), plain.code, non_temporal.code, {}},
                                 nanoseconds_of(plain, operands[0].view));
}

}  // namespace tyto::cpu::jit
