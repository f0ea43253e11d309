// Kernels, sources and range programs made of bound tile programs.
#include "devices/cpu/elementwise/tile_kernel.hpp"

#include <algorithm>
#include <array>

#include "devices/cpu/elementwise/tile_loops.hpp"
#include "devices/cpu/elementwise/tile_runner.hpp"
#include "devices/cpu/elementwise/uncached.hpp"
#include "devices/cpu/jit/compile.hpp"
#include "devices/cpu/jit/loop_kernel.hpp"
#include "devices/cpu/kernels.hpp"
#include "devices/cpu/threads.hpp"

namespace tyto::cpu {

namespace {

/// The only output of a program, computed, and where there is a loop for it summed, range by range.
class TileSource final : public ElementSource {
 public:
  TileSource(BoundProgram program, BoundProgram summed) : program_(std::move(program)), summed_(std::move(summed)) {}

  double nanoseconds() const override { return program_.nanoseconds; }

  void produce(std::span<const core::Address> inputs, Range elements, std::byte* to) const override {
    if (elements.size() <= 0) return;
    // Element 0 would lie where the range's first lies if the tensor were there as a whole.
    const auto width = static_cast<std::uintptr_t>(program_.output_width);
    const auto origin = reinterpret_cast<std::uintptr_t>(to) - static_cast<std::uintptr_t>(elements.begin) * width;
    const core::Address output{reinterpret_cast<void*>(origin), 0};
    TileRunner(program_, inputs, {&output, 1}).run_elements(elements);
  }

  bool sums() const override { return summed_.sum.add != nullptr; }
  void sum(std::span<const core::Address> inputs, Range elements, double* sum) const override {
    TileRunner(summed_, inputs, {}).sum_elements(elements, sum);
  }
  void sum_lines(std::span<const core::Address> inputs, Range lines, std::int64_t length, double* sums) const override {
    TileRunner(summed_, inputs, {}).sum_lines(lines, length, sums);
  }

 private:
  BoundProgram program_, summed_;
};

class TileRanges final : public RangeProgram {
 public:
  explicit TileRanges(BoundProgram program) : program_(std::move(program)) {}

  double nanoseconds() const override { return program_.nanoseconds; }
  bool passes_caches() const override { return program_.has_uncached(); }

