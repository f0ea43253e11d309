// SPDX-License-Identifier: MIT
// Lowers each complex value to two real ones; instructions without complex operands stay as they are.
#include "core/loop/complex_loop.hpp"

#include <algorithm>
#include <array>

#include "core/graph/op_ids.hpp"
#include "core/loop/complex_formulas.hpp"
#include "core/loop/loop_rows.hpp"

namespace tyto::core {

namespace {

/// A value of the original program: one of the new program, or two.
struct ComplexValue {
  LoopValue real = 0, imaginary = 0;
};

/// Every second element, from the first (0) or the second (1) on, of what the view shows.
View parts_of(View view, std::int64_t part) {
  view.offset = 2 * view.offset + part;
  for (std::int64_t& stride : view.strides) stride *= 2;
  return view;
}

class ComplexLowering {
 public:
  ComplexLowering(const LoopProgram& program, std::span<const DType> inputs, bool has_f64)
      : program_(program), types_(value_types(program, inputs)), builder_(split(inputs)), has_f64_(has_f64) {
    LoopValue next = 0;
    for (const DType type : inputs) {
      ComplexValue value{next++, 0};
      if (is_complex(type)) value.imaginary = next++;
      values_.push_back(value);
    }
    for (const LoopConstant& constant : program.constants) add(constant);
    for (std::size_t v = program.first_instruction(); v < program.values(); ++v) add(v);
  }

  LoopProgram finish() const {
    std::vector<LoopValue> outputs;
    for (const LoopValue output : program_.outputs) {
      outputs.push_back(values_[output].real);
      if (is_complex(types_[output])) outputs.push_back(values_[output].imaginary);
    }
    return builder_.finish(outputs);
  }

 private:
  static std::vector<DType> split(std::span<const DType> types) {
    std::vector<DType> parts;
    for (const DType type : types) parts.insert(parts.end(), is_complex(type) ? 2 : 1, real_type(type));
    return parts;
  }

  void add(const LoopConstant& constant) {
    const DType part = real_type(constant.dtype);
    ComplexValue value;
    if (is_complex(constant.dtype)) {
      value.real = builder_.constant(constant.value.as_double(), part);
      value.imaginary = builder_.constant(constant.value.imaginary(), part);
    } else {
      value.real = builder_.constant(constant.value, part);
    }
    values_.push_back(value);
  }

  void add(std::size_t value) {
    const LoopInstruction& step = program_.instruction_of(value);
    const std::span<const LoopValue> operands = program_.operands_of(value);
    const bool complex = std::ranges::any_of(operands, [&](LoopValue v) { return is_complex(types_[v]); });
    if (step.op == OpId::cast) {
      values_.push_back(cast(values_[operands[0]], types_[operands[0]], step.dtype));
    } else if (!complex) {
      std::array<LoopValue, 3> real{};
      for (std::size_t i = 0; i < operands.size(); ++i) real[i] = values_[operands[i]].real;
      values_.push_back({builder_.apply(step, std::span(real).first(operands.size())), 0});
    } else if (step.op == OpId::where) {
      const auto chosen = [&](LoopValue ComplexValue::*part) {
        const LoopValue condition = values_[operands[0]].real;
        return builder_.apply(OpId::where, real_type(step.dtype),
                              {condition, values_[operands[1]].*part, values_[operands[2]].*part});
      };
      const LoopValue real = chosen(&ComplexValue::real);
      values_.push_back({real, chosen(&ComplexValue::imaginary)});
    } else {
      std::array<LoopComplex, 3> numbers{};
      for (std::size_t i = 0; i < operands.size(); ++i) {
        numbers[i] = {{&builder_, values_[operands[i]].real}, {&builder_, values_[operands[i]].imaginary}};
      }
      const auto given = std::span<const LoopComplex>(numbers).first(operands.size());
      if (is_complex(step.dtype)) {
        const LoopComplex result = complex_result(step.op, given, has_f64_);
        values_.push_back({result.real.value, result.imaginary.value});
      } else {
        values_.push_back({real_result(step.op, given).value, 0});
      }
    }
  }

  // Real types take the real part, truth is whether any part differs from zero.
  ComplexValue cast(const ComplexValue& value, DType from, DType to) {
    if (!is_complex(from) && !is_complex(to)) return {builder_.apply(OpId::cast, to, {value.real}), 0};
    const DType part = real_type(to);
    if (is_complex(to)) {
      const LoopValue imaginary = is_complex(from) ? builder_.as(part, value.imaginary) : builder_.constant(0.0, part);
      return {builder_.as(part, value.real), imaginary};
    }
    if (to != DType::boolean) return {builder_.as(part, value.real), 0};
    const LoopValue real = builder_.as(to, value.real), imaginary = builder_.as(to, value.imaginary);
    return {builder_.apply(OpId::logical_or, to, {real, imaginary}), 0};
  }

