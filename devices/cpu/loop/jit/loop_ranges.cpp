// SPDX-License-Identifier: MIT
// Places the operands of rows and calls the code on rectangles of them.
#include "devices/cpu/loop/loop_kernels.hpp"

#include <algorithm>
#include <array>

#include "core/loop/loop_rows.hpp"
#include "devices/cpu/loop/jit/compile.hpp"
#include "devices/cpu/loop/jit/non_temporal.hpp"
#include "devices/cpu/loop/jit/record.hpp"
#include "devices/cpu/loop/jit/row_layouts.hpp"
#include "devices/cpu/loop/jit/transposed_copies.hpp"

namespace tyto::cpu::jit {

namespace {

constexpr std::size_t most_places = 2 * most_operands;

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

/// Rows of rectangles that machine code computes where they lie.
class LoopRanges final : public RangeProgram {
 public:
  LoopRanges(RowLayouts layouts, std::size_t inputs, Compiled plain, Compiled non_temporal, double nanoseconds)
      : layouts_(std::move(layouts)),
        inputs_(inputs),
        code_(std::move(plain.code)),
        non_temporal_(std::move(non_temporal.code)),
        nanoseconds_(nanoseconds) {}

  double nanoseconds() const override { return nanoseconds_; }

  void with_runner(void (*then)(void* context, RangeRunner& runner), void* context) const override {
    Runner runner(*this);
    then(context, runner);
    if (non_temporal_ != nullptr) fence_non_temporal_stores();
  }

 private:
  class Runner final : public RangeRunner {
   public:
    explicit Runner(const LoopRanges& program) : program_(program) {}

    void bind(std::span<const OperandBase> inputs, std::span<const OperandBase> outputs) override {
      buffers_ = 0;
      for (std::size_t i = 0; i < program_.layouts_.count(); ++i) {
        const OperandBase& placed = i < program_.inputs_ ? inputs[i] : outputs[i - program_.inputs_];
        starts_[i] = placed.start;
        if (placed.row_bytes != 0) placed_[buffers_++] = {i, placed};
      }
      const bool non_temporal =
          program_.non_temporal_ != nullptr &&
          allows_non_temporal_stores({starts_.data(), program_.layouts_.count()}, program_.inputs_);
      function_ = (non_temporal ? program_.non_temporal_ : program_.code_)->entry();
    }
    void set_first_row(std::int64_t row) override {
      for (std::size_t i = 0; i < buffers_; ++i) starts_[placed_[i].operand] = placed_[i].base.beginning_with(row);
    }
    void run_rows(Range lines, std::int64_t length) override { run_columns(lines, {0, length}, length); }
    void run_columns(Range lines, Range columns, std::int64_t /*length*/) override {
      program_.layouts_.rectangles(frame_, {starts_.data(), program_.layouts_.count()}, lines, columns,
                                   [&](Frame& frame) { function_(&frame); });
    }

   private:
    struct Buffer {
      std::size_t operand;
      OperandBase base;
    };

    const LoopRanges& program_;
    std::size_t buffers_ = 0;
    std::array<Buffer, most_places> placed_;
    std::array<std::byte*, most_places> starts_;
    Function function_ = nullptr;
    Frame frame_;
  };

  RowLayouts layouts_;
  std::size_t inputs_;
  std::shared_ptr<const MachineCode> code_, non_temporal_;
  double nanoseconds_;
};

/// The same where some inputs lie across the rows.
class TransposingRanges final : public RangeProgram {
 public:
  TransposingRanges(RowLayouts layouts, std::size_t inputs, TransposedCopies transposed, const Compiled& code,
                    double nanoseconds)
      : layouts_(std::move(layouts)),
        inputs_(inputs),
        transposed_(std::move(transposed)),
        code_(code.code),
        nanoseconds_(nanoseconds) {}

  double nanoseconds() const override { return nanoseconds_; }

  void with_runner(void (*then)(void* context, RangeRunner& runner), void* context) const override {
    Runner runner(*this);
    then(context, runner);
  }

 private:
  class Runner final : public RangeRunner {
   public:
    explicit Runner(const TransposingRanges& program) : program_(program) {}

    void bind(std::span<const OperandBase> inputs, std::span<const OperandBase> outputs) override {
      for (std::size_t i = 0; i < program_.layouts_.count(); ++i) {
        starts_[i] = (i < program_.inputs_ ? inputs[i] : outputs[i - program_.inputs_]).start;
      }
    }
    void set_first_row(std::int64_t) override {}
    void run_rows(Range lines, std::int64_t length) override { run_columns(lines, {0, length}, length); }
    void run_columns(Range lines, Range columns, std::int64_t /*length*/) override {
      const TransposedCopies& transposed = program_.transposed_;
      const std::size_t count = program_.layouts_.count();
      Frame all;
      program_.layouts_.rectangles(all, {starts_.data(), count}, lines, columns, [&](const Frame&) {
        Frame part;
        for (std::int64_t row = 0; row < all.rows; row += transposed.rows()) {
          for (std::int64_t column = 0; column < all.columns; column += transposed.columns()) {
            part.rows = std::min(all.rows - row, transposed.rows());
            part.columns = std::min(all.columns - column, transposed.columns());
            std::copy_n(all.pointers, count, part.pointers);
            for (OperandPointers& each : std::span(part.pointers, count)) {
              each.start += row * each.row + column * each.column;
            }
            transposed.take(part, copies_.data());
            program_.code_->entry()(&part);
          }
        }
      });
    }

   private:
    const TransposingRanges& program_;
    std::array<std::byte*, most_places> starts_;
    alignas(machine::cache_line) std::array<std::byte, TransposedCopies::bytes> copies_;
  };

  RowLayouts layouts_;
  std::size_t inputs_;
  TransposedCopies transposed_;
  std::shared_ptr<const MachineCode> code_;
  double nanoseconds_;
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
    return std::make_shared<const TransposingRanges>(*layouts, inputs.size(), std::move(copies), code,
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
  return std::make_shared<const LoopRanges>(*layouts, inputs.size(), plain, non_temporal,
                                            nanoseconds_of(plain, operands[0].view));
}

}  // namespace tyto::cpu::jit
