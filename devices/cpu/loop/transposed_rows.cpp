// SPDX-License-Identifier: MIT
// Copies blocks of transposed rows by the interpreter's transposing loops.
#include "devices/cpu/loop/loop_kernels.hpp"

#include "devices/cpu/arithmetic/tile_loops/find_loop.hpp"
#include "devices/cpu/arithmetic/tile_loops/tile_loops.hpp"
#include "devices/cpu/loop/jit/row_layouts.hpp"
#include "devices/cpu/system/instruction_set.hpp"
#include "devices/cpu/system/machine.hpp"

namespace tyto::cpu {

namespace {

struct TransposedRows {
  jit::RowLayouts layouts;
  std::size_t width, pitch;  // bytes of an element and from row to row of the copies
  TransposeLoop copy;
};

class TransposingRunner final : public RangeRunner {
 public:
  explicit TransposingRunner(const TransposedRows& rows) : rows_(rows) {}

  void run_columns(Range lines, Range columns, std::int64_t /*length*/) override {
    const std::size_t width = rows_.width, pitch = rows_.pitch;
    std::byte* to = starts_[1] + lines.begin * static_cast<std::ptrdiff_t>(pitch) +
                    columns.begin * static_cast<std::ptrdiff_t>(width);
    jit::Frame frame;
    rows_.layouts.rectangles(frame, starts_, lines, columns, [&](const jit::Frame& each) {
      const auto rows = static_cast<std::size_t>(each.rows);
      rows_.copy(to, pitch / width, each.pointers[0].start, each.pointers[0].column, rows,
                 static_cast<std::size_t>(each.columns));
      to += rows * pitch;
    });
  }

 private:
  const TransposedRows& rows_;
};

}  // namespace

std::size_t copied_row_bytes(std::size_t element, std::int64_t length) {
  constexpr std::size_t line = machine::cache_line;
  const std::size_t bytes = static_cast<std::size_t>(length) * element;
  return ((bytes + line - 1) / line | 1) * line;
}

std::shared_ptr<const RangeProgram> prepare_transposed_rows(const core::Operand& operand, std::int64_t length) {
  const auto layouts = jit::RowLayouts::of({&operand, 1}, length);
  if (!layouts || !layouts->is_transposed(0, operand.dtype)) return nullptr;
  const TransposedRows rows{*layouts, size_of(operand.dtype), copied_row_bytes(size_of(operand.dtype), length),
                            tile_loops(instruction_set()).transpose[width_index(operand.dtype)]};
  return make_ranges<TransposingRunner>(rows, machine::transposed_element * static_cast<double>(operand.view.count()));
}

}  // namespace tyto::cpu