  const LoopProgram& program_;
  std::vector<DType> types_;
  LoopBuilder builder_;
  bool has_f64_;
  std::vector<ComplexValue> values_;
};

/// A part of a whole value may be one number a row, or one for all, but results are as wide as their values and
/// reductions read whole ones: such a part is made whole by a choice between it and itself, beside an input that is.
LoopProgram with_whole_parts(const BoundLoop& parts, const BoundLoop& bound) {
  const LoopProgram& program = parts.loop.program;
  const std::vector<bool> whole = bound.whole(), whole_part = parts.whole();
  const auto input = static_cast<LoopValue>(std::ranges::find(whole_part, true) - whole_part.begin());
  if (input >= program.inputs) return program;  // no part of a whole value is narrower then
  LoopProgram result = program;
  result.instructions.clear();
  std::vector<LoopValue> number(program.values());
  const std::vector<DType> types = value_types(program, parts.input_types());
  const auto add = [&](const LoopInstruction& step) {
    result.instructions.push_back(step);
    return static_cast<LoopValue>(result.values() - 1);
  };
  const auto made_whole = [&](LoopValue value) {
    if (whole_part[value]) return number[value];
    const LoopValue condition = add({OpId::equal, DType::boolean, {input, input, 0}});
    return add({OpId::where, types[value], {condition, number[value], number[value]}});
  };
  for (std::size_t v = 0; v < program.values(); ++v) {
    number[v] = static_cast<LoopValue>(v);
    if (v < program.first_instruction()) continue;
    LoopInstruction step = program.instruction_of(v);
    if (may_fold(step.op)) {
      step.operands[0] = made_whole(step.operands[0]);
    } else {
      for (LoopValue& operand : step.operands) operand = number[operand];
    }
    number[v] = add(step);
  }
  for (std::size_t i = 0; i < program.outputs.size(); ++i) {
    const bool of_whole = whole[bound.loop.program.outputs[parts.output_of[i]]];
    const LoopValue output = program.outputs[i];
    result.outputs[i] = of_whole ? made_whole(output) : number[output];
  }
  return result;
}

}  // namespace

bool is_complex(const BoundLoop& bound) {
  const auto complex = [](DType type) { return tyto::is_complex(type); };
  return std::ranges::any_of(bound.inputs, complex, &Operand::dtype) ||
         std::ranges::any_of(bound.outputs, complex, &Operand::dtype) ||
         std::ranges::any_of(bound.loop.program.instructions, complex, &LoopInstruction::dtype);
}

BoundLoop in_parts(const BoundLoop& bound, bool has_f64) {
  BoundLoop parts;
  parts.loop.shape = bound.loop.shape;
  parts.loop.axes = bound.loop.axes;
  parts.loop.program = ComplexLowering(bound.loop.program, bound.input_types(), has_f64).finish();
  const auto split = [](std::span<const Operand> operands, std::vector<Operand>& out, std::vector<std::size_t>& of) {
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const bool complex = is_complex(operands[i].dtype);
      for (std::int64_t part = 0; part < (complex ? 2 : 1); ++part) {
        out.push_back({real_type(operands[i].dtype), complex ? parts_of(operands[i].view, part) : operands[i].view});
        of.push_back(i);
      }
    }
  };
  split(bound.inputs, parts.inputs, parts.input_of);
  split(bound.outputs, parts.outputs, parts.output_of);
  for (const std::size_t input : parts.input_of) parts.given.push_back(bound.given[input]);
  if (!parts.loop.axes.empty()) parts.loop.program = with_whole_parts(parts, bound);
  return parts;
}

std::size_t instructions_of(OpId op, DType dtype) {
  if (!tyto::is_complex(dtype)) return 1;
  if (op == OpId::cast || op == OpId::where) return 2;
  const std::vector<DType> types(static_cast<std::size_t>(definition(op).max_inputs), dtype);
  LoopProgram program;
  program.inputs = static_cast<std::uint16_t>(types.size());
  const bool truth = definition(op).domain == Domain::comparison;
  const bool real = definition(op).is(Traits::is_real_valued);
  program.instructions.push_back({op, truth ? DType::boolean : real ? real_type(dtype) : dtype, {0, 1, 2}});
  program.outputs = {program.inputs};
  return ComplexLowering(program, types, true).finish().instructions.size();
}

}  // namespace tyto::core
