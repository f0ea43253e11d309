// SPDX-License-Identifier: MIT
// Chooses between machine code and the interpreter, and makes the interpreter's kernels, sources and range programs.
#include "devices/cpu/loop/interpreter/tile_kernel.hpp"

#include <algorithm>

#include "core/loop/loop_rows.hpp"
#include "core/value/text.hpp"
#include "devices/cpu/device/kernels.hpp"
#include "devices/cpu/loop/interpreter/repeated_rows.hpp"
#include "devices/cpu/loop/interpreter/tile_loops.hpp"
#include "devices/cpu/loop/interpreter/tile_runner.hpp"
#include "devices/cpu/loop/jit/compile.hpp"
#include "devices/cpu/loop/jit/loop_kernel.hpp"
#include "devices/cpu/loop/jit/loop_ranges.hpp"
#include "devices/cpu/system/threads.hpp"

namespace tyto::cpu {

namespace {

/// The only output of a program, computed range by range.
class TileSource final : public ElementSource {
 public:
  explicit TileSource(BoundProgram program) : program_(std::move(program)) {}

  double nanoseconds() const override { return program_.nanoseconds; }

  void produce(std::span<const core::Address> inputs, Range elements, std::byte* to) const override {
    if (elements.size() <= 0) return;
    // Element 0 would lie where the range's first lies if the tensor were there as a whole.
    const auto width = static_cast<std::uintptr_t>(program_.output_width);
    const auto origin = reinterpret_cast<std::uintptr_t>(to) - static_cast<std::uintptr_t>(elements.begin) * width;
    const core::Address output{reinterpret_cast<void*>(origin), 0};
    TileRunner(program_, inputs, {&output, 1}).run_elements(elements);
  }

 private:
  BoundProgram program_;
};

class TileRanges final : public RangeProgram {
 public:
  explicit TileRanges(BoundProgram program) : program_(std::move(program)) {}

  double nanoseconds() const override { return program_.nanoseconds; }

  void with_runner(void (*then)(void* context, RangeRunner& runner), void* context) const override {
    class Runner final : public RangeRunner {
     public:
      explicit Runner(const BoundProgram& program) : tiles_(program) {}
      void bind(std::span<const OperandBase> inputs, std::span<const OperandBase> outputs) override {
        tiles_.bind(inputs, outputs);
      }
      void set_first_row(std::int64_t row) override { tiles_.set_first_row(row); }
      void run_rows(Range lines, std::int64_t length) override {
        tiles_.run_elements({lines.begin * length, lines.end * length});
      }
      void run_columns(Range lines, Range columns, std::int64_t length) override {
        for (std::int64_t line = lines.begin; line < lines.end; ++line)
          tiles_.run_elements({line * length + columns.begin, line * length + columns.end});
      }

     private:
      TileRunner tiles_;
    } runner(program_);
    then(context, runner);
  }

 private:
  BoundProgram program_;
};

class TileKernel final : public core::Kernel {
 public:
  TileKernel(BoundProgram program, TeamRequest request) : program_(std::move(program)), team_(request) {}

  void launch(std::span<const core::Address> inputs, std::span<const core::Address> outputs,
              core::Address) const override {
    const std::int64_t tiles = program_.geometry.tiles();
    if (team_.count == 1) {
      TileRunner(program_, inputs, outputs).run_tiles({0, tiles});
      return;
    }
    run_team(team_, [&](Team team) {
      const Range mine = share(tiles, team.member, team.size);
      if (mine.size() > 0) TileRunner(program_, inputs, outputs).run_tiles(mine);
    });
  }

 private:
  BoundProgram program_;
  TeamRequest team_;
};

/// Programs become machine code where there is a JIT, unless an instruction set or the interpreter is asked for.
bool wants_machine_code(const KernelChoice& choice) {
  if (choice.loops == LoopBackend::interpreter || !jit::is_available()) return false;
  return choice.loops == LoopBackend::jit || !choice.instructions;
}

/// One operator over many bools without gaps. The interpreter's loop takes a whole vector of bytes at a time; machine
/// code computes them in 32 bits each, and is ahead where few elements or several operators make up for it.
bool is_for_loops_of_bytes(const core::BoundLoop& bound) {
  constexpr std::int64_t enough = 4096;
  const auto boolean = [](const core::Operand& operand) {
    return operand.dtype == DType::boolean && core::is_dense(operand.view);
  };
  const core::LoopProgram& program = bound.loop.program;
  return program.instructions.size() == 1 && bound.outputs[0].view.count() >= enough &&
         std::ranges::all_of(bound.inputs, boolean) && std::ranges::all_of(bound.outputs, boolean) &&
         working_type(core::definition(program.instructions[0].op).domain, DType::boolean) == DType::boolean;
}

void check_operands(const core::BoundLoop& bound) {
  const std::size_t inputs = bound.inputs.size(), outputs = bound.outputs.size();
  if (std::max(inputs, outputs) <= most_operands) return;
  throw DeviceError(core::text("cpu: an element-wise program may have ", most_operands,
                               " inputs and as many outputs, this one has ", inputs, " and ", outputs));
}

}  // namespace

core::BoundLoop bound_loop(core::LoopProgram program, std::vector<core::Operand> inputs,
                           std::vector<core::Operand> outputs) {
  core::BoundLoop bound;
  bound.loop.shape = outputs[0].view.shape;
  bound.loop.program = std::move(program);
  bound.inputs = std::move(inputs);
  bound.outputs = std::move(outputs);
  return bound;
}

std::shared_ptr<const core::Kernel> prepare_elements(const core::BoundLoop& bound, const KernelChoice& choice) {
  if (bound.outputs[0].view.count() == 0) return no_work();
  check_operands(bound);
  const bool interpreted = choice.loops == LoopBackend::automatic && is_for_loops_of_bytes(bound);
  if (!interpreted && wants_machine_code(choice)) {
    auto kernel = prepare_repeated_rows(bound, choice);
    if (kernel == nullptr) kernel = jit::prepare_loop(bound, choice);
    if (kernel != nullptr) return kernel;
  }
  BoundProgram prepared = bind_program(bound, tile_loops(choice.set()), false);
  const TeamRequest request = choice.threads > 0 ? TeamRequest{choice.threads} : team_for(prepared.nanoseconds);
  return std::make_shared<const TileKernel>(std::move(prepared), request);
}

std::shared_ptr<const ElementSource> prepare_source(const core::BoundLoop& bound, std::int64_t summed,
                                                    const KernelChoice& choice) {
  check_operands(bound);
  if (wants_machine_code(choice)) {
    if (auto source = jit::prepare_loop_source(bound, summed, choice.set())) return source;
  }
  return std::make_shared<const TileSource>(bind_program(bound, tile_loops(choice.set()), true));
}

std::shared_ptr<const RangeProgram> prepare_ranges(const core::BoundLoop& bound, std::int64_t length,
                                                   const RangePolicy& policy, const KernelChoice& choice) {
  check_operands(bound);
  if (wants_machine_code(choice)) {
    if (auto ranges = jit::prepare_loop_ranges(bound, length, policy, choice.set())) return ranges;
  }
  if (core::has_reductions(bound.loop.program)) return nullptr;
  return std::make_shared<const TileRanges>(bind_program(bound, tile_loops(choice.set()), true));
}

}  // namespace tyto::cpu
