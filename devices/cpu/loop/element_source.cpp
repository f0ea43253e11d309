// SPDX-License-Identifier: MIT
// Cuts a range of elements into the lines that a range program computes.
#include "devices/cpu/loop/element_source.hpp"

#include <algorithm>
#include <array>

#include "core/graph/op_ids.hpp"
#include "devices/cpu/loop/jit/row_layouts.hpp"
#include "devices/cpu/loop/jit/transposed_copies.hpp"
#include "devices/cpu/reduce/fold_traversal.hpp"
#include "devices/cpu/system/machine.hpp"

namespace tyto::cpu {

namespace {

/// Least number of lines at which copying operands that run across the lines saves time.
constexpr std::int64_t least_lines = 4;
/// Shorter lines are gathered.
constexpr std::int64_t shortest_copied = 64;

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
  const Range lines{(elements.begin + length_ - 1) / length_, elements.end / length_};
  if (programs_.across != nullptr && lines.size() >= least_lines) {
    const std::int64_t begin = lines.begin * length_, end = lines.end * length_;
    const auto behind = [&](std::int64_t at) { return to + static_cast<std::size_t>(at - elements.begin) * width_; };
    produce(inputs, {elements.begin, begin}, to);
    run(*programs_.across, inputs, before(behind(begin), begin, width_),
        [&](RangeRunner& runner) { runner.run_rows(lines, length_); });
    return produce(inputs, {end, elements.end}, behind(end));
  }
  run(*programs_.elements, inputs, before(to, elements.begin, width_), [&](RangeRunner& runner) {
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

std::int64_t ElementSource::produce_parts(Addresses inputs, std::int64_t first, std::int64_t step, std::int64_t count,
                                          std::int64_t width, std::byte* to) const {
  const std::int64_t line = first / length_, column = first % length_, pitch = programs_.part_pitch;
  if (programs_.across_parts != nullptr && step == length_ && count >= least_lines && column + width <= length_) {
    run(*programs_.across_parts, inputs, before(to, line * pitch + column, width_), [&](RangeRunner& runner) {
      runner.run_columns({line, line + count}, {column, column + width}, length_);
    });
    return pitch;
  }
  for (std::int64_t part = 0; part < count; ++part, first += step, to += static_cast<std::size_t>(width) * width_) {
    produce(inputs, {first, first + width}, to);
  }
  return width;
}

void ElementSource::sum(Addresses inputs, Range elements, double* sum) const {
  const std::int64_t line = elements.begin / summed_, first = line * summed_;
  double total = 0;
  run(*programs_.sums, inputs, before(&total, line, sizeof total), [&](RangeRunner& runner) {
    runner.run_columns({line, line + 1}, {elements.begin - first, elements.end - first}, summed_);
  });
  *sum += total;
}

void ElementSource::sum_lines(Addresses inputs, Range lines, double* sums) const {
  run(*programs_.sums, inputs, before(sums, lines.begin, sizeof *sums),
      [&](RangeRunner& runner) { runner.run_rows(lines, summed_); });
}

std::shared_ptr<const ElementSource> prepare_source(const core::BoundLoop& bound, std::int64_t summed,
                                                    const KernelChoice& choice) {
  const core::Operand& output = bound.outputs[0];
  std::vector<core::Operand> operands = bound.inputs;
  operands.push_back(output);
  const jit::RowLayouts layouts = jit::RowLayouts::longest(operands);
  const std::int64_t length = layouts.length();
  ElementSource::Programs programs;
  programs.elements = prepare_ranges(bound, length, {}, choice);
  // Operands that lie across the lines are copied for as many of these as their cache lines have elements.
  RangePolicy policy;
  std::int64_t rows = 1, copied = 0;
  for (std::size_t i = 0; i < bound.inputs.size(); ++i) {
    const auto width = static_cast<std::int64_t>(size_of(operands[i].dtype));
    const std::int64_t of_line = machine::cache_line / width;
    const bool across = length >= shortest_copied && layouts.rows() >= of_line &&
                        copied < jit::TransposedCopies::most && layouts.is_transposed(i, operands[i].dtype);
    policy.transposed.push_back(across);
    copied += across ? 1 : 0;
    if (across) rows = std::max(rows, of_line);
  }
  if (copied != 0) {
    programs.across = prepare_ranges(bound, length, policy, choice);
    programs.part_pitch = FoldTraversal::columns_at_once(static_cast<std::int64_t>(size_of(output.dtype)));
    if (length > programs.part_pitch) {
      core::Operand parts = output;
      for (std::int64_t& stride : parts.view.strides) {
        if (stride >= length) stride = stride / length * programs.part_pitch;
      }
      const core::BoundLoop of_parts = bound_loop(bound.loop.program, bound.inputs, {parts});
      programs.across_parts = prepare_ranges(of_parts, length, policy, choice);
    }
  }
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
    programs.sums =
        prepare_ranges(bound_loop(std::move(program), bound.inputs, {{DType::f64, lines}}), summed, {}, choice);
  }
  return std::make_shared<const ElementSource>(std::move(programs), length, rows, size_of(output.dtype), summed);
}

}  // namespace tyto::cpu
