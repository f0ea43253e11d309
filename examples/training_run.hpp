// SPDX-License-Identifier: MIT
// The parts that every example that trains shares: resuming from a checkpoint, the printed result, and the exit status.
#pragma once

#include <csignal>
#include <cstdio>
#include <string>
#include <type_traits>
#include <tyto/nn.hpp>

/// Loads what an earlier run saved in `file`, where there is one, and says so.
inline void resume(tyto::nn::Checkpoint& checkpoint, const std::string& file, const tyto::nn::Descent& descent) {
  if (file.empty() || !checkpoint.load_if_present(file)) return;
  std::printf("going on after step %lld of %s\n", static_cast<long long>(descent.count()), file.c_str());
}

inline double mebibytes(std::int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

/// The memory of a compiled function, which has a plan in graph mode, and what its device left to the CPU.
template <class Tensor, class Compiled>
void print_plan(const Compiled& function) {
  if constexpr (std::is_same_v<typename Tensor::mode, tyto::Lazy>) {
    const tyto::MemoryPlan& plan = function.plan();
    std::printf("plan: peak %.1f MiB (bound %.1f, without reuse %.1f) and %.1f MiB of states\n", mebibytes(plan.height),
                mebibytes(plan.bound), mebibytes(plan.naive), mebibytes(function.report().state_bytes));
    for (const std::string& step : function.report().fallbacks) std::printf("on the cpu instead: %s\n", step.c_str());
  }
}

/// Says how long training took, or that it was interrupted and how to go on. The exit code: 0, or that of a shell, 130
/// after Ctrl-C and 143 after SIGTERM.
inline int report_end(const tyto::nn::TrainingReport& report, const std::string& checkpoint) {
  if (report.interrupted_by != 0) {
    const char* signal = report.interrupted_by == SIGINT ? "SIGINT" : "SIGTERM";
    if (checkpoint.empty()) {
      std::printf("interrupted by %s; nothing was saved: with --checkpoint FILE a run can go on\n", signal);
    } else {
      std::printf("interrupted by %s; the same command goes on from %s\n", signal, checkpoint.c_str());
    }
    std::fflush(stdout);
    return 128 + report.interrupted_by;
  }
  if (report.steps > 0) {
    std::printf("%lld steps in %.1f s: %.2f steps/s, last loss %.6f\n", static_cast<long long>(report.steps),
                report.seconds, static_cast<double>(report.steps) / report.seconds, report.loss);
  }
  return 0;
}