  void with_runner(void (*then)(void* context, RangeRunner& runner), void* context) const override {
    class Runner final : public RangeRunner {
     public:
      explicit Runner(const BoundProgram& program) : tiles_(program) {}
      void place(std::span<const Placed> inputs, std::span<const Placed> outputs) override {
        tiles_.place(inputs, outputs);
      }
      void turn_to(std::int64_t row) override { tiles_.turn_to(row); }
      void run_lines(Range lines, std::int64_t length, std::span<const Stream> ahead) override {
        tiles_.run_lines(lines, length, ahead);
      }
      void sum_lines(Range lines, std::int64_t length, double* sums) override { tiles_.sum_lines(lines, length, sums); }

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
  TileKernel(BoundProgram program, Workers workers) : program_(std::move(program)), workers_(workers) {}

  void launch(std::span<const core::Address> inputs, std::span<const core::Address> outputs,
              core::Address) const override {
    const std::int64_t tiles = program_.geometry.tiles();
    if (workers_.count == 1) {
      TileRunner(program_, inputs, outputs).run_tiles({0, tiles});
      return;
    }
    run_team(workers_, [&](Team team) {
      const Range mine = share(tiles, team.member, team.size);
      if (mine.size() > 0) TileRunner(program_, inputs, outputs).run_tiles(mine);
    });
  }

 private:
  BoundProgram program_;
  Workers workers_;
};

/// One loop over whole contiguous operands, and numbers: no tiles, no copies.
class LoopKernel final : public core::Kernel {
 public:
  struct Operand {
    std::size_t index = 0;
    std::ptrdiff_t start = 0;
    std::ptrdiff_t stride = 0;  // bytes; 0 for a number
  };

  using Operands = std::array<Operand, LoopCall::most_operands>;
  using Results = std::array<Operand, ChainLoop::most_results>;

  LoopKernel(const Instruction& instruction, const Operands& operands, const Results& results, std::int64_t count,
             Workers workers)
      : instruction_(instruction), operands_(operands), results_(results), count_(count), workers_(workers) {}

  void launch(std::span<const core::Address> inputs, std::span<const core::Address> outputs,
              core::Address) const override {
    const auto run = [&](Range range) {
      const auto at = [&](std::span<const core::Address> addresses, const Operand& operand) {
        return addresses[operand.index].pointer() + operand.start + range.begin * operand.stride;
      };
      const auto count = static_cast<std::size_t>(range.size());
      if (instruction_.chain == nullptr && instruction_.uncached == nullptr) {
        instruction_.loop(at(outputs, results_[0]), at(inputs, operands_[0]), at(inputs, operands_[1]),
                          at(inputs, operands_[2]), count);
        return;
      }
      const void* leaves[LoopCall::most_operands];
      for (std::size_t k = 0; k < LoopCall::most_operands; ++k) leaves[k] = at(inputs, operands_[k]);
      void* results[ChainLoop::most_results];
      for (std::size_t k = 0; k < ChainLoop::most_results; ++k) results[k] = at(outputs, results_[k]);
      const bool apart = std::ranges::find(leaves, results[0]) == std::end(leaves);
      const bool past_caches = instruction_.uncached != nullptr && apart;
      instruction_.call(results, leaves, count, past_caches);
      if (past_caches) publish_uncached();
    };
    if (workers_.count == 1) {
      run({0, count_});
      return;
    }
    // Shares end on cache lines whatever the element, so that no line is written by two threads.
    run_team(workers_, [&](Team team) { run(share(count_, team.member, team.size, 64)); });
  }

 private:
  Instruction instruction_;
  Operands operands_;
  Results results_;
  std::int64_t count_;
  Workers workers_;
};

/// The loop kernel where the program is one loop over contiguous memory, else null.
std::shared_ptr<const core::Kernel> as_loop(const BoundProgram& prepared, Workers workers) {
  const TileGeometry& geometry = prepared.geometry;
  if (prepared.instructions.size() != 1 || !prepared.constants.empty()) return nullptr;
  if (geometry.rows != 1 || !geometry.outer.empty()) return nullptr;
  const Instruction& instruction = prepared.instructions[0];
  LoopKernel::Operands operands;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    for (const Load& load : prepared.loads) {
      if (load.form != Load::Form::direct) return nullptr;
      if (load.value != instruction.operands[i]) continue;
      operands[i] = {load.operand, prepared.place(load).start, prepared.place(load).column};
    }
  }
  LoopKernel::Results results;
  for (std::size_t k = 0; k < results.size(); ++k) {
    const auto store = std::ranges::find(prepared.stores, instruction.results[k], &Store::value);
    if (store == prepared.stores.end()) return nullptr;
    results[k] = {store->operand, prepared.place(*store).start, prepared.place(*store).column};
  }
  for (const Store& store : prepared.stores) {
    if (store.form != Store::Form::direct) return nullptr;
  }
  return std::make_shared<const LoopKernel>(instruction, operands, results, geometry.elements, workers);
}

}  // namespace

std::shared_ptr<const core::Kernel> prepare_tile_program(const TileProgram& program,
                                                         std::span<const core::Operand> inputs,
                                                         std::span<const core::Operand> outputs,
                                                         const KernelChoice& choice) {
  if (outputs[0].view.count() == 0) {
    return make_kernel([](std::span<const core::Address>, std::span<const core::Address>, core::Address) {});
  }
  const bool asked = choice.loops == LoopBackend::jit;
  if ((asked || (choice.loops == LoopBackend::automatic && !choice.instructions)) && jit::is_available()) {
    if (auto kernel = jit::prepare_loop(program, inputs, outputs, choice)) return kernel;
  }
  const TileLoops& loops = tile_loops(choice.set());
  BoundProgram prepared = bind_program(program, inputs, outputs, loops, false, outgrows_caches(outputs[0]));
  const Workers workers = choice.threads > 0 ? Workers{choice.threads} : workers_for(prepared.nanoseconds);
  if (auto loop = as_loop(prepared, workers)) return loop;
  return std::make_shared<const TileKernel>(std::move(prepared), workers);
}

std::shared_ptr<const ElementSource> prepare_source(const TileProgram& program, std::span<const core::Operand> inputs,
                                                    const core::Operand& output, std::int64_t summed,
                                                    const KernelChoice& choice) {
  const TileLoops& loops = tile_loops(choice.set());
  BoundProgram sum;
  if (summed > 0) sum = bind_sum(program, inputs, output, loops, summed);
  return std::make_shared<const TileSource>(bind_program(program, inputs, {&output, 1}, loops, true, false),
                                            std::move(sum));
}

std::shared_ptr<const RangeProgram> prepare_ranges(const TileProgram& program, std::span<const core::Operand> inputs,
                                                   std::span<const core::Operand> outputs, bool uncached,
                                                   const KernelChoice& choice) {
  return std::make_shared<const TileRanges>(
      bind_program(program, inputs, outputs, tile_loops(choice.set()), true, uncached));
}

std::shared_ptr<const RangeProgram> prepare_sums(const TileProgram& program, std::span<const core::Operand> inputs,
                                                 const core::Operand& output, std::int64_t length,
                                                 const KernelChoice& choice) {
  BoundProgram sum = bind_sum(program, inputs, output, tile_loops(choice.set()), length);
  return sum.sum.add == nullptr ? nullptr : std::make_shared<const TileRanges>(std::move(sum));
}

}  // namespace tyto::cpu
