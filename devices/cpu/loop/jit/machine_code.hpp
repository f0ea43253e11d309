// SPDX-License-Identifier: MIT
// Memory that is executed: written first, then made executable, and never both at once.
#pragma once

#include <cstddef>
#include <span>

#include "devices/cpu/loop/jit/kernel_spec.hpp"

namespace tyto::cpu::jit {

class MachineCode {
 public:
  /// A copy of position-independent code; empty where the system does not let memory be executed.
  explicit MachineCode(std::span<const std::byte> code);
  ~MachineCode();
  MachineCode(const MachineCode&) = delete;
  MachineCode& operator=(const MachineCode&) = delete;

  explicit operator bool() const { return memory_ != nullptr; }
  Function entry() const { return reinterpret_cast<Function>(memory_); }
  std::size_t bytes() const { return bytes_; }

 private:
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace tyto::cpu::jit
