// SPDX-License-Identifier: MIT
// Reports which bytes loops and branches copy, from the steps and places that they run with.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "engine/run/executable.hpp"
#include "tyto/graph.hpp"

namespace tyto::run {

/// Whether a result of a step, or an output of a program, lies where an operand or input does.
using SharesAddress = std::function<bool(std::size_t result, std::size_t operand)>;

/// Appends what the steps of regions in this executable copy; `path` is that of the region that it is the program of,
/// and `over` says which of its outputs lie where its inputs do.
void list_moves(const Executable& executable, const std::string& path, const SharesAddress& over,
                std::vector<MovedBytes>& moved);

/// Whether the step only copies an input that is a result as it is, and has nothing to do where they share memory.
bool passes_on(const Executable& plan, const ExecutableStep& step);

/// A step of a region's program that copies a result, or the next value of a carry, to its place.
struct CopiedOutput {
  const ExecutableStep* step;
  std::size_t output;  // of the program
  std::size_t bytes;
  bool passes_on;
  std::string why;
};
std::vector<CopiedOutput> copied_outputs(const Executable& executable);

}  // namespace tyto::run
