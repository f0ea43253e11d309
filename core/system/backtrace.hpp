// SPDX-License-Identifier: MIT
// Return addresses of the functions that called, and their symbol names.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace tyto::core {

/// Return addresses, the innermost first; none where the system cannot tell.
std::vector<void*> backtrace();

/// One call of a backtrace.
struct Call {
  std::string file;    // the program or library
  std::string symbol;  // as the linker knows it; empty where it is not exported
  std::string offset;  // "+0x1f" within the symbol
};

std::vector<Call> calls_of(std::span<void* const> frames);

/// The name of C++ that a symbol of the linker stands for, else the symbol.
std::string demangled(const std::string& symbol);

}  // namespace tyto::core
