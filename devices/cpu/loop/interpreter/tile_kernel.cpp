// SPDX-License-Identifier: MIT
// Kernels and range programs of the interpreter: they share the bound program; each thread has a runner on its stack.
#include "devices/cpu/loop/loop_kernels.hpp"

#include <algorithm>

#include "devices/cpu/arithmetic/tile_loops/tile_loops.hpp"
#include "devices/cpu/loop/interpreter/tile_runner.hpp"
#include "devices/cpu/system/threads.hpp"

namespace tyto::cpu {

namespace {

class TileKernel final : public core::Kernel {
 public:
  TileKernel(BoundProgram program, TeamRequest request) : program_(std::move(program)), team_(request) {}

  void launch(Addresses inputs, Addresses outputs, core::Address) const override {
    const std::int64_t elements = program_.geometry.elements, tile = program_.geometry.elements_of_tiles();
    if (team_.count == 1) return TileRunner(program_, inputs, outputs).run_elements({0, elements});
    run_team(team_, [&](Team team) {
      const Range mine = share((elements + tile - 1) / tile, team.member, team.size);
      if (mine.size() == 0) return;
      TileRunner(program_, inputs, outputs).run_elements({mine.begin * tile, std::min(mine.end * tile, elements)});
    });
  }

 private:
  BoundProgram program_;
  TeamRequest team_;
};

}  // namespace

KernelRef prepare_tiles(const core::BoundLoop& bound, const KernelChoice& choice) {
  BoundProgram prepared = bind_program(bound, tile_loops(choice.set()), false);
  const TeamRequest request = choice.threads > 0 ? TeamRequest{choice.threads} : team_for(prepared.nanoseconds);
  return std::make_shared<const TileKernel>(std::move(prepared), request);
}

std::shared_ptr<const RangeProgram> prepare_tile_ranges(const core::BoundLoop& bound, InstructionSet set) {
  BoundProgram program = bind_program(bound, tile_loops(set), true);
  const double nanoseconds = program.nanoseconds;
  return make_ranges<TileRunner>(std::move(program), nanoseconds);
}

}  // namespace tyto::cpu
