// SPDX-License-Identifier: MIT
// Cuts a range of elements into the lines that a range program computes.
#include "devices/cpu/loop/element_source.hpp"

#include <algorithm>
#include <array>

#include "core/graph/op_ids.hpp"
#include "devices/cpu/loop/jit/row_layouts.hpp"

namespace tyto::cpu {

namespace {

/// Calls body(runner) with the program's operands in their places.
template <class Body>
void run(const RangeProgram& program, Addresses inputs, std::byte* output, const Body& body) {
  program.with_runner([&](RangeRunner& runner) {
    std::array<OperandBase, most_operands> from;
    std::ranges::transform(inputs, from.begin(), [](const core::Address& each) { return OperandBase(each.pointer()); });
    const OperandBase to(output);
    runner.bind({from.data(), inputs.size()}, {&to, 1});
    body(runner);
  });
}

/// Where element or line 0 would lie if the memory began with this one, so many bytes each.
std::byte* before(void* memory, std::int64_t first, std::size_t bytes) {
  return OperandBase(static_cast<std::byte*>(memory), bytes).beginning_with(first);
}

}  // namespace

void ElementSource::produce(Addresses inputs, Range elements, std::byte* to) const {
  if (elements.size() <= 0) return;
  run(*elements_, inputs, before(to, elements.begin, width_), [&](RangeRunner& runner) {
    std::int64_t at = elements.begin;
    const auto part = [&](Range columns) {
      runner.run_columns({at / length_, at / length_ + 1}, columns, length_);
      at += columns.size();
    };
    if (const std::int64_t column = at % length_; column != 0 || elements.size() < length_)
      part({column, std::min(length_, column + elements.size())});
    if (const Range whole{at / length_, elements.end / length_}; whole.size() > 0) {
      runner.run_rows(whole, length_);
      at = whole.end * length_;
    }
    if (at < elements.end) part({0, elements.end - at});
  });
}

void ElementSource::sum(Addresses inputs, Range elements, double* sum) const {
  const std::int64_t line = elements.begin / summed_, first = line * summed_;
  double total = 0;
  run(*sums_, inputs, before(&total, line, sizeof total), [&](RangeRunner& runner) {
    runner.run_columns({line, line + 1}, {elements.begin - first, elements.end - first}, summed_);
  });
  *sum += total;
}

void ElementSource::sum_lines(Addresses inputs, Range lines, double* sums) const {
  run(*sums_, inputs, before(sums, lines.begin, sizeof *sums),
      [&](RangeRunner& runner) { runner.run_rows(lines, summed_); });
}

std::shared_ptr<const ElementSource> prepare_source(const core::BoundLoop& bound, std::int64_t summed,
                                                    const KernelChoice& choice) {
  const core::Operand& output = bound.outputs[0];
  std::vector<core::Operand> operands = bound.inputs;
  operands.push_back(output);
  const std::int64_t length = jit::RowLayouts::longest(operands).length();
  std::shared_ptr<const RangeProgram> sums;
  if (summed > 1) {
    const Shape& shape = output.view.shape;
    core::LoopProgram program = bound.loop.program;
    program.instructions.push_back({core::OpId::sum, DType::f64, {program.outputs[0]}});
    program.outputs = {static_cast<core::LoopValue>(program.values() - 1)};
    // One result a line: any element of a line lies where it does.
    core::View lines = core::View::dense(shape);
    std::int64_t inside = 1;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      lines.strides[axis] = inside < summed ? 0 : lines.strides[axis] / summed;
      inside *= shape[axis];
    }
    sums = prepare_ranges(bound_loop(std::move(program), bound.inputs, {{DType::f64, lines}}), summed, {}, choice);
  }
  return std::make_shared<const ElementSource>(prepare_ranges(bound, length, {}, choice), length, size_of(output.dtype),
                                               std::move(sums), summed);
}

}  // namespace tyto::cpu
