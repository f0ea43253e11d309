// SPDX-License-Identifier: MIT
// Blocks go through the transposing loops of the tiles.
#include "devices/cpu/loop/loop_kernels.hpp"

#include <utility>

#include "devices/cpu/loop/interpreter/find_loop.hpp"
#include "devices/cpu/loop/interpreter/tile_loops.hpp"
#include "devices/cpu/loop/jit/row_layouts.hpp"
#include "devices/cpu/system/instruction_set.hpp"
#include "devices/cpu/system/machine.hpp"

namespace tyto::cpu {

namespace {

class TransposedRows final : public RangeProgram {
 public:
  TransposedRows(jit::RowLayouts layouts, DType type, double nanoseconds)
      : layouts_(std::move(layouts)),
        width_(size_of(type)),
        pitch_(copied_row_bytes(type, layouts_.length())),
        copy_(tile_loops(instruction_set()).transpose[width_index(type)]),
        nanoseconds_(nanoseconds) {}

  double nanoseconds() const override { return nanoseconds_; }

  void with_runner(void (*then)(void* context, RangeRunner& runner), void* context) const override {
    Runner runner(*this);
    then(context, runner);
  }

 private:
  class Runner final : public RangeRunner {
   public:
    explicit Runner(const TransposedRows& rows) : rows_(rows) {}

    void bind(std::span<const OperandBase> inputs, std::span<const OperandBase> outputs) override {
      from_ = inputs[0].start, to_ = outputs[0];
    }
    void set_first_row(std::int64_t row) override { first_row_ = row; }
    void run_rows(Range lines, std::int64_t length) override { run_columns(lines, {0, length}, length); }
    void run_columns(Range lines, Range columns, std::int64_t /*length*/) override {
      const auto offset = static_cast<std::size_t>(columns.begin) * rows_.width_;
      std::byte* to = to_.start + static_cast<std::size_t>(lines.begin - first_row_) * rows_.pitch_ + offset;
      jit::Frame frame;
      rows_.layouts_.rectangles(frame, {&from_, 1}, lines, columns, [&](const jit::Frame& each) {
        const auto rows = static_cast<std::size_t>(each.rows);
        rows_.copy_(to, rows_.pitch_ / rows_.width_, each.pointers[0].start, each.pointers[0].column, rows,
                    static_cast<std::size_t>(each.columns));
        to += rows * rows_.pitch_;
      });
    }

   private:
    const TransposedRows& rows_;
    std::byte* from_ = nullptr;
    OperandBase to_;
    std::int64_t first_row_ = 0;
  };

  jit::RowLayouts layouts_;
  std::size_t width_, pitch_;
  TransposeLoop copy_;
  double nanoseconds_;
};

}  // namespace

std::size_t copied_row_bytes(DType type, std::int64_t length) {
  constexpr std::size_t line = machine::cache_line;
  const std::size_t bytes = static_cast<std::size_t>(length) * size_of(type);
  return ((bytes + line - 1) / line | 1) * line;
}

std::shared_ptr<const RangeProgram> prepare_transposed_rows(const core::Operand& operand, std::int64_t length) {
  const auto layouts = jit::RowLayouts::of({&operand, 1}, length);
  if (!layouts || !layouts->is_transposed(0, operand.dtype)) return nullptr;
  return std::make_shared<const TransposedRows>(
      *layouts, operand.dtype, machine::transposed_element * static_cast<double>(operand.view.count()));
}

}  // namespace tyto::cpu
