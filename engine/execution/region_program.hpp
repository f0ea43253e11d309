// A region made ready to run inside a kernel: an executable of its own, whose memory is part of the kernel's workspace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/execution/executable.hpp"

namespace tyto::run {

/// Of what a region's kernel keeps in its workspace, in bytes: what the CPU's kernels ask for.
inline constexpr std::size_t region_alignment = 64;
inline std::size_t region_padded(std::size_t bytes) {
  return (bytes + region_alignment - 1) / region_alignment * region_alignment;
}

class RegionProgram {
 public:
  RegionProgram(core::Graph region, const CompileOptions& options);

  const Executable& executable() const { return *executable_; }
  /// Bytes that a launch works in: addresses of operands, then the arena.
  std::size_t workspace() const { return arena_at_ + executable_->arena_bytes() + executable_->kept_bytes(); }

  /// One launch's view of the program, in memory that belongs to it.
  class Frame {
   public:
    /// Writes the addresses of what lies in the workspace and of constants.
    Frame(const RegionProgram& program, std::byte* workspace);
    void bind_input(std::size_t input, std::byte* address) const;
    void bind_output(std::size_t output, std::byte* address) const;
    /// Runs every step once.
    void run() const;

   private:
    void bind(std::span<const std::uint32_t> operands, std::byte* address) const;
    void poison(std::size_t offset, std::size_t bytes) const;

    const RegionProgram& program_;
    core::Address* addresses_;
    std::byte* arena_;
  };

 private:
  struct Step {
    const core::Kernel* kernel;
    std::uint32_t first_operand, inputs, outputs;
    std::size_t workspace;  // offset in the arena
    bool passes_on;         // copies an input that is a result as it is
  };

  std::shared_ptr<const Executable> executable_;
  std::vector<Step> steps_;
  std::vector<std::vector<std::uint32_t>> operands_of_input_;
  std::vector<std::vector<std::uint32_t>> operands_of_output_;
  std::vector<std::vector<std::uint32_t>> dying_;  // storages by their last step; where memory is poisoned
  std::size_t arena_at_ = 0;
};

}  // namespace tyto::run
