// SPDX-License-Identifier: MIT
// Caches machine code by program and operand layouts, and estimates its cycles.
#include "devices/cpu/loop/jit/compile.hpp"

#include <mutex>
#include <string>
#include <unordered_map>

#include "core/system/environment.hpp"
#include "core/value/text.hpp"
#include "devices/cpu/arithmetic/tile_loops/tile_loops.hpp"
#include "devices/cpu/loop/jit/record.hpp"
#include "devices/cpu/loop/jit/target.hpp"
#include "devices/cpu/system/machine.hpp"

namespace tyto::cpu::jit {

namespace {

/// Cycles that a processor of our day takes for one vector, where it overlaps what it can.
double cycles_of(const Code& code, double divider) {
  double cycles = 0;
  const std::vector<bool> wanted = code.wanted();
  for (std::size_t i = 0; i < code.instructions.size(); ++i) {
    const Instruction& instruction = code.instructions[i];
    if (!wanted[i]) continue;
    switch (instruction.op) {
      case Op::constant:
      case Op::broadcast:
      case Op::reinterpret: break;
      case Op::divide: cycles += divider * (is_wide(instruction.lane) ? 8 : 5); break;
      case Op::square_root: cycles += divider * (is_wide(instruction.lane) ? 12 : 6); break;
      case Op::call: cycles += 300; break;
      default: cycles += 0.5; break;
    }
  }
  return cycles + static_cast<double>(code.stores.size() + code.reductions.size());
}

/// Rules may have made the code of less than the program names.
void prefetch_what_is_read(KernelSpec& spec) {
  const std::vector<bool> wanted = spec.code.wanted();
  std::vector<bool> read(spec.inputs.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const Instruction& each = spec.code.instructions[i];
    if (wanted[i] && each.op == Op::load) read[each.immediate] = true;
  }
  for (std::size_t i = 0; i < read.size(); ++i) spec.inputs[i].prefetched = spec.inputs[i].prefetched && read[i];
}

/// The key of machine code in the cache: all that it depends on, as bytes.
class Key {
 public:
  Key(const core::LoopProgram& program, std::span<const OperandSpec> inputs, std::span<const OperandSpec> outputs,
      Variant variant, InstructionSet set) {
    put(variant), put(set);
    for (const auto specs : {inputs, outputs}) {
      put(specs.size());
      for (const OperandSpec& spec : specs) {
        put(spec.stored), put(spec.access), put(spec.prefetched), put(spec.every_second), put(spec.part);
      }
    }
    put(program.constants.size());
    for (const core::LoopConstant& constant : program.constants) {
      put(constant.dtype), put(constant.value.kind()), put(constant.value.as_unsigned()),
          put(constant.value.as_double());
    }
    put(program.instructions.size());
    for (const core::LoopInstruction& each : program.instructions) put(each.op), put(each.dtype), put(each.operands);
    for (const core::LoopValue output : program.outputs) put(output);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  template <class T>
  void put(const T& value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  std::string bytes_;
};

/// Kernels hold their code themselves: evicted code stays alive with them.
constexpr std::size_t most_kept = 4096;

std::string find_reason() {
  if (core::environment("TYTO_JIT") == "0") return "TYTO_JIT is 0";
  if (find_target(instruction_set()) == nullptr)
    return core::text("there is none for the instruction set ", name_of(instruction_set()));
  const std::byte never_run[4] = {};
  return MachineCode(never_run) ? "" : "the system does not let memory be executed";
}

}  // namespace

const std::string& unavailable_reason() {
  static const std::string found = find_reason();
  return found;
}

bool is_available() { return unavailable_reason().empty(); }

Compiled compile(const core::LoopProgram& program, std::span<const OperandSpec> inputs,
                 std::span<const OperandSpec> outputs, Variant variant, InstructionSet set) {
  static std::mutex mutex;
  static std::unordered_map<std::string, Compiled> made;
  const Key key(program, inputs, outputs, variant, set);
  {
    const std::lock_guard lock(mutex);
    if (const auto found = made.find(key.bytes()); found != made.end()) return found->second;
  }
  std::vector<InputSpec> specs;
  for (const OperandSpec& input : inputs) specs.push_back({input.stored, input.access == Access::broadcast});
  std::vector<DType> stored;
  for (const OperandSpec& output : outputs) stored.push_back(output.stored);
  const Target* const target = find_target(set);
  if (target == nullptr) return {};
  KernelSpec spec{record(program, specs, stored, tile_loops(target->loops), target->scales),
                  {inputs.begin(), inputs.end()},
                  {outputs.begin(), outputs.end()},
                  variant};
  if (!spec.code.complete) return {};
  prefetch_what_is_read(spec);
  const int lanes = target->vector_bytes / (spec.code.wide ? 8 : 4);
  const double cycles = cycles_of(spec.code, target->divider);
  const Compiled compiled{target->emit(spec), cycles / lanes / machine::clock_rate, cycles};
  const std::lock_guard lock(mutex);
  if (made.size() >= most_kept) made.clear();
  return made.try_emplace(key.bytes(), compiled).first->second;
}

}  // namespace tyto::cpu::jit
