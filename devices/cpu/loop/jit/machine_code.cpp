// SPDX-License-Identifier: MIT
// Maps a region of pages for each piece of code, and makes it executable.
#include "devices/cpu/loop/jit/machine_code.hpp"

#include <cstring>

#include "core/system/pages.hpp"

namespace tyto::cpu::jit {

MachineCode::MachineCode(std::span<const std::byte> code) : bytes_(code.size()) {
  void* const pages = core::map_code_pages(bytes_);
  if (pages == nullptr) return;
  std::memcpy(pages, code.data(), code.size());
  if (core::make_executable(pages, bytes_)) memory_ = pages;
  else core::unmap_pages(pages, bytes_);
}

MachineCode::~MachineCode() {
  if (memory_ != nullptr) core::unmap_pages(memory_, bytes_);
}

}  // namespace tyto::cpu::jit
