// The statements of one element, made of the operator table's expressions.
#include "devices/opencl/element_body.hpp"

#include "core/op_ids.hpp"
#include "core/stored_number.hpp"
#include "core/text.hpp"
#include "devices/opencl/element_types.hpp"
#include "devices/opencl/expressions.hpp"

namespace tyto::opencl {

namespace {

using core::OpId;
using core::text;
using Instruction = ElementProgram::Instruction;

bool draws(OpId op) { return op == OpId::random_uniform || op == OpId::random_normal || op == OpId::random_bernoulli; }

bool in_integers(const Instruction& instruction) {
  return !is_floating(instruction.dtype) && !instruction.constants[0].is_floating() &&
         !instruction.constants[1].is_floating();
}

void real_constants(KernelText& kernel, std::size_t k, bool wide, double first, double second) {
  const auto value = [&](double x) { return wide ? Argument(x) : Argument(static_cast<float>(x)); };
  kernel.constant(wide ? "double" : "float", text("first", k), value(first));
  kernel.constant(wide ? "double" : "float", text("second", k), value(second));
}

void fill_constant(KernelText& kernel, const Instruction& instruction, std::size_t k) {
  const Scalar value = core::as_stored(instruction.constants[0], instruction.dtype);
  const Compute type = compute_of(instruction.dtype);
  Argument argument;
  if (instruction.dtype == DType::boolean) {
    argument = std::int32_t{value.as_double() != 0};
  } else if (type == Compute::i32) {
    argument = static_cast<std::int32_t>(value.as_int());
  } else if (type == Compute::i64) {
    argument = value.as_int();
  } else if (type == Compute::f32) {
    argument = static_cast<float>(value.as_double());
  } else {
    argument = value.as_double();
  }
  kernel.constant(type_name(type), text("first", k), argument);
}

}  // namespace

ElementBody::ElementBody(const Context& context, const ElementProgram& program) : context_(context), program_(program) {
  types_.reserve(program.inputs.size() + program.instructions.size());
  for (const core::Operand& input : program.inputs) types_.push_back(input.dtype);
  for (const Instruction& instruction : program.instructions) types_.push_back(instruction.dtype);
  raw_.assign(program.inputs.size(), false);
  exact_.assign(types_.size(), false);
  for (const Instruction& instruction : program.instructions) {
    for (const std::size_t operand : instruction.operands) {
      exact_[operand] = true;
      if (draws(instruction.op)) raw_[operand] = true;
    }
  }
  // A value stored as one type while it was computed as another has to be rounded first, too.
  for (std::size_t i = 0; i < program.stored.size(); ++i) {
    const bool goes_on = i >= program.outputs.size();
    if (goes_on || program.outputs[i].dtype != types_[program.stored[i]]) exact_[program.stored[i]] = true;
  }
}

void ElementBody::declare(KernelText& kernel) const {
  for (std::size_t k = 0; k < program_.instructions.size(); ++k) {
    const Instruction& instruction = program_.instructions[k];
    if (instruction.op == OpId::fill) {
      fill_constant(kernel, instruction, k);
    } else if (instruction.op == OpId::arange) {
      if (in_integers(instruction)) {
        kernel.constant("long", text("first", k), instruction.constants[0].as_int());
        kernel.constant("long", text("second", k), instruction.constants[1].as_int());
      } else {
        real_constants(kernel, k, context_.has_f64, instruction.constants[0].as_double(),
                       instruction.constants[1].as_double());
      }
    } else if (instruction.op == OpId::eye) {
      kernel.constant("long", text("first", k), instruction.constants[0].as_int());
      kernel.constant("long", text("width", k), instruction.width);
    } else if (draws(instruction.op)) {
      const double first = instruction.constants[0].as_double();
      const double second = instruction.constants[1].as_double();
      real_constants(kernel, k, instruction.dtype == DType::f64 && instruction.op != OpId::random_bernoulli, first,
                     instruction.op == OpId::random_uniform ? second - first : second);
      kernel.constant("long", text("draw", k), instruction.draw);
    }
  }
}

std::string ElementBody::load_input(std::size_t i, std::string_view at) const {
  return text("const ", type_name(compute_of(types_[i])), " v", i, " = ", load(types_[i], text("in", i), at), ";");
}

std::string ElementBody::store_output(std::size_t i, std::string_view at) const {
  const std::size_t value = program_.stored[i];
  const DType type = program_.outputs[i].dtype;
  return store(type, text("out", i), at, convert(types_[value], type, text("v", value)));
}

std::string ElementBody::instruction(std::size_t k, std::string_view index) const {
  const Instruction& instruction = program_.instructions[k];
  const std::size_t value = program_.inputs.size() + k;
  return text("const ", type_name(compute_of(instruction.dtype)), " v", value, " = ",
              expression(instruction, k, exact_[value], index), ";");
}

std::string ElementBody::expression(const Instruction& instruction, std::size_t k, bool exact,
                                    std::string_view index) const {
  std::vector<DType> types;
  std::vector<std::string> values;
  for (const std::size_t operand : instruction.operands) {
    types.push_back(types_[operand]);
    values.push_back(text("v", operand));
  }
  const DType type = instruction.dtype;
  switch (instruction.op) {
    case OpId::cast: return convert(types[0], type, values[0]);
    case OpId::copy: return values[0];
    case OpId::fill: return narrow(type, text("first", k));
    case OpId::arange: {
      if (in_integers(instruction)) {
        return convert(DType::i64, type,
                       text("(long)((ulong)first", k, " + (ulong)", index, " * (ulong)second", k, ")"));
      }
      const DType wide = context_.has_f64 ? DType::f64 : DType::f32;
      return convert(wide, type, text("(first", k, " + ", index, " * second", k, ")"));
    }
    case OpId::eye:
      return convert(DType::boolean, type,
                     text("(int)(", index, " % width", k, " - ", index, " / width", k, " == first", k, ")"));
    case OpId::random_uniform:
    case OpId::random_normal:
    case OpId::random_bernoulli: {
      const std::string key = text("(ulong)", index, ", (ulong)(in", instruction.operands[0], "[1] + draw", k,
                                   "), (ulong)in", instruction.operands[0], "[0]");
      if (instruction.op == OpId::random_bernoulli) {
        return convert(DType::boolean, type, text("(int)(uniform_f32(", key, ") < first", k, ")"));
      }
      const char* draw = instruction.op == OpId::random_uniform ? "uniform_" : "normal_";

      const std::string drawn =
          text("(first", k, " + second", k, " * ", draw, suffix(compute_of(type)), "(", key, "))");
      return exact ? narrow(type, drawn) : drawn;
    }
    default: return apply(instruction.op, type, types, values, exact);
  }
}

}  // namespace tyto::opencl
