// SPDX-License-Identifier: MIT
// Mesa's llvmpipe counts the iterations of all loops of a kernel together, for each vector of work-items; after 65,535
// of them every loop ends at the end of its first iteration (LP_MAX_TGSI_LOOP_ITERATIONS). A last loop of two
// iterations tells whether that came to pass, by a sum that its own condition says nothing about: of that the compiler
// knows how it stands behind the loop.
#include "devices/opencl/runtime/loop_watch.hpp"

#include <cstdint>
#include <stdexcept>
#include <string_view>

#include "core/value/text.hpp"
#include "devices/opencl/runtime/faults.hpp"

namespace tyto::opencl {

namespace {

// As KernelText::finish writes them.
constexpr std::string_view behind_parameters = ") {\n#pragma", last_brace = "}\n";

// Only the launch says them: no compiler may know the sum.
constexpr std::int32_t iterations = 2, increment = 1;

}  // namespace

void watch_loops(LaunchPlan& plan, core::OpId op) {
  for (KernelLaunch& launch : plan.launches) {
    launch.source.insert(launch.source.size() - last_brace.size(),
                         core::text("  int watched = 0;\n  for (int i = 0; i < watched_iterations; ++i) {\n"
                                    "    watched += watched_increment;\n  }\n",
                                    "  if (watched != ", iterations * increment, ") note_fault(watched_faults, ",
                                    Faults::loops_ended, ", watched_operator, 0);\n"));
    const std::size_t parameters_end = launch.source.find(behind_parameters);
    if (parameters_end == std::string::npos) throw std::logic_error("opencl: a kernel is not as KernelText writes it");
    launch.source.insert(parameters_end,
                         ", volatile global int* watched_faults, const int watched_operator, "
                         "const int watched_iterations, const int watched_increment");
    launch.arguments.insert(launch.arguments.end(), {FaultsArgument{}, Faults::code_of(op), iterations, increment});
  }
}

}  // namespace tyto::opencl
