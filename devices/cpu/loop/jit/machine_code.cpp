// SPDX-License-Identifier: MIT
// Pages from the system, one mapping a piece of code.
#include "devices/cpu/loop/jit/machine_code.hpp"

#include <sys/mman.h>

#include <cstring>

namespace tyto::cpu::jit {

MachineCode::MachineCode(std::span<const std::byte> code) : bytes_(code.size()) {
  void* const pages = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return;
  std::memcpy(pages, code.data(), code.size());
  if (mprotect(pages, bytes_, PROT_READ | PROT_EXEC) == 0) memory_ = pages;
  else munmap(pages, bytes_);
}

MachineCode::~MachineCode() {
  if (memory_ != nullptr) munmap(memory_, bytes_);
}

}  // namespace tyto::cpu::jit
