// SPDX-License-Identifier: MIT
// How an example ends whose training was interrupted: a line that tells how to go on, and the exit code of a shell.
#pragma once

#include <csignal>
#include <cstdio>
#include <string>
#include <tyto/nn.hpp>

/// 0 where nothing interrupted the training; else the exit code, 130 after Ctrl-C and 143 after SIGTERM.
inline int interruption(const tyto::nn::TrainingReport& report, const std::string& checkpoint) {
  if (report.interrupted_by == 0) return 0;
  const char* signal = report.interrupted_by == SIGINT ? "SIGINT" : "SIGTERM";
  if (checkpoint.empty()) {
    std::printf("interrupted by %s; nothing was saved: with --checkpoint FILE a run can go on\n", signal);
  } else {
    std::printf("interrupted by %s; the same command goes on from %s\n", signal, checkpoint.c_str());
  }
  std::fflush(stdout);
  return 128 + report.interrupted_by;
}
