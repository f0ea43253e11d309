// A region made ready to run inside a kernel: an executable of its own, whose memory is part of the kernel's workspace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "engine/execution/executable.hpp"
#include "engine/execution/planned_program.hpp"
#include "engine/execution/region_memory.hpp"

namespace tyto::run {

/// Of what a region's kernel keeps in its workspace, in bytes: what the CPU's kernels ask for.
inline constexpr std::size_t region_alignment = 64;
inline std::size_t region_padded(std::size_t bytes) {
  return (bytes + region_alignment - 1) / region_alignment * region_alignment;
}

class RegionProgram {
 public:
  /// Every operator of the region has a kernel on the device.
  RegionProgram(core::Graph region, core::Device& device, const CompileOptions& options);

  const Executable& executable() const { return *executable_; }
  /// What it runs by when its memory begins at this offset of a kernel's workspace.
  PlannedRegion::Program planned(std::size_t offset) const {
    return {planned_program(*executable_), offset, offset + arena_at_};
  }
  /// Bytes that a launch works in: on the host addresses of operands, then the arena.
  std::size_t workspace() const { return arena_at_ + executable_->arena_bytes() + executable_->kept_bytes(); }

  /// One launch's view of the program, in memory that belongs to it.
  class Frame {
   public:
    /// Writes the addresses of what lies in the workspace and of constants.
    Frame(const RegionProgram& program, core::Address workspace);
    ~Frame();
    Frame(const Frame&) = delete;
    Frame& operator=(const Frame&) = delete;
    void bind_input(std::size_t input, core::Address address) const;
    void bind_output(std::size_t output, core::Address address) const;
    /// Runs every step once.
    void run() const;

   private:
    void bind(std::span<const std::uint32_t> operands, core::Address address) const;
    void poison(std::size_t offset, std::size_t bytes) const;

    const RegionProgram& program_;
    core::Address arena_;
    std::unique_ptr<core::Address[]> table_;  // where the workspace is not the host's
    core::Address* addresses_;
  };

 private:
  struct Step {
    const core::Kernel* kernel;
    std::uint32_t first_operand, inputs, outputs;
    std::size_t workspace;  // offset in the arena
    bool passes_on;         // copies an input that is a result as it is
  };
  /// Tables of addresses between launches, so that one is made for each launch that runs beside others.
  struct SpareTables {
    std::mutex mutex;
    std::vector<std::unique_ptr<core::Address[]>> tables;
  };

  std::unique_ptr<core::Address[]> take_table() const;

  RegionMemory memory_;
  std::shared_ptr<const Executable> executable_;
  std::vector<Step> steps_;
  std::vector<std::vector<std::uint32_t>> operands_of_input_;
  std::vector<std::vector<std::uint32_t>> operands_of_output_;
  std::vector<std::vector<std::uint32_t>> dying_;  // storages by their last step; where memory is poisoned
  std::size_t arena_at_ = 0;
  mutable SpareTables spare_;
};

}  // namespace tyto::run
